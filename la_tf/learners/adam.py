"""Adam, for weights that are no part of the network."""

from __future__ import annotations

import tensorflow as tf

_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8


class Adam(tf.Module):
    """Moves weights against their gradients (Kingma and Ba, 2015).

    A Keras optimizer would ask for a step under a strategy; this one is called outside
    of it, between two steps.

    Args:
        weights: `tf.Variable`s by name.
        learning_rate: a number.
    """

    def __init__(self, weights, learning_rate):
        super().__init__(name="adam")
        self._weights = weights
        self._learning_rate = learning_rate
        self.means, self.squares = (
            {
                name: tf.Variable(tf.zeros_like(weight), trainable=False, name=name)
                for name, weight in weights.items()
            }
            for _ in range(2)
        )
        self.updates = tf.Variable(0, trainable=False, dtype=tf.int64, name="updates")

    def apply(self, gradients):
        """Move the weights by gradients, tensors by name."""
        self.updates.assign_add(1)
        count = tf.cast(self.updates, tf.float32)
        for name, gradient in gradients.items():
            mean, square = self.means[name], self.squares[name]
            mean.assign(_FIRST * mean + (1 - _FIRST) * gradient)
            square.assign(_SECOND * square + (1 - _SECOND) * gradient**2)
            unbiased = tf.sqrt(square / (1 - _SECOND**count)) + _EPSILON
            step = mean / (1 - _FIRST**count) / unbiased
            weight = self._weights[name]
            weight.assign(weight - self._learning_rate * step)
