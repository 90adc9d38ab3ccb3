"""The hyperparameters: a row for every experiment of the paper, and one of our own.

A row is chosen by data set and model. `paper_accuracy` is what the paper reports for
LatentAugment (mean of five runs, test accuracy in percent), never a result of ours.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One row: what is trained on what, and how."""

    dataset: str
    model: str
    learning_rate: float
    weight_decay: float
    batch_size: int
    epochs: int
    optimizer: str = "sgd"
    preprocessing: str = "crop"
    padding_share: float = 4 / 32
    flip: bool = True
    final: str = "cutmix"
    cutmix_probability: float = 0.5
    cutout_share: float = 0.5
    # Of the rivals: what their authors report, or advise, for such data and networks.
    autoaugment: str = "cifar10"
    randaugment_ops: int = 3
    randaugment_magnitude: int = 4
    trivialaugment: str = "wide"
    paper_accuracy: float | None = None

    @property
    def title(self):
        """The row's name in messages, such as "cifar10 with wrn_40_2"."""
        return f"{self.dataset} with {self.model}"


_SHAKE = {"learning_rate": 0.01, "batch_size": 128, "epochs": 1800}
_PHOTOGRAPHS = {
    "learning_rate": 0.1,
    "weight_decay": 1e-4,
    "batch_size": 256,
    "epochs": 270,
    "preprocessing": "inception",
    "cutmix_probability": 1.0,
    "autoaugment": "imagenet",
    "randaugment_ops": 2,
    "randaugment_magnitude": 9,
}
# RandAugment's authors name no WRN-40-2: it has the values of their WRN-28-2.
# TrivialAugment's advise their standard space for it, the wide one for all larger ones.
_SMALL = {"trivialaugment": "standard"}
_DIGITS = {
    "flip": False,
    "final": "cutout",
    "autoaugment": "svhn",
    "randaugment_ops": 3,
    "randaugment_magnitude": 7,
}

# The first row of a data set also names the model that it is trained with when the
# user names none.
RECIPES = (
    Recipe("cifar10", "wrn_40_2", 0.1, 2e-4, 128, 200, paper_accuracy=97.27, **_SMALL),
    Recipe(
        "cifar10",
        "wrn_28_10",
        0.1,
        5e-4,
        128,
        200,
        randaugment_magnitude=5,
        paper_accuracy=98.25,
    ),
    Recipe(
        "cifar10",
        "shake_shake_26_2x32d",
        weight_decay=1e-3,
        randaugment_magnitude=9,
        paper_accuracy=97.68,
        **_SHAKE,
    ),
    Recipe(
        "cifar10",
        "shake_shake_26_2x96d",
        weight_decay=1e-3,
        randaugment_magnitude=9,
        paper_accuracy=98.42,
        **_SHAKE,
    ),
    Recipe(
        "cifar10",
        "shake_shake_26_2x112d",
        weight_decay=1e-3,
        randaugment_magnitude=9,
        paper_accuracy=98.44,
        **_SHAKE,
    ),
    Recipe(
        "cifar10",
        "pyramidnet_272_200",
        0.05,
        5e-5,
        64,
        1800,
        randaugment_magnitude=7,
        paper_accuracy=98.72,
    ),
    Recipe(
        "cifar100",
        "wrn_40_2",
        0.1,
        2e-4,
        128,
        200,
        randaugment_ops=1,
        randaugment_magnitude=2,
        paper_accuracy=80.90,
        **_SMALL,
    ),
    Recipe(
        "cifar100",
        "wrn_28_10",
        0.1,
        5e-4,
        128,
        200,
        randaugment_ops=2,
        randaugment_magnitude=14,
        paper_accuracy=84.98,
    ),
    Recipe(
        "cifar100",
        "shake_shake_26_2x96d",
        weight_decay=2.5e-3,
        randaugment_ops=2,
        randaugment_magnitude=14,
        paper_accuracy=85.88,
        **_SHAKE,
    ),
    Recipe(
        "svhn",
        "wrn_28_10",
        0.005,
        1e-3,
        128,
        160,
        preprocessing="none",
        cutout_share=20 / 32,
        paper_accuracy=98.96,
        **_DIGITS,
    ),
    Recipe("imagenet2012", "resnet_50", paper_accuracy=80.02, **_PHOTOGRAPHS),
    Recipe(
        "mnist",
        "wrn_40_2",
        0.1,
        2e-4,
        128,
        200,
        paper_accuracy=99.77,
        **_DIGITS,
        **_SMALL,
    ),
    Recipe(
        "fashion_mnist", "wrn_40_2", 0.1, 2e-4, 128, 200, paper_accuracy=96.04, **_SMALL
    ),
    Recipe("oxford_flowers102", "resnet_50", paper_accuracy=98.19, **_PHOTOGRAPHS),
    # Not in the paper: the embedded digits, small enough for two CPU cores. No flip: a
    # mirrored digit is no digit.
    Recipe(
        "digits",
        "wrn_16_1",
        0.1,
        2e-4,
        64,
        30,
        **_DIGITS,
        **_SMALL,
    ),
)

# What other optimizers take in the place of a row's learning rate, at its batch, and of
# its weight decay. Theirs is decoupled: it is multiplied by the learning rate.
OPTIMIZERS = {
    "adamw": {"learning_rate": 1e-3, "weight_decay": 0.05},
    "lion": {"learning_rate": 1e-4, "weight_decay": 0.5},
}

# Data sets that look alike lend each other their rows.
_KINDS = {
    "cifar10": "objects",
    "cifar100": "objects",
    "svhn": "digits",
    "mnist": "digits",
    "digits": "digits",
    "imagenet2012": "photographs",
    "oxford_flowers102": "photographs",
}
_OWN_IMAGES_MODEL = {"folder": "resnet_50", "npz": "wrn_40_2"}


def default_model(dataset):
    """Return the name of the model for a data set when the user names none."""
    if dataset in _OWN_IMAGES_MODEL:
        return _OWN_IMAGES_MODEL[dataset]
    return next(row.model for row in RECIPES if row.dataset == dataset)


def find(dataset, model):
    """Return the row of a data set and a model, or the nearest one.

    The data set decides first: a row of its own for the model's family, then one that
    looks alike for the same model, then any row of its own; the earlier among equals.
    """
    return max(RECIPES, key=lambda row: _likeness(row, dataset, model))


def note(dataset, model):
    """Return a line that tells which row is used for a missing one, or None."""
    recipe = find(dataset, model)
    if (recipe.dataset, recipe.model) == (dataset, model):
        return None
    return (
        f"There is no recipe for {dataset} with {model}; using that of {recipe.title}."
    )


def _likeness(row, dataset, model):
    own = row.dataset == dataset
    alike = _KINDS.get(row.dataset) == _KINDS.get(dataset, "unknown")
    related = _family(row.model) == _family(model)
    same = row.model == model
    return own and related, alike and same, own, alike, same, related


def _family(model):
    # Keras' own networks, whose names have capitals, are for photographs as ResNet-50.
    return model.split("_")[0] if model.islower() else "resnet"
