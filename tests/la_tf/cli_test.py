"""How commands end: one line, whatever went wrong."""

import errno
import os
import pathlib
import re
import subprocess
import sys
from unittest import mock

from absl.testing import absltest, parameterized

from la_tf import cli
from la_tf.errors import UserError
from tests import helper


def ended(main):
    """The exit code and what was said by a command that does this."""
    with mock.patch.object(sys.stderr, "write") as told:
        try:
            cli._call(main, [], ())
        except SystemExit as end:
            return end.code, "".join(call.args[0] for call in told.call_args_list)
    return 0, ""


def raising(error):
    def main():
        raise error

    return main


class EndTest(parameterized.TestCase):
    def test_a_mistake_of_the_user_s(self):
        code, said = ended(raising(UserError("--sigma is wrong.")))
        self.assertEqual((code, said), (2, "error: --sigma is wrong.\n"))

    @parameterized.parameters(
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), "a/b: No space"),
        (PermissionError(errno.EACCES, "Permission denied", "c"), "c: Permission"),
        (OSError("no number"), "no number"),
    )
    def test_what_the_operating_system_refuses(self, error, words):
        code, said = ended(raising(error))
        self.assertEqual(code, 2)
        self.assertStartsWith(said, f"error: {words}")
        self.assertEqual(said.count("\n"), 1)

    def test_an_unexpected_error_keeps_its_traceback_in_a_file(self):
        code, said = ended(raising(KeyError("first\nsecond")))
        self.assertEqual(code, 1)
        self.assertEqual(said.count("\n"), 1)
        self.assertStartsWith(said, "unexpected error: KeyError: ")
        log = pathlib.Path(re.search(r"details in (\S+);", said)[1])
        self.addCleanup(log.unlink)
        self.assertIn("Traceback", log.read_text())

    def test_no_room_for_the_traceback_either(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch.object(cli.tempfile, "NamedTemporaryFile", side_effect=full):
            code, said = ended(raising(KeyError("first")))
        self.assertEqual((code, said), (1, "unexpected error: KeyError: 'first'\n"))


class ReaderTest(parameterized.TestCase):
    @parameterized.parameters(
        ("la_tf", "-h"), ("la_tf.train", "--help"), ("la_tf.train", "--no_such=1")
    )
    def test_a_reader_that_goes_away_ends_it_quietly(self, module, flag):
        reader, writer = os.pipe()
        os.close(reader)
        to_errors = "no_such" in flag
        ended = subprocess.run(
            [sys.executable, "-m", module, flag],
            env=helper.environment(),
            stdout=subprocess.PIPE if to_errors else writer,
            stderr=writer if to_errors else subprocess.PIPE,
            check=False,
        )
        os.close(writer)
        self.assertEqual(ended.returncode, 141, ended.stderr)
        self.assertFalse(ended.stdout or ended.stderr)

    def test_a_pipe_that_is_not_the_output_s_is_told(self):
        broken = BrokenPipeError(errno.EPIPE, "Broken pipe", "a/pipe")
        code, said = ended(raising(broken))
        self.assertEqual((code, said), (2, "error: a/pipe: Broken pipe.\n"))


class FlagsTest(parameterized.TestCase):
    # absl defines these itself, and checks them itself.
    @parameterized.parameters(
        "--stderrthreshold=x", "--verbosity=x", "--flagfile=/no/such", "--v="
    )
    def test_absl_s_own_flags(self, flag):
        ended = subprocess.run(
            [sys.executable, "-m", "la_tf.train", flag],
            env=helper.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
        self.assertStartsWith(ended.stderr, "error: ")


if __name__ == "__main__":
    absltest.main()
