"""From the command line to what is to be exported: the only reader of FLAGS for it."""

from __future__ import annotations

import dataclasses

from absl import flags as absl_flags

from flags import checkpoint, data, define, help, run  # noqa: F401 (defines data_dir)
from la_tf import errors, export
from la_tf.errors import UserError

FLAGS = absl_flags.FLAGS

absl_flags.DEFINE_string("export_dir", None, "folder of the model's versions")
define.integer("version", None, 1, 2**63 - 1, "number; by default the next free one")
define.integer("max_megapixels", 50, 1, 10**6, "larger encoded images are refused")
absl_flags.DEFINE_list("tflite", [], "float32, float16, int8: TFLite files to add")
absl_flags.DEFINE_bool("onnx", False, "add an ONNX file")


@absl_flags.validator("tflite")
def _check_tflite(kinds):
    for kind in kinds:
        if kind not in export.TFLITE_KINDS:
            raise absl_flags.ValidationError(errors.unknown(kind, export.TFLITE_KINDS))
    return True


GROUPS = (
    ("From", ("run_dir", *checkpoint.NAMES, "data_dir")),
    ("To", ("export_dir", "version", "max_megapixels")),
    ("Besides", ("tflite", "onnx")),
    ("Messages", ("verbosity",)),
)
USAGE = """\
Exports a trained classifier: python -m la_tf.export --run_dir=R --export_dir=E
A SavedModel and a .keras file; a version that is there is not overwritten."""


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """What is to be exported, and where to."""

    run_dir: str
    export_dir: str
    version: int | None
    checkpoint: str
    max_megapixels: int
    tflite: tuple[str, ...]
    onnx: bool
    data_dir: str | None
    verbosity: int


def install_help():
    """Let `--help` print this command's flags."""
    FLAGS["run_dir"].help = "folder of the run to export"
    FLAGS["data_dir"].help = "for int8: where the run's images are, if they have moved"
    help.install(USAGE, GROUPS)


def options_from_flags():
    """Return the `ExportOptions` that the flags make."""
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
        tflite=tuple(dict.fromkeys(FLAGS.tflite)),
        onnx=FLAGS.onnx,
        data_dir=FLAGS.data_dir,
        verbosity=run.verbosity(),
    )
