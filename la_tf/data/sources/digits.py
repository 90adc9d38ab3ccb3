"""The embedded default: 1,797 real handwritten digits from scikit-learn's wheel."""

from __future__ import annotations

import numpy as np

from la_tf.data.sources import normalisation, subsets
from la_tf.data.sources.arrays import Arrays
from la_tf.data.sources.base import Source

_TEST_IMAGES = 360
_SPLIT_SEED = 0


def read(name, *, data_dir, image_size, skip_bad_images, encoded):
    """Return the digits at 16x16, always the same 1,437 to train on and 360 to test."""
    del data_dir, skip_bad_images, encoded
    from sklearn import datasets

    bunch = datasets.load_digits()
    images = enlarged(bunch.images.astype(np.int64))
    whole = Arrays(images[..., np.newaxis], bunch.target.astype(np.int32))
    train, test = subsets.hold_out(whole, _TEST_IMAGES, _SPLIT_SEED)
    if image_size is not None:
        train, test = train.resized(image_size), test.resized(image_size)
    mean, std = normalisation.mean_and_std(train.images)
    return Source(
        name=name,
        train=train,
        test=test,
        class_names=tuple("0123456789"),
        image_shape=train.images.shape[1:],
        mean=mean,
        std=std,
        location="scikit-learn",
    )


def enlarged(images):
    """Return uint8 [N, 2H, 2W] from integers 0..16 [N, H, W], scaled to 0..255.

    Twice the size gives shears, turns and cut-out squares pixels to work on. Bilinear,
    in whole numbers until the end, so that every machine has the same pixels.
    """
    doubled = _doubled(_doubled(images, axis=1), axis=2)
    # Each doubling leaves a factor of 4, and 16 is white: 255 / (4 * 4 * 16).
    return ((doubled * 255 + 128) // 256).astype(np.uint8)


def _doubled(images, axis):
    """Return four times the bilinear interpolation to twice the pixels on one axis."""
    last = images.shape[axis] - 1
    before = np.take(images, np.maximum(np.arange(last + 1) - 1, 0), axis)
    after = np.take(images, np.minimum(np.arange(last + 1) + 1, last), axis)
    pairs = np.stack([3 * images + before, 3 * images + after], axis + 1)
    shape = list(images.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)
