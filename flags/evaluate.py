"""From the command line to what is to be evaluated: the only reader of FLAGS for it."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from absl import flags as absl_flags

from flags import checkpoint, data, define, help, run  # noqa: F401 (data defines flags)
from la_tf.errors import UserError

FLAGS = absl_flags.FLAGS

absl_flags.DEFINE_string("saved_model", None, "or: folder or file that export wrote")
absl_flags.DEFINE_string("output_dir", None, "by default the run folder")
define.integer("robustness_level", 9, 0, 9, "of the sixteen operations, 0 to 9")
define.integer(
    "robustness_images", 1000, 0, 10**9, "changed by each; 0: leave this out"
)

# The data set is the run's own but for what the user names.
_DATA = ("dataset", "data_dir", "image_size", "holdout", "skip_bad_images")
GROUPS = (
    ("What", ("run_dir", *checkpoint.NAMES, "saved_model")),
    ("On which images (by default the run's test images)", _DATA),
    ("Accuracy on changed images", ("robustness_level", "robustness_images")),
    ("Results", ("output_dir", "verbosity")),
)
USAGE = """\
Evaluates a trained classifier: python -m la_tf.evaluate --run_dir=R
or --saved_model=E. Writes evaluation.json and confusion.png."""


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """What is to be evaluated, on what, and where the results go.

    Either `run_dir` or `saved_model` is None. `overrides` holds the fields of
    TrainConfig that the user gave anew; `output_dir` is None to write nothing.
    """

    run_dir: str | None
    checkpoint: str
    saved_model: str | None
    overrides: Mapping[str, object]
    robustness_level: int
    robustness_images: int
    output_dir: str | None
    verbosity: int


def install_help():
    """Let `--help` print this command's flags."""
    FLAGS["run_dir"].help = "folder of a run"
    for name in _DATA:
        # The defaults are those of the run.
        FLAGS[name].default = None
    help.install(USAGE, GROUPS)


def options_from_flags():
    """Return the `EvaluateOptions` that the flags make."""
    run_dir = FLAGS.run_dir or _run_of(FLAGS.checkpoint)
    if FLAGS.saved_model is not None and FLAGS.run_dir is not None:
        raise UserError("--run_dir and --saved_model are both given; choose one.")
    if FLAGS.saved_model is not None and FLAGS["checkpoint"].present:
        raise UserError("--checkpoint is of a run: leave it out with --saved_model.")
    if FLAGS.saved_model is None and run_dir is None:
        raise UserError(
            "--run_dir is missing: the folder of a run; or give --saved_model."
        )
    return EvaluateOptions(
        run_dir=run_dir,
        checkpoint=FLAGS.checkpoint,
        saved_model=FLAGS.saved_model,
        overrides={name: FLAGS[name].value for name in _DATA if FLAGS[name].present},
        robustness_level=FLAGS.robustness_level,
        robustness_images=FLAGS.robustness_images,
        output_dir=FLAGS.output_dir or run_dir,
        verbosity=run.verbosity(),
    )


def _run_of(checkpoint):
    """Return the run folder that a checkpoint's path lies in, or None."""
    for folder in pathlib.Path(checkpoint).parents:
        if checkpoint not in ("last", "best") and (folder / "config.json").is_file():
            return str(folder)
    return None
