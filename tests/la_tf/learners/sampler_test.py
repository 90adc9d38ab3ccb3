"""MetaAugment's sampler: its probabilities, its draws, its embedding."""

import numpy as np
import tensorflow as tf

from la_tf.learners import sampler
from la_tf.ops import spaces
from la_tf.policy import Choice

PAIRS = 196


def _recorded(learner, weights, draws, sound=True):
    parts = (tf.constant(part, tf.float32) for part in (weights, draws))
    learner.record(tf.constant(sound), *parts, ())


class SamplerTest(tf.test.TestCase):
    def test_probabilities_by_hand(self):
        # Means 0.5 and 0.25, and 1 for the pair never drawn: in all 1.75.
        ours = sampler.probabilities(
            tf.constant([2.0, 0.5, 0.0]), tf.constant([4.0, 2.0, 0.0])
        )
        expected = 0.9 * np.array([0.5, 0.25, 1.0]) / 1.75 + 0.1 / 3
        self.assertAllClose(ours, expected, rtol=1e-6)

    def test_updates_remember_as_many_intervals_as_the_window_holds(self):
        learner = sampler.Sampler()
        self.assertAllClose(learner.probabilities, np.full(PAIRS, 1 / PAIRS))
        weights, draws = np.zeros([2, PAIRS])
        weights[3], draws[3] = 0.5, 5
        _recorded(learner, weights, draws)
        _recorded(learner, np.full(PAIRS, np.nan), draws, sound=False)
        learner.update()
        mean = np.ones(PAIRS)
        mean[3] = 0.1
        expected = 0.9 * mean / mean.sum() + 0.1 / PAIRS
        self.assertAllClose(learner.probabilities, expected, rtol=1e-5)
        for _ in range(sampler.WINDOW - 1):
            learner.update()
        self.assertAllClose(learner.probabilities, expected, rtol=1e-5)
        learner.update()
        self.assertAllClose(learner.probabilities, np.full(PAIRS, 1 / PAIRS))
        entropy = learner.logs()["drawing_entropy"]
        self.assertAllClose(entropy, np.log(PAIRS), rtol=1e-5)

    def test_pairs_are_drawn_by_their_probabilities_and_levels_evenly(self):
        learner = sampler.Sampler()
        chances = np.arange(PAIRS) / np.arange(PAIRS).sum()
        learner.probabilities.assign(chances)
        choice = learner.draw(20_000, 1, [3, 4])
        counts = np.bincount(choice.policies[:, 0], minlength=PAIRS)
        self.assertEqual(counts[0], 0)
        expected = 20_000 * chances[1:]
        # Chi-square with 194 degrees of freedom: 275 has a chance of 1 in 10,000.
        self.assertLess(np.sum((counts[1:] - expected) ** 2 / expected), 275)
        first, second = choice.operations[..., 0], choice.operations[..., 1]
        self.assertAllEqual(choice.policies, 14 * first + second)
        levels = np.bincount(choice.levels.numpy().ravel(), minlength=101)
        # 100 degrees of freedom: 161.
        self.assertLess(np.sum((levels - 40_000 / 101) ** 2 / (40_000 / 101)), 161)

    def test_embedding_by_hand(self):
        space = spaces.METAAUGMENT
        rotate, equalize = space.index("Rotate"), space.index("Equalize")
        choice = Choice(
            None,
            tf.constant([[[rotate, equalize]], [[rotate, rotate]]], tf.int64),
            tf.constant([[[25, 70]], [[0, 100]]], tf.int64),
        )
        expected = np.zeros([2, 28])
        expected[0, 2 * rotate], expected[0, 2 * equalize + 1] = 3.5, 11.0
        expected[1, 2 * rotate], expected[1, 2 * rotate + 1] = 1.0, 11.0
        ours = sampler.Sampler().embedding(choice)
        self.assertAllClose(ours, expected)


if __name__ == "__main__":
    tf.test.main()
