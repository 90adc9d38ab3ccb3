"""The two sheets of a preview: operations at every level, and views of images."""

from __future__ import annotations

import dataclasses

import numpy as np

from la_tf import methods, policy, rules
from la_tf.config import TrainConfig
from la_tf.learners.learner import Learner
from la_tf.ops import levels, mixing
from la_tf.preview import contact_sheet
from la_tf.run import build, view_samples

# Enough for a mixed image to meet several partners.
SMALLEST_BATCH = 10
VIEWS_A_LINE = 9
_TEN = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Preview:
    """Images of a data set with their views, as a run would see them.

    Attributes:
        config: of the run.
        rule: by which its views are drawn.
        examples: at least as many as are shown, where the data set has them.
        class_names: of the data set.
        shown: how many of them are shown with their views.
    """

    config: TrainConfig
    rule: rules.Rule
    examples: view_samples.Examples
    class_names: tuple[str, ...]
    shown: int


def load(config, shown):
    """Return the `Preview` of a run's data, `shown` images of it with their views."""
    source = build.load_source(config)
    maker = build.view_maker(config, source)
    drawn = view_samples.draw(source, maker, config.seed, max(shown, SMALLEST_BATCH))
    return Preview(config, maker.drawing, drawn, source.class_names, shown)


def operations(preview):
    """Return the sheet of every operation at every level, on the first image.

    Where there are many levels, at ten of them.
    """
    return contact_sheet.draw(
        f"{preview.config.dataset}: the operations at each level",
        f"Drawn anew for each picture: {', '.join(_drawn(preview))}.",
        operation_rows(preview),
        columns=[f"level {level}" for level in _levels(preview.rule.space)],
    )


def operation_rows(preview):
    """Return a row for each operation, and a last one for those without a level."""
    config, images = preview.config, preview.examples.images
    leveled, mixed, tiles, names = [], [], [images[0]], ["original"]
    space = preview.rule.space
    layers = policy.make_layers(space, config.mixup_alpha)
    for index, (name, layer) in enumerate(layers.items()):
        seed = (config.seed, index)
        if layer.needs_partner:
            mixed.append(_mixed_row(layer, images, seed))
        elif layer.has_level:
            leveled.append(_level_row(layer, images[0], seed, space))
        else:
            tiles.append(layer.apply(images[:1], 0, seed).numpy()[0])
            names.append(name)
    return [*leveled, *mixed, contact_sheet.Row(tiles, names, "no level")]


def views(preview):
    """Return the sheet of a few images and their views with the policies' names."""
    config, examples = preview.config, preview.examples
    rows = []
    for image in range(min(preview.shown, len(examples.images))):
        tiles, captions = [examples.images[image]], [_class_name(preview, image)]
        names = _policy_names(preview, image)
        for first in range(0, len(names), VIEWS_A_LINE):
            line = slice(first, first + VIEWS_A_LINE)
            tiles.extend(examples.views[image][line])
            captions.extend(names[line])
            rows.append(contact_sheet.Row(tiles, captions, first_column=first > 0))
            tiles, captions = [], []
    return contact_sheet.draw(
        f"{config.dataset}: views as training sees them",
        _pipeline(preview),
        rows,
    )


def _drawn(preview):
    """Return what chance decides besides the level, in words."""
    layers = policy.make_layers(preview.rule.space, preview.config.mixup_alpha)
    words = ["the sign where a value has ±"]
    if "Cutout" in layers:
        words.append("Cutout's place")
    if any(layer.needs_partner for layer in layers.values()):
        words.append("the image to mix with")
    return words


def _levels(space):
    """Return ten levels from the first to the last."""
    return np.linspace(0, space.num_levels - 1, _TEN).round().astype(int)


def _level_row(layer, image, seed, space):
    name = type(layer).__name__
    every = _levels(space)
    tiles = layer.apply(np.stack([image] * len(every)), every, seed).numpy()
    captions = [levels.value(name, level, image.shape, space) for level in every]
    return contact_sheet.Row(list(tiles), captions, name)


def _mixed_row(layer, images, seed):
    """Return a row of draws of an operation that mixes images, one a level."""
    tiles, captions = [], []
    for draw in range(_TEN):
        draw_seed = (seed[0], seed[1] + 100 * (draw + 1))
        share = 0.5
        if isinstance(layer, mixing.MixUp):
            labels = np.eye(len(images), dtype=np.float32)
            changed, labels = layer.apply(images, 0, draw_seed, labels)
            share = labels[0, 0].numpy()
        else:
            changed = layer.apply(images, 0, draw_seed)
        tiles.append(changed[0].numpy())
        captions.append(f"{100 * share:.0f} % own")
    return contact_sheet.Row(tiles, captions, f"{type(layer).__name__}\n(ten draws)")


def _class_name(preview, image):
    return f"{preview.class_names[preview.examples.labels[image]]}\n"


def _policy_names(preview, image):
    """Return the views' policies, each in two lines."""
    names = preview.examples.names[image]
    return [name.replace(">", " >\n") for name in names]


def _pipeline(preview):
    """Return what happens to an image, in one line."""
    config, image_shape = preview.config, preview.examples.images.shape[1:]
    steps = {
        "crop": [f"padding {build.padding(config, image_shape)} and crop"],
        "inception": ["random resized crop", "colour jitter", "lighting"],
        "none": [],
    }[config.preprocessing]
    if config.flip:
        steps.append("flip")
    if methods.get(config.method).drawing is not None:
        steps.append(_operations(preview.rule))
    if config.final == "cutmix":
        steps.append(f"CutMix in {100 * config.cutmix_probability:.0f} % of batches")
    elif config.final == "cutout":
        steps.append("Cutout")
    return " → ".join(steps)


def _operations(rule):
    """Return how many operations a view goes through, and who draws them."""
    words = {1: "one operation", 2: "two operations"}
    words = words.get(rule.num_stages, f"{rule.num_stages} operations")
    if isinstance(rule, Learner):
        # What a run learns is in its checkpoints, from which its report draws.
        words += " as drawn before training"
    return words
