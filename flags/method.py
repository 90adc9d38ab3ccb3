"""Flags: the method, its prior and its views."""

from absl import flags as absl_flags

from flags import define
from la_tf import methods
from la_tf.config import TrainConfig

define.choice(
    "method", TrainConfig.method, methods.NAMES, "one of " + ", ".join(methods.NAMES)
)
define.integer("num_views", TrainConfig.num_views, 1, 256, "views of an image (K)")
define.number(
    "sigma", TrainConfig.sigma, 0, float("inf"), "0: the hardest view alone; inf: equal"
)
define.choice(
    "prior",
    TrainConfig.prior,
    ("moving", "fixed", "corrected"),
    "policies' prior: moving, fixed or corrected",
)
define.integer(
    "prior_window", TrainConfig.prior_window, 1, 10**6, "steps in the moving average"
)
absl_flags.DEFINE_string("prior_from", None, "start from a run's prior (folder or npz)")
define.choice(
    "e_step",
    TrainConfig.e_step,
    ("shared", "separate"),
    "shared: one forward pass; separate: as released",
)
define.integer("ubs_select", TrainConfig.ubs_select, 1, 256, "ubs: hardest views used")
define.choice(
    "transforms",
    TrainConfig.transforms,
    ("latentaugment", "autoaugment"),
    "autoaugment: SamplePairing for MixUp",
)
define.number(
    "mixup_alpha", TrainConfig.mixup_alpha, 0, 1e6, "MixUp's Beta(a, a); 0: no mixing"
)
define.choice(
    "final", None, ("cutmix", "cutout", "none"), "last step: cutmix, cutout or none"
)
define.integer("view_chunk", None, 1, 256, "views at a time: bounds the memory")
define.integer("backward_views", None, 1, 256, "train on M drawn views: less time")

NAMES = (
    "method",
    "num_views",
    "sigma",
    "prior",
    "prior_window",
    "prior_from",
    "e_step",
    "ubs_select",
    "transforms",
    "mixup_alpha",
    "final",
    "view_chunk",
    "backward_views",
)
