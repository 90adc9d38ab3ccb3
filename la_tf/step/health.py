"""What happens when a loss or its gradient is not finite."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from la_tf import config, errors, replicas

ACTIONS = config.options("on_nonfinite")


class NonFiniteError(errors.UserError):
    """A loss or gradient that was not finite has ended the training.

    Attributes:
        step: the number of the step, from 0.
        learning_rate: of that step.
        policies: pairs of a policy's number and how many of the batch's views had it.
    """

    def __init__(self, step, learning_rate, policies, name_of=str):
        self.step = step
        self.learning_rate = learning_rate
        self.policies = policies
        super().__init__(
            f"The loss or its gradient was not finite at step {step}, at a learning "
            f"rate of {learning_rate:.6g}; weights and prior are still those of the "
            f"step before. Policies in question: {_listed(policies, name_of)}. Lower "
            "learning_rate, set clip_norm, or pass over such steps by "
            "on_nonfinite=skip."
        )


class Health(tf.Module):
    """Which steps were not finite, as TensorFlow variables."""

    def __init__(self, action, num_policies):
        super().__init__(name="health")
        if action not in ACTIONS:
            raise ValueError(
                f"on_nonfinite is {action!r}; choose one of {', '.join(ACTIONS)}."
            )
        self.action = action
        self.skipped_steps = replicas.variable(tf.zeros([], tf.int64), "skipped_steps")
        self._failed_step = replicas.variable(-tf.ones([], tf.int64), "failed_step")
        self._policies = replicas.variable(tf.zeros([num_policies]), "failed_policies")

    def check(self, finite, step, broken, drawn):
        """Tell whether the step may leave a trace.

        Called in each replica, alike in all.

        After a failure that stops the training no later step may, until the host has
        heard of it: so the host need not wait for each step.

        Args:
            finite: whether loss and gradient are.
            step: its number.
            broken: [num_policies], how many views of each policy in the global batch
                have a likelihood that is not finite. These are named, or if there are
                none, all that were
            drawn: [num_policies].
        """
        failed = tf.logical_not(finite)
        self.skipped_steps.assign_add(tf.cast(failed, tf.int64))
        if self.action == "skip":
            return finite
        first = tf.logical_and(failed, self._failed_step < 0)
        policies = tf.where(tf.reduce_any(broken > 0.0), broken, drawn)
        self._policies.assign(tf.where(first, policies, self._policies))
        self._failed_step.assign(tf.where(first, step, self._failed_step))
        return self._failed_step < 0

    def failed_step(self):
        """Return the number of the step that failed, or -1."""
        return int(self._failed_step.read_value())

    def failed_policies(self):
        """Return pairs of policy and number of views in the failed step, most first."""
        counts = self._policies.read_value().numpy()
        return [
            (int(policy), int(counts[policy]))
            for policy in (-counts).argsort(kind="stable")
            if counts[policy] > 0
        ]

    def reset(self):
        """Forget a failure, so that training may go on."""
        self._failed_step.assign(-1)


class StopOnNonFinite(keras.callbacks.Callback):
    """Ends `fit` with a `NonFiniteError` after a step that was not finite.

    `LatentAugment.fit` adds it when it is missing. The failed step and any after it
    have changed neither weights nor prior, so that the model is the one of the last
    good step.

    Args:
        every: looks after so many steps, and at each epoch's end. Looking makes the
            host wait for the step.
        name_of: gives a policy's name from its number, such as `la_tf.policy.name_of`.
    """

    def __init__(self, every=1, name_of=str):
        super().__init__()
        if every < 1:
            raise ValueError(f"every is {every}; it must be at least 1.")
        self._supports_tf_logs = True
        self._every = every
        self._name_of = name_of
        self._steps = 0

    def on_train_begin(self, logs=None):
        del logs
        self.model.health.reset()

    def on_train_batch_end(self, batch, logs=None):
        del batch, logs
        self._steps += 1
        if self._steps % self._every == 0:
            self._look()

    def on_epoch_end(self, epoch, logs=None):
        del epoch, logs
        self._look()

    def _look(self):
        health = self.model.health
        if health.action == "stop" and health.failed_step() >= 0:
            step = health.failed_step()
            rate = _learning_rate(self.model.optimizer, step)
            policies = health.failed_policies()
            raise NonFiniteError(step, rate, policies, self._name_of)


def _learning_rate(optimizer, step):
    """Return the learning rate of a step.

    A schedule's own, not the last one applied.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    rate = getattr(optimizer, "_learning_rate", None)
    if rate is None:
        rate = optimizer.learning_rate
    return float(tf.convert_to_tensor(rate(step) if callable(rate) else rate))


def _listed(policies, name_of, most=8):
    """Return policies and their numbers of views, those with the most first."""
    shown = [f"{name_of(policy)} ({count})" for policy, count in policies[:most]]
    if len(policies) > most:
        shown.append(f"and {len(policies) - most} more")
    return ", ".join(shown)
