"""The published network that takes longest to build."""

import tensorflow as tf

from tests.conformance import models_test


class LargestTest(models_test.BuiltTestCase):
    def test_number_of_weights(self):
        self.assert_number_of_weights(models_test.SLOW)

    def test_shapes_of_the_stages(self):
        self.assert_shapes_of_the_stages(models_test.SLOW)


if __name__ == "__main__":
    tf.test.main()
