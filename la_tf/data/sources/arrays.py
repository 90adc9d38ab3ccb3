"""Small images of one size, kept in memory."""

from __future__ import annotations

import dataclasses

import numpy as np

from la_tf.data.sources import base


@dataclasses.dataclass(frozen=True, eq=False)
class Arrays(base.Split):
    """A split that is kept in memory.

    Attributes:
        images: uint8 [N, H, W, C].
        labels: int32 [N].
    """

    images: np.ndarray
    labels: np.ndarray

    @property
    def size(self):
        return len(self.labels)

    def take(self, indices):
        """Return the split that holds only these images, in this order."""
        return Arrays(self.images[indices], self.labels[indices])

    def resized(self, side):
        """Return the split with the central squares of its images, at this side."""
        from la_tf.data.sources import decoding

        return Arrays(decoding.squares(self.images, side), self.labels)

    def training_batches(self, maker, plan, first_step=0):
        """Return a dataset of `(images, labels, seeds)`; the views are yet to be made.

        See `Split.training_batches`.
        """
        # Imported late: flags are checked before TensorFlow is loaded.
        import tensorflow as tf

        from la_tf import draws

        # Pinned to the host: a captured tensor would otherwise sit on the GPU and be
        # copied back for every batch.
        with tf.device("/cpu:0"):
            images, labels = tf.constant(self.images), tf.constant(self.labels)

        @tf.autograph.experimental.do_not_convert
        def batch(global_step):
            epoch = global_step // plan.steps_per_epoch
            step = global_step % plan.steps_per_epoch
            start = step * plan.batch_size + plan.worker * plan.share
            # Counted from 0, so that the batch's size is known when a step is traced.
            places = start + tf.range(plan.share, dtype=tf.int64)
            indices = draws.order(places, self.size, plan.seed, epoch)
            seeds = plan.seeds(epoch, step)
            return tf.gather(images, indices), tf.gather(labels, indices), seeds

        steps = tf.data.Dataset.range(first_step, plan.total_steps)
        return steps.map(batch, tf.data.AUTOTUNE, deterministic=True)

    def view_function(self, maker):
        return maker.from_images

    def evaluation_examples(self):
        import tensorflow as tf

        with tf.device("/cpu:0"):
            return tf.data.Dataset.from_tensor_slices((self.images, self.labels))
