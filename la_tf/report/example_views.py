"""Example images with their views, and what the run thinks of each."""

from __future__ import annotations

import dataclasses

import numpy as np

from la_tf import drawing, policy
from la_tf.errors import UserError
from la_tf.report import markup
from la_tf.run import build, restore, view_samples

_IMAGES = 4
_MOST_VIEWS = 12
_WAY_OUT = "pass --noviews for a report without pictures of the data."


def network_of(run):
    """Return the run's network with the weights of its last checkpoint."""
    try:
        return restore.load(run.folder).classifier
    except UserError as error:
        raise UserError(f"{error} Or {_WAY_OUT}") from None


def draw(run, data_dir=None):
    """Return a few Examples of the run's own data, the same for the same run."""
    config = run.config
    if data_dir is not None:
        config = dataclasses.replace(config, data_dir=data_dir)
    try:
        source = build.load_source(config)
    except UserError as error:
        raise UserError(f"{error} Or {_WAY_OUT}") from None
    maker = build.view_maker(config, source)
    return view_samples.draw(source, maker, config.seed, _IMAGES)


def weigh(run, drawn, classifier):
    """Return the Weights that the run's network and prior give to the Examples."""
    return view_samples.weigh(
        drawn,
        classifier,
        # The one policy of a run without policies is certain.
        run.priors[-1] if run.has_policies else np.ones(1, np.float32),
        run.config.sigma,
        run.config.hardest_views,
    )


def section(run, drawn, weighed, gallery, level, prefix=""):
    """Return the section with a row of views for each image."""
    names = run.record["data"]["class_names"]
    rows = []
    for number, image in enumerate(drawn.images):
        name = names[drawn.labels[number]]
        original = markup.tile(
            image, f"Image {number + 1}, {name}", f"image {number + 1}", f"“{name}”"
        )
        rows.append(markup.tiles(original, *_row(run, drawn, weighed, number, names)))
    gallery.save(f"{prefix}views", _strip(run, drawn, weighed))
    return markup.section(
        level,
        "Views",
        *rows,
        note="Training images under the policies that seed, epoch and step gave them, "
        + _about(run),
    )


def _about(run):
    if not run.has_policies:
        return "with P, the probability that the last checkpoint gives to the label."
    return (
        "weighed by the last checkpoint: P is the probability of the view's label, h "
        "its share of π · P among the image's views (eq. 2), h̃ its weight in the loss "
        "(eq. 3): hard views weigh more. Framed: the view that weighs most."
    )


def _row(run, drawn, weighed, number, names):
    views = drawn.views[number, :_MOST_VIEWS]
    heaviest = np.argmax(weighed.weights[number])
    tiles = []
    for place, pixels in enumerate(views):
        title = _title(run, drawn.policies[number, place])
        label = _label(drawn.weighed_labels[number, place], names)
        tiles.append(
            markup.tile(
                pixels,
                f"Image {number + 1} after {title}",
                title,
                label,
                *_numbers(run, weighed, number, place),
                class_="heaviest" if run.has_policies and place == heaviest else None,
            )
        )
    return tiles


def _title(run, index):
    if not run.has_policies:
        return "crop and flip"
    return policy.name_of(index, run.config.transforms).replace(">", " > ")


def _label(label, names):
    """Return a label in words: one class, or the shares of several."""
    order = np.argsort(-label, kind="stable")
    shares = [(names[index], label[index]) for index in order if label[index] > 0.005]
    if len(shares) == 1:
        return f"“{shares[0][0]}”"
    return " + ".join(f"{share:.2f} “{name}”" for name, share in shares[:3])


def _numbers(run, weighed, number, place):
    likelihood = f"P {weighed.likelihood[number, place]:.3f}"
    if not run.has_policies:
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
                    _title(run, drawn.policies[number, place]).replace("> ", ">\n"),
                    *_numbers(run, weighed, number, place)[:1],
                    f"weight {weighed.weights[number, place]:.3f}",
                ]
            )
            for place in range(min(drawn.views.shape[1], _MOST_VIEWS))
        ]
        for number in range(len(drawn.images))
    ]
    strip = drawing.ViewStrip(drawn.views[:, :_MOST_VIEWS], lines=4)
    return strip.show(captions)
