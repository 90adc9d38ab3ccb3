"""Saving a run so that it can go on as if it had never stopped."""

from __future__ import annotations

import atexit
import pathlib
import shutil
import sys
import tempfile
import time

import tensorflow as tf
from tensorflow import keras

from la_tf import keras_generation
from la_tf.errors import UserError
from la_tf.run import store, strategies

# Workers ask one another this often whether one of them wants to stop or to save.
_STEPS_BETWEEN_QUESTIONS = 20


class RunStopped(Exception):
    """The run was asked to stop and has been saved."""

    def __init__(self, step):
        super().__init__(f"stopped after step {step}")
        self.step = step


class Checkpointer(keras.callbacks.Callback):
    """Saves the run at the end of every epoch, by the clock and when asked to stop.

    A checkpoint holds weights, optimizer, prior and its window, the metrics of the
    epoch under way, the step, the epoch's seconds so far, and all that the run has told
    of earlier epochs: metrics.csv and policy.npz are written anew from it. What is not
    finite is never saved.
    """

    def __init__(self, model, folder, plan, recorder, stop_request, *, keep, minutes):
        super().__init__()
        # No log is read, so none has to be fetched from the device at every step.
        self._supports_tf_logs = True
        self._model = model
        self._folder = folder
        self._plan = plan
        self._recorder = recorder
        self._stop_request = stop_request
        self._seconds_between = 60 * minutes
        self._saved_at = time.monotonic()
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._epoch_seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self._history = tf.Variable(b"", trainable=False)
        self._store = _store(
            tf.train.Checkpoint(
                model=model,
                step=self._step,
                epoch_seconds=self._epoch_seconds,
                history=self._history,
            ),
            folder.checkpoints,
            plan.worker,
            keep,
        )
        self._best_store = _store(
            _best_checkpoint(model),
            folder.best_checkpoints,
            plan.worker,
            1,
        )
        self._metrics = strategies.ReplicaValues(
            model.distribute_strategy,
            [
                keras_generation.tensorflow_variable(variable)
                for metric in model.metrics
                for variable in metric.variables
            ],
        )
        self._is_in_epoch = False
        self.global_step = 0

    def restore(self):
        """Return the step to go on from; 0 where nothing was saved yet.

        A damaged checkpoint is passed over for the one before it, and that is told.
        """
        # The chief's folder, whichever worker this is.
        saved = store.found(self._folder.checkpoints)
        for _, path in reversed(saved):
            try:
                self._store.read(path)
                self._recorder.history.deserialize(self._history.numpy())
                self._check_history()
            except store.UNREADABLE:
                continue
            self._check_unfinished(int(self._step))
            self._take_up(path)
            return self.global_step
        self._check_unfinished(0)
        if saved:
            raise UserError(
                f"none of the checkpoints in {self._folder.checkpoints} can be read; "
                "start a new run with another --run_dir."
            )
        return 0

    def on_epoch_begin(self, epoch, logs=None):
        # fit has just reset the metrics; those of a half-done epoch go on instead.
        if self._is_in_epoch:
            self._metrics.assign(self._recorder.history.metrics)
            self._is_in_epoch = False

    def on_train_batch_end(self, batch, logs=None):
        self.global_step += 1
        if self.global_step % self._plan.steps_per_epoch == 0:
            # The end of the epoch saves, once its row is written.
            return
        asked_to_stop = self._agree(self._stop_request.is_set)
        due = time.monotonic() - self._saved_at >= self._seconds_between
        if asked_to_stop or self._agree(due):
            self._save()
        if asked_to_stop:
            raise RunStopped(self.global_step)

    def on_epoch_end(self, epoch, logs=None):
        self._save()
        self._save_best()
        last = epoch + 1 == self._plan.epochs
        if not last and self._agree(self._stop_request.is_set, now=True):
            raise RunStopped(self.global_step)

    def _agree(self, flag, now=False):
        if self._plan.workers == 1:
            return flag
        if not now and self.global_step % _STEPS_BETWEEN_QUESTIONS:
            return False
        return strategies.any_worker(self._model.distribute_strategy, flag)

    def _save(self):
        if self._model.health.failed_step() >= 0:
            # The run is about to end; the last good checkpoint stays the last.
            return
        variables = self._saved_variables()
        if not self._are_finite(len(variables)):
            raise UserError(
                f"{not_finite(variables)} is no longer finite after step "
                f"{self.global_step}: the training has diverged, though its loss is "
                "still a number. The last good checkpoint stays; lower "
                "--learning_rate or set --clip_norm."
            )
        self._step.assign(self.global_step)
        self._epoch_seconds.assign(self._recorder.epoch_seconds)
        self._recorder.history.metrics = self._metrics.read()
        self._history.assign(self._recorder.history.serialize())
        self._store.save(self.global_step)
        self._saved_at = time.monotonic()

    def _saved_variables(self):
        return [*self._model.variables, *self._model.optimizer.variables]

    # As one function: TensorFlow 2.15 loses some 50 bytes with every tensor that is
    # made outside of one, and a run saves often.
    @tf.function
    def _are_finite(self, count):
        """Tell whether all variables are; traced anew should their number change."""
        del count
        values = [tf.convert_to_tensor(value) for value in self._saved_variables()]
        floats = [value for value in values if value.dtype.is_floating]
        return tf.reduce_all(
            [tf.reduce_all(tf.math.is_finite(value)) for value in floats]
        )

    def _save_best(self):
        """Save the weights of the best epoch if they are those at hand."""
        history = self._recorder.history
        if history.rows and history.best_row is history.rows[-1]:
            self._best_store.save(history.best_row["step"])

    def _check_unfinished(self, step):
        """Refuse to train a finished run again because its last checkpoint is lost."""
        if step < self._plan.total_steps and self._folder.summary_path.exists():
            raise UserError(
                f"the run in {self._folder.path} is finished (summary.json is there), "
                "but its last checkpoint is damaged or gone; it is not trained again. "
                "Put the checkpoint back, or start a new run with another --run_dir."
            )

    def _check_history(self):
        epochs = int(self._step) // self._plan.steps_per_epoch
        if len(self._recorder.history.rows) != epochs:
            raise ValueError(f"the checkpoint does not tell of {epochs} epochs")

    def _take_up(self, path):
        self.global_step = int(self._step)
        step = self.global_step % self._plan.steps_per_epoch
        self._is_in_epoch = step > 0
        is_chief = self._plan.worker == 0
        if is_chief:
            self._mend(path)
        # A kill may have fallen between the epoch's checkpoint and its best one. Saving
        # takes all workers, so all do what the chief sees.
        lacks_best = not store.found(self._best_store.directory)
        if step == 0 and self._agree(is_chief and lacks_best, now=True):
            self._save_best()
        self._recorder.resume(float(self._epoch_seconds))

    def _mend(self, path):
        """Bring the folder into line with the checkpoint that was restored."""
        newest = store.found(self._folder.checkpoints)[-1][1]
        if newest != path:
            sys.stderr.write(
                f"{newest} is damaged; going on from {path.name} before it.\n"
            )
        self._store.forget(lambda number: number > self.global_step)
        history = self._recorder.history
        best = history.best_row["step"] if history.best_row else 0
        self._best_store.forget(lambda step: step != best)


def restore_classifier(classifier, path, averaged=False):
    """Give a network the weights of a checkpoint, the last or the best.

    Args:
        classifier: the network.
        path: of the checkpoint.
        averaged: whether the run keeps an average of its weights, which is then taken.

    Raises:
        UserError: the checkpoint is damaged, not finite, or of another network.
    """
    try:
        status = _classifier_checkpoint(classifier, averaged).read(str(path))
        status.expect_partial().assert_existing_objects_matched()
    except store.UNREADABLE:
        raise UserError(
            f"the checkpoint {path} is damaged or belongs to another network; name "
            "another by --checkpoint."
        ) from None
    name = not_finite(classifier.variables)
    if name is not None:
        raise UserError(
            f"the checkpoint {path} holds values of {name} that are not finite: its "
            "training has diverged; name an earlier one by --checkpoint."
        )


def restore_learner(learner, path):
    """Give what a method learns beside the network the values of a run's checkpoint.

    Args:
        learner: a `la_tf.learners.learner.Learner`.
        path: of one of the run's last checkpoints; the best has the network alone.

    Raises:
        UserError: the checkpoint is damaged, or of another method.
    """
    # The names by which a run's own checkpoint reaches it.
    checkpoint = tf.train.Checkpoint(model=tf.train.Checkpoint(learner=learner))
    try:
        status = checkpoint.read(str(path))
        status.expect_partial().assert_existing_objects_matched()
    except store.UNREADABLE:
        raise UserError(
            f"the checkpoint {path} is damaged or belongs to another method."
        ) from None


def latest(folder, best=False):
    """Return the path of a run's last, or best, checkpoint."""
    directory = folder.best_checkpoints if best else folder.checkpoints
    saved = store.found(directory)
    if not saved:
        raise UserError(
            f"the run in {folder.path} has no checkpoint in {directory.name}/ yet; let "
            "it finish an epoch first."
        )
    step, path = saved[-1]
    wanted = (folder.summary() or {}).get("best_step" if best else "last_step", step)
    if step != wanted:
        raise UserError(
            f"the checkpoint {directory / f'step-{wanted}'} of the finished run is "
            f"lost; --checkpoint={path} is the newest that is there."
        )
    return str(path)


def not_finite(variables):
    """Return the name of the first variable that is not finite, or None."""
    for variable in variables:
        value = tf.convert_to_tensor(variable)
        if value.dtype.is_floating and not tf.reduce_all(tf.math.is_finite(value)):
            return variable.name
    return None


def _best_checkpoint(model):
    averaged = model.averaged is not None
    network = model.averaged if averaged else model.classifier
    return _classifier_checkpoint(network, averaged)


def _classifier_checkpoint(network, averaged):
    # The names by which a run's own checkpoint reaches the network.
    name = "averaged" if averaged else "classifier"
    return tf.train.Checkpoint(model=tf.train.Checkpoint(**{name: network}))


def _store(checkpoint, directory, worker, keep):
    # All workers take part in a save, but only the chief's copy is kept.
    if worker:
        directory = tempfile.mkdtemp(prefix=f"la_tf-worker-{worker}-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return store.Store(checkpoint, pathlib.Path(directory), keep)
