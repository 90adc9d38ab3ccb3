"""Evaluation of what was exported, and with other operations than the default's."""

import os
import pathlib
import shutil

import tensorflow as tf

from la_tf import console
from la_tf.errors import UserError
from la_tf.export import writer
from la_tf.run import restore
from tests import runs
from tests.la_tf.evaluate import evaluate_test


class RobustnessTest(tf.test.TestCase):
    def test_a_level_of_zero_changes_less_and_images_are_limited(self):
        run = runs.whole()
        folder = pathlib.Path(self.create_tempdir().full_path)
        evaluate_test.main(
            f"--run_dir={run}",
            f"--output_dir={folder}",
            "--robustness_level=0",
            "--robustness_images=50",
            "--verbosity=-1",
        )
        robustness = evaluate_test.read(folder)["robustness"]
        self.assertEqual((robustness["level"], robustness["images"]), (0, 50))
        for name in ("ShearX", "TranslateY", "Posterize", "Solarize", "Cutout"):
            self.assertEqual(robustness["operations"][name], robustness["unchanged"])


class ServedTest(evaluate_test.EvaluatedTestCase):
    FLAGS = ("--robustness_images=0",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with console.Stages(7, verbosity=-1) as stages:
            writer.export_run(
                cls.run_folder, cls.folder / "served", stages, tflite=["float16"]
            )

    def test_a_saved_model_and_a_checkpoint_s_path_give_the_same(self):
        path = restore.load(self.run_folder).checkpoint
        for number, what in enumerate(
            (f"--saved_model={self.folder}/served", f"--checkpoint={path}")
        ):
            output = self.folder / f"same-{number}"
            printed = evaluate_test.main(
                what,
                f"--output_dir={output}",
                "--robustness_images=0",
                "--verbosity=-1",
            )
            self.assertEqual(printed, "")
            result = evaluate_test.read(output)
            self.assertEqual(result["confusion"], self.result["confusion"])
            self.assertAlmostEqual(result["loss"], self.result["loss"], places=5)
            self.assertNotIn("robustness", result)

    def test_a_file_that_is_something_else_is_refused(self):
        version = self.folder / "served" / "1"
        other = self.folder / "something"
        shutil.copytree(version / "assets.extra", other / "assets.extra")
        (other / "assets.extra" / "SHA256SUMS").unlink()
        for name in ("classifier.keras", "classifier_float16.tflite"):
            with self.subTest(name):
                (other / name).write_bytes(b"something else altogether" * 10)
                with self.assertRaisesRegex(UserError, "nor a file beside one"):
                    evaluate_test.main(f"--saved_model={other / name}")
                (other / name).unlink()
                with self.assertRaisesRegex(UserError, "nor a file beside one"):
                    evaluate_test.main(f"--saved_model={other / name}")

    def test_a_truncated_file_is_refused(self):
        # TFLite's interpreter itself would end the process.
        path = self.folder / "cut_file"
        shutil.copytree(self.folder / "served" / "1", path)
        os.truncate(path / "classifier_float16.tflite", 1000)
        with self.assertRaisesRegex(UserError, "float16.tflite is damaged or gone"):
            evaluate_test.main(f"--saved_model={path / 'classifier_float16.tflite'}")
        (path / "assets.extra" / "SHA256SUMS").unlink()
        with self.assertRaisesRegex(UserError, "nor a file beside one"):
            evaluate_test.main(f"--saved_model={path / 'classifier_float16.tflite'}")

    def test_a_truncated_saved_model_is_refused(self):
        path = self.folder / "cut"
        shutil.copytree(self.folder / "served" / "1", path)
        cut = next(path.glob("variables/*.data-*"))
        os.truncate(cut, 1000)
        with self.assertRaisesRegex(UserError, f"{cut} is damaged or gone"):
            evaluate_test.main(f"--saved_model={path}")
        # Without the sums it still shows when TensorFlow reads it.
        (path / "assets.extra" / "SHA256SUMS").unlink()
        with self.assertRaisesRegex(UserError, "not a whole SavedModel"):
            evaluate_test.main(f"--saved_model={path}")
        os.truncate(path / "saved_model.pb", 1000)
        with self.assertRaisesRegex(UserError, "not a whole SavedModel"):
            evaluate_test.main(f"--saved_model={path}")


if __name__ == "__main__":
    tf.test.main()
