"""Encoded images to pixels, in the graph.

Training in memory, evaluation and serving must see the same pixels, so all of them
decode and resize here, and a JPEG's EXIF orientation is applied to all of them alike.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from la_tf import luma
from la_tf.data.sources import orientation

# Gives Pillow's pixels. TensorFlow's default is off by up to 19 of 255 in the tests'
# photographs, and no faster.
DCT_METHOD = "INTEGER_ACCURATE"

# Resized at once: enough to be fast, few enough to need little memory.
_CHUNK = 1024


def decode(encoded):
    """Return uint8 [H, W, 3] from the bytes of a JPEG, PNG, BMP or GIF.

    A JPEG is turned upright, as its EXIF data say. Of a GIF it is the first frame; grey
    and CMYK become RGB.
    """
    image = tf.cond(
        tf.io.is_jpeg(encoded),
        lambda: _decode_jpeg(encoded),
        lambda: tf.io.decode_image(encoded, channels=3, expand_animations=False),
    )
    return tf.ensure_shape(image, [None, None, 3])


def _decode_jpeg(encoded):
    stored = tf.io.decode_jpeg(encoded, channels=3, dct_method=DCT_METHOD)
    return orientation.upright(stored, orientation.of_jpeg(encoded))


def pixels(encoded, shape):
    """Return uint8 pixels of that shape (H, W, C) from the bytes of any image.

    This is what small images go through, in training, evaluation and serving alike.
    """
    height, width, channels = shape
    image = central_part(decode(encoded), height, width)
    return tf.cast(luma.grey(image), tf.uint8) if channels == 1 else image


def central_part(images, height, width):
    """Return uint8 [..., height, width, C]: the largest central part of that form.

    It is resized, and the proportions of what is seen stay as they were.

    Args:
        images: uint8 [H, W, C] or [N, H, W, C].
        height, width: wanted.
    """
    rows, columns = tf.unstack(tf.shape(images)[-3:-1])
    part_rows = tf.clip_by_value(columns * height // width, 1, rows)
    part_columns = tf.clip_by_value(rows * width // height, 1, columns)
    top, left = (rows - part_rows) // 2, (columns - part_columns) // 2
    part = images[..., top : top + part_rows, left : left + part_columns, :]
    resized = tf.image.resize(part, [height, width], antialias=True)
    resized = tf.cast(tf.clip_by_value(tf.round(resized), 0, 255), tf.uint8)
    return tf.ensure_shape(
        resized, [*images.shape[:-3], height, width, images.shape[-1]]
    )


def squares(images, side):
    """Return the images' `central_part` as an array, uint8 [N, side, side, C].

    Args:
        images: array of uint8 [N, H, W, C].
        side: in pixels.
    """
    if images.shape[1:3] == (side, side):
        return images
    result = np.empty((len(images), side, side, images.shape[-1]), np.uint8)
    for start in range(0, len(images), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        result[chunk] = central_part(tf.constant(images[chunk]), side, side)
    return result
