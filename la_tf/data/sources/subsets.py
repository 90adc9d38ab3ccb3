"""Choosing images by class, from the seed alone."""

from __future__ import annotations

import numpy as np

from la_tf.data.sources.arrays import Arrays
from la_tf.errors import UserError

# Different draws from one seed, so that what is kept tells nothing of what is held out.
_HOLDOUT, _LIMIT, _ASIDE = 1, 2, 3

# Images that are set aside, unless they are more than a tenth.
_MOST_ASIDE = 1000


def hold_out(split, amount, seed):
    """Return `(rest, held out)` of a split, each class held out in its proportion.

    Args:
        split: a `Split`.
        amount: a fraction in (0, 1), or a number of images from 1.
        seed: decides which images of a class are held out.
    """
    labels = split.labels
    if 0 < amount < 1:
        count = round(amount * len(labels))
    elif amount >= 1 and amount == int(amount):
        count = int(amount)
    else:
        raise UserError(
            f"--holdout={amount} must be a fraction between 0 and 1 or a whole number "
            "of images."
        )
    most = _most(labels)
    if not 1 <= count <= most:
        raise UserError(
            f"--holdout={amount} would hold out {count} of {len(labels)} training "
            f"images; choose from 1 to {most}, so that each class keeps one to train "
            "on."
        )
    return _parted(split, count, seed, _HOLDOUT)


def set_aside(split, seed):
    """Return `(rest, set aside)` of a training split, each class in its proportion.

    1,000 images are set aside, or a tenth of a small set.
    """
    count = min(_MOST_ASIDE, split.size // 10)
    if not 1 <= count <= _most(split.labels):
        raise UserError(
            "--method=metaaugment sets a tenth of the training images aside, for which "
            f"{split.size} are too few; use more, or choose another --method."
        )
    return _parted(split, count, seed, _ASIDE)


def _most(labels):
    """Return how many images can be taken away so that one of each class stays."""
    return int(np.maximum(np.bincount(labels) - 1, 0).sum())


def _parted(split, count, seed, purpose):
    """Return `(rest, taken)`, each class taken in its proportion."""
    counts = proportional_counts(np.bincount(split.labels), count)
    taken = _choose(split.labels, counts, seed, purpose)
    rest = np.setdiff1d(np.arange(split.size), taken, assume_unique=True)
    return split.take(rest), split.take(taken)


def limit(split, count, seed):
    """Return a split of `count` images, as evenly over the classes as they allow.

    A smaller subset of the same seed is part of a larger one.
    """
    if count >= split.size:
        return split
    return split.take(_limited(split.labels, count, seed))


def _limited(labels, count, seed):
    """Return the sorted indices of the images to keep."""
    available = np.bincount(labels)
    classes = int((available > 0).sum())
    if count < classes:
        raise UserError(
            f"--limit_train={count} is less than one image for each of {classes} "
            f"classes; choose {classes} or more."
        )
    return _choose(labels, balanced_counts(available, count), seed, _LIMIT)


def kept_and_rest(source, count, seed):
    """Return `(kept, rest)` of all images of a data set, as `limit` keeps them."""
    if not isinstance(source.train, Arrays):
        raise UserError(
            f"--test_on_rest needs images that are kept in memory; --dataset="
            f"{source.name} is read as training goes: use --holdout."
        )
    whole = source.train
    if source.test is not None:
        parts = (source.train, source.test)
        whole = Arrays(
            np.concatenate([part.images for part in parts]),
            np.concatenate([part.labels for part in parts]),
        )
    if count >= whole.size:
        raise UserError(
            f"--limit_train={count} leaves none of the {whole.size} images of "
            f"--dataset={source.name} for --test_on_rest; choose fewer."
        )
    kept = _limited(whole.labels, count, seed)
    rest = np.setdiff1d(np.arange(whole.size), kept, assume_unique=True)
    return whole.take(kept), whole.take(rest)


def proportional_counts(available, count):
    """Return how many of each class, in proportion, leaving one of each."""
    room = np.maximum(available - 1, 0)
    exact = available * (count / available.sum())
    counts = np.minimum(np.floor(exact).astype(np.int64), room)
    # The largest remainders get what rounding down has left over.
    while counts.sum() < count:
        counts[np.argmax(np.where(counts < room, exact - counts, -np.inf))] += 1
    return counts


def balanced_counts(available, count):
    """Return how many of each class, equally many but for classes with too few."""
    counts = np.zeros_like(available)
    while counts.sum() < count:
        growing = np.flatnonzero(counts < available)
        share = max((count - int(counts.sum())) // len(growing), 1)
        growing = growing[: count - int(counts.sum())]
        counts[growing] = np.minimum(counts[growing] + share, available[growing])
    return counts


def _choose(labels, counts, seed, purpose):
    """Return sorted indices of `counts[c]` images of each class c."""
    # RandomState's streams are frozen for good; those of NumPy's newer generators may
    # change, and a published subset must not.
    generator = np.random.RandomState([seed % 2**32, purpose])
    order = generator.permutation(len(labels))
    of_class = labels[order]
    chosen = [
        order[np.flatnonzero(of_class == label)[:number]]
        for label, number in enumerate(counts)
    ]
    return np.sort(np.concatenate(chosen))
