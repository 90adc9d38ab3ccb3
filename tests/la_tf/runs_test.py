"""A run from Python: loaded, asked and evaluated.

That it trains and exports, `tests/long/notebook_test.py` and `exported_files_test.py`
show.
"""

import json
import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

import la_tf
from la_tf.data import sources
from la_tf.errors import UserError
from tests import runs


class RunsTest(tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.run_ = la_tf.load(runs.whole())
        cls.test = sources.load("digits").test

    def test_the_run_tells_what_it_was(self):
        run = self.run_
        self.assertEqual(run.config.values()["limit_train"], 80)
        self.assertLen(run.metrics, 4)
        self.assertLen(run.prior, 256)
        self.assertAllClose(sum(run.prior.values()), 1.0)
        probabilities = list(run.prior.values())
        self.assertEqual(probabilities, sorted(probabilities, reverse=True))
        self.assertIn("digits with wrn_10_1, latent, 4 of 4 epochs", repr(run))

    def test_predictions_are_those_of_the_evaluation(self):
        predicted = self.run_.predict(self.test.images)
        self.assertAllClose(predicted.sum(1), np.ones(360), rtol=1e-5)
        right = np.mean(predicted.argmax(1) == self.test.labels)
        self.assertAllClose(right, self.run_.metrics[-1]["test_accuracy"])

    def test_files_are_prepared_as_test_images_are(self):
        path = self.folder / "digit.png"
        Image.fromarray(self.test.images[0, ..., 0]).save(path)
        expected = self.run_.predict(self.test.images[:1])
        self.assertAllClose(self.run_.predict(path), expected, rtol=1e-5)
        self.assertAllClose(self.run_.predict([str(path)]), expected, rtol=1e-5)
        # TensorFlow 2.15 itself decodes no WebP.
        Image.open(path).save(self.folder / "digit.webp", lossless=True)
        answer = self.run_.predict(self.folder / "digit.webp")
        self.assertAllClose(answer, expected, rtol=1e-5)

    def test_wrong_images_are_refused(self):
        with self.assertRaisesRegex(UserError, "network takes .N, 16, 16, 1."):
            self.run_.predict(np.zeros([2, 8, 8, 1], np.uint8))
        with self.assertRaisesRegex(UserError, "nowhere.png cannot be read"):
            self.run_.predict("nowhere.png")
        broken = self.folder / "broken.png"
        broken.write_bytes(b"no picture")
        with self.assertRaisesRegex(UserError, "broken.png is no image"):
            self.run_.predict(broken)

    def test_evaluation(self):
        result = self.run_.evaluate(robustness_images=0)
        self.assertEqual(result["images"], 360)
        self.assertAllClose(result["top_1"], self.run_.metrics[-1]["test_accuracy"])
        json.dumps(result)

    def test_wrong_values_are_refused_as_on_the_command_line(self):
        with self.assertRaisesRegex(UserError, "did you mean epochs"):
            la_tf.train(epoch=3)

    def test_operations_are_there_after_the_import(self):
        self.assertEqual(type(la_tf.ops.make("Rotate")).__name__, "Rotate")


if __name__ == "__main__":
    tf.test.main()
