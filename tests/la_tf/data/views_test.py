"""K views of a batch: the same on host and device, fresh every epoch, reproducible."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

import la_tf
from la_tf.data import views
from tests import helper

SEEDS = [[3, 4], [5, 6]]


def _data(count=20, batch_size=8, **batch_options):
    images = helper.small_images(count)[:, :16, :16]
    labels = np.arange(count, dtype=np.int64) % 10
    data = tf.data.Dataset.from_tensor_slices((images, labels))
    return data.batch(batch_size, **batch_options)


class ViewMakerTest(tf.test.TestCase, parameterized.TestCase):
    def _batch(self, count=8, size=16):
        images = helper.small_images(count)[:, :size, :size]
        return tf.constant(images), tf.range(count) % 10, tf.constant(SEEDS)

    # The operations do not know which final step follows: once is enough.
    @parameterized.parameters(("cutmix", True), ("cutout", False))
    def test_host_and_device_give_the_same(self, final, operations):
        batch = self._batch()
        options = {"final": final, "cutmix_probability": 1.0, "operations": operations}
        host = views.ViewMaker(10, 4, **options)
        device = views.ViewMaker(10, 4, **options, on_host=False)
        eager = device.from_images(*batch)
        in_step = tf.function(device.from_images)(*batch)
        in_data = tf.data.Dataset.from_tensors(batch).map(host.from_images)
        self.assertEqual(in_data.element_spec[0].shape, [8, 4, 16, 16, 3])
        for one, two, three in zip(eager, in_step, next(iter(in_data))):
            self.assertAllEqual(one, two)
            self.assertAllEqual(one, three)

    def test_a_training_batch(self):
        maker = views.ViewMaker(10, 5, on_host=False, keep_early=True)
        images, labels, seeds = self._batch()
        result = maker.from_images(images, labels, seeds)
        shapes = [tuple(part.shape) for part in result]
        views_shape, labels_shape = (8, 5, 16, 16, 3), (8, 5, 10)
        self.assertEqual(
            shapes, [views_shape, labels_shape, (8, 5), views_shape, labels_shape]
        )
        types = [part.dtype for part in result]
        self.assertEqual(types, [tf.uint8, tf.float32, tf.int32, tf.uint8, tf.float32])
        for part in (result[1], result[4]):
            self.assertAllClose(tf.reduce_sum(part, axis=-1), tf.ones([8, 5]))

    def test_the_first_seed_alone_decides(self):
        maker = views.ViewMaker(10, 3, on_host=False)
        images, labels, _ = self._batch()
        first = maker.from_images(images, labels, tf.constant([[1, 2], [3, 4]]))
        again = maker.from_images(images, labels, tf.constant([[1, 2], [7, 8]]))
        other = maker.from_images(images, labels, tf.constant([[2, 2], [3, 4]]))
        self.assertAllEqual(first[0], again[0])
        self.assertNotAllEqual(first[0], other[0])

    def test_without_operations_only_the_crop_is_left(self):
        maker = views.ViewMaker(
            10, 2, operations=False, final="none", padding=0, flip=False
        )
        images, labels, seeds = self._batch()
        result, hot, policies = maker.from_images(images, labels, seeds)
        self.assertAllEqual(result, np.stack([images, images], axis=1))
        self.assertAllEqual(hot[:, 1], tf.one_hot(labels, 10))
        self.assertAllEqual(policies, np.zeros([8, 2]))

    def test_base_views_that_are_given_go_through_the_same_policies(self):
        images, labels, seeds = self._batch()
        maker = views.ViewMaker(10, 3, padding=0, flip=False, on_host=False)
        base = tf.stack([images] * 3, axis=1)
        from_base = maker.from_base_views(base, labels, seeds)
        for one, two in zip(from_base, maker.from_images(images, labels, seeds)):
            self.assertAllEqual(one, two)

    def test_grey_images(self):
        images, labels = helper.digits(6)
        for final in ("cutmix", "cutout"):
            maker = views.ViewMaker(10, 6, final=final, on_host=False)
            result = maker.from_images(images, tf.constant(labels), tf.constant(SEEDS))
            self.assertEqual(result[0].shape, [6, 6, 8, 8, 1])

    def test_says_what_is_wrong(self):
        images, labels, seeds = self._batch()
        with self.assertRaisesRegex(ValueError, "num_views is 257"):
            views.ViewMaker(10, 257)
        with self.assertRaisesRegex(ValueError, "final is 'blur'"):
            views.ViewMaker(10, final="blur")
        with self.assertRaisesRegex(ValueError, "num_classes is 0"):
            views.ViewMaker(0)
        maker = views.ViewMaker(10, 3, on_host=False)
        with self.assertRaisesRegex(ValueError, "shape"):
            maker.from_images(images[0], labels, seeds)
        with self.assertRaisesRegex(ValueError, "2 channels"):
            maker.from_images(images[..., :2], labels, seeds)
        with self.assertRaisesRegex(ValueError, "whole numbers"):
            maker.from_images(images, tf.one_hot(labels, 10), seeds)
        with self.assertRaisesRegex(ValueError, "there are 2 views"):
            maker.from_base_views(tf.stack([images] * 2, axis=1), labels, seeds)


class MakeViewsTest(tf.test.TestCase):
    # Crop, mirror and CutMix show the seeds; operations take ten times the tracing.
    def test_fresh_every_epoch_and_the_same_every_run(self):
        first, again, other = (
            la_tf.make_views(_data(), 10, 3, seed, operations=False)
            for seed in (7, 7, 8)
        )
        epochs = [[batch[0].numpy() for batch in first] for _ in range(2)]
        repeated = [[batch[0].numpy() for batch in again] for _ in range(2)]
        for one, two in zip(epochs[0] + epochs[1], repeated[0] + repeated[1]):
            self.assertAllEqual(one, two)
        self.assertNotAllEqual(epochs[0][0], epochs[1][0])
        self.assertNotAllEqual(epochs[0][0], next(iter(other))[0])
        # 20 images in batches of 8: the last one is smaller.
        self.assertEqual([len(batch) for batch in epochs[0]], [8, 8, 4])

    def test_the_number_of_threads_changes_nothing(self):
        results = []
        for threads in (1, 2):
            data = la_tf.make_views(_data(), 10, 3, operations=False)
            options = tf.data.Options()
            options.threading.private_threadpool_size = threads
            results.append(list(data.with_options(options)))
        for one, two in zip(*results):
            for left, right in zip(one, two):
                self.assertAllEqual(left, right)

    def test_a_run_restarts_in_its_middle_with_the_same_views(self):
        def run(first_step):
            data = _data(drop_remainder=True).repeat().skip(first_step).take(5)
            made = la_tf.make_views(
                data, 10, 3, seed=7, first_step=first_step, on_host=False
            )
            return list(made)[: 5 - first_step]

        whole, rest = run(0), run(3)
        for one, two in zip(whole[3:], rest):
            for left, right in zip(one, two):
                self.assertAllEqual(left, right)
        # The same two batches come again from step 2 on, under other policies.
        self.assertNotAllEqual(whole[0][2], whole[2][2])

    def test_static_shapes_are_kept(self):
        data = _data(drop_remainder=True)
        spec = la_tf.make_views(data, 10, 3, operations=False).element_spec
        self.assertEqual(spec[0].shape, [8, 3, 16, 16, 3])
        data = la_tf.make_views(_data(), 10, 3)
        self.assertEqual(data.element_spec[0].shape.as_list(), [None, 3, 16, 16, 3])
        self.assertEqual(data.element_spec[1].shape.as_list(), [None, 3, 10])
        # The compiled program takes batches of several sizes.
        self.assertEqual([len(batch[0]) for batch in data], [8, 8, 4])

    def test_says_what_is_wrong_with_a_dataset(self):
        data = _data()
        with self.assertRaisesRegex(ValueError, r"batches \(images, labels\)"):
            la_tf.make_views(data.map(lambda images, labels: images), 10)
        with self.assertRaisesRegex(ValueError, "images are uint8"):
            la_tf.make_views(data.unbatch(), 10)
        with self.assertRaisesRegex(ValueError, "labels are float32"):
            hot = data.map(lambda images, labels: (images, tf.one_hot(labels, 10)))
            la_tf.make_views(hot, 10)


if __name__ == "__main__":
    tf.test.main()
