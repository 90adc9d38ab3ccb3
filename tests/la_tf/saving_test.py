"""Saving, loading and the callbacks that Keras users bring along."""

import os

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import la_tf
from la_tf import keras_generation
from tests import helper

VIEWS = 2


def _classifier():
    return keras.Sequential(
        [
            keras.Input([8, 8, 1]),
            keras.layers.Flatten(),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(10, kernel_initializer=keras.initializers.HeNormal(1)),
        ]
    )


def _model(classifier=None, averages=False, **options):
    """A model that runs eagerly, which spares the test the tracing."""
    if averages:
        options["averaged"] = _classifier()
    model = la_tf.LatentAugment(classifier or _classifier(), **options)
    model.compile(
        keras.optimizers.SGD(0.1, momentum=0.9),
        metrics=[keras.metrics.TopKCategoricalAccuracy(2, name="top_2")],
        run_eagerly=True,
    )
    return model


def _views(images, labels, classes=10):
    """Training batches of the images and their negatives, under made-up policies."""
    views = np.stack([images, 255 - images], 1).astype(np.float32)
    labels = np.eye(classes, dtype=np.float32)[labels]
    policies = np.arange(len(images) * VIEWS, dtype=np.int32).reshape([-1, VIEWS])
    parts = views, np.repeat(labels[:, None], VIEWS, 1), policies % 256
    return tf.data.Dataset.from_tensor_slices(parts).batch(16)


def _digits():
    return _views(*helper.digits(32))


def _optimizer_variables(model):
    variables = model.optimizer.variables
    # Of Keras 2's optimizers it is a method.
    return variables() if callable(variables) else variables


class SavingTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(
        {"prior": "moving", "sigma": float("inf")},
        {"prior": "corrected", "prior_window": 3, "view_chunk": 1},
        {"prior": "fixed", "ubs_select": 1, "on_nonfinite": "skip"},
        {"averages": True, "label_smoothing": 0.1, "backbone_rate": 0.5},
    )
    def test_a_loaded_model_trains_on_as_the_saved_one(self, **options):
        model, views = _model(weight_decay=1e-3, seed=5, **options), _digits()
        model.fit(views, verbose=0)
        path = os.path.join(self.create_tempdir().full_path, "model.keras")
        model.save(path)
        loaded = keras.models.load_model(path)
        self.assertAllEqual(loaded.prior.probabilities, model.prior.probabilities)
        configs = [each.get_config() for each in (loaded, model)]
        for config in configs:
            # Keras writes a shape as a list here, as a tuple there.
            del config["classifier"], config["averaged"]
        self.assertEqual(*configs)
        for each in model, loaded:
            history = each.fit(views, verbose=0).history
            self.assertIn("top_2", history)
        for variables in (
            lambda each: each.get_weights(),
            lambda each: [variable.numpy() for variable in each.prior.variables],
            lambda each: [value.numpy() for value in _optimizer_variables(each)],
        ):
            self.assertAllClose(variables(loaded), variables(model), rtol=0, atol=1e-7)

    # Without a suffix Keras 2 writes a checkpoint of TensorFlow's, Keras 3 nothing.
    # Keras 3 has no format of TensorFlow's own.
    @parameterized.parameters(
        [("model.weights.h5",), ("model",)][: 2 if keras_generation.NUMBER == 2 else 1]
    )
    def test_weights_alone(self, name):
        model, other = _model(), _model()
        model.fit(_digits(), verbose=0)
        path = os.path.join(self.create_tempdir().full_path, name)
        model.save_weights(path)
        other.load_weights(path)
        self.assertAllEqual(other.prior.probabilities, model.prior.probabilities)
        self.assertAllEqual(other.prior.window, model.prior.window)
        self.assertAllClose(other.get_weights(), model.get_weights(), atol=0)


class _Failure(keras.callbacks.Callback):
    """Ends the training in its third epoch, as a machine might."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise InterruptedError


class CallbacksTest(tf.test.TestCase):
    def test_a_backup_brings_back_the_prior(self):
        folder = self.create_tempdir().full_path
        interrupted, again, whole = _model(), _model(), _model()
        whole.fit(_digits(), epochs=3, verbose=0)
        with self.assertRaises(InterruptedError):
            interrupted.fit(
                _digits(),
                epochs=3,
                verbose=0,
                callbacks=[keras.callbacks.BackupAndRestore(folder), _Failure()],
            )
        again.fit(
            _digits(),
            epochs=3,
            verbose=0,
            callbacks=[keras.callbacks.BackupAndRestore(folder)],
        )
        self.assertEqual(int(again.prior.steps), int(whole.prior.steps))
        self.assertAllClose(again.prior.probabilities, whole.prior.probabilities)
        self.assertAllClose(again.get_weights(), whole.get_weights(), atol=1e-5)

    def test_callbacks_of_keras(self):
        folder = self.create_tempdir().full_path
        best = os.path.join(folder, "best.keras")
        images, labels = helper.digits(32)
        model = _model()
        history = model.fit(
            _digits(),
            epochs=5,
            verbose=2,
            validation_data=(images, labels),
            callbacks=[
                keras.callbacks.ModelCheckpoint(
                    best, monitor="val_accuracy", save_best_only=True, mode="max"
                ),
                # No accuracy is below 0, so that the second epoch is the last.
                keras.callbacks.EarlyStopping(
                    "val_accuracy", patience=1, mode="max", baseline=2.0
                ),
                keras.callbacks.TensorBoard(os.path.join(folder, "logs")),
                keras.callbacks.BackupAndRestore(os.path.join(folder, "backup")),
                keras.callbacks.TerminateOnNaN(),
            ],
        ).history
        self.assertLess(len(history["loss"]), 5)
        self.assertTrue(os.listdir(os.path.join(folder, "logs")))
        accuracy = keras.models.load_model(best).evaluate(
            images, labels, verbose=0, return_dict=True
        )["accuracy"]
        self.assertAllClose(accuracy, max(history["val_accuracy"]))


if __name__ == "__main__":
    tf.test.main()
