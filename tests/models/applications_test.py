"""Backbones of `keras.applications` by name, their preprocessing and their head."""

import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from models import names
from tests import helper


class ApplicationsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*models.BACKBONES)
    def test_keras_has_every_one(self, name):
        models.check_name(name)
        self.assertTrue(callable(getattr(keras.applications, name)))
        self.assertEqual(names.parse(name), ("applications", (name,)))

    def test_noise_that_no_seed_could_repeat_is_off(self):
        with helper.tiny_backbone("EfficientNetV2B0"):
            network = models.build("EfficientNetV2B0", (32, 32, 3), 5)
        images = helper.small_images(2)
        self.assertAllEqual(network(images, training=True), network(images))

    def test_what_they_do_not_take(self):
        with self.assertRaisesRegex(ValueError, "too small.*at least 32x32"):
            models.build("ConvNeXtTiny", (28, 28, 3), 5)
        with self.assertRaisesRegex(ValueError, "no remat for MobileNetV2"):
            models.build("MobileNetV2", (32, 32, 3), 5, remat=True)
        with self.assertRaisesRegex(ValueError, "no imagenet weights for wrn_10_1"):
            models.build("wrn_10_1", (32, 32, 3), 5, weights="imagenet")

    def test_a_misspelt_name(self):
        with self.assertRaisesRegex(ValueError, "did you mean 'MobileNetV3Small'"):
            models.check_name("mobilenet_v3_small")


if __name__ == "__main__":
    tf.test.main()
