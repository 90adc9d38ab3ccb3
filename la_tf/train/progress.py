"""What a person sees while a network trains."""

from __future__ import annotations

import math
import sys

from tensorflow import keras
from tqdm import tqdm

from la_tf import keras_generation

_BAR = "{desc} |{bar:20}| {percentage:3.0f}% {rate_fmt}, {remaining} left"


class ProgressBar(keras_generation.progress_bar()):
    """One bar over the whole run, with images a second and the time left."""

    def __init__(self, plan, first_step=0):
        super().__init__(
            overall_bar_format=_BAR,
            show_epoch_progress=False,
            leave_overall_progress=False,
        )
        # No log is read, so none has to be fetched from the device at every step.
        self._supports_tf_logs = True
        self._plan = plan
        self._first_step = first_step

    def on_train_begin(self, logs=None):
        super().on_train_begin(logs)
        bar = self.overall_progress_tqdm
        bar.unit, bar.unit_scale = " images", self._plan.batch_size
        bar.total = self._plan.total_steps
        bar.initial = bar.n = self._first_step

    def on_epoch_begin(self, epoch, logs=None):
        self.overall_progress_tqdm.set_description_str(
            f"epoch {epoch + 1}/{self._plan.epochs}"
        )

    def on_batch_end(self, batch, logs=None):
        self._first_step += 1
        self.overall_progress_tqdm.update(1)

    def on_test_batch_end(self, batch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass


class EpochLines(keras.callbacks.Callback):
    """A line an epoch; it also stands well above a bar and in a log file."""

    def __init__(self, recorder, epochs):
        super().__init__()
        self._recorder = recorder
        self._epochs = epochs

    def on_epoch_end(self, epoch, logs=None):
        tqdm.write(epoch_line(self._recorder.last_row, self._epochs), file=sys.stderr)


def epoch_line(row, epochs):
    """Return an epoch's row of metrics.csv in words."""
    width = len(str(epochs))
    test = f"  test {row['test_accuracy']:7.2%}"
    # NaN: the epoch was not evaluated.
    test = " " * len(test) if math.isnan(row["test_accuracy"]) else test
    # Only a run that learns how to draw has it.
    entropy = row.get("drawing_entropy")
    drawing = "" if entropy is None else f"  drawing {entropy:.3f} nats"
    return (
        f"epoch {row['epoch']:{width}}/{epochs}"
        f"  loss {row['loss']:.4f}"
        f"  train {row['train_accuracy']:7.2%}"
        f"{test}"
        f"{drawing}"
        f"  {row['images_per_second']:,.0f} images/s"
        f"  {row['seconds']:.1f} s"
    )
