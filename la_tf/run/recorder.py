"""The callback that writes a run's results as they come."""

from __future__ import annotations

import time
from math import isnan, nan

from tensorflow import keras

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
        self._rows = []
        self._priors = []
        self._started = None
        self._earlier_seconds = 0.0
        self._test_started = None
        self._test_seconds = 0.0  # of the epoch under way
        self._ended = None
        self._saving_seconds = 0.0

    @property
    def last_row(self):
        """The newest row."""
        return self._rows[-1]

    @property
    def best_row(self):
        """The row with the highest test accuracy, the first among equals.

        An epoch that was not evaluated has NaN there; None where no epoch was.
        """
        evaluated = [row for row in self._rows if not isnan(row["test_accuracy"])]
        return max(evaluated, key=lambda row: row["test_accuracy"], default=None)

    @property
    def seconds(self):
        """Training seconds of all finished epochs."""
        return sum(row["seconds"] for row in self._rows)

    @property
    def epoch_seconds(self):
        """Training seconds of the epoch that is under way."""
        if self._started is None:
            return self._earlier_seconds
        return self._earlier_seconds + time.perf_counter() - self._started

    def resume(self, finished_epochs, epoch_seconds):
        """None; takes up the rows of the finished epochs and forgets later ones."""
        self._rows = self._folder.rows()[:finished_epochs]
        self._priors = list(self._folder.policies()[:finished_epochs])
        self._earlier_seconds = epoch_seconds

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
        self._rows.append(self._row(epoch, logs, seconds))
        self._test_seconds = 0.0
        self._priors.append(self.model.prior.probabilities.numpy())
        self._folder.write_rows(self._rows)
        self._folder.write_policies(self._priors, self._operations)
        self._ended = time.perf_counter()

    def _row(self, epoch, logs, seconds):
        step = (epoch + 1) * self._plan.steps_per_epoch
        images = self._plan.steps_per_epoch * self._plan.batch_size
        row = {"epoch": epoch + 1, "step": step}
        # The test columns of an epoch that was not evaluated are NaN.
        row.update({name: float(logs.get(key, nan)) for name, key in COLUMNS.items()})
        # Only a run that skips steps tells how many.
        row["skipped_steps"] = int(logs.get("skipped_steps", 0))
        row["learning_rate"] = float(self._schedule(step - 1))
        row["seconds"] = round(seconds, 3)
        row["images_per_second"] = round(images / seconds, 1)
        row["evaluation_seconds"] = round(self._test_seconds, 3)
        row["saving_seconds"] = round(self._saving_seconds, 3)
        return row
