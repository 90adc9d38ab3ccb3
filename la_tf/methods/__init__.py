"""The training methods: LatentAugment and what it contains as special cases.

A method is a few fixed values of the configuration; the same training step serves all.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Method:
    """A method: what it is, and the values of the configuration that it fixes."""

    name: str
    summary: str
    constants: Mapping[str, object]
    operations: bool = True


_METHODS = (
    Method("latent", "LatentAugment: views weighted by how hard they are", {}),
    Method(
        "equal",
        "all views weigh the same (AdvAA's loss without its network)",
        {"sigma": math.inf, "prior": "fixed"},
    ),
    Method(
        "ubs",
        "the hardest views alone (uncertainty-based sampling)",
        {"sigma": 0.0, "prior": "fixed"},
    ),
    Method(
        "baseline",
        "crop and flip alone, one view an image",
        {"num_views": 1, "final": "none", "prior": "fixed"},
        operations=False,
    ),
)

NAMES = tuple(method.name for method in _METHODS)


def get(name):
    """The Method of a name."""
    return _METHODS[NAMES.index(name)]
