"""Telling a run whose loss has run away from one that is merely bad."""

from __future__ import annotations

import math

# Times the loss of a network that knows nothing. Whoever is wrong with confidence may
# come to a few times it.
_FACTOR = 20


def warning(row, num_classes):
    """Return a sentence where a run has diverged, else None.

    Args:
        row: of the last epoch, as in metrics.csv.
        num_classes: of the data set.
    """
    guessing = math.log(max(num_classes, 2))
    for name, column in (("training", "loss"), ("test", "test_loss")):
        # A NaN is not below anything.
        if not row[column] < _FACTOR * guessing:
            return (
                f"The run has diverged: its last {name} loss is {row[column]:.3g}, and "
                f"guessing alone gives {guessing:.3g}. Lower --learning_rate, or set "
                "--clip_norm."
            )
    return None
