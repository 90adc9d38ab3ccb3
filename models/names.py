"""The networks' names: what is on offer and what a name says.

Plain Python: flags and error messages use it before TensorFlow is imported.
"""

from __future__ import annotations

import difflib
import re

# The networks of the paper's tables.
NAMES = (
    "wrn_40_2",
    "wrn_28_10",
    "shake_shake_26_2x32d",
    "shake_shake_26_2x96d",
    "shake_shake_26_2x112d",
    "pyramidnet_272_200",
    "resnet_50",
)

# Networks of `keras.applications`, by Keras' own names: with ImageNet's weights to be
# had, and with no noise or preprocessing but what `models.applications` knows of.
BACKBONES = (
    *(f"EfficientNetV2{size}" for size in ("B0", "B1", "B2", "B3", "S", "M", "L")),
    *(f"ConvNeXt{size}" for size in ("Tiny", "Small", "Base", "Large")),
    "MobileNetV2",
    "MobileNetV3Small",
    "MobileNetV3Large",
    "ResNet50V2",
    "ResNet101V2",
    "ResNet152V2",
)

# A family's module under `models`, and the form of its names.
_FORMS = {
    "wrn": re.compile(r"wrn_(\d+)_(\d+)"),
    "shake_shake": re.compile(r"shake_shake_26_2x(\d+)d"),
    "pyramidnet": re.compile(r"pyramidnet_(\d+)_(\d+)"),
    "resnet": re.compile(r"resnet_50"),
}
FAMILIES = (*_FORMS, "applications")


def check_name(name):
    """Raise a ValueError that says what is wrong with what is no network's name."""
    parse(name)


def parse(name):
    """Return the family (a module of this package) and what tells members apart.

    These are the numbers in a name, or for one of `BACKBONES` the name itself.
    """
    if name in BACKBONES:
        return "applications", (name,)
    for family, form in _FORMS.items():
        found = form.fullmatch(name)
        if found:
            numbers = tuple(int(number) for number in found.groups())
            _check_numbers(name, family, numbers)
            return family, numbers
    raise ValueError(
        f"There is no network {name!r}; did you mean {_nearest(name)!r}? There are "
        f"{', '.join(NAMES)}, any wrn_<depth>_<width>, and of Keras "
        f"{', '.join(BACKBONES)}."
    )


def _check_numbers(name, family, numbers):
    """Refuse depths that do not divide into three stages, and widths of zero."""
    if family == "wrn" and (numbers[0] < 10 or numbers[0] % 6 != 4):
        near = _nearest_depth(numbers[0], step=6, offset=4)
        raise ValueError(
            f"{name}: a Wide-ResNet's depth is 6n + 4 (10, 16, 22, 28, ...); did you "
            f"mean 'wrn_{near}_{max(numbers[1], 1)}'?"
        )
    if family == "pyramidnet" and (numbers[0] < 11 or numbers[0] % 9 != 2):
        near = _nearest_depth(numbers[0], step=9, offset=2)
        raise ValueError(
            f"{name}: a bottleneck PyramidNet's depth is 9n + 2 (11, 20, 29, ...); did "
            f"you mean 'pyramidnet_{near}_{max(numbers[1], 1)}'?"
        )
    if numbers and numbers[-1] == 0:
        raise ValueError(
            f"{name}: the last number is the network's width and must be at least 1; "
            f"did you mean {_nearest(name)!r}?"
        )


def _nearest_depth(depth, step, offset):
    return max(1, round((depth - offset) / step)) * step + offset


def _nearest(name):
    return max((*NAMES, *BACKBONES), key=lambda known: _likeness(name.lower(), known))


def _likeness(name, known):
    """Return how alike two names are, 0..1; separators and letter case do not count."""
    plain = [re.sub(r"[^a-z0-9]", "", text.lower()) for text in (name, known)]
    return difflib.SequenceMatcher(None, *plain).ratio()
