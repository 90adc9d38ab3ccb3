"""The user's own arrays: x_train, y_train, x_test and y_test in one npz file."""

from __future__ import annotations

import os
import pathlib
import zipfile
import zlib

import numpy as np

from la_tf.data.sources import normalisation
from la_tf.data.sources.arrays import Arrays
from la_tf.data.sources.base import Source
from la_tf.errors import UserError

# What np.load raises for what is no archive of plain arrays.
_UNREADABLE = (
    *(AttributeError, EOFError, MemoryError, NotImplementedError, OSError),
    *(RuntimeError, SyntaxError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)


def read(name, *, data_dir, image_size, skip_bad_images, encoded):
    """Return the images of the npz file at `data_dir`, or of the only one in there."""
    del skip_bad_images, encoded
    path = _find(data_dir)
    arrays = _arrays(path)
    train = _split(path, arrays, "train")
    test = _split(path, arrays, "test") if "x_test" in arrays else None
    class_names = _class_names(path, arrays, train)
    train = _with_checked_labels(path, train, "y_train", len(class_names))
    if test is not None:
        test = _with_checked_labels(path, test, "y_test", len(class_names))
        if test.images.shape[1:] != train.images.shape[1:]:
            raise UserError(
                f"{path}: images of x_test are {test.images.shape[1:]} and those of "
                f"x_train {train.images.shape[1:]}; they must be of one shape."
            )
    mean, std = normalisation.mean_and_std(train.images)
    if image_size is not None:
        train = train.resized(image_size)
        test = None if test is None else test.resized(image_size)
    return Source(
        name=name,
        train=train,
        test=test,
        class_names=class_names,
        image_shape=train.images.shape[1:],
        mean=mean,
        std=std,
        location=str(path),
    )


def check(data_dir):
    """Raise a UserError where there is no file to read; needs no TensorFlow."""
    _find(data_dir)


def _find(data_dir):
    """Return the path of the npz file."""
    if data_dir is None:
        raise UserError("--dataset=npz needs --data_dir=FILE.npz.")
    path = pathlib.Path(data_dir).expanduser()
    if not path.exists():
        raise UserError(f"--data_dir={data_dir} does not exist.")
    if path.is_file():
        return path
    files = sorted(path.glob("*.npz"))
    if len(files) != 1:
        raise UserError(
            f"--data_dir={data_dir} holds {len(files)} .npz files; name the one to use."
        )
    return files[0]


def _arrays(path):
    """Return the file's arrays by name; nothing in it is ever executed."""
    try:
        _check_size(path)
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except _UNREADABLE as error:
        raise UserError(
            f"--data_dir={path} is not an npz file of plain arrays ({error}); write it "
            "with numpy.savez(path, x_train=..., y_train=..., x_test=..., y_test=...)."
        ) from error


def _check_size(path):
    """Refuse an archive that unpacks to more than the machine's memory."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if unpacked > memory:
        raise ValueError(
            f"it unpacks to {unpacked >> 20} MB, and this machine has {memory >> 20}"
        )


def _split(path, arrays, part):
    """Return `Arrays` of the part called "train" or "test"."""
    for key in (f"x_{part}", f"y_{part}"):
        if key not in arrays:
            raise UserError(
                f"{path} has no array {key}; it holds {', '.join(arrays) or 'nothing'}."
            )
    images, labels = arrays[f"x_{part}"], arrays[f"y_{part}"]
    if images.dtype != np.uint8:
        raise UserError(
            f"{path}: x_{part} is {images.dtype}; images must be uint8, 0 to 255."
        )
    if images.ndim == 3:
        images = images[..., np.newaxis]
    if images.ndim != 4 or images.shape[-1] not in (1, 3) or 0 in images.shape:
        raise UserError(
            f"{path}: x_{part} has shape {list(arrays[f'x_{part}'].shape)}; it must be "
            "[N, H, W] or [N, H, W, C] with 1 or 3 channels and at least one image."
        )
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise UserError(
            f"{path}: y_{part} is {labels.dtype} of shape {list(labels.shape)}; labels "
            "must be whole numbers, [N] or [N, 1]."
        )
    if len(images) != len(labels):
        raise UserError(
            f"{path}: x_{part} has {len(images)} images and y_{part} {len(labels)} "
            "labels; they must be equally many."
        )
    return Arrays(images, labels)


def _class_names(path, arrays, train):
    """Return the names in the array class_names, or the numbers 0, 1, ..."""
    if "class_names" in arrays:
        return tuple(str(class_name) for class_name in arrays["class_names"].ravel())
    present = np.unique(train.labels[train.labels >= 0])
    missing = np.setdiff1d(np.arange(len(present)), present)
    if len(missing):
        raise UserError(
            f"{path}: no image of y_train has label {missing[0]}, though its largest "
            f"is {present[-1]}; number the classes 0, 1, 2, ... or add an array "
            "class_names that names them all."
        )
    return tuple(str(label) for label in present)


def _with_checked_labels(path, split, key, num_classes):
    """Return `split` with int32 labels, or refuse any outside 0 to num_classes - 1."""
    labels = split.labels
    bad = np.flatnonzero((labels < 0) | (labels >= num_classes))
    if len(bad):
        raise UserError(
            f"{path}: {key}[{bad[0]}] is {labels[bad[0]]}, out of range for "
            f"{num_classes} classes; labels must be 0 to {num_classes - 1}."
        )
    return Arrays(split.images, labels.astype(np.int32))
