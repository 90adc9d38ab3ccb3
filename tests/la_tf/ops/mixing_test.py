"""Cutout, MixUp and SamplePairing against NumPy, and what layers do with bad input."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from hypothesis import given, settings
from hypothesis import strategies as st

from la_tf import ops
from la_tf.ops import mixing
from tests import helper

COLOUR = np.array([125, 123, 114])


def cutout_reference(images, level, results):
    """Asserts that each result is its image under one clipped square of the level."""
    for image, result in zip(images, results):
        height, width, channels = image.shape
        side = int(np.floor(level / 9 * 20 / 32 * min(height, width) + 0.5))
        colour = COLOUR if channels == 3 else np.array([123])
        found = False
        for top in range(-(side // 2), height - side // 2):
            for left in range(-(side // 2), width - side // 2):
                expected = image.copy()
                rows = slice(max(top, 0), max(top + side, 0))
                columns = slice(max(left, 0), max(left + side, 0))
                expected[rows, columns] = colour
                found = found or np.array_equal(expected, result)
        assert found, f"no square of side {side} gives this image"


def mixing_reference(images, results, shares):
    """The partner of each image, and asserts that result = floor(mix of the two)."""
    images, partners = images.astype(np.int64), []
    for index, (image, result, share) in enumerate(zip(images, results, shares)):
        matches = []
        for other, candidate in enumerate(images):
            mixed = share * image + (65536 - share) * candidate
            if other != index and np.array_equal(mixed // 65536, result):
                matches.append(other)
        assert matches, f"image {index} is mixed with no other image"
        partners.append(matches[0])
    return partners


# What stands here has an independent reference in this file.
REFERENCES = {
    "Cutout": cutout_reference,
    "MixUp": mixing_reference,
    "SamplePairing": mixing_reference,
}


class CutoutTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(0, 1, 5, 9)
    def test_is_one_square_of_the_levels_size(self, level):
        for images in (helper.small_images(6), helper.digits(6)[0]):
            results = ops.make("Cutout").apply(images, level, [4, level]).numpy()
            cutout_reference(images, level, results)

    def test_the_centre_is_uniform_over_the_pixels(self):
        # At level 1 the square has 1/9 x 20/32 x 8 = 0.56 pixels a side, rounded to 1:
        # the painted pixel is the centre itself.
        images = np.zeros([6400, 8, 8, 1], np.uint8)
        results = ops.make("Cutout").apply(images, 1, [0, 0]).numpy()
        counts = np.sum(results > 0, axis=0).reshape(-1)
        self.assertEqual(counts.sum(), 6400)
        # Chi-square of 64 cells, 63 degrees of freedom: 126.1 has a chance of 1e-5.
        self.assertLess(np.sum((counts - 100.0) ** 2 / 100), 126.1)


class MixUpTest(tf.test.TestCase, parameterized.TestCase):
    def test_pixels_and_labels_mix_by_the_same_share(self):
        images = helper.small_images(12)
        labels = np.eye(12, dtype=np.float32)
        mixed, mixed_labels = ops.make("MixUp").apply(images, 0, [1, 2], labels)
        own = np.diag(mixed_labels)
        # A share is a whole number of 65536ths, exact in float32.
        shares = np.round(own * 65536).astype(np.int64)
        self.assertAllEqual(shares / 65536, own)
        partners = mixing_reference(images, mixed.numpy(), shares)
        for row, partner in enumerate(partners):
            self.assertEqual(mixed_labels[row, partner], 1 - own[row])
        self.assertAllEqual(tf.reduce_sum(mixed_labels, axis=1), tf.ones(12))

    @parameterized.parameters(0.2, 1.0, 4.0)
    def test_the_share_is_beta(self, alpha):
        labels = np.eye(2000, dtype=np.float32)
        layer = ops.make("MixUp", alpha=alpha)
        images = np.zeros([2000, 1, 1, 1], np.uint8)
        share = np.diag(layer.apply(images, 0, [7, 7], labels)[1])
        # Beta(a, a): mean 1/2, variance 1 / (4 (2 a + 1)).
        variance = 1 / (4 * (2 * alpha + 1))
        self.assertLess(abs(share.mean() - 0.5), 5 * np.sqrt(variance / 2000))
        self.assertLess(abs(share.var() / variance - 1), 0.15)

    def test_alpha_zero_changes_nothing(self):
        images = helper.small_images(4)
        labels = np.eye(4, dtype=np.float32)
        mixed, mixed_labels = ops.make("MixUp", alpha=0).apply(
            images, 0, [1, 2], labels
        )
        self.assertAllEqual(mixed, images)
        self.assertAllEqual(mixed_labels, labels)

    def test_a_lone_image_is_mixed_with_itself(self):
        image = helper.small_images(1)
        self.assertAllEqual(ops.make("MixUp").apply(image, 0, [1, 2]), image)

    def test_partners_are_every_other_image_alike(self):
        noise = np.stack([np.zeros(7000), np.arange(7000) * 306783], axis=1)
        noise = np.tile(noise[:, None], [1, 8, 1]).transpose(1, 0, 2).astype(np.int32)
        partners = mixing.draw_partners(tf.constant(noise)).numpy()
        for image in range(8):
            counts = np.bincount(partners[image], minlength=8)
            self.assertEqual(counts[image], 0)
            self.assertAllClose(np.delete(counts, image), np.full(7, 1000), atol=2)

    def test_sample_pairing_is_the_mean_of_two_and_keeps_labels(self):
        images = helper.small_images(5)
        layer = ops.make("SamplePairing")
        result = layer.apply(images, 0, [3, 3]).numpy()
        mixing_reference(images, result, np.full(5, 32768))
        labels = np.eye(5, dtype=np.float32)
        out = layer({"images": tf.constant(images), "labels": tf.constant(labels)})
        self.assertAllEqual(out["labels"], labels)


class BadInputTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.named_parameters(
        ("rank", np.zeros([8, 8, 3], np.uint8), 0, "shape"),
        ("two channels", np.zeros([1, 8, 8, 2], np.uint8), 0, "2 channels"),
        ("five channels", np.zeros([1, 8, 8, 5], np.uint8), 0, "5 channels"),
        ("level 10", np.zeros([1, 8, 8, 3], np.uint8), 10, "outside 0..9"),
        ("level -1", np.zeros([1, 8, 8, 3], np.uint8), -1, "outside 0..9"),
        ("level 0.5", np.zeros([1, 8, 8, 3], np.uint8), 0.5, "whole numbers"),
        ("levels", np.zeros([2, 8, 8, 3], np.uint8), [1, 2, 3], "as many levels"),
        ("large", np.full([1, 8, 8, 3], 256.0), 0, "outside 0..255"),
        ("negative", np.full([1, 8, 8, 3], -1.0), 0, "outside 0..255"),
        ("nan", np.full([1, 8, 8, 3], np.nan), 0, "NaN"),
        ("int32", np.zeros([1, 8, 8, 3], np.int32), 0, "give uint8"),
    )
    def test_says_what_is_wrong(self, images, level, message):
        layer = ops.make("Posterize")
        with self.assertRaisesRegex(ValueError, message):
            layer.apply(images, level, [1, 2])

    def test_in_a_graph_values_are_checked_when_they_are_known(self):
        apply = tf.function(ops.make("Invert").apply)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "outside 0..255"):
            apply(tf.fill([1, 8, 8, 3], 300.0), tf.constant([0]), [1, 2])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "outside 0..9"):
            apply(tf.zeros([1, 8, 8, 3]), tf.constant([10]), [1, 2])

    def test_names_levels_and_labels(self):
        with self.assertRaisesRegex(ValueError, "no operation 'Blur'"):
            ops.make("Blur")
        with self.assertRaisesRegex(ValueError, "level is 10"):
            ops.make("Rotate", level=10)
        with self.assertRaisesRegex(ValueError, "alpha is -1"):
            ops.make("MixUp", alpha=-1)
        with self.assertRaisesRegex(ValueError, "one-hot or soft"):
            ops.make("MixUp").apply(helper.small_images(2), 0, [1, 2], np.array([1, 2]))


class ShapesTest(tf.test.TestCase):
    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(
        name=st.sampled_from([*ops.OPERATIONS, "SamplePairing"]),
        shape=st.tuples(st.integers(0, 3), st.integers(1, 19), st.integers(1, 19)),
        channels=st.sampled_from([1, 3]),
        level=st.integers(0, 9),
        seed=st.integers(0, 2**31 - 1),
        float_images=st.booleans(),
    )
    def test_any_shape_level_and_type(
        self, name, shape, channels, level, seed, float_images
    ):
        images = np.random.default_rng(seed).integers(0, 256, (*shape, channels))
        images = images.astype(np.uint8)
        layer = ops.make(name)
        result = layer.apply(images, level, [seed, 1])
        self.assertEqual(result.shape, images.shape)
        self.assertEqual(result.dtype, tf.uint8)
        if float_images:
            as_floats = layer.apply(images.astype(np.float32), level, [seed, 1])
            self.assertEqual(as_floats.dtype, tf.float32)
            self.assertAllEqual(tf.cast(as_floats, tf.uint8), result)


if __name__ == "__main__":
    tf.test.main()
