"""The policies that the prior finds most and least likely, each with a picture."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from la_tf import drawing, policy
from la_tf.report import markup

_COUNT = 10
_LEVEL = 7


def section(run, images, gallery, level, prefix=""):
    """Return the section with the ten most and the ten least likely policies.

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
    indices = np.stack([order[:_COUNT], order[::-1][:_COUNT]])
    pictures = [None, None] if images is None else _applied(run, images, indices)
    parts = []
    for name, listed, shown in zip(("most", "least"), indices, pictures):
        parts.append(markup.tag(f"h{level + 1}", f"{name.capitalize()} likely"))
        words = _words(run, listed)
        if shown is None:
            parts.append(_list(words))
        else:
            parts.append(_tiles(words, shown))
            gallery.save(f"{prefix}{name}_likely", _strip(words, shown))
    note = "After the last epoch, as multiples of the uniform probability."
    if images is not None:
        own = f"both levels {_LEVEL} of 9" if run.rule.is_square else "at its levels"
        note += f" The pictures show the policy on one image, {own}."
    return markup.section(level, "Policies", *parts, note=note)


def _words(run, indices):
    """Return each policy's name and probability, in words."""
    multiples = run.priors[-1] * run.priors.shape[1]
    return [
        (
            run.rule.name_of(index).replace(">", " > "),
            f"{multiples[index]:.2f} × uniform",
        )
        for index in indices
    ]


def _list(words):
    return markup.tag("ol", *(markup.tag("li", ": ".join(pair)) for pair in words))


def _tiles(words, shown):
    tiles = [
        markup.tile(pixels, f"An image after {name}", f"{place}. {name}", multiple)
        for place, (pixels, (name, multiple)) in enumerate(zip(shown, words), 1)
    ]
    return markup.tiles(*tiles, class_="ten")


def _strip(words, shown):
    """Return the same as one picture in two rows, for the file."""
    half = len(shown) // 2
    captions = [
        f"{name}\n{multiple}".replace(" > ", " >\n") for name, multiple in words
    ]
    strip = drawing.ViewStrip(np.reshape(shown, [2, half, *shown.shape[1:]]), lines=3)
    return strip.show([captions[:half], captions[half:]])


def _applied(run, images, indices):
    """Return the first image under each policy, uint8 [*indices.shape, H, W, C]."""
    config, rule = run.config, run.rule
    policies = policy.Policies(rule.space, config.mixup_alpha)
    views = tf.repeat(images[:, np.newaxis], indices.size, axis=1)
    shape = [len(images), indices.size]
    drawn = tf.broadcast_to(tf.cast(np.ravel(indices), tf.int32), shape)
    labels, choice = tf.zeros([*shape, 1]), rule.showing(drawn, _LEVEL)
    changed, _ = policies.apply(views, labels, choice, [config.seed, 0])
    return np.reshape(changed[0], [*indices.shape, *images.shape[1:]])
