"""Random numbers by seed: the same on a CPU, a GPU and in compiled code.

TensorFlow left to itself chooses an algorithm by device, and so host and accelerator
would make different views from the same seed. Its `stateless_uniform(alg="philox")` has
the same numbers as these functions, but makes more than twice as many operations a
draw, and a pipeline of views has dozens of draws to trace.
"""

from __future__ import annotations

import tensorflow as tf

_PHILOX = 1
# With this key Philox spreads a seed's bits, in TensorFlow and here.
_SPREADING_KEY = 0x02461E293EC8F720

# Keeps the order of the images apart from all else that starts from the run's seed.
_ORDER = 1


def split(seed, number):
    """Return a list of `number` seeds, integer `[2]` each, made from one."""
    seed = tf.convert_to_tensor(seed)
    return tf.unstack(bits([number, 2], seed, seed.dtype))


def fold(seed, *values):
    """Return the seed, int64 `[2]`, that belongs to a seed and whole numbers."""
    seed = tf.convert_to_tensor(seed, tf.int64)
    for value in values:
        seed = tf.stack([bits([], seed, tf.int64), tf.cast(value, tf.int64)])
    return seed


def bits(shape, seed, dtype):
    """Return whole numbers of that shape and type, all equally likely."""
    return tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=shape, dtype=dtype, **_start(seed)
    )


def uniform(shape, seed, low=0.0, high=1.0):
    """Return float32 numbers of that shape, in [low, high)."""
    # From whole numbers: XLA makes other floats than TensorFlow of the same bits.
    numbers = tf.cast(below(shape, seed, 1 << 24), tf.float32)
    return low + (high - low) * (numbers * 2.0**-24)


def below(shape, seed, limit):
    """Return int32 numbers of that shape, in 0..limit-1."""
    return tf.raw_ops.StatelessRandomUniformIntV2(
        shape=shape, minval=0, maxval=limit, **_start(seed)
    )


def _start(seed):
    """Return where Philox begins for a seed: arguments of TensorFlow's operations."""
    spread = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[4],
        key=tf.constant([_SPREADING_KEY], tf.uint64),
        counter=tf.cast(seed, tf.uint64),
        alg=_PHILOX,
        dtype=tf.uint32,
    )
    words = tf.bitcast(tf.reshape(spread, [2, 2]), tf.uint64)
    # TensorFlow 2.21 makes two zeros of the constant [0, 2^64 - 1] in a graph.
    second = tf.bitcast(tf.constant([0, -1], tf.int64), tf.uint64)
    return {
        "key": words[:1],
        "counter": tf.bitwise.bitwise_and(words, second),
        "alg": _PHILOX,
    }


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
    return tf.random.stateless_normal(shape, seed, stddev=deviation, alg="philox")


def order(places, size, seed, epoch):
    """Return what an epoch's random order of 0..size-1 has at these places, int64.

    Each place is looked up on its own, so that a step finds its images without the
    whole order.
    """
    # The shuffle uses only the low bits of each word of its key, so that the words must
    # be random themselves: with plain numbers the orders repeat after 256 epochs.
    key = bits([3], fold([seed, _ORDER], epoch), tf.int64)
    # Not tf.random.experimental.index_shuffle, which is this with four rounds: too few,
    # neighbours are then further apart than chance has them.
    return tf.raw_ops.RandomIndexShuffle(
        index=tf.cast(places, tf.int64),
        seed=key,
        max_index=tf.constant(size - 1, tf.int64),
        rounds=16,
    )
