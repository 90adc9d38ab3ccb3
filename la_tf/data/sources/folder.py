"""The user's own photographs, in a folder for each class."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from la_tf.data.sources import image_files, normalisation
from la_tf.data.sources.arrays import Arrays
from la_tf.data.sources.base import Source
from la_tf.errors import UserError

_PARTS = ("train", "test")
_IGNORED = ("thumbs.db", "desktop.ini")


@dataclasses.dataclass(frozen=True)
class _Listing:
    """The files of one part, sorted, with their labels."""

    class_names: tuple[str, ...]
    paths: tuple[str, ...]
    labels: tuple[int, ...]


def read(name, *, data_dir, image_size, skip_bad_images, encoded):
    """Return the photographs under `data_dir`, in train/<class>/ and test/<class>/.

    One tree of class folders, or train/ without test/, has no test part.
    """
    root = _root(data_dir)
    listings = _listings(root)
    if encoded:
        splits, skipped = _streams(listings, image_size, skip_bad_images)
        shape = (splits[0].side, splits[0].side, 3)
    else:
        splits, skipped = _arrays(listings, image_size, skip_bad_images)
        shape = splits[0].images.shape[1:]
    class_names = listings[0].class_names
    for split, listing in zip(splits, listings):
        _check_classes(split.labels, listing)
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
        location=str(root),
    )


def _root(data_dir):
    if data_dir is None:
        raise UserError(
            "--dataset=folder needs --data_dir=PATH with train/<class>/* and "
            "test/<class>/* in it."
        )
    root = pathlib.Path(data_dir).expanduser()
    if not root.is_dir():
        raise UserError(f"--data_dir={data_dir} is not a folder.")
    return root


def _listings(root):
    """Return the listings of the training part and, if there is one, the test part."""
    if not (root / "train").is_dir():
        if (root / "test").is_dir():
            raise UserError(f"{root} has test/ but no train/ in it.")
        return (_listing(root),)
    listings = tuple(_listing(root / part) for part in _PARTS if (root / part).is_dir())
    if len(listings) == 2:
        train, test = (set(listing.class_names) for listing in listings)
        if train != test:
            odd = sorted(train ^ test)[0]
            has, lacks = _PARTS if odd in train else _PARTS[::-1]
            raise UserError(
                f"{root}: the class folder {odd!r} is in {has}/ but not in {lacks}/; "
                "both must have the same classes."
            )
    return listings


def _listing(folder):
    """Return every file in the class folders of `folder`."""
    class_folders = [entry for entry in _entries(folder) if entry.is_dir()]
    if len(class_folders) < 2:
        raise UserError(
            f"{folder} holds {len(class_folders)} class folders; put the images of "
            "each class into a folder of their own, at least two of them."
        )
    paths, labels = [], []
    for label, class_folder in enumerate(class_folders):
        files = _entries(class_folder)
        for path in files:
            if path.is_dir():
                raise UserError(
                    f"{path} is a folder inside a class folder; images must be "
                    f"directly in {class_folder}."
                )
        if not files:
            raise UserError(
                f"The class folder {class_folder} is empty: put images into it or "
                "remove it."
            )
        paths += [str(path) for path in files]
        labels += [label] * len(files)
    names = tuple(class_folder.name for class_folder in class_folders)
    return _Listing(names, tuple(paths), tuple(labels))


def _entries(folder):
    """Return what a person sees in a folder, sorted."""
    return sorted(
        path
        for path in folder.iterdir()
        if not path.name.startswith(".") and path.name.lower() not in _IGNORED
    )


def _arrays(listings, image_size, skip_bad_images):
    """Return `(splits, skipped)` with every image decoded once and kept."""
    splits, skipped = [], 0
    for listing in listings:
        images, good = image_files.decoded(listing.paths, image_size, skip_bad_images)
        splits.append(Arrays(images, np.asarray(listing.labels, np.int32)[good]))
        skipped += len(listing.paths) - len(images)
    if len(splits) == 2 and splits[0].images.shape[1:] != splits[1].images.shape[1:]:
        raise UserError(image_files.MIXED_SIZES.format(path=listings[1].paths[0]))
    return splits, skipped


def _streams(listings, image_size, skip_bad_images):
    """Return `(splits, skipped)` with every image left on disk."""
    from la_tf.data.sources import streams

    side = image_size or streams.SIDE
    splits, skipped = [], 0
    for listing in listings:
        good = image_files.readable(listing.paths, skip_bad_images)
        paths = np.asarray(listing.paths, object)[good]
        labels = np.asarray(listing.labels, np.int32)[good]
        splits.append(streams.Files(paths, labels, side))
        skipped += len(listing.paths) - len(paths)
    return splits, skipped


def _check_classes(labels, listing):
    """Refuse a class of which no readable image is left."""
    missing = np.setdiff1d(np.arange(len(listing.class_names)), labels)
    if len(missing):
        label = int(missing[0])
        folder = pathlib.Path(listing.paths[listing.labels.index(label)]).parent
        raise UserError(
            f"No image in the class folder {folder} can be read: "
            "put others into it or remove it."
        )
