"""Running a trained network over test images, as they are and changed."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from la_tf import console, ops
from la_tf.data import batches, integrity
from la_tf.errors import UserError
from la_tf.evaluate import measures
from la_tf.run import build, provenance

_TOP = 5


def evaluation(candidate, overrides, level=9, robustness_images=1000, verbosity=0):
    """Return what evaluation.json holds.

    Args:
        candidate: the `Candidate`.
        overrides: fields of TrainConfig that the user gave anew.
        level: of the operations that images are changed by.
        robustness_images: how many are changed; 0 leaves this out.
        verbosity: no progress is shown below 0.
    """
    source = load_test_images(candidate, overrides)
    with integrity.told(source):
        logits, labels = answers(candidate, source.test, verbosity)
    result = {
        **candidate.origin,
        "model": candidate.config.model,
        "dataset": source.name,
        "location": source.location,
        "held_out": bool(overrides.get("holdout", candidate.config.holdout)),
        "same_names": tuple(source.class_names) == candidate.class_names,
        **results(logits, labels, candidate.class_names),
        "versions": provenance.versions(),
    }
    if robustness_images:
        result["robustness"] = robustness(
            candidate, source.test, level, robustness_images, verbosity
        )
    return result


def load_test_images(candidate, overrides):
    """Return the Source to evaluate on: the run's own, or one that the flags name.

    Args:
        candidate: the `Candidate`.
        overrides: fields of TrainConfig that the user gave anew.
    """
    values = {"limit_train": None, **overrides}
    if values.get("dataset", candidate.config.dataset) != candidate.config.dataset:
        # Of another data set neither the place nor the held-out part are the run's.
        side = candidate.image_shape[0]
        values = {"data_dir": None, "holdout": 0.0, "image_size": side, **values}
    config = dataclasses.replace(candidate.config, **values)
    source = build.load_source(config)
    if tuple(source.image_shape) != tuple(candidate.image_shape):
        raise UserError(
            f"--dataset={config.dataset} has images of {_by(source.image_shape)}, but "
            f"the network takes {_by(candidate.image_shape)}; give it images of that "
            "size and colour."
        )
    if source.num_classes != len(candidate.class_names):
        raise UserError(
            f"--dataset={config.dataset} has {source.num_classes} classes, but the "
            f"network knows {len(candidate.class_names)}; give a data set with the "
            "classes it was trained on."
        )
    return source


def answers(candidate, split, verbosity=0):
    """Return `(logits float32 [N, classes], labels int32 [N])` of a split."""
    logits, labels = [], []
    with console.Counter("evaluating", split.size, "images", verbosity) as counter:
        for images, batch_labels in _batches(candidate, split):
            logits.append(np.asarray(candidate.logits(images)))
            labels.append(batch_labels.numpy())
            counter.advance(len(batch_labels))
    logits, labels = np.concatenate(logits), np.concatenate(labels)
    if not np.isfinite(logits).all():
        raise UserError(
            "the network gives logits that are not finite numbers: its training has "
            "diverged; try an earlier --checkpoint."
        )
    return logits, labels


def robustness(candidate, split, level, most_images, verbosity=0):
    """Return the accuracy under each operation, and unchanged, on evenly spread ones.

    An image that MixUp has mixed counts as the class with the larger share in it.

    Args:
        candidate: the `Candidate`.
        split: the test split.
        level: of every operation that has levels, 0 to 9.
        most_images: how many images are used at the most.
        verbosity: no progress is shown below 0.

    Returns:
        `{"level", "images", "unchanged", "operations": {name: accuracy}}`.
    """
    count = min(most_images, split.size)
    # Stored order may be sorted by class, so the images are taken from all along it.
    chosen = split.take(np.arange(count) * split.size // count)
    changes = {name: _change(candidate, name, level) for name in ops.OPERATIONS}
    right, unchanged = dict.fromkeys(changes, 0), 0
    total = count * (1 + len(changes))
    with console.Counter("changing images", total, "images", verbosity) as counter:
        for step, (images, labels) in enumerate(_batches(candidate, chosen)):
            unchanged += _right(candidate, images, labels, counter)
            for index, (name, change) in enumerate(changes.items()):
                changed = change(images, labels, tf.constant([index, step]))
                right[name] += _right(candidate, *changed, counter)
    return {
        "level": level,
        "images": count,
        "unchanged": unchanged / count,
        "operations": {name: number / count for name, number in right.items()},
    }


def results(logits, labels, class_names):
    """Return all that evaluation.json says about the answers, fit for JSON."""
    confusion = measures.confusion_matrix(
        logits.argmax(axis=1), labels, len(class_names)
    )
    calibration = measures.calibration(logits, labels)
    accuracies = measures.per_class_accuracy(confusion)
    return {
        "images": len(labels),
        "top_1": measures.top_k_accuracy(logits, labels, 1),
        "top_5": measures.top_k_accuracy(logits, labels, _TOP),
        "loss": measures.cross_entropy(logits, labels),
        "calibration": {
            "error": calibration.error,
            "confidence": _numbers(calibration.confidence),
            "accuracy": _numbers(calibration.accuracy),
            "images": calibration.images.tolist(),
        },
        "class_names": list(class_names),
        "class_accuracy": _numbers(accuracies),
        "confusion": confusion.tolist(),
    }


def _batches(candidate, split):
    return batches.evaluation(split, candidate.config.batch_size)


def _change(candidate, name, level):
    """Return a function of (images, labels, seed) that gives changed ones."""
    operation = ops.make(name)
    classes = len(candidate.class_names)

    def change(images, labels, seed):
        if name != "MixUp":
            return operation.apply(images, level, seed), labels
        shares = tf.one_hot(labels, classes)
        images, shares = operation.apply(images, level, seed, labels=shares)
        return images, tf.argmax(shares, axis=1, output_type=tf.int32)

    # Traced here and once: whatever the batch's size, it is the same graph.
    return tf.function(change).get_concrete_function(
        tf.TensorSpec([None, *candidate.image_shape], tf.uint8),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([2], tf.int32),
    )


def _right(candidate, images, labels, counter):
    """Return how many images of a batch are recognised."""
    predicted = np.asarray(candidate.logits(images)).argmax(axis=1)
    counter.advance(len(labels))
    return int((predicted == labels.numpy()).sum())


def _by(shape):
    return "x".join(map(str, shape))


def _numbers(values):
    """Return a list of floats with None for NaN, which JSON lacks."""
    return [None if np.isnan(value) else float(value) for value in values]
