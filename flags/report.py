"""From the command line to what is to be reported: the only reader of FLAGS for it."""

from __future__ import annotations

import dataclasses
import pathlib

from absl import flags as absl_flags

from flags import data, help, run  # noqa: F401 (data defines data_dir)
from la_tf.errors import UserError

FLAGS = absl_flags.FLAGS

absl_flags.DEFINE_string(
    "report_dir", None, "folder to write to; by default report/ in the run's folder"
)
absl_flags.DEFINE_bool("views", True, "show images; takes the data and a checkpoint")

GROUPS = (
    ("From", ("run_dir", "data_dir")),
    ("To", ("report_dir", "views")),
    ("Messages", ("verbosity",)),
)
USAGE = """\
Writes a run's report, one HTML page: python -m la_tf.report --run_dir=R
Several runs are compared: --run_dir=R,S or --run_dir=R --run_dir=S."""


@dataclasses.dataclass(frozen=True)
class ReportOptions:
    """Which runs are to be reported, and where to."""

    run_dirs: tuple[str, ...]
    report_dir: str
    views: bool
    data_dir: str | None
    verbosity: int


class _Repeated(absl_flags.Flag):
    """A text flag that may be given several times; commas join what it was given."""

    def parse(self, argument):
        earlier = self.value if self.present else None
        super().parse(f"{earlier},{argument}" if earlier else argument)


def install_help():
    """Let `--help` print this command's flags, and --run_dir be repeated."""
    absl_flags.DEFINE_flag(
        _Repeated(
            absl_flags.ArgumentParser(),
            absl_flags.ArgumentSerializer(),
            "run_dir",
            None,
            "folder of the run, or of several",
            allow_override=True,
        )
    )
    help.install(USAGE, GROUPS)


def options_from_flags():
    """Return the `ReportOptions` that the flags make."""
    if not FLAGS.run_dir:
        raise UserError(
            "--run_dir is missing: the folder of the run to report, or several with "
            "commas between them."
        )
    run_dirs = _split(FLAGS.run_dir)
    name = "report" if len(run_dirs) == 1 else "comparison"
    return ReportOptions(
        run_dirs=run_dirs,
        report_dir=FLAGS.report_dir or str(pathlib.Path(run_dirs[0]) / name),
        views=FLAGS.views,
        data_dir=FLAGS.data_dir,
        verbosity=run.verbosity(),
    )


def _split(text):
    """Return the folders in a list with commas.

    A folder's own name may hold a comma.
    """
    if pathlib.Path(text).is_dir():
        return (text,)
    return tuple(part for part in text.split(",") if part)
