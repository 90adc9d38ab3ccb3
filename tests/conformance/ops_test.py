"""What every operation must do, run over all of them."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf import ops, policy
from tests import helper
from tests.la_tf.ops import mixing_test, parity_test

NAMES = (*ops.OPERATIONS, "SamplePairing", "Identity")


class ConformanceTest(tf.test.TestCase, parameterized.TestCase):
    def test_every_operation_has_a_parity_test(self):
        tested = {*parity_test.REFERENCES, *mixing_test.REFERENCES}
        self.assertEqual(tested, set(NAMES))
        self.assertLen(ops.OPERATIONS, 16)

    @parameterized.parameters(*NAMES)
    def test_eager_function_and_dataset_agree(self, name):
        images, layer = helper.small_images(10), ops.make(name)
        levels, seed = np.arange(10), [5, 6]
        eager = layer.apply(images, levels, seed)
        signature = [
            tf.TensorSpec([None, None, None, 3], tf.uint8),
            tf.TensorSpec([None], tf.int64),
        ]
        function = tf.function(
            lambda images, levels: layer.apply(images, levels, seed), signature
        )
        self.assertAllEqual(function(images, levels), eager)
        data = tf.data.Dataset.from_tensors((images, levels)).map(function)
        self.assertAllEqual(next(iter(data)), eager)

    @parameterized.parameters(*NAMES)
    def test_is_a_keras_layer(self, name):
        images = helper.small_images(4)
        layer = ops.make(name, seed=0)
        first = layer(images)
        self.assertEqual((first.shape, first.dtype), (images.shape, tf.uint8))
        self.assertEqual(layer(images[0]).shape, images[0].shape)
        batch = {"images": images, "labels": np.eye(4, dtype=np.float32)}
        result = layer(batch)
        self.assertEqual(result["images"].shape, images.shape)
        self.assertAllClose(tf.reduce_sum(result["labels"], axis=1), tf.ones(4))
        # The same seed, 0 too, draws the same again; a copy keeps its arguments.
        copy = keras.layers.deserialize(keras.layers.serialize(layer))
        self.assertEqual(copy.get_config(), layer.get_config())
        self.assertAllEqual(copy(images), first)

    @parameterized.parameters(*NAMES)
    def test_keeps_whole_numbers_under_mixed_precision(self, name):
        images = helper.small_images(4).astype(np.float32)
        expected = ops.make(name, level=3, seed=1)(images)
        keras.mixed_precision.set_global_policy("mixed_float16")
        try:
            result = ops.make(name, level=3, seed=1)(images)
        finally:
            keras.mixed_precision.set_global_policy("float32")
        self.assertEqual(result.dtype, tf.float32)
        self.assertAllEqual(result, expected)

    def test_asks_for_no_gradient(self):
        images = tf.constant(helper.small_images(2).astype(np.float32))
        for name in NAMES:
            with tf.GradientTape() as tape:
                tape.watch(images)
                total = tf.reduce_sum(ops.make(name).apply(images, 5, [1, 2]))
            self.assertIsNone(tape.gradient(total, images))

    def test_the_order_is_the_index(self):
        self.assertEqual(
            " ".join(ops.OPERATIONS),
            "ShearX ShearY TranslateX TranslateY Rotate Color Posterize Solarize "
            "Contrast Sharpness Brightness AutoContrast Equalize Invert Cutout MixUp",
        )
        self.assertEqual(policy.index_of("ShearX>Invert"), 13)


if __name__ == "__main__":
    tf.test.main()
