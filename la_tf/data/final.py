"""The last step on the views of a batch: CutMix or Cutout, after the operations.

Both copy memory and compute next to nothing: views stay in their own dtype, and no
copy of the batch in floating point is made.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from la_tf import draws


def cutmix(views, labels, seed, probability=0.5):
    """Return views and labels, perhaps with a box of each from another image's view.

    One coin is tossed for the batch. If it says yes, one share λ ~ Beta(1, 1) and one
    box of 1 - λ of the area hold for the whole batch, and the k-th view of an image
    takes the box from the k-th view of its partner. λ is then corrected for what the
    border clips off the box, so that labels mix exactly as the pixels do.

    Args:
        views: `[B, K, H, W, C]`.
        labels: floating point `[B, K, classes]`.
        seed: integer `[2]`.
        probability: of the coin's yes.
    """
    views, labels = tf.convert_to_tensor(views), tf.convert_to_tensor(labels)
    _check_views(views)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in 0..1, not {probability}.")
    if not labels.dtype.is_floating:
        raise ValueError(f"labels must be floating point, not {labels.dtype.name}.")
    coin_seed, box_seed, partner_seed = draws.split(seed, 3)

    def mixed():
        batch, num_views, height, width, _ = tf.unstack(tf.shape(views))
        box, share = _draw_box(height, width, box_seed)
        partners = _draw_partners(batch, num_views, partner_seed)
        mixed_views = _paste_box(views, box, partners)
        mixed_labels = _mix_labels(labels, tf.cast(share, labels.dtype), partners)
        return mixed_views, mixed_labels

    # Draws lie in [0, 1), so that 0 never mixes and 1 always does.
    coin = draws.uniform([], coin_seed) < probability
    return tf.cond(coin, mixed, lambda: (views, labels))


def cutmix_words(views, labels, seed, probability=0.5):
    """Return what `cutmix` does, for words `[B, K, H, W]` on an accelerator.

    It mixes always and chooses afterwards, so that no host waits for the coin.
    """
    coin_seed, box_seed, partner_seed = draws.split(seed, 3)
    coin = draws.uniform([], coin_seed) < probability
    (batch, num_views), (height, width) = (
        tf.unstack(tf.shape(labels)[:2]),
        views.shape[2:],
    )
    (top, bottom, left, right), share = _draw_box(height, width, box_seed)
    partners = _draw_partners(batch, num_views, partner_seed)
    row, column = np.arange(height)[:, np.newaxis], np.arange(width)
    inside = (row >= top) & (row < bottom) & (column >= left) & (column < right)
    others = tf.gather(tf.reshape(views, [-1, height, width]), partners)
    mixed = _mix_labels(labels, tf.cast(share, labels.dtype), partners)
    return tf.where(coin & inside, others, views), tf.where(coin, mixed, labels)


def cutout_words(views, seed, size, word):
    """Return what `cutout` does, for words `[B, K, H, W]` and the fill's word."""
    batch, (height, width) = tf.shape(views)[0], views.shape[2:]
    row_seed, column_seed = draws.split(seed, 2)
    rows = _draw_interval(batch, height, size, row_seed)[:, tf.newaxis, :, tf.newaxis]
    columns = _draw_interval(batch, width, size, column_seed)[:, tf.newaxis, tf.newaxis]
    return tf.where(rows & columns, tf.constant(word, views.dtype), views)


def cutout(views, seed, size, fill):
    """Return views with one square of each image filled, the same in all its views.

    The square's centre is uniform over the pixels, and the border clips the square.

    Args:
        views: `[B, K, H, W, C]`.
        seed: integer `[2]`.
        size: the square's side in pixels; 0 changes nothing.
        fill: one value or one for each channel, in 0..255; rounded to integers.
    """
    views = tf.convert_to_tensor(views)
    _check_views(views)
    fill = _check_square(views, size, fill)
    batch, num_views, height, width, channels = tf.unstack(tf.shape(views))
    row_seed, column_seed = draws.split(seed, 2)
    rows = _draw_interval(batch, height, size, row_seed)
    columns = _draw_interval(batch, width, size, column_seed)
    columns = tf.repeat(columns, channels, axis=1)
    # Flat images and a mask copied to each view make the selection a plain loop over
    # memory, 3 to 5 times as fast as one that broadcasts over five axes.
    pixels = height * width * channels
    square = tf.reshape(rows[:, :, tf.newaxis] & columns[:, tf.newaxis], [-1, pixels])
    image_of_view = tf.broadcast_to(tf.range(batch)[:, tf.newaxis], [batch, num_views])
    square = tf.gather(square, image_of_view)
    colour = tf.tile(tf.broadcast_to(fill, [channels]), [height * width])
    flat = tf.reshape(views, [batch, num_views, pixels])
    filled = tf.where(square, colour, flat)
    return tf.ensure_shape(tf.reshape(filled, tf.shape(views)), views.shape)


def _draw_box(height, width, seed):
    """Return a box (top, bottom, left, right) and the share of the area outside it."""
    share_seed, row_seed, column_seed = draws.split(seed, 3)
    # Beta(1, 1) is uniform, and so is 1 - λ.
    # In float64, whose square root is the same on every device.
    side = tf.sqrt(tf.cast(draws.uniform([], share_seed), tf.float64))

    def interval(length, seed):
        half = tf.cast(side * tf.cast(length, tf.float64), tf.int32) // 2
        centre = draws.below([], seed, length)
        return tf.maximum(centre - half, 0), tf.minimum(centre + half, length)

    top, bottom = interval(height, row_seed)
    left, right = interval(width, column_seed)
    inside = (bottom - top) * (right - left) / (height * width)
    return (top, bottom, left, right), 1 - inside


def _draw_partners(batch, num_views, seed):
    """Return a permutation of the batch for each view index, indices of views `[B, K]`.

    A view counts as b * K + k among all the views of the batch.
    """
    keys = draws.uniform([num_views, batch], seed)
    images = tf.cast(tf.transpose(tf.argsort(keys, axis=1)), tf.int64)
    num_views = tf.cast(num_views, tf.int64)
    return images * num_views + tf.range(num_views)


def _paste_box(views, box, partners):
    """Return views whose box shows their partners' pixels.

    Put together from slices, whose pixels are copied and not looked at.
    """
    batch, num_views, height, width, channels = tf.unstack(tf.shape(views))
    top, bottom, left, right = box
    count, row = batch * num_views, width * channels
    flat = tf.reshape(views, [count, height * row])
    band = tf.reshape(flat[:, top * row : bottom * row], [count, bottom - top, row])
    before = band[:, :, : left * channels]
    inside = band[:, :, left * channels : right * channels]
    after = band[:, :, right * channels :]
    inside = tf.gather(inside, tf.reshape(partners, [-1]))
    band = tf.concat([before, inside, after], axis=2)
    band = tf.reshape(band, [count, (bottom - top) * row])
    mixed = [flat[:, : top * row], band, flat[:, bottom * row :]]
    return tf.reshape(tf.concat(mixed, axis=1), tf.shape(views))


def _mix_labels(labels, share, partners):
    flat = tf.reshape(labels, [-1, tf.shape(labels)[-1]])
    return share * labels + (1 - share) * tf.gather(flat, partners)


def _draw_interval(batch, length, size, seed):
    """Return whether each of `length` places is in the interval, `[B, length]`."""
    centres = tf.cast(draws.below([batch, 1], seed, length), tf.int64)
    places = tf.range(length, dtype=tf.int64) - (centres - size // 2)
    return (places >= 0) & (places < size)


def _check_views(views):
    if views.shape.rank != 5:
        raise ValueError(f"views must be [B, K, H, W, C], not of shape {views.shape}.")


def _check_square(views, size, fill):
    """Return the fill as whole numbers in the views' dtype, or refuse it."""
    if size < 0:
        raise ValueError(f"size must be 0 or more pixels, not {size}.")
    fill = np.round(np.asarray(fill, np.float64))
    if not np.all((fill >= 0) & (fill <= 255)):
        raise ValueError(f"fill must lie in 0..255, not {fill}.")
    channels = views.shape[-1]
    if fill.size not in (1, channels or fill.size):
        raise ValueError(f"fill has {fill.size} values for {channels} channels.")
    return tf.constant(fill.reshape(-1), views.dtype)
