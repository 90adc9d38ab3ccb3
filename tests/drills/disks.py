"""Disks that are full: refused in a sentence, and to the bit once there is room."""

import random
import subprocess

from tests.drills import commands

WHAT = "A disk of 0.1 to 6 MB that fills up: one sentence, then to the bit with room."
TIMES = 10


def run(root):
    """Yield a case, whether it held, and how it went."""
    generator = random.Random(0)
    whole, disk = root / "whole", root / "disk"
    ended = commands.run("train", *commands.RUN, f"--run_dir={whole}")
    assert ended.code == 0, ended.said
    disk.mkdir()
    for number in range(TIMES):
        size = int(1024 * 10 ** generator.uniform(-1, 0.78))
        _mount(disk, size)
        try:
            run_dir = disk / "run"
            first = commands.run("train", *commands.RUN, f"--run_dir={run_dir}")
            _mount(disk, 1 << 16, "remount,")
            last = commands.go_on(run_dir)
            # A larger disk may hold the run after all.
            held = (first.is_refusal or first.code == 0) and last.code == 0
            held &= not commands.differences(run_dir, whole)
            yield f"{number}: {size} kB", held, f"{first.code} {first.said} {last.said}"
        finally:
            subprocess.run(["umount", disk], check=True)


def _mount(disk, kilobytes, how=""):
    options = f"{how}size={kilobytes}k"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk]
    subprocess.run(command, check=True)
