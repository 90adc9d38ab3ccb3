"""CutMix and Cutout against what NumPy reads off, and draws of NumPy's own."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from scipy import stats

from la_tf.data import final
from tests import helper

NO_BOX = (0, 0, 0, 0)


def numbered_views(batch, num_views, height, width, channels=3):
    """Flat views whose colour is their own number b * K + k."""
    numbers = np.arange(batch * num_views, dtype=np.uint8)
    numbers = numbers.reshape(batch, num_views, 1, 1, 1)
    return np.tile(numbers, [1, 1, height, width, channels])


def one_hot(batch, num_views):
    """Labels that name the image: [B, K, B]."""
    return np.tile(np.eye(batch, dtype=np.float32)[:, None], [1, num_views, 1])


def box_of(mask):
    """The box (top, bottom, left, right) that a mask [H, W] is; fails if it is none."""
    if not mask.any():
        return NO_BOX
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    assert mask[top:bottom, left:right].all()
    assert mask.sum() == (bottom - top) * (right - left)
    return top, bottom, left, right


def area(box):
    return (box[1] - box[0]) * (box[3] - box[2])


class CutMixTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters((32, 32, 3), (15, 24, 1))
    def test_every_view_shows_one_box_of_its_partner(self, height, width, channels):
        views = numbered_views(8, 3, height, width, channels)
        labels = one_hot(8, 3)
        boxes = 0
        for seed in range(12):
            mixed, mixed_labels = final.cutmix(views, labels, (seed, 1), probability=1)
            mixed, changed = mixed.numpy(), (mixed != views).numpy()
            self.assertAllEqual(changed.any(-1), changed.all(-1))
            found = {
                box_of(mask) for mask in changed.any(-1).reshape(-1, height, width)
            }
            # A view whose partner is itself shows no box; all others show the same.
            self.assertLessEqual(len(found - {NO_BOX}), 1)
            box = max(found, key=area)
            boxes += box != NO_BOX
            inside = mixed[:, :, box[0] : box[1], box[2] : box[3]]
            inside = inside.reshape(8, 3, -1)
            partners = inside[:, :, 0] if area(box) else None
            self._check_labels(mixed_labels, partners, area(box) / (height * width))
        self.assertGreater(boxes, 8)

    def _check_labels(self, mixed_labels, partners, inside):
        self.assertAllClose(np.sum(mixed_labels, axis=-1), np.ones([8, 3]), atol=1e-6)
        if not inside:
            self.assertAllEqual(mixed_labels, one_hot(8, 3))
            return
        self.assertAllEqual(partners % 3, np.tile(np.arange(3), [8, 1]))
        images = partners // 3
        self.assertAllEqual(np.sort(images, axis=0), np.tile(np.arange(8)[:, None], 3))
        expected = (1 - inside) * one_hot(8, 3) + inside * np.eye(8)[images]
        self.assertAllClose(mixed_labels, expected, atol=1e-6)

    def test_pixels_of_real_images(self):
        views = helper.small_images(24).reshape(8, 3, 32, 32, 3)
        mark = numbered_views(8, 3, 32, 32)
        both = np.concatenate([views, mark], axis=-1)
        mixed, _ = final.cutmix(both, one_hot(8, 3), (2, 1), probability=1)
        mixed = mixed.numpy()
        source = mixed[..., 3]
        rows, columns = np.indices([32, 32])
        flat = views.reshape(24, 32, 32, 3)
        self.assertAllEqual(mixed[..., :3], flat[source, rows, columns])
        self.assertGreater(np.mean(mixed[..., 3:] != mark), 0.05)

    def test_the_share_has_the_distribution_of_the_paper(self):
        # The reference draws λ and the box by NumPy as CutMix's authors do.
        generator = np.random.default_rng(0)
        count, side = 4000, 32
        half = (side * np.sqrt(1 - generator.beta(1, 1, count))).astype(int) // 2
        centres = generator.integers(0, side, [2, count])
        sides = np.minimum(centres + half, side) - np.maximum(centres - half, 0)
        expected = 1 - np.prod(sides, axis=0) / side**2

        views, labels = np.zeros([2, 1, side, side, 1], np.uint8), one_hot(2, 1)
        dataset = tf.data.Dataset.range(count).map(
            lambda index: final.cutmix(views, labels, tf.stack([index, 3]), 1.0)[1]
        )
        shares = np.stack(list(dataset.as_numpy_iterator()))[:, 0, 0, 0]
        # With two images half of the partners are the image itself: its share is 1.
        shares, expected = shares[shares < 0.9999], expected[expected < 0.9999]
        self.assertGreater(len(shares), 1800)
        self.assertGreater(stats.ks_2samp(shares, expected).pvalue, 1e-3)

    def test_the_coin_is_tossed_once_a_batch(self):
        views, labels = numbered_views(4, 2, 8, 8), one_hot(4, 2)

        def touched(index, probability):
            mixed, _ = final.cutmix(views, labels, tf.stack([index, 0]), probability)
            return tf.reduce_any(mixed != views)

        for probability, low, high in ((0.0, 0, 0), (0.5, 160, 240), (1.0, 330, 400)):
            dataset = tf.data.Dataset.range(400)
            dataset = dataset.map(lambda index, p=probability: touched(index, p))
            count = sum(dataset.as_numpy_iterator())
            self.assertBetween(count, low, high)

    def test_eager_and_graph_agree(self):
        views = helper.small_images(24).reshape(8, 3, 32, 32, 3)
        labels = one_hot(8, 3)
        for shape in ([None, 3, 32, 32, 3], [None] * 5):
            graph = tf.function(
                lambda views, labels, seed: final.cutmix(views, labels, seed),
                input_signature=[
                    tf.TensorSpec(shape, tf.uint8),
                    tf.TensorSpec([None, None, 8], tf.float32),
                    tf.TensorSpec([2], tf.int32),
                ],
            )
            for seed in ((0, 0), (0, 1), (0, 2), (0, 3)):
                eager = final.cutmix(views, labels, seed)
                for one, other in zip(graph(views, labels, seed), eager):
                    self.assertAllEqual(one, other)
            static_shape = graph.get_concrete_function().output_shapes[0]
            self.assertEqual(static_shape.as_list(), shape)

    def test_dtypes_stay(self):
        views = numbered_views(4, 2, 8, 8)
        expected = final.cutmix(views, one_hot(4, 2), (0, 0), probability=1)
        for dtype in (tf.float32, tf.float16, tf.int32):
            mixed, labels = final.cutmix(
                tf.cast(views, dtype), tf.cast(one_hot(4, 2), tf.float16), (0, 0), 1
            )
            self.assertEqual((mixed.dtype, labels.dtype), (dtype, tf.float16))
            self.assertAllEqual(tf.cast(mixed, tf.uint8), expected[0])

    def test_bad_arguments(self):
        views, labels = numbered_views(2, 2, 8, 8), one_hot(2, 2)
        with self.assertRaisesRegex(ValueError, "probability"):
            final.cutmix(views, labels, (0, 0), probability=1.5)
        with self.assertRaisesRegex(ValueError, "floating point"):
            final.cutmix(views, labels.astype(np.int32), (0, 0))
        with self.assertRaisesRegex(ValueError, r"\[B, K, H, W, C\]"):
            final.cutmix(views[0], labels, (0, 0))


class CutoutTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters((32, 32, 16), (32, 32, 20), (15, 24, 7), (8, 8, 1))
    def test_one_square_an_image_clipped_at_the_border(self, height, width, size):
        views = np.zeros([300, 2, height, width, 3], np.uint8)
        cut = final.cutout(views, (1, 2), size, (125.3, 122.95, 113.9)).numpy()
        filled = cut[..., 0] == 125
        expected = np.where(filled[..., None], np.array([125, 123, 114]), views)
        self.assertAllEqual(cut, expected)
        self.assertAllEqual(filled[:, 0], filled[:, 1])
        boxes = np.array([box_of(mask) for mask in filled[:, 0]])
        for length, begins, ends in (
            (height, boxes[:, 0], boxes[:, 1]),
            (width, boxes[:, 2], boxes[:, 3]),
        ):
            # What the border hides follows from what is seen, so the centre does too.
            tops = np.where(begins > 0, begins, ends - size)
            self.assertAllEqual(begins, np.maximum(tops, 0))
            self.assertAllEqual(ends, np.minimum(tops + size, length))
            counts = np.bincount(tops + size // 2, minlength=length)
            self.assertLen(counts, length)
            self.assertGreater(stats.chisquare(counts).pvalue, 1e-3)

    def test_no_square_and_a_square_over_everything(self):
        views = helper.small_images(24).reshape(8, 3, 32, 32, 3)
        self.assertAllEqual(final.cutout(views, (0, 0), 0, 7), views)
        self.assertAllEqual(final.cutout(views, (0, 0), 64, 7), np.full_like(views, 7))

    def test_pixels_outside_the_square_stay(self):
        views = helper.small_images(24).reshape(8, 3, 32, 32, 3)
        square = final.cutout(np.zeros_like(views), (4, 2), 16, 1).numpy() > 0
        cut = final.cutout(views, (4, 2), 16, (9, 8, 7))
        self.assertAllEqual(cut, np.where(square, np.array([9, 8, 7]), views))

    def test_eager_graph_and_dtypes_agree(self):
        views = helper.small_images(24).reshape(8, 3, 32, 32, 3)
        eager = final.cutout(views, (0, 5), 16, 128)
        self.assertNotAllEqual(eager, final.cutout(views, (0, 6), 16, 128))
        for dtype in (tf.uint8, tf.float32, tf.float16):
            for shape in ([None, 3, 32, 32, 3], [None] * 5):
                graph = tf.function(
                    lambda views: final.cutout(views, (0, 5), 16, 128),
                    input_signature=[tf.TensorSpec(shape, dtype)],
                )
                cut = graph(tf.cast(views, dtype))
                self.assertEqual(cut.dtype, dtype)
                self.assertAllEqual(cut, tf.cast(eager, dtype))

    def test_bad_arguments(self):
        views = numbered_views(2, 2, 8, 8)
        with self.assertRaisesRegex(ValueError, "size"):
            final.cutout(views, (0, 0), -1, 0)
        with self.assertRaisesRegex(ValueError, "0..255"):
            final.cutout(views, (0, 0), 4, 256)
        with self.assertRaisesRegex(ValueError, "2 values for 3 channels"):
            final.cutout(views, (0, 0), 4, (1, 2))


if __name__ == "__main__":
    tf.test.main()
