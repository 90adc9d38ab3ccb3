"""Serving sees the pixels that evaluation sees, whatever the images came from."""

import io
import pathlib

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

from la_tf.data import batches, sources
from tests import helper


def png(image):
    """The bytes of an array [H, W, C] as a PNG file."""
    file = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(file, "PNG")
    return file.getvalue()


class PreparationTestCase(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.create_tempdir().full_path)

    def assert_serving_equals_evaluation(self, source, files, encoded=False):
        """Compare the source's test images with its files, prepared for serving."""
        images, _ = next(iter(batches.evaluation(source.test, len(files))))
        # As it stands: to trace it for every size would take most of the time.
        prepare = sources.preparation(source.image_shape, encoded)
        served = [prepare(tf.constant(file)) for file in files]
        self.assertAllEqual(images, tf.stack(served))
        self.assertGreater(np.ptp(images), 30)


class PreparationTest(PreparationTestCase, parameterized.TestCase):
    @parameterized.parameters(None, 12, 40)
    def test_digits(self, image_size):
        files = [png(image) for image in sources.load("digits").test.images[:5]]
        source = sources.load("digits", image_size=image_size)
        side = image_size or 16
        self.assertEqual(source.image_shape, (side, side, 1))
        self.assert_serving_equals_evaluation(source, files)

    @parameterized.product(
        size=[(20, 40), (40, 20)], channels=[1, 3], image_size=[None, 16, 64]
    )
    def test_arrays(self, size, channels, image_size):
        height, width = size
        images = helper.photographs()[:, 100 : 100 + height, 200 : 200 + width]
        images = np.ascontiguousarray(images[..., :channels])
        labels = np.arange(2)
        path = self.folder / "mine.npz"
        np.savez(path, x_train=images, y_train=labels, x_test=images, y_test=labels)
        source = sources.load("npz", data_dir=path, image_size=image_size)
        self.assert_serving_equals_evaluation(source, [png(image) for image in images])

    def photographs(self):
        """A folder of two classes, and the bytes of its test images."""
        first, second = helper.photographs()
        crops = {"a": first[:200, :310], "b": second[:, :90]}
        files = []
        for part in ("train", "test"):
            for name, form in (("a", "jpg"), ("b", "png")):
                path = self.folder / "photographs" / part / name / f"1.{form}"
                path.parent.mkdir(parents=True)
                Image.fromarray(crops[name]).save(path)
                if part == "test":
                    files.append(path.read_bytes())
        return self.folder / "photographs", files

    @parameterized.parameters(False, True)
    def test_a_folder(self, encoded):
        folder, files = self.photographs()
        source = sources.load("folder", data_dir=folder, image_size=24, encoded=encoded)
        self.assert_serving_equals_evaluation(source, files, encoded)


if __name__ == "__main__":
    tf.test.main()
