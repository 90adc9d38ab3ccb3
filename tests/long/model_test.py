"""A step that XLA compiles is like any other."""

import tensorflow as tf

from tests.la_tf import model_test


class HandTest(model_test.HandTestCase):
    def test_step(self):
        self.assert_step({"jit_compile": True})


class NonFiniteTest(model_test.NonFiniteTestCase):
    def test_skip_leaves_no_trace_but_a_count(self):
        options = {"compiled": {"jit_compile": True}}
        self.assert_skip_leaves_no_trace_but_a_count(options)


if __name__ == "__main__":
    tf.test.main()
