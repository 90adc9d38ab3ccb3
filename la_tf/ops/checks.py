"""Checks of what a user hands to an operation, each with one clear sentence."""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def to_bytes(images, rank=4):
    """Return the images as uint8, after checking rank, channels, type and range.

    Fractions are rounded to whole numbers: every operation is defined on 0..255.
    """
    images = tf.convert_to_tensor(images)
    _check_shape(images.shape, rank)
    if images.dtype == tf.uint8:
        return images
    if not images.dtype.is_floating:
        raise ValueError(
            f"images are {images.dtype.name}; give uint8, or floats from 0 to 255"
        )
    # A NaN fails both comparisons, so it is caught here as well.
    inside = tf.reduce_all((images >= 0) & (images <= 255))
    _require(
        inside, "images hold values outside 0..255, or NaN; scale them to 0..255 first"
    )
    with tf.control_dependencies([] if tf.executing_eagerly() else [inside]):
        return tf.cast(tf.round(images), tf.uint8)


def to_levels(level, batch_size, num_levels):
    """Return the levels as int64 [batch_size]; one number serves the whole batch."""
    last = num_levels - 1
    if not tf.is_tensor(level) and not np.issubdtype(
        np.asarray(level).dtype, np.integer
    ):
        raise ValueError(f"level is {level!r}; give whole numbers from 0 to {last}")
    level = tf.cast(tf.convert_to_tensor(level), tf.int64)
    if level.shape.rank not in (0, 1):
        raise ValueError(f"level has shape {level.shape}; give one number an image")
    inside = tf.reduce_all((level >= 0) & (level <= last))
    _require(inside, f"a level is outside 0..{last}")
    if level.shape.rank == 0:
        return tf.fill([batch_size], level)
    _require(
        tf.equal(tf.size(level), batch_size),
        "there must be as many levels as images",
    )
    return level


def _check_shape(shape, rank):
    if shape.rank != rank:
        names = {4: "[batch, height, width, channels]"}
        names[5] = "[batch, views, height, width, channels]"
        raise ValueError(f"images have shape {shape}; give {names[rank]}")
    if shape[-1] not in (1, 3):
        raise ValueError(
            f"images have {shape[-1]} channels; give 1 (grey) or 3 (red, green, blue)"
        )


def _require(condition, message):
    """Raise at once where the value is known, and when it is known in a graph."""
    if tf.executing_eagerly():
        if not bool(condition):
            raise ValueError(message)
    else:
        tf.debugging.Assert(condition, [message])
