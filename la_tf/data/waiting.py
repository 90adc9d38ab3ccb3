"""How long a training loop waits for its batches."""

from __future__ import annotations

import tensorflow as tf


class Waiting:
    """Counts the time between asking for a batch and having it.

    The count is a variable on the host, so that reading it waits for no device.
    """

    def __init__(self):
        with tf.device("/CPU:0"):
            self._seconds = tf.Variable(0.0, trainable=False, dtype=tf.float64)

    @property
    def seconds(self):
        """The seconds so far."""
        return float(self._seconds.numpy())

    def measured(self, dataset):
        """Return the dataset, the time that its reader waits being counted."""
        # Zipped datasets are asked in their order: the clock first.
        clock = tf.data.Dataset.range(tf.int64.max).map(lambda _: tf.timestamp())

        def count(asked, element):
            self._seconds.assign_add(tf.timestamp() - asked)
            return element

        # If this were fetched ahead of its reader, the time would be somebody else's.
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        return tf.data.Dataset.zip((clock, dataset)).map(count).with_options(options)
