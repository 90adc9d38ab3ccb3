"""Shake-Shake 26 2xNd (Gastaldi, 2017, arXiv 1705.07485), noise drawn per image."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from models import blocks, layers, shake_layers

BLOCKS_PER_STAGE = 4


def features(pixels, width, remat=False):
    """Return the last activations of Shake-Shake 26 of `width` channels at first."""
    outputs = layers.convolution(16, 3, name="stem")(pixels)
    outputs = layers.batch_norm("stem_norm")(outputs)
    for stage in (1, 2, 3):
        for index in range(1, BLOCKS_PER_STAGE + 1):
            block = ShakeShakeBlock(
                width * 2 ** (stage - 1),
                stride=2 if stage > 1 and index == 1 else 1,
                salt=(stage - 1) * BLOCKS_PER_STAGE + index,
                remat=remat,
                name=f"stage{stage}_block{index}",
            )
            outputs = block(outputs)
    return keras.layers.ReLU(name="last_relu")(outputs)


@keras.utils.register_keras_serializable("la_tf_models")
class ShakeShakeBlock(blocks.Block):
    """A random mean of two branches, added to the shortcut."""

    def __init__(self, filters, salt, stride=1, remat=False, **kwargs):
        super().__init__(remat, **kwargs)
        self.filters = filters
        self.salt = salt
        self.stride = stride
        self.branch1 = _branch(filters, stride, "branch1")
        self.branch2 = _branch(filters, stride, "branch2")
        self.mix = shake_layers.ShakeShake(salt, name="mix")
        self.shortcut = None

    def build(self, input_shape):
        if input_shape[-1] != self.filters:
            self.shortcut = ShiftedShortcut(self.filters, self.stride, name="shortcut")
            layers.build_chain(input_shape, self.shortcut)
        layers.build_chain(input_shape, *self.branch1)
        layers.build_chain(input_shape, *self.branch2)
        super().build(input_shape)

    def transform(self, inputs, training):
        activated = tf.nn.relu(inputs)
        mixed = self.mix(
            [
                _run_branch(self.branch1, activated, training),
                _run_branch(self.branch2, activated, training),
            ],
            training=training,
        )
        if self.shortcut is None:
            return inputs + mixed
        return self.shortcut(activated, training=training) + mixed

    def compute_output_shape(self, input_shape):
        return self.branch1[0].compute_output_shape(input_shape)

    def get_config(self):
        config = {"filters": self.filters, "salt": self.salt, "stride": self.stride}
        return {**super().get_config(), **config}


def _branch(filters, stride, name):
    """Return convolution and BatchNorm, twice."""
    return [
        layers.convolution(filters, 3, stride, f"{name}_conv1"),
        layers.batch_norm(f"{name}_norm1"),
        layers.convolution(filters, 3, name=f"{name}_conv2"),
        layers.batch_norm(f"{name}_norm2"),
    ]


def _run_branch(branch, activated, training):
    conv1, norm1, conv2, norm2 = branch
    hidden = tf.nn.relu(norm1(conv1(activated), training=training))
    return norm2(conv2(hidden), training=training)


@keras.utils.register_keras_serializable("la_tf_models")
class ShiftedShortcut(keras.layers.Layer):
    """Two 1x1 convolutions side by side and a BatchNorm.

    The second sees the image moved right and down by a pixel, so that with stride 2 the
    two together see more than a quarter of the pixels. An odd number of channels gives
    the second path the one more.
    """

    def __init__(self, filters, stride=1, **kwargs):
        super().__init__(**kwargs)
        self.filters = filters
        self.stride = stride
        self.straight = layers.convolution(filters // 2, 1, name="straight")
        self.shifted = layers.convolution(filters - filters // 2, 1, name="shifted")
        self.norm = layers.batch_norm("norm")

    def build(self, input_shape):
        layers.build_chain(input_shape, self.straight)
        layers.build_chain(input_shape, self.shifted)
        layers.build_chain([*input_shape[:-1], self.filters], self.norm)
        super().build(input_shape)

    def call(self, inputs, training=None):
        step = self.stride
        straight = self.straight(inputs[:, ::step, ::step])
        moved = tf.pad(inputs, [[0, 0], [1, 0], [1, 0], [0, 0]])
        shifted = self.shifted(moved[:, :-1:step, :-1:step])
        return self.norm(tf.concat([straight, shifted], axis=-1), training=training)

    def compute_output_shape(self, input_shape):
        batch, height, width, _ = tf.TensorShape(input_shape).as_list()
        sides = [-(-side // self.stride) for side in (height, width)]
        return batch, *sides, self.filters

    def get_config(self):
        config = {"filters": self.filters, "stride": self.stride}
        return {**super().get_config(), **config}
