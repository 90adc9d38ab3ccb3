"""The README says what is true."""

import re
import types

from absl import flags as absl_flags
from absl.testing import absltest

import la_tf
from flags import train as train_flags  # noqa: F401
from la_tf import recipes
from tests import helper

README = (helper.ROOT / "README.md").read_text("utf-8")


class ReadmeTest(absltest.TestCase):
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
