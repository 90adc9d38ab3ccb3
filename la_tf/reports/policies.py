"""The policies that the prior finds most and least likely, each with a picture."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from la_tf import drawing, policy
from la_tf.reports import markup

_COUNT = 10
_LEVEL = 7


def section(run, images, gallery, level, prefix=""):
    """The section with the ten most and the ten least likely policies.

    Args:
        run: the Run.
        images: uint8 [B, H, W, C], of which the first is shown, or None.
        gallery: where pictures are saved.
        level: of the heading.
        prefix: of the pictures' names.
    """
    prior = run.priors[-1]
    if np.ptp(prior) == 0:
        return markup.Html()
    order = np.argsort(-prior, kind="stable")
    parts = []
    for name, indices in (
        ("most", order[:_COUNT]),
        ("least", order[: -_COUNT - 1 : -1]),
    ):
        parts.append(markup.tag(f"h{level + 1}", f"{name.capitalize()} likely"))
        parts.append(_listed(run, indices, images, gallery, f"{prefix}{name}_likely"))
    note = "After the last epoch, as multiples of the uniform probability."
    if images is not None:
        note += (
            f" The pictures show the policy on one image, both levels {_LEVEL} of 9."
        )
    return markup.section(level, "Policies", *parts, note=note)


def _listed(run, indices, images, gallery, name):
    multiples = run.priors[-1] * run.priors.shape[1]
    names = [policy.name_of(index, run.config.transforms) for index in indices]
    words = [
        (f"{place}. {one.replace('>', ' > ')}", f"{multiples[index]:.2f} × uniform")
        for place, (one, index) in enumerate(zip(names, indices), 1)
    ]
    if images is None:
        items = [markup.tag("li", f"{one[3:].strip()}: {two}") for one, two in words]
        return markup.tag("ol", *items)
    shown = _applied(run, images, indices)
    strip = drawing.ViewStrip(np.reshape(shown, [2, -1, *shown.shape[1:]]), lines=3)
    captions = [f"{one}\n{two}".replace(" > ", " >\n") for one, two in words]
    half = len(captions) // 2
    gallery.save(name, strip.show([captions[:half], captions[half:]]))
    return markup.tiles(
        *(
            markup.tile(pixels, f"An image after {one}", *lines)
            for pixels, one, lines in zip(shown, names, words)
        ),
        class_="ten",
    )


def _applied(run, images, indices):
    """The first image under each policy, uint8 [policies, H, W, C]."""
    config = run.config
    policies = policy.Policies(config.transforms, config.mixup_alpha)
    views = tf.repeat(images[:, np.newaxis], len(indices), axis=1)
    shape = [len(images), len(indices)]
    labels = tf.zeros([*shape, 1])
    drawn = tf.broadcast_to(tf.cast(indices, tf.int32), shape)
    levels = tf.fill([*shape, 2], _LEVEL)
    changed, _ = policies.apply(views, labels, drawn, levels, [config.seed, 0])
    return changed[0].numpy()
