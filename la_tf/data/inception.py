"""The baseline preprocessing of photographs, as it is usual for ImageNet.

For training: a random crop of 8 to 100 % of the area, resized, colour jitter and
lighting noise, and a mirror image with probability 1/2 where that is wanted. For
evaluation: the short side resized to 256/224 of the size wanted, and the centre of
that. Functions of one photograph, encoded or decoded, since photographs differ in size.
"""

from __future__ import annotations

import functools
import typing

import numpy as np
import tensorflow as tf

from la_tf import draws, luma
from la_tf.data.sources import decoding, orientation

AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
ATTEMPTS = 10
JITTER = 0.4
LIGHTING = 0.1
RESIZED_SIDE = 256 / 224

# The weights of Pillow's grey, which contrast and saturation blend with.
_GREY = np.array(luma.WEIGHTS, np.float32) / luma.ONE
# Principal components of ImageNet's colours in 0..1: deviations, and directions as
# columns (Krizhevsky et al. 2012; the figures are those of fb.resnet.torch).
_DEVIATIONS = np.array([0.2175, 0.0188, 0.0045], np.float32)
_DIRECTIONS = np.array(
    [
        [-0.5675, 0.7192, 0.4009],
        [-0.5808, -0.0045, -0.8140],
        [-0.5836, -0.6948, 0.4203],
    ],
    np.float32,
)


class Draws(typing.NamedTuple):
    """All that is random in K views of one photograph."""

    boxes: tf.Tensor  # int32 [K, 4]: top, left, height, width
    mirrored: tf.Tensor  # bool [K]
    order: tf.Tensor  # int32 [K, 3], a permutation of brightness, contrast, saturation
    factors: tf.Tensor  # float32 [K, 3], of brightness, contrast, saturation
    light: tf.Tensor  # float32 [K, 3], added to red, green, blue


def training_views(encoded_or_image, num_views, size, seed, flip=True):
    """Return `num_views` random views of a photograph, uint8 `[K, size, size, C]`.

    Args:
        encoded_or_image: an encoded JPEG, PNG, GIF or BMP (scalar string; gives three
            channels), or uint8 `[H, W, C]` with C 1 or 3.
        num_views: K.
        size: the side of the views in pixels.
        seed: integer `[2]`; the same seed gives the same views.
        flip: whether views may be mirrored left to right.
    """
    source = tf.convert_to_tensor(encoded_or_image)
    if num_views < 1 or size < 1:
        raise ValueError(f"{num_views} views of size {size} cannot be made.")
    if source.dtype != tf.string or num_views > 1:
        # For six views of 224 x 224 decoding once makes 1,310 views/s on two cores,
        # decoding each crop by itself 960.
        return _views_of_image(decode(source), num_views, size, seed, flip)
    return tf.cond(
        tf.io.is_jpeg(source),
        lambda: _view_of_jpeg(source, size, seed, flip),
        lambda: _views_of_image(decode(source), 1, size, seed, flip),
    )


def evaluation_image(encoded_or_image, size):
    """Return the centre of a photograph, uint8 `[size, size, C]`.

    The short side is resized to 256/224 of `size`, smoothed as Pillow does it, and
    the middle is cut out. Only the pixels of the middle are computed.
    """
    image = decode(encoded_or_image)
    shape = tf.shape(image)[:2]
    # The arithmetic of torchvision's Resize and CenterCrop, in whole numbers.
    short = round(size * RESIZED_SIDE)
    resized = short * shape // tf.reduce_min(shape)
    begin = tf.cast(tf.round((resized - size) / 2), tf.float32)
    centre = tf.raw_ops.ScaleAndTranslate(
        images=image[tf.newaxis],
        size=[size, size],
        scale=tf.cast(resized / shape, tf.float32),
        translation=-begin,
        kernel_type="triangle",
        antialias=True,
    )[0]
    return tf.ensure_shape(_to_pixels(centre), [size, size, image.shape[-1]])


def decode(encoded_or_image):
    """Return the photograph as uint8 `[H, W, C]`; C is 3 where it was encoded."""
    source = tf.convert_to_tensor(encoded_or_image)
    if source.dtype == tf.string:
        return decoding.decode(source)
    if source.dtype != tf.uint8 or source.shape.rank != 3:
        raise ValueError(
            "a photograph must be an encoded string or uint8 [H, W, C], "
            f"not {source.dtype.name} {source.shape}."
        )
    if source.shape[-1] not in (1, 3):
        raise ValueError(f"an image has 1 or 3 channels, not {source.shape[-1]}.")
    return source


def draw(height, width, num_views, seed, flip=True):
    """Return the `Draws` of K views of a photograph of this height and width."""
    seeds = draws.split(seed, 5)
    shape = [num_views, 3]
    noise = draws.normal(shape, seeds[4], LIGHTING)
    return Draws(
        boxes=_draw_boxes(height, width, num_views, seeds[0]),
        mirrored=draws.uniform([num_views], seeds[1]) < (0.5 if flip else 0.0),
        order=tf.argsort(draws.uniform(shape, seeds[2]), axis=1),
        factors=draws.uniform(shape, seeds[3], 1 - JITTER, 1 + JITTER),
        light=255 * tf.matmul(noise * _DEVIATIONS, _DIRECTIONS, transpose_b=True),
    )


def render(crop, draw, size):
    """Return one view, uint8 `[size, size, C]`, of the pixels in the draw's box."""
    # Without the smoothing an enlargement is the same and a third of the work.
    shrinks = tf.reduce_any(tf.shape(crop)[:2] > size)
    view = tf.cond(
        shrinks,
        lambda: tf.image.resize(crop, [size, size], antialias=True),
        lambda: tf.image.resize(crop, [size, size]),
    )
    view = _jitter(view, draw.order, draw.factors)
    if crop.shape[-1] == 3:
        # Row by row: adding along a last axis of three is ten times as slow.
        view = tf.reshape(view, [size, size * 3]) + tf.tile(draw.light, [size])
        view = tf.reshape(view, [size, size, 3])
    view = _to_pixels(view)
    return tf.cond(draw.mirrored, lambda: tf.reverse(view, [1]), lambda: view)


def _views_of_image(image, num_views, size, seed, flip):
    views = draw(tf.shape(image)[0], tf.shape(image)[1], num_views, seed, flip)

    def view(one):
        top, left, height, width = tf.unstack(one.boxes)
        crop = tf.slice(image, [top, left, 0], [height, width, image.shape[-1]])
        return render(crop, one, size)

    signature = tf.TensorSpec([size, size, image.shape[-1]], tf.uint8)
    return tf.map_fn(view, views, fn_output_signature=signature)


def _view_of_jpeg(encoded, size, seed, flip):
    """Return one view `[1, size, size, 3]`.

    What lies outside its crop is not decoded.
    """
    turn = orientation.of_jpeg(encoded)
    shape = orientation.upright_shape(tf.io.extract_jpeg_shape(encoded), turn)
    views = draw(shape[0], shape[1], 1, seed, flip)
    one = Draws(*[values[0] for values in views])
    crop = tf.image.decode_and_crop_jpeg(
        encoded,
        orientation.stored_box(one.boxes, shape, turn),
        channels=3,
        dct_method=decoding.DCT_METHOD,
    )
    return render(orientation.upright(crop, turn), one, size)[tf.newaxis]


def _draw_boxes(height, width, num_views, seed):
    """Return boxes int32 `[K, 4]`, the first of ten attempts that fits the photograph.

    Where none fits: the largest box of an allowed aspect, in the middle.
    """
    area_seed, aspect_seed, place_seed = draws.split(seed, 3)
    sides = tf.stack([height, width])
    whole = tf.cast(sides, tf.float32)
    shape = [num_views, ATTEMPTS]
    area = draws.uniform(shape, area_seed, *AREA) * whole[0] * whole[1]
    low, high = np.log(ASPECT)
    aspect = tf.exp(draws.uniform(shape, aspect_seed, low, high))
    attempts = tf.stack([tf.sqrt(area / aspect), tf.sqrt(area * aspect)], axis=2)
    attempts = tf.cast(tf.round(attempts), tf.int32)
    fits = tf.reduce_all((attempts > 0) & (attempts <= sides), axis=2)
    first = tf.argmax(tf.cast(fits, tf.int32), axis=1)
    box = tf.gather(attempts, first, batch_dims=1)
    room = tf.cast(sides - box + 1, tf.float32)
    place = draws.uniform([num_views, 2], place_seed) * room
    place = tf.cast(place, tf.int32)

    most = tf.cast(tf.round(tf.reverse(whole, [0]) * ASPECT[1]), tf.int32)
    middle = tf.minimum(sides, most)
    found = tf.reduce_any(fits, axis=1, keepdims=True)
    box = tf.where(found, box, middle)
    place = tf.where(found, place, (sides - middle) // 2)
    return tf.concat([place, box], axis=1)


def _jitter(image, order, factors):
    """Change brightness, contrast and saturation in the given order.

    Each blends the image with, in turn, black, its mean grey and its own grey, as
    Pillow's ImageEnhance does, and clips; nothing is rounded in between.
    """
    pixels = tf.reshape(image, [-1, image.shape[-1]])
    changes = (_brighten, _contrast, _saturate)
    for kind in tf.unstack(order, num=len(changes)):
        calls = [functools.partial(change, pixels, factors[kind]) for change in changes]
        pixels = _clip(tf.switch_case(kind, calls))
    return tf.reshape(pixels, tf.shape(image))


def _brighten(pixels, factor):
    return pixels * factor


def _contrast(pixels, factor):
    means = tf.reduce_mean(pixels, axis=0)
    grey = tf.reduce_sum(means * _GREY) if pixels.shape[-1] == 3 else means[0]
    return pixels * factor + (1 - factor) * grey


def _saturate(pixels, factor):
    if pixels.shape[-1] == 1:
        return pixels
    # One product with a 3 x 3 matrix is both the grey and the blend.
    grey = np.tile(_GREY[:, np.newaxis], [1, 3])
    return tf.matmul(pixels, factor * np.eye(3, dtype=np.float32) + (1 - factor) * grey)


def _clip(pixels):
    return tf.clip_by_value(pixels, 0.0, 255.0)


def _to_pixels(image):
    return tf.cast(tf.round(_clip(image)), tf.uint8)
