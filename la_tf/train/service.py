"""Keeping an eye on the tf.data service, which TensorFlow waits for without a word."""

from __future__ import annotations

import os
import sys
import threading
import time

from tensorflow import keras

from la_tf.errors import UserError
from la_tf.run import cluster

# Seconds without a finished step until it is said that the dispatcher is gone, that no
# batch comes though it is there, and until the run ends.
_DISPATCHER_SILENT, _NO_BATCH, _GIVE_UP = 10, 60, 600


class WholeEpochs(keras.callbacks.Callback):
    """Refuses an epoch for which not all batches have come, before it is recorded.

    Use it as a callback and as a context around `fit`.

    Args:
        plan: of the run's batches.
        first_step: the steps done before.
    """

    def __init__(self, plan, first_step):
        super().__init__()
        self._supports_tf_logs = True
        self._plan = plan
        self._step = first_step

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        # So Keras 2 tells of an epoch without any batch, which it does not end.
        if kind is ValueError and "(Empty logs)" in str(error):
            self._check(self._step // self._plan.steps_per_epoch)

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1

    def on_epoch_end(self, epoch, logs=None):
        self._check(epoch)

    def _check(self, epoch):
        steps = self._plan.steps_per_epoch
        done = self._step - epoch * steps
        if done < steps:
            raise UserError(
                f"epoch {epoch + 1} ended after {done} of its {steps} batches, at step "
                f"{self._step}: whoever makes them has lost the others. The last "
                "checkpoint stays; go on from it with --resume."
            ) from None


class ServiceWatch(keras.callbacks.Callback):
    """Tells for whom a run waits that gets no batches, and in the end gives up.

    Use it as a callback and as a context around all that uses the service.

    Args:
        address: grpc://host:port of the dispatcher; None if there is no service.
    """

    def __init__(self, address):
        super().__init__()
        self._supports_tf_logs = True
        self._address = address
        self._is_over = threading.Event()
        self._is_testing = False
        self._touch()

    def __enter__(self):
        if self._address:
            if not self._answers():
                raise UserError(
                    f"nobody answers at --data_service={self._address}; start its "
                    "dispatcher, or pass --data_service= to make the views here."
                )
            self._touch()
            threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *details):
        self._is_over.set()

    def on_train_batch_end(self, batch, logs=None):
        self._touch()

    def on_test_begin(self, logs=None):
        self._is_testing = True

    def on_test_end(self, logs=None):
        self._is_testing = False
        self._touch()

    def _touch(self):
        self._touched, self._has_told = time.monotonic(), False

    def _answers(self):
        return cluster.answers(self._address.split("://", 1)[1])

    def _watch(self):
        while not self._is_over.wait(1):
            idle = time.monotonic() - self._touched
            if self._is_testing or idle < _DISPATCHER_SILENT:
                continue
            if not self._has_told:
                self._tell(idle)
            if idle >= _GIVE_UP:
                sys.stderr.write(
                    f"error: no batch has come from {self._address} for {_GIVE_UP} s; "
                    "mend the service and pass --resume, with --data_service= to go on "
                    "without it.\n"
                )
                sys.stderr.flush()
                # The main thread is deep inside TensorFlow and hears no exception.
                os._exit(2)

    def _tell(self, idle):
        if not self._answers():
            self._has_told = True
            sys.stderr.write(f"waiting for the dispatcher at {self._address} ...\n")
        elif idle >= _NO_BATCH:
            self._has_told = True
            sys.stderr.write(
                f"no batch has come from {self._address} for {_NO_BATCH} s; has it a "
                "worker?\n"
            )
