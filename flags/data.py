"""Flags: which images, and how they are prepared before any policy."""

from absl import flags as absl_flags

from flags import define
from la_tf.config import TrainConfig
from la_tf.data import sources

define.choice(
    "dataset",
    TrainConfig.dataset,
    sources.NAMES,
    "cifar10, cifar100, svhn, mnist, folder, npz, ...",
)
absl_flags.DEFINE_string("data_dir", None, "where the data set is, or is to be")
define.integer("image_size", None, 8, 2048, "side in pixels, for --dataset=folder")
define.number("holdout", 0.0, 0, 1e9, "test on a share (<1) or number of train images")
define.integer("limit_train", None, 1, 10**9, "train on a class-balanced subset")
absl_flags.DEFINE_bool("skip_bad_images", False, "leave unreadable images out")
define.choice(
    "preprocessing",
    None,
    ("crop", "inception", "none"),
    "before the policies: crop (pad, crop), inception or none",
)
absl_flags.DEFINE_bool("flip", None, "mirror half of the images")

NAMES = (
    "dataset",
    "data_dir",
    "image_size",
    "holdout",
    "limit_train",
    "skip_bad_images",
    "preprocessing",
    "flip",
)
