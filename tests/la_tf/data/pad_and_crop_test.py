"""Crops and flips against NumPy's padding, slicing and reversing."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from scipy import stats

from la_tf.data import pad_and_crop
from tests import helper


def numbered(batch, height, width):
    """Images [B, H, W, 2] of (image, pixel) numbers, so that a view tells its draw."""
    pixels = np.arange(1, height * width + 1).reshape(height, width)
    images = np.zeros([batch, height, width, 2], np.int32)
    images[..., 0] = np.arange(1, batch + 1)[:, None, None]
    images[..., 1] = pixels
    return images


def draw_of(view, padding):
    """The draw (top, left, mirrored) that a view of a numbered image shows."""
    height, width, _ = view.shape
    # The crop moves by less than half the side, so its middle shows the image.
    row, column = height // 2, width // 2
    number, neighbour = view[row, column, 1] - 1, view[row, column + 1, 1] - 1
    mirrored = neighbour < number
    source_row, source_column = divmod(number, width)
    if mirrored:
        source_column = width - 1 - source_column
    return source_row - row + padding, source_column - column + padding, mirrored


def crop(image, top, left, mirrored, padding):
    """The view that a draw means, by NumPy."""
    height, width, _ = image.shape
    image = image[:, ::-1] if mirrored else image
    padded = np.pad(image, [(padding, padding), (padding, padding), (0, 0)])
    return padded[top : top + height, left : left + width]


class PadCropFlipTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(
        (12, 12, 4, True), (9, 14, 3, True), (13, 11, 1, False), (11, 9, 0, True)
    )
    def test_every_view_is_a_crop_of_its_image(self, height, width, padding, flip):
        images = numbered(5, height, width)
        views = pad_and_crop.pad_crop_flip(images, 7, (3, 4), padding, flip).numpy()
        self.assertEqual(views.shape, (5, 7, height, width, 2))
        for image, its_views in zip(images, views):
            for view in its_views:
                draw = draw_of(view, padding)
                self.assertAllEqual(view, crop(image, *draw, padding))
                self.assertTrue(flip or not draw[2])

    def test_draws_are_uniform_and_independent(self):
        images = numbered(200, 8, 8)
        views = pad_and_crop.pad_crop_flip(images, 40, (0, 0), 2).numpy()
        draws = [draw_of(view, 2) for view in views.reshape(-1, 8, 8, 2)]
        counts = np.zeros([5, 5, 2])
        np.add.at(counts, tuple(np.transpose(np.array(draws, int))), 1)
        self.assertGreater(stats.chisquare(counts.ravel()).pvalue, 1e-3)
        # The same for how each view moved from the view before it.
        moves = np.zeros([5, 5, 2])
        steps = np.diff(np.array(draws, int).reshape(200, 40, 3), axis=1) % (5, 5, 2)
        np.add.at(moves, tuple(steps.reshape(-1, 3).T), 1)
        self.assertGreater(stats.chisquare(moves.ravel()).pvalue, 1e-3)

    @parameterized.parameters((8, 8, 1), (17, 5, 3), (1, 1, 3), (32, 32, 4))
    def test_any_shape_and_dtype(self, height, width, channels):
        shape = [3, height, width, channels]
        images = np.random.default_rng(0).integers(0, 256, shape)
        expected = None
        for dtype in (np.uint8, np.int32, np.float32, np.float16):
            views = pad_and_crop.pad_crop_flip(images.astype(dtype), 2, (1, 2))
            self.assertEqual(views.dtype, dtype)
            if expected is None:
                expected = views
            self.assertAllEqual(views, expected)

    def test_without_padding_and_flip_it_repeats(self):
        images = helper.small_images(4)
        views = pad_and_crop.pad_crop_flip(images, 3, (0, 0), padding=0, flip=False)
        self.assertAllEqual(views, np.stack([images] * 3, axis=1))

    def test_eager_graph_and_dataset_agree(self):
        images = helper.small_images(16)
        eager = pad_and_crop.pad_crop_flip(images, 6, (0, 5))
        self.assertNotAllEqual(eager, pad_and_crop.pad_crop_flip(images, 6, (0, 6)))
        for shape in ([None, 32, 32, 3], [None] * 4):
            graph = tf.function(
                lambda images, seed: pad_and_crop.pad_crop_flip(images, 6, seed),
                input_signature=[
                    tf.TensorSpec(shape, tf.uint8),
                    tf.TensorSpec([2], tf.int32),
                ],
            )
            static_shape = graph.get_concrete_function().output_shapes
            self.assertEqual(static_shape.as_list(), [None, 6, *shape[1:]])
            self.assertAllEqual(graph(images, [0, 5]), eager)
        for threads in (1, 2):
            dataset = tf.data.Dataset.from_tensor_slices(images).batch(16)
            options = tf.data.Options()
            options.threading.private_threadpool_size = threads
            options.threading.max_intra_op_parallelism = threads
            dataset = dataset.with_options(options).map(
                lambda batch: pad_and_crop.pad_crop_flip(batch, 6, (0, 5))
            )
            self.assertAllEqual(next(iter(dataset)), eager)

    def test_one_program_cuts_at_all_corners(self):
        # Were corners part of the program, each batch would be compiled by itself.
        rows, corners = tf.zeros([2, 9, 9], tf.uint8), tf.constant([[0, 1, 2]])
        program = pad_and_crop._cut.experimental_get_compiler_ir(rows, corners, 8, 6)
        entry = program(stage="hlo").split("ENTRY")[1].splitlines()[0]
        self.assertRegex(entry, r"\(\S+ u8\[2,9,9\], \S+ s32\[1,3\]\) ->")

    def test_an_empty_batch_stays_empty(self):
        views = pad_and_crop.pad_crop_flip(np.zeros([0, 8, 8, 3], np.uint8), 6, (0, 0))
        self.assertEqual(views.shape, [0, 6, 8, 8, 3])

    def test_bad_arguments(self):
        images = helper.small_images(2)
        with self.assertRaisesRegex(ValueError, r"\[B, H, W, C\]"):
            pad_and_crop.pad_crop_flip(images[0], 6, (0, 0))
        with self.assertRaisesRegex(ValueError, "num_views"):
            pad_and_crop.pad_crop_flip(images, 0, (0, 0))
        with self.assertRaisesRegex(ValueError, "padding"):
            pad_and_crop.pad_crop_flip(images, 6, (0, 0), padding=-1)


if __name__ == "__main__":
    tf.test.main()
