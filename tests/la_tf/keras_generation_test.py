"""What Keras 2 and Keras 3 do differently comes out the same for users of la_tf."""

import os
import subprocess
import sys
import unittest

import numpy as np
import tensorflow as tf
from absl.testing import absltest, parameterized
from tensorflow import keras

import la_tf
from la_tf import keras_generation
from tests import helper

POLICIES = 8


class _Listener(keras.callbacks.Callback):
    """Keeps the logs of every step."""

    def __init__(self, reads):
        super().__init__()
        self._supports_tf_logs = not reads
        self.heard = []

    def on_train_batch_end(self, batch, logs=None):
        self.heard.append(dict(logs.items()))


def _model(optimizer=None, **options):
    classifier = keras.Sequential([keras.Input([3]), keras.layers.Dense(4)])
    model = la_tf.LatentAugment(classifier, POLICIES, **options)
    model.compile(optimizer or keras.optimizers.SGD(0.1))
    return model


def _dataset(steps=3):
    generator = np.random.default_rng(0)
    labels = np.eye(4, dtype=np.float32)[generator.integers(0, 4, 6 * steps)]
    parts = (
        generator.normal(size=[6 * steps, 2, 3]).astype(np.float32),
        np.repeat(labels[:, None], 2, 1),
        generator.integers(0, POLICIES, [6 * steps, 2], np.int32),
    )
    return tf.data.Dataset.from_tensor_slices(parts).batch(6)


class LogsTest(tf.test.TestCase):
    def test_no_step_waits_for_logs_that_nobody_reads(self):
        listener = _Listener(reads=False)
        history = _model().fit(_dataset(), verbose=0, callbacks=[listener]).history
        self.assertLen(listener.heard, 3)
        for logs in listener.heard:
            # A number would have been copied from the device.
            copied = [name for name, log in logs.items() if not tf.is_tensor(log)]
            self.assertEmpty(copied)
        self.assertIsInstance(float(history["loss"][0]), float)
        self.assertIn("effective_policies", history)

    def test_a_callback_that_reads_logs_gets_numbers(self):
        model, listener = _model(), _Listener(reads=True)
        history = model.fit(_dataset(), verbose=0, callbacks=[listener]).history
        self.assertLen(listener.heard, 3)
        self.assertIsInstance(listener.heard[0]["loss"], float)
        self.assertAlmostEqual(listener.heard[-1]["loss"], history["loss"][0], places=6)
        # And so does who trains on a batch by itself, afterwards.
        [batch] = _dataset(1)
        self.assertLen(np.ravel(model.train_on_batch(*batch)), 5)


class LossScaleTest(tf.test.TestCase):
    @unittest.skipIf(keras_generation.NUMBER == 2, "Keras 3's optimizers have it")
    def test_a_factor_that_stays_changes_nothing(self):
        weights = []
        for factor in None, 1024.0:
            keras.utils.set_random_seed(0)
            optimizer = keras.optimizers.SGD(0.1, loss_scale_factor=factor)
            model = _model(optimizer, clip_norm=0.5, weight_decay=0.01)
            model.fit(_dataset(), verbose=0)
            weights.append(model.get_weights())
        self.assertAllClose(*weights, rtol=1e-6)


class EnvironmentTest(parameterized.TestCase):
    @parameterized.parameters(
        ("KERAS_BACKEND", "torch", "KERAS_BACKEND is torch"),
        ("KERAS_BACKEND", "jax", "KERAS_BACKEND is jax"),
        ("TF_USE_LEGACY_KERAS", "1", "TF_USE_LEGACY_KERAS is set"),
    )
    def test_another_keras_is_refused_by_one_sentence(self, name, value, sentence):
        environment = {**os.environ, name: value, "PYTHONPATH": str(helper.ROOT)}
        for program, code in (
            (
                ["-m", "la_tf.train", f"--run_dir={self.create_tempdir().full_path}/r"],
                2,
            ),
            (["-c", "import la_tf; la_tf.LatentAugment"], 1),
        ):
            done = subprocess.run(
                [sys.executable, *program],
                env=environment,
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(sentence, done.stderr.splitlines()[-1])


if __name__ == "__main__":
    absltest.main()
