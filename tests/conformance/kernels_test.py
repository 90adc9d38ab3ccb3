"""What the kernel registry says of a graph.

The graphs of training steps are looked at by `tests/long/kernels_test.py`.
"""

import tensorflow as tf

from tests import kernels


class RegistryTest(tf.test.TestCase):
    def test_says_what_would_be_left_to_the_host(self):
        @tf.function
        def function(images, numbers):
            return tf.gather(images, numbers), tf.range(2000) + numbers[0]

        images = tf.TensorSpec([9, 8, 8, 3], tf.uint8)
        numbers = tf.TensorSpec([2], tf.int32)
        faults = kernels.left_to_the_host(
            function.get_concrete_function(images, numbers)
        )
        self.assertIn("GatherV2(uint8, int32) has no GPU kernel", faults)
        self.assertIn("AddV2(int32) takes (2000,) to the host", faults)

    def test_looks_into_branches_and_compiled_functions(self):
        inner = tf.function(lambda x: tf.gather(x, [1, 0]), jit_compile=True)

        @tf.function
        def function(images, coin):
            return tf.cond(coin, lambda: inner(images), lambda: images[:2])

        faults = kernels.left_to_the_host(
            function.get_concrete_function(
                tf.TensorSpec([9, 8], tf.uint8), tf.TensorSpec([], tf.bool)
            )
        )
        self.assertLen(faults, 1)
        self.assertIn("GatherV2(uint8, int32)", next(iter(faults)))


if __name__ == "__main__":
    tf.test.main()
