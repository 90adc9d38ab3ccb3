"""Which of the user's files are images of which class, found without TensorFlow.

A listing comes from a tree of class folders or from a table of paths and labels.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib

from la_tf.data.sources import tables
from la_tf.errors import UserError

LAYOUT = (
    "expected train/<class>/* with test/<class>/* or val/<class>/*, or <class>/*, or a "
    "table labels.csv of paths and labels"
)

# The first that is there and has classes of train/ is the test part.
_TEST_PARTS = ("test", "val", "validation")
_SYSTEM_FILES = ("thumbs.db", "desktop.ini")
# Texts that lie beside images, such as Tiny ImageNet's boxes.
_TEXTS = (".csv", ".json", ".md", ".tsv", ".txt", ".xml", ".yaml", ".yml")
_SHOWN = 3


@dataclasses.dataclass(frozen=True)
class Listing:
    """The files of one part, in a fixed order, with their classes.

    Attributes:
        origin: the folder or table that they were found by.
        class_names: sorted.
        paths: of the files.
        labels: of the files, indices into `class_names`.
    """

    origin: pathlib.Path
    class_names: tuple[str, ...]
    paths: tuple[str, ...]
    labels: tuple[int, ...]


def find(data_dir):
    """Return the listings of the training part and, if there is one, the test part.

    Args:
        data_dir: a folder, or a table.

    Raises:
        UserError: a sentence that says what was found and what was expected.
    """
    if data_dir is None:
        raise UserError(f"--dataset=folder needs --data_dir=PATH: {LAYOUT}.")
    path = pathlib.Path(data_dir).expanduser()
    if path.is_file():
        return _of_tables(path)
    if not path.is_dir():
        raise UserError(f"--data_dir={data_dir} is neither a folder nor a table.")
    table = tables.within(path)
    if table is not None:
        return _of_tables(table)
    return _of_folders(path)


def _of_tables(table):
    """Return the listings of a table that names the parts, or has others beside it."""
    rows = tables.read(table)
    parts = {row.part for row in rows}
    if "test" in parts:
        if "train" not in parts:
            raise UserError(f"{table} names no image of the training part.")
        chosen = [
            [row for row in rows if row.part == part] for part in ("train", "test")
        ]
        origins = (table, table)
    else:
        beside = tables.beside(table, _TEST_PARTS)
        chosen = [rows] if beside is None else [rows, tables.read(beside)]
        origins = (table, beside)
    listings = [_of_rows(part, origin) for part, origin in zip(chosen, origins)]
    if len(listings[0].class_names) < 2:
        raise UserError(
            f"{table} names one class only, {listings[0].class_names[0]!r}; a "
            "classifier needs two or more."
        )
    return _matched(*listings)


def _of_rows(rows, origin):
    names = {row.label for row in rows}
    # Numbers in their own order: 10 does not come before 2.
    numbers = all(name.isascii() and name.isdigit() for name in names)
    names = sorted(names, key=int if numbers else None)
    label_of = {name: label for label, name in enumerate(names)}
    return Listing(
        origin,
        tuple(names),
        tuple(row.path for row in rows),
        tuple(label_of[row.label] for row in rows),
    )


def _of_folders(root):
    train = root / "train"
    parts = [root / name for name in _TEST_PARTS if (root / name).is_dir()]
    if not train.is_dir():
        if parts:
            raise UserError(
                f"{root} has {parts[0].name}/ but no train/ in it: {seen(root)}; "
                f"{LAYOUT}."
            )
        return (_of_tree(root),)
    first = _of_part(train)
    if not parts:
        return (first,)
    return _matched(first, _test_listing(first, parts))


def _test_listing(train, parts):
    """Return the listing of the first part with classes of the training part.

    Many data sets come with test images that have no labels, in one folder.
    """
    for part in parts:
        names = _class_names(part)
        if names & set(train.class_names):
            return _of_part(part)
    return _of_part(parts[0])


def _class_names(part):
    table = tables.within(part)
    if table is not None:
        return {row.label for row in tables.read(table)}
    return {entry.name for entry in _entries(part) if entry.is_dir()}


def _of_part(folder):
    table = tables.within(folder)
    if table is not None:
        return _of_rows(tables.read(table), table)
    return _of_tree(folder)


def _of_tree(folder):
    """Return the listing of all files in the class folders, at whatever depth."""
    class_folders = [entry for entry in _entries(folder) if entry.is_dir()]
    if len(class_folders) < 2:
        raise UserError(
            f"{folder} holds {_counted(len(class_folders), 'class folder')}: "
            f"{seen(folder)}; {LAYOUT}.{_other_root(class_folders)}"
        )
    paths, labels = [], []
    for label, class_folder in enumerate(class_folders):
        files = sorted(_files(class_folder))
        if not files:
            raise UserError(
                f"The class folder {class_folder} is empty: put images into it or "
                "remove it."
            )
        paths += files
        labels += [label] * len(files)
    names = tuple(class_folder.name for class_folder in class_folders)
    return Listing(folder, names, tuple(paths), tuple(labels))


def _files(folder):
    """Yield the files below a folder that may be images, in the system's order."""
    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if _is_seen(name)]
        for name in files:
            if _is_seen(name) and not name.lower().endswith(_TEXTS):
                yield os.path.join(place, name)


def _entries(folder):
    """Return what a person sees in a folder, sorted."""
    return sorted(path for path in folder.iterdir() if _is_seen(path.name))


def _is_seen(name):
    return not name.startswith(".") and name.lower() not in _SYSTEM_FILES


def _matched(train, test=None):
    """Return the listings with the test part's labels by the training part's names."""
    if test is None:
        return (train,)
    known, tested = set(train.class_names), set(test.class_names)
    # A class without a folder was forgotten; a table may well have no row of it.
    odd = sorted(known ^ tested if test.origin.is_dir() else tested - known)
    if odd:
        has, lacks = (train, test) if odd[0] in known else (test, train)
        raise UserError(
            f"the class {odd[0]!r} is in {has.origin} but not in {lacks.origin}; both "
            "must have the same classes."
        )
    label_of = {name: label for label, name in enumerate(train.class_names)}
    labels = tuple(label_of[test.class_names[label]] for label in test.labels)
    return train, dataclasses.replace(
        test, class_names=train.class_names, labels=labels
    )


def seen(folder):
    """Return words for what is in a folder, such as "found 2 folders: a, b"."""
    entries = _entries(folder)
    folders = [entry.name for entry in entries if entry.is_dir()]
    files = [entry.name for entry in entries if not entry.is_dir()]
    texts = [
        f"{_counted(len(names), kind)}: {_first(names)}"
        for names, kind in ((folders, "folder"), (files, "file"))
        if names
    ]
    return f"found {' and '.join(texts) or 'nothing'}"


def _other_root(class_folders):
    """Return a hint where the only folder holds what was looked for."""
    if len(class_folders) != 1:
        return ""
    inner = [entry for entry in _entries(class_folders[0]) if entry.is_dir()]
    if len(inner) < 2:
        return ""
    return f" Did you mean --data_dir={class_folders[0]}?"


def _counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _first(names):
    shown = ", ".join(names[:_SHOWN])
    return f"{shown}, ..." if len(names) > _SHOWN else shown
