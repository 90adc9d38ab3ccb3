"""How good answers are: pure functions of logits and labels, in float64.

`logits` are [N, classes] and `labels` whole numbers [N] throughout.
"""

from __future__ import annotations

import dataclasses

import numpy as np

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


def log_softmax(logits):
    """Logarithms of the probabilities, float64 [N, classes]."""
    logits = np.asarray(logits, np.float64)
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def cross_entropy(logits, labels):
    """The mean loss, natural logarithm."""
    return float(-_of_labels(log_softmax(logits), labels).mean())


def top_k_accuracy(logits, labels, k):
    """The share of images whose class is among the k most likely.

    Classes that are exactly as likely as the right one do not count before it.
    """
    logits = np.asarray(logits)
    above = (logits > _of_labels(logits, labels)[:, np.newaxis]).sum(axis=1)
    return float((above < k).mean())


def confusion_matrix(predicted, labels, num_classes):
    """How many images of each class (row) were taken for each class (column)."""
    cells = np.asarray(labels, np.int64) * num_classes + np.asarray(predicted, np.int64)
    counts = np.bincount(cells, minlength=num_classes**2)
    return counts.reshape(num_classes, num_classes)


def per_class_accuracy(confusion):
    """The share of each class's images that were recognised; NaN where it has none."""
    images = confusion.sum(axis=1)
    accuracy = np.full(len(confusion), np.nan)
    return np.divide(np.diag(confusion), images, out=accuracy, where=images > 0)


def most_confused(confusion, count):
    """The commonest mistakes: up to `count` of (class, taken for, images)."""
    mistakes = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-mistakes, axis=None, kind="stable")[:count]
    cells = zip(*np.unravel_index(order, mistakes.shape))
    return [
        (int(row), int(column), int(mistakes[row, column]))
        for row, column in cells
        if mistakes[row, column]
    ]


def calibration(logits, labels, bins=CALIBRATION_BINS):
    """The `Calibration` over equally wide bins of the answers' probability.

    The expected calibration error is the mean of |accuracy - confidence| over the
    bins, each weighted by its images. A bin holds its upper end, not its lower one.
    """
    probabilities = np.exp(log_softmax(logits))
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


def _of_labels(values, labels):
    """Each row's value at its label, [N]."""
    indices = np.asarray(labels, np.int64)[:, np.newaxis]
    return np.take_along_axis(values, indices, axis=1)[:, 0]
