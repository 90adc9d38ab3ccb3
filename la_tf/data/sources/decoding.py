"""Encoded photographs to pixels, in the graph.

Training in memory, evaluation and serving must see the same pixels, so all of them
decode with TensorFlow and none turns a photograph by its EXIF orientation.
"""

from __future__ import annotations

import tensorflow as tf


def decode(encoded):
    """uint8 [H, W, 3] from the bytes of a JPEG, PNG, BMP or GIF (its first frame)."""
    image = tf.io.decode_image(encoded, channels=3, expand_animations=False)
    return tf.ensure_shape(image, [None, None, 3])


def central_square(image, side):
    """uint8 [side, side, 3]: the largest central square of `image`, resized.

    The proportions of what is seen stay as they were.
    """
    height, width = tf.unstack(tf.shape(image)[:2])
    shorter = tf.minimum(height, width)
    top, left = (height - shorter) // 2, (width - shorter) // 2
    square = image[top : top + shorter, left : left + shorter]
    pixels = tf.image.resize(square, [side, side], antialias=True)
    pixels = tf.clip_by_value(tf.round(pixels), 0, 255)
    return tf.ensure_shape(tf.cast(pixels, tf.uint8), [side, side, 3])
