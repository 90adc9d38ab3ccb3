"""Every network's published size and shapes; one step and saving of every family."""

import functools
import os
import tempfile

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from models import noise
from tests import helper

# A small member of each family stands for it where the large would only cost time.
SMALL = {
    "wrn_10_1": (16, 16, 3),
    "shake_shake_26_2x2d": (16, 16, 3),
    "pyramidnet_11_6": (16, 16, 3),
    "resnet_50": (32, 32, 3),
}
# With several blocks a stage: with and without a stride, every kind of shortcut.
STEPPED = {
    "wrn_16_1": (16, 16, 3),
    "shake_shake_26_2x2d": (16, 16, 3),
    "pyramidnet_20_6": (16, 16, 3),
    # Smaller, the last stage would be a pixel, of which two images make no statistics.
    "resnet_50": (64, 64, 3),
}


def _conv(size, inputs, outputs):
    return size * size * inputs * outputs


def _norm(channels):
    return 2 * channels


def _dense(inputs, outputs):
    return inputs * outputs + outputs


def _wrn(depth, width, classes=10):
    """Zagoruyko's table 1: n = (depth - 4) / 6 blocks of two 3x3 in each stage."""
    total, channels = _conv(3, 3, 16), 16
    for filters in (16 * width, 32 * width, 64 * width):
        total += _norm(channels) + _conv(3, channels, filters)
        total += _norm(filters) + _conv(3, filters, filters)
        total += _conv(1, channels, filters)
        later = 2 * _norm(filters) + 2 * _conv(3, filters, filters)
        total += ((depth - 4) // 6 - 1) * later
        channels = filters
    return total + _norm(channels) + _dense(channels, classes)


def _shake_shake(width, classes=10):
    """Gastaldi's figure 1: four blocks a stage, two branches of two 3x3 each."""
    total, channels = _conv(3, 3, 16) + _norm(16), 16
    for filters in (width, 2 * width, 4 * width):
        branch = _conv(3, channels, filters) + _conv(3, filters, filters)
        total += 2 * (branch + 2 * _norm(filters))
        total += 2 * _conv(1, channels, filters // 2) + _norm(filters)
        later = 2 * _conv(3, filters, filters) + 2 * _norm(filters)
        total += 3 * 2 * later
        channels = filters
    return total + _dense(channels, classes)


def _pyramidnet(depth, alpha, classes=10):
    """Han's equation 3: width D_k = 16 + k alpha / N, then 1x1, 3x3, 1x1 to 4 D_k."""
    total, channels, count = _conv(3, 3, 16) + _norm(16), 16, (depth - 2) // 3
    for number in range(1, count + 1):
        width = int(np.floor(16 + number * alpha / count + 0.5))
        total += _norm(channels) + _conv(1, channels, width) + _norm(width)
        total += _conv(3, width, width) + _norm(width)
        total += _conv(1, width, 4 * width) + _norm(4 * width)
        channels = 4 * width
    return total + _norm(channels) + _dense(channels, classes)


def _resnet_50(classes=1000):
    """He's table 1, the column of 50 layers."""
    total, channels = _conv(7, 3, 64) + _norm(64), 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        total += _conv(1, channels, 4 * width) + _norm(4 * width)
        for _ in range(count):
            total += _conv(1, channels, width) + _norm(width)
            total += _conv(3, width, width) + _norm(width)
            total += _conv(1, width, 4 * width) + _norm(4 * width)
            channels = 4 * width
    return total + _dense(channels, classes)


# Trainable weights by formula, the same as published (in millions; exactly where the
# usual PyTorch code is quoted with all digits), and the last block of each stage.
EXPECTED = {
    "wrn_40_2": (_wrn(40, 2), 2_243_546, [(32, 32), (16, 64), (8, 128)], 6),
    "wrn_28_10": (_wrn(28, 10), 36_479_194, [(32, 160), (16, 320), (8, 640)], 4),
    "shake_shake_26_2x32d": (
        _shake_shake(32),
        2.9e6,
        [(32, 32), (16, 64), (8, 128)],
        4,
    ),
    "shake_shake_26_2x96d": (
        _shake_shake(96),
        26.2e6,
        [(32, 96), (16, 192), (8, 384)],
        4,
    ),
    "shake_shake_26_2x112d": (
        _shake_shake(112),
        35.6e6,
        [(32, 112), (16, 224), (8, 448)],
        4,
    ),
    # 16 + 200/3 = 82.7, 16 + 400/3 = 149.3, 216; each times 4.
    "pyramidnet_272_200": (
        _pyramidnet(272, 200),
        26.2e6,
        [(32, 332), (16, 596), (8, 864)],
        30,
    ),
    "resnet_50": (
        _resnet_50(),
        25_557_032,
        [(56, 256), (28, 512), (14, 1024), (7, 2048)],
        (3, 4, 6, 3),
    ),
}

# Large members of their families, which take seconds to build:
# `tests/long/networks_test.py`.
SLOW = {
    "wrn_28_10",
    "shake_shake_26_2x96d",
    "shake_shake_26_2x112d",
    "pyramidnet_272_200",
}


@functools.cache
def _network(name):
    keras.utils.set_random_seed(1)
    if name == "resnet_50":
        return models.build(name, (224, 224, 3), 1000)
    return models.build(name, (32, 32, 3), 10)


def _loss(model, images, labels):
    with noise.scope([1, 2]):
        logits = model(images, training=True)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_mean(losses)


class BuiltTestCase(tf.test.TestCase, parameterized.TestCase):
    def assert_number_of_weights(self, name):
        by_formula, published, _, _ = EXPECTED[name]
        weights = _network(name).trainable_weights
        self.assertEqual(sum(np.prod(weight.shape) for weight in weights), by_formula)
        digits = 0 if isinstance(published, int) else 0.05e6
        self.assertAllClose(by_formula, published, rtol=0, atol=digits)

    def assert_shapes_of_the_stages(self, name):
        _, _, shapes, counts = EXPECTED[name]
        if isinstance(counts, int):
            counts = [counts] * len(shapes)
        network = _network(name)
        blocks = [layer for layer in network.layers if "_block" in layer.name]
        self.assertLen(blocks, sum(counts))
        for stage, ((side, channels), count) in enumerate(zip(shapes, counts), start=1):
            last = network.get_layer(f"stage{stage}_block{count}")
            shape = (None, side, side, channels)
            self.assertEqual(tuple(last.output.shape), shape)
            computed = last.compute_output_shape(tuple(last.input.shape))
            self.assertEqual(tuple(computed), shape)

    def assert_one_step(self, name):
        """Every weight has a finite gradient, no kernel a zero one; the loss falls."""
        keras.utils.set_random_seed(1)
        model = helper.small_network(name, STEPPED[name], 10)
        generator = np.random.default_rng(0)
        images = generator.integers(0, 256, (2, *model.input_shape[1:]), np.uint8)
        labels = tf.constant([3, 7])
        with tf.GradientTape() as tape:
            loss = _loss(model, images, labels)
        gradients = tape.gradient(loss, model.trainable_variables)
        for weight, gradient in zip(model.trainable_variables, gradients):
            self.assertIsNotNone(gradient, weight.name)
            self.assertAllInRange(gradient, -1e6, 1e6)
            if "kernel" in weight.name:
                self.assertGreater(np.abs(gradient).max(), 0, weight.name)
        optimizer = keras.optimizers.SGD(1e-3)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        after = _loss(model, images, labels)
        self.assertLess(after, loss)


class NetworksTest(BuiltTestCase):
    def test_every_listed_network_is_tested(self):
        self.assertCountEqual(EXPECTED, models.NAMES)

    @parameterized.parameters(*sorted(EXPECTED.keys() - SLOW))
    def test_number_of_weights(self, name):
        self.assert_number_of_weights(name)

    @parameterized.parameters(*sorted(EXPECTED.keys() - SLOW))
    def test_shapes_of_the_stages(self, name):
        self.assert_shapes_of_the_stages(name)

    @parameterized.parameters(*sorted(STEPPED.keys() - {"resnet_50"}))
    def test_one_step(self, name):
        self.assert_one_step(name)


class SavedTestCase(tf.test.TestCase, parameterized.TestCase):
    """A saved network gives the logits that it gave before."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def moved(self, name, remat=False):
        """A network whose moving averages are no longer the initial ones."""
        shape = SMALL[name]
        generator = np.random.default_rng(0)
        images = generator.integers(0, 256, (3, *shape), np.uint8)
        model = helper.small_network(name, shape, 5, remat=remat)
        model(images, training=True)
        return model, images, model(images)

    def assert_keras_file(self, name):
        model, images, logits = self.moved(name)
        path = os.path.join(self.folder, "network.keras")
        model.save(path)
        self.assertAllEqual(models.load(path)(images), logits)


class SavingTest(SavedTestCase):
    """Keras' own files; more, and SavedModels: `tests/long/saved_models_test.py`."""

    def test_every_family_is_tested(self):
        families = {models.names.parse(name)[0] for name in models.NAMES}
        for small in (SMALL, STEPPED):
            self.assertEqual({models.names.parse(name)[0] for name in small}, families)

    @parameterized.parameters("wrn_10_1", "pyramidnet_11_6")
    def test_keras_file(self, name):
        self.assert_keras_file(name)

    def test_weights_alone(self):
        model, images, logits = self.moved("pyramidnet_11_6")
        path = os.path.join(self.folder, "network.weights.h5")
        model.save_weights(path)
        other = models.build("pyramidnet_11_6", SMALL["pyramidnet_11_6"], 5, remat=True)
        self.assertNotAllClose(other(images), logits)
        other.load_weights(path)
        self.assertAllEqual(other(images), logits)


if __name__ == "__main__":
    tf.test.main()
