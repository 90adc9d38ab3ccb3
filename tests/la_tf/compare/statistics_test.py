"""Statistics of a few runs, against values by hand and against scipy."""

import itertools

import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from la_tf.compare import statistics


def by_seed(values):
    return dict(enumerate(values))


def all_flips(differences):
    """The p-value by its definition: every choice of signs, one by one."""
    differences = np.asarray(differences)
    signs = np.array(list(itertools.product([1, -1], repeat=len(differences))))
    sums = np.abs(signs @ differences)
    return np.mean(sums >= abs(differences.sum()) - 1e-12)


class MeanTest(absltest.TestCase):
    def test_by_hand(self):
        # Deviations from 4: -2, 0, 2; 8 / (3 - 1) = 4, whose root is 2.
        self.assertEqual(statistics.mean_and_deviation([2, 4, 6]), (4.0, 2.0))

    def test_one_value_has_no_deviation(self):
        mean, deviation = statistics.mean_and_deviation([3.5])
        self.assertEqual(mean, 3.5)
        self.assertTrue(np.isnan(deviation))


class PairedTest(absltest.TestCase):
    def test_by_hand(self):
        found = statistics.paired(by_seed([5, 7, 9]), by_seed([4, 5, 6]))
        # Differences 1, 2, 3: deviation 1; t(0.975, 2) = 4.302653; half-width
        # 4.302653 / sqrt(3) = 2.484138. Of the 8 flips +++ and --- reach 6.
        self.assertEqual((found.mean, found.count), (2.0, 3))
        self.assertAlmostEqual(found.low, 2 - 2.484138, places=5)
        self.assertAlmostEqual(found.high, 2 + 2.484138, places=5)
        self.assertEqual(found.p_value, 0.25)

    def test_the_interval_is_scipy_s(self):
        first, second = np.random.default_rng(0).normal(size=[2, 10])
        found = statistics.paired(by_seed(first), by_seed(second))
        expected = stats.ttest_rel(first, second).confidence_interval(0.95)
        np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-12)

    def test_only_shared_seeds_count(self):
        found = statistics.paired({0: 3.0, 1: 5.0, 7: 99.0}, {1: 4.0, 0: 1.0, 2: 0.0})
        self.assertEqual((found.mean, found.count), (1.5, 2))

    def test_no_shared_seed(self):
        self.assertIsNone(statistics.paired({0: 1.0}, {1: 1.0}))

    def test_one_pair_has_no_interval(self):
        found = statistics.paired({0: 3.0}, {0: 1.0})
        self.assertEqual((found.mean, found.p_value), (2.0, 1.0))
        self.assertTrue(np.isnan(found.low))


class SignFlipTest(parameterized.TestCase):
    @parameterized.parameters(*range(1, 11))
    def test_all_flips_are_counted(self, count):
        differences = np.random.default_rng(count).normal(0.4, 1, count)
        self.assertEqual(statistics.sign_flip(differences), all_flips(differences))

    def test_ties_count_whatever_rounding_does(self):
        # In floating point 0.1 + 0.2 - 0.3 is not 0.3 - 0.2 - 0.1.
        differences = [0.1, 0.2, -0.3, 0.3]
        self.assertEqual(statistics.sign_flip(differences), all_flips(differences))

    def test_scipy_agrees(self):
        differences = np.random.default_rng(3).normal(0.3, 1, 12)
        expected = stats.permutation_test(
            (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
        )
        self.assertAlmostEqual(statistics.sign_flip(differences), expected.pvalue)

    @parameterized.parameters((5, 0.0625), (10, 2**-9), (20, 2**-19))
    def test_all_of_one_sign_is_the_least_there_is(self, count, least):
        self.assertEqual(statistics.sign_flip(np.arange(1.0, count + 1)), least)

    def test_equal_runs_differ_by_nothing(self):
        self.assertEqual(statistics.sign_flip([0.0, 0.0, 0.0]), 1.0)

    def test_too_many_to_count(self):
        self.assertTrue(np.isnan(statistics.sign_flip(np.ones(41))))


if __name__ == "__main__":
    absltest.main()
