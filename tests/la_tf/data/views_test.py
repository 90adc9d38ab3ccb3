"""K views of a batch: the same on host and device, fresh every epoch, reproducible."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

import la_tf
from la_tf.data import views
from tests import helper

SEEDS = [[3, 4], [5, 6]]


def batched(count=20, batch_size=8, **batch_options):
    images = helper.small_images(count)[:, :16, :16]
    labels = np.arange(count, dtype=np.int64) % 10
    data = tf.data.Dataset.from_tensor_slices((images, labels))
    return data.batch(batch_size, **batch_options)


class ViewsTestCase(tf.test.TestCase):
    def _batch(self, count=8, size=16):
        images = helper.small_images(count)[:, :size, :size]
        return tf.constant(images), tf.range(count) % 10, tf.constant(SEEDS)

    def assert_host_as_device(self, compiled=True, **options):
        batch = self._batch()
        host = views.ViewMaker(10, 4, **options)
        device = views.ViewMaker(10, 4, **options, on_host=False)
        in_step = (device.from_images if compiled else device.on_device)(*batch)
        in_data = tf.data.Dataset.from_tensors(batch).map(host.from_images)
        self.assertEqual(in_data.element_spec[0].shape, [8, 4, 16, 16, 3])
        for one, two in zip(in_step, next(iter(in_data))):
            self.assertAllEqual(one, two)

    def assert_part_as_in_the_whole(self, on_host):
        options = {"operations": False, "keep_early": True, "cutmix_probability": 1.0}
        maker = views.ViewMaker(10, 2, **options, on_host=on_host)
        batch, places = self._batch(), tf.constant([5, 2], tf.int64)
        whole = maker.from_images(*batch)
        for part, all_of_it in zip(maker.from_images(*batch, places), whole):
            self.assertAllEqual(part, tf.gather(all_of_it, places))


class ViewMakerTest(ViewsTestCase, parameterized.TestCase):
    def test_host_and_device_give_the_same(self):
        # Compiled and with operations, and a part of a batch:
        # `tests/long/views_test.py`.
        self.assert_host_as_device(compiled=False, final="cutout", operations=False)

    def test_a_training_batch(self):
        maker = views.ViewMaker(10, 3, keep_early=True)
        images, labels, seeds = self._batch()
        result = maker.from_images(images, labels, seeds)
        shapes = [tuple(part.shape) for part in result]
        views_shape, labels_shape = (8, 3, 16, 16, 3), (8, 3, 10)
        self.assertEqual(
            shapes, [views_shape, labels_shape, (8, 3), views_shape, labels_shape]
        )
        types = [part.dtype for part in result]
        self.assertEqual(types, [tf.uint8, tf.float32, tf.int32, tf.uint8, tf.float32])
        for part in (result[1], result[4]):
            self.assertAllClose(tf.reduce_sum(part, axis=-1), tf.ones([8, 3]))

    def test_the_first_seed_alone_decides(self):
        maker = views.ViewMaker(10, 3)
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
        maker = views.ViewMaker(10, 3, padding=0, flip=False)
        base = tf.stack([images] * 3, axis=1)
        from_base = maker.from_base_views(base, labels, seeds)
        for one, two in zip(from_base, maker.from_images(images, labels, seeds)):
            self.assertAllEqual(one, two)

    def test_a_part_of_a_batch_is_as_in_the_whole(self):
        self.assert_part_as_in_the_whole(on_host=True)

    def test_grey_images(self):
        images, labels = helper.digits(6)
        for final in ("cutmix", "cutout"):
            maker = views.ViewMaker(10, 6, final=final)
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
        maker = views.ViewMaker(10, 3)
        with self.assertRaisesRegex(ValueError, "shape"):
            maker.from_images(images[0], labels, seeds)
        with self.assertRaisesRegex(ValueError, "2 channels"):
            maker.from_images(images[..., :2], labels, seeds)
        with self.assertRaisesRegex(ValueError, "whole numbers"):
            maker.from_images(images, tf.one_hot(labels, 9)[..., 0], seeds)
        with self.assertRaisesRegex(ValueError, "there are 2 views"):
            maker.from_base_views(tf.stack([images] * 2, axis=1), labels, seeds)


class MakeViewsTest(tf.test.TestCase):
    # Crop, mirror and CutMix show the seeds; operations take ten times the tracing.
    def test_fresh_every_epoch_and_the_same_every_run(self):
        first, again, other = (
            la_tf.make_views(batched(), 10, 3, seed, operations=False)
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
            data = la_tf.make_views(batched(), 10, 3, operations=False)
            options = tf.data.Options()
            options.threading.private_threadpool_size = threads
            results.append(list(data.with_options(options)))
        for one, two in zip(*results):
            for left, right in zip(one, two):
                self.assertAllEqual(left, right)

    def test_a_run_restarts_in_its_middle_with_the_same_views(self):
        def run(first_step):
            data = batched(drop_remainder=True).repeat().skip(first_step).take(5)
            made = la_tf.make_views(
                data, 10, 3, seed=7, first_step=first_step, operations=False
            )
            return list(made)[: 5 - first_step]

        whole, rest = run(0), run(3)
        for one, two in zip(whole[3:], rest):
            for left, right in zip(one, two):
                self.assertAllEqual(left, right)
        # The same two batches come again from step 2 on, cropped otherwise.
        self.assertNotAllEqual(whole[0][0], whole[2][0])

    def test_static_shapes_are_kept(self):
        data = batched(drop_remainder=True)
        spec = la_tf.make_views(data, 10, 3, operations=False).element_spec
        self.assertEqual(spec[0].shape, [8, 3, 16, 16, 3])
        self.assertEqual(spec[1].shape, [8, 3, 10])
        data = la_tf.make_views(batched(), 10, 3, operations=False)
        self.assertEqual(data.element_spec[0].shape.as_list(), [None, 3, 16, 16, 3])
        self.assertEqual(data.element_spec[1].shape.as_list(), [None, 3, 10])


def _plain(data, **options):
    """The images, labels and weights that the views of a dataset's only batch show."""
    views, labels, _, *weights = next(
        iter(
            la_tf.make_views(
                tf.data.Dataset.from_tensors(data),
                10,
                num_views=1,
                operations=False,
                final="none",
                padding=0,
                flip=False,
                **options,
            )
        )
    )
    return views[:, 0], labels[:, 0], *weights


class UsersBatchesTest(tf.test.TestCase, parameterized.TestCase):
    """Whatever form a dataset has, the views come from the same bytes and labels."""

    def setUp(self):
        super().setUp()
        self.images = helper.small_images(8)[:, :16, :16]
        self.labels = np.arange(8, dtype=np.int64)

    def assert_error(self, sentence, *data, **options):
        # In the graph it is TensorFlow's error, before it a ValueError.
        with self.assertRaisesRegex((ValueError, tf.errors.OpError), sentence):
            _plain(data if len(data) > 1 else data[0], **options)

    @parameterized.parameters(
        ((0, 255), tf.float32), ((0, 255), tf.float16), ((0, 1), tf.float32)
    )
    def test_floats_in_the_declared_range(self, value_range, dtype):
        images = tf.cast(self.images / (255 / value_range[1]), dtype)
        found, _ = _plain((images, self.labels), value_range=value_range)
        self.assertAllEqual(found, self.images)

    def test_the_range_is_never_guessed(self):
        dark = np.full([2, 8, 8, 3], 0.6, np.float32)
        found, _ = _plain((dark, [1, 2]), value_range=(0, 255))
        self.assertAllEqual(found, np.ones([2, 8, 8, 3]))
        found, _ = _plain((dark, [1, 2]), value_range=(0, 1))
        self.assertAllEqual(found, np.full([2, 8, 8, 3], 153))
        self.assert_error("say by value_range", dark, [1, 2])

    @parameterized.parameters(-0.01, 1.01, np.nan)
    def test_values_outside_the_range(self, value):
        images = np.full([2, 8, 8, 3], 0.5, np.float32)
        images[1, 2, 3, 1] = value
        sentence = r"outside value_range=\(0, 1\), or NaN"
        self.assert_error(sentence, images, [1, 2], value_range=(0, 1))

    @parameterized.named_parameters(
        ("numbers", lambda labels: labels),
        ("column", lambda labels: labels[:, np.newaxis]),
        ("float column", lambda labels: labels[:, np.newaxis].astype(np.float32)),
        ("bytes", lambda labels: labels.astype(np.uint8)),
        ("one-hot", lambda labels: np.eye(10, dtype=np.float32)[labels]),
        ("whole one-hot", lambda labels: np.eye(10, dtype=np.int64)[labels]),
    )
    def test_labels(self, form):
        _, found = _plain((self.images, form(self.labels)))
        self.assertAllEqual(found, np.eye(10)[self.labels])

    def test_soft_labels(self):
        soft = 0.9 * np.eye(10, dtype=np.float32)[self.labels] + 0.01
        _, found = _plain((self.images, soft))
        self.assertAllEqual(found, soft)
        self.assert_error("each row adds up to 1", self.images, 2 * soft)

    @parameterized.parameters(10, -1)
    def test_labels_out_of_range(self, label):
        self.labels[3] = label
        self.assert_error("a label is none of 0 to 9", self.images, self.labels)

    def test_labels_that_are_no_whole_numbers(self):
        self.assert_error("a label is none of", self.images, self.labels + 0.5)

    def test_dictionaries(self):
        data = {"images": self.images, "labels": self.labels, "boxes": self.labels}
        found, labels = _plain(data)
        self.assertAllEqual(found, self.images)
        self.assertAllEqual(labels, np.eye(10)[self.labels])

    @parameterized.parameters(False, True)
    def test_sample_weights_come_last(self, keep_early):
        weights = np.linspace(0, 2, 8)
        for form in (weights, weights[:, np.newaxis], np.arange(8)):
            *_, found = _plain((self.images, self.labels, form), keep_early=keep_early)
            self.assertEqual((found.dtype, found.shape), (tf.float32, [8]))
            self.assertAllClose(found, np.ravel(form))
        weights[5] = -1
        self.assert_error("weight is negative", self.images, self.labels, weights)

    def test_class_weights_make_sample_weights(self):
        weights, of_classes = np.linspace(0, 2, 8), {3: 2.5, 0: 0.5}
        factors = np.array([of_classes.get(label, 1.0) for label in self.labels])
        hot = np.eye(10, dtype=np.float32)[self.labels]
        # Half of the next class, as if it had been mixed before.
        soft = (hot + np.roll(hot, 1, 1)) / 2
        following = [of_classes.get((label + 1) % 10, 1.0) for label in self.labels]
        for parts, expected in (
            ((self.labels,), factors),
            ((hot,), factors),
            ((soft,), (factors + following) / 2),
            ((self.labels, weights), weights * factors),
        ):
            *_, found = _plain((self.images, *parts), class_weight=of_classes)
            self.assertAllClose(found, expected)
        for wrong in ({10: 1.0}, {0: -1.0}, {"cat": 1.0}):
            self.assert_error(
                "class_weight holds", self.images, self.labels, class_weight=wrong
            )

    def test_says_what_is_wrong_with_a_dataset(self):
        images, labels = self.images, self.labels
        self.assert_error(r"must give batches \(images, labels\)", images)
        self.assert_error(r"must give batches", {"image": images, "label": labels})
        self.assert_error(r"dataset\.batch\(128\)", images[0], labels[0])
        self.assert_error("have the shape", images[:, 0, 0], labels)
        self.assert_error("images are int32", images.astype(np.int32), labels)
        self.assert_error("are uint8", images, labels, value_range=(0, 1))
        floats = images.astype(np.float32)
        self.assert_error("value_range is", floats, labels, value_range=(1, 0))
        hot = np.eye(7, dtype=np.float32)[labels % 7]
        self.assert_error(r"float32 \(8, 7\); for 10 classes", images, hot)
        self.assert_error("labels are string", images, labels.astype(str))
        self.assert_error("sample weights are float64", images, labels, np.ones([8, 2]))


if __name__ == "__main__":
    tf.test.main()
