"""A table of paths and labels: CSV, TSV or plain text, with or without a header.

    path,label,split
    images/1.jpg,cat,train
    images/2.jpg,dog,test

A header is known by its names. Without one the first two columns are path and label.
"""

from __future__ import annotations

import csv
import os
import typing

from la_tf.errors import UserError

# What a folder is searched for. The last is Tiny ImageNet's.
NAMES = ("labels.csv", "labels.tsv", "val_annotations.txt")

_PATHS = ("path", "file", "filename", "file_name", "filepath", "image", "image_path")
_LABELS = ("label", "class", "class_name", "category", "target")
_SPLITS = ("split", "part", "subset", "set")
_PARTS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "val": "val",
    "valid": "val",
    "validation": "val",
}
_SUFFIXES = (".csv", ".tsv", ".txt")


class Row(typing.NamedTuple):
    """An image that a table names."""

    path: str
    label: str
    part: str  # "train", "test" or "val", or empty where the table does not say


def within(folder):
    """Return the table in a folder, or None."""
    for name in NAMES:
        if (folder / name).is_file():
            return folder / name
    return None


def beside(table, parts):
    """Return the table of the test part beside one called train, or None.

    Args:
        table: such as `train.csv`.
        parts: the names to try, such as "test".
    """
    if table.stem != "train":
        return None
    for part in parts:
        other = table.with_name(f"{part}{table.suffix}")
        if other.is_file():
            return other
    return None


def read(table):
    """Return the table's rows, each with the path of a file that is there."""
    if table.suffix.lower() not in _SUFFIXES:
        raise UserError(
            f"--data_dir={table} is a file, but not a table: its name must end in one "
            f"of {', '.join(_SUFFIXES)}."
        )
    lines = _lines(table)
    if not lines:
        raise UserError(f"{table} is empty: it must have a path and a label a line.")
    columns, has_header = _columns(lines[0][1])
    rows = []
    for number, cells in lines[has_header:]:
        if len(cells) <= max(column for column in columns if column is not None):
            raise UserError(
                f"{table}, line {number}: there are {len(cells)} cells, too few for "
                "the columns of the first line."
            )
        path, label, part = (
            None if column is None else cells[column].strip() for column in columns
        )
        if not path or not label:
            raise UserError(f"{table}, line {number}: a path or a label is missing.")
        rows.append(Row(_found(table, number, path), label, _part(table, number, part)))
    if not rows:
        raise UserError(f"{table} has a header and no other line.")
    return _with_test_part(rows)


def _lines(table):
    """Return pairs of a line's number and its cells, without blank lines."""
    try:
        with open(table, encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            delimiter = max(",;\t", key=first.count)
            reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
            return [(reader.line_num, cells) for cells in reader if any(cells)]
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise UserError(
            f"{table} cannot be read as a table ({error}); save it as CSV in UTF-8."
        ) from None


def _columns(first):
    """Return the columns of path, label and split, and whether `first` names them."""
    names = [cell.strip().lower() for cell in first]

    def column(options):
        return next((names.index(name) for name in options if name in names), None)

    found = column(_PATHS), column(_LABELS), column(_SPLITS)
    if None not in found[:2]:
        return found, True
    return (0, 1, None), False


def _found(table, number, path):
    """Return where the file is: beside the table, or in images/ beside it."""
    # Plain strings: a table may have a million rows.
    folder = os.path.dirname(table)
    for parts in ((folder, path), (folder, "images", path)):
        full = os.path.join(*parts)
        if os.path.isfile(full):
            return full
    raise UserError(
        f"{table}, line {number}: there is no file {path!r} in {table.parent}; paths "
        "are relative to the table, in a column called path (or file, filename, image)."
    )


def _part(table, number, name):
    if name is None:
        return ""
    part = _PARTS.get(name.lower())
    if part is None:
        raise UserError(
            f"{table}, line {number}: the split {name!r} is none of "
            f"{', '.join(_PARTS)}."
        )
    return part


def _with_test_part(rows):
    """Return the rows with the part "val" called "test" where there is no other."""
    if any(row.part == "test" for row in rows):
        return rows
    return [row._replace(part="test") if row.part == "val" else row for row in rows]
