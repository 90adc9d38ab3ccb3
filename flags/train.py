"""From the command line to a TrainConfig: the only reader of FLAGS for training."""

from absl import flags as absl_flags

from flags import data, execution, help, method, network, optimisation, run
from la_tf.config import FIELDS, TrainConfig

FLAGS = absl_flags.FLAGS

GROUPS = (
    ("Data", data.NAMES),
    ("Network", network.NAMES),
    ("Method", method.NAMES),
    ("Rivals (by default as published)", method.RIVALS),
    ("Optimisation (by default the recipe's)", optimisation.NAMES),
    ("Execution", execution.NAMES),
    ("Run", run.NAMES),
)
USAGE = """\
Trains a classifier with LatentAugment: python -m la_tf.train --name=value ...
Without flags: the embedded digits. --dataset and --model choose the recipe."""


def install_help():
    """Let `--help` print this command's flags."""
    help.install(USAGE, GROUPS)


def config_from_flags():
    """Return the TrainConfig that the flags, the recipe, the method and defaults make.

    An explicit flag wins over the recipe; the method's own constants may not be
    contradicted.
    """
    return TrainConfig(**chosen())


def chosen():
    """Return what the user typed: fields of TrainConfig by name."""
    return {
        name: FLAGS[name].value
        for name in FIELDS
        if name in FLAGS and FLAGS[name].present and FLAGS[name].value is not None
    }
