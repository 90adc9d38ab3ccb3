"""Every form of the operations gives the same bytes for grey images, and alone."""

import tensorflow as tf

from tests.conformance import ops_test


class FormsTest(ops_test.FormsTestCase):
    def test_every_form_gives_the_bytes_of_the_layers(self):
        for num_stages in (1, 2):
            with self.subTest(num_stages):
                self.assert_every_form_as_the_layers(channels=1, num_stages=num_stages)


if __name__ == "__main__":
    tf.test.main()
