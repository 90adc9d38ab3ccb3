"""Views with all operations are the same from the host and from the device."""

import tensorflow as tf

import la_tf
from tests.la_tf.data import views_test


class ViewsTest(views_test.ViewsTestCase):
    def test_host_and_device_give_the_same(self):
        self.assert_host_as_device(final="cutmix", cutmix_probability=1.0)

    def test_the_compiled_program_takes_batches_of_several_sizes(self):
        data = la_tf.make_views(views_test.batched(), 10, 3)
        self.assertEqual(data.element_spec[0].shape.as_list(), [None, 3, 16, 16, 3])
        self.assertEqual([len(batch[0]) for batch in data], [8, 8, 4])


if __name__ == "__main__":
    tf.test.main()
