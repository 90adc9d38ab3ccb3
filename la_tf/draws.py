"""Random numbers by seed: the same on a CPU, a GPU and in compiled code.

TensorFlow left to itself chooses an algorithm by device, and so host and accelerator
would make different views from the same seed.
"""

from __future__ import annotations

import tensorflow as tf

_ALGORITHM = "philox"

# Keeps the order of the images apart from all else that starts from the run's seed.
_ORDER = 1


def split(seed, number):
    """Return a list of `number` seeds, integer `[2]` each, made from one."""
    return tf.unstack(tf.random.split(seed, number, alg=_ALGORITHM))


def fold(seed, *values):
    """Return the seed, int64 `[2]`, that belongs to a seed and whole numbers."""
    seed = tf.convert_to_tensor(seed, tf.int64)
    for value in values:
        seed = tf.random.experimental.stateless_fold_in(
            seed, tf.cast(value, tf.int64), alg=_ALGORITHM
        )
    return seed


def seeds(count, seed):
    """Return `count` seeds, int32 `[count, 2]`, made from one."""
    return tf.random.stateless_uniform(
        [count, 2], seed, None, None, tf.int32, alg=_ALGORITHM
    )


def uniform(shape, seed, low=0.0, high=1.0):
    """Return float32 numbers of that shape, in [low, high)."""
    # From whole numbers: XLA makes other floats than TensorFlow of the same bits.
    numbers = tf.cast(below(shape, seed, 1 << 24), tf.float32)
    return low + (high - low) * (numbers * 2.0**-24)


def below(shape, seed, limit):
    """Return int32 numbers of that shape, in 0..limit-1."""
    return tf.random.stateless_uniform(shape, seed, 0, limit, tf.int32, alg=_ALGORITHM)


def categorical(probabilities, uniform):
    """Return choices, int64 [...], each by its own probability.

    Args:
        probabilities: [..., N], which sum to 1.
        uniform: [...], in [0, 1): where one falls on a line of N pieces, as long as the
            probabilities, is the choice.
    """
    edges = tf.cumsum(probabilities, axis=-1)[..., :-1]
    return tf.reduce_sum(tf.cast(uniform[..., None] >= edges, tf.int64), -1)


def normal(shape, seed, deviation):
    """Return normal float32 numbers of that shape, with mean 0."""
    return tf.random.stateless_normal(shape, seed, stddev=deviation, alg=_ALGORITHM)


def order(places, size, seed, epoch):
    """Return what an epoch's random order of 0..size-1 has at these places, int64.

    Each place is looked up on its own, so that a step finds its images without the
    whole order.
    """
    # The shuffle uses only the low bits of each word of its key, so that the words must
    # be random themselves: with plain numbers the orders repeat after 256 epochs.
    key = tf.random.stateless_uniform(
        [3], fold([seed, _ORDER], epoch), None, None, tf.int64, alg=_ALGORITHM
    )
    # Not tf.random.experimental.index_shuffle, which is this with four rounds: too few,
    # neighbours are then further apart than chance has them.
    return tf.raw_ops.RandomIndexShuffle(
        index=tf.cast(places, tf.int64),
        seed=key,
        max_index=tf.constant(size - 1, tf.int64),
        rounds=16,
    )
