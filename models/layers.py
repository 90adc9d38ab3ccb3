"""The convolution and the BatchNorm that all networks share, and how they are built."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from models import blocks


def convolution(filters, size, stride=1, name=None):
    """Return a convolution without bias, padded with zeros evenly on all sides."""
    kind = PaddedConvolution if stride > 1 and size > 1 else keras.layers.Conv2D
    return kind(
        filters,
        size,
        stride,
        padding="same" if stride == 1 else "valid",
        use_bias=False,
        # No seed: Keras draws one for each layer, from `set_random_seed` where used.
        kernel_initializer=keras.initializers.VarianceScaling(
            2.0, "fan_out", "untruncated_normal"
        ),
        name=name,
    )


@keras.utils.register_keras_serializable("la_tf_models")
class PaddedConvolution(keras.layers.Conv2D):
    """A strided convolution with half its kernel's size of zeros on every side.

    Keras' "same" pads a strided convolution at the bottom and right alone, which moves
    it by a pixel against the 1x1 shortcut beside it.
    """

    def call(self, inputs):
        margins = [[0, 0], *self._margins(), [0, 0]]
        return tf.nn.conv2d(tf.pad(inputs, margins), self.kernel, self.strides, "VALID")

    def compute_output_shape(self, input_shape):
        batch, height, width, channels = tf.TensorShape(input_shape).as_list()
        (top, bottom), (left, right) = self._margins()
        padded = [batch, height + top + bottom, width + left + right, channels]
        return super().compute_output_shape(padded)

    def _margins(self):
        return [[size // 2, size // 2] for size in self.kernel_size]


def batch_norm(name=None, zero_scale=False):
    """Return BatchNorm with the constants of the paper's networks."""
    return blocks.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        gamma_initializer="zeros" if zero_scale else "ones",
        name=name,
    )


def build_chain(input_shape, *chain):
    """Return the shape behind layers that follow one another; make their weights."""
    shape = tf.TensorShape(input_shape)
    for layer in chain:
        with tf.name_scope(layer.name):  # or all weights would be called alike
            layer.build(shape)
        shape = layer.compute_output_shape(shape)
    return shape
