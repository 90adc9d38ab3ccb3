"""What a data set is to the rest of the program."""

from __future__ import annotations

import abc
import dataclasses

import numpy as np


class Split(abc.ABC):
    """A part of a data set, kept in memory or read from disk as training goes.

    A split knows how its images become training examples and test images, so that
    nothing else has to ask which kind of split it has.

    Attributes:
        labels: in stored order, int32 [N]; finding them may read every record.
    """

    labels: np.ndarray

    @property
    @abc.abstractmethod
    def size(self):
        """The number of images."""

    def __len__(self):
        return self.size

    @abc.abstractmethod
    def take(self, indices):
        """Return the split that holds only these images."""

    @abc.abstractmethod
    def training_batches(self, maker, plan, first_step=0):
        """Return a dataset of `(examples, labels, seeds)` for `view_function`.

        Args:
            maker: the ViewMaker.
            plan: the Plan of the run.
            first_step: the global step to start with.
        """

    @abc.abstractmethod
    def view_function(self, maker):
        """Return the function from a batch of `training_batches` to a training batch.

        Args:
            maker: the ViewMaker.
        """

    @abc.abstractmethod
    def evaluation_examples(self):
        """Return a dataset of `(uint8 image, int32 label)`, in stored order."""


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
        aside: training images that are set aside for a method that learns from them;
            None for the others.
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
    aside: Split | None = None

    @property
    def num_classes(self):
        """The number of classes."""
        return len(self.class_names)
