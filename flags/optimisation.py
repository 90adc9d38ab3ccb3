"""Flags: the optimizer and its schedule."""

from flags import define
from la_tf.config import TrainConfig

define.integer("epochs", None, 1, 10**6, "passes over the training images")
define.integer("batch_size", None, 1, 10**6, "images a step, over all replicas")
define.number("learning_rate", None, 0, 100, "peak, after the warm-up")
define.number("weight_decay", None, 0, 1, "L2, added to the gradient")
define.number("clip_norm", None, 1e-9, 1e9, "clip the gradient's global norm")
define.choice(
    "on_nonfinite",
    TrainConfig.on_nonfinite,
    ("stop", "skip"),
    "a loss that is no number: stop, or skip the step",
)

NAMES = (
    "epochs",
    "batch_size",
    "learning_rate",
    "weight_decay",
    "clip_norm",
    "on_nonfinite",
)
