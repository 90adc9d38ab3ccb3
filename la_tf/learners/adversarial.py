"""Adversarial AutoAugment (Zhang et al., ICLR 2020, arXiv 1912.11188)."""

from __future__ import annotations

import tensorflow as tf

from la_tf import draws, replicas, rules
from la_tf.learners import adam, controller, learner
from la_tf.ops import spaces
from la_tf.policy import Choice

LEARNING_RATE = 0.00035

# Keeps these draws apart from all others that start from the run's seed.
_CONTROLLER = 4


class Adversarial(learner.Learner, rules.Rule):
    """A controller whose policies the network finds hard, and the rule that draws them.

    An interval has M policies of five sub-policies each. The m-th view of an image goes
    through a sub-policy of the m-th policy, drawn evenly. At the interval's end the
    controller learns from the mean loss of the m-th views, for all m, and decides on M
    new policies.

    Args:
        num_views: M, views of an image and policies of an interval.
        interval: steps from one update of the controller to the next.
        seed: of the controller's weights and decisions.
    """

    num_stages = controller.STAGES

    def __init__(self, num_views, interval, seed=0):
        super().__init__(interval, name="adversarial")
        self.space = spaces.ADVERSARIAL
        self.num_policies = len(self.space.operations) ** 2
        self._num_views = num_views
        self._seed = seed
        weights = controller.initial_weights(
            len(self.space.operations), self.space.num_levels, self._seed_of(0)
        )
        self.weights = {
            name: tf.Variable(value, trainable=False, name=name)
            for name, value in weights.items()
        }
        self.optimizer = adam.Adam(self.weights, LEARNING_RATE)
        decisions, entropy = controller.drawn(weights, num_views, self._seed_of(1))
        self.decisions = tf.Variable(decisions, trainable=False, name="decisions")
        self.entropy = tf.Variable(entropy, trainable=False, name="entropy")
        self._losses = replicas.variable(tf.zeros([num_views]), "losses")
        self._images = replicas.variable(tf.zeros([]), "images")

    def draw(self, batch_size, num_views, seed):
        self.check_num_views(num_views)
        choices = controller.SUB_POLICIES
        numbers = draws.below([batch_size, num_views], seed, choices)
        rows = numbers + tf.range(num_views) * choices
        operations, levels = (
            tf.gather(tf.reshape(part, [-1, self.num_stages]), rows)
            for part in controller.sub_policies(tf.identity(self.decisions))
        )
        first, second = tf.unstack(tf.cast(operations, tf.int32), axis=-1)
        policies = first * len(self.space.operations) + second
        return Choice(policies, operations, levels)

    def name_of(self, number):
        first, second = divmod(int(number), len(self.space.operations))
        return f"{self.space.operations[first]}>{self.space.operations[second]}"

    def check_num_views(self, num_views):
        if num_views != self._num_views:
            raise ValueError(
                f"num_views is {num_views}, but the controller decides on "
                f"{self._num_views} policies, one for each view"
            )
        return num_views

    def sums(self, losses):
        return tf.reduce_sum(losses, 0), tf.cast(tf.shape(losses)[0], tf.float32)

    def record(self, sound, mass, draws, sums):
        super().record(sound, mass, draws, sums)
        losses, images = sums
        self._losses.assign_add(tf.where(sound, losses, 0.0))
        self._images.assign_add(tf.where(sound, images, 0.0))

    @tf.function(autograph=False)
    def update(self):
        losses = tf.math.divide_no_nan(self._losses, self._images)
        weights = self._values()
        with tf.GradientTape() as tape:
            tape.watch(weights)
            objective = controller.objective(weights, self.decisions, losses)
        self.optimizer.apply(tape.gradient(objective, weights))
        seed = self._seed_of(1 + self.optimizer.updates)
        decisions, entropy = controller.drawn(self._values(), self._num_views, seed)
        self.decisions.assign(decisions)
        self.entropy.assign(entropy)
        self._losses.assign(tf.zeros_like(self._losses))
        self._images.assign(0.0)

    def logs(self):
        return {"drawing_entropy": tf.identity(self.entropy)}

    def _values(self):
        return {name: tf.identity(weight) for name, weight in self.weights.items()}

    def _seed_of(self, number):
        return draws.fold([self._seed, _CONTROLLER], number)
