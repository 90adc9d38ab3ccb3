"""Operations that send each value of a channel through a table of 256 entries.

Posterize, Solarize, Contrast, Brightness, AutoContrast, Equalize and Invert.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf.ops import blend, operation

LEVELS = np.arange(operation.NUM_LEVELS)[:, np.newaxis]
VALUES = np.arange(256)[np.newaxis]

POSTERIZE_BITS = (8, 8, 7, 7, 6, 6, 5, 5, 4, 4)


def look_up(images, tables):
    """The images with each value replaced by its entry of tables, uint8 [B, C, 256].

    With tables [B, 1, 256] all channels of an image share one table.
    """
    shape = tf.shape(images)
    channels = images.shape[-1]
    first = tf.range(shape[0])[:, tf.newaxis, tf.newaxis, tf.newaxis] * tables.shape[1]
    if tables.shape[1] > 1:
        first += tf.range(channels)
    return tf.gather(tf.reshape(tables, [-1]), first * 256 + tf.cast(images, tf.int32))


class _LevelTable(operation.Operation):
    """An operation with one table a level, the same for all images and channels."""

    table = None  # uint8 [10, 256]

    def parameters(self, level, noise, height, width):
        return operation.pack(level)

    def transform(self, images, parameters, partners=None):
        tables = tf.gather(self.table.astype(np.uint8), parameters[:, 0])
        return look_up(images, tables[:, tf.newaxis])


@keras.utils.register_keras_serializable(package="la_tf")
class Posterize(_LevelTable):
    """Images with the lower bits cleared: 8 bits kept at level 0, 4 at level 9."""

    table = VALUES & ~(2 ** (8 - np.array(POSTERIZE_BITS))[:, np.newaxis] - 1)


@keras.utils.register_keras_serializable(package="la_tf")
class Solarize(_LevelTable):
    """Images inverted from a threshold up: 256 (never) at level 0, 0 at level 9."""

    # In ninths, so that the threshold is not rounded.
    table = np.where(9 * VALUES < 256 * (9 - LEVELS), VALUES, 255 - VALUES)


@keras.utils.register_keras_serializable(package="la_tf")
class Brightness(_LevelTable):
    """Images times 0.1 to 1.9, clipped."""

    table = np.clip(VALUES.astype(np.float32) * blend.FACTORS[:, np.newaxis], 0, 255)


@keras.utils.register_keras_serializable(package="la_tf")
class Invert(_LevelTable):
    """Images as negatives; the level changes nothing."""

    has_level = False
    table = np.tile(255 - VALUES, [operation.NUM_LEVELS, 1])


@keras.utils.register_keras_serializable(package="la_tf")
class Contrast(operation.Operation):
    """Images drawn towards, or away from, their mean grey by a factor 0.1 to 1.9."""

    def parameters(self, level, noise, height, width):
        return operation.pack(level)

    def transform(self, images, parameters, partners=None):
        mean = _rounded_mean(blend.grey(images))
        tables = blend.blend(mean[:, tf.newaxis], tf.range(256), parameters[:, :1])
        return look_up(images, tables[:, tf.newaxis])


def _rounded_mean(grey):
    """The mean of each image, int32 [B], halves rounded up."""
    # Two steps: the sum of a large image does not fit 32 bits.
    rows = tf.cast(tf.reduce_sum(grey, axis=[2, 3]), tf.int64)
    total = tf.reduce_sum(rows, axis=1)
    shape = tf.shape(grey, tf.int64)
    count = shape[1] * shape[2]
    return tf.cast((2 * total + count) // (2 * count), tf.int32)


def _stretch_products():
    """Pillow's float64 `value * (255 / spread)` for each spread and value [256, 256].

    Its last bit decides where AutoContrast truncates, so the very products are kept.
    """
    spread = np.maximum(np.arange(256, dtype=np.float64), 1)[:, np.newaxis]
    return VALUES * (255.0 / spread)


@keras.utils.register_keras_serializable(package="la_tf")
class AutoContrast(operation.Operation):
    """Images with each channel stretched to 0..255; the level changes nothing."""

    has_level = False
    _products = _stretch_products()

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def transform(self, images, parameters, partners=None):
        low = tf.cast(tf.reduce_min(images, axis=[1, 2]), tf.int32)
        high = tf.cast(tf.reduce_max(images, axis=[1, 2]), tf.int32)
        products = tf.gather(tf.constant(self._products), high - low)
        offset = tf.gather(products, low, batch_dims=2)
        stretched = tf.cast(products - offset[..., tf.newaxis], tf.int32)
        flat = (high <= low)[..., tf.newaxis]
        tables = tf.where(flat, tf.range(256), tf.clip_by_value(stretched, 0, 255))
        return look_up(images, tf.cast(tables, tf.uint8))


@keras.utils.register_keras_serializable(package="la_tf")
class Equalize(operation.Operation):
    """Images with each channel's histogram made even; the level changes nothing."""

    has_level = False

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def transform(self, images, parameters, partners=None):
        return look_up(images, equalizing_tables(images))


def equalizing_tables(images):
    """Pillow's equalizing table for each image and channel, uint8 [B, C, 256]."""
    histogram = _histograms(images)
    total = tf.reduce_sum(histogram, axis=-1, keepdims=True)
    last = tf.reduce_max(tf.cast(images, tf.int32), axis=[1, 2])[..., tf.newaxis]
    last = tf.gather(histogram, last, batch_dims=2)
    step = (total - last) // 255
    before = tf.cumsum(histogram, axis=-1, exclusive=True)
    even = (before + step // 2) // tf.maximum(step, 1)
    tables = tf.where(step > 0, tf.minimum(even, 255), tf.range(256))
    return tf.cast(tables, tf.uint8)


def _histograms(images):
    """How often each value occurs, int32 [B, C, 256]."""
    channels = images.shape[-1]
    values = tf.cast(images, tf.int32) + 256 * tf.range(channels)
    values = tf.reshape(values, [tf.shape(images)[0], -1])
    size = 256 * channels
    counts = tf.math.bincount(values, minlength=size, maxlength=size, axis=-1)
    return tf.reshape(counts, [-1, channels, 256])
