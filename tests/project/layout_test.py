"""The house rules that a machine can check."""

import ast

from absl.testing import absltest

from tests import helper

TESTS = sorted((helper.ROOT / "tests").rglob("*_test.py"))
COMMANDS = (
    "benchmark",
    "compare",
    "evaluate",
    "export",
    "prepare",
    "preview",
    "report",
    "train",
)


def imports(path):
    """The modules that a file imports anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def module_path(name):
    """The file of a module of the project, or None."""
    stem = helper.ROOT / name.replace(".", "/")
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.exists():
            return path
    return None


def packages(path):
    return {name.split(".")[0] for name in imports(path)}


class TestFilesTest(absltest.TestCase):
    def test_there_are_tests(self):
        self.assertGreater(len(TESTS), 10)

    def test_every_test_has_a_main_block(self):
        # Without one, Bazel runs nothing of the file and says PASSED.
        for path in TESTS:
            with self.subTest(path.name):
                self.assertIn('\nif __name__ == "__main__":\n', path.read_text("utf-8"))

    def test_every_test_has_a_bazel_target(self):
        build = (helper.ROOT / "tests" / "BUILD").read_text("utf-8")
        # Two stars of Bazel's glob match any number of folders.
        self.assertIn('TESTS = glob(["**/*_test.py"])', build)

    def test_ci_runs_the_readme_s_test_line(self):
        readme = (helper.ROOT / "README.md").read_text("utf-8").splitlines()
        lines = [line.strip() for line in readme if line.strip().endswith("pytest")]
        self.assertLen(lines, 1)
        script = (helper.ROOT / ".ci" / "run").read_text("utf-8").splitlines()
        self.assertIn(lines[0], script)


class ImportsTest(absltest.TestCase):
    def test_models_know_neither_la_tf_nor_flags(self):
        for path in (helper.ROOT / "models").rglob("*.py"):
            with self.subTest(path.name):
                self.assertEmpty(packages(path) & {"la_tf", "flags"})

    def test_the_library_needs_no_package_called_models(self):
        # A user's own script may stand beside a models.py of its own.
        seen, queue = set(), ["la_tf.model", "la_tf.data.views", "la_tf.ops"]
        while queue:
            name = queue.pop()
            path = module_path(name)
            if name in seen or path is None:
                continue
            seen.add(name)
            queue += imports(path)
            self.assertEmpty(packages(path) & {"models", "flags"}, name)
        self.assertIn("la_tf.step.passes", seen)

    def test_only_commands_import_flags(self):
        for path in (helper.ROOT / "la_tf").rglob("*.py"):
            is_command = path.stem == "__main__" and path.parent.name in COMMANDS
            with self.subTest(path.name):
                self.assertTrue(is_command or "flags" not in packages(path))

    def test_the_equations_need_tensorflow_and_numpy_alone(self):
        known = {"__future__", "math", "numpy", "tensorflow"}
        self.assertLessEqual(packages(helper.ROOT / "la_tf" / "em.py"), known)

    def test_tensorflow_addons_stands_in_one_place(self):
        users = [
            path.name
            for folder in ("flags", "la_tf", "models")
            for path in (helper.ROOT / folder).rglob("*.py")
            if "tensorflow_addons" in packages(path)
        ]
        self.assertEqual(users, ["progress.py"])


if __name__ == "__main__":
    absltest.main()
