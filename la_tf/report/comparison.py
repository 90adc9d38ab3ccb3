"""Several runs side by side."""

from __future__ import annotations

import numpy as np

from la_tf import console, drawing
from la_tf.report import markup

# What two runs never share, and what does not change a result.
_NOT_COMPARED = ("run_dir", "resume", "verbosity", "keep", "checkpoint_minutes")


def section(runs, gallery, level):
    """Return results, what the runs were told, and how their priors differ."""
    results = markup.table(
        (
            "run",
            "test accuracy",
            "against the first",
            "best (epoch)",
            "test loss",
            "epochs",
            "training time",
            "images/s",
        ),
        [_result(run, runs[0]) for run in runs],
        "Results after the last epoch",
    )
    return markup.section(
        level, "Comparison", results, _differences(runs), *_priors(runs, gallery)
    )


def _result(run, first):
    points = 100 * (run.last["test_accuracy"] - first.last["test_accuracy"])
    return (
        run.name,
        f"{run.last['test_accuracy']:.2%}",
        "–" if run is first else f"{points:+.2f} points".replace("-", "−"),
        f"{run.best['test_accuracy']:.2%} ({run.best['epoch']:.0f})",
        f"{run.last['test_loss']:.4g}",
        f"{len(run.rows)} of {run.config.epochs}",
        console.duration(run.seconds),
        f"{run.last['images_per_second']:,.0f}",
    )


def _differences(runs):
    values = [run.config.values() for run in runs]
    names = [
        name
        for name in values[0]
        if name not in _NOT_COMPARED
        and any(other[name] != values[0][name] for other in values)
    ]
    if not names:
        return markup.tag("p", "The runs have the same configuration.")
    rows = [(name, *(one[name] for one in values)) for name in names]
    return markup.table(
        ("value of", *(run.name for run in runs)), rows, "Where the runs differ"
    )


def _priors(runs, gallery):
    """Return heat maps of how the others' priors differ from the first one."""
    shown = [run for run in runs if run.has_policies and run.rule.is_square]
    operations = shown[0].rule.space.operations if shown else None
    alike = [run for run in shown if run.rule.space.operations == operations]
    if len(alike) < 2:
        return []
    first, *others = alike
    differences = [run.priors[-1] - first.priors[-1] for run in others]
    count = first.rule.num_policies
    most = max(0.1, np.quantile(np.abs(differences), 0.995) * count)
    heat_map = drawing.HeatMap(operations, (-most, most), difference=True)
    charts = [
        gallery.chart(
            f"prior_difference_{runs.index(run) + 1}",
            heat_map.show(difference, f"{run.name}\nminus {first.name}"),
            f"Heat map of the prior of {run.name} minus that of {first.name}.",
            f"{np.abs(difference).sum() / 2:.1%} of the probability lies elsewhere.",
        )
        for run, difference in zip(others, differences)
    ]
    note = (
        f"π after the last epoch, as multiples of 1/{count}. It is the mean of a few "
        "steps, so that two runs which differ in nothing but their seed differ too."
    )
    return [
        markup.tag("p", note, class_="note"),
        markup.tag("div", *charts, class_="charts"),
    ]
