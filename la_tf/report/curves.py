"""Curves over the epochs, of one run or of several in one drawing."""

from __future__ import annotations

import numpy as np
from matplotlib import lines, ticker

from la_tf import drawing
from la_tf.report import markup

_DASHES = ("-", ":", "-.")
# With so few epochs every one gets a dot.
_FEW_EPOCHS = 30


class _Chart:
    """A drawing: a title, and the columns of metrics.csv in it with their names."""

    def __init__(self, name, title, columns, percent=False, policies=False):
        self.name = name
        self.title = title
        self.columns = columns
        self.percent = percent
        self.policies = policies


_CHARTS = (
    _Chart("loss", "Loss", {"loss": "training", "test_loss": "test"}),
    _Chart(
        "accuracy",
        "Accuracy",
        {"train_accuracy": "training", "test_accuracy": "test"},
        percent=True,
    ),
    _Chart("learning_rate", "Learning rate", {"learning_rate": ""}),
    _Chart(
        "expected_loss",
        "Expected loss, with log π",
        {"expected_loss": ""},
        policies=True,
    ),
    _Chart(
        "weight_entropy",
        "Entropy of the views' weights h̃, nats",
        {"weight_entropy": ""},
        policies=True,
    ),
    _Chart(
        "effective_policies",
        "Effective number of policies",
        {"effective_policies": ""},
        policies=True,
    ),
    _Chart(
        "drawing_entropy",
        "Entropy of the learned drawing, nats",
        {"drawing_entropy": ""},
    ),
)


def section(runs, gallery, level, prefix=""):
    """Return the section with all curves of the runs."""
    charts = []
    for chart in _CHARTS:
        shown = [run for run in runs if _is_of(chart, run)]
        if shown:
            figure = _drawn(chart, shown, runs)
            alt = _told(chart, shown)
            charts.append(gallery.chart(f"{prefix}{chart.name}", figure, alt))
    note = (
        "Training values are means over an epoch, on altered images; test values are "
        "of plain images, at the epoch's end."
    )
    if len(runs) > 1:
        note += " Of the two, training is the paler line."
    body = markup.tag("div", *charts, class_="charts")
    return markup.section(level, "Curves", body, note=note)


def _is_of(chart, run):
    """Return whether a run has anything to draw in the chart."""
    known = any(not np.isnan(run.column(column)).all() for column in chart.columns)
    return known and (run.has_policies or not chart.policies)


def _drawn(chart, shown, runs):
    """Return the chart as a figure; a run has the same colour in every chart."""
    several = len(runs) > 1
    with drawing.style():
        figure = drawing.new_figure(4.4, 2.9 + (0.17 * len(shown) if several else 0))
        axes = figure.add_subplot()
        for run in shown:
            _plot(axes, chart, run, runs.index(run), several)
        axes.set_title(chart.title, loc="left")
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.grid(axis="y")
        if chart.percent:
            axes.yaxis.set_major_formatter(ticker.PercentFormatter(1))
        if several:
            figure.legend(handles=_keys(shown, runs), loc="outside lower left")
        elif len(chart.columns) > 1:
            axes.legend()
    return figure


def _plot(axes, chart, run, number, several):
    for place, (column, label) in enumerate(chart.columns.items()):
        look = _look(number) if several else _look(place)
        if several and label == "training":
            look["alpha"] = 0.45
        epochs, values = run.column("epoch"), run.column(column)
        # Not every epoch need have been evaluated.
        known = ~np.isnan(values)
        epochs, values = epochs[known], values[known]
        marker = "." if len(values) <= _FEW_EPOCHS else ""
        axes.plot(epochs, values, marker=marker, label=label, **look)


def _look(number):
    count = len(drawing.SERIES)
    return {
        "color": drawing.SERIES[number % count],
        "linestyle": _DASHES[number // count % len(_DASHES)],
        "linewidth": 1.6,
    }


def _keys(shown, runs):
    return [
        lines.Line2D([], [], label=run.name, **_look(runs.index(run))) for run in shown
    ]


def _told(chart, shown):
    """Return the chart in words, for those who do not see it."""
    parts = []
    for run in shown:
        for column, label in chart.columns.items():
            values = run.column(column)
            values = values[~np.isnan(values)]
            if not len(values):
                continue
            parts.append(
                f"{run.name}{' ' if label else ''}{label} from "
                f"{_number(values[0], chart)} to {_number(values[-1], chart)}"
            )
    return f"{chart.title} over the epochs: {'; '.join(parts)}."


def _number(value, chart):
    return f"{value:.1%}" if chart.percent else f"{value:.4g}"
