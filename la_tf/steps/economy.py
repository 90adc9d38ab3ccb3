"""Training on a few of the views, drawn so that the gradient stays right on average."""

from __future__ import annotations

import tensorflow as tf


def draw(weights, count, seed):
    """`count` views of each image, [B, count] numbers, in proportion to the weights.

    Systematic sampling: with one u uniform in [0, 1) an image, the points (u + m) / M,
    m = 0 .. M-1, fall into intervals as long as the weights, one interval a view. Each
    point is uniform in its own M-th of [0, 1), so that the expected number of points in
    an interval of length h̃ is M h̃: weights of 1/M on the views drawn are unbiased. No
    view with h̃ < 1/M is drawn twice, unlike in independent draws.

    Args:
        weights: [B, K], which sum to 1 in each row.
        count: M, how many are drawn.
        seed: [2], for `tf.random.stateless_uniform`.
    """
    edges = tf.cumsum(weights, axis=1)[:, None, :-1]
    start = tf.random.stateless_uniform([tf.shape(weights)[0], 1], seed, alg="philox")
    points = (start + tf.range(count, dtype=tf.float32)) / count
    return tf.reduce_sum(tf.cast(points[:, :, None] >= edges, tf.int32), -1)
