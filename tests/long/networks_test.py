"""Networks that take long to build."""

import tensorflow as tf
from absl.testing import parameterized

from tests.conformance import models_test
from tests.models import build_test


class LargestTest(models_test.BuiltTestCase):
    @parameterized.parameters(*sorted(models_test.SLOW))
    def test_number_of_weights_and_shapes_of_the_stages(self, name):
        self.assert_number_of_weights(name)
        self.assert_shapes_of_the_stages(name)

    def test_one_step(self):
        self.assert_one_step("resnet_50")


class MixedPrecisionTest(build_test.MixedPrecisionTestCase):
    def test_shake_shake(self):
        self.assert_logits_stay_float32_and_close("shake_shake_26_2x4d")


if __name__ == "__main__":
    tf.test.main()
