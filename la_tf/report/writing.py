"""The report of one or several runs, from folders to a page."""

from __future__ import annotations

from la_tf.report import (
    comparison,
    curves,
    evaluation,
    example_views,
    markup,
    operations,
    page,
    policies,
    priors,
    summary,
    times,
)
from la_tf.report.gallery import Gallery

NAME = "report.html"


def write(runs, directory, stages, with_views=True, data_dir=None):
    """Write the page, with its pictures beside it, and return its path.

    Args:
        runs: from `runs.read`.
        directory: where the page goes; an earlier report there is replaced.
        stages: a `console.Stages`.
        with_views: whether to show the data, which takes data and a checkpoint.
        data_dir: where the data are, if not where they were.
    """
    gallery = Gallery(directory)
    several = len(runs) > 1
    body = []
    if several:
        body.append(comparison.section(runs, gallery, 2))
        body.append(curves.section(runs, gallery, 2))
    for number, run in enumerate(runs, 1):
        prefix = f"run{number}_" if several else ""
        seen = _look(run, stages, data_dir) if with_views else (None, None)
        stages.begin(f"drawing {run.name}")
        body.append(_article(run, gallery, seen, several, prefix))
    title = f"{len(runs)} runs" if several else summary.title(runs[0])
    lead = "; ".join(f"{run.name}: {summary.title(run)}" for run in runs)
    text = page.whole(title, lead if several else str(runs[0].folder.path), body)
    return gallery.write(NAME, text.encode())


def _look(run, stages, data_dir):
    stages.begin(f"restoring the network of {run.name}")
    network = example_views.network_of(run)
    stages.begin(f"making views of {run.name}")
    drawn = example_views.draw(run, network.checkpoint, data_dir)
    return drawn, network.classifier


def _article(run, gallery, seen, several, prefix):
    """Return all that is told of one run."""
    level = 3 if several else 2
    drawn, classifier = seen
    # A few suffice, and partners to mix with are among them.
    images = None if drawn is None else drawn.images[:4]
    parts = [markup.tag("h2", run.name)] if several else []
    parts.append(summary.section(run, level))
    if not several:
        parts.append(curves.section([run], gallery, level))
    if run.has_policies:
        parts += [
            priors.section(run, gallery, level, prefix),
            policies.section(run, images, gallery, level, prefix),
        ]
    if run.has_operations:
        parts.append(operations.section(run, images, gallery, level, prefix))
    if drawn is not None:
        looked_at = (run, drawn, classifier, gallery, level, prefix)
        parts.append(example_views.section(*looked_at))
        parts.append(example_views.hardest(*looked_at))
    parts.append(evaluation.section(run, gallery, level, prefix))
    parts.append(times.section(run, gallery, level, prefix))
    parts.append(summary.configuration(run, level))
    return markup.tag("article", *parts)
