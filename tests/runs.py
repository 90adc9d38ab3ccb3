"""Whole, tiny runs on the embedded digits, in the test's own process."""

import atexit
import contextlib
import dataclasses
import fcntl
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.python.framework import config as tensorflow_config

from la_tf.config import TrainConfig
from la_tf.run import checkpoints, store
from la_tf.run import folder as run_folder
from la_tf.train import loop
from tests import helper

# Columns of metrics.csv that tell the time, which no two runs share.
CLOCK = ("seconds", "evaluation_seconds", "saving_seconds", "images_per_second")

# 80 images in batches of 16: five steps an epoch, twenty in all.
SMALL = TrainConfig(
    dataset="digits",
    model="wrn_10_1",
    limit_train=80,
    batch_size=16,
    num_views=3,
    epochs=4,
    learning_rate=0.1,
    final="cutmix",
    strategy="none",
    deterministic=True,
    keep=5,
    verbosity=-1,
)


def configuration(run_dir, **changes):
    """The TrainConfig of a tiny run."""
    return dataclasses.replace(SMALL, run_dir=str(run_dir), **changes)


def start(config):
    """The summary of a new run."""
    return _train(config, run_folder.fresh(config))


def by_command(run_dir, *flags):
    """The RunFolder of a new run that the command made in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "la_tf.train", *flags, f"--run_dir={run_dir}"],
        env=helper.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return run_folder.RunFolder(run_dir)


def resume(run_dir, **changes):
    """The summary of a run that goes on, with flags given anew."""
    chosen = {"run_dir": str(run_dir), "resume": True, **changes}
    folder, config = run_folder.resumed(chosen)
    return _train(config, folder)


def _train(config, folder):
    try:
        with helper.without_pictures():
            return loop.train_and_evaluate(config, folder)
    finally:
        # A deterministic run makes all of TensorFlow so; other tests share the process.
        tensorflow_config.disable_op_determinism()


@functools.cache
def whole():
    """The folder of a finished run of `SMALL`, which tests read or copy.

    It has a checkpoint of each epoch, and one of step 7 in the middle of the second.
    Processes that share `LA_TF_TEST_RUNS`, as pytest's do, make it once.
    """
    shared = os.environ.get("LA_TF_TEST_RUNS")
    if shared is None:
        shared = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, shared, ignore_errors=True)
    run_dir = pathlib.Path(shared) / "whole"
    with open(f"{run_dir}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (run_dir / "summary.json").exists():
            with mock.patch.object(checkpoints, "Checkpointer", _SavesStep7):
                start(configuration(run_dir))
    return run_dir


class _SavesStep7(checkpoints.Checkpointer):
    """Takes the time for a checkpoint to have come at step 7, and only there."""

    def on_train_batch_end(self, batch, logs=None):
        self._seconds_between = 0 if self.global_step == 6 else float("inf")
        super().on_train_batch_end(batch, logs)


class StopAfter(keras.callbacks.Callback):
    """Asks the run to stop after a number of steps, as Ctrl-C would."""

    def __init__(self, steps):
        super().__init__()
        self._left = steps

    def on_train_batch_begin(self, batch, logs=None):
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def stop(config, steps):
    """Start a run and stop it after so many steps."""
    display = contextlib.nullcontext([StopAfter(steps)])
    with mock.patch.object(loop, "_display", return_value=display):
        try:
            start(config)
        except checkpoints.RunStopped as stopped:
            if stopped.step == steps:
                return
    raise AssertionError(f"the run did not stop after step {steps}")


def rows(run_dir):
    """The rows of metrics.csv without the clock."""
    return [
        {name: row[name] for name in row if name not in CLOCK}
        for row in run_folder.RunFolder(run_dir).rows()
    ]


def variables(run_dir):
    """Every value of the last checkpoint by name, without the clock."""
    path = store.found(run_folder.RunFolder(run_dir).checkpoints)[-1][1]
    reader = tf.train.load_checkpoint(str(path))
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_dtype_map()
        if not name.startswith(("_CHECKPOINT", "epoch_seconds", "history"))
    }


def differences(run_dir, other):
    """What differs between two runs, in words; empty if they are equal to the bit."""
    found = [] if rows(run_dir) == rows(other) else ["metrics.csv"]
    priors = (run_folder.RunFolder(path).policies() for path in (run_dir, other))
    if not np.array_equal(*priors):
        found.append("policy.npz")
    ours, theirs = variables(run_dir), variables(other)
    found += sorted(ours.keys() ^ theirs.keys())
    return found + [
        name
        for name in sorted(ours.keys() & theirs.keys())
        if not np.array_equal(ours[name], theirs[name])
    ]
