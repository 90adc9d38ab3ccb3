"""The policy space: names, draws, and two operations applied to a batch of views."""

from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from la_tf import ops, policy, rules
from tests import helper


class NamesTest(tf.test.TestCase):
    def test_names_and_indices_are_one_to_one(self):
        names = [policy.name_of(index) for index in range(256)]
        self.assertLen(set(names), 256)
        self.assertEqual([policy.index_of(name) for name in names], list(range(256)))
        # ShearX is operation 0 and Invert is operation 13.
        self.assertEqual(policy.name_of(13), "ShearX>Invert")
        self.assertEqual(policy.name_of(13 * 16), "Invert>ShearX")

    def test_sample_pairing_takes_mixups_place(self):
        self.assertEqual(policy.name_of(15, "autoaugment"), "ShearX>SamplePairing")
        with self.assertRaisesRegex(ValueError, "no policy"):
            policy.index_of("ShearX>MixUp", "autoaugment")

    def test_says_what_is_wrong(self):
        for index in (-1, 256):
            with self.assertRaisesRegex(ValueError, "outside 0..255"):
                policy.name_of(index)
        for name in ("ShearX", "ShearX>Blur", "ShearX>Invert>Rotate"):
            with self.assertRaisesRegex(ValueError, "is no policy"):
                policy.index_of(name)
        with self.assertRaisesRegex(ValueError, "transforms is 'randaugment'"):
            policy.space_of("randaugment")
        for num_views in (0, 257):
            with self.assertRaisesRegex(ValueError, "give 1 to 256"):
                rules.DistinctPairs().draw(4, num_views, [0, 0])


class DrawTest(tf.test.TestCase):
    def test_policies_are_distinct_and_uniform(self):
        draw = tf.function(lambda seed: rules.DistinctPairs().draw(512, 6, seed))
        counts, level_counts, pairs = np.zeros(256), np.zeros(10), np.zeros(256)
        for seed in range(40):
            drawn = draw(tf.constant([seed, 1]))
            policies, levels = drawn.policies.numpy(), drawn.levels.numpy()
            self.assertAllEqual(drawn.operations[..., 0], policies // 16)
            self.assertAllEqual(drawn.operations[..., 1], policies % 16)
            self.assertTrue(np.all(np.diff(np.sort(policies, axis=1)) > 0))
            counts += np.bincount(policies.reshape(-1), minlength=256)
            level_counts += np.bincount(levels.reshape(-1), minlength=10)
            steps = (policies[:, 1] - policies[:, 0]) % 256
            pairs += np.bincount(steps, minlength=256)
        # Chances below 1e-5: 361.7 with 255 degrees of freedom, 39.3 with 9. Drawing
        # without replacement makes the counts more even, never less.
        self.assertLess(_chi_square(counts), 361.7)
        self.assertLess(_chi_square(level_counts), 39.3)
        # The second policy is any other one, alike: steps 1 to 255.
        self.assertEqual(pairs[0], 0)
        self.assertLess(_chi_square(pairs[1:]), 360.5)

    def test_all_256_can_be_drawn(self):
        policies, _, levels = rules.DistinctPairs().draw(3, 256, [1, 1])
        self.assertAllEqual(np.sort(policies, axis=1), np.tile(np.arange(256), [3, 1]))
        self.assertEqual(levels.shape, [3, 256, 2])

    def test_a_few_views_are_drawn_as_many_are(self):
        rule = rules.DistinctPairs()
        few = rule.draw(32, 6, [7, 1])[0]
        with mock.patch.object(rules, "_FEW", 0):
            sorted_keys = rule.draw(32, 6, [7, 1])[0]
        self.assertAllEqual(few, sorted_keys)
        self.assertEqual(few.dtype, tf.int32)

    def test_the_same_seed_draws_the_same(self):
        first, again, other = (
            rules.DistinctPairs().draw(8, 6, [s, 0])[0] for s in (5, 5, 6)
        )
        self.assertAllEqual(first, again)
        self.assertNotAllEqual(first, other)


def _chi_square(counts):
    expected = counts.sum() / len(counts)
    return np.sum((counts - expected) ** 2 / expected)


def _choice(name, shape, levels=(0, 0)):
    """The same policy of LatentAugment for all views."""
    policies = tf.fill(shape, policy.index_of(name))
    levels = tf.broadcast_to(tf.constant(levels, tf.int64), [*shape, len(levels)])
    return policy.Choice(policies, policy.pairs(policies), levels)


class ApplyTestCase(tf.test.TestCase):
    def _views(self, count=10, num_views=4, size=16):
        images = helper.small_images(count)[:, :size, :size]
        views = np.stack([np.roll(images, k, axis=1) for k in range(num_views)], axis=1)
        labels = np.eye(count, dtype=np.float32)
        labels = np.repeat(labels[:, None], num_views, axis=1)
        return tf.constant(views), tf.constant(labels)

    def assert_host_as_device(self, transforms, num_seeds):
        views, labels = self._views()
        views = views[:, :, :, :13]  # higher than wide
        rule = rules.DistinctPairs(transforms)
        host = policy.Policies(rule.space, on_host=True)
        device = policy.Policies(rule.space, on_host=False)
        for seed in range(num_seeds):
            choice = rule.draw(10, 4, [seed, 0])
            ours = host.apply(views, labels, choice, [seed, 1])
            theirs = device.apply(views, labels, choice, [seed, 1])
            self.assertAllEqual(ours[0], theirs[0])
            self.assertAllEqual(ours[1], theirs[1])


class ApplyTest(ApplyTestCase, parameterized.TestCase):
    def test_host_and_device_forms_give_the_same_bytes(self):
        # More draws, and SamplePairing, are in `tests/long/ops_test.py`.
        self.assert_host_as_device("latentaugment", num_seeds=2)

    def test_first_and_second_operation_come_in_order(self):
        views, labels = self._views()
        # Solarize at level 5 and then Posterize at level 9, in this order.
        choice = _choice("Solarize>Posterize", [10, 4], [5, 9])
        device = policy.Policies(on_host=False)
        result, _ = device.apply(views, labels, choice, [0, 0])
        flat = tf.reshape(views, [40, 16, 16, 3])
        flat = ops.make("Solarize").apply(flat, 5, [0, 0])
        flat = ops.make("Posterize").apply(flat, 9, [0, 0])
        self.assertAllEqual(result, tf.reshape(flat, views.shape))

    @parameterized.parameters("MixUp>MixUp", "MixUp>Cutout")
    def test_labels_are_the_pixels_shares(self, name):
        # Every image is all 0 but one, which is all 255; the pixel shows its share.
        count = 12
        views = np.zeros([count, 3, 4, 4, 1], np.uint8)
        views[5] = 255
        labels = np.repeat(np.eye(count, dtype=np.float32)[:, None], 3, axis=1)
        choice = _choice(name, [count, 3])
        result, mixed = policy.Policies(on_host=False).apply(
            tf.constant(views), tf.constant(labels), choice, [9, 9]
        )
        self.assertAllClose(tf.reduce_sum(mixed, axis=-1), tf.ones([count, 3]))
        self.assertTrue(np.any(mixed < 1))
        lost = 255 * mixed[..., 5].numpy() - result[:, :, 0, 0, 0].numpy()
        # Each of two mixings cuts off less than one.
        self.assertTrue(np.all((lost > -1e-3) & (lost < 2)))

    def test_the_partner_is_another_images_view_before_operations(self):
        views, labels = self._views(num_views=3)
        result, mixed = policy.Policies(on_host=False).apply(
            views, labels, _choice("Invert>MixUp", [10, 3]), [2, 2]
        )
        base, result, mixed = views.numpy(), result.numpy(), mixed.numpy()
        for image in range(10):
            for view in range(3):
                own = mixed[image, view, image]
                (partner,) = set(np.flatnonzero(mixed[image, view])) - {image}
                expected = own * (255.0 - base[image, view])
                expected += (1 - own) * base[partner, view]
                self.assertAllEqual(result[image, view], np.floor(expected))


if __name__ == "__main__":
    tf.test.main()
