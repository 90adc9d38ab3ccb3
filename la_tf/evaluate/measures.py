"""How good answers are: pure functions of logits and labels, in float64.

`logits` are [N, classes] and `labels` whole numbers [N] throughout.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import special
from sklearn import metrics

CALIBRATION_BINS = 15


@dataclasses.dataclass(frozen=True, eq=False)
class Calibration:
    """How sure a classifier is, and how often it is right when it is that sure.

    Attributes:
        error: the expected calibration error, 0 to 1.
        confidence: mean probability of the answers in each bin; NaN in an empty one.
        accuracy: share of right answers in each bin; NaN in an empty one.
        images: answers in each bin.
    """

    error: float
    confidence: np.ndarray
    accuracy: np.ndarray
    images: np.ndarray


def cross_entropy(logits, labels):
    """Return the mean loss, natural logarithm."""
    # Not sklearn's log_loss: it takes probabilities, and those of bad mistakes are 0.
    logarithms = special.log_softmax(np.asarray(logits, np.float64), axis=1)
    indices = np.asarray(labels, np.int64)[:, np.newaxis]
    return float(-np.take_along_axis(logarithms, indices, axis=1).mean())


def top_k_accuracy(logits, labels, k):
    """Return the share of images whose class is among the k most likely.

    Among equally likely classes the first comes first, as argmax has it.
    """
    # Not sklearn's top_k_accuracy_score, which prefers the last.
    likely = np.argsort(-np.asarray(logits), axis=1, kind="stable")[:, :k]
    return float((likely == np.asarray(labels)[:, np.newaxis]).any(axis=1).mean())


def confusion_matrix(predicted, labels, num_classes):
    """Return how many images of each class (row) were taken for each (column)."""
    return metrics.confusion_matrix(labels, predicted, labels=range(num_classes))


def per_class_accuracy(confusion):
    """Return the share of each class's images that were recognised; NaN of none."""
    images = confusion.sum(axis=1)
    accuracy = np.full(len(confusion), np.nan)
    return np.divide(np.diag(confusion), images, out=accuracy, where=images > 0)


def most_confused(confusion, count):
    """Return the commonest mistakes, up to `count` of (class, taken for, images)."""
    mistakes = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-mistakes, axis=None, kind="stable")[:count]
    cells = zip(*np.unravel_index(order, mistakes.shape))
    return [
        (int(row), int(column), int(mistakes[row, column]))
        for row, column in cells
        if mistakes[row, column]
    ]


def calibration(logits, labels, bins=CALIBRATION_BINS):
    """Return the `Calibration` over equally wide bins of the answers' probability.

    The expected calibration error is the mean of |accuracy - confidence| over the
    bins, each weighted by its images. A bin holds its upper end, not its lower one.
    """
    probabilities = special.softmax(np.asarray(logits, np.float64), axis=1)
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == np.asarray(labels)
    index = np.clip(np.ceil(sure * bins).astype(np.int64) - 1, 0, bins - 1)
    images = np.bincount(index, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(index, sure, bins) / images
        accuracy = np.bincount(index, right, bins) / images
    gaps = np.where(images > 0, np.abs(accuracy - confidence), 0)
    error = float((images * gaps).sum() / images.sum())
    return Calibration(error, confidence, accuracy, images)
