"""The prior over policies, its moving window, and the callback that moves it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf import config, em, replicas

KINDS = config.options("prior")


class PolicyPrior(tf.Module):
    """The prior probability of every policy, as TensorFlow variables.

    Each step `record`s the weight that its views gave to the policies; `advance` then
    moves it into a window of the last steps. With m_t the share of all weight that a
    policy got at step t, d_t the share of all draws, and both windows of n steps
    started at m = the initial prior and d = 1/S for each of the S policies:

      moving:     π = (m_{t-n+1} + ... + m_t) / n                        (eq. 5)
      corrected:  π ∝ r = (m_{t-n+1} + ... + m_t) / (d_{t-n+1} + ... + d_t)
      fixed:      π is what it was at the start

    `corrected` is thus the mean weight per draw: a policy does not gain by being drawn
    often. A policy that the window holds no draw of has no r; it counts as r = 1, what
    a policy weighted like the average view has.

    Under a strategy the sums over all replicas and workers are recorded, the same on
    each, so that the variables are the same everywhere without further communication.
    """

    def __init__(self, num_policies, kind="moving", window=10, initial=None):
        super().__init__(name="policy_prior")
        self.kind = _checked_kind(kind)
        self.num_policies = num_policies
        self.window_steps = _checked_window(window)
        start = checked(initial, num_policies)
        self.probabilities = _variable(start, "probabilities")
        if kind == "fixed":
            return
        rows = np.tile(start, [window, 1])
        self.window = _variable(rows, "window")
        self.steps = _variable(np.int64(0), "steps")
        self._mass = replicas.variable(tf.zeros([num_policies]), "mass")
        if kind == "corrected":
            draws = np.full_like(rows, 1.0 / num_policies)
            self.draw_window = _variable(draws, "draw_window")
            self._draws = replicas.variable(tf.zeros([num_policies]), "draws")

    def of(self, policies):
        """Return the prior probability of each policy in a tensor of their numbers."""
        return tf.gather(self.probabilities, policies)

    def effective_policies(self):
        """Return exp(entropy): so many equally likely policies are as spread out."""
        return tf.exp(em.entropy(tf.convert_to_tensor(self.probabilities)))

    def record(self, mass, draws):
        """Keep a step's sums for `advance`; called in each replica, alike in all.

        Args:
            mass: [num_policies], the weight that each policy got, or zeros for a step
                that must leave no trace.
            draws: [num_policies], the views that each policy got.
        """
        if self.kind == "fixed":
            return
        self._mass.assign(mass)
        if self.kind == "corrected":
            self._draws.assign(draws)

    @tf.function
    def advance(self):
        """Move the recorded step, if there is one, into the window and sets π."""
        if self.kind == "fixed":
            return
        # Chosen by arithmetic: a condition would make the host wait for the step.
        recorded = tf.reduce_sum(self._mass) > 0.0
        oldest = tf.range(self.window.shape[0], dtype=tf.int64) == self._position()
        row = tf.logical_and(recorded, oldest)[:, None]
        self.window.assign(tf.where(row, em.shares(self._mass), self.window))
        if self.kind == "corrected":
            shares = em.shares(self._draws)
            self.draw_window.assign(tf.where(row, shares, self.draw_window))
        estimate = tf.where(recorded, self._estimate(), self.probabilities)
        self.probabilities.assign(estimate)
        self.steps.assign_add(tf.cast(recorded, tf.int64))
        # A step moves once, however often this is called.
        self._mass.assign(tf.zeros_like(self._mass))

    def _position(self):
        """Return the row of the window that holds the oldest step."""
        return self.steps % self.window.shape[0]

    def _estimate(self):
        mass = tf.reduce_mean(self.window, 0)
        if self.kind == "moving":
            return mass
        draws = tf.reduce_mean(self.draw_window, 0)
        drawn = draws > 0.0
        ratio = tf.where(drawn, mass / tf.where(drawn, draws, 1.0), 1.0)
        return ratio / tf.reduce_sum(ratio)


class PolicyMovingAverage(keras.callbacks.Callback):
    """Moves each step's weights into the prior of a `LatentAugment` model.

    It runs on the device without waiting for the step. `LatentAugment.fit` adds it
    when it is missing and lets it run before all others, so that a callback which
    saves the model at the end of a step saves the prior after that step.
    """

    def __init__(self):
        super().__init__()
        # Keras would otherwise copy every log to the host before each batch's end.
        self._supports_tf_logs = True

    def on_train_begin(self, logs=None):
        del logs
        # Traced before the first step, which Keras would else call a slow callback.
        self.model.prior.advance.get_concrete_function()

    def on_train_batch_end(self, batch, logs=None):
        del batch, logs
        self.model.prior.advance()


def checked(probabilities, num_policies):
    """Return a prior as float32 [num_policies] that sums to 1; uniform for None.

    Raises:
        ValueError: the array has another shape or is not a distribution.
    """
    if num_policies < 1:
        raise ValueError(f"num_policies is {num_policies}; it must be at least 1.")
    if probabilities is None:
        return np.full(num_policies, 1.0 / num_policies, np.float32)
    array = np.asarray(probabilities, np.float64)
    if array.shape != (num_policies,):
        raise ValueError(
            f"The initial prior has shape {array.shape}; give one probability for each "
            f"of the {num_policies} policies."
        )
    if not np.all(array >= 0.0) or not abs(array.sum() - 1.0) < 1e-3:
        raise ValueError(
            "The initial prior must hold probabilities, none negative, that sum to 1; "
            f"their sum is {array.sum():.6g} and the smallest {array.min():.6g}."
        )
    return (array / array.sum()).astype(np.float32)


def _checked_kind(kind):
    if kind not in KINDS:
        raise ValueError(f"prior is {kind!r}; choose one of {', '.join(KINDS)}.")
    return kind


def _checked_window(window):
    if window < 1:
        raise ValueError(f"prior_window is {window}; it must hold at least one step.")
    return window


def _variable(value, name):
    return tf.Variable(value, trainable=False, name=name)
