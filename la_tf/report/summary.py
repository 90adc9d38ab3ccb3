"""What a run was, in figures and tables."""

from __future__ import annotations

from la_tf import console
from la_tf.report import markup
from la_tf.run import divergence


def section(run, level):
    """Return the section with the run's result and the command that repeats it."""
    best = f"best {run.best['test_accuracy']:.2%} in epoch {run.best['epoch']:.0f}"
    figures = [
        ("test accuracy, last epoch", f"{run.last['test_accuracy']:.2%}", best),
        ("test loss", f"{run.last['test_loss']:.4g}", _top_5(run)),
        ("epochs", f"{len(run.rows)} of {run.config.epochs}", _steps(run)),
        ("training time", console.duration(run.seconds), _speed(run)),
    ]
    cards = [
        markup.tag(
            "div",
            markup.tag("dt", name),
            markup.tag("dd", value, class_="figure"),
            markup.tag("dd", more),
        )
        for name, value, more in figures
    ]
    class_names = run.record.get("data", {}).get("class_names", ())
    warning = divergence.warning(run.last, len(class_names))
    return markup.section(
        level,
        "Summary",
        *([markup.tag("p", warning, class_="warning")] if warning else []),
        markup.tag("dl", *cards, class_="cards"),
        markup.tag("p", _choice(run), class_="note"),
        command(run),
    )


def command(run):
    """Return the command that repeats the run, broken between its words only."""
    words = run.record.get("command", "unknown").split(" ")
    spans = markup.join((markup.tag("span", word) for word in words), " ")
    return markup.tag(
        "div",
        markup.tag("p", "This command repeats the run:"),
        markup.tag("pre", markup.tag("code", spans)),
    )


def configuration(run, level):
    """Return the section with every value of the run and where it came from."""
    origins = run.record.get("origins", {})
    rows = [
        (name, _shown(value), origins.get(name, ""))
        for name, value in run.config.values().items()
    ]
    data = [
        (name.replace("_", " "), _shown(value))
        for name, value in run.record.get("data", {}).items()
    ]
    versions = list(run.record.get("versions", {}).items())
    return markup.section(
        level,
        "Configuration",
        _folded(
            "All values and where each came from",
            markup.table(("value of", "is", "from"), rows, "Configuration"),
        ),
        _folded("The data", markup.table(("data", "is"), data, "Data")),
        _folded("Versions", markup.table(("package", "version"), versions, "Versions")),
    )


def title(run):
    """Return the run in a few words."""
    config = run.config
    return f"{config.dataset} with {config.model}, method {config.method}"


def _top_5(run):
    return f"top-5 accuracy {run.last['test_top_5']:.2%}"


def _steps(run):
    return f"{run.last['step']:.0f} steps of {run.config.batch_size} images"


def _speed(run):
    return f"{run.last['images_per_second']:,.0f} images/s in the last epoch"


def _choice(run):
    if run.config.holdout:
        return "Test images are training images that were held out."
    return (
        "The best epoch was chosen on the test images themselves: as a result, quote "
        "the last epoch's accuracy."
    )


def _folded(name, content):
    return markup.tag("details", markup.tag("summary", name), content)


def _shown(value):
    if isinstance(value, list):
        shown = ", ".join(_shown(part) for part in value[:20])
        return f"{shown}, … {len(value)} in all" if len(value) > 20 else shown
    return f"{value:.6g}" if isinstance(value, float) else str(value)
