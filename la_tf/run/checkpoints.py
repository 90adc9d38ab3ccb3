"""Saving a run so that it can go on as if it had never stopped."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time

import tensorflow as tf
from tensorflow import keras

from la_tf.errors import UserError
from la_tf.run import strategies

# Workers ask one another this often whether one of them wants to stop or to save.
_STEPS_BETWEEN_QUESTIONS = 20

# What TensorFlow raises for a file that is cut short, garbled or of another network.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, ValueError)


class RunStopped(Exception):
    """The run was asked to stop and has been saved."""

    def __init__(self, step):
        super().__init__(f"stopped after step {step}")
        self.step = step


class Checkpointer(keras.callbacks.Callback):
    """Saves the run at the end of every epoch, by the clock and when asked to stop.

    A checkpoint holds weights, optimizer, prior and its window, the metrics of the
    epoch under way, the step, and the epoch's seconds so far. TensorFlow names a
    checkpoint in its index only after all of it is on disk, so a kill at any moment
    leaves the one before in place.
    """

    def __init__(self, model, folder, plan, recorder, stop_request, *, keep, minutes):
        super().__init__()
        # No log is read, so none has to be fetched from the device at every step.
        self._supports_tf_logs = True
        self._model = model
        self._plan = plan
        self._recorder = recorder
        self._stop_request = stop_request
        self._seconds_between = 60 * minutes
        self._saved_at = time.monotonic()
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._epoch_seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        checkpoint = tf.train.Checkpoint(
            model=model, step=self._step, epoch_seconds=self._epoch_seconds
        )
        self._directory = folder.checkpoints
        self._manager = _manager(checkpoint, folder.checkpoints, plan.worker, keep)
        self._best_manager = _manager(
            _classifier_checkpoint(model.classifier),
            folder.best_checkpoints,
            plan.worker,
            1,
        )
        self._epoch_metrics = None
        self.global_step = 0

    def restore(self):
        """The step to go on from; 0 where nothing was saved yet.

        A damaged checkpoint is passed over for the one before it.
        """
        # The chief's folder, whichever worker this is.
        state = tf.train.get_checkpoint_state(str(self._directory))
        paths = reversed(state.all_model_checkpoint_paths) if state else ()
        for path in paths:
            try:
                status = self._manager.checkpoint.restore(path)
                status.assert_existing_objects_matched()
            except _UNREADABLE:
                continue
            self._take_up()
            return self.global_step
        if state:
            raise UserError(
                f"none of the checkpoints in {self._directory} can be read; "
                "start a new run with another --run_dir."
            )
        return 0

    def on_epoch_begin(self, epoch, logs=None):
        # fit has just reset the metrics; those of a half-done epoch go on instead.
        if self._epoch_metrics is not None:
            for variable, value in self._epoch_metrics:
                variable.assign(value)
            self._epoch_metrics = None

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
        if self._recorder.best_row is self._recorder.last_row:
            self._best_manager.save(self.global_step)
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
        self._step.assign(self.global_step)
        self._epoch_seconds.assign(self._recorder.epoch_seconds)
        try:
            self._manager.save(self.global_step)
        except (tf.errors.UnavailableError, tf.errors.AbortedError):
            # Not the disk's fault: another worker was lost.
            raise
        except tf.errors.OpError as error:
            raise UserError(
                f"a checkpoint cannot be written to {self._manager.directory} "
                f"({_reason(error)}); the one before stays: make room, pass --resume."
            ) from None
        self._saved_at = time.monotonic()

    def _take_up(self):
        self.global_step = int(self._step)
        epoch, step = divmod(self.global_step, self._plan.steps_per_epoch)
        self._recorder.resume(epoch, float(self._epoch_seconds))
        if step:
            self._epoch_metrics = [
                (variable, variable.numpy())
                for metric in self._model.metrics
                for variable in metric.variables
            ]


def restore_classifier(classifier, path):
    """None; gives a network the weights of a checkpoint, the last or the best.

    Raises:
        UserError: the checkpoint is damaged or belongs to another network.
    """
    try:
        status = _classifier_checkpoint(classifier).restore(str(path))
        status.expect_partial().assert_existing_objects_matched()
    except _UNREADABLE:
        raise UserError(
            f"the checkpoint {path} is damaged or belongs to another network."
        ) from None


def latest(folder, best=False):
    """The path of a run's last, or best, checkpoint."""
    directory = folder.best_checkpoints if best else folder.checkpoints
    path = tf.train.latest_checkpoint(str(directory))
    if path is None:
        raise UserError(
            f"the run in {folder.path} has no checkpoint in {directory.name}/ yet; let "
            "it finish an epoch first."
        )
    return path


def _classifier_checkpoint(classifier):
    # The names by which a run's own checkpoint reaches the classifier.
    return tf.train.Checkpoint(model=tf.train.Checkpoint(classifier=classifier))


def _manager(checkpoint, directory, worker, keep):
    # All workers take part in a save, but only the chief's copy is kept.
    if worker:
        directory = tempfile.mkdtemp(prefix=f"la_tf-worker-{worker}-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return tf.train.CheckpointManager(
        checkpoint, str(directory), max_to_keep=keep, checkpoint_name="step"
    )


def _reason(error):
    return str(error.message).splitlines()[0].rsplit(";", 1)[-1].strip()
