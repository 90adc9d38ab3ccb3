"""What a training method is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Method:
    """A method: the values of the configuration that it fixes.

    The same training step serves all methods. `num_views` and `operations` say which
    views it gets, `sigma` how they are weighted, and `prior` whether the policies'
    probabilities are learned; what a method leaves out is the user's choice.
    """

    name: str
    summary: str
    constants: Mapping[str, object] = dataclasses.field(default_factory=dict)
    # Whether views are changed by policies at all.
    operations: bool = True
    # Whether policies are drawn by what only the step knows, as with a learned policy:
    # views are then made in the step, whatever it costs.
    draws_in_step: bool = False
