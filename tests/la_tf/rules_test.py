"""Drawing rules: what comes up how often, for the rivals of LatentAugment.

Seeds are fixed: a chi-square below its bound stays there. Bounds are passed with a
chance below 1e-5.
"""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from scipy import stats

from la_tf import methods
from la_tf.config import TrainConfig
from la_tf.methods import autoaugment
from la_tf.ops import spaces

COUNT, VIEWS = 4096, 3


def _rule(**chosen):
    return methods.rule(TrainConfig(**chosen))


def _drawn(rule, seed=1):
    draw = tf.function(lambda seed: rule.draw(COUNT, VIEWS, seed))
    return [part.numpy() for part in draw(tf.constant([seed, 2]))]


class RulesTest(tf.test.TestCase, parameterized.TestCase):
    def _assert_even(self, values, number):
        counts = np.bincount(np.reshape(values, [-1]), minlength=number)
        self.assertLen(counts, number)
        expected = np.size(values) / number
        statistic = np.sum((counts - expected) ** 2 / expected)
        self.assertLess(statistic, stats.chi2.ppf(1 - 1e-5, number - 1))

    @parameterized.parameters("cifar10", "svhn", "imagenet")
    def test_autoaugment(self, name):
        rule = _rule(method="autoaugment", autoaugment=name)
        self.assertEqual((rule.num_policies, rule.num_stages), (25, 2))
        policies, operations, levels = _drawn(rule)
        self._assert_even(policies, 25)
        # The views of an image draw by themselves: a second like the first is 1 in 25.
        self._assert_even((policies[:, 1] - policies[:, 0]) % 25, 25)
        names = np.array(rule.space.operations)
        for number, sub_policy in enumerate(autoaugment.SUB_POLICIES[name]):
            taken = policies == number
            for stage, (operation, tenths, level) in enumerate(sub_policy):
                came = names[operations[taken][:, stage]]
                self.assertTrue(set(came) <= {operation, "Identity"})
                share = np.mean(came == operation)
                # Five standard deviations of as many coins.
                bound = 5 * np.sqrt(tenths * (10 - tenths) / 100 / len(came))
                self.assertLessEqual(abs(share - tenths / 10), bound)
                self.assertAllEqual(levels[taken][:, stage], [level] * len(came))

    def test_both_operations_of_a_sub_policy_have_their_own_coin(self):
        rule = _rule(method="autoaugment", autoaugment="imagenet")
        policies, operations, _ = _drawn(rule)
        # Number 7: Posterize by 0.8, Equalize by 1; number 9: 0.6 and 0.4.
        identity = rule.space.index("Identity")
        left_out = operations[policies == 9] == identity
        both = np.mean(np.all(left_out, axis=-1))
        self.assertLess(abs(both - 0.4 * 0.6), 5 * np.sqrt(0.24 * 0.76 / len(left_out)))

    def test_sub_policies_are_the_papers(self):
        tables = autoaugment.SUB_POLICIES
        self.assertEqual(
            {name: len(tables[name]) for name in tables}, dict.fromkeys(tables, 25)
        )
        self.assertEqual(tables["cifar10"][1], (("Rotate", 7, 2), ("TranslateX", 3, 9)))
        self.assertEqual(tables["svhn"][12], (("Equalize", 9, 5), ("TranslateY", 6, 6)))
        self.assertEqual(
            tables["imagenet"][7], (("Posterize", 8, 5), ("Equalize", 10, 2))
        )
        rows = tables["imagenet"]
        # Five of ImageNet's stand there twice.
        for copy, first in ((20, 4), (21, 1), (22, 13), (23, 14), (24, 2)):
            self.assertEqual(rows[copy], rows[first])

    def test_names_tell_sub_policies_apart(self):
        rule = _rule(method="autoaugment", autoaugment="imagenet")
        names = [rule.name_of(number) for number in range(25)]
        self.assertLen(set(names), 25)
        self.assertEqual(names[7], "Posterize>Equalize (no. 7)")
        self.assertFalse(rule.is_square)

    @parameterized.parameters(1, 2, 3)
    def test_randaugment(self, number):
        rule = _rule(
            method="randaugment", randaugment_ops=number, randaugment_magnitude=14
        )
        policies, operations, levels = _drawn(rule)
        self.assertEqual(operations.shape, (COUNT, VIEWS, number))
        self.assertAllEqual(policies, np.zeros([COUNT, VIEWS]))
        self.assertAllEqual(levels, np.full(operations.shape, 14))
        # Every sequence of operations is as likely as any other.
        code = np.sum(operations * 14 ** np.arange(number), axis=-1)
        self._assert_even(code, 14**number)

    def test_trivialaugment(self):
        policies, operations, levels = _drawn(_rule(method="trivialaugment"))
        self.assertAllEqual(policies, np.zeros([COUNT, VIEWS]))
        self._assert_even(operations * 31 + levels, 14 * 31)

    @parameterized.parameters(
        ({"method": "autoaugment"},),
        ({"method": "randaugment"},),
        ({"method": "trivialaugment"},),
    )
    def test_seeds_hold_in_every_form(self, chosen):
        rule = _rule(**chosen)
        first = rule.draw(8, 2, [3, 4])
        compiled = tf.function(lambda: rule.draw(8, 2, [3, 4]), jit_compile=True)()
        for one, again in zip(first, compiled):
            self.assertAllEqual(one, again)
            self.assertEqual(one.dtype, again.dtype)
        other = rule.draw(8, 2, [4, 4])
        self.assertNotAllEqual(first.operations, other.operations)

    @parameterized.parameters(
        ({"dataset": "cifar10", "model": "wrn_40_2"}, "cifar10", 3, 4, "standard"),
        ({"dataset": "cifar10", "model": "wrn_28_10"}, "cifar10", 3, 5, "wide"),
        ({"dataset": "cifar100", "model": "wrn_28_10"}, "cifar10", 2, 14, "wide"),
        ({"dataset": "svhn"}, "svhn", 3, 7, "wide"),
        ({"dataset": "imagenet2012"}, "imagenet", 2, 9, "wide"),
        ({"dataset": "digits"}, "svhn", 3, 7, "standard"),
        ({"dataset": "folder", "data_dir": "x"}, "imagenet", 2, 9, "wide"),
    )
    def test_published_values(self, chosen, table, number, magnitude, strengths):
        config = TrainConfig(method="randaugment", **chosen)
        self.assertEqual(config.autoaugment, table)
        self.assertEqual(config.randaugment_ops, number)
        self.assertEqual(config.randaugment_magnitude, magnitude)
        self.assertEqual(config.trivialaugment, strengths)
        small = config.preprocessing != "inception"
        self.assertEqual(config.final, "cutout" if small else "none")
        self.assertEqual((config.num_views, config.weights), (1, "equal"))

    def test_spaces(self):
        chosen = {"method": "randaugment", "magnitude_scale": 10}
        self.assertIs(_rule(**chosen).space, spaces.RANDAUGMENT_OF_10)
        wide = {"method": "trivialaugment", "trivialaugment": "wide"}
        self.assertIs(_rule(**wide).space, spaces.WIDE)
        self.assertLen(spaces.RANDAUGMENT.operations, 14)
        self.assertNotIn("Invert", spaces.RANDAUGMENT.operations)


if __name__ == "__main__":
    tf.test.main()
