"""Passes of the views through the classifier, with gradients and without."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import tensorflow as tf

from la_tf import em, keras_generation


class Outcome(NamedTuple):
    """What the classifier says of some views."""

    logits: Any  # [B, M, classes]
    log_probability: Any  # [B, M], of the label: what the E-step weighs by
    log_likelihood: Any  # [B, M], of the smoothed label: what the loss is made of


class Weighed(NamedTuple):
    """The views as the E-step sees them, each [B, M]."""

    log_probability: Any
    weights: Any


class Trained(NamedTuple):
    """What a pass with gradients gives."""

    weighed: Weighed
    logits: Any  # [B, M, classes]
    labels: Any  # [B, M, classes]
    log_likelihood: Any  # [B, M]
    policies: Any  # [B, M]
    loss: Any
    gradients: Any


class Forward:
    """The training-mode pass of one step; repeated, it repeats the network's noise."""

    def __init__(self, classifier, seed, total, label_smoothing=0.0):
        """Args:
        classifier: gives logits [N, classes] for images [N, ...].
        seed: [2], of this step.
        total: all views of the batch, those of other replicas too.
        label_smoothing: of the labels in the loss.
        """
        self.classifier = classifier
        self._seed = seed
        self._total = total
        self._label_smoothing = label_smoothing

    def __call__(self, views):
        """Return the `Outcome` of some `Views`."""
        return self.outcome(self.run(views), views.labels)

    def run(self, views):
        """Return what the classifier gives for some `Views`, B * M of them."""
        images = _flat(views.images)
        positions = _flat(views.positions)
        with contextlib.ExitStack() as stack:
            for scope in _noise_scopes(self.classifier):
                stack.enter_context(scope(self._seed, positions, self._total))
            return self.classifier(images, training=True)

    def outcome(self, logits, labels):
        """Return the `Outcome` of logits [B * M, classes], labels [B, M, classes]."""
        check_classes(logits, labels)
        logits = tf.reshape(tf.cast(logits, tf.float32), tf.shape(labels))
        smoothed = em.smoothed(labels, self._label_smoothing)
        return Outcome(
            logits,
            em.log_probability(logits, labels),
            em.log_likelihood(logits, smoothed),
        )


def check_classes(logits, labels):
    """Refuse labels [..., classes] of other classes than the classifier's."""
    outputs, classes = logits.shape[-1], labels.shape[-1]
    if None not in (outputs, classes) and outputs != classes:
        raise ValueError(
            f"The classifier gives {outputs} logits, but the labels have {classes} "
            f"classes: give it {classes} outputs, or la_tf.make_views "
            f"num_classes={outputs}."
        )


def in_chunks(views, size=None):
    """Return the views in parts of at most `size` an image.

    All in one part for None.
    """
    count = views.positions.shape[1]
    size = size or count
    return [
        views.columns(start, min(start + size, count))
        for start in range(0, count, size)
    ]


def draw_views(weights, count, start):
    """Return `count` views of each image, [B, count], in proportion to the weights.

    Training on a few of the views keeps the gradient right on average.

    Systematic sampling: with one u uniform in [0, 1) an image, the points (u + m) / M,
    m = 0 .. M-1, fall into intervals as long as the weights, one interval a view. Each
    point is uniform in its own M-th of [0, 1), so that the expected number of points in
    an interval of length h̃ is M h̃: weights of 1/M on the views drawn are unbiased. No
    view with h̃ < 1/M is drawn twice, unlike in independent draws.

    Args:
        weights: [B, K], which sum to 1 in each row.
        count: M, how many are drawn.
        start: u of each image, [B, 1].
    """
    edges = tf.cumsum(weights, axis=1)[:, None, :-1]
    points = (start + tf.range(count, dtype=tf.float32)) / count
    # A GPU leaves sums of int32 to the host.
    return tf.reduce_sum(tf.cast(points[:, :, None] >= edges, tf.int64), -1)


def without_gradient(forward, parts, weigh, averages):
    """Return all views `Weighed`, by passes that leave no trace in the classifier.

    Args:
        forward: the step's `Forward`.
        parts: a list of `Views`.
        weigh: gives weights [B, K] from a log P [B, K].
        averages: the classifier's.
    """
    columns = []
    for views in parts:
        # One part after the other, so that memory holds one of them only.
        with tf.control_dependencies(columns[-1:]):
            columns.append(forward(views).log_probability)
            averages.restore()
    log_probability = tf.concat(columns, 1)
    return Weighed(log_probability, weigh(log_probability))


def with_gradient(forward, parts, weigh, loss, averages, optimizer):
    """Return what training on the parts gives in sum, a `Trained`.

    A part's activations are gone before the next part begins.

    Args:
        forward: the step's `Forward`.
        parts: a list of `Views`; one alone if they have no weights yet.
        weigh: gives weights [B, K] from a log P [B, K] to views that have none.
        loss: gives the loss from weights and log P, both [B, M].
        averages: the classifier's, which several parts together move once.
        optimizer: scales the loss where it is a LossScaleOptimizer.
    """
    trained, moved = [], []
    for views in parts:
        finished = trained[-1].gradients if trained else []
        with tf.control_dependencies(finished):
            part = _one_part(forward, views, weigh, loss, optimizer, 1 / len(parts))
            if trained:
                part = part._replace(gradients=_sum(finished, part.gradients))
            trained.append(part)
            moved.append(averages.values())
            if len(parts) > 1:
                averages.restore()
    if len(parts) > 1:
        averages.average(moved, [views.positions.shape[1] for views in parts])
    return _joined(trained)


def _one_part(forward, views, weigh, loss, optimizer, share):
    """Return `Trained` on one part.

    `share` is its part of the classifier's own losses.
    """
    with tf.GradientTape() as tape:
        outcome = forward(views)
        weights = views.weights
        if weights is None:
            weights = weigh(outcome.log_probability)
        trained_loss = loss(weights, outcome.log_likelihood)
        total = trained_loss + share * regularization(forward.classifier)
        total = keras_generation.scaled(total, optimizer)
    gradients = tape.gradient(
        total,
        forward.classifier.trainable_variables,
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )
    gradients = keras_generation.unscaled(gradients, optimizer)
    return Trained(
        Weighed(outcome.log_probability, weights),
        outcome.logits,
        views.labels,
        outcome.log_likelihood,
        views.policies,
        trained_loss,
        gradients,
    )


def _joined(trained):
    """Return one `Trained` of several, the last of which has the gradients' sum."""

    def columns(name):
        return tf.concat([getattr(part, name) for part in trained], 1)

    return Trained(
        Weighed(*(tf.concat(field, 1) for field in zip(*(t.weighed for t in trained)))),
        columns("logits"),
        columns("labels"),
        columns("log_likelihood"),
        columns("policies"),
        tf.add_n([part.loss for part in trained]),
        trained[-1].gradients,
    )


def _noise_scopes(classifier):
    """Return the scopes that make the classifier's own noise a function of a seed.

    A layer that draws noise offers one as its `noise_scope`: a context manager made
    from a seed, the examples' positions and their number. Layers may share it.
    """
    scopes = (
        getattr(layer, "noise_scope", None) for layer in classifier._flatten_layers()
    )
    return list(dict.fromkeys(scope for scope in scopes if scope is not None))


def regularization(classifier):
    """Return what the classifier's layers add to the loss by themselves."""
    return sum(tf.cast(loss, tf.float32) for loss in classifier.losses)


def _flat(tensor):
    """Return [B, M, ...] as [B * M, ...], with what is known of the shape."""
    flat = tf.reshape(tensor, tf.concat([[-1], tf.shape(tensor)[2:]], 0))
    return tf.ensure_shape(flat, [None, *tensor.shape[2:]])


def _sum(lefts, rights):
    return [left + right for left, right in zip(lefts, rights)]
