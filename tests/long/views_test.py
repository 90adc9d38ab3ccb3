"""Views with all operations are the same from the host and from the device."""

import tensorflow as tf

import la_tf
from la_tf.data import inception
from tests import helper
from tests.la_tf.data import inception_test, splits_test, views_test


class ViewsTest(views_test.ViewsTestCase):
    def test_host_and_device_give_the_same(self):
        self.assert_host_as_device(final="cutmix", cutmix_probability=1.0)

    def test_a_part_of_a_batch_is_as_in_the_whole(self):
        self.assert_part_as_in_the_whole(on_host=False)

    def test_the_compiled_program_takes_batches_of_several_sizes(self):
        data = la_tf.make_views(views_test.batched(), 10, 3)
        self.assertEqual(data.element_spec[0].shape.as_list(), [None, 3, 16, 16, 3])
        self.assertEqual([len(batch[0]) for batch in data], [8, 8, 4])


class SplitsTest(splits_test.SplitsTestCase):
    def test_views_of_png_files_are_mirrored_only_where_that_is_wanted(self):
        self.assert_mirrored_only_where_that_is_wanted("png")


class PhotographsTest(tf.test.TestCase):
    def test_eager_graph_and_dataset_agree(self):
        files = [path.read_bytes() for path in helper.flower_files()[:2]]
        files += [
            inception_test.encode(inception_test.photograph()),
            inception_test.encode(inception_test.photograph(), "PNG"),
        ]
        for num_views in (1, 3):
            eager = [
                inception.training_views(file, num_views, 48, (0, index))
                for index, file in enumerate(files)
            ]
            dataset = tf.data.Dataset.from_tensor_slices(files).enumerate()
            dataset = dataset.map(
                lambda index, file, num_views=num_views: inception.training_views(
                    file, num_views, 48, tf.stack([0, tf.cast(index, tf.int32)])
                ),
                num_parallel_calls=2,
            )
            self.assertEqual(dataset.element_spec.shape[1:], [48, 48, 3])
            for one, other in zip(dataset, eager):
                self.assertAllEqual(one, other)


if __name__ == "__main__":
    tf.test.main()
