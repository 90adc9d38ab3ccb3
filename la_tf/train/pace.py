"""How far a run is, how fast it goes, and how long it still takes."""

from __future__ import annotations

import collections
import math
import time

from tensorflow import keras

from la_tf import keras_generation

# The speed is the mean of so many steps; the loss is fetched from the device after so
# many seconds, since a fetch makes the host wait.
_RECENT_STEPS = 100
_SECONDS_BETWEEN_LOSSES = 5

# Training on a view costs a pass forward and one backward, which is twice as long.
_PASSES = 3

# In the order of an epoch.
PHASES = "first step (compiling)", "training", "evaluating", "saving"
COMPILING, TRAINING, EVALUATING, SAVING = PHASES


class Pace(keras.callbacks.Callback):
    """Measures a run as it goes; those who show it read its attributes.

    Args:
        plan: the Plan.
        num_views: views of each image.
        test_images: how many images an evaluation takes.
        evaluated_epochs: the epochs, from 1, that end with an evaluation.
        first_step: steps that were done before this process.
        clock: gives seconds.

    Attributes:
        phase: what is under way: COMPILING, TRAINING, EVALUATING or SAVING.
        epoch: the epoch under way, from 1.
        step: steps done of the whole run.
        done: batches done in this phase, of `total`.
        loss: the mean so far in this epoch, some seconds old; NaN before the first.
    """

    def __init__(
        self,
        plan,
        num_views,
        test_images,
        evaluated_epochs,
        first_step=0,
        clock=time.monotonic,
    ):
        super().__init__()
        # The loss is fetched when it is wanted, not after every step.
        self._supports_tf_logs = True
        self.plan = plan
        self.test_batches = math.ceil(test_images / plan.batch_size)
        self.step = first_step
        self.epoch = first_step // plan.steps_per_epoch + 1
        self.loss = math.nan
        self._clock = clock
        self._evaluated_epochs = evaluated_epochs
        self._test_share = 1 / (_PASSES * num_views)
        self._step_seconds = collections.deque(maxlen=_RECENT_STEPS)
        self._last_test_seconds = None
        self._saving_seconds = 0.0
        self._loss_due = clock() + _SECONDS_BETWEEN_LOSSES
        self._begin(COMPILING)

    @property
    def total(self):
        """Batches of the phase under way."""
        is_test = self.phase == EVALUATING
        return self.test_batches if is_test else self.plan.steps_per_epoch

    @property
    def phase_seconds(self):
        """Seconds since the phase began."""
        return self._clock() - self._phase_began

    @property
    def images_per_second(self):
        """Of the last hundred steps; NaN before the second step has ended."""
        return self.plan.batch_size / self._seconds_a_step

    @property
    def seconds_left(self):
        """Until the run ends, with evaluations and saving; NaN if unknown."""
        test, saving = self._test_seconds, self._saving_seconds
        later = range(self.epoch + 1, self.plan.epochs + 1)
        tests = sum(epoch in self._evaluated_epochs for epoch in later)
        left = (self.plan.total_steps - self.step) * self._seconds_a_step
        left += tests * test + len(later) * saving
        if self.epoch in self._evaluated_epochs:
            left += self._rest(EVALUATING, test)
        return left + self._rest(SAVING, saving)

    def _rest(self, phase, seconds):
        """Return what is to come of this epoch's phase, so long in all."""
        if self.phase == phase:
            return max(seconds - self.phase_seconds, 0.0)
        return seconds if PHASES.index(self.phase) < PHASES.index(phase) else 0.0

    @property
    def _test_seconds(self):
        """Of an evaluation: as long as the last one, or by the work in it."""
        if self._last_test_seconds is not None:
            return self._last_test_seconds
        return self.test_batches * self._seconds_a_step * self._test_share

    @property
    def _seconds_a_step(self):
        steps = self._step_seconds
        return sum(steps) / len(steps) if steps else math.nan

    def on_epoch_begin(self, epoch, logs=None):
        if self.phase == SAVING:
            self._saving_seconds = self.phase_seconds
        self.epoch = epoch + 1
        self._begin(self.phase if self.phase == COMPILING else TRAINING)
        self.done = self.step % self.plan.steps_per_epoch

    def on_train_batch_end(self, batch, logs=None):
        now = self._clock()
        if self.phase == COMPILING:
            done = self.done
            self._begin(TRAINING)
            self.done = done
        else:
            self._step_seconds.append(now - self._step_began)
        self._step_began = now
        self.step += 1
        self.done += 1
        if now >= self._loss_due:
            self.loss = keras_generation.local_mean(self.model, "loss")
            self._loss_due = self._clock() + _SECONDS_BETWEEN_LOSSES

    def on_test_begin(self, logs=None):
        self._begin(EVALUATING)

    def on_test_batch_begin(self, batch, logs=None):
        self.done = batch

    def on_test_end(self, logs=None):
        self._last_test_seconds = self.phase_seconds
        self._begin(SAVING)

    def on_epoch_end(self, epoch, logs=None):
        if self.phase != SAVING:
            self._begin(SAVING)

    def _begin(self, phase):
        self.phase = phase
        self.done = 0
        self._phase_began = self._step_began = self._clock()
