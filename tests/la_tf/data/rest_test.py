"""Few images to train on, and all others to test on."""

import dataclasses

import numpy as np
from absl.testing import absltest

from la_tf.data import sources
from la_tf.data.sources import subsets
from la_tf.errors import UserError


def load(seed, count=200):
    return sources.load("digits", limit_train=count, test_on_rest=True, seed=seed)


def rows(*splits):
    """Every image with its label as bytes, sorted."""
    return sorted(
        image.tobytes() + bytes([label])
        for split in splits
        for image, label in zip(split.images, split.labels)
    )


class RestTest(absltest.TestCase):
    def test_each_class_has_as_many_and_nothing_is_lost(self):
        source, whole = load(seed=3), sources.load("digits")
        self.assertEqual((source.train.size, source.test.size), (200, 1597))
        np.testing.assert_array_equal(np.bincount(source.train.labels), [20] * 10)
        self.assertEqual(rows(source.train, source.test), rows(whole.train, whole.test))

    def test_the_seed_alone_decides(self):
        first, again, other = load(seed=1), load(seed=1), load(seed=2)
        self.assertEqual(rows(first.train), rows(again.train))
        self.assertNotEqual(rows(first.train), rows(other.train))

    def test_images_of_both_parts_are_trained_on(self):
        own_test = set(rows(sources.load("digits").test))
        share = np.mean([row in own_test for row in rows(load(seed=0).train)])
        # 360 of 1,797 are the data set's own test images.
        self.assertBetween(share, 0.1, 0.3)

    def test_a_data_set_without_a_test_part_will_do(self):
        source = dataclasses.replace(sources.load("digits"), test=None)
        kept, rest = subsets.kept_and_rest(source, 37, seed=0)
        self.assertEqual((kept.size, rest.size), (37, 1400))

    def test_none_left_is_refused(self):
        with self.assertRaisesRegex(UserError, "leaves none of the 1797 images"):
            load(seed=0, count=1797)

    def test_streams_are_refused(self):
        source = dataclasses.replace(sources.load("digits"), train=object())
        with self.assertRaisesRegex(UserError, "use --holdout"):
            subsets.kept_and_rest(source, 50, seed=0)


if __name__ == "__main__":
    absltest.main()
