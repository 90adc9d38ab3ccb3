"""Networks that recompute their blocks have the gradients of those that do not."""

import gc
import weakref

import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from tests import helper
from tests.models import noise_test


class RecomputationTest(tf.test.TestCase, parameterized.TestCase):
    def tearDown(self):
        keras.mixed_precision.set_global_policy("float32")
        super().tearDown()

    def _compare(self, name, run, side=16, tolerance=0.0, build=helper.small_network):
        """Two networks of the same weights give the same gradients and averages."""
        plain = build(name, (side, side, 3), 5)
        recomputing = build(name, (side, side, 3), 5, remat=True)
        recomputing.set_weights(plain.get_weights())
        before = plain.get_weights()
        images = tf.constant(helper.small_images(4, side))
        results = [run(model, images) for model in (plain, recomputing)]
        for expected, actual in zip(*results):
            self.assertAllClose(expected, actual, rtol=tolerance, atol=tolerance)
        # The moving averages have moved, and as far as without recomputation: once.
        self.assertNotAllClose(before[-4], plain.get_weights()[-4])
        for expected, actual in zip(plain.get_weights(), recomputing.get_weights()):
            self.assertAllClose(expected, actual, rtol=tolerance, atol=tolerance)

    @parameterized.parameters(*noise_test.SMALL)
    def test_eager(self, name):
        self._compare(
            name, noise_test.gradients, side=32 if name == "resnet_50" else 16
        )

    @parameterized.parameters("wrn_10_1", "pyramidnet_11_6")
    def test_graph(self, name):
        self._compare(
            name,
            lambda model, images: tf.function(noise_test.gradients)(model, images),
            tolerance=1e-6,
        )

    def test_xla(self):
        compiled = tf.function(noise_test.gradients, jit_compile=True)
        self._compare(
            "pyramidnet", compiled, tolerance=1e-4, build=noise_test.one_block
        )

    def test_mixed_precision(self):
        keras.mixed_precision.set_global_policy("mixed_float16")
        self._compare("pyramidnet_11_6", noise_test.gradients)

    def test_without_a_scope_the_noise_is_drawn_once(self):
        def run(model, images):
            tf.random.set_seed(3)
            return noise_test.gradients(model, images, seed=None)

        self._compare("shake_shake_26_2x2d", run)
        self._compare("pyramidnet_11_6", run)

    @parameterized.parameters(False, True)
    def test_activations_are_not_kept(self, remat):
        """The tape holds what stands before a block's last convolution, or does not."""
        model = models.build("wrn_10_1", (16, 16, 3), 5, remat=remat)
        block = model.get_layer("stage1_block1")
        seen = []
        convolve = block.conv2.call

        def watched(inputs):
            seen.append(weakref.ref(inputs))
            return convolve(inputs)

        block.conv2.call = watched
        with tf.GradientTape():
            outputs = block(tf.ones([2, 16, 16, 16]), training=True)
            gc.collect()
            self.assertEqual(seen[0]() is None, remat)
        del outputs


if __name__ == "__main__":
    tf.test.main()
