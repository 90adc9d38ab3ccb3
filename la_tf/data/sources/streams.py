"""Encoded photographs as tf.data, in an order that depends on seed and epoch alone."""

from __future__ import annotations

import functools

import numpy as np
import tensorflow as tf

from la_tf.data.sources import base


class Files(base.Stream):
    """Image files of a folder; any order costs the same."""

    def __init__(self, paths, labels):
        self._paths = np.asarray(paths, object)
        self._labels = np.asarray(labels, np.int32)

    @property
    def paths(self):
        """The files."""
        return self._paths

    @property
    def size(self):
        return len(self._labels)

    @property
    def labels(self):
        return self._labels

    def take(self, indices):
        return Files(self._paths[indices], self._labels[indices])

    @functools.cached_property
    def _tensors(self):
        # Made outside any graph, so that a graph holds a reference, not a copy.
        with tf.init_scope():
            return tf.constant(self._paths.astype(str)), tf.constant(self._labels)

    def records(self, seed=None, epoch=None, first=0):
        paths, labels = self._tensors
        order = permutation(self.size, seed, epoch)[first:]

        def read(index):
            return tf.io.read_file(paths[index]), labels[index]

        indices = tf.data.Dataset.from_tensor_slices(order)
        return indices.map(read, num_parallel_calls=tf.data.AUTOTUNE)


def permutation(size, seed, epoch):
    """int64 [size]: the epoch's order of 0..size-1; the stored one without a seed."""
    stored = tf.range(size, dtype=tf.int64)
    if seed is None:
        return stored
    if epoch is None:
        raise ValueError("records(seed=...) needs an epoch.")
    # Not index_shuffle: its neighbours are measurably not independent.
    key = tf.stack([tf.cast(part, tf.int64) for part in (seed, epoch)])
    return tf.random.experimental.stateless_shuffle(stored, key)
