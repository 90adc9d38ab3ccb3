"""What every kind of split must do alike, whether in memory or on disk."""

import pathlib

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

from la_tf import draws
from la_tf.data import batches, sources
from la_tf.data.sources import streams
from la_tf.data.views import ViewMaker

SIDE, COUNT = 16, 8


def ramp():
    """A grey picture whose left half is black and whose right half is white."""
    picture = np.zeros([SIDE, SIDE, 3], np.uint8)
    picture[:, SIDE // 2 :] = 255
    return picture


def base_views(split, flip):
    """All base views of an epoch, uint8 [images, K, H, W, C]."""
    maker = ViewMaker(
        2, num_views=2, operations=False, final="none", padding=0, flip=flip
    )
    plan = batches.plan(split, seed=5, batch_size=4, epochs=1)
    made = batches.training(split, maker, plan)
    return np.concatenate([views.numpy() for views, _, _ in made])


class SplitsTestCase(tf.test.TestCase):
    def split(self, kind):
        """A split of that kind with eight copies of the ramp."""
        labels = np.arange(COUNT, dtype=np.int32) % 2
        if kind == "arrays":
            return sources.Arrays(np.stack([ramp()] * COUNT), labels)
        folder = pathlib.Path(self.create_tempdir().full_path)
        paths = [str(folder / f"{index}.{kind}") for index in range(COUNT)]
        for path in paths:
            Image.fromarray(ramp()).save(path)
        return streams.Files(paths, labels, SIDE)

    def assert_mirrored_only_where_that_is_wanted(self, kind):
        split = self.split(kind)
        for flip in (False, True):
            views = base_views(split, flip).astype(np.int32)
            # Negative where a view is mirrored; 0 for a crop of one half alone.
            slope = np.sign(
                views[..., -1, :].sum((2, 3)) - views[..., 0, :].sum((2, 3))
            )
            self.assertEqual((slope < 0).any(), flip)
            self.assertTrue((slope > 0).any())


class SplitsTest(SplitsTestCase, parameterized.TestCase):
    @parameterized.parameters("arrays", "jpg")
    def test_views_are_mirrored_only_where_that_is_wanted(self, kind):
        self.assert_mirrored_only_where_that_is_wanted(kind)

    def test_a_view_on_its_own_is_not_mirrored_either(self):
        # One view of a JPEG is decoded in another way than several.
        file = tf.io.encode_jpeg(ramp())
        maker = ViewMaker(2, num_views=1, operations=False, flip=False)
        for seed in range(20):
            view = maker.crop_photograph(file, SIDE, [seed, 0])[0].numpy()
            self.assertGreaterEqual(int(view[:, -1].sum()), int(view[:, 0].sum()))

    def test_a_split_gives_its_test_images_in_order(self):
        for kind in ("arrays", "png"):
            split = self.split(kind)
            examples = list(split.evaluation_examples())
            self.assertEqual([int(label) for _, label in examples], [0, 1] * 4)
            self.assertEqual(examples[0][0].shape, [SIDE, SIDE, 3])


class OrderTest(tf.test.TestCase):
    def orders(self, seeds, epochs, size=1000, places=8):
        """The first images of many orders; so many are hardly ever alike by chance."""
        first = tf.range(places)

        @tf.function
        def all_orders():
            return tf.map_fn(
                lambda pair: draws.order(first, size, pair[0], pair[1]),
                tf.constant([(s, e) for s in seeds for e in epochs], tf.int64),
            )

        return {tuple(order) for order in all_orders().numpy().tolist()}

    def test_no_order_comes_twice_in_1800_epochs(self):
        self.assertLen(self.orders([0], range(1800)), 1800)

    def test_seeds_do_not_share_orders(self):
        seeds = [0, 1, 255, 256, 257, 512, 1 << 20, 1 << 40]
        self.assertLen(self.orders(seeds, range(0, 1024, 64)), 8 * 16)

    def test_an_order_holds_every_image_once(self):
        for size in (1, 2, 257, 1000):
            order = draws.order(tf.range(size), size, 3, 300)
            self.assertAllEqual(tf.sort(order), tf.range(size, dtype=tf.int64))

    def test_files_have_an_order_of_their_own_in_every_epoch(self):
        split = streams.Files([str(index) for index in range(40)], range(40))
        orders = {
            tuple(streams.permutation(split.size, 0, epoch).numpy())
            for epoch in (0, 1, 256, 257, 512)
        }
        self.assertLen(orders, 5)


class CutTest(tf.test.TestCase, parameterized.TestCase):
    def batches(self, size):
        """Two batches whose parts all tell the image's number."""
        numbers = np.arange(2 * size)
        images = np.broadcast_to(numbers[:, None, None], [2 * size, 3, 2])
        data = tf.data.Dataset.from_tensor_slices((images, numbers))
        return data.batch(size)

    @parameterized.parameters(1, 2, 3)
    def test_pieces_follow_each_other(self, pieces):
        cut = list(batches._cut(self.batches(6), pieces))
        self.assertLen(cut, 2 * pieces)
        share = 6 // pieces
        for index, (images, numbers) in enumerate(cut):
            expected = np.arange(index * share, (index + 1) * share)
            self.assertAllEqual(numbers, expected)
            self.assertEqual(images.shape, [share, 3, 2])
            self.assertAllEqual(images[:, 1, 1], expected)

    def test_parts_that_are_not_cut_come_with_the_places_of_the_piece(self):
        cut = list(batches._cut(self.batches(6), 3, whole=1))
        self.assertLen(cut, 6)
        for index, (images, places, numbers) in enumerate(cut):
            self.assertAllEqual(images[:, 0, 0], np.arange(6) + index // 3 * 6)
            self.assertAllEqual(tf.gather(images[:, 0, 0], places), numbers)
            self.assertAllEqual(places, np.arange(2) + index % 3 * 2)

    def test_a_batch_that_cannot_be_cut_evenly_is_refused(self):
        with self.assertRaises(tf.errors.InvalidArgumentError):
            list(batches._cut(self.batches(5), 2))


if __name__ == "__main__":
    tf.test.main()
