"""The published networks that take longest to build."""

import tensorflow as tf
from absl.testing import parameterized

from tests.conformance import models_test


class LargestTest(models_test.BuiltTestCase):
    @parameterized.parameters(*sorted(models_test.SLOW))
    def test_number_of_weights_and_shapes_of_the_stages(self, name):
        self.assert_number_of_weights(name)
        self.assert_shapes_of_the_stages(name)


if __name__ == "__main__":
    tf.test.main()
