"""Progress bars on a terminal; at most a plain line where the output goes elsewhere."""

from __future__ import annotations

import sys

import tqdm


def bar(what, total, unit="image"):
    """A bar that is shown if the work takes longer than two seconds."""
    return _bar(what, total, unit, delay=2)


def announced_bar(what, total, unit="image"):
    """A bar that is shown at once, or a line that says what begins."""
    if not sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr, flush=True)
    return _bar(what, total, unit)


def _bar(what, total, unit, **settings):
    return tqdm.tqdm(
        total=total,
        desc=what,
        unit=unit if unit == "B" else f" {unit}s",
        unit_scale=unit == "B",
        leave=False,
        # None: only on a terminal.
        disable=None,
        **settings,
    )
