"""TensorFlow's tuner of tf.data pipelines, left out where there is nothing to tune."""

from __future__ import annotations

import tensorflow as tf

from la_tf import environment

# A stage with AUTOTUNE runs at most so many calls at once if nobody tunes it.
_CALLS_UNTUNED = 16


def without_tuner(dataset):
    """Return the dataset without the tuner, unless it is asked for or has work to do.

    The tuner's thread sleeps for up to a minute and is told of the end of a pipeline
    just before the flag that it looks at is set. If it looks too soon it sleeps on, and
    whoever lets go of the iterator, such as `fit` at its end, waits for it: always on
    one core, every other time on two (seen with TensorFlow 2.15 and 2.21). Up to
    sixteen cores a stage uses all of them without it.
    """
    is_asked_for = dataset.options().autotune.enabled is not None
    if is_asked_for or len(environment.cores()) > _CALLS_UNTUNED:
        return dataset
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
