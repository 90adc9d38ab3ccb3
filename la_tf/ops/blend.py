"""Color and Sharpness: each pixel blended with a grey or a smooth version of itself.

Pillow blends in float32: one rounding after the product, one after the sum, and then
it cuts off the fraction. Both roundings are needed to give its bytes.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf import luma
from la_tf.ops import operation


def factor_parameters(layer, level, noise):
    """Return the parameters of an operation whose only one is the level's factor."""
    # As Pillow has them, in float32; in float64, where a product with them is exact.
    factors = layer.arguments().astype(np.float32).astype(np.float64)
    # A column holds whole numbers: the bits of a float64 are one.
    return operation.pack(layer.entries(factors.view(np.int64), level, noise))


def factor_of(parameters):
    """Return the factor of each image, float64 [B, 1, 1, 1]."""
    return tf.bitcast(operation.each_image(parameters, 0), tf.float64)


def blend(start, end, factor):
    """Return start + factor (end - start), clipped; without its fraction, Pillow's.

    Args:
        start, end: whole numbers 0..255 of one type.
        factor: float64, of a shape that broadcasts with them.

    Returns:
        float32.
    """
    product = tf.cast(factor, tf.float32) * tf.cast(end - start, tf.float32)
    # A bound that no product reaches stands between product and sum: a compiler would
    # else fuse the two and leave the first rounding out.
    product = tf.maximum(product, -1e6)
    return tf.clip_by_value(tf.cast(start, tf.float32) + product, 0.0, 255.0)


class Blend(operation.Operation):
    """An operation that blends an image with one made from it."""

    def parameters(self, level, noise, height, width):
        return factor_parameters(self, level, noise)

    def factor(self, parameters):
        """Return the image's own part of the blend, float64 [B, 1, 1, 1]."""
        return factor_of(parameters)

    def start(self, channels):
        """Return what is blended with, for channels float32 [B, H, W]: as many."""
        raise NotImplementedError


@keras.utils.register_keras_serializable(package="la_tf")
class Color(Blend):
    """Images with their colour weakened or strengthened, by default by 0.1 to 1.9."""

    def start(self, channels):
        return [luma.of_channels(channels)] * len(channels)

    def transform(self, images, parameters, partners=None):
        if images.shape[-1] == 1:
            return images
        end = tf.cast(images, tf.int32)
        return tf.cast(blend(luma.grey(images), end, factor_of(parameters)), tf.uint8)

    def transform_one(self, image, size, parameters, partner=None):
        height, width, channels = size
        if channels == 1:
            return image
        grey = operation.kept(luma.grey(tf.reshape(image, [-1, channels]))[:, 0])
        column, _ = operation.places_of_bytes(width, channels)
        pixels = tf.range(height)[:, tf.newaxis] * width + column
        end = tf.cast(tf.reshape(image, tf.shape(pixels)), tf.int32)
        factor = factor_of(parameters)[0, 0]
        changed = blend(tf.gather(grey, pixels), end, factor)
        return tf.reshape(tf.cast(changed, tf.uint8), [-1])


@keras.utils.register_keras_serializable(package="la_tf")
class Sharpness(Blend):
    """Images smoothed or sharpened, by default by 0.1 to 1.9, but for the border."""

    def start(self, channels):
        return [_smooth_inside(channel) for channel in channels]

    def transform(self, images, parameters, partners=None):
        values = tf.cast(images, tf.int32)
        sharpened = blend(_smooth(values), values, factor_of(parameters))
        sharpened = tf.cast(sharpened, tf.uint8)
        return tf.where(_has_eight_neighbours(images), sharpened, images)

    def transform_one(self, image, size, parameters, partner=None):
        height, width, channels = size
        row = width * channels
        # From the first pixel with eight neighbours to the last. Their neighbours stand
        # at fixed distances; on a row's ends they are of other rows, and not used.
        first, last = row + channels, (height - 1) * row - channels
        if tf.is_tensor(first) or last <= first:
            return super().transform_one(image, size, parameters)
        middle = tf.cast(image[first:last], tf.int32)
        values = tf.cast(image, tf.uint16)
        around = [
            values[first + distance : last + distance]
            for rows in (-row, 0, row)
            for distance in (rows - channels, rows, rows + channels)
        ]
        total = tf.cast(tf.add_n(around), tf.int32) + 4 * middle
        changed = blend(_rounded_26th(total), middle, factor_of(parameters)[0, 0, 0])
        column = np.arange(first, last) % row
        inside = (column >= channels) & (column < row - channels)
        changed = tf.where(inside, tf.cast(changed, tf.uint8), image[first:last])
        # Else XLA would fuse what was computed into the copy, and not vectorize it.
        changed = operation.kept(changed)
        return tf.concat([image[:first], changed, image[last:]], axis=0)


def _smooth(values):
    """Return the mean of 3 by 3 pixels, the middle counted five times, rounded."""
    around = tf.pad(values, [[0, 0], [1, 1], [1, 1], [0, 0]])
    rows = around[:, :-2] + around[:, 1:-1] + around[:, 2:]
    total = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:] + 4 * values
    return _rounded_26th(total)


def _rounded_26th(total):
    """Return total / 13 rounded, exactly for all that 13 pixels can sum up to."""
    return tf.bitwise.right_shift((2 * total + 13) * 20165, 19)


def _has_eight_neighbours(images):
    """Tell whether a pixel is off the border, bool [H, W, 1]."""
    height, width = tf.shape(images)[1], tf.shape(images)[2]
    row, column = tf.range(height)[:, tf.newaxis], tf.range(width)
    inside = (row > 0) & (row < height - 1) & (column > 0) & (column < width - 1)
    return inside[..., tf.newaxis]


def _smooth_inside(channel):
    """Return the mean of 3 by 3 pixels as `_smooth` has it; the border as it is."""
    _, height, width = channel.shape
    if min(height, width) < 3:
        return channel
    rows = channel[:, :-2] + channel[:, 1:-1] + channel[:, 2:]
    total = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]
    total += 4.0 * channel[:, 1:-1, 1:-1]
    # A 26th of an odd number is never near a whole one, so that no rounding matters.
    mean = tf.floor((2.0 * total + 13.0) * (1.0 / 26.0))
    return tf.where(
        _is_inside(height, width), tf.pad(mean, [[0, 0], [1, 1], [1, 1]]), channel
    )


def _is_inside(height, width):
    inside = np.zeros([height, width], bool)
    inside[1:-1, 1:-1] = True
    return tf.constant(inside)
