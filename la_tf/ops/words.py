"""Pixels as words of four bytes: a float32 that holds red + 256 green + 65536 blue.

The form in which views are on an accelerator. A pixel is moved as one word, and
float32, which holds these whole numbers exactly, is the type that a GPU has every
kernel for: it has none to gather, stack or reduce uint8.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def pack(images):
    """Return the words float32 [..., H, W] of images uint8 [..., H, W, C]."""
    return join([tf.cast(images[..., c], tf.float32) for c in range(images.shape[-1])])


def unpack(words, channels):
    """Return the images uint8 [..., H, W, C]."""
    shifts = tf.constant([8 * channel for channel in range(channels)], tf.uint32)
    bits = tf.cast(words, tf.uint32)[..., tf.newaxis]
    bits = tf.bitwise.bitwise_and(tf.bitwise.right_shift(bits, shifts), 255)
    return tf.cast(bits, tf.uint8)


def join(channels):
    """Return the words of a list of channels, float32 whole numbers 0..255."""
    return sum(channel * 256.0**place for place, channel in enumerate(channels))


def split(words, channels):
    """Return the list of so many channels, float32."""
    if channels == 1:
        return [words]
    return [tf.cast(byte, tf.float32) for byte in bytes_of(words, channels)]


def bytes_of(words, channels):
    """Return the list of so many channels, uint32."""
    bits = tf.cast(words, tf.int32)
    shifted = [tf.bitwise.right_shift(bits, 8 * c) for c in range(channels)]
    return [tf.cast(tf.bitwise.bitwise_and(one, 255), tf.uint32) for one in shifted]


def colour(values, channels):
    """Return the word of one colour: a value for all channels, or one for each."""
    values = np.broadcast_to(values, [channels]).astype(np.float64)
    return float(np.sum(values * 256.0 ** np.arange(channels)))
