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


def of_channels(channels):
    """Return the luma of one or three channels, float32 whole numbers 0..255.

    float32 holds every whole number on the way exactly.
    """
    if len(channels) == 1:
        return channels[0]
    parts = [channel * weight for channel, weight in zip(channels, WEIGHTS)]
    return tf.floor((sum(parts) + ONE // 2) * (1.0 / ONE))
