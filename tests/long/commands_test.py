"""Exports in processes of their own, and commands that draw pictures."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import tensorflow as tf
from absl.testing import absltest
from PIL import Image

from la_tf.report import writing
from tests import helper, runs
from tests.la_tf.export.export_test import (
    LOAD_KERAS,
    NAMES,
    SERVE,
    ServedTestCase,
    encoded,
    start,
)
from tests.la_tf.preview.preview_test import preview


class ServedTest(ServedTestCase):
    def test_a_process_with_tensorflow_alone_gives_the_same_answers(self):
        png = encoded(self.images[0, ..., 0])
        requests, answers = self.folder / "requests.npz", self.folder / "answers.npz"
        np.savez(requests, images=self.images, encoded=np.frombuffer(png, np.uint8))
        helper.finish(start("-c", SERVE, self.path, requests, answers))
        given = np.load(answers)
        self.assertAllClose(given["logits"], self.logits, rtol=0, atol=1e-5)
        expected = tf.nn.softmax(self.logits)
        labels = self.logits.argmax(axis=1)
        for signature, count in (("default", 5), ("float", 5), ("bytes", 1)):
            with self.subTest(signature):
                probabilities = given[f"{signature}_probabilities"]
                self.assertAllClose(probabilities, expected[:count], 0, 1e-5)
                self.assertAllEqual(given[f"{signature}_label"], labels[:count])
                names = [NAMES[label] for label in labels[:count]]
                self.assertEqual(given[f"{signature}_name"].tolist(), names)

    def test_saved_model_cli_runs_it(self):
        tool = ("-m", "tensorflow.python.tools.saved_model_cli")
        np.save(self.folder / "images.npy", self.images)
        inputs = f"images={self.folder}/images.npy"
        options = ("--tag_set", "serve", "--signature_def", "serving_default")
        run = start(*tool, "run", "--dir", self.path, *options, "--inputs", inputs)
        labels = " ".join(map(str, self.logits.argmax(axis=1)))
        self.assertIn(f"Result for output key label:\n[{labels}]", helper.finish(run))

    def test_the_keras_file_opens_where_the_networks_can_be_imported(self):
        requests, answers = self.folder / "images.npy", self.folder / "logits.npy"
        np.save(requests, self.images)
        file = self.path / "classifier.keras"
        helper.finish(start("-c", LOAD_KERAS, helper.ROOT, file, requests, answers))
        self.assertAllClose(np.load(answers), self.logits, rtol=0, atol=1e-5)


class PreviewTest(absltest.TestCase):
    def test_draws_two_pictures(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        done = preview(f"--output={folder}/picture.png", "--images=1", "--num_views=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("picture_views.png", done.stdout)
        self.assertNotIn("Traceback", done.stderr)
        self.assertLess(done.stderr.count("\n"), 6)
        widths = {}
        for path in folder.iterdir():
            with Image.open(path) as picture:
                widths[path.name] = picture.width
        self.assertCountEqual(widths, ["picture.png", "picture_views.png"])
        self.assertGreater(widths["picture.png"], 1000)


class ReportTest(absltest.TestCase):
    def test_run_dir_may_be_repeated_and_quiet_is_quiet(self):
        directory = pathlib.Path(self.create_tempdir().full_path)
        for name in ("one", "two"):
            shutil.copytree(runs.whole(), directory / name)
        result = subprocess.run(
            [
                *(sys.executable, "-m", "la_tf.report"),
                *(f"--run_dir={directory / name}" for name in ("one", "two")),
                f"--report_dir={directory / 'to'}",
                "--noviews",
                "--verbosity=-1",
            ],
            cwd=helper.ROOT,
            capture_output=True,
            text=True,
            timeout=helper.PATIENCE,
        )
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertIn("<h1>2 runs</h1>", (directory / "to" / writing.NAME).read_text())


if __name__ == "__main__":
    tf.test.main()
