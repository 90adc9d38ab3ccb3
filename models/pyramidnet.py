"""PyramidNet (Han et al., 2017, arXiv 1610.02915) with ShakeDrop (Yamada et al., 2018).

Bottleneck blocks; the channels grow by the same amount in every block, by `alpha` in
all (additive widening).
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from models import blocks, layers, shake_layers

EXPANSION = 4
LAST_KEEP = 0.5  # the chance of the last block to be left alone by ShakeDrop


def features(pixels, depth, alpha, remat=False):
    """Return the last activations of the PyramidNet of depth 9n + 2 and widening."""
    per_stage = (depth - 2) // 9
    count = 3 * per_stage
    outputs = layers.convolution(16, 3, name="stem")(pixels)
    outputs = layers.batch_norm("stem_norm")(outputs)
    for number in range(1, count + 1):
        stage, index = divmod(number - 1, per_stage)
        block = PyramidBlock(
            block_width(number, count, alpha),
            stride=2 if stage > 0 and index == 0 else 1,
            keep=1 - number / count * (1 - LAST_KEEP),
            salt=number,
            remat=remat,
            name=f"stage{stage + 1}_block{index + 1}",
        )
        outputs = block(outputs)
    outputs = layers.batch_norm("last_norm")(outputs)
    return keras.layers.ReLU(name="last_relu")(outputs)


def block_width(number, count, alpha):
    """Return 16 + alpha * number / count, rounded, halves upwards."""
    return 16 + (2 * alpha * number + count) // (2 * count)


@keras.utils.register_keras_serializable("la_tf_models")
class PyramidBlock(blocks.Block):
    """A bottleneck without a first ReLU, and a shortcut padded with zero channels."""

    def __init__(self, width, keep, salt, stride=1, remat=False, **kwargs):
        super().__init__(remat, **kwargs)
        self.width = width
        self.keep = keep
        self.salt = salt
        self.stride = stride
        self.norm0 = layers.batch_norm("norm0")
        self.conv1 = layers.convolution(width, 1, name="conv1")
        self.norm1 = layers.batch_norm("norm1")
        self.conv2 = layers.convolution(width, 3, stride, name="conv2")
        self.norm2 = layers.batch_norm("norm2")
        self.conv3 = layers.convolution(EXPANSION * width, 1, name="conv3")
        self.norm3 = layers.batch_norm("norm3")
        self.drop = shake_layers.ShakeDrop(keep, salt, name="drop")
        # "same" averages just the pixels that exist where a side is odd.
        self.pool = keras.layers.AveragePooling2D(stride, padding="same", name="pool")

    def build(self, input_shape):
        first = [self.norm0, self.conv1, self.norm1, self.conv2]
        layers.build_chain(input_shape, *first, self.norm2, self.conv3, self.norm3)
        super().build(input_shape)

    def transform(self, inputs, training):
        hidden = self.conv1(self.norm0(inputs, training=training))
        hidden = self.conv2(tf.nn.relu(self.norm1(hidden, training=training)))
        hidden = self.conv3(tf.nn.relu(self.norm2(hidden, training=training)))
        hidden = self.norm3(hidden, training=training)
        return self._shortcut(inputs) + self.drop(hidden, training=training)

    def _shortcut(self, inputs):
        pooled = inputs if self.stride == 1 else self.pool(inputs)
        missing = EXPANSION * self.width - inputs.shape[-1]
        return tf.pad(pooled, [[0, 0], [0, 0], [0, 0], [0, missing]])

    def compute_output_shape(self, input_shape):
        return self.conv3.compute_output_shape(
            self.conv2.compute_output_shape(input_shape)
        )

    def get_config(self):
        config = {"width": self.width, "keep": self.keep, "salt": self.salt}
        return {**super().get_config(), **config, "stride": self.stride}
