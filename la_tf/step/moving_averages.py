"""The moving statistics of a classifier, moved once a step.

A training-mode pass moves the averages that BatchNorm layers keep as it goes. Yet a
step may need several passes: the one without gradients must leave no trace, the chunks
of a batch count together as one pass, and a step whose loss is not finite never was.
"""

from __future__ import annotations

import tensorflow as tf


class Statistics:
    """A classifier's moving statistics, and the values they had when this was made."""

    def __init__(self, classifier):
        self._variables = [
            variable for variable in classifier.variables if _is_statistic(variable)
        ]
        self._before = self.values()

    def values(self):
        """The present values."""
        return [tf.identity(variable) for variable in self._variables]

    def restore(self):
        """Sets the statistics to what they were."""
        self._assign(self._before)

    def restore_unless(self, condition):
        """Sets the statistics to what they were where the condition does not hold."""
        self._assign(
            tf.where(condition, variable, before)
            for variable, before in zip(self._variables, self._before)
        )

    def average(self, passes):
        """Sets the statistics to the mean of the values after each of several passes.

        A moving average is linear in what it averages: this is one movement by the mean
        of the passes' own statistics.
        """
        self._assign(
            tf.cast(tf.add_n(values) / len(values), values[0].dtype)
            for values in zip(*passes)
        )

    def _assign(self, values):
        for variable, value in zip(self._variables, values):
            variable.assign(value)


def _is_statistic(variable):
    """Whether a training-mode pass in one replica may change the variable.

    A frozen layer's weights are none of them: they were made trainable. Under a
    strategy a replica cannot assign a variable that has no rule of aggregation.
    """
    if variable.trainable or not variable.dtype.is_floating:
        return False
    if not tf.distribute.has_strategy():
        return True
    return (
        variable.synchronization == tf.VariableSynchronization.ON_READ
        or variable.aggregation != tf.VariableAggregation.NONE
    )
