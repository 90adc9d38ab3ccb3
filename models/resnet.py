"""ResNet-50 (He et al., 2016, arXiv 1512.03385), stride in the 3x3 convolutions.

That is the "v1.5" which PyTorch's model zoo and the usual ImageNet figures mean; the
paper's own text has the stride in the 1x1 convolution before it. The number of weights
is the same.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from models import blocks, layers

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # width and blocks of each
EXPANSION = 4


def features(pixels, remat=False, zero_init_last=False):
    """Return the last activations of ResNet-50."""
    outputs = layers.convolution(64, 7, 2, name="stem")(pixels)
    outputs = layers.batch_norm("stem_norm")(outputs)
    outputs = keras.layers.ReLU(name="stem_relu")(outputs)
    # Zeros serve as padding: behind a ReLU nothing is below them.
    outputs = keras.layers.ZeroPadding2D(1, name="stem_padding")(outputs)
    outputs = keras.layers.MaxPooling2D(3, 2, name="stem_pool")(outputs)
    for stage, (width, count) in enumerate(STAGES, start=1):
        for index in range(1, count + 1):
            block = Bottleneck(
                width,
                stride=2 if stage > 1 and index == 1 else 1,
                zero_init_last=zero_init_last,
                remat=remat,
                name=f"stage{stage}_block{index}",
            )
            outputs = block(outputs)
    return outputs


@keras.utils.register_keras_serializable("la_tf_models")
class Bottleneck(blocks.Block):
    """1x1, 3x3 and 1x1 convolutions with BatchNorm, added to the shortcut, then ReLU.

    With `zero_init_last` the block starts as its shortcut (Goyal et al., 2017).
    """

    def __init__(self, width, stride=1, zero_init_last=False, remat=False, **kwargs):
        super().__init__(remat, **kwargs)
        self.width = width
        self.stride = stride
        self.zero_init_last = zero_init_last
        self.conv1 = layers.convolution(width, 1, name="conv1")
        self.norm1 = layers.batch_norm("norm1")
        self.conv2 = layers.convolution(width, 3, stride, name="conv2")
        self.norm2 = layers.batch_norm("norm2")
        self.conv3 = layers.convolution(EXPANSION * width, 1, name="conv3")
        self.norm3 = layers.batch_norm("norm3", zero_scale=zero_init_last)
        self.shortcut = None

    def build(self, input_shape):
        channels = EXPANSION * self.width
        if self.stride != 1 or input_shape[-1] != channels:
            self.shortcut = layers.convolution(channels, 1, self.stride, "shortcut")
            self.shortcut_norm = layers.batch_norm("shortcut_norm")
            layers.build_chain(input_shape, self.shortcut, self.shortcut_norm)
        first = [self.conv1, self.norm1, self.conv2, self.norm2]
        layers.build_chain(input_shape, *first, self.conv3, self.norm3)
        super().build(input_shape)

    def transform(self, inputs, training):
        hidden = tf.nn.relu(self.norm1(self.conv1(inputs), training=training))
        hidden = tf.nn.relu(self.norm2(self.conv2(hidden), training=training))
        hidden = self.norm3(self.conv3(hidden), training=training)
        return tf.nn.relu(hidden + self._shortcut(inputs, training))

    def _shortcut(self, inputs, training):
        if self.shortcut is None:
            return inputs
        return self.shortcut_norm(self.shortcut(inputs), training=training)

    def compute_output_shape(self, input_shape):
        return self.conv3.compute_output_shape(
            self.conv2.compute_output_shape(input_shape)
        )

    def get_config(self):
        config = {"width": self.width, "stride": self.stride}
        config["zero_init_last"] = self.zero_init_last
        return {**super().get_config(), **config}
