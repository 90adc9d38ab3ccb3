"""Flags: the run folder and what is told on the way."""

from absl import flags as absl_flags
from absl import logging

from flags import define
from la_tf.config import TrainConfig

NAMES = define.fields(
    run_dir="run folder; by default a new one in runs/",
    resume="go on with the run in --run_dir",
    keep="checkpoints kept",
    checkpoint_minutes="checkpoint this often, and at each epoch's end",
    profile="trace ten steps for TensorBoard",
) + ("verbosity",)

# absl defines --verbosity itself; -1 is quiet, 0 says what matters, 1 also lets the
# libraries speak.
absl_flags.FLAGS.set_default("verbosity", TrainConfig.verbosity)
absl_flags.FLAGS["verbosity"].help = "-1: quiet; 1: also what the libraries say"
logging.set_verbosity(logging.WARNING)


def verbosity():
    """Return the --verbosity that the user chose, or its default.

    `FLAGS.verbosity` itself is -1 when the user says nothing: absl keeps the level of
    its own logging there.
    """
    flag = absl_flags.FLAGS["verbosity"]
    return flag.value if flag.present else TrainConfig.verbosity
