"""Residual blocks that can recompute their activations in the backward pass."""

from __future__ import annotations

import itertools
import threading

import tensorflow as tf
from tensorflow import keras

from models import noise


class _Mode(threading.local):
    """Whether the present thread is recomputing a block that has run before."""

    recomputing = False


_mode = _Mode()


class Block(keras.layers.Layer):
    """A residual block; subclasses say in `transform` what it computes.

    With `remat` only the block's inputs are kept in training; the backward pass runs
    `transform` once more, with the same noise and without moving BatchNorm's averages a
    second time.
    """

    def __init__(self, remat=False, **kwargs):
        super().__init__(**kwargs)
        self.remat = remat

    def call(self, inputs, training=None):
        if self.remat and training:
            return self._recomputed(inputs)
        return self.transform(inputs, training)

    def transform(self, inputs, training):
        """Return the block's output; may run twice in a training step."""
        raise NotImplementedError

    def _recomputed(self, inputs):
        active = noise.current()
        runs = itertools.count()

        @tf.recompute_grad
        def run(tensor):
            outer, _mode.recomputing = _mode.recomputing, next(runs) > 0
            try:
                with noise.entered(active):
                    return self.transform(tensor, training=True)
            finally:
                _mode.recomputing = outer

        return run(inputs)

    def get_config(self):
        return {**super().get_config(), "remat": self.remat}


@keras.utils.register_keras_serializable("la_tf_models")
class BatchNormalization(keras.layers.BatchNormalization):
    """Keras' layer, by TensorFlow's fused kernel in every generation of Keras.

    The moving variance is that of a sample, with Bessel's correction. The averages stay
    as they are during recomputation.
    """

    def call(self, inputs, training=None):
        learns = bool(training) and self.trainable
        outputs, mean, variance = tf.compat.v1.nn.fused_batch_norm(
            inputs,
            self.gamma,
            self.beta,
            mean=None if learns else self.moving_mean,
            variance=None if learns else self.moving_variance,
            epsilon=self.epsilon,
            is_training=learns,
        )
        if learns and not _mode.recomputing:
            self._move(self.moving_mean, mean)
            self._move(self.moving_variance, variance)
        return outputs

    def _move(self, average, value):
        average.assign_sub((average - value) * (1.0 - self.momentum))
