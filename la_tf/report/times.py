"""How long an epoch took, and where the time went."""

from __future__ import annotations

import numpy as np
from matplotlib import ticker

from la_tf import console, drawing
from la_tf.report import markup

# Column of metrics.csv: what the time went to.
_PARTS = {
    "seconds": "training",
    "evaluation_seconds": "evaluation",
    "saving_seconds": "checkpoints and pictures",
}


def section(run, gallery, level, prefix=""):
    """Return the section with a bar an epoch and the sums."""
    parts = {
        name: np.nan_to_num(run.column(column))
        for column, name in _PARTS.items()
        if not np.isnan(run.column(column)).all()
    }
    total = sum(values.sum() for values in parts.values())
    rows = [
        (
            name,
            console.duration(values.sum()),
            f"{values.sum() / total:.0%}",
            f"{np.median(values):.2f} s",
        )
        for name, values in parts.items()
    ]
    figure = _drawn(run, parts)
    chart = gallery.chart(f"{prefix}time", figure, _told(parts))
    return markup.section(
        level,
        "Time",
        markup.tag(
            "div",
            chart,
            markup.table(
                ("part", "in all", "share", "median epoch"), rows, "Where the time went"
            ),
            class_="charts",
        ),
        markup.tag("p", _start(run) + _waiting(run)),
        note="Inside the training time, --profile shows TensorBoard's profiler where "
        "ten steps spend theirs.",
    )


def _drawn(run, parts):
    epochs = run.column("epoch")
    below = np.zeros(len(epochs))
    with drawing.style():
        figure = drawing.new_figure(4.4, 2.9)
        axes = figure.add_subplot()
        for colour, (name, values) in zip(drawing.SERIES, parts.items()):
            axes.bar(epochs, values, bottom=below, color=colour, label=name)
            below = below + values
        axes.set_title("Seconds an epoch", loc="left")
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        figure.legend(loc="outside lower left", ncols=3)
    return figure


def _told(parts):
    told = ", ".join(
        f"{name} {np.median(values):.2f} s" for name, values in parts.items()
    )
    return f"Seconds an epoch; in the median epoch: {told}."


def _start(run):
    seconds = run.column("seconds")
    if len(seconds) < 3:
        return "The first epoch also builds the graph of the training step."
    extra = seconds[0] - np.median(seconds[1:])
    return (
        f"The first epoch, which also builds the graph of the training step, took "
        f"{max(extra, 0):.1f} s longer than the median of the others."
    )


def _waiting(run):
    share = (run.folder.summary() or {}).get("waits_for_input")
    if not isinstance(share, float):
        return ""  # the run is not finished, or had no clock
    return (
        f" In its first steps the network waited for its input {share:.0%} of the time."
    )
