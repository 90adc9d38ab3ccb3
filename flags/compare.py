"""From the command line to what is to be compared: the only reader of FLAGS for it."""

from __future__ import annotations

import dataclasses
import pathlib

from absl import flags as absl_flags

from flags import define, help, run, train
from la_tf import errors, methods
from la_tf.compare import blocks, presets, protocols, study
from la_tf.compare.setting import OF_THE_MACHINE
from la_tf.compare.study import Study
from la_tf.errors import UserError

FLAGS = absl_flags.FLAGS

absl_flags.DEFINE_string(
    "study", None, "a JSON file with the grid; see docs/compare.md"
)
absl_flags.DEFINE_list(
    "presets", None, "experiments of the paper: table1, figure3, ..."
)
absl_flags.DEFINE_list("methods", None, "or: these methods; by default all")
absl_flags.DEFINE_string("seeds", "3", "how many, or a list as 0,1,5")
absl_flags.DEFINE_multi_string("sweep", None, "")
define.choice("protocol", "updates", protocols.NAMES, "same updates, compute or epochs")
absl_flags.DEFINE_string("reference", None, "the setting that others are compared with")
define.integer("jobs", 1, 1, 1024, "processes, each on its share of the cores")
absl_flags.DEFINE_bool("plan", False, "tell what would run, and how long, and stop")
absl_flags.DEFINE_bool("pages", False, "make the pages from the table; run nothing")
absl_flags.DEFINE_float("views_per_second", None, "for the estimate; else measured")
absl_flags.DEFINE_string("compare_dir", None, "for table and pages")
absl_flags.DEFINE_string("runs_dir", "runs/compare", "for the runs, of all studies")

GRID = ("methods", "seeds", "sweep", "protocol", "reference")
GROUPS = (
    ("What", ("study", "presets", *GRID)),
    ("How", ("jobs", "plan", "pages", "views_per_second")),
    ("Where", ("compare_dir", "runs_dir", "verbosity")),
)
USAGE = """\
Compares methods over seeds and settings: python -m la_tf.compare --name=value
Goes on where it was stopped. Writes results.csv, compare.md and compare.html.
All flags of la_tf.train that choose data, network and training work as well."""


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """What is to be compared, and how and where.

    `studies` are pairs of a Study and the folder for its table and pages.
    """

    studies: tuple[tuple[Study, str], ...]
    runs_dir: str
    jobs: int
    only_plan: bool
    only_pages: bool
    views_per_second: float | None
    verbosity: int


def install_help():
    """Let `--help` print this command's flags."""
    # absl would add a line of its own.
    FLAGS["sweep"].help = "as sigma:0,0.1,inf; may be repeated"
    help.install(USAGE, GROUPS)


def options_from_flags():
    """Return the `CompareOptions` that the flags make."""
    chosen = train.chosen()
    for name, instead in (("method", "methods"), ("seed", "seeds")):
        if name in chosen:
            raise UserError(f"--{name} is of one run; a comparison takes --{instead}.")
    for name in ("run_dir", "resume"):
        if name in chosen:
            raise UserError(
                f"--{name} is of one run; a comparison has --runs_dir and always goes "
                "on where it was stopped."
            )
    chosen.pop("verbosity", None)
    return CompareOptions(
        studies=_studies(chosen),
        runs_dir=FLAGS.runs_dir,
        jobs=FLAGS.jobs,
        only_plan=FLAGS.plan,
        only_pages=FLAGS.pages,
        views_per_second=FLAGS.views_per_second,
        verbosity=run.verbosity(),
    )


def _studies(chosen):
    if FLAGS.study and FLAGS.presets:
        raise UserError("--study and --presets are both given; choose one.")
    if FLAGS.study:
        return (_of_file(chosen),)
    if not FLAGS.presets:
        return ((_of_flags(chosen), FLAGS.compare_dir or "compare"),)
    _refuse(GRID, "presets")
    found = []
    for name in FLAGS.presets:
        folder = pathlib.Path(FLAGS.compare_dir or "compare") / name
        found.append((_of_preset(name, chosen), str(folder)))
    return tuple(found)


def _of_file(chosen):
    _refuse(GRID, "study")
    for name in chosen:
        if name not in OF_THE_MACHINE:
            raise UserError(f"--study={FLAGS.study} decides --{name}; leave it out.")
    folder = FLAGS.compare_dir or str(pathlib.Path(FLAGS.study).with_suffix(""))
    return study.read(FLAGS.study, chosen), folder


def _of_preset(name, chosen):
    if name not in presets.NAMES:
        raise UserError(f"--presets={name}: {errors.unknown(name, presets.NAMES)}")
    needed = presets.NEEDS.get(name)
    if needed and needed not in chosen:
        raise UserError(
            f"--presets={name} needs --{needed}: the folder of a run on imagenet2012 "
            "whose prior is to be transferred."
        )
    notes = []
    changed = [field for field in chosen if field not in (*OF_THE_MACHINE, needed)]
    if changed:
        words = ", ".join(f"{field}={chosen[field]}" for field in changed)
        notes.append(
            f"This is not the paper's experiment: {words} was chosen. The paper's "
            "figures are of its own settings."
        )
    return study.make(presets.plan(name), chosen, notes)


def _of_flags(chosen):
    block = {"method": list(FLAGS.methods or methods.NAMES)}
    for text in FLAGS.sweep or ():
        name, colon, values = text.partition(":")
        if not colon or not values:
            raise UserError(f"--sweep={text} must look like sigma:0,0.1,inf.")
        parsed = [blocks.parse(name, value) for value in values.split(",")]
        block[name] = [blocks.to_json(value) for value in parsed]
        if name in chosen:
            raise UserError(f"--sweep={name} and --{name} are both given; choose one.")
    plan = {
        "title": "Comparison",
        "fixed": chosen,
        "seeds": _seeds(FLAGS.seeds),
        "protocol": FLAGS.protocol,
        "settings": [block],
    }
    if FLAGS.reference:
        plan["reference"] = FLAGS.reference
    return study.make(plan)


def _seeds(text):
    try:
        seeds = [int(word) for word in text.split(",")]
    except ValueError:
        raise UserError(
            f"--seeds={text} must be a number of seeds, or a list as 0,1,5."
        ) from None
    return seeds if "," in text else seeds[0]


def _refuse(names, other):
    for name in names:
        if FLAGS[name].present:
            raise UserError(f"--{other} decides --{name}; leave one of them out.")
