"""Runs over two replicas of one machine, stopped and resumed."""

import random
import signal
import time

from tests.drills import commands

WHAT = (
    "A run with --strategy=mirrored --logical_cpus=2, ended at a random moment and "
    "resumed: equal to the bit."
)
TIMES = 5
FLAGS = (
    *("--model=wrn_10_1", "--limit_train=80", "--batch_size=16", "--num_views=2"),
    *("--epochs=3", "--deterministic", "--strategy=mirrored", "--logical_cpus=2"),
    "--checkpoint_minutes=0.01",
)


def run(root):
    """Yield a case, whether it held, and how it went."""
    generator = random.Random(0)
    whole = root / "whole"
    ended = commands.run("train", *FLAGS, f"--run_dir={whole}")
    assert ended.code == 0, ended.said
    for number in range(TIMES):
        run_dir = root / f"run{number}"
        command = commands.Command("train", *FLAGS, f"--run_dir={run_dir}")
        time.sleep(generator.uniform(0.5, 1) * ended.seconds)
        command.signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        command.wait()
        has_begun = (run_dir / "config.json").exists()
        flags = ["--resume"] if has_begun else FLAGS
        last = commands.run("train", *flags, f"--run_dir={run_dir}")
        found = commands.differences(run_dir, whole) if last.code == 0 else ["failed"]
        yield f"run {number}", not found, f"{last.said} {found[:3]}"
