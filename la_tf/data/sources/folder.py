"""The user's own photographs, in class folders or named by a table."""

from __future__ import annotations

import pathlib

import numpy as np

from la_tf.data.sources import image_files, listing, normalisation
from la_tf.data.sources.arrays import Arrays
from la_tf.data.sources.base import Source
from la_tf.errors import UserError


def read(name, *, data_dir, image_size, skip_bad_images, encoded):
    """Return the photographs that `listing.find` finds at `data_dir`.

    One tree of class folders, or train/ alone, has no test part.
    """
    listings = listing.find(data_dir)
    if encoded:
        splits, skipped = _streams(listings, image_size, skip_bad_images)
        shape = (splits[0].side, splits[0].side, 3)
    else:
        splits, skipped = _arrays(listings, image_size, skip_bad_images)
        shape = splits[0].images.shape[1:]
    class_names = listings[0].class_names
    for split, part in zip(splits, listings):
        _check_classes(split.labels, part)
    mean, std = normalisation.IMAGENET
    return Source(
        name=name,
        train=splits[0],
        test=splits[1] if len(splits) == 2 else None,
        class_names=class_names,
        image_shape=shape,
        mean=mean,
        std=std,
        skipped=skipped,
        location=str(pathlib.Path(data_dir).expanduser()),
    )


def check(data_dir):
    """Raise a UserError where there are no photographs to be read; needs no TensorFlow.

    See `listing.find`.
    """
    listing.find(data_dir)


def _arrays(listings, image_size, skip_bad_images):
    """Return `(splits, skipped)` with every image decoded once and kept."""
    splits, skipped = [], 0
    for part in listings:
        images, good = image_files.decoded(part.paths, image_size, skip_bad_images)
        splits.append(Arrays(images, np.asarray(part.labels, np.int32)[good]))
        skipped += len(part.paths) - len(images)
    if len(splits) == 2 and splits[0].images.shape[1:] != splits[1].images.shape[1:]:
        raise UserError(image_files.MIXED_SIZES.format(path=listings[1].paths[0]))
    return splits, skipped


def _streams(listings, image_size, skip_bad_images):
    """Return `(splits, skipped)` with every image left on disk."""
    from la_tf.data.sources import streams

    side = image_size or streams.SIDE
    splits, skipped = [], 0
    for part in listings:
        good = image_files.readable(part.paths, skip_bad_images)
        paths = np.asarray(part.paths, object)[good]
        labels = np.asarray(part.labels, np.int32)[good]
        splits.append(streams.Files(paths, labels, side))
        skipped += len(part.paths) - len(paths)
    return splits, skipped


def _check_classes(labels, part):
    """Refuse a class of which no readable image is left."""
    lost = np.setdiff1d(part.labels, labels)
    if len(lost):
        name = part.class_names[lost[0]]
        raise UserError(
            f"No image of the class {name!r} in {part.origin} can be read: put others "
            "there or remove the class."
        )
