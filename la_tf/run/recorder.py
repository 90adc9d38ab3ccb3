"""The callback that writes a run's results as they come."""

from __future__ import annotations

import io
import json
import time
from math import isnan, nan

import numpy as np
from tensorflow import keras

from la_tf.errors import UserError

# Column of metrics.csv: name in Keras' logs.
COLUMNS = {
    "loss": "loss",
    "expected_loss": "expected_loss",
    "train_accuracy": "accuracy",
    "test_loss": "val_loss",
    "test_accuracy": "val_accuracy",
    "test_top_5": "val_top_5_accuracy",
    "weight_entropy": "weight_entropy",
    "effective_policies": "effective_policies",
}


class History:
    """All that a run has told so far; it is part of every checkpoint.

    Attributes:
        rows: those of metrics.csv.
        priors: the prior at the end of every epoch.
        metrics: those of the epoch under way, [replicas, values].
    """

    def __init__(self):
        self.rows = []
        self.priors = []
        self.metrics = np.zeros([0, 0], np.float32)

    @property
    def best_row(self):
        """The row with the highest test accuracy, the first among equals.

        An epoch that was not evaluated has NaN there; None where no epoch was.
        """
        evaluated = [row for row in self.rows if not isnan(row["test_accuracy"])]
        return max(evaluated, key=lambda row: row["test_accuracy"], default=None)

    def serialize(self):
        """Return the history as bytes."""
        file = io.BytesIO()
        np.savez(
            file,
            # As bytes: NumPy would take four for every letter of a text.
            rows=json.dumps(self.rows).encode(),
            priors=np.asarray(self.priors),
            metrics=self.metrics,
        )
        return file.getvalue()

    def deserialize(self, string_value):
        """Take up the history in these bytes."""
        with np.load(io.BytesIO(string_value), allow_pickle=False) as arrays:
            self.rows = json.loads(arrays["rows"].item())
            self.priors = list(arrays["priors"])
            self.metrics = arrays["metrics"]


class Recorder(keras.callbacks.Callback):
    """Writes a row of metrics.csv and the prior at the end of every epoch.

    `seconds` is the training time of the epoch without its evaluation, over all the
    processes that worked on it. `evaluation_seconds` is the evaluation's, and
    `saving_seconds` what passed between the epoch before and this one, for checkpoints
    and pictures.
    """

    def __init__(self, folder, plan, schedule, operations):
        super().__init__()
        self._folder = folder
        self._plan = plan
        self._schedule = schedule
        self._operations = operations
        self.history = History()
        self._started = None
        self._earlier_seconds = 0.0
        self._test_started = None
        self._test_seconds = 0.0  # of the epoch under way
        self._ended = None
        self._saving_seconds = 0.0

    @property
    def last_row(self):
        """The newest row."""
        return self.history.rows[-1]

    @property
    def seconds(self):
        """Training seconds of all finished epochs."""
        return sum(row["seconds"] for row in self.history.rows)

    @property
    def epoch_seconds(self):
        """Training seconds of the epoch that is under way."""
        if self._started is None:
            return self._earlier_seconds
        return self._earlier_seconds + time.perf_counter() - self._started

    def resume(self, epoch_seconds):
        """Go on from the restored history and write its files anew."""
        self._earlier_seconds = epoch_seconds
        self._write()

    def on_epoch_begin(self, epoch, logs=None):
        self._started = time.perf_counter()
        if self._ended is not None:
            self._saving_seconds = self._started - self._ended

    def on_test_begin(self, logs=None):
        # Inside fit: the epoch's training is over, its evaluation begins.
        if self._started is not None:
            self._earlier_seconds = self.epoch_seconds
            self._started = None
        self._test_started = time.perf_counter()

    def on_test_end(self, logs=None):
        self._test_seconds = time.perf_counter() - self._test_started

    def on_epoch_end(self, epoch, logs=None):
        seconds, self._earlier_seconds = self.epoch_seconds, 0.0
        self._started = None
        row = self._row(epoch, logs, seconds)
        self._check_learning(row)
        self._test_seconds = 0.0
        self.history.rows.append(row)
        self.history.priors.append(self.model.prior.probabilities.numpy())
        self._write()
        self._ended = time.perf_counter()

    def _check_learning(self, row):
        """End a run that skips all of its steps: it would go on for ever in vain."""
        before = self.history.rows[-1]["skipped_steps"] if self.history.rows else 0
        if row["skipped_steps"] - before >= self._plan.steps_per_epoch:
            raise UserError(
                f"every step of epoch {row['epoch']} was skipped, as its loss or "
                "gradient was not finite: nothing is learned any more. Lower "
                "--learning_rate or set --clip_norm."
            )

    def _write(self):
        history = self.history
        self._folder.write_history(history.rows, history.priors, self._operations)

    def _row(self, epoch, logs, seconds):
        step = (epoch + 1) * self._plan.steps_per_epoch
        images = self._plan.steps_per_epoch * self._plan.batch_size
        row = {"epoch": epoch + 1, "step": step}
        # The test columns of an epoch that was not evaluated are NaN.
        row.update({name: float(logs.get(key, nan)) for name, key in COLUMNS.items()})
        # Only a run that learns how to draw tells how sure it is.
        if "drawing_entropy" in logs:
            row["drawing_entropy"] = float(logs["drawing_entropy"])
        # Only a run that skips steps tells how many.
        row["skipped_steps"] = int(logs.get("skipped_steps", 0))
        row["learning_rate"] = float(self._schedule(step - 1))
        row["seconds"] = round(seconds, 3)
        row["images_per_second"] = round(images / seconds, 1)
        row["evaluation_seconds"] = round(self._test_seconds, 3)
        row["saving_seconds"] = round(self._saving_seconds, 3)
        return row
