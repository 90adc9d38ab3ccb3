"""An exported network sees the pixels that evaluation sees."""

import pathlib
from unittest import mock

import numpy as np
import tensorflow as tf

from la_tf.data import batches, sources
from la_tf.data.sources import image_files, streams
from la_tf.export import serving, writer
from la_tf.run import folder as run_folder
from la_tf.run import restore
from tests import helper
from tests.la_tf.data import preparation_test
from tests.la_tf.export import export_test

PHOTOGRAPHS = {"dataset": "folder", "data_dir": "photographs"}


class PixelsTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.create_tempdir().full_path)

    def answers(self, files, **options):
        """`(classifier, serve_bytes' probabilities)` for encoded images."""
        classifier = export_test.write_run(self.folder / "run", **options)
        network = restore.load(run_folder.RunFolder(self.folder / "run"))
        # What is saved answers as what is not, `export_test` shows.
        with (
            mock.patch.object(serving.Server, "signatures"),
            mock.patch.object(tf.saved_model, "save"),
        ):
            server = writer._save(network, self.folder / "served", 50.0)
        return classifier, server.from_bytes(tf.constant(files))["probabilities"]

    def files(self):
        """Paths of two photographs of different sizes, and their bytes."""
        first, second = helper.photographs()
        contents = [
            export_test.encoded(first[:200], "JPEG"),
            export_test.encoded(second[:, :90]),
        ]
        paths = [self.folder / "first.jpg", self.folder / "second.png"]
        for path, content in zip(paths, contents):
            path.write_bytes(content)
        return [str(path) for path in paths], contents

    def test_photographs_are_cropped_as_evaluation_crops_them(self):
        paths, contents = self.files()
        classifier, given = self.answers(
            contents,
            image_shape=(32, 32, 3),
            **PHOTOGRAPHS,
            preprocessing="inception",
        )
        split = streams.Files(paths, [0, 0], side=32)
        images = next(iter(batches.evaluation(split, 2)))[0]
        expected = tf.nn.softmax(classifier(images, training=False))
        self.assertAllClose(given, expected, rtol=0, atol=1e-5)

    def test_small_images_are_made_as_the_source_makes_them(self):
        paths, contents = self.files()
        classifier, given = self.answers(
            contents,
            image_shape=(24, 24, 3),
            **PHOTOGRAPHS,
            preprocessing="crop",
            mixed_precision=True,
        )
        images, _ = image_files.decoded(paths, 24, skip_bad_images=False)
        # Half precision in training is half precision in serving.
        self.assertEqual(classifier.layers[3].compute_dtype, "float16")
        expected = tf.nn.softmax(classifier(images, training=False))
        self.assertAllClose(given, expected, rtol=0, atol=1e-5)

    def test_images_that_are_no_squares_keep_their_proportions(self):
        image = helper.photographs()[0]
        classifier, given = self.answers(
            [
                export_test.encoded(image[10:22, 10:34]),
                export_test.encoded(image[10:22, 10:54]),
            ],
            image_shape=(12, 24, 3),
        )
        middle = image[10:22, 20:44]
        images = np.stack([image[10:22, 10:34], middle])
        expected = tf.nn.softmax(classifier(images, training=False))
        self.assertAllClose(given, expected, rtol=0, atol=1e-5)


class PreparationTest(preparation_test.PreparationTestCase):
    def test_prepared_photographs(self):
        root = self.folder / "data"
        helper.write_flowers(root, self.folder)
        options = {"data_dir": root, "image_size": 16}
        streamed = sources.load("oxford_flowers102", encoded=True, **options)
        files = [record.numpy() for record, _ in streamed.test.records()]
        self.assert_serving_equals_evaluation(streamed, files, encoded=True)
        kept = sources.load("oxford_flowers102", **options)
        self.assert_serving_equals_evaluation(kept, files)


if __name__ == "__main__":
    tf.test.main()
