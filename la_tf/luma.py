"""Pillow's grey of coloured images."""

from __future__ import annotations

import tensorflow as tf

# Of red, green and blue, in 65536ths. They add up to one, so grey stays as it is.
WEIGHTS = (19595, 38470, 7471)
ONE = 1 << 16


def grey(images):
    """Return Pillow's luma of images [..., C], int32 [..., 1]."""
    values = tf.cast(images, tf.int32)
    if images.shape[-1] == 1:
        return values
    red, green, blue = tf.split(values, 3, axis=-1)
    total = red * WEIGHTS[0] + green * WEIGHTS[1] + blue * WEIGHTS[2]
    return tf.bitwise.right_shift(total + ONE // 2, 16)
