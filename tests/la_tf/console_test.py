"""Where bars are drawn, and what is said where they are not."""

import contextlib
import fcntl
import io
import os
import pty
import struct
import termios
from unittest import mock

from absl.testing import absltest

from la_tf import console


@contextlib.contextmanager
def terminal(lines, columns):
    """The error stream is a terminal of this size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with (
        os.fdopen(ours, "rb"),
        os.fdopen(theirs, "w") as stream,
        contextlib.redirect_stderr(stream),
    ):
        yield


class BarsTest(absltest.TestCase):
    def test_a_terminal_has_bars_if_it_has_a_size(self):
        with terminal(24, 80):
            self.assertTrue(console.shows_bars())
        with terminal(0, 0):
            self.assertFalse(console.shows_bars())

    def test_a_file_has_none(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertFalse(console.shows_bars())

    def test_a_notebook_has_bars(self):
        shell = mock.Mock(config={"IPKernelApp": {}})
        ipython = mock.Mock(get_ipython=lambda: shell)
        kernel = mock.patch.dict("sys.modules", IPython=ipython)
        with kernel, contextlib.redirect_stderr(io.StringIO()):
            self.assertTrue(console.shows_bars())


class StagesTest(absltest.TestCase):
    def said(self, verbosity):
        """What two stages say, of which the first takes a minute."""
        with (
            contextlib.redirect_stderr(io.StringIO()) as stream,
            mock.patch.object(console.time, "monotonic") as clock,
            mock.patch.object(console, "Pulse"),
        ):
            clock.return_value = 0.0
            with console.Stages(2, verbosity) as stages:
                stages.begin("reading")
                for second in range(1, 61):
                    clock.return_value = float(second)
                    stages.tick()
                stages.tell("5 images")
                stages.begin("building")
        return stream.getvalue().splitlines()

    def test_a_long_stage_gives_a_sign_every_half_minute(self):
        signs = ["reading: 30.0 s so far", "reading: 60.0 s so far"]
        expected = ["reading ...", *signs, "5 images", "building ..."]
        self.assertEqual(self.said(verbosity=0), expected)

    def test_quiet_is_quiet(self):
        self.assertEmpty(self.said(verbosity=-1))


if __name__ == "__main__":
    absltest.main()
