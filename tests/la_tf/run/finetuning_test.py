"""Networks that begin with the weights of another, and layers that stay as they are.

A whole run of the kind is in `tests/long/finetuning_test.py`.
"""

import os
import types

import h5py
import numpy as np
import tensorflow as tf
from absl.testing import parameterized

import la_tf
import models
from la_tf import keras_generation
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run import folder as run_folder
from la_tf.run import freezing, pretrained
from tests import helper

SOURCE = types.SimpleNamespace(
    image_shape=(32, 32, 3), num_classes=5, mean=[0.5] * 3, std=[0.25] * 3
)


def _network(classes=10, name="wrn_10_1"):
    return models.build(name, (8, 8, 1), classes)


def _moved(classes=10, name="wrn_10_1"):
    """A network none of whose weights is as it was drawn."""
    network = _network(classes, name)
    generator = np.random.default_rng(0)
    network.set_weights(
        [generator.normal(size=value.shape) for value in network.get_weights()]
    )
    return network


class InitialiseTest(tf.test.TestCase, parameterized.TestCase):
    def _path(self, name):
        return os.path.join(self.create_tempdir().full_path, name)

    def _initialised(self, path, classes):
        network = _network(classes)
        line = pretrained.initialise(network, TrainConfig(init_from=path), SOURCE)
        return network, line

    @parameterized.parameters(".keras", ".weights.h5")
    def test_what_fits_is_taken_and_the_rest_told(self, suffix):
        other, path = _moved(classes=4), self._path(f"other{suffix}")
        (other.save if suffix == ".keras" else other.save_weights)(path)
        network, line = self._initialised(path, classes=7)
        for one, two in zip(network.get_weights()[:-2], other.get_weights()[:-2]):
            self.assertAllClose(one, two, atol=1e-7)
        self.assertRegex(line, "all that fit; new: .*(logits|dense)")
        self.assertNotIn("\n", line)
        _, line = self._initialised(path, classes=4)
        self.assertIn("all of them fit", line)

    def test_frozen_layers_and_the_older_form_of_file(self):
        # A group for each layer, in which Keras publishes its weights.
        other, path = _moved(), self._path("other.h5")
        with h5py.File(path, "w") as file:
            file.attrs["layer_names"] = ["stem", "last_norm"]
            for name in ("stem", "last_norm"):
                group = file.create_group(name)
                values = other.get_layer(name).get_weights()
                for number, value in enumerate(values):
                    group[f"{name}/{number}"] = value
                group.attrs["weight_names"] = [
                    f"{name}/{number}" for number in range(len(values))
                ]
        network = _network()
        freezing.freeze(network, "backbone")
        line = pretrained.initialise(network, TrainConfig(init_from=path), SOURCE)
        for name in ("stem", "last_norm"):
            for one, two in zip(
                network.get_layer(name).get_weights(),
                other.get_layer(name).get_weights(),
            ):
                self.assertAllClose(one, two, atol=1e-7)
        self.assertIn("new: stage1_block1, stage2_block1, stage3_block1, logits", line)

    def test_the_order_of_weights_does_not_depend_on_what_learns(self):
        network = _network()
        before = [id(each) for each in keras_generation.all_variables(network)]
        freezing.freeze(network, "backbone")
        after = [id(each) for each in keras_generation.all_variables(network)]
        self.assertEqual(before, after)
        self.assertLen(before, len(network.weights))

    def test_a_whole_latent_augment_model(self):
        other, path = _moved(), self._path("model.keras")
        model = la_tf.LatentAugment(other)
        model.compile("sgd")
        model.save(path)
        network, _ = self._initialised(path, classes=10)
        for one, two in zip(network.get_weights(), other.get_weights()):
            self.assertAllClose(one, two, atol=1e-7)

    def test_layers_of_another_network_by_name(self):
        # Sixteen layers deep, it has two blocks a stage; the first are called alike.
        other, path = _moved(name="wrn_16_1"), self._path("other.keras")
        other.save(path)
        network, line = self._initialised(path, classes=10)
        for name in ("stem", "stage2_block1", "logits"):
            for one, two in zip(
                network.get_layer(name).get_weights(),
                other.get_layer(name).get_weights(),
            ):
                self.assertAllClose(one, two, atol=1e-7)
        self.assertIn("all of them fit", line)

    def test_files_that_are_none(self):
        for name in ("other.keras", "other.weights.h5"):
            path = self._path(name)
            with open(path, "wb") as file:
                file.write(b"nothing")
            with self.assertRaisesRegex(UserError, "--init_from=.*other"):
                self._initialised(path, classes=10)

    def test_nothing_fits(self):
        path = self._path("other.keras")
        _moved(name="wrn_10_2").save(path)
        network = models.build("wrn_10_3", (8, 8, 3), 3)
        with self.assertRaisesRegex(UserError, "nothing in it fits wrn_10_3"):
            pretrained.initialise(network, TrainConfig(init_from=path), SOURCE)

    def test_imagenet_where_keras_cannot_fetch_it(self):
        config = TrainConfig(init_from="imagenet", model="ResNet50V2")
        with (
            helper.tiny_backbone("ResNet50V2"),
            self.assertRaisesRegex(UserError, "could not fetch .* of ResNet50V2"),
        ):
            pretrained.initialise(_network(), config, SOURCE)
        config = TrainConfig(init_from="imagenet")
        with self.assertRaisesRegex(UserError, "no imagenet weights for wrn_16_1"):
            pretrained.initialise(_network(), config, SOURCE)

    def test_a_path_that_is_not_there_leaves_nothing_behind(self):
        run_dir = self._path("run")
        with self.assertRaisesRegex(UserError, "--init_from=nowhere: there is no such"):
            run_folder.opened({"init_from": "nowhere", "run_dir": run_dir})
        self.assertFalse(os.path.exists(run_dir))


class FreezeTest(parameterized.TestCase):
    def _learning(self, up_to):
        network = _network()
        freezing.freeze(network, up_to)
        return [
            layer.name for layer in network.layers if layer.trainable_weights
        ], network

    def test_all_but_the_head(self):
        learning, network = self._learning("backbone")
        self.assertEqual(learning, ["logits"])
        freezing.freeze(network, None)
        self.assertGreater(len(network.trainable_weights), 10)

    def test_up_to_a_layer(self):
        learning, _ = self._learning("stage2_block1")
        self.assertEqual(learning, ["stage3_block1", "last_norm", "logits"])

    @parameterized.parameters(
        ("stage2_blok1", "did you mean stage2_block1"),
        ("logits", "would leave nothing to learn"),
    )
    def test_bad_layers(self, up_to, sentence):
        with self.assertRaisesRegex(UserError, sentence):
            self._learning(up_to)


if __name__ == "__main__":
    tf.test.main()
