"""From the command line to what is to be exported: the only reader of FLAGS for it."""

from __future__ import annotations

import dataclasses

from absl import flags as absl_flags

from flags import checkpoint, define, help, run
from la_tf.errors import UserError

FLAGS = absl_flags.FLAGS

absl_flags.DEFINE_string("export_dir", None, "folder of the model's versions")
define.integer("version", None, 1, 2**63 - 1, "number; by default the next free one")
define.integer("max_megapixels", 50, 1, 10**6, "larger encoded images are refused")

GROUPS = (
    ("From", ("run_dir", *checkpoint.NAMES)),
    ("To", ("export_dir", "version", "max_megapixels")),
    ("Messages", ("verbosity",)),
)
USAGE = """\
Exports a trained classifier: python -m la_tf.export --run_dir=R --export_dir=E
A SavedModel for TensorFlow Serving; a version that is there is not overwritten."""


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """What is to be exported, and where to."""

    run_dir: str
    export_dir: str
    version: int | None
    checkpoint: str
    max_megapixels: int
    verbosity: int


def install_help():
    """Let `--help` print this command's flags."""
    FLAGS["run_dir"].help = "folder of the run to export"
    help.install(USAGE, GROUPS)


def options_from_flags():
    """The `ExportOptions` that the flags make."""
    if FLAGS.run_dir is None:
        raise UserError("--run_dir is missing: the folder of the run to export.")
    if FLAGS.export_dir is None:
        raise UserError(
            "--export_dir is missing: the folder in which the model's versions stand, "
            "for example --export_dir=exported/digits."
        )
    return ExportOptions(
        run_dir=FLAGS.run_dir,
        export_dir=FLAGS.export_dir,
        version=FLAGS.version,
        checkpoint=FLAGS.checkpoint,
        max_megapixels=FLAGS.max_megapixels,
        verbosity=run.verbosity(),
    )
