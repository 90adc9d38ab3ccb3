"""Encoded photographs in tfrecord files, as tensorflow-datasets writes them."""

from __future__ import annotations

import functools

import numpy as np
import tensorflow as tf

from la_tf import console
from la_tf.data import tuning
from la_tf.data.sources import streams

# Files read at once. Their records are mixed, then shuffled a block at a time: some
# 200 MB of ImageNet's photographs.
_GROUP = 16
_BLOCK = 2048

# A record's frame: its length and two checksums around its bytes.
_BEFORE, _AFTER = 12, 4
FRAME = _BEFORE + _AFTER

_FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


class Shards(streams.Stream):
    """All records of some tfrecord files, read from one end to the other.

    An epoch's order: the files are shuffled and dealt into groups; a group's files are
    read side by side, a record of each in turn, and shuffled block by block. That is
    as fast as the disk, and tensorflow-datasets has shuffled the records themselves
    when it wrote them.
    """

    def __init__(self, paths, lengths, side=streams.SIDE):
        """Name the files, how many records each has, and the side of the crops."""
        super().__init__(side)
        self._paths = list(paths)
        self._lengths = np.asarray(lengths, np.int64)

    @property
    def paths(self):
        """The files."""
        return self._paths

    @property
    def size(self):
        return int(self._lengths.sum())

    @property
    def labels(self):
        return self._index.labels

    def take(self, indices):
        return self._index.take(indices)

    @functools.cached_property
    def _index(self):
        return _indexed(self._paths, self._lengths, self.side)

    @functools.cached_property
    def _tensors(self):
        with tf.init_scope():
            return tf.constant(self._paths), tf.constant(self._lengths)

    def records(self, seed=None, epoch=None, first=0):
        if seed is None:
            files = tf.data.Dataset.from_tensor_slices(self._tensors[0])
            return files.flat_map(_raw).skip(first).map(_parsed, tf.data.AUTOTUNE)
        paths, lengths = self._tensors
        order = streams.permutation(len(self._paths), seed, epoch)
        first = tf.cast(first, tf.int64)
        starts = tf.range(0, len(self._paths), _GROUP, tf.int64)

        def group(start):
            members = order[start : start + _GROUP]
            before = tf.reduce_sum(tf.gather(lengths, order[:start]))
            size = tf.reduce_sum(tf.gather(lengths, members))
            # A group that lies wholly before `first` is not opened at all.
            skipped = tf.clip_by_value(first - before, 0, size)
            files = tf.gather(paths, members)[: tf.where(skipped < size, _GROUP, 0)]
            mixed = tf.data.Dataset.from_tensor_slices(files).interleave(
                _raw, cycle_length=_GROUP, num_parallel_calls=tf.data.AUTOTUNE
            )
            return _shuffled(mixed, seed, epoch, start).skip(skipped)

        groups = tf.data.Dataset.from_tensor_slices(starts).flat_map(group)
        return groups.map(_parsed, num_parallel_calls=tf.data.AUTOTUNE)


class Records(streams.Indexed):
    """Chosen records of tfrecord files, found by their place.

    A part of a data set is read so: a pass over all files would be for nothing.
    """

    def __init__(self, paths, places, labels, side=streams.SIDE):
        """Name files and, for each record, (file, offset, length, file's length)."""
        super().__init__(labels, side)
        self._paths = list(paths)
        self._places = np.asarray(places, np.int64)

    @property
    def paths(self):
        """The files."""
        return self._paths

    def take(self, indices):
        places, labels = self._places[indices], self._labels[indices]
        return Records(self._paths, places, labels, self.side)

    @functools.cached_property
    def _tensors(self):
        with tf.init_scope():
            return tf.constant(self._paths), tf.constant(self._places)

    def records(self, seed=None, epoch=None, first=0):
        paths, places = self._tensors
        order = streams.permutation(self.size, seed, epoch)[first:]

        def read(index):
            file, offset, length, file_length = tf.unstack(places[index])
            # A dataset of one record: TensorFlow's only way to read from the middle.
            return tf.data.FixedLengthRecordDataset(
                paths[file],
                record_bytes=length,
                header_bytes=offset,
                footer_bytes=file_length - offset - length,
            )

        found = tf.data.Dataset.from_tensor_slices(order).interleave(
            read, cycle_length=_GROUP, num_parallel_calls=tf.data.AUTOTUNE
        )
        return found.map(_parsed, num_parallel_calls=tf.data.AUTOTUNE)


def _raw(path):
    return tf.data.TFRecordDataset(path, buffer_size=1 << 20)


def _parsed(record):
    example = tf.io.parse_single_example(record, _FEATURES)
    return example["image"], tf.cast(example["label"], tf.int32)


def _shuffled(records, seed, epoch, start):
    """Return the records, shuffled a block at a time.

    Unlike `Dataset.shuffle`, whose draws also depend on TensorFlow's global seed.
    """
    seed = tf.stack([tf.cast(part, tf.int64) for part in (seed, epoch)])
    seed = tf.random.experimental.stateless_fold_in(seed, start)

    def shuffle(number, block):
        key = tf.random.experimental.stateless_fold_in(seed, number)
        return tf.random.experimental.stateless_shuffle(block, key)

    return records.batch(_BLOCK).enumerate().map(shuffle).unbatch()


def _indexed(paths, lengths, side):
    """Return `Records` of everything in the files, after reading all of them once."""

    def measured(file, path):
        def measure(record):
            label = tf.io.parse_single_example(record, _FEATURES)["label"]
            return tf.stack([file, tf.cast(tf.strings.length(record), tf.int64), label])

        return _raw(path).map(measure)

    files = tf.data.Dataset.from_tensor_slices(paths).enumerate()
    measures = files.interleave(
        measured, cycle_length=_GROUP, num_parallel_calls=tf.data.AUTOTUNE
    )
    batches, rows = tuning.without_tuner(measures.batch(_BLOCK).prefetch(2)), []
    with console.Counter("Finding classes", int(np.sum(lengths))) as counter:
        for batch in batches:
            rows.append(batch.numpy())
            counter.advance(len(batch))
    rows = np.concatenate(rows)
    # Back from turn by turn to file by file.
    file, length, label = rows[np.argsort(rows[:, 0], kind="stable")].T
    return Records(paths, _places(file, length), label, side)


def _places(file, length):
    """Return each record's file, offset, length and file's length, int64 [N, 4]."""
    ends = np.cumsum(length + FRAME)
    starts = ends - (length + FRAME)
    file_starts = starts[np.searchsorted(file, file, side="left")]
    file_ends = ends[np.searchsorted(file, file, side="right") - 1]
    offset = starts - file_starts + _BEFORE
    return np.stack([file, offset, length, file_ends - file_starts], axis=1)
