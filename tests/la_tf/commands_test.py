"""`la_tf` without a command, with a wrong one, and with each of them."""

import contextlib
import io
import os
import runpy
import subprocess
import sys
from unittest import mock

from absl.testing import absltest, parameterized

import la_tf
from la_tf import __main__ as commands
from tests import helper


def run(*words):
    """What the command line prints, and with which code it ends."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "argv", ["la_tf", *words]))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        try:
            commands.main()
        except SystemExit as exit:
            code = exit.code
    return out.getvalue(), err.getvalue(), code


class CommandsTest(parameterized.TestCase):
    @parameterized.parameters([()], [("-h",)], [("--help",)])
    def test_without_a_command_all_are_listed(self, words):
        out, _, code = run(*words)
        self.assertEqual(code, 0)
        for name in commands.COMMANDS:
            self.assertIn(f"\n  {name} ", out)

    @parameterized.parameters("la_tf", "la_tf.prepare")
    def test_a_reader_may_close_the_pipe(self, module):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, "-m", module, "-h"],
            cwd=helper.ROOT,
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_version(self):
        self.assertEqual(run("--version")[0], f"la_tf {la_tf.__version__}\n")

    def test_a_wrong_command_gives_one_sentence(self):
        out, err, code = run("trian")
        self.assertEqual((out, code), ("", 2))
        self.assertIn("did you mean train?", err)
        self.assertLen(err.splitlines(), 1)

    def test_every_package_with_a_main_is_a_command(self):
        mains = (helper.ROOT / "la_tf").glob("*/__main__.py")
        self.assertCountEqual([path.parent.name for path in mains], commands.COMMANDS)

    @parameterized.parameters(*commands.COMMANDS)
    def test_a_command_is_run_as_by_its_module(self, name):
        module = self.enter_context(mock.patch.object(runpy, "run_module"))
        self.enter_context(mock.patch.object(sys, "argv", ["la_tf", name, "--seed=3"]))
        commands.main()
        self.assertEqual(sys.argv, [name, "--seed=3"])
        module.assert_called_once_with(
            f"la_tf.{name}", run_name="__main__", alter_sys=True
        )


if __name__ == "__main__":
    absltest.main()
