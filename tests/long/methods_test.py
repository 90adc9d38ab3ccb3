"""Every method repeats itself, goes on to the bit, and makes its views anywhere."""

import tensorflow as tf
from absl.testing import parameterized

from tests.conformance import methods_test

OTHERS = sorted(methods_test.RUNS.keys() - methods_test.QUICK_RUNS)


class RunsTest(methods_test.RunsTestCase, parameterized.TestCase):
    @parameterized.parameters(*OTHERS)
    def test_repeats_itself_and_resumes_to_the_bit(self, name):
        self.assert_resumes_to_the_bit(name)

    @parameterized.parameters(*methods_test.RUNS)
    def test_device_as_host(self, name):
        self.assert_device_as_host(name)


if __name__ == "__main__":
    tf.test.main()
