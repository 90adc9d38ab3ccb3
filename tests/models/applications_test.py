"""Backbones of `keras.applications` by name, their preprocessing and their head."""

import numpy as np
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

    def test_a_real_one_takes_raw_pixels_and_gives_logits(self):
        network = models.build("MobileNetV3Small", (32, 32, 3), 5)
        images = helper.small_images(2)
        self.assertEqual(network(images, training=True).shape, (2, 5))
        self.assertEqual(network.layers[-1].name, "logits")
        self.assertEqual(network.output.dtype, "float32")
        # Its own preprocessing, between the input and the first weights.
        first = next(layer for layer in network.layers if layer.weights).input
        inside = keras.Model(network.input, first)(images)
        self.assertAllClose(inside, images / 127.5 - 1.0, atol=1e-5)

    def test_pixels_are_scaled_for_those_that_have_no_such_layer(self):
        network = models.build("MobileNetV2", (32, 32, 1), 5)
        images = np.full([1, 32, 32, 1], 255, np.uint8)
        inside = keras.Model(network.input, network.get_layer("Conv1").input)(images)
        # Grey is repeated for the three colours.
        self.assertAllEqual(inside, np.ones([1, 32, 32, 3]))

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
