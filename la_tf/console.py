"""Progress of what takes longer than a moment, on the error stream.

A bar on a terminal, plain lines where the output goes to a file, nothing where the user
wants quiet.
"""

from __future__ import annotations

import sys
import time

import tqdm

# Seconds until the first sign of life, and between lines in a file.
_FIRST_SIGN, _NEXT_LINE = 2, 10


class _Progress:
    """A bar or lines, whichever suits the error stream: `with … as progress`."""

    def __init__(self, verbosity, **settings):
        self._lines = verbosity >= 0 and not sys.stderr.isatty()
        self._bar = tqdm.tqdm(
            leave=False, disable=verbosity < 0 or self._lines, **settings
        )

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
        bar_format = "{desc} |{bar:20}| {n}/{total} {elapsed}"
        super().__init__(verbosity, total=total, bar_format=bar_format)
        self._begun = 0

    def begin(self, what):
        """Say that the stage before is done and this one is under way."""
        self._bar.update(min(self._begun, 1))
        self._bar.set_description_str(what)
        self._begun += 1
        self._say(f"{what} ...")
