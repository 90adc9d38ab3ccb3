"""Telling how long a network waits for its batches."""

from __future__ import annotations

import sys
import time

import tensorflow as tf
from tensorflow import keras
from tqdm import tqdm

# The first steps build the graph and fill the pipeline; they tell little.
_FIRST_STEP, _STEPS = 10, 20
# Of the time, that may be waited without a word.
_SMALL = 0.1


class KeepingUp(keras.callbacks.Callback):
    """Measures early in a run how long it waits for batches; says so if it is long.

    For that the host waits for the device after each of twenty steps, and never again:
    as long as it runs ahead of the device, waiting for a batch costs nothing.

    Args:
        waiting: the `Waiting` of the batches.
        steps: how many steps this process will train.
        on_device: whether the views are made in the step already.
        tell: True to say it in any case, False never, None if it is long.

    Attributes:
        share: of the time that was waited; None until it is known.
    """

    def __init__(self, waiting, steps, on_device, tell=None):
        super().__init__()
        self._supports_tf_logs = True
        self._waiting = waiting
        self._on_device = on_device
        self._is_told = tell
        self._first = max(1, min(_FIRST_STEP, steps - _STEPS))
        self._last = min(self._first + _STEPS, steps) - 1
        self._step = 0
        self._waited = self._elapsed = 0.0
        self.share = None

    def on_train_batch_begin(self, batch, logs=None):
        self._began = time.perf_counter(), self._waiting.seconds

    def on_train_batch_end(self, batch, logs=None):
        step, self._step = self._step, self._step + 1
        if self._first - 1 <= step <= self._last:
            # Each step changes it, so that reading it waits for the step's end.
            self.model.health.skipped_steps.read_value().numpy()
        if self._first <= step <= self._last:
            began, waited = self._began
            self._elapsed += time.perf_counter() - began
            self._waited += self._waiting.seconds - waited
        if step == self._last:
            self.share = min(1.0, self._waited / self._elapsed)
            self._tell()

    def _tell(self):
        is_told = self.share > _SMALL if self._is_told is None else self._is_told
        if is_told:
            tqdm.write(told(self.share, self._on_device), file=sys.stderr)


def told(share, on_device):
    """Return how long a network waits, and what may be done about it, in a line."""
    line = f"the network waits for its input {share:.0%} of the time"
    if share <= _SMALL:
        return line
    if on_device:
        return f"{line}: reading and decoding take longer than a step"
    if tf.config.list_physical_devices("GPU"):
        return f"{line}: --augment_on=device makes the views on the GPU"
    return f"{line}: --data_service lets other machines make the views"
