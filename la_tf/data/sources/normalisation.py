"""The mean and spread of images."""

from __future__ import annotations

import numpy as np

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def mean_and_std(images):
    """Return each channel's exact `(mean, std)` in 0..1, from uint8 [N, H, W, C]."""
    values = np.arange(256) / 255
    means, deviations = [], []
    for channel in range(images.shape[-1]):
        # A histogram needs no copy of the images in floating point.
        counts = np.bincount(images[..., channel].ravel(), minlength=256)
        mean = np.average(values, weights=counts)
        variance = np.average((values - mean) ** 2, weights=counts)
        means.append(round(float(mean), 4))
        # Images of one colour must not lead to a division by zero.
        deviations.append(round(max(float(variance) ** 0.5, 1 / 255), 4))
    return tuple(means), tuple(deviations)
