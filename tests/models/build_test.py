"""Names, arguments, shapes, weights and initialisation of what `models.build` gives."""

import subprocess
import sys

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from tests import helper


class NamesTest(parameterized.TestCase):
    @parameterized.parameters(*models.NAMES, "wrn_10_1", "wrn_16_4", "pyramidnet_20_9")
    def test_good_names(self, name):
        models.check_name(name)

    @parameterized.parameters(
        ("wrn_41_2", "wrn_40_2"),
        ("wrn_4_2", "wrn_10_2"),
        ("wrn_40_0", "wrn_40_2"),
        ("WRN-28-10", "wrn_28_10"),
        ("resnet50", "resnet_50"),
        ("shake_shake_26_2x0d", "shake_shake_26_2x"),
        ("shakeshake26_2x96d", "shake_shake_26_2x96d"),
        ("pyramidnet_270_200", "pyramidnet_272_200"),
        ("pyramid", "pyramidnet_272_200"),
        ("", "wrn_40_2"),
    )
    def test_bad_names_suggest_the_nearest(self, name, suggestion):
        with self.assertRaisesRegex(ValueError, f"did you mean '{suggestion}"):
            models.check_name(name)
        with self.assertRaises(ValueError):
            models.build(name, (32, 32, 3), 10)

    def test_names_are_checked_without_tensorflow(self):
        program = (
            "import sys, models; models.check_name('wrn_16_1'); "
            "sys.exit('tensorflow' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=helper.ROOT)
        self.assertEqual(done.returncode, 0)


class SmallImagesTestCase(tf.test.TestCase):
    def assert_small_images_work(self, name, shape):
        model = models.build(name, shape, 4)
        images = np.random.default_rng(0).integers(0, 256, (2, *shape), np.uint8)
        self.assertEqual(model(images, training=True).shape, (2, 4))
        # Every stage halves the side, rounding up, as the shortcut beside it does.
        rows, columns = (-(-side // 4) for side in shape[:2])
        self.assertEqual(
            model.get_layer("last_relu").output.shape[1:3], (rows, columns)
        )


class ArgumentsTest(SmallImagesTestCase, parameterized.TestCase):
    @parameterized.parameters(
        ("wrn_10_1", (7, 32, 3), "too small.*8x8"),
        ("shake_shake_26_2x4d", (32, 4, 3), "too small.*8x8"),
        ("pyramidnet_11_6", (2, 2, 1), "too small.*8x8"),
        ("resnet_50", (28, 28, 1), "too small.*32x32"),
        ("wrn_10_1", (32, 32, 2), "1 channel .* or 3"),
        ("wrn_10_1", (32, 32, 0), "1 channel .* or 3"),
        ("wrn_10_1", (32, 32), "height, width, channels"),
        ("wrn_10_1", (None, None, 3), "height, width, channels"),
    )
    def test_bad_image_shapes(self, name, shape, sentence):
        with self.assertRaisesRegex(ValueError, sentence):
            models.build(name, shape, 10)

    @parameterized.parameters(
        ({"mean": (0.5, 0.5)}, "mean has 2 numbers for 3 channels"),
        ({"mean": (125.0, 123.0, 114.0)}, "mean must lie in 0..1"),
        ({"std": (0.2, 0.2, 0.0)}, "std must be above 0"),
        ({"std": float("nan")}, "std must lie in 0..1"),
        ({"zero_init_last": True}, "zero_init_last is for resnet_50"),
    )
    def test_bad_options(self, options, sentence):
        with self.assertRaisesRegex(ValueError, sentence):
            models.build("wrn_10_1", (32, 32, 3), 10, **options)

    @parameterized.parameters(0, 1, -3, 2.5, None)
    def test_bad_number_of_classes(self, num_classes):
        with self.assertRaisesRegex(ValueError, "num_classes must be 2 or more"):
            models.build("wrn_10_1", (32, 32, 3), num_classes)

    # Grey and coloured, sides that can be halved twice and that cannot.
    @parameterized.parameters(
        ("wrn_10_1", (28, 28, 1)),
        ("wrn_10_1", (9, 14, 3)),
        ("pyramidnet_11_7", (9, 14, 3)),
    )
    def test_small_images_work(self, name, shape):
        self.assert_small_images_work(name, shape)


class PixelsTest(tf.test.TestCase):
    def test_normalisation_is_the_first_layer(self):
        mean, std = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
        model = models.build("wrn_10_1", (32, 32, 3), 10, mean=mean, std=std)
        inside = keras.Model(model.input, model.layers[1].output)
        images = helper.small_images(4)
        expected = (images / 255.0 - np.array(mean)) / np.array(std)
        self.assertAllClose(inside(images), expected, atol=1e-5)

    def test_one_number_serves_all_channels(self):
        model = models.build("wrn_10_1", (32, 32, 3), 10)
        inside = keras.Model(model.input, model.layers[1].output)
        images = helper.small_images(4)
        self.assertAllClose(inside(images), images / 63.75 - 2, atol=1e-5)

    def test_uint8_and_float_pixels_give_the_same_logits(self):
        model = models.build("wrn_10_1", (32, 32, 3), 10)
        images = helper.small_images(4)
        logits = model(images)
        self.assertAllEqual(logits, model(images.astype(np.float32)))
        self.assertAllEqual(logits, model(images.astype(np.float64)))
        self.assertAllClose(logits, model.predict(images, verbose=0), atol=1e-5)


class InitialisationTest(tf.test.TestCase):
    def test_convolutions_are_he_normal_by_fan_out(self):
        model = models.build("wrn_10_4", (32, 32, 3), 10)
        kernel = model.get_layer("stage3_block1").conv2.kernel.numpy()
        # 3 * 3 * 256 outputs: the deviation is sqrt(2 / 2304); 590k draws give it to
        # 0.1 %, and the largest of them lies beyond 4 deviations: nothing is cut off.
        deviation = np.sqrt(2 / (9 * 256))
        self.assertAllClose(kernel.std(), deviation, rtol=5e-3)
        self.assertAllClose(kernel.mean(), 0.0, atol=3e-4)
        self.assertGreater(np.abs(kernel).max(), 4 * deviation)

    def test_head_is_uniform_with_zero_bias(self):
        kernel, bias = models.build("wrn_10_4", (32, 32, 3), 10).layers[-1].weights
        self.assertAllEqual(bias, np.zeros(10))
        self.assertAllInRange(kernel.numpy(), -1 / 16, 1 / 16)
        self.assertAllClose(np.std(kernel), 1 / 16 / np.sqrt(3), rtol=0.05)

    def test_batch_norm_constants(self):
        model = models.build("wrn_10_1", (32, 32, 3), 10)
        norms = [
            layer
            for layer in helper.layers_of(model)
            if isinstance(layer, keras.layers.BatchNormalization)
        ]
        self.assertLen(norms, 7)
        for norm in norms:
            self.assertEqual((norm.momentum, norm.epsilon), (0.9, 1e-5))
            self.assertAllEqual(norm.gamma, np.ones(norm.gamma.shape))

    def test_a_seed_repeats_the_weights_and_layers_differ(self):
        runs = []
        for seed in (3, 3, 4):
            keras.utils.set_random_seed(seed)
            runs.append(models.build("wrn_16_1", (32, 32, 3), 10).get_weights())
        for first, again in zip(runs[0], runs[1]):
            self.assertAllEqual(first, again)
        self.assertNotAllClose(runs[0][0], runs[2][0])
        kernels = [weight for weight in runs[0] if weight.shape == (3, 3, 16, 16)]
        self.assertLen(kernels, 4)
        self.assertLen({kernel.tobytes() for kernel in kernels}, 4)


class GeometryTest(tf.test.TestCase):
    def test_strided_convolution_is_centred_on_the_shortcut(self):
        """Output (i, j) of a strided block looks at input (2i, 2j) and around it."""
        block = models.build("wrn_10_1", (8, 8, 1), 2).get_layer("stage2_block1")
        centre = np.zeros(block.conv1.kernel.shape)
        centre[1, 1] = 1
        block.conv1.kernel.assign(centre)
        images = np.random.default_rng(0).normal(size=(1, 8, 8, 16))
        expected = images[:, ::2, ::2].sum(axis=-1)
        self.assertAllClose(block.conv1(images)[..., 0], expected, atol=1e-5)

    def test_shifted_shortcut_sees_other_pixels(self):
        """Its first half sees (2i, 2j), its second (2i - 1, 2j - 1), zero outside."""
        model = models.build("shake_shake_26_2x4d", (8, 8, 3), 2)
        shortcut = model.get_layer("stage2_block1").shortcut
        shortcut.straight.kernel.assign(np.ones((1, 1, 4, 4)))
        shortcut.shifted.kernel.assign(np.ones((1, 1, 4, 4)))
        images = np.random.default_rng(0).normal(size=(1, 8, 8, 4))
        total = np.pad(images.sum(axis=-1), [[0, 0], [1, 0], [1, 0]])
        outputs = shortcut(images) * np.sqrt(1 + 1e-5)
        self.assertAllClose(outputs[..., 0], total[:, 1::2, 1::2], atol=1e-5)
        self.assertAllClose(outputs[..., -1], total[:, :-1:2, :-1:2], atol=1e-5)

    def test_pyramid_shortcut_averages_and_adds_empty_channels(self):
        model = models.build("pyramidnet_11_6", (8, 8, 3), 2)
        block = model.get_layer("stage2_block1")
        # Widths 16 + 6k/3 = 18, 20, 22: 72 channels come in, 80 go out.
        block.norm3.gamma.assign(np.zeros(80))
        images = np.random.default_rng(0).normal(size=(1, 8, 8, 72))
        means = images.reshape(1, 4, 2, 4, 2, 72).mean(axis=(2, 4))
        expected = np.concatenate([means, np.zeros((1, 4, 4, 8))], axis=-1)
        self.assertAllClose(block(images), expected, atol=1e-5)


class MixedPrecisionTestCase(tf.test.TestCase):
    def tearDown(self):
        keras.mixed_precision.set_global_policy("float32")
        super().tearDown()

    def assert_logits_stay_float32_and_close(self, name):
        images = helper.small_images(4)
        plain = models.build(name, (32, 32, 3), 10)
        keras.mixed_precision.set_global_policy("mixed_float16")
        mixed = models.build(name, (32, 32, 3), 10)
        mixed.set_weights(plain.get_weights())
        logits = mixed(images)
        self.assertEqual(logits.dtype, tf.float32)
        self.assertEqual(mixed.get_layer("stage1_block1").output.dtype, tf.float16)
        self.assertAllClose(logits, plain(images), atol=0.02)
        self.assertEqual(mixed(images, training=True).dtype, tf.float32)


class MixedPrecisionTest(MixedPrecisionTestCase, parameterized.TestCase):
    # Shake-Shake's: `tests/long/networks_test.py`.
    @parameterized.parameters("wrn_10_1", "pyramidnet_11_6")
    def test_logits_stay_float32_and_close(self, name):
        self.assert_logits_stay_float32_and_close(name)


if __name__ == "__main__":
    tf.test.main()
