"""How strong the operations are, and on how many images, is the user's to choose."""

import pathlib

import tensorflow as tf

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


if __name__ == "__main__":
    tf.test.main()
