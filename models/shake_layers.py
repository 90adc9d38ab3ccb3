"""Shake-Shake and ShakeDrop: layers whose backward pass scales by noise of its own.

The numbers come from `models.noise`, one row for each image. A layer's `salt` tells its
noise from the other layers'; it must differ between the layers of a network.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from models import noise


@keras.utils.register_keras_serializable("la_tf_models")
class ShakeShake(keras.layers.Layer):
    """A random mean of two branches (Gastaldi, 2017, arXiv 1705.07485).

    Training gives a x1 + (1 - a) x2 with a ~ U(0, 1) for each image, and hands the
    branches b and 1 - b times the gradient with b ~ U(0, 1) of its own. Evaluation
    gives the plain mean.
    """

    # Lets a training step choose the seed, and repeat the noise.
    noise_scope = staticmethod(noise.scope)

    def __init__(self, salt, **kwargs):
        super().__init__(**kwargs)
        self.salt = salt

    def call(self, inputs, training=None):
        first, second = inputs
        if not training:
            return 0.5 * (first + second)
        draws = _draw_for(first, self.salt, columns=2)
        return _mix(first, second, draws[0], draws[1])

    def get_config(self):
        return {**super().get_config(), "salt": self.salt}


@keras.utils.register_keras_serializable("la_tf_models")
class ShakeDrop(keras.layers.Layer):
    """A residual branch that is now and then scaled by noise (Yamada et al., 2018).

    For each image the branch is kept as it is with probability `keep`; otherwise it is
    scaled by a ~ U(-1, 1) and its gradient by b ~ U(0, 1). Evaluation scales it by the
    expectation, which is `keep`. (The paper's gate is drawn for each layer and batch in
    some of the published code; here for each layer and image, so that an image's noise
    does not depend on the images beside it.)
    """

    noise_scope = staticmethod(noise.scope)

    def __init__(self, keep, salt, **kwargs):
        super().__init__(**kwargs)
        self.keep = keep
        self.salt = salt

    def call(self, inputs, training=None):
        if not training:
            return self.keep * inputs
        gate, forward, backward = _draw_for(inputs, self.salt, columns=3)
        kept = gate < self.keep
        forward = tf.where(kept, tf.ones_like(forward), 2 * forward - 1)
        backward = tf.where(kept, tf.ones_like(backward), backward)
        return _scale(inputs, forward, backward)

    def get_config(self):
        return {**super().get_config(), "keep": self.keep, "salt": self.salt}


def _draw_for(images, salt, columns):
    """Return so many tensors [batch, 1, 1, 1] of numbers in [0, 1)."""
    draws = noise.current().draw(salt, tf.shape(images)[0], columns)
    draws = tf.cast(draws, images.dtype)[:, tf.newaxis, tf.newaxis, :]
    return tf.split(draws, columns, axis=-1)


@tf.custom_gradient
def _mix(first, second, forward, backward):
    """Return forward * first + (1 - forward) * second, backward in its gradient."""

    def gradient(upstream):
        share = backward * upstream
        return share, upstream - share, None, None

    return forward * first + (1 - forward) * second, gradient


@tf.custom_gradient
def _scale(inputs, forward, backward):
    """Return forward * inputs, whose gradient is scaled by backward instead."""

    def gradient(upstream):
        return backward * upstream, None, None

    return forward * inputs, gradient
