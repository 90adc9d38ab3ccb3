"""LatentAugment for TensorFlow and Keras.

The public names are loaded when first used, so that a command can show its help, or
choose TensorFlow's settings, before TensorFlow is imported.
"""

import importlib

from la_tf import environment

__version__ = "0.1.0"
__all__ = [
    "AutoAugment",
    "LatentAugment",
    "PolicyMovingAverage",
    "RandAugment",
    "RandomPolicy",
    "TrivialAugment",
    "load",
    "make_views",
    "ops",
    "train",
]

_HOMES = {
    "AutoAugment": "la_tf.layers",
    "LatentAugment": "la_tf.model",
    "PolicyMovingAverage": "la_tf.prior",
    "RandAugment": "la_tf.layers",
    "RandomPolicy": "la_tf.layers",
    "TrivialAugment": "la_tf.layers",
    "load": "la_tf.runs",
    "make_views": "la_tf.data.views",
}
_PACKAGES = ("ops", "train")


def __getattr__(name):
    if name in _HOMES:
        environment.check()
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"la_tf.{name}")
    raise AttributeError(f"module 'la_tf' has no attribute {name!r}")
