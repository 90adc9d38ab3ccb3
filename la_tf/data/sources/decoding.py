"""Encoded photographs to pixels, in the graph.

Training in memory, evaluation and serving must see the same pixels, so all of them
decode with TensorFlow and none turns a photograph by its EXIF orientation.
"""

from __future__ import annotations

import tensorflow as tf

# Gives Pillow's pixels. TensorFlow's default is off by up to 19 of 255 in the tests'
# photographs, and no faster.
DCT_METHOD = "INTEGER_ACCURATE"


def decode(encoded):
    """uint8 [H, W, 3] from the bytes of a JPEG, PNG, BMP or GIF (its first frame).

    Grey and CMYK become RGB.
    """
    image = tf.cond(
        tf.io.is_jpeg(encoded),
        lambda: tf.io.decode_jpeg(encoded, channels=3, dct_method=DCT_METHOD),
        lambda: tf.io.decode_image(encoded, channels=3, expand_animations=False),
    )
    return tf.ensure_shape(image, [None, None, 3])


def central_square(image, side):
    """uint8 [side, side, 3]: the largest central square of `image`, resized."""
    return central_part(image, side, side)


def central_part(image, height, width):
    """uint8 [height, width, 3]: the largest central part of that form, resized.

    The proportions of what is seen stay as they were.
    """
    rows, columns = tf.unstack(tf.shape(image)[:2])
    part_rows = tf.clip_by_value(columns * height // width, 1, rows)
    part_columns = tf.clip_by_value(rows * width // height, 1, columns)
    top, left = (rows - part_rows) // 2, (columns - part_columns) // 2
    part = image[top : top + part_rows, left : left + part_columns]
    pixels = tf.image.resize(part, [height, width], antialias=True)
    pixels = tf.clip_by_value(tf.round(pixels), 0, 255)
    return tf.ensure_shape(tf.cast(pixels, tf.uint8), [height, width, 3])
