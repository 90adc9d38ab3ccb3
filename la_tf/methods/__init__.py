"""The training methods: LatentAugment, what it contains as special cases, and rivals.

Light to import, so that a flag can be checked without TensorFlow.
"""

from __future__ import annotations

from la_tf.methods import (
    adversarial,
    autoaugment,
    baseline,
    equal,
    latent,
    metaaugment,
    policy,
    randaugment,
    trivialaugment,
    ubs,
)
from la_tf.methods.method import WEIGHTS, distinct_pairs

_METHODS = {
    module.METHOD.name: module.METHOD
    for module in (
        latent,
        equal,
        ubs,
        policy,
        autoaugment,
        randaugment,
        trivialaugment,
        adversarial,
        metaaugment,
        baseline,
    )
}

NAMES = tuple(_METHODS)

__all__ = ["NAMES", "WEIGHTS", "get", "rule"]


def get(name):
    """Return the `Method` of a name."""
    if name not in _METHODS:
        raise ValueError(f"method is {name!r}; choose one of {', '.join(NAMES)}.")
    return _METHODS[name]


def rule(config):
    """Return the drawing rule of a configuration; LatentAugment's if it needs none."""
    return (get(config.method).drawing or distinct_pairs)(config)
