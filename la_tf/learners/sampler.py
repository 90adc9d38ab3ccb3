"""MetaAugment's sampler (Zhou et al., AAAI 2021, arXiv 2012.12076)."""

from __future__ import annotations

import tensorflow as tf

from la_tf import draws, em, replicas, rules
from la_tf.learners import learner
from la_tf.ops import operation, spaces
from la_tf.policy import Choice

UNIFORM_SHARE = 0.1
WINDOW = 50


class Sampler(learner.Learner, rules.Rule):
    """Draws pairs of operations by how much their views have counted of late.

    With w̄_z the mean raw weight that the policy network gave to views of pair z in the
    last 50 intervals, or 1 if there was none, and S pairs:

        p_z = (1 - ε) w̄_z / Σ w̄ + ε / S

    An interval is an epoch.
    """

    def __init__(self):
        super().__init__(name="sampler")
        self.space = spaces.METAAUGMENT
        self._operations = len(self.space.operations)
        self.num_policies = self._operations**2
        uniform = tf.fill([self.num_policies], 1.0 / self.num_policies)
        self.probabilities = _variable(uniform, "probabilities")
        rows = tf.zeros([WINDOW, self.num_policies])
        self.weight_window = _variable(rows, "weight_window")
        self.draw_window = _variable(rows, "draw_window")
        self.updates = _variable(tf.zeros([], tf.int64), "updates")
        self.mass = replicas.variable(tf.zeros([self.num_policies]), "mass")
        self.draws = replicas.variable(tf.zeros([self.num_policies]), "draws")

    @property
    def embedding_size(self):
        """Numbers in an embedding: a place for each operation, first and second."""
        return 2 * self._operations

    def embedding(self, choice):
        """Return the transformations in numbers, float32 [B K, 28].

        Place 2 i holds 1 + the magnitude of the first operation, i, place 2 j + 1 that
        of the second, j; 11 stands for an operation that has none.

        Args:
            choice: a `Choice`.
        """
        operations = tf.reshape(choice.operations, [-1, 2])
        levels = tf.cast(tf.reshape(choice.levels, [-1, 2]), tf.float32)
        magnitudes = levels * (10.0 / (self.space.num_levels - 1))
        has_levels = [name in self.space.arguments for name in self.space.operations]
        values = tf.where(tf.gather(has_levels, operations), 1.0 + magnitudes, 11.0)
        places = tf.one_hot(operations, self._operations) * values[..., None]
        # First and second side by side: [N, 2, 14] to [N, 14, 2].
        return tf.reshape(tf.transpose(places, [0, 2, 1]), [-1, self.embedding_size])

    def draw(self, batch_size, num_views, seed):
        pair_seed, level_seed = draws.split(seed, 2)
        uniform = draws.uniform([batch_size, num_views], pair_seed)
        pairs = draws.categorical(tf.identity(self.probabilities), uniform)
        operations = tf.stack([pairs // self._operations, pairs % self._operations], -1)
        noise = operation.draw_noise([batch_size, num_views], level_seed)
        levels = operation.below(noise, self.space.num_levels)
        return Choice(tf.cast(pairs, tf.int32), operations, levels)

    def name_of(self, number):
        first, second = divmod(int(number), self._operations)
        return f"{self.space.operations[first]}>{self.space.operations[second]}"

    def record(self, sound, mass, draws, sums):
        super().record(sound, mass, draws, sums)
        self.mass.assign_add(tf.where(sound, mass, 0.0))
        self.draws.assign_add(tf.where(sound, draws, 0.0))

    @tf.function(autograph=False)
    def update(self):
        row = tf.range(WINDOW, dtype=tf.int64) == self.updates % WINDOW
        for window, sums in (
            (self.weight_window, self.mass),
            (self.draw_window, self.draws),
        ):
            window.assign(tf.where(row[:, None], sums, window))
            sums.assign(tf.zeros_like(sums))
        self.updates.assign_add(1)
        weights = tf.reduce_sum(self.weight_window, 0)
        counts = tf.reduce_sum(self.draw_window, 0)
        self.probabilities.assign(probabilities(weights, counts))

    def logs(self):
        return {"drawing_entropy": em.entropy(tf.identity(self.probabilities))}


def probabilities(weights, counts):
    """Return p from the sums of raw weights and the numbers of views of each pair."""
    mean = tf.where(counts > 0.0, tf.math.divide_no_nan(weights, counts), 1.0)
    return (1.0 - UNIFORM_SHARE) * em.shares(mean) + UNIFORM_SHARE / mean.shape[0]


def _variable(value, name):
    return tf.Variable(value, trainable=False, name=name)
