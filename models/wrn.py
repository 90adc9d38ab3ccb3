"""Wide-ResNet (Zagoruyko and Komodakis, 2016, arXiv 1605.07146)."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from models import blocks, layers

STAGE_FILTERS = (16, 32, 64)


def features(pixels, depth, width, remat=False):
    """Return the last activations of the Wide-ResNet of depth 6n + 4 and width."""
    outputs = layers.convolution(16, 3, name="stem")(pixels)
    for stage, filters in enumerate(STAGE_FILTERS, start=1):
        for index in range(1, (depth - 4) // 6 + 1):
            block = WideBlock(
                filters * width,
                stride=2 if stage > 1 and index == 1 else 1,
                remat=remat,
                name=f"stage{stage}_block{index}",
            )
            outputs = block(outputs)
    outputs = layers.batch_norm("last_norm")(outputs)
    return keras.layers.ReLU(name="last_relu")(outputs)


@keras.utils.register_keras_serializable("la_tf_models")
class WideBlock(blocks.Block):
    """Twice BatchNorm, ReLU, 3x3 convolution, added to the shortcut.

    Where the shape changes the shortcut is a 1x1 convolution of the activated input, so
    the first BatchNorm and ReLU stand before both paths there.
    """

    def __init__(self, filters, stride=1, remat=False, **kwargs):
        super().__init__(remat, **kwargs)
        self.filters = filters
        self.stride = stride
        self.norm1 = layers.batch_norm("norm1")
        self.conv1 = layers.convolution(filters, 3, stride, "conv1")
        self.norm2 = layers.batch_norm("norm2")
        self.conv2 = layers.convolution(filters, 3, name="conv2")
        self.shortcut = None

    def build(self, input_shape):
        if self.stride != 1 or input_shape[-1] != self.filters:
            self.shortcut = layers.convolution(self.filters, 1, self.stride, "shortcut")
            layers.build_chain(input_shape, self.shortcut)
        layers.build_chain(input_shape, self.norm1, self.conv1, self.norm2, self.conv2)
        super().build(input_shape)

    def transform(self, inputs, training):
        activated = tf.nn.relu(self.norm1(inputs, training=training))
        shortcut = self.shortcut(activated) if self.shortcut else inputs
        hidden = self.norm2(self.conv1(activated), training=training)
        return shortcut + self.conv2(tf.nn.relu(hidden))

    def compute_output_shape(self, input_shape):
        return self.conv1.compute_output_shape(input_shape)

    def get_config(self):
        config = {"filters": self.filters, "stride": self.stride}
        return {**super().get_config(), **config}
