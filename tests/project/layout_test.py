"""The house rules that a machine can check."""

import ast
import re

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

    def test_generations_of_keras_are_told_apart_in_one_place(self):
        asks = re.compile(r"tensorflow_addons as|\b(keras|tf)\.__version__|NUMBER\b")
        users = [
            path.name
            for folder in ("flags", "la_tf", "models")
            for path in (helper.ROOT / folder).rglob("*.py")
            if asks.search(path.read_text("utf-8"))
        ]
        self.assertEqual(users, ["keras_generation.py"])


class LocksTest(absltest.TestCase):
    def test_locks_hold_what_setup_asks_for(self):
        setup = (helper.ROOT / "setup.py").read_text("utf-8")
        for stack in "KERAS_2", "KERAS_3":
            wanted = re.search(rf"^{stack} = \[(.+?)^\]", setup, re.M | re.S).group(1)
            packages = re.findall(r'"([\w-]+)[=<>]', wanted)
            self.assertContainsSubset(["numpy", "tensorflow"], packages)
            name = stack.lower().replace("_", "")
            lock = (helper.ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
            locked = re.findall(r"^([\w-]+)==", lock, re.M)
            self.assertContainsSubset(packages, locked)


if __name__ == "__main__":
    absltest.main()
