"""The noise that Shake-Shake and ShakeDrop draw, as a function of a seed.

    with noise.scope(seed):
        logits = classifier(views, training=True)

Within a scope every stochastic layer draws one row of numbers for each example from
(seed, the layer's own salt), and nothing else. A second pass under the same seed sees
the same noise; so does a pass over some of the examples that says which they are:

    with noise.scope(seed, positions=chosen, total=number_of_views):
        logits = classifier(tf.gather(views, chosen), training=True)

Enter the scope where the network is called, inside the `tf.function` and in the replica
itself: scopes belong to a thread, and MirroredStrategy gives each replica one. Without
a scope the noise comes from TensorFlow's global generator, as a Dropout layer's does.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from typing import Any

import tensorflow as tf

_STEPS = 2**24  # float32 holds every multiple of 2^-24 in [0, 1)


@dataclasses.dataclass(frozen=True)
class Scope:
    """A seed, and the rows of the noise table that the present batch stands for."""

    seed: Any
    positions: Any = None
    total: Any = None

    def draw(self, salt, batch_size, columns):
        """Return numbers in [0, 1), float32 [batch_size, columns], for one layer."""
        total = batch_size if self.total is None else self.total
        # Integers of a named algorithm: XLA makes floats of the same bits differently.
        table = tf.random.stateless_uniform(
            [total, columns],
            tf.random.experimental.stateless_fold_in(self.seed, salt, alg="philox"),
            maxval=_STEPS,
            dtype=tf.int32,
            alg="philox",
        )
        table = tf.cast(table, tf.float32) / _STEPS
        if self.positions is not None:
            return tf.gather(table, self.positions)
        return table if self.total is None else table[:batch_size]


class _Stack(threading.local):
    """The scopes that the present thread has entered, innermost last."""

    def __init__(self):
        super().__init__()
        self.scopes = []


_stack = _Stack()


@contextlib.contextmanager
def scope(seed, positions=None, total=None):
    """Make the stochastic layers called inside draw from `seed`.

    Args:
        seed: int32 or int64 [2], as for `tf.random.stateless_uniform`.
        positions: int [n], each example's row in the noise table; 0, 1, 2, ... if
            absent.
        total: rows of that table, the same in all passes that must agree; needed with
            `positions`, and the batch's size if absent.
    """
    if positions is not None and total is None:
        raise ValueError("noise.scope needs total, the table's rows, with positions.")
    with entered(Scope(tf.convert_to_tensor(seed), positions, total)):
        yield


@contextlib.contextmanager
def entered(existing):
    """Make an existing `Scope` the present one, as recomputation needs."""
    _stack.scopes.append(existing)
    try:
        yield
    finally:
        _stack.scopes.pop()


def current():
    """Return the innermost `Scope` of this thread; a random one outside any."""
    if _stack.scopes:
        return _stack.scopes[-1]
    limits = tf.int32.limits
    return Scope(tf.random.uniform([2], limits[0], limits[1], tf.int32))
