"""The rivals as layers: per-image draws, Pillow's bytes, seeds that hold."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import la_tf
from la_tf import draws, layers, policy
from la_tf.methods.autoaugment import SUB_POLICIES
from tests import helper
from tests.la_tf.ops import parity_test

# Images of one size, so that each layer is compiled once.
COUNT, SIZE = 12, 16


def _images():
    return np.ascontiguousarray(helper.small_images(COUNT)[:, :SIZE, :SIZE])


def _make(name, **options):
    return getattr(la_tf, name)(seed=0, on_host=False, **options)


NAMES = ("AutoAugment", "RandAugment", "TrivialAugment", "RandomPolicy")


class LayersTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*NAMES)
    def test_is_a_keras_layer(self, name):
        images, layer = _images(), _make(name)
        first, second = layer(images), layer(images)
        self.assertEqual((first.shape, first.dtype), (images.shape, tf.uint8))
        self.assertNotAllEqual(first, second)
        # A copy keeps its arguments and draws the same from the start, with seed 0 too.
        copy = keras.layers.deserialize(keras.layers.serialize(layer))
        self.assertEqual(copy.get_config(), layer.get_config())
        self.assertAllEqual(copy(images.astype(np.float32)), first)
        self.assertAllEqual(copy(images.astype(np.float32)), second)
        self.assertAllEqual(layer(images, training=False), images)

    def test_every_image_draws_by_itself(self):
        images = np.repeat(_images()[:1], 64, axis=0)
        changed = _make("TrivialAugment")(images).numpy()
        self.assertGreater(len({image.tobytes() for image in changed}), 20)

    @parameterized.parameters((30, "randaugment"), (10, "randaugment_of_10"))
    def test_randaugment_is_pillows(self, scale, space):
        images = _images()
        layer = layers.RandAugment(1, 14, scale, on_host=False)
        changed = layer.apply(images, [1, 2]).numpy()
        drawn = layer.rule.draw(
            COUNT, 1, draws.split(tf.constant([1, 2], tf.int64), 2)[0]
        )
        for image, result, (index,) in zip(images, changed, drawn.operations[:, 0]):
            name = layer.rule.space.operations[index]
            ways = [
                parity_test.pillow(space, name, image, 14, sign) for sign in (1, -1)
            ]
            self.assertTrue(any(np.array_equal(result, way) for way in ways), name)

    @parameterized.parameters(("standard", "randaugment"), ("wide", "wide"))
    def test_trivialaugment_is_pillows(self, strengths, space):
        images = _images()
        layer = layers.TrivialAugment(strengths, on_host=False)
        changed = layer.apply(images, [1, 2]).numpy()
        drawn = layer.rule.draw(
            COUNT, 1, draws.split(tf.constant([1, 2], tf.int64), 2)[0]
        )
        self.assertGreater(len(np.unique(drawn.levels)), 5)
        parts = images, changed, drawn.operations[:, 0, 0], drawn.levels[:, 0, 0]
        for image, result, index, level in zip(*parts):
            name = layer.rule.space.operations[index]
            ways = [
                parity_test.pillow(space, name, image, int(level), sign)
                for sign in (1, -1)
            ]
            self.assertTrue(any(np.array_equal(result, way) for way in ways), name)

    def test_every_sub_policy_of_autoaugment_is_pillows(self):
        image = _images()[:1]
        labels = tf.ones([25, 1, 1])
        for name in ("cifar10", "svhn", "imagenet"):
            rule = layers.AutoAugment(name).rule
            choice = rule.showing(tf.range(25)[:, tf.newaxis], None)
            views = tf.constant(np.tile(image[:, np.newaxis], [25, 1, 1, 1, 1]))
            changer = policy.Policies(rule.space, on_host=False)
            changed, _ = changer.apply(views, labels, choice, tf.constant([1, 2]))
            for result, sub_policy in zip(changed[:, 0].numpy(), SUB_POLICIES[name]):
                ways = [image[0]]
                for operation, _, level in sub_policy:
                    ways = [
                        parity_test.pillow(rule.space.name, operation, way, level, sign)
                        for way in ways
                        for sign in (1, -1)
                    ]
                same = [np.array_equal(result, way) for way in ways]
                self.assertTrue(any(same), (name, sub_policy))

    def test_random_policy_mixes_where_there_are_labels(self):
        labels = np.eye(COUNT, dtype=np.float32)
        layer = _make("RandomPolicy")
        images = np.repeat(np.arange(COUNT, dtype=np.uint8) * 20, SIZE * SIZE)
        images = np.reshape(images, [COUNT, SIZE, SIZE, 1])
        mixed = [layer({"images": images, "labels": labels}) for _ in range(4)]
        shares = np.concatenate([one["labels"] for one in mixed])
        self.assertAllClose(np.sum(shares, axis=1), np.ones(4 * COUNT))
        self.assertTrue(np.any((shares > 0) & (shares < 1)))
        self.assertEqual(layer(images).shape, images.shape)

    def test_says_what_is_wrong(self):
        wrong = {
            "policy is 'mnist'": lambda: layers.AutoAugment("mnist"),
            "num_ops is 0": lambda: layers.RandAugment(0),
            "magnitude is 31": lambda: layers.RandAugment(2, 31),
            "magnitude_scale is 20": lambda: layers.RandAugment(2, 9, 20),
            "strengths is 'narrow'": lambda: layers.TrivialAugment("narrow"),
            "values outside 0..255": lambda: _make("TrivialAugment")(
                -np.ones([1, 4, 4, 3], np.float32)
            ),
        }
        for sentence, call in wrong.items():
            with self.assertRaisesRegex(ValueError, sentence):
                call()
        unknown = tf.TensorSpec([None, None, None, 3], tf.uint8)
        layer = _make("TrivialAugment")
        with self.assertRaisesRegex(ValueError, "size must be known"):
            tf.function(lambda x: layer.apply(x, [0, 0])).get_concrete_function(unknown)


if __name__ == "__main__":
    tf.test.main()
