"""Several runs side by side."""

from __future__ import annotations

from la_tf.report import markup, summary

# What two runs never share, and what does not change a result.
_NOT_COMPARED = ("run_dir", "resume", "verbosity", "keep", "checkpoint_minutes")


def section(runs, level):
    """Return the section with a table of results and one of the runs' differences."""
    results = markup.table(
        (
            "run",
            "test accuracy",
            "best (epoch)",
            "test loss",
            "epochs",
            "training time",
            "images/s",
        ),
        [_result(run) for run in runs],
        "Results after the last epoch",
    )
    return markup.section(level, "Comparison", results, _differences(runs))


def _result(run):
    return (
        run.name,
        f"{run.last['test_accuracy']:.2%}",
        f"{run.best['test_accuracy']:.2%} ({run.best['epoch']:.0f})",
        f"{run.last['test_loss']:.4g}",
        f"{len(run.rows)} of {run.config.epochs}",
        summary.duration(run.seconds),
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
