"""What a data set is to the rest of the program."""

from __future__ import annotations

import abc
import dataclasses
from typing import Union

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Arrays:
    """A split that is kept in memory: small images of one size.

    Attributes:
        images: uint8 [N, H, W, C].
        labels: int32 [N].
    """

    images: np.ndarray
    labels: np.ndarray

    @property
    def size(self):
        return len(self.labels)

    def __len__(self):
        return self.size

    def take(self, indices):
        """The split that holds only these images, in this order."""
        return Arrays(self.images[indices], self.labels[indices])


class Stream(abc.ABC):
    """A split that is read from disk as training goes: encoded photographs."""

    @property
    @abc.abstractmethod
    def size(self):
        """The number of images."""

    def __len__(self):
        return self.size

    @property
    @abc.abstractmethod
    def labels(self):
        """The labels in stored order, int32 [N]; finding them may read every record."""

    @abc.abstractmethod
    def take(self, indices):
        """The split that holds only these images; their stored order is kept."""

    @abc.abstractmethod
    def records(self, seed=None, epoch=None, first=0):
        """A tf.data.Dataset of single examples `(encoded bytes, int32 label)`.

        The order is a function of `seed` and `epoch` alone, whatever the number of
        threads, so that a run that starts in the middle meets the same images.

        Args:
            seed: an integer; None keeps the stored order.
            epoch: an integer or a scalar int64 tensor; needed with a seed.
            first: how many records of that order to leave out at its beginning.
        """


Split = Union[Arrays, Stream]


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """A data set: two splits, and what a network must know about its images.

    Attributes:
        name: the name it was asked for by.
        train: the training split.
        test: the test split, or the images held out in its place.
        class_names: the classes' names; a label is an index into them.
        image_shape: (height, width, channels) of the images a network will see.
        mean: each channel's mean over the images, in units of 0..1.
        std: each channel's standard deviation, in units of 0..1.
        skipped: how many unreadable images were left out.
        location: where the images were read from.
    """

    name: str
    train: Split
    test: Split | None
    class_names: tuple[str, ...]
    image_shape: tuple[int, int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    skipped: int = 0
    location: str = ""

    @property
    def num_classes(self):
        return len(self.class_names)
