"""What the documents say about the code."""

import re

from absl.testing import absltest

from tests import helper

DOCUMENTS = sorted([*helper.ROOT.glob("*.md"), *(helper.ROOT / "docs").glob("*.md")])
PATH = re.compile(r"`((?:flags|la_tf|models|tests)/[\w/.]*)`")


class DocumentsTest(absltest.TestCase):
    def test_every_file_and_folder_that_is_named_is_there(self):
        named = set()
        for document in DOCUMENTS:
            for path in PATH.findall(document.read_text("utf-8")):
                named.add(path)
                with self.subTest(f"{document.name}: {path}"):
                    self.assertTrue((helper.ROOT / path).exists())
        self.assertGreater(len(named), 5)

    def test_every_command_is_in_the_layout_table(self):
        table = (helper.ROOT / "CONTRIBUTING.md").read_text("utf-8")
        commands = (helper.ROOT / "la_tf").glob("*/__main__.py")
        for name in sorted(command.parent.name for command in commands):
            with self.subTest(name):
                self.assertRegex(table, rf"`(la_tf/)?{name}/`")

    def test_a_command_s_first_line_names_it(self):
        for command in (helper.ROOT / "la_tf").glob("*/__main__.py"):
            name = command.parent.name
            first = command.read_text("utf-8").splitlines()[0]
            with self.subTest(name):
                self.assertIn(f"python -m la_tf.{name}", first)
                # A run folder's name has the network in it and a number that nobody
                # can know.
                self.assertNotIn("runs/", first)


if __name__ == "__main__":
    absltest.main()
