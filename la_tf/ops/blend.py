"""Color and Sharpness: each pixel blended with a grey or a smooth version of itself.

Pillow blends in float32: one rounding after the product, one after the sum, and then
it cuts off the fraction. Both roundings are needed to give its bytes.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf.luma import grey
from la_tf.ops import operation

FACTORS = np.linspace(0.1, 1.9, operation.NUM_LEVELS).astype(np.float32)


def blend(start, end, level):
    """start + factor (end - start), cut off and clipped, as uint8.

    Args:
        start, end: int32 in 0..255.
        level: int32, of a shape that broadcasts with them; 0.1 to 1.9 is the factor.
    """
    # The product is exact in float64 and rounded by the cast: written in float32, a
    # compiler could fuse it with the sum and leave that rounding out.
    factor = tf.gather(FACTORS.astype(np.float64), level)
    product = tf.cast(factor * tf.cast(end - start, tf.float64), tf.float32)
    mixed = tf.cast(start, tf.float32) + product
    return tf.cast(tf.clip_by_value(mixed, 0.0, 255.0), tf.uint8)


@keras.utils.register_keras_serializable(package="la_tf")
class Color(operation.Operation):
    """Images with their colour weakened or strengthened by a factor 0.1 to 1.9."""

    def parameters(self, level, noise, height, width):
        return operation.pack(level)

    def transform(self, images, parameters, partners=None):
        if images.shape[-1] == 1:
            return images
        level = operation.each_image(parameters, 0)
        return blend(grey(images), tf.cast(images, tf.int32), level)


@keras.utils.register_keras_serializable(package="la_tf")
class Sharpness(operation.Operation):
    """Images smoothed or sharpened by a factor 0.1 to 1.9; borders stay as they are."""

    def parameters(self, level, noise, height, width):
        return operation.pack(level)

    def transform(self, images, parameters, partners=None):
        values = tf.cast(images, tf.int32)
        level = operation.each_image(parameters, 0)
        sharpened = blend(_smooth(values), values, level)
        return tf.where(_has_eight_neighbours(images), sharpened, images)


def _smooth(values):
    """The mean of 3 by 3 pixels, the middle counted five times, rounded."""
    around = tf.pad(values, [[0, 0], [1, 1], [1, 1], [0, 0]])
    rows = around[:, :-2] + around[:, 1:-1] + around[:, 2:]
    total = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:] + 4 * values
    # Divided by 26 exactly, for all that 13 pixels can sum up to.
    return tf.bitwise.right_shift((2 * total + 13) * 20165, 19)


def _has_eight_neighbours(images):
    """Whether a pixel is off the border, bool [H, W, 1]."""
    height, width = tf.shape(images)[1], tf.shape(images)[2]
    row, column = tf.range(height)[:, tf.newaxis], tf.range(width)
    inside = (row > 0) & (row < height - 1) & (column > 0) & (column < width - 1)
    return inside[..., tf.newaxis]
