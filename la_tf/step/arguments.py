"""What `LatentAugment` and its `compile` refuse, each in a sentence."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from la_tf import config, keras_generation


def check_logits(classifier):
    """Refuse a classifier that is seen to give probabilities."""
    layers = getattr(classifier, "layers", None)
    last = getattr(layers[-1], "activation", None) if layers else None
    if last in (keras.activations.softmax, keras.activations.sigmoid):
        raise ValueError(
            f"The classifier ends in {last.__name__}, but its loss is taken of logits: "
            "leave that activation out."
        )


def check_scope(classifier):
    """Refuse a classifier that was made under another strategy than the present one."""
    strategy = tf.distribute.get_strategy()
    made = classifier.variables if classifier.built else []
    for variable in map(keras_generation.tensorflow_variable, made):
        if not strategy.extended.variable_created_in_scope(variable):
            raise ValueError(
                "The classifier was made under another strategy than the one it is to "
                "be trained under: make the classifier, LatentAugment and the "
                "optimizer, and call compile, inside the same strategy.scope()."
            )


def checked_metrics(metrics, built_in):
    """Return the metrics of `compile`, refusing those that could not work."""
    metrics = list(metrics or ())
    taken = {metric.name for metric in built_in}
    for metric in metrics:
        name = getattr(metric, "name", metric)
        if name in taken:
            raise ValueError(
                f"A metric called {name} is built in: leave it out, or give yours "
                "another name."
            )
        if not isinstance(metric, keras.metrics.Metric):
            raise ValueError(
                f"metrics holds {metric!r}; give objects of one-hot labels and logits, "
                "such as keras.metrics.TopKCategoricalAccuracy(3)."
            )
    return metrics


def check_shares(**shares):
    """Refuse numbers outside of 0 to 1, by name."""
    for name, share in shares.items():
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"{name} is {share}; it must be from 0 to 1.")


def check_numbers(sigma, weight_decay, clip_norm):
    """Refuse numbers that the equations have no use for."""
    if not sigma >= 0.0:
        raise ValueError(f"sigma is {sigma}; it must be from 0 to inf.")
    if not weight_decay >= 0.0:
        raise ValueError(f"weight_decay is {weight_decay}; it must not be negative.")
    if clip_norm is not None and not clip_norm > 0.0:
        raise ValueError(f"clip_norm is {clip_norm}; it must be above 0, or None.")


def check_options(**options):
    """Refuse words that the configuration does not know, by name."""
    for name, value in options.items():
        known = config.options(name)
        if value not in known:
            raise ValueError(f"{name} is {value!r}; choose one of {', '.join(known)}.")


def check_counts(**counts):
    """Refuse counts below 1, by name; None says nothing."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ValueError(f"{name} is {count}; it must be at least 1, or None.")


def check_views(num_views, **counts):
    """Refuse counts above the views that an image has, by name."""
    for name, count in counts.items():
        if count is not None and count > num_views:
            raise ValueError(
                f"{name} is {count}, but the batch has only {num_views} view(s) of "
                "each image: lower it, or make more views."
            )
