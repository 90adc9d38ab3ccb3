"""The README says what is true."""

import re
import types

import numpy as np
from absl import flags as absl_flags
from absl.testing import absltest

import la_tf
from flags import train as train_flags  # noqa: F401
from la_tf import recipes
from tests import helper

README = (helper.ROOT / "README.md").read_text("utf-8")


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
        # What it does is in tests/la_tf/runs_test.py.
        compile(from_python, "README.md", "exec")

    def test_operations_are_made_as_it_says(self):
        call = re.search(r"`(la_tf\.ops\.make\(.+?\))`", README).group(1)
        # As after `import la_tf` alone: nothing has imported la_tf.ops yet.
        package = types.SimpleNamespace(ops=la_tf.__getattr__("ops"))
        layer = eval(call, {"la_tf": package})
        images = helper.digits(2)[0]
        self.assertEqual(layer(images).shape, images.shape)

    def test_every_flag_that_is_named_exists(self):
        others = {"help", "logdir"}
        named = set(re.findall(r"--([a-z_]+)", README)) - others
        commands = {"export_dir", "methods", "seeds"}
        self.assertGreater(len(named), 20)
        self.assertEmpty(named - commands - set(absl_flags.FLAGS))

    def test_every_page_that_is_linked_exists(self):
        pages = re.findall(r"\]\(((?!https?:)[^)]+)\)", README)
        self.assertNotEmpty(pages)
        for page in pages:
            with self.subTest(page):
                self.assertTrue((helper.ROOT / page).exists())

    def test_the_table_has_the_paper_s_rows(self):
        rows = re.findall(r"^\| (\w+) \| (\w+) \| (\d+) \| ([\d.]+)", README, re.M)
        expected = [
            (row.dataset, row.model, str(row.epochs), f"{row.paper_accuracy:.2f}")
            for row in recipes.RECIPES
            if row.paper_accuracy is not None
        ]
        self.assertEqual(rows, expected)


if __name__ == "__main__":
    absltest.main()
