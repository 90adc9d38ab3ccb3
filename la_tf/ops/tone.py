"""Operations that send each value of a channel through a table of 256 entries.

Posterize, Solarize, Contrast, Brightness, AutoContrast, Equalize and Invert.
"""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf import luma
from la_tf.ops import blend, operation

VALUES = np.arange(256).reshape([1, 1, 1, 256])


def look_up(images, tables):
    """Return the images with each value's entry of tables, uint8 [B, C, 256].

    With tables [B, 1, 256] all channels of an image share one table.
    """
    shape = tf.shape(images)
    channels = images.shape[-1]
    first = tf.range(shape[0])[:, tf.newaxis, tf.newaxis, tf.newaxis] * tables.shape[1]
    if tables.shape[1] > 1:
        first += tf.range(channels)
    return tf.gather(tf.reshape(tables, [-1]), first * 256 + tf.cast(images, tf.int32))


def look_up_one(image, size, tables):
    """Return what `look_up` does, for one flat image inside compiled code."""
    height, width, channels = size
    _, channel = operation.places_of_bytes(width, channels)
    rows = tf.cast(tf.reshape(image, [height, width * channels]), tf.int32)
    found = tf.gather(tf.reshape(operation.kept(tables), [-1]), channel * 256 + rows)
    return tf.reshape(found, [-1])


class Tone(operation.Operation):
    """An operation that is a table of 256 entries for each channel."""

    # Whether the table depends on the image.
    needs_pixels = False

    def tables(self, parameters, channels=None):
        """Return the tables, float32 [B, C or 1, 256].

        Args:
            parameters: int64 [B, 6].
            channels: a list of float32 [B, H, W], where they are needed.
        """
        changed = self.change(tf.constant(VALUES), parameters)
        return tf.cast(changed, tf.float32)[:, 0]

    def change(self, values, parameters):
        """Return what whole numbers [..., 256 or C] become, in their own type."""
        raise NotImplementedError

    def transform(self, images, parameters, partners=None):
        return self.change(images, parameters)


@keras.utils.register_keras_serializable(package="la_tf")
class Posterize(Tone):
    """Images with the lower bits cleared; by default 8 to 4 bits are kept."""

    by_value = True

    def parameters(self, level, noise, height, width):
        masks = 256 - 2 ** (8 - self.arguments(int))
        return operation.pack(self.entries(masks, level, noise))

    def change(self, values, parameters):
        mask = tf.cast(operation.each_image(parameters, 0), values.dtype)
        return tf.bitwise.bitwise_and(values, mask)


@keras.utils.register_keras_serializable(package="la_tf")
class Solarize(Tone):
    """Images inverted from a threshold up, by default 256 (never) to 0 (always)."""

    by_value = True

    def parameters(self, level, noise, height, width):
        # The largest value left alone.
        kept = self.arguments(math.ceil) - 1
        return operation.pack(self.entries(kept, level, noise))

    def change(self, values, parameters):
        keep = tf.cast(operation.each_image(parameters, 0), tf.float32)
        return tf.where(tf.cast(values, tf.float32) <= keep, values, 255 - values)


@keras.utils.register_keras_serializable(package="la_tf")
class Invert(Tone):
    """Images as negatives; the level changes nothing."""

    has_level = False
    by_value = True

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def change(self, values, parameters):
        return 255 - values


@keras.utils.register_keras_serializable(package="la_tf")
class Brightness(Tone):
    """Images times a factor, by default 0.1 to 1.9, clipped."""

    by_value = True

    def parameters(self, level, noise, height, width):
        return blend.factor_parameters(self, level, noise)

    def change(self, values, parameters):
        changed = blend.blend(
            0.0, tf.cast(values, tf.float32), blend.factor_of(parameters)
        )
        return tf.cast(changed, values.dtype)


@keras.utils.register_keras_serializable(package="la_tf")
class Contrast(Tone):
    """Images drawn to, or away from, their mean grey, by default by 0.1 to 1.9."""

    needs_pixels = True

    def parameters(self, level, noise, height, width):
        return blend.factor_parameters(self, level, noise)

    def tables(self, parameters, channels=None):
        grey = luma.of_channels(channels)
        values = tf.constant(VALUES, tf.float32)
        return tf.floor(_contrast(values, grey[..., tf.newaxis], parameters))[:, 0]

    def transform(self, images, parameters, partners=None):
        values = tf.cast(images, tf.float32)
        return tf.cast(_contrast(values, luma.grey(images), parameters), tf.uint8)

    def transform_one(self, image, size, parameters, partner=None):
        grey = luma.grey(tf.reshape(image, [1, *size]))
        values = tf.reshape(tf.cast(image, tf.float32), [1, 1, 1, -1])
        changed = _contrast(values, grey, parameters)
        return tf.reshape(tf.cast(changed, tf.uint8), [-1])


def _contrast(values, grey, parameters):
    mean = tf.reshape(_rounded_mean(grey), [-1, 1, 1, 1])
    return blend.blend(mean, values, blend.factor_of(parameters))


def _rounded_mean(grey):
    """Return the mean of each image [B, H, W, 1], float32 [B], halves rounded up."""
    # Two steps: the sum of a large image does not fit 32 bits.
    rows = tf.cast(tf.reduce_sum(grey, axis=[2, 3]), tf.int64)
    total = tf.reduce_sum(rows, axis=1)
    shape = tf.shape(grey, tf.int64)
    count = shape[1] * shape[2]
    return tf.cast((2 * total + count) // (2 * count), tf.float32)


def _stretch_products():
    """Return Pillow's float64 `value * (255 / spread)` for each, [256, 256].

    Its last bit decides where AutoContrast truncates, so the very products are kept.
    """
    spread = np.maximum(np.arange(256, dtype=np.float64), 1)[:, np.newaxis]
    return np.arange(256) * (255.0 / spread)


@keras.utils.register_keras_serializable(package="la_tf")
class AutoContrast(Tone):
    """Images with each channel stretched to 0..255; the level changes nothing."""

    has_level = False
    needs_pixels = True
    _products = _stretch_products()

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def tables(self, parameters, channels=None):
        low = tf.stack([tf.reduce_min(one, axis=[1, 2]) for one in channels], axis=1)
        high = tf.stack([tf.reduce_max(one, axis=[1, 2]) for one in channels], axis=1)
        return self._stretching(low, high)

    def transform(self, images, parameters, partners=None):
        return look_up(images, self._tables_of(images))

    def transform_one(self, image, size, parameters, partner=None):
        return look_up_one(image, size, self._tables_of(tf.reshape(image, [1, *size])))

    def _tables_of(self, images):
        low = _over_pixels(tf.minimum, tf.reduce_min, images)
        high = _over_pixels(tf.maximum, tf.reduce_max, images)
        return tf.cast(self._stretching(low, high), tf.uint8)

    def _stretching(self, low, high):
        """Return Pillow's tables, float32 [B, C, 256], for extremes float32 [B, C]."""
        products = tf.constant(self._products)
        row = tf.cast(high - low, tf.int32)
        offset = tf.cast(256.0 * (high - low) + low, tf.int32)
        offset = tf.gather(tf.reshape(products, [-1]), offset)[..., tf.newaxis]
        stretched = tf.clip_by_value(tf.gather(products, row) - offset, 0.0, 255.0)
        return tf.where(
            (high <= low)[..., tf.newaxis],
            tf.range(256.0),
            tf.cast(tf.floor(stretched), tf.float32),
        )


def _over_pixels(choose, reduce, images):
    """Return the smallest or largest value of each channel, float32 [B, C]."""
    # Rows in halves, which overlap where their number is odd: XLA makes of it four
    # times as fast a code as of a reduction.
    batch, height, width, channels = operation.shape_of(images)
    rows = tf.reshape(images, [batch, height, width * channels])
    while rows.shape[1] is not None and rows.shape[1] > 1:
        half = (rows.shape[1] + 1) // 2
        rows = choose(rows[:, :half], rows[:, -half:])
    pixels = tf.reshape(rows, [batch, -1, channels])
    return tf.cast(reduce(pixels, axis=1), tf.float32)


@keras.utils.register_keras_serializable(package="la_tf")
class Equalize(Tone):
    """Images with each channel's histogram made even; the level changes nothing."""

    has_level = False
    needs_pixels = True

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def tables(self, parameters, channels=None):
        return equalizing_tables(_channel_histograms(channels))

    def transform(self, images, parameters, partners=None):
        tables = equalizing_tables(_histograms(images))
        return look_up(images, tf.cast(tables, tf.uint8))

    def transform_one(self, image, size, parameters, partner=None):
        tables = equalizing_tables(_counted(image, size[-1]))
        return look_up_one(image, size, tf.cast(tables, tf.uint8))


def equalizing_tables(histograms):
    """Return Pillow's equalizing tables, float32, for histograms, [B, C, 256]."""
    # Quotients of whole numbers: in float64 no rounding reaches the next one.
    histograms = tf.cast(histograms, tf.float64)
    values = tf.range(256, dtype=tf.float64)
    total = tf.reduce_sum(histograms, axis=-1, keepdims=True)
    last = tf.reduce_max(tf.where(histograms > 0, values, -1.0), -1, keepdims=True)
    last = tf.reduce_sum(tf.where(values == last, histograms, 0.0), -1, keepdims=True)
    step = tf.floor((total - last) / 255.0)
    before = _running_sum(histograms) - histograms
    even = tf.floor((before + tf.floor(step * 0.5)) / tf.maximum(step, 1.0))
    tables = tf.where(step > 0, tf.minimum(even, 255.0), values)
    return tf.cast(tables, tf.float32)


def _running_sum(histograms):
    """Return the sum of all entries up to and with each, by eight shifted additions."""
    # XLA's own cumsum takes as long as looking up a whole small image.
    for shift in (1, 2, 4, 8, 16, 32, 64, 128):
        shifted = tf.pad(histograms[..., :-shift], [[0, 0], [0, 0], [shift, 0]])
        histograms += shifted
    return histograms


def _histograms(images):
    """Return how often each value occurs, int32 [B, C, 256]."""
    channels = images.shape[-1]
    values = tf.cast(images, tf.int32) + 256 * tf.range(channels)
    values = tf.reshape(values, [tf.shape(images)[0], -1])
    size = 256 * channels
    counts = tf.math.bincount(values, minlength=size, maxlength=size, axis=-1)
    return tf.reshape(counts, [-1, channels, 256])


def _channel_histograms(channels):
    """Return how often each value occurs, float32 [B, C, 256], for a list of channels.

    Counted by a sum over segments, which a GPU and a compiler know alike.
    """
    values = tf.stack(channels, axis=1)
    count = tf.shape(values)[0] * len(channels)
    first = tf.range(tf.cast(count, tf.float32)) * 256.0
    first = tf.reshape(first, [-1, len(channels), 1, 1])
    bins = tf.cast(first + values, tf.int32)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(values), bins, count * 256)
    return tf.reshape(counts, [-1, len(channels), 256])


def _counted(values, channels):
    """Return the histogram of a flat image, int32 [1, C, 256], for compiled code.

    A loop over pixels is what XLA makes the fastest code of: 1.2 ns a value, a quarter
    of what its own scatter takes.
    """

    def count(position, histogram):
        for channel in range(channels):
            value = tf.cast(values[position + channel], tf.int32) + 256 * channel
            histogram = tf.tensor_scatter_nd_add(histogram, [[value]], [1])
        return position + channels, histogram

    _, histogram = tf.while_loop(
        lambda position, _: position < tf.size(values),
        count,
        (0, tf.zeros([256 * channels], tf.int32)),
    )
    return tf.reshape(histogram, [1, channels, 256])
