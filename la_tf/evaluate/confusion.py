"""A picture of which classes are taken for which."""

from __future__ import annotations

import numpy as np
from matplotlib import colors

from la_tf import drawing

_INCHES_A_CLASS = 0.42
_SMALLEST, _LARGEST = 4.5, 16.0
# Numbers and names are left out where they would be smaller than this, in points.
_SMALLEST_TYPE = 3.5
_POINTS_AN_INCH = 72
_LONGEST_NAME = 24


def draw(confusion, class_names, title):
    """Return a figure of a confusion matrix: rows are classes, columns answers.

    Blue on the diagonal is the share of a class that was recognised, orange off it the
    share that was taken for another class. Small shares are shown stronger than they
    are, since mistakes are rare in good networks.

    Args:
        confusion: counts [classes, classes].
        class_names: the classes' names.
        title: above the picture.
    """
    count = len(class_names)
    side = float(np.clip(_INCHES_A_CLASS * count, _SMALLEST, _LARGEST))
    cell = side / count * _POINTS_AN_INCH
    with drawing.style():
        figure = drawing.new_figure(side + 1.6, side + 1.6)
        axes = figure.add_subplot()
        axes.imshow(_colours(confusion), interpolation="nearest")
        _write_names(axes, class_names, cell)
        _write_counts(axes, confusion, cell)
        axes.set_title(title, fontsize=_type_of_words(side), pad=10)
        axes.set_xlabel("taken for", fontsize=_type_of_words(side))
        axes.set_ylabel("class", fontsize=_type_of_words(side))
    return figure


def _type_of_words(side):
    return 9 + 0.4 * (side - _SMALLEST)


def _colours(confusion):
    """Return the RGB of every cell, [classes, classes, 3]."""
    images = np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    strength = np.sqrt(confusion / images)[..., np.newaxis]
    hues = np.broadcast_to(colors.to_rgb(drawing.SERIES[1]), (*confusion.shape, 3))
    diagonal = np.eye(len(confusion), dtype=bool)[..., np.newaxis]
    hues = np.where(diagonal, colors.to_rgb(drawing.SERIES[0]), hues)
    return 1 - strength * (1 - hues)


def _write_names(axes, class_names, cell):
    """Write the classes' names, unless they would be too small to read."""
    size = min(9, 0.8 * cell)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(drawing.GRID)
    if size < _SMALLEST_TYPE:
        return
    names = [_short(name) for name in class_names]
    places = range(len(names))
    upright = max(map(len, names)) * size > 1.4 * cell
    axes.set_xticks(places, names, fontsize=size, rotation=90 if upright else 0)
    axes.set_yticks(places, names, fontsize=size)
    edges = np.arange(len(names) + 1) - 0.5
    axes.set_xticks(edges, minor=True)
    axes.set_yticks(edges, minor=True)
    axes.grid(which="minor", color=drawing.GRID, linewidth=min(0.8, cell / 30))
    axes.tick_params(which="minor", length=0)


def _short(name):
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _write_counts(axes, confusion, cell):
    digits = len(str(confusion.max()))
    size = min(10, 1.2 * cell / max(digits, 2))
    if size < _SMALLEST_TYPE:
        return
    images = np.maximum(confusion.sum(axis=1), 1)
    for row, column in zip(*np.nonzero(confusion)):
        dark = confusion[row, column] / images[row] > 0.4
        axes.text(
            column,
            row,
            str(confusion[row, column]),
            ha="center",
            va="center",
            fontsize=size,
            color="white" if dark else drawing.INK,
        )
