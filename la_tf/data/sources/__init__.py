"""Every data set behind one name: `load(name)` returns a `Source`.

Importing this package does not import TensorFlow, so that a flag can be checked
against `NAMES` before anything heavy is loaded.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib

from la_tf.data.sources import subsets
from la_tf.data.sources.arrays import Arrays
from la_tf.data.sources.base import Source, Split
from la_tf.errors import UserError

__all__ = ["NAMES", "PHOTOGRAPHS", "Arrays", "Source", "Split", "check", "load"]

_READERS = {
    "digits": "digits",
    "cifar10": "tfds_reader",
    "cifar100": "tfds_reader",
    "svhn": "tfds_reader",
    "imagenet2012": "tfds_reader",
    "mnist": "tfds_reader",
    "fashion_mnist": "tfds_reader",
    "oxford_flowers102": "tfds_reader",
    "folder": "folder",
    "npz": "npz",
}

NAMES = tuple(_READERS)

# Those whose images differ in size and can be had encoded.
PHOTOGRAPHS = ("imagenet2012", "oxford_flowers102", "folder")

# Those that are the user's own files.
_OWN = ("folder", "npz")


def check(name, data_dir):
    """Raise a UserError where the user's own images are not to be found.

    It needs no TensorFlow, so that a wrong path is told at once.

    Args:
        name: one of `NAMES`.
        data_dir: as for `load`.
    """
    if name in _OWN:
        _reader(name).check(data_dir)


def load(
    name,
    *,
    data_dir=None,
    image_size=None,
    holdout=0.0,
    limit_train=None,
    test_on_rest=False,
    seed=0,
    skip_bad_images=False,
    encoded=False,
    set_aside=False,
):
    """Load the data set called `name` and return it as a `Source`.

    Args:
        name: one of `NAMES`.
        data_dir: where the images are: the folder of class folders, the table of paths
            and labels, the npz file, or the folder of prepared tensorflow-datasets
            (theirs, if None).
        image_size: the side, in pixels, of the square images to give; the stored size,
            if None. Images of another form are cropped to their central square first.
        holdout: a fraction, or a number, of training images to hold out, in the
            classes' proportions; they become the test part in the place of the real
            one.
        limit_train: the number of training images to keep, equally many of each class.
        test_on_rest: draw the training images from both parts, and test on all others.
        seed: decides which images are held out and kept; nothing else does.
        skip_bad_images: leave out files that are no readable image instead of failing.
        encoded: give streams of encoded photographs instead of arrays.
        set_aside: keep some of the training images apart, as `Source.aside`.

    Raises:
        UserError: a sentence that names what is wrong and the way out.
    """
    if name not in _READERS:
        raise UserError(f"--dataset={name} is not one of {', '.join(NAMES)}.")
    if encoded and name not in PHOTOGRAPHS:
        raise UserError(
            f"--dataset={name} holds small images of one size; preprocessing that "
            f"crops encoded photographs needs one of {', '.join(PHOTOGRAPHS)}."
        )
    source = _reader(name).read(
        name,
        data_dir=data_dir,
        image_size=image_size,
        skip_bad_images=skip_bad_images,
        encoded=encoded,
    )
    if test_on_rest:
        train, test = subsets.kept_and_rest(source, limit_train, seed)
        source = dataclasses.replace(source, train=train, test=test)
    else:
        source = _select(source, holdout, limit_train, seed)
    if set_aside:
        train, aside = subsets.set_aside(source.train, seed)
        source = dataclasses.replace(source, train=train, aside=aside)
    return source


def preparation(image_shape, encoded=False):
    """Return the function from an image file's bytes to a test image's pixels.

    Evaluation has its pixels from the same functions, whichever reader brings them.

    Args:
        image_shape: (height, width, channels) of the source's images.
        encoded: as for `load`.
    """
    from la_tf.data import inception
    from la_tf.data.sources import decoding

    if encoded:
        return functools.partial(inception.evaluation_image, size=image_shape[0])
    return functools.partial(decoding.pixels, shape=image_shape)


def _reader(name):
    return importlib.import_module(f"la_tf.data.sources.{_READERS[name]}")


def _select(source, holdout, limit_train, seed):
    """Return `source` with images held out and its training part limited."""
    train, test = source.train, source.test
    if holdout:
        train, test = subsets.hold_out(train, holdout, seed)
    elif test is None:
        raise UserError(
            f"--dataset={source.name} at {source.location} has no test part: add one, "
            "or pass --holdout=0.2 to hold out a fifth of the training images."
        )
    if limit_train is not None:
        train = subsets.limit(train, limit_train, seed)
    return dataclasses.replace(source, train=train, test=test)
