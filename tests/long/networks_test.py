"""Networks that take long to build."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from tests import helper
from tests.conformance import models_test
from tests.models import build_test


class LargestTest(models_test.BuiltTestCase):
    @parameterized.parameters(*sorted(models_test.SLOW))
    def test_number_of_weights_and_shapes_of_the_stages(self, name):
        self.assert_number_of_weights(name)
        self.assert_shapes_of_the_stages(name)

    def test_one_step(self):
        self.assert_one_step("resnet_50")


class SmallImagesTest(build_test.SmallImagesTestCase, parameterized.TestCase):
    @parameterized.parameters(
        ("shake_shake_26_2x3d", (9, 14, 1)), ("pyramidnet_11_7", (16, 16, 1))
    )
    def test_small_images_work(self, name, shape):
        self.assert_small_images_work(name, shape)


class InitialisationTest(tf.test.TestCase):
    def test_last_scales_of_resnet_start_at_zero_by_option(self):
        model = models.build("resnet_50", (32, 32, 3), 10, zero_init_last=True)
        blocks = [layer for layer in model.layers if "block" in layer.name]
        self.assertLen(blocks, 16)
        for block in blocks:
            self.assertAllEqual(block.norm3.gamma, np.zeros(4 * block.width))
            self.assertAllEqual(block.norm2.gamma, np.ones(block.width))


class ApplicationsTest(tf.test.TestCase):
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


class MixedPrecisionTest(build_test.MixedPrecisionTestCase):
    def test_shake_shake(self):
        self.assert_logits_stay_float32_and_close("shake_shake_26_2x4d")


if __name__ == "__main__":
    tf.test.main()
