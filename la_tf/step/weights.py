"""What happens to weights besides the optimizer's update: shorter steps, an average.

Both work across replicas, where a variable's copies are updated alike and without any
exchange, and keep nothing that a checkpoint of the two networks does not hold.
"""

from __future__ import annotations

import tensorflow as tf

from la_tf import keras_generation

# After t steps the average's decay is at most t / (t + this), so that it soon forgets
# the weights that the training began with.
_WARMUP = 9.0


def head_of(classifier):
    """Return the last layer that has weights; what stands before it is the backbone."""
    layers = [layer for layer in classifier.layers if layer.weights]
    return layers[-1]


class ShorterSteps:
    """Multiplies the update of a backbone's weights, whatever the optimizer.

    An optimizer's update is in proportion to its learning rate: a step of a share of
    its length is one at that share of the rate.
    """

    def __init__(self, classifier, share):
        head = {id(variable) for variable in head_of(classifier).trainable_variables}
        self._variables = [
            keras_generation.tensorflow_variable(variable)
            for variable in classifier.trainable_variables
            if id(variable) not in head
        ]
        self._share = share

    def begin(self, strategy):
        """Return the weights before the update, each replica's own."""
        return strategy.extended.call_for_each_replica(
            lambda: [tf.identity(variable) for variable in self._variables]
        )

    def finish(self, strategy, before):
        """Go back from where the update has led, to a share of the way."""
        for variable, start in zip(self._variables, before):
            strategy.extended.update(variable, self._shorten, args=(start,))

    def _shorten(self, variable, start):
        share = tf.cast(self._share, start.dtype)
        return variable.assign(start + share * (variable - start))


class Average:
    """Makes a network the exponential moving average of another's weights.

    With d the decay and t the steps before this one, each weight e of the average
    becomes a e + (1 - a) w, a = min(d, t / (t + 9)). BatchNorm's averages are followed
    likewise.
    """

    def __init__(self, classifier, averaged, decay):
        self._pairs = list(
            zip(
                keras_generation.all_variables(averaged),
                keras_generation.all_variables(classifier),
            )
        )
        self._decay = decay

    def follow(self, strategy, step):
        """Move the average towards the weights after step number `step`."""
        step = tf.cast(step, tf.float32)
        decay = tf.minimum(self._decay, step / (step + _WARMUP))
        for average, weight in self._pairs:
            strategy.extended.update(average, _move, args=(weight, decay))


def _move(average, weight, decay):
    if not average.dtype.is_floating:
        return average.assign(weight)
    decay = tf.cast(decay, average.dtype)
    return average.assign(decay * average + (1.0 - decay) * weight)
