"""The drawings of a comparison: every seed is a dot."""

from __future__ import annotations

import textwrap

import numpy as np

from la_tf import drawing
from la_tf.compare import statistics

_WIDTH = 6.4
# Letters in a line of the title, and of a name, which must leave the axes room.
_TITLE_LETTERS = 84
_NAME_LETTERS = 36
_PAPER = drawing.SERIES[1]
_OURS = drawing.SERIES[0]
_LINES = tuple(colour for colour in drawing.SERIES if colour != _PAPER)
# Where the largest error is so many times the smallest, or the largest difference so
# many points, an even axis would draw all that is close as one.
_WIDE = 10
_ACCURACIES = (0, 50, 80, 90, 95, 98, 99, 99.5, 100)
# An error of 0 has no logarithm; in percent.
_LEAST_ERROR = 0.25


def accuracies(title, rows, paper):
    """Return a figure: dots for seeds, mean and standard deviation, the paper's mark.

    Args:
        title: above the figure.
        rows: pairs of a setting's name and its accuracies in percent.
        paper: the paper's `(accuracy, deviation)` by a setting's name.
    """
    with drawing.style():
        figure, axes = _rows(title, [name for name, _ in rows])
        for place, (name, values) in enumerate(rows):
            _dots(axes, place, values)
            mean, deviation = statistics.mean_and_deviation(values)
            axes.errorbar(
                mean,
                place + 0.18,
                xerr=None if np.isnan(deviation) else deviation,
                **_bar(_OURS, "o", "ours: mean ± standard deviation"),
            )
            if name in paper:
                accuracy, deviation = paper[name]
                axes.errorbar(
                    accuracy,
                    place - 0.22,
                    xerr=deviation,
                    **_bar(_PAPER, "D", "the paper's"),
                )
        axes.set_xlabel("test accuracy after the last epoch, %")
        _stretch_accuracies(axes, [values for _, values in rows])
        _legend(figure, axes)
    return figure


def sweep(title, field, lines, paper):
    """Return a figure of accuracies over a field's values, evenly spaced.

    Args:
        title: above the figure.
        field: its name.
        lines: for each line its name and the accuracies in percent by value.
        paper: the paper's `(accuracy, deviation)` by line and value.
    """
    values = sorted({value for line in lines.values() for value in line})
    with drawing.style():
        figure = drawing.new_figure(_WIDTH, 3.4)
        _title(figure, title)
        axes = figure.add_subplot()
        axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
        axes.set_xlabel(field)
        axes.set_ylabel("test accuracy, %")
        axes.grid(axis="y")
        for number, (name, line) in enumerate(lines.items()):
            colour = _LINES[number % len(_LINES)]
            _curve(axes, values, name, line, colour, shift=0.06 * number)
        for (_, value), (accuracy, deviation) in paper.items():
            axes.errorbar(
                values.index(value) - 0.12,
                accuracy,
                yerr=deviation,
                **_bar(_PAPER, "D", "the paper's"),
            )
        _legend(figure, axes)
    return figure


def _curve(axes, values, name, line, colour, shift):
    places = [values.index(value) + shift for value in sorted(line)]
    found = [statistics.mean_and_deviation(line[value]) for value in sorted(line)]
    means, deviations = zip(*found)
    axes.errorbar(places, means, yerr=deviations, **_bar(colour, "o", name))
    for place, value in zip(places, sorted(line)):
        seeds = line[value]
        axes.plot([place + 0.05] * len(seeds), seeds, ".", color=colour, alpha=0.5)


def differences(title, rows):
    """Return a figure of mean differences in points with their 95 % intervals.

    Args:
        title: above the figure.
        rows: triples of a name, a `Difference`, and the differences by pair.
    """
    with drawing.style():
        figure, axes = _rows(title, [name for name, _, _ in rows])
        axes.axvline(0, color=drawing.INK, linewidth=0.8)
        for place, (_, difference, values) in enumerate(rows):
            _dots(axes, place, values)
            half = difference.high - difference.mean
            axes.errorbar(
                difference.mean,
                place + 0.18,
                xerr=None if np.isnan(half) else half,
                **_bar(_OURS, "o", "mean and 95 % interval"),
            )
        axes.set_xlabel("points of test accuracy, paired by seed")
        if max(abs(difference.mean) for _, difference, _ in rows) > _WIDE:
            axes.set_xscale("symlog", linthresh=1)
            axes.xaxis.set_major_formatter("{x:g}")
        _legend(figure, axes)
    return figure


def _stretch_accuracies(axes, groups):
    """Draw by the logarithm of the error, if accuracies lie far apart."""
    errors = [100 - np.mean(values) for values in groups]
    if max(errors) <= _WIDE * max(min(errors), _LEAST_ERROR):
        return
    axes.set_xscale(
        "function",
        functions=(
            lambda accuracy: -np.log(np.maximum(100 - accuracy, 0) + _LEAST_ERROR),
            lambda place: 100 + _LEAST_ERROR - np.exp(-place),
        ),
    )
    axes.autoscale_view()
    low, high = axes.get_xlim()
    axes.set_xticks([tick for tick in _ACCURACIES if low <= tick <= high])
    axes.xaxis.set_major_formatter("{x:g}")


def _rows(title, names):
    wrapped = [textwrap.wrap(name, _NAME_LETTERS) for name in names]
    height = 0.26 + 0.16 * max(len(lines) for lines in wrapped)
    figure = drawing.new_figure(_WIDTH, 1.4 + height * len(names))
    _title(figure, title)
    axes = figure.add_subplot()
    axes.set_yticks(range(len(names)), ["\n".join(lines) for lines in wrapped])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def _title(figure, title):
    # Of the figure, not of the axes, which long names leave little room.
    lines = textwrap.fill(title, _TITLE_LETTERS)
    figure.suptitle(lines, x=0.01, ha="left", fontsize=10)


def _dots(axes, place, values):
    axes.plot(
        values,
        np.full(len(values), place - 0.02),
        color=drawing.SERIES[7],
        linestyle="",
        marker=".",
        markersize=6,
        alpha=0.7,
        label="a seed",
    )


def _bar(colour, marker, label):
    return {
        "color": colour,
        "marker": marker,
        "markersize": 5,
        "capsize": 3,
        "linewidth": 1.4,
        "label": label,
    }


def _legend(figure, axes):
    handles, labels = axes.get_legend_handles_labels()
    # A mark stands in several rows; it is explained once.
    once = dict(zip(labels, handles))
    columns = 3 if max(map(len, once)) < _NAME_LETTERS else 1
    figure.legend(once.values(), once, loc="outside lower left", ncols=columns)
