"""What the levels of the operations mean, in words."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Callable

from la_tf.ops import spaces


@dataclasses.dataclass(frozen=True)
class _Scale:
    """How an operation's argument is told.

    Attributes:
        text: a function from the argument without its sign, the sign to show and the
            image's shorter side to a few characters.
        words: from the first and the last argument to what all levels mean.
    """

    text: Callable[[Fraction, str, int], str]
    words: Callable[[Fraction, Fraction], str]


def _percent(share):
    return f"{float(share):.0%}"


def _shift(length):
    return _Scale(
        lambda share, sign, side: f"{sign}{_percent(share)}".replace("%", " %"),
        lambda first, last: f"{float(first):g} to {_percent(last)} of the {length}",
    )


def _degrees(value):
    return f"{float(value):g}°".replace("-", "−")


def _factor(value):
    return f"{float(value):.2f}".removesuffix("0")


_SHEAR = _Scale(
    lambda slope, sign, side: f"{sign}{float(slope):.2f}",
    lambda first, last: f"slope {float(first):g} to {float(last):g}",
)
_FACTOR = _Scale(
    lambda factor, sign, side: f"× {_factor(factor)}",
    lambda first, last: f"factor {_factor(first)} to {_factor(last)}",
)
_SCALES = {
    "ShearX": _SHEAR,
    "ShearY": _SHEAR,
    "TranslateX": _shift("width"),
    "TranslateY": _shift("height"),
    "Rotate": _Scale(
        lambda degrees, sign, side: f"{sign}{float(degrees):.0f}°",
        lambda first, last: f"{_degrees(first)} to {_degrees(last)}",
    ),
    "Posterize": _Scale(
        lambda bits, sign, side: f"{bits} bits",
        lambda first, last: f"{first} to {last} bits kept",
    ),
    "Solarize": _Scale(
        lambda threshold, sign, side: f"from {math.ceil(threshold)}",
        lambda first, last: f"inverted from {_end(first)} to {_end(last)}",
    ),
    "Cutout": _Scale(
        lambda share, sign, side: f"{math.floor(share * side + Fraction(1, 2))} px",
        lambda first, last: (
            f"square of {float(first):g} to {float(last):.1%} of the side"
        ),
    ),
    **dict.fromkeys(("Color", "Contrast", "Sharpness", "Brightness"), _FACTOR),
}


def _end(threshold):
    return {256: "256 (none)", 0: "0 (all)"}.get(threshold, f"{math.ceil(threshold)}")


def value(name, level, image_shape, space=spaces.LATENTAUGMENT):
    """Return what a level means for an operation, in a few characters.

    Args:
        name: of an operation that has levels.
        level: one of the space's.
        image_shape: (H, W, ...), for what is measured in pixels.
        space: that the levels are of.
    """
    forth, back = (row[level] for row in space.table(name))
    if space.is_signed(name):
        around = (forth + back) / 2
        if around:  # such as a factor of 0.5 or 1.5
            return f"× {_factor(around)} ± {_factor(forth - around)}"
        sign = "±"
    else:
        sign = "−" if forth < 0 else "+"
    return _SCALES[name].text(abs(forth), sign, min(image_shape[:2]))


def span(name, mixup_alpha, space=spaces.LATENTAUGMENT):
    """Return what all levels of an operation mean, in a few words."""
    if name in _SCALES:
        forth, _ = space.table(name)
        words = _SCALES[name].words(forth[0], forth[-1])
        return f"{words}, either way" if space.is_signed(name) else words
    if name == "MixUp":
        return f"no level; share from Beta(α, α), α = {mixup_alpha:g}"
    return "no level; half of each image" if name == "SamplePairing" else "no level"
