"""Shake-Shake, ShakeDrop, the noise they draw, and recomputation under noise."""

import functools
import threading

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from models import noise, pyramidnet, shake_layers, shake_shake
from tests import helper

# Two replicas without a GPU; TensorFlow wants to know before its first operation.
_CPU = tf.config.list_physical_devices("CPU")[0]
if not tf.config.get_logical_device_configuration(_CPU):
    tf.config.set_logical_device_configuration(
        _CPU, [tf.config.LogicalDeviceConfiguration()] * 2
    )

SEED = tf.constant([7, 11])
MODES = {
    "eager": lambda function: function,
    "graph": tf.function,
    "xla": lambda function: tf.function(function, jit_compile=True),
}
SMALL = ("wrn_10_1", "shake_shake_26_2x2d", "pyramidnet_11_6", "resnet_50")


class FixedNoise:
    """Stands in for a `noise.Scope`: gives the rows it was made of."""

    def __init__(self, rows):
        self.rows = np.array(rows, np.float32)

    def draw(self, salt, batch_size, columns):
        del salt, batch_size
        assert self.rows.shape[1] == columns
        return tf.constant(self.rows)


def _column(values):
    return np.reshape(np.array(values), (-1, 1, 1, 1))


class LayersTest(tf.test.TestCase, parameterized.TestCase):
    """Forward and backward against NumPy, the draws fixed."""

    def setUp(self):
        super().setUp()
        generator = np.random.default_rng(0)
        self.first, self.second, self.upstream = generator.normal(size=(3, 3, 2, 2, 4))

    @parameterized.product(mode=list(MODES), dtype=("float32", "float16"))
    def test_shake_shake(self, mode, dtype):
        layer = shake_layers.ShakeShake(salt=1, dtype=dtype)
        first, second = (tf.constant(x, dtype) for x in (self.first, self.second))

        def run(first, second):
            with tf.GradientTape() as tape:
                tape.watch([first, second])
                with noise.entered(FixedNoise([[0.0, 0.9], [0.25, 0.5], [0.875, 0.0]])):
                    outputs = layer([first, second], training=True)
            upstream = tf.constant(self.upstream, dtype)
            return outputs, tape.gradient(outputs, [first, second], upstream)

        outputs, gradients = MODES[mode](run)(first, second)
        alpha, beta = _column([0.0, 0.25, 0.875]), _column([0.9, 0.5, 0.0])
        mixed = alpha * self.first + (1 - alpha) * self.second
        near = {"rtol": 0, "atol": 1e-6 if dtype == "float32" else 5e-3}
        self.assertEqual(outputs.dtype, dtype)
        self.assertAllClose(outputs, mixed, **near)
        self.assertAllClose(gradients[0], beta * self.upstream, **near)
        self.assertAllClose(gradients[1], (1 - beta) * self.upstream, **near)

    @parameterized.product(mode=list(MODES), dtype=("float32", "float16"))
    def test_shake_drop(self, mode, dtype):
        layer = shake_layers.ShakeDrop(keep=0.75, salt=1, dtype=dtype)
        inputs = tf.constant(self.first, dtype)
        # Uniform numbers for gate, a and b: the first image is kept (0.7 < 0.75).
        rows = [[0.7, 0.1, 0.2], [0.8, 0.1, 0.2], [0.76, 1.0, 0.9]]

        def run(inputs):
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                with noise.entered(FixedNoise(rows)):
                    outputs = layer(inputs, training=True)
            upstream = tf.constant(self.upstream, dtype)
            return outputs, tape.gradient(outputs, inputs, upstream)

        outputs, gradient = MODES[mode](run)(inputs)
        kept = _column([1, 0, 0])
        alpha = _column([-0.8, -0.8, 1.0])  # 2u - 1, within -1..1
        beta = _column([0.2, 0.2, 0.9])
        near = {"rtol": 0, "atol": 1e-6 if dtype == "float32" else 5e-3}
        forward = (kept + alpha - kept * alpha) * self.first
        backward = (kept + beta - kept * beta) * self.upstream
        self.assertAllClose(outputs, forward, **near)
        self.assertAllClose(gradient, backward, **near)

    def test_evaluation_gives_the_expectation(self):
        mean = shake_layers.ShakeShake(salt=1)(
            [self.first, self.second], training=False
        )
        self.assertAllClose(mean, (self.first + self.second) / 2, atol=1e-6)
        dropped = shake_layers.ShakeDrop(keep=0.7, salt=1)(self.first, training=False)
        self.assertAllClose(dropped, 0.7 * self.first, atol=1e-6)

    def test_training_has_that_expectation(self):
        """20,000 images of ones: the mean is known to about 0.004 (three errors)."""
        ones = tf.ones([20_000, 1, 1, 1])
        with noise.scope(SEED):
            mixed = shake_layers.ShakeShake(salt=1)([ones, -ones], training=True)
            dropped = shake_layers.ShakeDrop(keep=0.7, salt=2)(ones, training=True)
        # 2a - 1 is uniform in -1..1: mean 0, standard deviation 0.577.
        self.assertAllClose(tf.reduce_mean(mixed), 0.0, atol=0.015)
        self.assertAllClose(np.std(mixed), 1 / np.sqrt(3), atol=0.01)
        # 1 with chance 0.7, otherwise uniform in -1..1.
        self.assertAllClose(tf.reduce_mean(dropped), 0.7, atol=0.015)
        self.assertAllClose(np.mean(dropped.numpy() == 1), 0.7, atol=0.01)

    def test_chance_to_keep_falls_in_a_line_to_a_half(self):
        model = models.build("pyramidnet_20_6", (8, 8, 3), 2)
        blocks = [layer for layer in model.layers if "block" in layer.name]
        keeps = [block.drop.keep for block in blocks]
        self.assertAllClose(keeps, [11 / 12, 10 / 12, 9 / 12, 8 / 12, 7 / 12, 6 / 12])


class ScopeTest(tf.test.TestCase, parameterized.TestCase):
    def _shaken(self, examples, seed=SEED, **where):
        """What a ShakeShake layer makes of examples; ones and zeros give a itself."""
        ones = tf.ones([examples, 1, 1, 1])
        with noise.scope(seed, **where):
            mixed = shake_layers.ShakeShake(salt=5)([ones, 0 * ones], training=True)
        return tf.reshape(mixed, [-1])

    def test_seed_and_salt_alone_decide(self):
        first = noise.Scope(SEED).draw(1, 6, 2)
        self.assertAllEqual(first, noise.Scope(SEED).draw(1, 6, 2))
        self.assertNotAllClose(first, noise.Scope(SEED).draw(2, 6, 2))
        self.assertNotAllClose(first, noise.Scope(SEED + 1).draw(1, 6, 2))
        wide = noise.Scope(tf.cast(SEED, tf.int64)).draw(1, 6, 2)
        self.assertAllEqual(first, wide)

    @parameterized.parameters(*MODES)
    def test_some_of_the_examples_see_the_noise_of_the_whole(self, mode):
        whole = self._shaken(12)
        self.assertLen(set(whole.numpy()), 12)
        chosen = tf.constant([7, 2, 11, 2])

        @MODES[mode]
        def parts():
            some = self._shaken(4, positions=chosen, total=12)
            return some, self._shaken(5, total=12)

        some, start = parts()
        self.assertAllEqual(some, tf.gather(whole, chosen))
        self.assertAllEqual(start, whole[:5])

    def test_positions_need_a_total(self):
        with self.assertRaisesRegex(ValueError, "needs total"):
            self._shaken(2, positions=[0, 1])

    def test_inner_scope_rules_and_ends(self):
        other = self._shaken(4, seed=[1, 2])
        with noise.scope([1, 2]):
            self.assertAllEqual(self._shaken(4), self._shaken(4, seed=SEED))
            self.assertAllEqual(noise.current().seed, [1, 2])
        self.assertNotAllClose(other, self._shaken(4))

    def test_without_a_scope_noise_is_tensorflows_own(self):
        ones = tf.ones([4, 1, 1, 1])
        layer = shake_layers.ShakeShake(salt=5)
        runs = []
        for seed in (1, 1, 2):
            tf.random.set_seed(seed)
            runs.append(layer([ones, 0 * ones], training=True))
        self.assertAllEqual(runs[0], runs[1])
        self.assertNotAllClose(runs[0], runs[2])
        step = tf.function(lambda: layer([ones, 0 * ones], training=True))
        self.assertNotAllClose(step(), step())

    def test_a_scope_belongs_to_its_thread(self):
        seen = {}

        def other_thread():
            with noise.scope([3, 4]):
                seen["inside"] = noise.current().seed.numpy()
                entered.set()
                left.wait(helper.PATIENCE)

        entered, left = threading.Event(), threading.Event()
        thread = threading.Thread(target=other_thread)
        with noise.scope(SEED):
            thread.start()
            entered.wait(helper.PATIENCE)
            seen["outside"] = noise.current().seed.numpy()
            left.set()
            thread.join()
        self.assertAllEqual(seen["inside"], [3, 4])
        self.assertAllEqual(seen["outside"], SEED)

    @parameterized.parameters("shake_shake_26_2x2d", "pyramidnet_11_6")
    def test_a_network_repeats_itself_and_no_two_layers_share_noise(self, name):
        model = models.build(name, (16, 16, 3), 5)
        images = helper.small_images(4, 16)

        def logits(seed):
            with noise.scope(seed):
                return model(images, training=True)

        self.assertAllEqual(logits([1, 2]), logits([1, 2]))
        self.assertNotAllClose(logits([1, 2]), logits([1, 3]))
        kinds = (shake_layers.ShakeShake, shake_layers.ShakeDrop)
        layers = helper.layers_of(model)
        salts = [layer.salt for layer in layers if isinstance(layer, kinds)]
        self.assertGreater(len(salts), 2)
        self.assertLen(set(salts), len(salts))


def gradients(model, images, seed=SEED):
    """Loss, the gradient of every weight, in a training-mode pass."""
    labels = tf.range(tf.shape(images)[0]) % 5
    with tf.GradientTape() as tape:
        if seed is None:
            logits = model(images, training=True)
        else:
            with noise.scope(seed):
                logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_mean(losses)
    return [loss, *tape.gradient(loss, model.trainable_variables)]


NOISY_BLOCKS = {
    "shake_shake": functools.partial(shake_shake.ShakeShakeBlock, 4, salt=1),
    "pyramidnet": functools.partial(pyramidnet.PyramidBlock, 6, keep=0.5, salt=1),
}


def one_block(name, shape, classes, remat=False):
    """A network of one block with noise, which is soon traced and compiled."""
    return keras.Sequential(
        [
            keras.Input(shape),
            keras.layers.Rescaling(1 / 255),
            NOISY_BLOCKS[name](stride=2, remat=remat),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(classes),
        ]
    )


if __name__ == "__main__":
    tf.test.main()
