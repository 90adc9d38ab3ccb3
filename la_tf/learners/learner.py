"""What a method may learn beside the network, and the callback that updates it."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from la_tf import replicas


class Learner(tf.Module):
    """The learned part of a method, as TensorFlow variables.

    Each step `record`s what the next `update` will learn from. Under a strategy the
    sums over all replicas are recorded, the same on each, so that the variables are the
    same everywhere without further communication.

    Args:
        interval: steps from one update to the next; None for an epoch.
        name: of the module.
    """

    def __init__(self, interval=None, name="learner"):
        super().__init__(name=name)
        if interval is not None and interval < 1:
            raise ValueError(f"interval is {interval}; it must be at least 1 step.")
        self.interval = interval
        self.steps = replicas.variable(tf.zeros([], tf.int64), "steps")

    def sums(self, losses):
        """Return what a step adds up over its replicas for `record`.

        Args:
            losses: [B, K], of the views.
        """
        del losses
        return ()

    def record(self, sound, mass, draws, sums):
        """Keep what a step has to teach; called in each replica, alike in all.

        Args:
            sound: whether the step may leave a trace.
            mass: [num_policies], the weight that each policy got.
            draws: [num_policies], the views that each policy got.
            sums: what `sums` gave, added up over the replicas.
        """
        del sound, mass, draws, sums
        self.steps.assign_add(1)

    def update(self):
        """Learn from the steps since the last update: a `tf.function`."""
        raise NotImplementedError

    def logs(self):
        """Return numbers to report by name, scalar tensors."""
        return {}


class Nothing(Learner):
    """Stands for the learner of a method that learns no more than the prior."""

    def __init__(self):
        tf.Module.__init__(self, name="nothing")

    def record(self, sound, mass, draws, sums):
        del sound, mass, draws, sums


class LearnerUpdates(keras.callbacks.Callback):
    """Updates the learner of a `LatentAugment` model at the end of its intervals.

    The steps are counted on the host, which so need not wait for any of them.
    `LatentAugment.fit` adds it when it is missing and there is something to learn.
    """

    def __init__(self):
        super().__init__()
        # Keras would otherwise copy every log to the host before each batch's end.
        self._supports_tf_logs = True
        self._steps = 0

    def on_train_begin(self, logs=None):
        del logs
        # A resumed run may begin within an interval.
        self._steps = int(self.model.learner.steps.read_value())
        # Traced before the first step, which Keras would else call a slow callback.
        self.model.learner.update.get_concrete_function()

    def on_train_batch_end(self, batch, logs=None):
        del batch, logs
        self._steps += 1
        interval = self.model.learner.interval
        if interval is not None and self._steps % interval == 0:
            self.model.learner.update()

    def on_epoch_end(self, epoch, logs=None):
        del epoch, logs
        if self.model.learner.interval is None:
            self.model.learner.update()
