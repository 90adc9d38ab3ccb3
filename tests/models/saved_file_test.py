"""A `.keras` file of a stranger's: nothing in it is run."""

import json
import os
import pathlib
import zipfile

import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from la_tf import keras_generation

# What a hostile file would have run: it leaves a folder behind.
HARM = "harmed"


def hostile_model():
    """Return a model whose only layer makes a folder when it is called."""
    inputs = keras.Input([1])
    layer = keras.layers.Lambda(
        lambda x: (__import__("os").makedirs("harmed", exist_ok=True), x)[1]
    )
    return keras.Model(inputs, layer(inputs))


def edit(path, change):
    """Change the description of the network in a `.keras` file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config, config["config"]["layers"][1])
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def function_of_os(config, layer):
    function = {"module": "os", "class_name": "function", "config": "abort"}
    layer["config"]["activation"] = {**function, "registered_name": "abort"}


def class_of_another_module(config, layer):
    layer.update(module="subprocess", class_name="Popen", registered_name=None)


def function_of_keras(config, layer):
    # Keras would call it with what the file says, and so fetch and write a file.
    layer.update(module="keras.utils", class_name="get_file", registered_name=None)


def function_beside_layers(config, layer):
    layer.update(module="keras.layers", class_name="deserialize", registered_name=None)


def function_of_tensorflow(config, layer):
    layer.update(
        module="keras.src.layers.core.tf_op_layer",
        class_name="TFOpLambda",
        registered_name="TFOpLambda",
        config={"name": "write", "function": "io.write_file"},
    )


def another_registered_name(config, layer):
    layer["registered_name"] = "package>Layer"


def bytes_of_a_function(config, layer):
    layer["config"]["activation"] = {"class_name": "__lambda__", "config": {}}


def function_when_compiled(config, layer):
    config["compile_config"] = {"loss": {"class_name": "function", "config": "abort"}}


class HostileFileTest(parameterized.TestCase, tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.create_tempdir().full_path) / "network.keras"
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.path.parent)

    def assert_refused(self, words):
        with self.assertRaisesRegex(ValueError, words):
            models.load(self.path)
        self.assertFalse(os.path.exists(HARM))

    def save_hostile(self, path, **options):
        hostile_model().save(path, **options)
        # Whoever builds the model runs it too.
        os.rmdir(HARM)

    def test_a_lambda_layer(self):
        self.save_hostile(self.path)
        self.assert_refused("holds keras.layers.Lambda.*not loaded")

    @parameterized.parameters("h5", "tf")
    def test_older_kinds_of_files_under_this_name(self, kind):
        if keras_generation.NUMBER == 3:
            self.skipTest("Keras 3 does not write them.")
        other = self.path.with_suffix(f".{kind}")
        self.save_hostile(other, save_format=kind)
        other.rename(self.path)
        self.assert_refused("is no .keras file")

    @parameterized.parameters(
        (function_of_os, "holds os.function"),
        (class_of_another_module, "holds subprocess.Popen"),
        (function_of_keras, "holds keras.utils.get_file"),
        (function_beside_layers, "holds keras.layers.deserialize"),
        (function_of_tensorflow, "holds keras.src.*TFOpLambda"),
        (another_registered_name, "holds keras.layers.Rescaling"),
        (bytes_of_a_function, "holds None.__lambda__"),
        (function_when_compiled, "holds None.function"),
    )
    def test_an_edited_description(self, change, words):
        models.build("wrn_10_1", (8, 8, 1), 2).save(self.path)
        edit(self.path, change)
        self.assert_refused(words)

    def test_layers_of_keras_and_functions_that_compute(self):
        inputs = keras.Input([4])
        features = keras.layers.Dense(4, "gelu", kernel_regularizer="l2")(inputs)
        network = keras.Model(inputs, 2.0 * (features + 3.0))
        network.compile("adam", loss="mse", metrics=["accuracy"])
        network.save(self.path)
        self.assertAllEqual(
            models.load(self.path)(tf.ones([1, 4])), network(tf.ones([1, 4]))
        )

    def test_a_network_is_loaded_in_mixed_precision_too(self):
        keras.mixed_precision.set_global_policy("mixed_float16")
        self.addCleanup(keras.mixed_precision.set_global_policy, "float32")
        network = models.build("wrn_10_1", (8, 8, 1), 2)
        network.save(self.path)
        self.assertEqual(models.load(self.path).count_params(), network.count_params())


if __name__ == "__main__":
    tf.test.main()
