"""Encoded photographs as tf.data, in an order that depends on seed and epoch alone."""

from __future__ import annotations

import abc
import functools

import numpy as np
import tensorflow as tf

from la_tf import draws
from la_tf.data import inception
from la_tf.data.sources import base

SIDE = 224


class Stream(base.Split):
    """A split that is read from disk as training goes.

    Args:
        side: of the square crops that a network is given, in pixels.
    """

    def __init__(self, side=SIDE):
        self.side = side

    @property
    @abc.abstractmethod
    def paths(self):
        """The files that hold the photographs."""

    @abc.abstractmethod
    def records(self, seed=None, epoch=None, first=0):
        """Return a tf.data.Dataset of single examples `(encoded bytes, int32 label)`.

        The order is a function of `seed` and `epoch` alone, whatever the number of
        threads, so that a run that starts in the middle meets the same images.

        Args:
            seed: an integer; None keeps the stored order.
            epoch: an integer or a scalar int64 tensor; needed with a seed.
            first: how many records of that order to leave out at its beginning.
        """

    def training_batches(self, maker, plan, first_step=0):
        """Return a dataset of `(base views, labels, seeds)`.

        The views are cropped here, one photograph at a time, since photographs differ
        in size. See `Split.training_batches`.
        """
        first_epoch, skipped = divmod(first_step, plan.steps_per_epoch)

        def epoch_examples(epoch):
            first = tf.where(epoch == first_epoch, skipped * plan.batch_size, 0)
            first = tf.cast(first, tf.int64)
            used = plan.steps_per_epoch * plan.batch_size - first
            records = self.records(seed=plan.seed, epoch=epoch, first=first).take(used)
            return records.enumerate(first).map(
                lambda index, record: (epoch, index, *record)
            )

        def is_ours(epoch, index, encoded, label):
            del epoch, encoded, label
            return index % plan.batch_size // plan.share == plan.worker

        @tf.autograph.experimental.do_not_convert
        def crop(epoch, index, encoded, label):
            step, row = index // plan.batch_size, index % plan.share
            seed = plan.seeds(epoch, step)[row]
            return maker.crop_photograph(encoded, self.side, seed), label, seed

        epochs = tf.data.Dataset.range(first_epoch, plan.epochs)
        examples = epochs.flat_map(epoch_examples)
        if plan.workers > 1:
            examples = examples.filter(is_ours)
        examples = examples.map(crop, tf.data.AUTOTUNE, deterministic=True)
        return examples.batch(plan.share, drop_remainder=True)

    def view_function(self, maker):
        return maker.from_base_views

    def evaluation_examples(self):
        @tf.autograph.experimental.do_not_convert
        def example(encoded, label):
            return inception.evaluation_image(encoded, self.side), label

        return self.records().map(example, tf.data.AUTOTUNE)


class Indexed(Stream):
    """A stream whose photographs can be read in any order at the same cost.

    Args:
        labels: of the photographs, whole numbers [N].
        side: of the crops.
    """

    def __init__(self, labels, side=SIDE):
        super().__init__(side)
        self._labels = np.asarray(labels, np.int32)

    @property
    def size(self):
        return len(self._labels)

    @property
    def labels(self):
        return self._labels


class Files(Indexed):
    """Image files of a folder."""

    def __init__(self, paths, labels, side=SIDE):
        super().__init__(labels, side)
        self._paths = np.asarray(paths, object)

    @property
    def paths(self):
        """The files."""
        return self._paths

    def take(self, indices):
        return Files(self._paths[indices], self._labels[indices], self.side)

    @functools.cached_property
    def _tensors(self):
        # Made outside any graph, so that a graph holds a reference, not a copy.
        with tf.init_scope():
            return tf.constant(self._paths.astype(str)), tf.constant(self._labels)

    def records(self, seed=None, epoch=None, first=0):
        paths, labels = self._tensors

        def read(index):
            return tf.io.read_file(paths[index]), labels[index]

        indices = permutation(self.size, seed, epoch)[first:]
        indices = tf.data.Dataset.from_tensor_slices(indices)
        return indices.map(read, num_parallel_calls=tf.data.AUTOTUNE)


def permutation(size, seed, epoch):
    """Return the epoch's order of 0..size-1, int64; the stored one without a seed."""
    stored = tf.range(size, dtype=tf.int64)
    if seed is None:
        return stored
    if epoch is None:
        raise ValueError("records(seed=...) needs an epoch.")
    return draws.order(stored, size, seed, epoch)
