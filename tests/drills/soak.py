"""Three hundred epochs with a checkpoint every few steps: nothing grows."""

import csv
import json
import os
import pathlib
import time

from tests.drills import commands

WHAT = (
    "300 epochs with a checkpoint every 0.6 s: memory, threads, open files and the "
    "folder's files (checkpoints less the history in them) at the end within 2 % of "
    "those after ten epochs."
)
EPOCHS = 300
FLAGS = (
    *("--model=wrn_10_1", "--limit_train=80", "--batch_size=16", "--num_views=2"),
    *(f"--epochs={EPOCHS}", "--strategy=none", "--checkpoint_minutes=0.01"),
)


def run(root):
    """Yield a case, whether it held, and how it went."""
    run_dir = root / "run"
    command = commands.Command("train", *FLAGS, f"--run_dir={run_dir}")
    samples, epoch = {}, 0
    while epoch < EPOCHS - 1:
        time.sleep(0.2)
        if command.has_ended():
            break
        now = _epochs(run_dir)
        if now > epoch:
            epoch = now
            samples[epoch] = _sample(command.pid, run_dir)
    ended = command.wait(7200)
    yield "the run ends", ended.code == 0, ended.said[-300:]
    for name in samples[max(samples)]:
        # A peak between two looks says nothing: the median of ten.
        first, last = (
            _median([samples[e][name] for e in samples if low < e <= low + 10])
            for low in (10, max(samples) - 10)
        )
        note = f"{name}: {first:,.0f} after ten epochs, {last:,.0f} at the end"
        print(note, flush=True)
        yield name, last <= 1.02 * first, note


def _sample(pid, run_dir):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    checkpoints = list((run_dir / "checkpoints").glob("step-*.data*"))
    return {
        "resident kB": int(status["VmRSS"].split()[0]),
        "threads": int(status["Threads"]),
        "open files": len(os.listdir(f"/proc/{pid}/fd")),
        "files in the folder": sum(1 for path in run_dir.rglob("*") if path.is_file()),
        "a checkpoint's bytes": _size(checkpoints[:1]) - _history(run_dir),
    }


def _history(run_dir):
    """The bytes that a checkpoint has of all epochs so far: their rows and priors."""
    with open(run_dir / "metrics.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # Without the quotation marks, which numbers have not.
    texts = sum(len(json.dumps(row)) - 2 * len(row) for row in rows)
    return texts + 4 * 256 * len(rows)


def _size(paths):
    try:
        return sum(path.stat().st_size for path in paths)
    except FileNotFoundError:
        return 0


def _epochs(run_dir):
    try:
        return max(0, (run_dir / "metrics.csv").read_text().count("\n") - 1)
    except FileNotFoundError:
        return 0


def _median(values):
    return sorted(values)[len(values) // 2] if values else 0
