"""What la_tf.evaluate has found about a run: its mistakes and what it withstands."""

from __future__ import annotations

import pathlib

import numpy as np

from la_tf.evaluate import confusion, measures
from la_tf.report import markup

_MISTAKES = 5


def section(run, gallery, level, prefix=""):
    """Return the section with the confusion matrix, or with the way to one."""
    result = run.evaluation
    if result is None:
        command = f"python -m la_tf.evaluate --run_dir={run.folder.path}"
        body = markup.tag(
            "div",
            markup.tag("p", "The run has not been evaluated. This command does it:"),
            markup.tag("pre", markup.tag("code", command)),
            markup.tag("p", "A report that is made after it shows the mistakes here."),
        )
        return markup.section(level, "Mistakes", body)
    matrix = np.asarray(result["confusion"])
    names = result["class_names"]
    # Not with the page's colours: its white cells stay white in the dark.
    picture = gallery.picture(
        f"{prefix}confusion",
        confusion.draw(matrix, names, f"top-1 {result['top_1']:.2%}"),
        f"Confusion matrix of {len(names)} classes: {np.trace(matrix):,} of "
        f"{matrix.sum():,} images are recognised.",
    )
    return markup.section(
        level,
        "Mistakes",
        picture,
        _mistakes(matrix, names),
        *_robustness(result),
        note=_note(result),
    )


def _note(result):
    checkpoint = pathlib.Path(result["checkpoint"]).name
    part = "held-out" if result["held_out"] else "test"
    return (
        f"By la_tf.evaluate on {result['images']:,} {part} images of "
        f"{result['dataset']}, checkpoint {checkpoint}: top-1 accuracy "
        f"{result['top_1']:.2%}, top-5 {result['top_5']:.2%}, loss "
        f"{result['loss']:.4g}, calibration error {result['calibration']['error']:.2%}."
    )


def _mistakes(matrix, names):
    rows = [
        (names[own], names[other], f"{count:,}", f"{count / matrix[own].sum():.1%}")
        for own, other, count in measures.most_confused(matrix, _MISTAKES)
    ]
    if not rows:
        return markup.tag("p", "There are no mistakes.")
    head = ("class", "taken for", "images", "of the class")
    return markup.table(head, rows, "The commonest mistakes")


def _robustness(result):
    if "robustness" not in result:
        return []
    robustness = result["robustness"]
    order = sorted(robustness["operations"].items(), key=lambda pair: pair[1])
    rows = [(name, f"{accuracy:.2%}") for name, accuracy in order]
    caption = (
        f"Accuracy under each operation at level {robustness['level']}; unchanged "
        f"{robustness['unchanged']:.2%}"
    )
    table = markup.table(("operation", "accuracy"), rows, caption)
    folded = markup.tag("summary", "Accuracy on changed images")
    return [markup.tag("details", folded, table)]
