"""ShearX, ShearY, TranslateX, TranslateY and Rotate: one nearest-pixel affine map.

Pillow walks the output in 16.16 fixed point: output pixel (x, y) takes the input pixel
at `(c + a x + b y) >> 16`, where c holds the half-pixel offsets of both centres. The
same whole numbers are used here, so ties fall as they do there.
"""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf.ops import operation

ONE = 1 << 16
HALF = 1 << 15
# The coefficients of the map that leaves every pixel where it is.
IDENTITY = np.array([ONE, 0, HALF, 0, ONE, HALF])


def affine(images, coefficients):
    """Return the images resampled by (a, b, c, d, e, f) in 16.16 fixed point.

    Output (x, y) takes input ((a x + b y + c) >> 16, (d x + e y + f) >> 16), or 128
    where that lies outside.
    """
    shape = tf.shape(images)
    height, width = shape[1], shape[2]
    x = tf.range(width)[tf.newaxis, tf.newaxis, :]
    y = tf.range(height)[tf.newaxis, :, tf.newaxis]
    coefficients = tf.cast(coefficients, tf.int32)[:, :, tf.newaxis, tf.newaxis]
    a, b, c, d, e, f = tf.unstack(coefficients, axis=1)
    column = tf.bitwise.right_shift(a * x + b * y + c, 16)
    row = tf.bitwise.right_shift(d * x + e * y + f, 16)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    index = tf.where(inside, row * width + column, 0)
    flat = tf.reshape(images, [shape[0], height * width, images.shape[-1]])
    sampled = tf.gather(flat, index, batch_dims=1)
    return tf.where(
        inside[..., tf.newaxis], sampled, tf.constant(operation.FILL, tf.uint8)
    )


def affine_of_one(image, size, coefficients):
    """Return what `affine` does, for one flat image inside compiled code."""
    height, width, channels = size
    x, channel = operation.places_of_bytes(width, channels)
    y = tf.range(height)[:, tf.newaxis]
    a, b, c, d, e, f = tf.unstack(tf.cast(coefficients[0], tf.int32))
    column = tf.bitwise.right_shift(a * x + (b * y + c), 16)
    row = tf.bitwise.right_shift(d * x + (e * y + f), 16)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    index = tf.where(inside, (row * width + column) * channels + channel, 0)
    return _filled(inside, tf.gather(image, index))


def rows_of_one(image, size, distance):
    """Return one flat image with its rows taken from so many rows further down.

    Rows are copied whole, in a quarter of the time of `affine_of_one`.
    """
    source = tf.range(size[0]) + tf.cast(distance, tf.int32)
    inside = (source >= 0) & (source < size[0])
    rows = tf.gather(tf.reshape(image, [size[0], -1]), tf.where(inside, source, 0))
    return _filled(inside[:, tf.newaxis], operation.kept(rows))


def _filled(inside, rows):
    """Return the rows as a flat image, with the fill where they are from outside."""
    fill = tf.constant(operation.FILL, tf.uint8)
    return tf.reshape(tf.where(inside, rows, fill), [-1])


def sample(words, coefficients, fill, sources=None):
    """Return what `affine` does, for words of static size: [N, H, W].

    Args:
        words: float32 [M, H, W].
        coefficients: int64 [N, 6].
        fill: the word for what lies outside.
        sources: int64 [N], the image of each view; None if there are as many.
    """
    _, height, width = words.shape
    a, b, c, d, e, f = (
        tf.cast(operation.each_image(coefficients, column), tf.uint32)[..., 0]
        for column in range(6)
    )
    x = tf.constant(np.arange(width, dtype=np.uint32)[np.newaxis, np.newaxis])
    y = tf.constant(np.arange(height, dtype=np.uint32)[np.newaxis, :, np.newaxis])
    column, row = _whole(a * x + (b * y + c)), _whole(d * x + (e * y + f))
    inside = (column < width) & (row < height)
    if sources is None:
        sources = tf.range(tf.shape(words, tf.int64)[0])
    sources = sources[:, tf.newaxis, tf.newaxis]
    first = tf.cast(sources * (height * width), tf.uint32)
    index = first + tf.where(inside, row * width + column, tf.constant(0, tf.uint32))
    sampled = tf.gather(tf.reshape(words, [-1]), tf.cast(index, tf.int32))
    return tf.where(inside, sampled, tf.constant(fill, tf.float32))


def _whole(fixed):
    """Return the floor of signed 16.16 numbers in uint32.

    The negative ones come out huge.

    There is no int32 arithmetic on a GPU, and uint32 wraps around as that does.
    """
    shifted = tf.bitwise.right_shift(fixed + (1 << 31), tf.constant(16, tf.uint32))
    return shifted - (1 << 15)


def _fixed(number):
    """Return a number in 16.16 fixed point, rounded as Pillow rounds it."""
    return np.floor(np.asarray(number, np.float64) * ONE + 0.5).astype(np.int64)


class Affine(operation.Operation):
    """An operation that moves pixels; its parameters are `affine`'s coefficients."""

    def transform(self, images, parameters, partners=None):
        return affine(images, parameters)

    def transform_one(self, image, size, parameters, partner=None):
        return affine_of_one(image, size, parameters)


class _Shear(Affine):
    """Moves each line by its own distance times the level's slope, either way."""

    def _slope_and_offset(self, level, noise):
        slopes = self.arguments()
        slope = self.entries(_fixed(slopes), level, noise)
        offset = self.entries(_fixed(0.5 + 0.5 * slopes), level, noise)
        return slope, offset


@keras.utils.register_keras_serializable(package="la_tf")
class ShearX(_Shear):
    """Images sheared along x, by default by 0 to 0.3, to the left or to the right."""

    def parameters(self, level, noise, height, width):
        slope, offset = self._slope_and_offset(level, noise)
        zero = tf.zeros_like(level)
        return operation.pack(zero + ONE, slope, offset, zero, zero + ONE, zero + HALF)


@keras.utils.register_keras_serializable(package="la_tf")
class ShearY(_Shear):
    """Images sheared along y, by default by 0 to 0.3, up or down."""

    def parameters(self, level, noise, height, width):
        slope, offset = self._slope_and_offset(level, noise)
        zero = tf.zeros_like(level)
        return operation.pack(zero + ONE, zero, zero + HALF, slope, zero + ONE, offset)


class _Translation(Affine):
    """Moves an image by the level's share of a side, either way."""

    def _shift(self, level, noise, side):
        """Return whole pixels to move by, 16.16 fixed."""
        tops, bottom = self.whole_arguments()
        top = self.entries(tops, level, noise) * tf.cast(side, tf.int64)
        # The pixel centre's half is added before the floor, for either sign.
        return (2 * top + bottom) // (2 * bottom) * ONE


@keras.utils.register_keras_serializable(package="la_tf")
class TranslateX(_Translation):
    """Images moved along x, by default by up to 150/331 of their width."""

    def parameters(self, level, noise, height, width):
        zero = tf.zeros_like(level)
        shift = self._shift(level, noise, width) + HALF
        return operation.pack(zero + ONE, zero, shift, zero, zero + ONE, zero + HALF)


@keras.utils.register_keras_serializable(package="la_tf")
class TranslateY(_Translation):
    """Images moved along y, by default by up to 150/331 of their height."""

    def parameters(self, level, noise, height, width):
        zero = tf.zeros_like(level)
        shift = self._shift(level, noise, height) + HALF
        return operation.pack(zero + ONE, zero, zero + HALF, zero, zero + ONE, shift)

    def transform_one(self, image, size, parameters, partner=None):
        return rows_of_one(image, size, tf.bitwise.right_shift(parameters[0, 5], 16))


@keras.utils.register_keras_serializable(package="la_tf")
class Rotate(Affine):
    """Images turned about their centre, counter-clockwise; by default -30 to 30°."""

    def parameters(self, level, noise, height, width):
        cosines, sines = self._cosines_and_sines()
        a, b, d = (_fixed(table) for table in (cosines, sines, -sines))
        c, f = _offsets(cosines, sines, height, width)
        return operation.pack(
            *(self.entries(table, level, noise) for table in (a, b, c, d, a, f))
        )

    def _cosines_and_sines(self):
        angles = [[-math.radians(one) for one in row] for row in self.arguments()]
        # Pillow rounds to fifteen places before it goes on.
        return (
            np.array([[round(function(angle), 15) for angle in row] for row in angles])
            for function in (math.cos, math.sin)
        )


def _offsets(cosine, sine, height, width):
    """Return two offsets for each level, int64 [2, levels], that keep the centre."""
    x, y = tf.cast(width, tf.float64) / 2, tf.cast(height, tf.float64) / 2
    offset_x = cosine * -x + sine * -y + x + 0.5 * cosine + 0.5 * sine
    offset_y = -sine * -x + cosine * -y + y - 0.5 * sine + 0.5 * cosine
    return _fixed_tensor(offset_x), _fixed_tensor(offset_y)


def _fixed_tensor(number):
    return tf.cast(tf.floor(number * ONE + 0.5), tf.int64)
