"""The window of steps behind the prior, by hand."""

import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from la_tf import prior


def _move(policy_prior, mass, draws=None):
    mass = tf.constant(mass, tf.float32)
    policy_prior.record(mass, tf.constant(draws or [1.0] * len(mass), tf.float32))
    policy_prior.advance()
    return policy_prior.probabilities.numpy()


class MovingTest(tf.test.TestCase, parameterized.TestCase):
    def test_ten_steps_and_the_first_ones_leave(self):
        # Two policies, a window of ten. Step t gives policy 0 the share
        #   t:      1    2    3    4    5    6    7    8    9    10   11   12
        #   share:  1    0.5  0    1    1    0.2  0.3  0    1    0    0    0.9
        # The window begins with ten times 1/2. After step t it holds 10 - t of these
        # and the t shares: the sums below, whose tenth is the probability.
        shares = [1, 0.5, 0, 1, 1, 0.2, 0.3, 0, 1, 0, 0, 0.9]
        sums = [
            4.5 + 1,  # 5.5
            4.0 + 1.5,  # 5.5
            3.5 + 1.5,  # 5.0
            3.0 + 2.5,  # 5.5
            2.5 + 3.5,  # 6.0
            2.0 + 3.7,  # 5.7
            1.5 + 4.0,  # 5.5
            1.0 + 4.0,  # 5.0
            0.5 + 5.0,  # 5.5
            5.0,
            # From here the first steps leave: 1 of step 1, then 0.5 of step 2.
            5.0 - 1 + 0,
            4.0 - 0.5 + 0.9,
        ]
        policy_prior = prior.PolicyPrior(2)
        self.assertAllEqual(policy_prior.probabilities, [0.5, 0.5])
        for share, total in zip(shares, sums):
            # Not normalised, as a batch of 7 images gives it.
            moved = _move(policy_prior, [7 * share, 7 * (1 - share)])
            self.assertAllClose(moved, [total / 10, 1 - total / 10], atol=1e-6)

    def test_short_window_and_initial_prior(self):
        policy_prior = prior.PolicyPrior(3, window=2, initial=[0.5, 0.3, 0.2])
        self.assertAllClose(policy_prior.probabilities, [0.5, 0.3, 0.2])
        self.assertAllClose(_move(policy_prior, [0, 0, 4]), [0.25, 0.15, 0.6])
        self.assertAllClose(_move(policy_prior, [2, 2, 0]), [0.25, 0.25, 0.5])
        self.assertAllClose(_move(policy_prior, [1, 0, 0]), [0.75, 0.25, 0.0])

    def test_step_without_mass_leaves_no_trace(self):
        policy_prior = prior.PolicyPrior(2, window=3)
        _move(policy_prior, [1, 0])
        before = [variable.numpy() for variable in policy_prior.variables]
        _move(policy_prior, [0, 0])
        policy_prior.advance()
        for variable, value in zip(policy_prior.variables, before):
            self.assertAllEqual(variable, value)

    def test_fixed_stays(self):
        policy_prior = prior.PolicyPrior(2, kind="fixed", initial=[0.9, 0.1])
        self.assertAllClose(_move(policy_prior, [0, 1]), [0.9, 0.1])

    def test_effective_policies(self):
        self.assertAllClose(prior.PolicyPrior(256).effective_policies(), 256, rtol=1e-5)
        skewed = prior.PolicyPrior(4, initial=[0.5, 0.5, 0, 0])
        self.assertAllClose(skewed.effective_policies(), 2.0)

    def test_checkpoint_goes_on_in_the_middle(self):
        one, other = prior.PolicyPrior(2, window=3), prior.PolicyPrior(2, window=3)
        for share in 0.1, 0.9, 0.3, 0.4:
            _move(one, [share, 1 - share])
        path = tf.train.Checkpoint(prior=one).save(self.create_tempdir().full_path)
        status = tf.train.Checkpoint(prior=other).restore(path)
        status.assert_existing_objects_matched()
        for share in 0.8, 0.2:
            _move(one, [share, 1 - share])
            _move(other, [share, 1 - share])
            self.assertAllEqual(one.probabilities, other.probabilities)

    @parameterized.parameters(
        ({"kind": "learned"}, "moving, fixed, corrected"),
        ({"window": 0}, "prior_window"),
        ({"initial": [0.5, 0.5]}, "3 policies"),
        ({"initial": [0.5, 0.6, 0.2]}, "sum is 1.3"),
        ({"initial": [1.5, -0.5, 0.0]}, "smallest -0.5"),
        ({"initial": [math.nan, 0.5, 0.5]}, "none negative"),
    )
    def test_bad_arguments(self, arguments, message):
        with self.assertRaisesRegex(ValueError, message):
            prior.PolicyPrior(3, **arguments)


class CorrectedTest(tf.test.TestCase):
    def test_is_the_mean_weight_per_draw(self):
        # Window of two, four policies: m = d = 1/4 twice at first. One step of 8 views:
        #   policy:          0     1     2     3
        #   views:           4     2     2     0
        #   weight (sum 2):  1     0.5   0.5   0     -> m = .5 .25 .25 0
        # Weights are in proportion to the draws (d = .5 .25 .25 0): nobody gained.
        policy_prior = prior.PolicyPrior(4, kind="corrected", window=2)
        moved = _move(policy_prior, [1, 0.5, 0.5, 0], [4, 2, 2, 0])
        self.assertAllClose(moved, [0.25] * 4)
        # Second step: m = .1 .4 .5 0, d = .2 .4 .4 0. The window now holds these two:
        #   sum of m:  .6  .65  .75  0     sum of d:  .7  .65  .65  0
        #   r:         6/7  1   15/13  1 (never drawn)
        moved = _move(policy_prior, [0.1, 0.4, 0.5, 0], [2, 4, 4, 0])
        ratios = np.array([6 / 7, 1.0, 15 / 13, 1.0])
        self.assertAllClose(moved, ratios / ratios.sum(), atol=1e-6)

    def test_drawing_a_policy_often_does_not_favour_it(self):
        generator = np.random.default_rng(0)
        spreads = {}
        for kind in "moving", "corrected":
            policy_prior = prior.PolicyPrior(16, kind=kind)
            for _ in range(12):
                draws = generator.multinomial(40, [1 / 16] * 16)
                moved = _move(policy_prior, (draws / 6).tolist(), draws.tolist())
            spreads[kind] = moved.std()
        # Every view weighs the same, so all spread is noise of the draws.
        self.assertGreater(spreads["moving"], 0.005)
        self.assertLess(spreads["corrected"], 1e-6)

    def test_starts_at_the_initial_prior(self):
        policy_prior = prior.PolicyPrior(3, kind="corrected", initial=[0.5, 0.3, 0.2])
        self.assertAllClose(policy_prior.probabilities, [0.5, 0.3, 0.2])
        # Nine rows are the initial ones; a step of equal weights pulls by its share.
        moved = _move(policy_prior, [1, 1, 1], [1, 1, 1])
        ratios = (9 * np.array([1.5, 0.9, 0.6]) + 1) / 10
        self.assertAllClose(moved, ratios / ratios.sum(), atol=1e-6)


if __name__ == "__main__":
    tf.test.main()
