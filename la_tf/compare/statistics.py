"""What a few runs say: their mean and spread, and differences paired by the seed."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import stats

# Each half of the differences has 2^20 sums of flips at this number.
_MOST_FLIPPED = 40
# Of the sum of all sizes: what rounding may do to two flips with the same sum.
_TIE = 1e-9


@dataclasses.dataclass(frozen=True)
class Difference:
    """A mean difference of pairs.

    Attributes:
        mean: of the differences.
        low, high: the ends of its 95 % interval by Student's t; NaN for one pair.
        p_value: of the exact sign-flip test, two-sided.
        count: pairs.
    """

    mean: float
    low: float
    high: float
    p_value: float
    count: int


def mean_and_deviation(values):
    """Return the mean and the standard deviation of a sample; NaN for one value."""
    values = np.asarray(values, np.float64)
    deviation = values.std(ddof=1) if len(values) > 1 else np.nan
    return float(values.mean()), float(deviation)


def paired(values, reference):
    """Return the Difference `values - reference`.

    Args:
        values, reference: numbers by seed; seeds that only one of them has are left
            out.

    Returns:
        The Difference, or None where they share no seed.
    """
    seeds = sorted(values.keys() & reference.keys())
    if not seeds:
        return None
    differences = np.array([values[seed] - reference[seed] for seed in seeds])
    mean, deviation = mean_and_deviation(differences)
    count = len(differences)
    half = np.nan
    if count > 1:
        half = stats.t.ppf(0.975, count - 1) * deviation / np.sqrt(count)
    return Difference(
        mean, float(mean - half), float(mean + half), sign_flip(differences), count
    )


def sign_flip(differences):
    """Return the exact p-value of the hypothesis that each sign is a coin's.

    It is the share of all 2^n ways to give the n differences signs whose sum is at
    least as far from zero as the one found. All are counted, without making a list of
    them: sums of one half of the differences are sorted, and each sum of the other half
    is looked up among them. NaN for more than 40 differences.
    """
    sizes, found = np.abs(differences), np.sum(differences)
    if len(sizes) > _MOST_FLIPPED:
        return np.nan
    # Ties of equal sums count as at least as far, whatever the last bit says.
    far = abs(found) - _TIE * sizes.sum()
    if far <= 0:
        return 1.0
    half = len(sizes) // 2
    sums, others = np.sort(_flipped(sizes[:half])), _flipped(sizes[half:])
    # The flips are symmetric about zero: one tail is half of them.
    above = len(sums) - np.searchsorted(sums, far - others, side="left")
    return float(2 * above.sum() / (len(sums) * len(others)))


def _flipped(sizes):
    """Return the sums of all ways to give these numbers signs, float [2^n]."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums
