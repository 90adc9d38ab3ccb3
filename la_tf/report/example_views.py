"""Example images with their views, and what the run thinks of each."""

from __future__ import annotations

import dataclasses

import numpy as np

from la_tf import drawing
from la_tf.errors import UserError
from la_tf.learners.learner import Learner
from la_tf.report import markup
from la_tf.run import build, checkpoints, restore, view_samples

_IMAGES = 4
# So many images are looked at to find the hardest.
_POOL = 128
_MOST_VIEWS = 12
_WAY_OUT = "pass --noviews for a report without pictures of the data."


def network_of(run):
    """Return the run's `RestoredNetwork`, of its last checkpoint."""
    try:
        return restore.load(run.folder)
    except UserError as error:
        raise UserError(f"{error} Or {_WAY_OUT}") from None


def draw(run, checkpoint, data_dir=None):
    """Return examples of the run's own data, the same for the same run.

    The first few are shown; all are looked at to find the hardest. A method that learns
    how to draw does so as it had learned to at the checkpoint.
    """
    config = run.config
    if data_dir is not None:
        config = dataclasses.replace(config, data_dir=data_dir)
    try:
        source = build.load_source(config)
        maker = build.view_maker(config, source)
        if isinstance(maker.drawing, Learner):
            checkpoints.restore_learner(maker.drawing, checkpoint)
    except UserError as error:
        raise UserError(f"{error} Or {_WAY_OUT}") from None
    return view_samples.draw(source, maker, config.seed, _POOL)


def weigh(run, drawn, classifier):
    """Return the Weights that the run's network and prior give to the Examples."""
    return view_samples.weigh(
        drawn,
        classifier,
        run.last_prior,
        run.config.sigma,
        run.config.hardest_views,
        run.config.ubs_choice,
    )


def section(run, drawn, classifier, gallery, level, prefix=""):
    """Return the section with a row of views for each of a few images."""
    shown = drawn.take(np.arange(min(_IMAGES, len(drawn.images))))
    weighed = weigh(run, shown, classifier)
    gallery.save(f"{prefix}views", _strip(run, shown, weighed))
    return markup.section(
        level,
        "Views",
        *_rows(run, shown, weighed),
        note="Training images under the policies that seed, epoch and step gave them, "
        + _about(run),
    )


def hardest(run, drawn, classifier, gallery, level, prefix=""):
    """Return the section with the images of the highest loss, each with its views."""
    losses, logits = view_samples.losses(drawn, classifier)
    order = np.argsort(-losses, kind="stable")[:_IMAGES]
    shown = drawn.take(order)
    weighed = weigh(run, shown, classifier)
    gallery.save(f"{prefix}hardest", _strip(run, shown, weighed))
    names = run.record["data"]["class_names"]
    words = [
        (f"loss {losses[index]:.3g}", f"taken for “{names[logits[index].argmax()]}”")
        for index in order
    ]
    return markup.section(
        level,
        "Hardest images",
        *_rows(run, shown, weighed, words),
        note=f"Of {len(losses)} training images, drawn by the run's seed, those to "
        "which the last checkpoint gives the highest loss as they are, without any "
        "change. A wrong label often stands among them.",
    )


def _rows(run, shown, weighed, words=None):
    """Return a row of tiles for each image: itself, with more words, and its views."""
    names = run.record["data"]["class_names"]
    rows = []
    for number, image in enumerate(shown.images):
        name = names[shown.labels[number]]
        original = markup.tile(
            image,
            f"Image {number + 1}, {name}",
            f"image {number + 1}",
            f"“{name}”",
            *(words[number] if words else ()),
        )
        rows.append(markup.tiles(original, *_row(run, shown, weighed, number, names)))
    return rows


def _about(run):
    if not run.weighs_alike:
        return (
            "weighed by the last checkpoint: P is the probability of the view's label, "
            "h its share of π · P among the image's views (eq. 2), h̃ its weight in the "
            "loss (eq. 3): hard views weigh more. Framed: the view that weighs most."
        )
    about = "with P, the probability that the last checkpoint gives to the view's label"
    several = run.config.num_views > 1
    return f"{about}; all views weigh the same." if several else f"{about}."


def _row(run, drawn, weighed, number, names):
    views = drawn.views[number, :_MOST_VIEWS]
    heaviest = None if run.weighs_alike else np.argmax(weighed.weights[number])
    tiles = []
    for place, pixels in enumerate(views):
        title = _title(drawn, number, place)
        label = _label(drawn.weighed_labels[number, place], names)
        tiles.append(
            markup.tile(
                pixels,
                f"Image {number + 1} after {title}",
                title,
                label,
                *_numbers(run, weighed, number, place),
                class_="heaviest" if place == heaviest else None,
            )
        )
    return tiles


def _title(drawn, number, place):
    return str(drawn.names[number, place]).replace(">", " > ") or "crop and flip"


def _label(label, names):
    """Return a label in words: one class, or the shares of several."""
    order = np.argsort(-label, kind="stable")
    shares = [(names[index], label[index]) for index in order if label[index] > 0.005]
    if len(shares) == 1:
        return f"“{shares[0][0]}”"
    return " + ".join(f"{share:.2f} “{name}”" for name, share in shares[:3])


def _numbers(run, weighed, number, place):
    likelihood = f"P {weighed.likelihood[number, place]:.3f}"
    if run.weighs_alike:
        return (likelihood,)
    return (
        likelihood,
        f"h {weighed.posterior[number, place]:.3f}",
        f"h̃ {weighed.weights[number, place]:.3f}",
    )


def _strip(run, drawn, weighed):
    """Return the same as one picture, for the file."""
    captions = [
        [
            "\n".join(
                [
                    _title(drawn, number, place).replace("> ", ">\n"),
                    *_numbers(run, weighed, number, place),
                ]
            )
            for place in range(min(drawn.views.shape[1], _MOST_VIEWS))
        ]
        for number in range(len(drawn.images))
    ]
    lines = run.rule.num_stages + len(_numbers(run, weighed, 0, 0))
    strip = drawing.ViewStrip(drawn.views[:, :_MOST_VIEWS], lines)
    return strip.show(captions)
