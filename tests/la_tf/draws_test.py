"""Draws are TensorFlow's own of Philox, compiled or not."""

import tensorflow as tf
from absl.testing import parameterized

from la_tf import draws

# Small, negative, and with bits in both halves of its words.
SEEDS = ([1, 2], [-5, 2**31 - 1], [2**62 + 12345, -(2**60)])


def theirs(shape, seed, dtype, low=None, high=None):
    return tf.random.stateless_uniform(shape, seed, low, high, dtype, alg="philox")


class DrawsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(False, True)
    def test_they_are_tensorflow_s(self, jit_compile):
        @tf.function(jit_compile=jit_compile, autograph=False)
        def ours(seed):
            return (
                draws.bits([3, 2], seed, tf.int32),
                draws.below([7], seed, 1000),
                tf.stack(draws.split(seed, 3)),
                draws.fold(seed, 5, 6),
            )

        for seed in SEEDS:
            seed = tf.constant(seed, tf.int64)
            numbers, limited, parts, folded = ours(seed)
            self.assertAllEqual(numbers, theirs([3, 2], seed, tf.int32))
            self.assertAllEqual(limited, theirs([7], seed, tf.int32, 0, 1000))
            self.assertAllEqual(parts, tf.random.split(seed, 3, alg="philox"))
            for value in (5, 6):
                seed = tf.random.experimental.stateless_fold_in(
                    seed, tf.constant(value, tf.int64), alg="philox"
                )
            self.assertAllEqual(folded, seed)

    def test_uniform_numbers_fill_their_range(self):
        numbers = draws.uniform([4000], [1, 2], -1.0, 3.0)
        self.assertAllInRange(numbers, -1.0, 3.0, open_upper_bound=True)
        self.assertAllClose(tf.reduce_mean(numbers), 1.0, atol=0.1)
        self.assertAllClose(tf.math.reduce_std(numbers), 4 / 12**0.5, atol=0.1)


if __name__ == "__main__":
    tf.test.main()
