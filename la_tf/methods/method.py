"""What a training method is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

# How views can be weighted, and what that means for the configuration.
WEIGHTS = {
    # Eq. 3 of LatentAugment's paper.
    "latent": {},
    # 1/K each, the limit of a large sigma.
    "equal": {"sigma": math.inf, "prior": "fixed"},
    # Uncertainty-based sampling: all on the hardest view, the limit of a small sigma,
    # or on `ubs_select` of them.
    "hardest": {"sigma": 0.0, "prior": "fixed"},
}


def weighted(weights):
    """Return the constants of a method that weighs its views in one way only."""
    return {"weights": weights, **WEIGHTS[weights]}


def as_published(recipe):
    """Return the defaults of a method whose paper has one view and then Cutout.

    On photographs those papers have none.
    """
    photographs = recipe.preprocessing == "inception"
    return {
        "num_views": 1,
        "weights": "equal",
        "final": "none" if photographs else "cutout",
    }


def distinct_pairs(config):
    """Return LatentAugment's drawing rule."""
    # Here, so that the names of the methods are known without TensorFlow.
    from la_tf import rules

    return rules.DistinctPairs(config.transforms)


@dataclasses.dataclass(frozen=True)
class Method:
    """A method: how policies are drawn, how views are weighted, what is updated.

    The same training step serves all methods: what differs is the drawing rule and
    values of the configuration. `num_views` says how many views an image gets,
    `weights` and `sigma` how they are weighted, and `prior` whether the policies'
    probabilities are learned.

    Attributes:
        name: by which it is chosen.
        summary: in a few words.
        constants: values that the method fixes.
        defaults: from the recipe to values that the method prefers to the recipe's;
            they are the user's to change.
        drawing: from the configuration to the `la_tf.rules.Rule`; None if views are
            not changed by operations at all.
        has_policies: whether the rule draws from numbered policies, which a prior can
            be over.
        sets_aside: whether it learns from training images that are set aside.
    """

    name: str
    summary: str
    constants: Mapping[str, object] = dataclasses.field(default_factory=dict)
    defaults: Callable[[object], Mapping[str, object]] = lambda recipe: {}
    drawing: Callable[[object], object] | None = distinct_pairs
    has_policies: bool = True
    sets_aside: bool = False
