"""Progress of what takes longer than two seconds.

A bar at a terminal, plain lines where the output goes to a file, nothing where the user
wants quiet. All of it goes to the error stream.
"""

from __future__ import annotations

import sys
import time

import tqdm

_FIRST_LINE, _NEXT_LINE = 2, 10


class Counter:
    """Counts what has been done so far: `with Counter(...) as counter`.

    Args:
        what: what is being done, as "evaluating".
        total: how many there are to do.
        unit: of what, as "images".
        verbosity: nothing is shown below 0.
    """

    def __init__(self, what, total, unit, verbosity=0):
        self._what, self._total, self._unit = what, total, unit
        self._done = 0
        self._line_due = time.monotonic() + _FIRST_LINE
        self._lines = verbosity >= 0 and not sys.stderr.isatty()
        self._bar = tqdm.tqdm(
            desc=what,
            total=total,
            unit=f" {unit}",
            delay=_FIRST_LINE,
            leave=False,
            disable=verbosity < 0 or self._lines,
        )

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._bar.close()

    def advance(self, count):
        """None; so many more are done."""
        self._done += count
        self._bar.update(count)
        if self._lines and time.monotonic() >= self._line_due:
            self._line_due = time.monotonic() + _NEXT_LINE
            done = f"{self._done:,} of {self._total:,} {self._unit}"
            print(f"{self._what}: {done}", file=sys.stderr, flush=True)


class Stages:
    """Tells which of a few long stages is under way: `with Stages(...) as stages`.

    Args:
        total: how many stages there are.
        verbosity: nothing is shown below 0.
    """

    def __init__(self, total, verbosity=0):
        self._lines = verbosity >= 0 and not sys.stderr.isatty()
        self._begun = 0
        self._bar = tqdm.tqdm(
            total=total,
            bar_format="{desc} |{bar:20}| {n}/{total} {elapsed}",
            leave=False,
            disable=verbosity < 0 or self._lines,
        )

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._bar.close()

    def begin(self, what):
        """None; the stage before is done and this one is under way."""
        self._bar.update(min(self._begun, 1))
        self._bar.set_description_str(what)
        self._begun += 1
        if self._lines:
            print(f"{what} ...", file=sys.stderr, flush=True)
