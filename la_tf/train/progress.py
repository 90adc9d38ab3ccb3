"""What a person sees while a network trains.

A thread draws it from the numbers of `Pace`: so it moves while TensorFlow compiles,
evaluates or saves, and no step waits for it.
"""

from __future__ import annotations

import contextlib
import math
import time

from tensorflow import keras

from la_tf import console, keras_generation
from la_tf.train.pace import EVALUATING, TRAINING

_BAR = "{desc} |{bar}| {percentage:3.0f}%{postfix}"

_SECONDS_BETWEEN_DRAWINGS = 0.2


@contextlib.contextmanager
def shown(pace, recorder):
    """Give the callbacks that show a run, which is shown while the context lasts.

    Args:
        pace: the Pace.
        recorder: the Recorder, which must run earlier in the list of callbacks.
    """
    if console.shows_bars():
        view, seconds = ProgressBar(pace), _SECONDS_BETWEEN_DRAWINGS
    else:
        view, seconds = ProgressLines(pace), 1
    epochs = EpochLines(recorder, pace.plan.epochs, view)
    with contextlib.closing(view), console.Pulse(view.tick, seconds):
        yield [pace, view, epochs]


class ProgressBar(keras_generation.progress_bar()):
    """A bar for each epoch's training, evaluation and saving."""

    def __init__(self, pace):
        super().__init__(
            overall_bar_format=_BAR,
            show_epoch_progress=False,
            leave_overall_progress=False,
        )
        # No log is read, so none has to be fetched from the device at every step.
        self._supports_tf_logs = True
        self._pace = pace

    def tick(self):
        """Draw the bar as it is now."""
        bar, pace = self.overall_progress_tqdm, self._pace
        if bar is None or bar.disable:
            return
        if bar.total != pace.total:
            # A notebook's bar hears of its length by this alone.
            bar.reset(pace.total)
        bar.n = pace.done
        bar.set_description_str(f"{_epoch(pace)} {pace.phase}", refresh=False)
        bar.set_postfix_str(", ".join(_facts(pace)), refresh=False)
        bar.refresh()

    def wrote_line(self):
        """Do nothing: a bar stands below all lines."""

    def close(self):
        """Take the bar away."""
        if self.overall_progress_tqdm is not None:
            self.overall_progress_tqdm.close()

    def on_epoch_begin(self, epoch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass

    def on_batch_end(self, batch, logs=None):
        pass

    def on_test_batch_end(self, batch, logs=None):
        pass


class ProgressLines(keras.callbacks.Callback):
    """A line whenever the output has been silent for half a minute.

    Args:
        pace: the Pace.
        clock: gives seconds.
    """

    def __init__(self, pace, clock=time.monotonic):
        super().__init__()
        self._pace = pace
        self._clock = clock
        self.wrote_line()

    def on_train_begin(self, logs=None):
        console.say(f"{self._pace.phase} ...")
        self.wrote_line()

    def tick(self):
        """Say how far the run is, if it is time to."""
        if self._clock() < self._due:
            return
        console.say("  ".join([_epoch(self._pace), *_words(self._pace)]))
        self.wrote_line()

    def wrote_line(self):
        """Wait anew, since somebody has just written a line."""
        self._due = self._clock() + console.LONGEST_SILENCE

    def close(self):
        """Do nothing: lines stay."""


class EpochLines(keras.callbacks.Callback):
    """A line an epoch; it also stands well above a bar and in a log file."""

    def __init__(self, recorder, epochs, view):
        super().__init__()
        self._recorder = recorder
        self._epochs = epochs
        self._view = view

    def on_epoch_end(self, epoch, logs=None):
        console.say(epoch_line(self._recorder.last_row, self._epochs))
        self._view.wrote_line()


def _epoch(pace):
    return f"epoch {pace.epoch}/{pace.plan.epochs}"


def _words(pace):
    """Return what a line says after the epoch."""
    if pace.phase == TRAINING:
        return [f"step {pace.done:,} of {pace.total:,}", *_facts(pace)]
    if pace.phase == EVALUATING:
        batches = f"{pace.done:,} of {pace.total:,} batches"
        return [f"{pace.phase} {batches}", *_facts(pace)]
    return [pace.phase, *_facts(pace)]


def _facts(pace):
    """Return what is known so far: the loss, the speed, the time left."""
    if pace.phase == TRAINING:
        known = (
            (pace.loss, f"loss {pace.loss:.4f}"),
            (pace.images_per_second, f"{_speed(pace.images_per_second)} images/s"),
        )
        facts = [words for value, words in known if not math.isnan(value)]
    else:
        facts = [f"{pace.phase_seconds:.0f} s so far"]
    left = pace.seconds_left
    return facts if math.isnan(left) else [*facts, f"{console.duration(left)} left"]


def _speed(number):
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


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
        f"  {_speed(row['images_per_second'])} images/s"
        f"  {row['seconds']:.1f} s"
    )
