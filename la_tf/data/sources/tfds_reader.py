"""The known data sets, read through tensorflow-datasets."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib

import numpy as np

from la_tf import console
from la_tf.data.sources import normalisation, tfds_store
from la_tf.data.sources.arrays import Arrays
from la_tf.data.sources.base import Source
from la_tf.errors import UserError

_BATCH = 256


@dataclasses.dataclass(frozen=True)
class _Known:
    """What tensorflow-datasets calls a data set and its parts, and its statistics."""

    tfds_name: str
    train: str
    test: str
    mean: tuple[float, ...]
    std: tuple[float, ...]


_CIFAR = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
_SVHN = ((0.4309, 0.4302, 0.4463), (0.1965, 0.1983, 0.1994))

_KNOWN = {
    "cifar10": _Known("cifar10", "train", "test", *_CIFAR),
    "cifar100": _Known("cifar100", "train", "test", *_CIFAR),
    "svhn": _Known("svhn_cropped", "train+extra", "test", *_SVHN),
    "mnist": _Known("mnist", "train", "test", (0.1307,), (0.3081,)),
    "fashion_mnist": _Known("fashion_mnist", "train", "test", (0.2860,), (0.3530,)),
    "imagenet2012": _Known(
        "imagenet2012", "train", "validation", *normalisation.IMAGENET
    ),
    # Ten images a class to train on and ten to choose by; with nothing chosen by
    # them, both are for training.
    "oxford_flowers102": _Known(
        "oxford_flowers102", "train+validation", "test", *normalisation.IMAGENET
    ),
}

NAMES = tuple(_KNOWN)


def tfds_name(name):
    """Return what tensorflow-datasets calls the data set."""
    return _KNOWN[name].tfds_name


def read(name, *, data_dir, image_size, skip_bad_images, encoded):
    """Return a known data set, after downloading it if it is missing."""
    del skip_bad_images
    known = _KNOWN[name]
    builder = tfds_store.open_builder(known.tfds_name, data_dir)
    if not tfds_store.is_ready(builder):
        tfds_store.download(builder, name)
    _check_parts(name, known, builder)
    if encoded:
        train, test = (
            _stream(builder, part, image_size) for part in (known.train, known.test)
        )
        shape = (train.side, train.side, 3)
    else:
        shape = _shape(name, builder, image_size)
        train, test = (
            _arrays(builder, part, shape) for part in (known.train, known.test)
        )
    return Source(
        name=name,
        train=train,
        test=test,
        class_names=tuple(builder.info.features["label"].names),
        image_shape=shape,
        mean=known.mean,
        std=known.std,
        location=str(builder.data_dir),
    )


def _check_parts(name, known, builder):
    for part in (known.train + "+" + known.test).split("+"):
        if part not in builder.info.splits:
            raise UserError(
                f"--dataset={name} in {builder.data_dir} was prepared without its "
                f"{part} part: remove that folder and prepare it again."
            )


def _shape(name, builder, image_size):
    """Return (height, width, channels) of the images as arrays."""
    height, width, channels = builder.info.features["image"].shape
    if image_size is not None:
        return (image_size, image_size, channels)
    if height is None:
        raise UserError(
            f"--dataset={name} holds photographs of different sizes; pass "
            "--image_size, for example --image_size=64, to keep them in memory."
        )
    return (height, width, channels)


def _arrays(builder, part, shape):
    """Return every image of a part, decoded once."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    from la_tf.data import tuning
    from la_tf.data.sources import decoding

    def example(encoded, label):
        return decoding.pixels(encoded, shape), label

    examples = builder.as_dataset(
        split=part,
        as_supervised=True,
        decoders={"image": tfds.decode.SkipDecoding()},
        # One file after the other: the stored order, whatever the machine.
        read_config=tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False),
    )
    examples = examples.map(example, num_parallel_calls=tf.data.AUTOTUNE)
    batches = tuning.without_tuner(examples.batch(_BATCH).prefetch(2))
    size = builder.info.splits[part].num_examples
    # Filled in place: SVHN's 604,388 images are 1.9 GB, and there is no room for two.
    images, labels = np.empty((size, *shape), np.uint8), np.empty(size, np.int32)
    done = 0
    with _damage_told(builder), console.Counter(f"Reading {part}", size) as counter:
        for batch, batch_labels in batches:
            count = len(batch_labels)
            images[done : done + count] = batch
            labels[done : done + count] = batch_labels
            done += count
            counter.advance(count)
    return Arrays(images, labels)


@contextlib.contextmanager
def _damage_told(builder):
    import tensorflow as tf

    try:
        yield
    except (tf.errors.OpError, ValueError) as error:
        reason = str(getattr(error, "message", error)).splitlines()[0]
        raise UserError(
            f"{builder.data_dir} is damaged ({reason}): remove that folder and run "
            "python -m la_tf.prepare again."
        ) from None


def _stream(builder, part, image_size):
    """Return the encoded photographs of a part, left on disk."""
    from la_tf.data.sources import shards, streams

    if builder.info.file_format.value != "tfrecord":
        raise UserError(
            f"{builder.data_dir} was prepared as {builder.info.file_format.value}; "
            "photographs are read from tfrecord files: prepare it again in that format."
        )
    paths, lengths = [], []
    for name in part.split("+"):
        split = builder.info.splits[name]
        paths += [str(pathlib.Path(path)) for path in split.filepaths]
        lengths += list(split.shard_lengths)
    for path, length in zip(paths, lengths):
        if os.path.getsize(path) < length * shards.FRAME:
            raise UserError(
                f"{path} is damaged (it is too small for {length} images): remove its "
                "folder and run python -m la_tf.prepare again."
            )
    return shards.Shards(paths, lengths, image_size or streams.SIDE)
