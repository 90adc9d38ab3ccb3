"""Progress of what takes longer than a moment, on the error stream.

A bar on a terminal and in a notebook, plain lines where the output goes to a file,
nothing where the user wants quiet.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import warnings

with warnings.catch_warnings():
    # A notebook without ipywidgets gets bars of text; there is nothing to warn of.
    warnings.simplefilter("ignore")
    from tqdm.auto import tqdm

# Seconds until the first sign of life, and between lines in a file.
_FIRST_SIGN, _NEXT_LINE = 2, 10

# Seconds after which even a stage that cannot be counted gives a sign.
LONGEST_SILENCE = 30


def shows_bars():
    """Return whether a bar can be drawn: on a terminal and in a notebook."""
    return _in_notebook() or (sys.stderr.isatty() and _has_lines(sys.stderr))


def say(line):
    """Write a line to the error stream, above a bar if one is drawn."""
    tqdm.write(line, file=sys.stderr)
    sys.stderr.flush()


def duration(seconds):
    """Return seconds in the unit that a person would use."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def _has_lines(terminal):
    # A terminal that nobody looks at, as some servers give, may have no size, and tqdm
    # then shows nothing.
    return os.get_terminal_size(terminal.fileno()).lines > 0


def _in_notebook():
    # A kernel has imported IPython before it runs anybody's code.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config


class Pulse:
    """Calls a function again and again, in a thread of its own: `with Pulse(tick)`.

    It is for what must go on while the main thread is deep inside TensorFlow.

    Args:
        tick: the function.
        seconds: how long to wait between two calls.
    """

    def __init__(self, tick, seconds=1.0):
        self._tick, self._seconds = tick, seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._is_over.set()
        self._thread.join()

    def _beat(self):
        while not self._is_over.wait(self._seconds):
            self._tick()


class _Progress:
    """A bar or lines, whichever suits the error stream: `with … as progress`."""

    def __init__(self, verbosity, **settings):
        self._lines = verbosity >= 0 and not shows_bars()
        self._bar = tqdm(leave=False, disable=verbosity < 0 or self._lines, **settings)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._bar.close()

    def _say(self, line):
        if self._lines:
            print(line, file=sys.stderr, flush=True)


class Counter(_Progress):
    """Counts what has been done so far: `with Counter(...) as counter`.

    Args:
        what: what is being done, as "evaluating".
        total: how many there are to do.
        unit: of what, as "images"; "B" counts bytes.
        verbosity: nothing is shown below 0.
        announce: says at once what begins, instead of waiting two seconds.
    """

    def __init__(self, what, total, unit="images", verbosity=0, announce=False):
        super().__init__(
            verbosity,
            desc=what,
            total=total,
            unit=unit if unit == "B" else f" {unit}",
            unit_scale=unit == "B",
            delay=0 if announce else _FIRST_SIGN,
        )
        self._what, self._total, self._unit = what, total, unit
        self._done = 0
        self._line_due = time.monotonic() + _FIRST_SIGN
        if announce:
            self._say(f"{what} ...")

    def advance(self, count=1):
        """Count so many more as done."""
        self._done += count
        self._bar.update(count)
        if time.monotonic() >= self._line_due:
            self._line_due = time.monotonic() + _NEXT_LINE
            self._say(f"{self._what}: {self._done:,} of {self._total:,} {self._unit}")


class Stages(_Progress):
    """Tells which of a few long stages is under way: `with Stages(...) as stages`.

    Args:
        total: how many stages there are.
        verbosity: nothing is shown below 0.
    """

    def __init__(self, total, verbosity=0):
        bar_format = "{desc} |{bar}| {n}/{total} {elapsed}"
        super().__init__(verbosity, total=total, bar_format=bar_format)
        self._is_quiet = verbosity < 0
        self._begun = 0
        self._what = ""
        self._started = self._line_due = math.inf
        self._pulse = Pulse(self.tick)

    def __enter__(self):
        self._pulse.__enter__()
        return super().__enter__()

    def __exit__(self, *details):
        self._pulse.__exit__(*details)
        super().__exit__(*details)

    def begin(self, what):
        """Say that the stage before is done and this one is under way."""
        self._bar.update(min(self._begun, 1))
        self._bar.set_description_str(what)
        self._begun += 1
        self._what, self._started = what, time.monotonic()
        self._line_due = self._started + LONGEST_SILENCE
        self._say(f"{what} ...")

    def tell(self, line):
        """Say what a stage has found; it stays to be read."""
        if not self._is_quiet:
            say(line)

    def tick(self):
        """Show that the stage is still under way."""
        self._bar.refresh()
        now = time.monotonic()
        if now >= self._line_due:
            self._line_due = now + LONGEST_SILENCE
            self._say(f"{self._what}: {duration(now - self._started)} so far")
