"""The moving averages of a classifier, moved once a step.

A training-mode pass moves the averages that BatchNorm layers keep as it goes. Yet a
step may need several passes: the one without gradients must leave no trace, the chunks
of a batch count together as one pass, and a step whose loss is not finite never was.
"""

from __future__ import annotations

import tensorflow as tf

from la_tf import keras_generation


class MovingAverages:
    """A classifier's moving averages, and the values they had when this was made."""

    def __init__(self, classifier):
        frozen = {
            id(variable)
            for layer in classifier._flatten_layers()
            if not layer.trainable
            for variable in layer.variables
        }
        # What a frozen layer keeps must not even be averaged with itself: that rounds.
        moving = [each for each in classifier.variables if id(each) not in frozen]
        variables = map(keras_generation.tensorflow_variable, moving)
        self._variables = [each for each in variables if _is_average(each)]
        self._before = self.values()

    def values(self):
        """Return the present values."""
        return [tf.identity(variable) for variable in self._variables]

    def restore(self):
        """Set the averages to what they were."""
        self._assign(self._before)

    def restore_unless(self, condition):
        """Set the averages to what they were where the condition does not hold."""
        self._assign(
            tf.where(condition, variable, before)
            for variable, before in zip(self._variables, self._before)
        )

    def average(self, passes, sizes):
        """Set the averages to the mean of their values after each of several passes.

        A moving average is linear in what it averages: this is one movement by the mean
        of the passes' own statistics, each weighted by the size of its pass.
        """
        shares = [size / sum(sizes) for size in sizes]
        self._assign(
            tf.add_n([tf.cast(share, value.dtype) * value for share, value in pairs])
            for pairs in (zip(shares, values) for values in zip(*passes))
        )

    def sums(self, images):
        """Return what replicas add up to agree on one mean, weighted by their images.

        A replica without images has no statistics to add.
        """
        return [
            tf.where(images > 0, images * tf.cast(value, tf.float32), 0.0)
            for value in self.values()
        ]

    def agree(self, sums, images):
        """Set the averages, in every replica, to the mean that the `sums` make."""
        self._assign(
            tf.cast(value / images, variable.dtype)
            for variable, value in zip(self._variables, sums)
        )

    def _assign(self, values):
        for variable, value in zip(self._variables, values):
            variable.assign(value)


def _is_average(variable):
    """Tell whether a training-mode pass in one replica may change the variable.

    A frozen layer's weights are none of them: they were made trainable.
    """
    if variable.trainable or not variable.dtype.is_floating:
        return False
    return keras_generation.may_assign_in_replica(variable)
