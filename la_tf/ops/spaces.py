"""Magnitude spaces: which operations a method has, and what their levels stand for.

A space gives each operation's true argument for a level and a random sign: a slope, a
share of the side, degrees, a factor, bits kept, a threshold. Arguments are exact
fractions, so that no rounding here can move a pixel.
"""

from __future__ import annotations

import dataclasses
import fractions
import math
from collections.abc import Callable, Mapping

Fraction = fractions.Fraction
# From a level and a sign, 1 or -1, to the operation's argument.
Argument = Callable[[int, int], Fraction]

SIGNS = (1, -1)


@dataclasses.dataclass(frozen=True)
class Space:
    """The operations of a method and their magnitudes.

    Attributes:
        name: by which `get` finds it.
        operations: names; the place in the list is the index.
        num_levels: levels are 0 to `num_levels` - 1.
        arguments: for each operation that has levels, what they stand for.
    """

    name: str
    operations: tuple[str, ...]
    num_levels: int
    arguments: Mapping[str, Argument]

    def table(self, operation):
        """Return an operation's arguments: for each sign a list with all levels."""
        argument = self.arguments[operation]
        levels = range(self.num_levels)
        return [[argument(level, sign) for level in levels] for sign in SIGNS]

    def is_signed(self, operation):
        """Tell whether an operation goes either way at random."""
        forth, back = self.table(operation)
        return forth != back

    def index(self, operation):
        """Return an operation's index."""
        return self.operations.index(operation)


def _ramp(low, high, steps):
    """Return a ramp from `low` at level 0 to `high` after so many steps; no sign."""
    return lambda level, sign: low + (high - low) * Fraction(level, steps)


def _either_way(high, steps, around=0):
    """Return a ramp from `around` up or down, by `high` after so many steps."""
    return lambda level, sign: around + sign * high * Fraction(level, steps)


def _cut(argument, unit=1):
    """Return the argument in whole units, cut off towards zero."""
    return lambda level, sign: math.trunc(argument(level, sign) / unit) * unit


def _at_least(low, argument):
    return lambda level, sign: max(Fraction(low), argument(level, sign))


def _down_by(start, argument):
    """Return `start` less the argument."""
    return lambda level, sign: start - argument(level, sign)


def _arguments(shear, shift, degrees, factor, bits, threshold):
    return {
        **dict.fromkeys(("ShearX", "ShearY"), shear),
        **dict.fromkeys(("TranslateX", "TranslateY"), shift),
        "Rotate": degrees,
        **dict.fromkeys(("Color", "Contrast", "Sharpness", "Brightness"), factor),
        "Posterize": bits,
        "Solarize": threshold,
    }


_SHEAR = Fraction(3, 10)
_DARK, _BRIGHT = Fraction(1, 10), Fraction(19, 10)
_PIXEL = Fraction(1, 32)  # of the side: distances are given for images of 32 pixels


def _in_ninths(degrees):
    """Return LatentAugment's arguments: the last of ten levels is all the range."""
    arguments = _arguments(
        shear=_either_way(_SHEAR, 9),
        shift=_either_way(Fraction(150, 331), 9),
        degrees=degrees,
        factor=_ramp(_DARK, _BRIGHT, 9),
        bits=lambda level, sign: Fraction(8 - level // 2),
        threshold=_ramp(Fraction(256), Fraction(0), 9),
    )
    return {**arguments, "Cutout": _ramp(Fraction(0), 20 * _PIXEL, 9)}


def _in_steps(steps):
    """Return the arguments of AutoAugment and its heirs, whole numbers cut off."""
    return _arguments(
        shear=_either_way(_SHEAR, steps),
        shift=_cut(_either_way(10 * _PIXEL, steps), _PIXEL),
        degrees=_cut(_either_way(30, steps)),
        factor=_ramp(_DARK, _BRIGHT, steps),
        # Beyond the range, as `randaugment_of_10` goes, one bit is the fewest.
        bits=_at_least(1, _down_by(8, _cut(_ramp(0, 4, steps)))),
        threshold=_at_least(0, _down_by(256, _cut(_ramp(0, 256, steps)))),
    )


_WIDE = _arguments(
    shear=_either_way(Fraction(99, 100), 30),
    shift=_cut(_either_way(32 * _PIXEL, 30), _PIXEL),
    degrees=_cut(_either_way(135, 30)),
    factor=_ramp(Fraction(1, 100), Fraction(2), 30),
    bits=_down_by(8, _cut(_ramp(0, 6, 30))),
    threshold=_down_by(256, _cut(_ramp(0, 256, 30))),
)
# A magnitude from 0 to 10, drawn in steps of a tenth.
_FINE = _arguments(
    shear=_either_way(_SHEAR, 100),
    shift=_either_way(10 * _PIXEL, 100),
    degrees=_either_way(30, 100),
    factor=_either_way(Fraction(9, 10), 100, around=1),
    bits=_down_by(8, _cut(_ramp(0, 4, 100))),
    threshold=_ramp(Fraction(256), Fraction(0), 100),
)

_FOURTEEN = (
    "ShearX",
    "ShearY",
    "TranslateX",
    "TranslateY",
    "Rotate",
    "Color",
    "Posterize",
    "Solarize",
    "Contrast",
    "Sharpness",
    "Brightness",
    "AutoContrast",
    "Equalize",
    "Invert",
)
# Those of RandAugment, TrivialAugment and MetaAugment.
_WITH_IDENTITY = (*_FOURTEEN[:-1], "Identity")
_TURNED = _ramp(Fraction(-30), Fraction(30), 9)

LATENTAUGMENT = Space(
    "latentaugment", (*_FOURTEEN, "Cutout", "MixUp"), 10, _in_ninths(_TURNED)
)
# LatentAugment with AutoAugment's own operations.
SAMPLE_PAIRING = dataclasses.replace(
    LATENTAUGMENT,
    name="sample_pairing",
    operations=(*_FOURTEEN, "Cutout", "SamplePairing"),
)
# A probability of applying an operation is Identity in its place.
AUTOAUGMENT = Space("autoaugment", (*_FOURTEEN, "Identity"), 10, _in_steps(10))
# TrivialAugment's standard space too.
RANDAUGMENT = Space("randaugment", _WITH_IDENTITY, 31, _in_steps(30))
# Magnitudes divided by 10 without a bound, as Google's released code does.
RANDAUGMENT_OF_10 = Space("randaugment_of_10", _WITH_IDENTITY, 31, _in_steps(10))
WIDE = Space("wide", _WITH_IDENTITY, 31, _WIDE)
ADVERSARIAL = Space(
    "adversarial", SAMPLE_PAIRING.operations, 10, _in_ninths(_either_way(30, 9))
)
METAAUGMENT = Space("metaaugment", _WITH_IDENTITY, 101, _FINE)

SPACES = {
    space.name: space
    for space in (
        LATENTAUGMENT,
        SAMPLE_PAIRING,
        AUTOAUGMENT,
        RANDAUGMENT,
        RANDAUGMENT_OF_10,
        WIDE,
        ADVERSARIAL,
        METAAUGMENT,
    )
}


def get(name):
    """Return the space of a name."""
    if name not in SPACES:
        raise ValueError(f"no space {name!r}; there are {', '.join(SPACES)}")
    return SPACES[name]
