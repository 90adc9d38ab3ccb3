"""Runs the long drills and writes what they found into RELIABILITY.md.

python -m tests.drills             # all of them, about two hours on two cores
python -m tests.drills kills flags
"""

import importlib
import pathlib
import re
import shutil
import sys
import tempfile
import time

from tests import helper
from tests.drills import commands

NAMES = (
    *("kills", "disks", "corruptions", "images", "flags", "requests", "machines"),
    *("service", "replicas", "soak"),
)
PAGE = helper.ROOT / "RELIABILITY.md"
_CASES_BETWEEN_LINES = 25


def main(names):
    """Run the drills of these names, or all."""
    commands.preload()
    for name in names or NAMES:
        drill = importlib.import_module(f"tests.drills.{name}")
        root = pathlib.Path(tempfile.mkdtemp(prefix=f"la_tf-drill-{name}-"))
        started, tried, held = time.monotonic(), 0, 0
        try:
            for case, is_held, note in drill.run(root):
                tried, held = tried + 1, held + is_held
                if tried % _CASES_BETWEEN_LINES == 0:
                    print(f"{name}: {held} of {tried} held so far", flush=True)
                if not is_held:
                    print(f"{name}: NOT HELD: {case}\n    {note[-600:]}", flush=True)
        finally:
            shutil.rmtree(root, ignore_errors=True)
        minutes = (time.monotonic() - started) / 60
        print(f"{name}: {held} of {tried} held, {minutes:.1f} min", flush=True)
        _record(name, drill.WHAT, tried, held)


def _record(name, what, tried, held):
    """Put a drill's counts and the day into its row of the table."""
    text = PAGE.read_text("utf-8")
    counts = f"{tried:,} | {held:,} | {time.strftime('%Y-%m-%d')}"
    row = f"| `{name}` | {counts} | {' '.join(what.split())} |\n"
    pattern = re.compile(rf"^\| `{name}` \|.*\n", re.MULTILINE)
    if not pattern.search(text):
        raise SystemExit(f"{PAGE} has no row for {name}.")
    PAGE.write_text(pattern.sub(lambda _: row, text), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
