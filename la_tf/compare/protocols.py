"""What several views an image may cost: three ways to compare K views with one.

updates   as many updates, K times the compute: B images of K views a step, E epochs
compute   as much compute and as many updates: B/K images of K views, E/K epochs
epochs    as much compute, more updates: K views for E epochs beside one for K E epochs
"""

from __future__ import annotations

import dataclasses

WORDS = {
    "updates": "same updates",
    "compute": "same compute",
    "epochs": "more epochs",
}
NAMES = tuple(WORDS)

# Of the data sets that come with a name: training images and an image's shape.
_DATA = {
    "digits": (1437, (16, 16, 1)),
    "cifar10": (50_000, (32, 32, 3)),
    "cifar100": (50_000, (32, 32, 3)),
    "svhn": (604_388, (32, 32, 3)),
    "imagenet2012": (1_281_167, (224, 224, 3)),
    "mnist": (60_000, (28, 28, 1)),
    "fashion_mnist": (60_000, (28, 28, 1)),
    "oxford_flowers102": (2040, (224, 224, 3)),
}


def train_images(config):
    """Return how many images a run trains on; None where only its data can tell."""
    if config.test_on_rest:
        return config.limit_train
    if config.dataset not in _DATA:
        return None
    count, _ = _DATA[config.dataset]
    held_out = config.holdout * count if config.holdout < 1 else config.holdout
    count -= round(held_out)
    return min(count, config.limit_train or count)


def image_shape(config):
    """Return (height, width, channels) of a run's images; None where not known."""
    if config.dataset not in _DATA:
        return None
    _, (height, width, channels) = _DATA[config.dataset]
    side = config.image_size
    return (side or height, side or width, channels)


def views(config):
    """Return how many views a run makes; None where only its data can tell."""
    count = updates(config)
    return None if count is None else count * config.batch_size * config.num_views


def updates(config):
    """Return how many updates a run makes; None where only its data can tell."""
    images = train_images(config)
    return None if images is None else config.epochs * (images // config.batch_size)


def apply(name, config, most_views):
    """Return the configuration under a protocol, and a sentence on what it changed.

    Args:
        name: one of `NAMES`.
        config: a TrainConfig, as it is for "updates".
        most_views: the largest number of views in the comparison.

    Returns:
        A TrainConfig, and a text that is empty where nothing changed.
    """
    if name == "compute" and config.num_views > 1:
        return _same_compute(config)
    if name == "epochs" and config.num_views < most_views:
        return _more_epochs(config, most_views)
    return config, ""


def _same_compute(config):
    """Return a K-th of the images a step, for as many steps.

    The learning rate stays: a step averages over as many views. The warm-up stays as
    long in steps, to the nearest epoch.
    """
    views, batch = config.num_views, config.batch_size
    fewer = max(1, round(batch / views))
    images = train_images(config) or batch * fewer
    scale = (images // batch) / (images // fewer)
    epochs = max(1, round(config.epochs * scale))
    changed = _changed(
        config,
        batch_size=fewer,
        epochs=epochs,
        warmup_epochs=round(config.warmup_epochs * scale),
        learning_rate=config.learning_rate,
    )
    told = (
        f"{fewer} images of {views} views a step for {epochs} epochs in the place of "
        f"{batch} of one for {config.epochs} ({_steps(changed, config)}, "
        f"{fewer * views} views a step beside {batch})"
    )
    return changed, told


def _more_epochs(config, most_views):
    epochs = round(config.epochs * most_views / config.num_views)
    changed = _changed(config, epochs=epochs)
    told = (
        f"{epochs} epochs in the place of {config.epochs}, for as many views as with "
        f"{most_views} an image ({_steps(changed, config)})"
    )
    return changed, told


def _changed(config, **values):
    """Return the configuration with values that no recipe may move."""
    origins = {**config.origins, **dict.fromkeys(values, "chosen")}
    return dataclasses.replace(config, origins=origins, **values)


def _steps(changed, config):
    if updates(config) is None:
        return "steps depend on the data"
    return f"{updates(changed):,} steps beside {updates(config):,}"
