"""From the command line to a preview: the only reader of FLAGS for it."""

from __future__ import annotations

import dataclasses
import pathlib

from absl import flags as absl_flags

from flags import define, help, train
from la_tf.config import TrainConfig
from la_tf.errors import UserError

FLAGS = absl_flags.FLAGS

absl_flags.DEFINE_string("output", "preview.png", "picture of the operations")
define.integer("images", 4, 1, 100, "images whose views are shown")


@absl_flags.validator("output")
def _check_output(path):
    if pathlib.Path(path).suffix.lower() != ".png":
        raise absl_flags.ValidationError("must be the name of a .png file.")
    return True


GROUPS = (
    ("Data", ("dataset", "data_dir", "image_size", "holdout", "skip_bad_images")),
    (
        "Views (by default the recipe's)",
        (
            "preprocessing",
            "flip",
            "method",
            "num_views",
            "transforms",
            "autoaugment",
            "randaugment_ops",
            "randaugment_magnitude",
            "magnitude_scale",
            "trivialaugment",
            "mixup_alpha",
            "final",
            "images",
            "seed",
        ),
    ),
    ("Pictures", ("output", "verbosity")),
)
USAGE = """\
Draws what the policies do to images: python -m la_tf.preview --dataset=D
One picture of every operation at every level, one of views as training sees them."""


@dataclasses.dataclass(frozen=True)
class PreviewRequest:
    """What is to be drawn, and where to.

    Attributes:
        config: of the training run whose views are shown.
        images: how many images are shown with their views.
        operations_path, views_path: the two pictures.
    """

    config: TrainConfig
    images: int
    operations_path: pathlib.Path
    views_path: pathlib.Path


def install_help():
    """Let `--help` print this command's flags."""
    help.install(USAGE, GROUPS)


def preview_request():
    """Return the `PreviewRequest` that the flags make."""
    path = pathlib.Path(FLAGS.output)
    if not path.parent.is_dir():
        raise UserError(
            f"--output={path}: there is no folder {path.parent}; make it, or choose "
            "another place."
        )
    return PreviewRequest(
        config=train.config_from_flags(),
        images=FLAGS.images,
        operations_path=path,
        views_path=path.with_name(f"{path.stem}_views{path.suffix}"),
    )
