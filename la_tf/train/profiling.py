"""A look inside the training step, for TensorBoard's graph and profile pages."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

# The first steps build the graph and fill the pipeline; they tell little.
_FIRST_STEP = 10
_STEPS = 10


class StepProfile(keras.callbacks.Callback):
    """Writes the graph of the training step, and a profile of ten steps.

    Args:
        folder: the RunFolder.
        steps: how many steps this process will train.
    """

    def __init__(self, folder, steps):
        super().__init__()
        self._supports_tf_logs = True
        self._directory = str(folder.tensorboard)
        self._first = max(1, min(_FIRST_STEP, steps - _STEPS))
        self._last = min(self._first + _STEPS, steps) - 1
        self._step = 0
        self._is_on = False

    def on_train_batch_begin(self, batch, logs=None):
        if self._step == 0:
            tf.summary.trace_on(graph=True, profiler=False)
        elif self._step == self._first:
            tf.profiler.experimental.start(self._directory)
            self._is_on = True

    def on_train_batch_end(self, batch, logs=None):
        if self._step == 0:
            self._write_graph()
        elif self._step == self._last:
            self._stop()
        self._step += 1

    def on_train_end(self, logs=None):
        self._stop()

    def _write_graph(self):
        with tf.summary.create_file_writer(self._directory).as_default():
            tf.summary.trace_export("train_step", step=0)

    def _stop(self):
        if self._is_on:
            self._is_on = False
            tf.profiler.experimental.stop()
