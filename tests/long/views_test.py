"""Views with all operations are the same from the host and from the device."""

import tensorflow as tf

from tests.la_tf.data import views_test


class ViewsTest(views_test.ViewsTestCase):
    def test_host_and_device_give_the_same(self):
        self.assert_host_as_device(final="cutmix", cutmix_probability=1.0)


if __name__ == "__main__":
    tf.test.main()
