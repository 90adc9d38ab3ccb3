"""The baseline preprocessing of small images: zero padding, random crop, flip."""

from __future__ import annotations

import functools

import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla

from la_tf import draws
from la_tf.ops import geometry, operation


def pad_crop_flip(images, num_views, seed, padding=4, flip=True):
    """Return `num_views` views of each image, `[B, K, H, W, C]`, in the images' dtype.

    Each view is the image, mirrored with probability 1/2, padded with black and
    cropped back to its own size at a place of its own.

    Args:
        images: `[B, H, W, C]`; only the rank must be known statically.
        num_views: K, the number of views of each image.
        seed: integer `[2]`; the same seed gives the same views.
        padding: how far a crop may move in each direction, in pixels.
        flip: whether views may be mirrored left to right.
    """
    images = tf.convert_to_tensor(images)
    _check(images, num_views, padding)
    if images.shape[0] == 0 or not (padding or flip):
        return tf.stack([images] * num_views, axis=1)
    tops, lefts, mirrored = _draw(tf.shape(images)[0], num_views, seed, padding, flip)
    # Mirrored once an image, not once a view; tf.reverse is ten times as fast as
    # slicing with a step of -1.
    sources = tf.stack([images, tf.reverse(images, [2])] if flip else [images])
    views = _crop(sources, mirrored, tops, lefts, padding)
    return tf.ensure_shape(views, [images.shape[0], num_views, *images.shape[1:]])


def crops_of_words(words, num_views, seed, padding=4, flip=True):
    """Return what makes views of `pad_crop_flip` of words `[B, H, W]`, one by one.

    It gives from places int64 `[M]` among all views, b * K + k, the words `[M, H, W]`
    there. A crop is an affine map like any other.
    """
    batch, width = tf.shape(words, tf.int64)[0], words.shape[2]
    tops, lefts, mirrored = (
        tf.reshape(tf.cast(drawn, tf.int64), [-1])
        for drawn in _draw(batch, num_views, seed, padding, flip)
    )
    across = lefts - padding
    coefficients = operation.pack(
        geometry.ONE * (1 - 2 * mirrored),
        tf.zeros_like(lefts),
        geometry.ONE * tf.where(mirrored > 0, width - 1 - across, across)
        + geometry.HALF,
        tf.zeros_like(lefts),
        tf.zeros_like(lefts) + geometry.ONE,
        geometry.ONE * (tops - padding) + geometry.HALF,
    )

    def view_at(places):
        crops = tf.gather(coefficients, places)
        return geometry.sample(words, crops, 0.0, places // num_views)

    return view_at


def _check(images, num_views, padding):
    if images.shape.rank != 4:
        raise ValueError(
            f"images must be a batch [B, H, W, C], not of shape {images.shape}."
        )
    if num_views < 1:
        raise ValueError(f"num_views must be 1 or more, not {num_views}.")
    if padding < 0:
        raise ValueError(f"padding must be 0 or more, not {padding}.")


def _draw(batch, num_views, seed, padding, flip):
    """Return the crops' top rows, left columns and mirror bits, each int32 `[B, K]`."""
    limits = [2 * padding + 1, 2 * padding + 1, 2 if flip else 1]
    seeds = draws.split(seed, len(limits))
    return [
        draws.below([batch, num_views], one_seed, limit)
        for one_seed, limit in zip(seeds, limits)
    ]


def _crop(sources, chosen, tops, lefts, padding):
    """Return crops `[B, K, H, W, C]` of `sources[chosen]`, out of `[S, B, H, W, C]`."""
    _, batch, height, width, channels = operation.shape_of(sources)
    margins = [[0, 0], [0, 0], [padding, padding], [padding, padding], [0, 0]]
    rows = tf.reshape(
        tf.pad(sources, margins),
        [-1, height + 2 * padding, (width + 2 * padding) * channels],
    )
    source = chosen * batch + tf.range(batch)[:, tf.newaxis]
    corners = tf.stack([source, tops, lefts * channels], axis=-1)
    with tf.device("/CPU:0"):
        crops = _cut(rows, tf.reshape(corners, [-1, 3]), height, width * channels)
    return tf.reshape(crops, [batch, -1, height, width, channels])


@functools.partial(tf.function, jit_compile=True, autograph=False)
def _cut(rows, corners, height, width):
    """Return parts `[N, height, width]` of `rows`, whose rows XLA copies whole.

    Args:
        rows: what to cut from, of rank 3.
        corners: int32 `[N, 3]`, where each part begins.
        height, width: of each.
    """

    def cut(corner):
        # `tf.slice` would be compiled anew for every other corner.
        return xla.dynamic_slice(rows, corner, [1, height, width])[0]

    return tf.map_fn(cut, corners, fn_output_signature=rows.dtype)
