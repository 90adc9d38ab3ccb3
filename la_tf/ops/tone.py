"""Operations that send each value of a channel through a table of 256 entries.

Posterize, Solarize, Contrast, Brightness, AutoContrast, Equalize and Invert.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf.ops import blend, operation

POSTERIZE_BITS = (8, 8, 7, 7, 6, 6, 5, 5, 4, 4)
POSTERIZE_MASKS = np.array([256 - 2 ** (8 - bits) for bits in POSTERIZE_BITS])


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


def _kept(tables):
    """Return the tables [1, C, 256] as they are, computed once in compiled code.

    XLA would fuse them into the look-up and compute an entry again for every pixel. It
    does not fuse through a loop.
    """
    return tf.map_fn(tf.identity, tables[0])[tf.newaxis]


@keras.utils.register_keras_serializable(package="la_tf")
class Posterize(operation.Operation):
    """Images with the lower bits cleared: 8 bits kept at level 0, 4 at level 9."""

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.gather(POSTERIZE_MASKS, level))

    def transform(self, images, parameters, partners=None):
        mask = tf.cast(operation.each_image(parameters, 0), tf.uint8)
        return tf.bitwise.bitwise_and(images, mask)


@keras.utils.register_keras_serializable(package="la_tf")
class Solarize(operation.Operation):
    """Images inverted from a threshold up: 256 (never) at level 0, 0 at level 9."""

    def parameters(self, level, noise, height, width):
        # The largest value left alone, in ninths so that no threshold is rounded.
        return operation.pack((256 * (9 - level) - 1) // 9)

    def transform(self, images, parameters, partners=None):
        keep = operation.each_image(parameters, 0)
        return tf.where(tf.cast(images, tf.int32) <= keep, images, 255 - images)


@keras.utils.register_keras_serializable(package="la_tf")
class Invert(operation.Operation):
    """Images as negatives; the level changes nothing."""

    has_level = False

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def transform(self, images, parameters, partners=None):
        return 255 - images


@keras.utils.register_keras_serializable(package="la_tf")
class Brightness(operation.Operation):
    """Images times 0.1 to 1.9, clipped."""

    def parameters(self, level, noise, height, width):
        return operation.pack(level)

    def transform(self, images, parameters, partners=None):
        level = operation.each_image(parameters, 0)
        return blend.blend(0, tf.cast(images, tf.int32), level)


@keras.utils.register_keras_serializable(package="la_tf")
class Contrast(operation.Operation):
    """Images drawn towards, or away from, their mean grey by a factor 0.1 to 1.9."""

    def parameters(self, level, noise, height, width):
        return operation.pack(level)

    def transform(self, images, parameters, partners=None):
        mean = _rounded_mean(blend.grey(images))
        level = operation.each_image(parameters, 0)
        mean = tf.reshape(mean, [-1, 1, 1, 1])
        return blend.blend(mean, tf.cast(images, tf.int32), level)


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
    return np.arange(256) * (255.0 / spread)


@keras.utils.register_keras_serializable(package="la_tf")
class AutoContrast(operation.Operation):
    """Images with each channel stretched to 0..255; the level changes nothing."""

    has_level = False
    _products = _stretch_products()

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def transform(self, images, parameters, partners=None):
        return look_up(images, self._tables(images))

    def transform_one(self, image, parameters, partner=None):
        return look_up(image, _kept(self._tables(image)))

    def _tables(self, images):
        """Pillow's stretching table for each image and channel, uint8 [B, C, 256]."""
        low = _over_pixels(tf.minimum, tf.reduce_min, images)
        high = _over_pixels(tf.maximum, tf.reduce_max, images)
        products = tf.gather(tf.constant(self._products), high - low)
        offset = tf.gather(products, low, batch_dims=2)
        stretched = tf.cast(products - offset[..., tf.newaxis], tf.int32)
        flat = (high <= low)[..., tf.newaxis]
        tables = tf.where(flat, tf.range(256), tf.clip_by_value(stretched, 0, 255))
        return tf.cast(tables, tf.uint8)


def _over_pixels(choose, reduce, images):
    """The smallest or largest value of each image and channel, int32 [B, C]."""
    # Rows in halves, which overlap where their number is odd: XLA makes of it four
    # times as fast a code as of a reduction.
    rows = images
    while rows.shape[1] is not None and rows.shape[1] > 1:
        half = (rows.shape[1] + 1) // 2
        rows = choose(rows[:, :half], rows[:, -half:])
    return tf.cast(reduce(rows, axis=[1, 2]), tf.int32)


@keras.utils.register_keras_serializable(package="la_tf")
class Equalize(operation.Operation):
    """Images with each channel's histogram made even; the level changes nothing."""

    has_level = False

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def transform(self, images, parameters, partners=None):
        return look_up(images, equalizing_tables(_histograms(images)))

    def transform_one(self, image, parameters, partner=None):
        return look_up(image, _kept(equalizing_tables(_counted(image))))


def equalizing_tables(histograms):
    """Pillow's equalizing tables, uint8, for histograms int32, both [B, C, 256]."""
    total = tf.reduce_sum(histograms, axis=-1, keepdims=True)
    places = tf.where(histograms > 0, tf.range(256), -1)
    last = tf.reduce_max(places, axis=-1, keepdims=True)
    last = tf.reduce_sum(tf.where(tf.range(256) == last, histograms, 0), -1, True)
    step = (total - last) // 255
    before = _running_sum(histograms) - histograms
    even = (before + step // 2) // tf.maximum(step, 1)
    tables = tf.where(step > 0, tf.minimum(even, 255), tf.range(256))
    return tf.cast(tables, tf.uint8)


def _running_sum(histograms):
    """The sum of all entries up to and with each, by eight shifted additions."""
    # XLA's own cumsum takes as long as looking up a whole small image.
    for shift in (1, 2, 4, 8, 16, 32, 64, 128):
        shifted = tf.pad(histograms[..., :-shift], [[0, 0], [0, 0], [shift, 0]])
        histograms += shifted
    return histograms


def _histograms(images):
    """How often each value occurs, int32 [B, C, 256]."""
    channels = images.shape[-1]
    values = tf.cast(images, tf.int32) + 256 * tf.range(channels)
    values = tf.reshape(values, [tf.shape(images)[0], -1])
    size = 256 * channels
    counts = tf.math.bincount(values, minlength=size, maxlength=size, axis=-1)
    return tf.reshape(counts, [-1, channels, 256])


def _counted(image):
    """The histogram of one image, int32 [1, C, 256], for compiled code.

    A loop over pixels is what XLA makes the fastest code of: 1.2 ns a value, a quarter
    of what its own scatter takes.
    """
    channels = image.shape[-1]
    values = tf.reshape(image, [-1])

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
