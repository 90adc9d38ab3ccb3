"""Kills at random moments: the resumed run must end as if nothing had happened."""

import random
import signal
import time

from tests.drills import commands

WHAT = (
    "A run ended by SIGKILL, SIGTERM or SIGINT at a random moment and resumed: equal "
    "to the bit."
)
TIMES = 15


def run(root):
    """Yield a case, whether it held, and how it went."""
    generator = random.Random(0)
    whole = root / "whole"
    ended = commands.run("train", *commands.RUN, f"--run_dir={whole}")
    assert ended.code == 0, ended.said
    for number in range(TIMES):
        kind = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[number % 3]
        run_dir, moment = root / f"run{number}", generator.uniform(0.5, ended.seconds)
        command = commands.Command("train", *commands.RUN, f"--run_dir={run_dir}")
        time.sleep(moment)
        command.signal(kind)
        first = command.wait()
        last = commands.go_on(run_dir)
        held = last.code == 0 and not commands.differences(run_dir, whole)
        held &= "Traceback" not in first.said
        yield f"{kind.name} after {moment:.1f} s", held, last.said
