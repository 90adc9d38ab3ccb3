"""The batches of somebody's own dataset, in the one form that views are made from.

What can be told from the dataset's types and shapes is checked at once; what depends
on the values is checked in the graph, batch by batch.
"""

from __future__ import annotations

import functools

import tensorflow as tf

_FORMS = '(images, labels), (images, labels, weights) or {"images": ..., "labels": ...}'

# By how much the probabilities of a label may miss 1, as rounding makes them.
_ROUNDING = 1e-3


def reader(spec, num_classes, value_range=None, class_weight=None):
    """Return the function from a dataset's element to `(images, labels, weights)`.

    It gives uint8 images [B, H, W, C], labels int32 [B] or float32 [B, classes], and
    weights float32 [B] or None.

    Args:
        spec: the dataset's `element_spec`.
        num_classes: of the labels.
        value_range, class_weight: see `la_tf.make_views`.

    Raises:
        ValueError: the dataset gives something else; a sentence that says what.
    """
    images, labels, weights = _parts(spec)
    to_images = _image_reader(images, value_range)
    to_labels = _label_reader(labels, num_classes)
    if weights is not None:
        _check_weights(weights)
    of_classes = _of_classes(class_weight, num_classes)

    def read(element):
        images, labels, weights = _parts(element)
        labels = to_labels(labels)
        if weights is not None:
            weights = _weights(weights)
        if of_classes is not None:
            factors = _weights_of(labels, of_classes)
            weights = factors if weights is None else weights * factors
        return to_images(images), labels, weights

    return read


def _parts(element):
    """Return images, labels and weights or None."""
    if isinstance(element, dict) and {"images", "labels"} <= element.keys():
        return element["images"], element["labels"], None
    if isinstance(element, (tuple, list)) and len(element) in (2, 3):
        images, labels, *weights = element
        return images, labels, *(weights or [None])
    raise ValueError(f"the dataset gives {element}; it must give batches {_FORMS}")


def _image_reader(spec, value_range):
    if spec.shape.rank == 3:
        raise ValueError(
            f"the dataset gives single images {spec.shape}; group them first by "
            "dataset.batch(128)"
        )
    if spec.shape.rank != 4:
        raise ValueError(
            f"the dataset's images have the shape {spec.shape}; give batches [batch, "
            "height, width, channels]"
        )
    if spec.dtype == tf.uint8:
        if value_range is not None and tuple(value_range) != (0, 255):
            raise ValueError(
                f"value_range is {value_range}, but the dataset's images are uint8, "
                "which go from 0 to 255: leave it out"
            )
        return lambda images: images
    if not spec.dtype.is_floating:
        raise ValueError(
            f"the dataset's images are {spec.dtype.name}; give uint8, or floats with a "
            "value_range"
        )
    if value_range is None:
        raise ValueError(
            f"the dataset's images are {spec.dtype.name}; say by value_range=(0, 255), "
            "as keras.utils.image_dataset_from_directory gives them, or by "
            "value_range=(0, 1) what black and white are"
        )
    low, high = value_range
    if not low < high:
        raise ValueError(f"value_range is {value_range}; give (0, 255) or (0, 1)")
    return functools.partial(_to_bytes, low=low, high=high)


def _to_bytes(images, low, high):
    # A NaN fails both comparisons, so it is caught here as well.
    inside = tf.reduce_all((images >= low) & (images <= high))
    sentence = (
        f"images hold values outside value_range=({low}, {high}), or NaN: give the "
        "range they have, or clip them"
    )
    with _requirement(inside, sentence):
        scaled = (tf.cast(images, tf.float32) - low) * (255 / (high - low))
    return tf.cast(tf.round(scaled), tf.uint8)


def _label_reader(spec, num_classes):
    shape = spec.shape
    if spec.dtype.is_integer or spec.dtype.is_floating:
        if shape.rank == 1 or (shape.rank == 2 and shape[1] == 1):
            return functools.partial(_to_classes, num_classes=num_classes)
        if shape.rank == 2 and shape[1] == num_classes:
            return _to_probabilities
    raise ValueError(
        f"the dataset's labels are {spec.dtype.name} {shape}; for {num_classes} "
        "classes give whole numbers [batch] or [batch, 1], or the classes' "
        f"probabilities [batch, {num_classes}]"
    )


def _to_classes(labels, num_classes):
    labels = _flat(labels)
    known = (labels >= 0) & (labels < num_classes)
    if labels.dtype.is_floating:
        known &= labels == tf.round(labels)
    sentence = (
        f"a label is none of 0 to {num_classes - 1}: number the classes from 0, or "
        f"give a num_classes other than {num_classes}"
    )
    with _requirement(tf.reduce_all(known), sentence):
        return tf.cast(labels, tf.int32)


def _to_probabilities(labels):
    labels = tf.cast(labels, tf.float32)
    missed = tf.abs(tf.reduce_sum(labels, axis=1) - 1.0)
    sound = tf.reduce_all(labels >= 0.0) & tf.reduce_all(missed <= _ROUNDING)
    sentence = "labels [batch, classes] are to be probabilities: each row adds up to 1"
    with _requirement(sound, sentence):
        return tf.identity(labels)


def _check_weights(spec):
    ranks = spec.shape.rank == 1 or (spec.shape.rank == 2 and spec.shape[1] == 1)
    if not ranks or not (spec.dtype.is_floating or spec.dtype.is_integer):
        raise ValueError(
            f"the dataset's sample weights are {spec.dtype.name} {spec.shape}; give a "
            "number for each image, [batch]"
        )


def _weights(weights):
    weights = _flat(tf.cast(weights, tf.float32))
    sound = tf.reduce_all((weights >= 0.0) & (weights < float("inf")))
    with _requirement(sound, "a sample weight is negative or not finite"):
        return tf.identity(weights)


def _of_classes(class_weight, num_classes):
    """Return the classes' weights, float32 [classes]; None where there are none."""
    if class_weight is None:
        return None
    for number, weight in class_weight.items():
        if number not in range(num_classes) or not 0 <= weight < float("inf"):
            raise ValueError(
                f"class_weight holds {number!r}: {weight!r}; give numbers of 0 or more "
                f"for classes from 0 to {num_classes - 1}"
            )
    weights = [class_weight.get(number, 1.0) for number in range(num_classes)]
    return tf.constant(weights, tf.float32)


def _weights_of(labels, of_classes):
    if labels.shape.rank == 1:
        return tf.gather(of_classes, labels)
    return tf.linalg.matvec(labels, of_classes)


def _flat(values):
    """Return [B] from [B] or [B, 1], with what is known of B."""
    return values if values.shape.rank == 1 else values[:, 0]


def _requirement(condition, sentence):
    """Return a context in which an operation runs only if the condition holds."""
    return tf.control_dependencies([tf.debugging.Assert(condition, [sentence])])
