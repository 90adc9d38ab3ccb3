"""Random numbers by seed: the same on a CPU, a GPU and in compiled code.

TensorFlow left to itself chooses an algorithm by device, and so host and accelerator
would make different views from the same seed.
"""

from __future__ import annotations

import tensorflow as tf

_ALGORITHM = "philox"


def split(seed, number):
    """A list of `number` seeds, integer `[2]` each, from one."""
    return tf.unstack(tf.random.split(seed, number, alg=_ALGORITHM))


def uniform(shape, seed, low=0.0, high=1.0):
    """Numbers float32 of that shape, in [low, high)."""
    return tf.random.stateless_uniform(shape, seed, low, high, alg=_ALGORITHM)


def below(shape, seed, limit):
    """Whole numbers int32 of that shape, in 0..limit-1."""
    return tf.random.stateless_uniform(shape, seed, 0, limit, tf.int32, alg=_ALGORITHM)


def normal(shape, seed, deviation):
    """Normal numbers float32 of that shape, with mean 0."""
    return tf.random.stateless_normal(shape, seed, stddev=deviation, alg=_ALGORITHM)
