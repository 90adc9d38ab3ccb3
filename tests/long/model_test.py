"""A step in a graph, compiled, or of mixed precision is like any other."""

import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from tests.la_tf import model_test


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


if __name__ == "__main__":
    tf.test.main()
