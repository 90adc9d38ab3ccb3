"""Every method repeats itself and goes on to the bit."""

import tensorflow as tf
from absl.testing import parameterized

from tests.conformance import methods_test

OTHERS = sorted(methods_test.RUNS.keys() - methods_test.QUICK_RUNS)


class RunsTest(methods_test.RunsTestCase, parameterized.TestCase):
    @parameterized.parameters(*OTHERS)
    def test_repeats_itself_and_resumes_to_the_bit(self, name):
        self.assert_resumes_to_the_bit(name)


if __name__ == "__main__":
    tf.test.main()
