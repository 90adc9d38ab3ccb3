"""The convolution and the BatchNorm that all networks share."""

from __future__ import annotations

from tensorflow import keras

from models import blocks


def convolution(filters, size, stride=1, name=None):
    """A convolution without bias, padded with zeros evenly on all sides.

    Keras' "same" pads a strided convolution at the bottom and right alone, which moves
    it by a pixel against the 1x1 shortcut beside it; hence the padding by hand there.
    """
    layer = keras.layers.Conv2D(
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
    if stride == 1 or size == 1:
        return layer
    padding = keras.layers.ZeroPadding2D(size // 2, name="padding")
    return keras.Sequential([padding, layer], name=name)


def batch_norm(name=None, zero_scale=False):
    """BatchNorm with the constants of the paper's networks."""
    return blocks.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        gamma_initializer="zeros" if zero_scale else "ones",
        name=name,
    )
