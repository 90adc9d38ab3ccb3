"""The training methods: LatentAugment and what it contains as special cases.

Light to import, so that a flag can be checked without TensorFlow.
"""

from __future__ import annotations

from la_tf.methods import baseline, equal, latent, ubs

_METHODS = {
    module.METHOD.name: module.METHOD for module in (latent, equal, ubs, baseline)
}

NAMES = tuple(_METHODS)


def get(name):
    """Return the `Method` of a name."""
    if name not in _METHODS:
        raise ValueError(f"method is {name!r}; choose one of {', '.join(NAMES)}.")
    return _METHODS[name]
