"""A step in a graph, compiled, of half precision or of a backbone is like any other."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from tests import helper
from tests.la_tf import model_test, saving_test


class HandTest(model_test.HandTestCase):
    def test_step(self):
        self.assert_step({"jit_compile": True})


class MixedPrecisionTest(tf.test.TestCase):
    def test_mixed_precision_scales_the_loss_and_keeps_the_gradient(self):
        def network(policy):
            keras.mixed_precision.set_global_policy(policy)
            self.addCleanup(keras.mixed_precision.set_global_policy, "float32")
            return model_test._normalized()

        batch = model_test._batch(images=16)
        weights = {}
        for policy in "float32", "mixed_float16":
            model = model_test._model(
                network(policy), 0.1, compiled={"jit_compile": False}
            )
            model_test._fit(model, batch, batch)
            weights[policy] = model.classifier.get_weights()
        self.assertIsInstance(model.optimizer, keras.mixed_precision.LossScaleOptimizer)
        self.assertEqual(int(model.optimizer.iterations), 2)
        for full, half in zip(weights["float32"], weights["mixed_float16"]):
            self.assertAllClose(full, half, atol=5e-3)


class NonFiniteTest(model_test.NonFiniteTestCase, parameterized.TestCase):
    @parameterized.parameters(False, True)
    def test_skip_leaves_no_trace_but_a_count(self, jit_compile):
        options = {"compiled": {"jit_compile": jit_compile}}
        self.assert_skip_leaves_no_trace_but_a_count(options)


class BackboneTest(tf.test.TestCase):
    def test_a_backbone_of_keras_applications(self):
        backbone = keras.applications.MobileNet(
            (32, 32, 3), alpha=0.25, weights=None, classes=3, classifier_activation=None
        )
        model, images = saving_test._model(backbone), helper.small_images(4)
        before = backbone.get_weights()
        model.fit(saving_test._views(images, np.arange(4) % 3, classes=3), verbose=0)
        self.assertNotAllClose(before[0], backbone.get_weights()[0], atol=0)
        self.assertAllEqual(model.predict(images, verbose=0).shape, [4, 3])


if __name__ == "__main__":
    tf.test.main()
