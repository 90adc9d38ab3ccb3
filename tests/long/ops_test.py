"""Every form of the operations gives the same bytes, for grey images and in chains."""

import tensorflow as tf
from absl.testing import parameterized

from tests.conformance import ops_test
from tests.la_tf import policy_test


class FormsTest(ops_test.FormsTestCase):
    def test_every_form_gives_the_bytes_of_the_layers(self):
        for channels, num_stages in ((1, 1), (1, 2), (3, 3)):
            with self.subTest(channels=channels, num_stages=num_stages):
                self.assert_every_form_as_the_layers(channels, num_stages)


class PoliciesTest(policy_test.ApplyTestCase, parameterized.TestCase):
    @parameterized.parameters("latentaugment", "autoaugment")
    def test_host_and_device_forms_give_the_same_bytes(self, transforms):
        self.assert_host_as_device(transforms, num_seeds=5)


if __name__ == "__main__":
    tf.test.main()
