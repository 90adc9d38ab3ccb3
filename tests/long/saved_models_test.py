"""Every family of networks gives the same as a SavedModel."""

import unittest

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf import keras_generation
from tests.conformance import models_test


class SavedModelsTest(models_test.SavedTestCase):
    @parameterized.parameters("resnet_50", "shake_shake_26_2x2d")
    def test_keras_file(self, name):
        self.assert_keras_file(name)

    @parameterized.parameters(*models_test.SMALL)
    def test_saved_model(self, name):
        model, images, logits = self.moved(name)
        model.export(self.folder)
        loaded = tf.saved_model.load(self.folder)
        served = loaded.serve(images.astype(np.float32))
        self.assertAllClose(served, logits, rtol=0, atol=1e-5)

    @unittest.skipIf(keras_generation.NUMBER == 3, "Keras 3 writes no such folders")
    def test_keras_saved_model_with_noise_and_recomputation(self):
        model, images, logits = self.moved("pyramidnet_11_6", remat=True)
        model.save(self.folder, save_format="tf")
        loaded = keras.models.load_model(self.folder)
        self.assertAllClose(loaded(images), logits, rtol=0, atol=1e-5)


if __name__ == "__main__":
    tf.test.main()
