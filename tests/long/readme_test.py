"""The README's script trains and saves a classifier."""

import re

import numpy as np
from absl.testing import absltest

from tests.project.readme_test import README


class ReadmeTest(absltest.TestCase):
    def test_the_example_script_trains_and_saves_a_classifier(self):
        script, from_python = re.findall(r"```python\n(.+?)```", README, re.DOTALL)
        path = self.create_tempdir().full_path + "/my_classifier.keras"
        # One epoch of five batches, for the same code.
        smaller = {
            "my_classifier.keras": path,
            "epochs = 20": "epochs = 1",
            "test_size=360": "test_size=1637",
        }
        for text, replacement in smaller.items():
            self.assertEqual(script.count(text), 1)
            script = script.replace(text, replacement)
        names = {}
        exec(compile(script, "README.md", "exec"), names)
        images = names["images"][:64]
        logits = names["keras"].models.load_model(path).predict(images, verbose=0)
        np.testing.assert_allclose(
            logits, names["classifier"].predict(images, verbose=0), atol=1e-5
        )
        prior = names["model"].prior.probabilities.numpy()
        self.assertAlmostEqual(prior.sum(), 1.0, places=5)
        self.assertGreater(prior.std(), 0.0)
        # What it does, runs_test and notebook_test show.
        compile(from_python, "README.md", "exec")


if __name__ == "__main__":
    absltest.main()
