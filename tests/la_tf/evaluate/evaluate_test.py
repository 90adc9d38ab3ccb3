"""What la_tf.evaluate measures, against values by hand and against Keras."""

import io
import json
import math
import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from absl.testing import absltest, parameterized
from PIL import Image
from tensorflow import keras

from la_tf import drawing, ops
from la_tf.data import sources
from la_tf.errors import UserError
from la_tf.evaluate import __main__ as evaluate_command
from la_tf.evaluate import confusion, measures
from la_tf.run import folder as run_folder
from la_tf.run import restore
from tests import helper, runs


def main(*arguments):
    """What `python -m la_tf.evaluate` prints, to either stream."""
    return helper.printed(evaluate_command, *arguments)


def read(folder):
    """What an evaluation has written."""
    return json.loads((folder / "evaluation.json").read_text("utf-8"))


class MeasuresTest(parameterized.TestCase):
    # Probabilities of three images: the first is right, the second is right only among
    # two, the third only among three.
    PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.15, 0.45, 0.4]])
    LABELS = np.array([0, 1, 0])

    @property
    def logits(self):
        # Any number may be added to an image's logits.
        return np.log(self.PROBABILITIES) + [[5], [-300], [800]]

    @parameterized.parameters((1, 1 / 3), (2, 2 / 3), (3, 1), (5, 1))
    def test_top_k(self, k, expected):
        accuracy = measures.top_k_accuracy(self.logits, self.LABELS, k)
        self.assertAlmostEqual(accuracy, expected)

    def test_constant_logits_are_no_better_than_chance(self):
        labels = np.repeat(np.arange(10), 7)
        logits = np.zeros([len(labels), 10], np.float32)
        self.assertAlmostEqual(measures.top_k_accuracy(logits, labels, 1), 0.1)
        self.assertAlmostEqual(measures.top_k_accuracy(logits, labels, 5), 0.5)

    def test_a_tie_goes_to_the_class_that_argmax_takes(self):
        logits = np.array([[1.0, 2.0, 2.0, 0.0]] * 4)
        labels = np.arange(4)
        for k, expected in ((1, 1 / 4), (2, 2 / 4), (3, 3 / 4)):
            accuracy = measures.top_k_accuracy(logits, labels, k)
            self.assertAlmostEqual(accuracy, expected)
        right = logits.argmax(axis=1) == labels
        self.assertEqual(measures.top_k_accuracy(logits, labels, 1), right.mean())

    def test_a_loss_beyond_what_probabilities_can_tell(self):
        loss = measures.cross_entropy([[2000.0, 0.0]], [1])
        self.assertAlmostEqual(loss, 2000)

    def test_cross_entropy(self):
        expected = -(math.log(0.7) + math.log(0.3) + math.log(0.15)) / 3
        loss = measures.cross_entropy(self.logits, self.LABELS)
        self.assertAlmostEqual(loss, expected, places=12)

    def test_confusion_rows_are_classes_and_columns_answers(self):
        matrix = measures.confusion_matrix([0, 0, 1, 1], [0, 1, 1, 0], 3)
        self.assertEqual(matrix.tolist(), [[1, 1, 0], [1, 1, 0], [0, 0, 0]])
        matrix = measures.confusion_matrix([2, 2, 1], [0, 0, 1], 3)
        self.assertEqual(matrix.tolist(), [[0, 0, 2], [0, 1, 0], [0, 0, 0]])
        accuracy = measures.per_class_accuracy(matrix)
        np.testing.assert_array_equal(accuracy, [0, 1, np.nan])

    def test_most_confused_are_the_largest_mistakes(self):
        matrix = np.array([[90, 1, 4], [0, 80, 0], [9, 0, 70]])
        mistakes = [(2, 0, 9), (0, 2, 4), (0, 1, 1)]
        self.assertEqual(measures.most_confused(matrix, 2), mistakes[:2])
        self.assertEqual(measures.most_confused(matrix, 9), mistakes)

    def test_calibration_error_by_hand(self):
        # Two bins: (0, 0.5] holds the third image, wrong with 0.45; (0.5, 1] the
        # others, one of two right with a mean of 0.65.
        # Error: 1/3 * |0 - 0.45| + 2/3 * |0.5 - 0.65| = 0.25.
        calibration = measures.calibration(self.logits, self.LABELS, bins=2)
        self.assertAlmostEqual(calibration.error, 0.25, places=12)
        self.assertEqual(calibration.images.tolist(), [1, 2])
        np.testing.assert_allclose(calibration.confidence, [0.45, 0.65])
        np.testing.assert_allclose(calibration.accuracy, [0, 0.5])

    def test_calibration_has_fifteen_bins_and_knows_certainty(self):
        calibration = measures.calibration([[1e4, 0.0]] * 4, [0, 0, 0, 1])
        self.assertAlmostEqual(calibration.error, 0.25)
        self.assertEqual(calibration.images.tolist(), [0] * 14 + [4])
        self.assertTrue(np.isnan(calibration.accuracy[:14]).all())


class PictureTest(parameterized.TestCase):
    @parameterized.parameters(2, 10, 100, 300)
    def test_a_picture_of_any_number_of_classes(self, classes):
        matrix = np.diag(np.arange(classes) % 50)
        matrix[0, -1] = 30
        names = [f"{'a very long name ' * 2}{index}" for index in range(classes)]
        figure = confusion.draw(matrix, names, "title")
        axes = figure.axes[0]
        picture = axes.images[0].get_array()
        # Nothing is white, mistakes are rather red and right answers rather blue.
        np.testing.assert_array_equal(picture[1, 0], [1, 1, 1])
        self.assertGreater(picture[0, -1, 0], picture[0, -1, 2])
        self.assertLess(picture[1, 1, 0], picture[1, 1, 2])
        # A hundred names can be read; three hundred could not.
        labels = [label.get_text() for label in axes.get_yticklabels()]
        self.assertEqual("a very long name a very…" in labels, classes <= 100)
        if classes == 10:
            image = Image.open(io.BytesIO(drawing.png(figure)))
            self.assertGreater(min(image.size), 600)


class EvaluatedTestCase(tf.test.TestCase):
    """One real run, trained for a moment and evaluated."""

    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        shutil.copytree(runs.whole(), cls.folder / "run")
        cls.run_folder = run_folder.RunFolder(cls.folder / "run")
        cls.printed = main(f"--run_dir={cls.run_folder.path}", *cls.FLAGS)
        cls.result = read(cls.run_folder.path)


class EvaluateTest(EvaluatedTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.summary = cls.run_folder.summary()
        cls.test = sources.load("digits").test

    def test_it_finds_what_training_found(self):
        self.assertAlmostEqual(
            self.result["top_1"], self.summary["last_accuracy"], places=6
        )
        self.assertAlmostEqual(
            self.result["top_5"], self.summary["last_top_5"], places=6
        )

    def test_it_measures_what_keras_measures(self):
        classifier = restore.load(self.run_folder).classifier
        classifier.compile(
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(5)],
        )
        loss, top_1, top_5 = classifier.evaluate(*vars(self.test).values(), verbose=0)
        self.assertAlmostEqual(self.result["loss"], loss, places=4)
        self.assertAlmostEqual(self.result["top_1"], top_1, places=6)
        self.assertAlmostEqual(self.result["top_5"], top_5, places=6)
        logits = classifier.predict(self.test.images, verbose=0)
        matrix = tf.math.confusion_matrix(self.test.labels, logits.argmax(1), 10)
        self.assertAllEqual(self.result["confusion"], matrix)
        self.assertEqual(self.result["images"], 360)

    def test_robustness_is_accuracy_on_changed_images(self):
        robustness = self.result["robustness"]
        accuracies = robustness["operations"]
        self.assertEqual(tuple(accuracies), ops.OPERATIONS)
        self.assertEqual(robustness["unchanged"], self.result["top_1"])
        # Grey images have no colour, and a threshold of 0 inverts.
        self.assertEqual(accuracies["Color"], self.result["top_1"])
        self.assertEqual(accuracies["Solarize"], accuracies["Invert"])
        classifier = restore.load(self.run_folder).classifier
        inverted = classifier.predict(255 - self.test.images, verbose=0).argmax(1)
        self.assertAlmostEqual(
            accuracies["Invert"], np.mean(inverted == self.test.labels)
        )

    def test_it_prints_a_short_table_in_plain_lines(self):
        self.assertIn(f"top-1 accuracy     {self.result['top_1']:8.2%}", self.printed)
        self.assertIn("Brightness ", self.printed)
        self.assertIn(str(self.run_folder.path / "confusion.png"), self.printed)
        self.assertNotIn("\r", self.printed)
        self.assertLess(len(self.printed.splitlines()), 30)
        self.assertLessEqual(max(map(len, self.printed.splitlines()[1:18])), 88)

    def test_other_images_are_evaluated_when_they_fit(self):
        def write(name, images, labels):
            path = self.folder / name
            np.savez(path, x_train=images, y_train=labels, x_test=images, y_test=labels)
            return f"--data_dir={path}"

        images, labels = self.test.images, self.test.labels
        flags = (f"--run_dir={self.run_folder.path}", "--dataset=npz")
        flags += (f"--output_dir={self.folder}/other", "--robustness_images=0")
        printed = main(*flags, write("same.npz", images, labels))
        result = read(self.folder / "other")
        self.assertEqual(result["confusion"], self.result["confusion"])
        self.assertNotIn("compared by number", printed)
        with self.assertRaisesRegex(UserError, "has 2 classes, but the network knows"):
            main(*flags, write("two.npz", images, labels % 2))
        colour = np.repeat(images, 3, axis=-1)
        with self.assertRaisesRegex(
            UserError, "16x16x3, but the network takes 16x16x1"
        ):
            main(*flags, write("colour.npz", colour, labels))
        with self.assertRaisesRegex(UserError, "does not exist"):
            main(*flags, f"--data_dir={self.folder}/missing.npz")

    def test_held_out_images_are_named_as_such(self):
        printed = main(
            f"--run_dir={self.run_folder.path}",
            f"--output_dir={self.folder}/held",
            "--holdout=100",
            "--robustness_images=0",
        )
        self.assertIn("digits, 100 held-out images", printed)

    def test_what_cannot_be_evaluated_is_refused(self):
        empty = self.folder / "empty"
        empty.mkdir()
        with self.assertRaisesRegex(UserError, "holds no run"):
            main(f"--run_dir={empty}")
        with self.assertRaisesRegex(UserError, "--run_dir is missing"):
            main()
        with self.assertRaisesRegex(UserError, "choose one"):
            main(f"--run_dir={empty}", f"--saved_model={empty}")
        with self.assertRaisesRegex(UserError, "not a whole SavedModel"):
            main(f"--saved_model={empty}")

    def test_a_network_that_has_diverged_is_told(self):
        copy = run_folder.RunFolder(self.folder / "diverged")
        shutil.copytree(self.run_folder.path, copy.path)
        classifier = restore.load(copy).classifier
        classifier.layers[-1].bias.assign([np.nan] * 10)
        tree = tf.train.Checkpoint(model=tf.train.Checkpoint(classifier=classifier))
        path = tree.save(str(copy.checkpoints / "bad"))
        with self.assertRaisesRegex(UserError, "that are not finite"):
            main(f"--checkpoint={path}")


if __name__ == "__main__":
    absltest.main()
