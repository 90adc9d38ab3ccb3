"""Flags: the run folder and what is told on the way."""

from absl import flags as absl_flags
from absl import logging

from flags import define
from la_tf.config import TrainConfig

absl_flags.DEFINE_string("run_dir", None, "run folder; by default a new one in runs/")
absl_flags.DEFINE_bool("resume", False, "go on with the run in --run_dir")
define.integer("keep", TrainConfig.keep, 1, 10**6, "checkpoints kept")
define.number(
    "checkpoint_minutes",
    TrainConfig.checkpoint_minutes,
    0.01,
    1e6,
    "checkpoint this often, and at each epoch's end",
)
absl_flags.DEFINE_bool("profile", False, "trace ten steps for TensorBoard")

# absl defines --verbosity itself; -1 is quiet, 0 says what matters, 1 also lets the
# libraries speak.
absl_flags.FLAGS.set_default("verbosity", TrainConfig.verbosity)
absl_flags.FLAGS["verbosity"].help = "-1: quiet; 1: also what the libraries say"
logging.set_verbosity(logging.WARNING)

NAMES = ("run_dir", "resume", "keep", "checkpoint_minutes", "profile", "verbosity")


def verbosity():
    """The --verbosity that the user chose, or its default.

    `FLAGS.verbosity` itself is -1 when the user says nothing: absl keeps the level of
    its own logging there.
    """
    flag = absl_flags.FLAGS["verbosity"]
    return flag.value if flag.present else TrainConfig.verbosity
