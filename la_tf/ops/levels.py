"""What the levels of the operations mean, in words."""

from __future__ import annotations

import dataclasses
import math
from typing import Callable

from la_tf.ops import blend, geometry, mixing, operation, tone

LAST = operation.NUM_LEVELS - 1


@dataclasses.dataclass(frozen=True)
class _Scale:
    """What an operation's levels stand for.

    Attributes:
        text: a function from a level and the image's shorter side to a few characters.
        words: what all levels mean, in a few words.
    """

    text: Callable[[int, int], str]
    words: str


def _shift(level):
    return level * geometry.SHIFT_NUMERATOR / geometry.SHIFT_DENOMINATOR


def _square(level):
    return level * mixing.CUTOUT_NUMERATOR / mixing.CUTOUT_DENOMINATOR


def _degrees(level, side):
    degrees = geometry.MAX_DEGREES * (2 * level / LAST - 1)
    return f"{degrees:+.0f}°".replace("-", "−")


_SHEAR = _Scale(
    lambda level, side: f"±{geometry.MAX_SHEAR * level / LAST:.2f}",
    f"slope 0 to {geometry.MAX_SHEAR:g}, either way",
)
_FACTOR = _Scale(
    lambda level, side: f"× {blend.FACTORS[level]:.1f}",
    f"factor {blend.FACTORS[0]:.1f} to {blend.FACTORS[-1]:.1f}",
)
_SCALES = {
    "ShearX": _SHEAR,
    "ShearY": _SHEAR,
    **{
        f"Translate{axis}": _Scale(
            lambda level, side: f"±{_shift(level):.0%}".replace("%", " %"),
            f"0 to {_shift(LAST):.0%} of the {length}, either way",
        )
        for axis, length in (("X", "width"), ("Y", "height"))
    },
    "Rotate": _Scale(
        _degrees, f"−{geometry.MAX_DEGREES:g}° to {geometry.MAX_DEGREES:g}°"
    ),
    "Posterize": _Scale(
        lambda level, side: f"{tone.POSTERIZE_BITS[level]} bits",
        f"{tone.POSTERIZE_BITS[0]} to {tone.POSTERIZE_BITS[-1]} bits kept",
    ),
    "Solarize": _Scale(
        lambda level, side: f"from {math.ceil(256 * (1 - level / LAST))}",
        "inverted from 256 (none) to 0 (all)",
    ),
    "Cutout": _Scale(
        lambda level, side: f"{math.floor(_square(level) * side + 0.5)} px",
        f"square of 0 to {_square(LAST):.1%} of the side",
    ),
    **dict.fromkeys(("Color", "Contrast", "Sharpness", "Brightness"), _FACTOR),
}


def value(name, level, image_shape):
    """Return what a level means for an operation, in a few characters.

    Args:
        name: of an operation that has levels.
        level: 0..9.
        image_shape: (H, W, ...), for what is measured in pixels.
    """
    return _SCALES[name].text(level, min(image_shape[:2]))


def span(name, mixup_alpha):
    """Return what all levels of an operation mean, in a few words."""
    if name in _SCALES:
        return _SCALES[name].words
    if name == "MixUp":
        return f"no level; share from Beta(α, α), α = {mixup_alpha:g}"
    return "no level; half of each image" if name == "SamplePairing" else "no level"
