"""The batch that a training step works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from la_tf import draws, replicas


class Views(NamedTuple):
    """Some of the views of a batch of B images, M for each image."""

    images: Any  # [B, M, ...]
    labels: Any  # [B, M, classes]
    policies: Any  # int32 [B, M]
    positions: Any  # int32 [B, M]: the place among the views of all replicas.
    weights: Any = None  # [B, M], where an earlier pass has given them.

    def columns(self, start, stop):
        """Return the views `start` to `stop - 1` of each image."""
        return self._each(lambda field: field[:, start:stop])

    def chosen(self, numbers):
        """Return the views [B, N] of each image, by their numbers in it."""
        return self._each(lambda field: _gather(field, numbers))

    def _each(self, function):
        return Views(*(None if field is None else function(field) for field in self))


def _gather(field, numbers):
    # A GPU has no kernel to gather uint8; float16 holds all of 0..255.
    kind = tf.float16 if field.dtype == tf.uint8 else field.dtype
    chosen = tf.gather(tf.cast(field, kind), numbers, batch_dims=1)
    return tf.cast(chosen, field.dtype)


class Batch(NamedTuple):
    """All views of a batch, and with a separate E-step the early ones too."""

    views: Views
    early: Any = None  # `Views`
    sample_weights: Any = None  # [B], or None where all images weigh 1.

    @property
    def policies(self):
        """The policies of all views, int32 [B, K]."""
        return self.views.policies

    @property
    def total(self):
        """The number of views in the batches of all replicas."""
        return tf.size(self.policies) * replicas.place()[1]

    def uniform(self, columns, seed):
        """Return numbers in [0, 1), [B, columns], for each image its own."""
        images = tf.shape(self.policies)[0]
        replica, count = replicas.place()
        table = draws.uniform([images * count, columns], seed)
        return table[images * replica : images * (replica + 1)]


def unpack(data, augment=None, separate=False):
    """Return the `Batch` of what a dataset gave.

    Args:
        data: the dataset's element, a training batch or what `augment` makes one from.
        augment: a callable from the parts of `data` to a training batch, or None.
        separate: whether the early views must be there.
    """
    if augment is not None:
        data = augment(*data)
    _check(data, separate)
    images, labels, policies = data[:3]
    positions = _positions(policies)
    early = Views(data[3], data[4], policies, positions) if separate else None
    # After the three parts, or the five with early views, comes what images weigh.
    sample_weights = data[-1] if len(data) in (4, 6) else None
    return Batch(Views(images, labels, policies, positions), early, sample_weights)


def _positions(policies):
    shape = tf.shape(policies)
    first = tf.size(policies) * replicas.place()[0]
    return first + tf.reshape(tf.range(shape[0] * shape[1]), shape)


def _check(data, separate):
    expected = 5 if separate else 3
    if not isinstance(data, (tuple, list)) or len(data) < expected:
        parts = len(data) if isinstance(data, (tuple, list)) else 1
        extra = ", early views, early labels" if separate else ""
        raise ValueError(
            f"A training batch is (views, labels, policies{extra}), but the dataset "
            f"gives {parts} part(s): make it with la_tf.make_views."
        )
    if len(data) in (4, 6) and len(data[-1].shape) != 1:
        raise ValueError(
            "A training batch's sample weights are a number for each image, [B], but "
            f"the dataset gives {data[-1].shape}: make it with la_tf.make_views."
        )
    images, labels, policies = (tf.convert_to_tensor(part) for part in data[:3])
    ranks = images.shape.rank, labels.shape.rank, policies.shape.rank
    if ranks[0] < 3 or ranks[1:] != (3, 2):
        raise ValueError(
            "A training batch has views [B, K, H, W, C], labels [B, K, classes] and "
            f"policies [B, K], but the dataset gives {images.shape}, {labels.shape} "
            f"and {policies.shape}: make it with la_tf.make_views."
        )
    if policies.shape[1] is None:
        raise ValueError(
            "The number of views of an image must be known when the step is traced: "
            "give the dataset's elements a static second dimension."
        )
