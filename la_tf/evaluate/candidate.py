"""What can be evaluated: a run's checkpoint, or an exported SavedModel."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Mapping
from typing import Callable

import tensorflow as tf

from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.export import writer
from la_tf.run import restore


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """What is evaluated.

    Attributes:
        logits: a function from uint8 images [batch, H, W, C] to logits.
        config: the TrainConfig of the run it came from.
        class_names: the classes' names.
        image_shape: height, width and channels of its images.
        origin: where it was loaded from, for evaluation.json.
    """

    logits: Callable
    config: TrainConfig
    class_names: tuple[str, ...]
    image_shape: tuple[int, int, int]
    origin: Mapping[str, str]


def from_run(folder, checkpoint="last"):
    """Return the `Candidate` of a run's checkpoint: "last", "best" or a path."""
    network = restore.load(folder, checkpoint)
    images = tf.TensorSpec([None, *network.image_shape], tf.uint8)

    @tf.function(input_signature=[images])
    def logits(images):
        return network.classifier(images, training=False)

    origin = {"run_dir": str(folder.path), "checkpoint": network.checkpoint}
    return Candidate(
        logits, network.config, network.class_names, network.image_shape, origin
    )


def from_saved_model(path):
    """Return the `Candidate` of an export: a version, or the newest in a folder.

    Raises:
        UserError: there is no SavedModel, it is damaged, or something else wrote it.
    """
    folder = pathlib.Path(path)
    versions = writer.versions(folder)
    if versions and not (folder / "saved_model.pb").exists():
        folder = folder / str(versions[-1])
    try:
        training = json.loads((folder / writer.TRAINING_PATH).read_text("utf-8"))
        model = tf.saved_model.load(str(folder))
        return Candidate(
            # Not `model.logits` alone: the variables live as long as the model does.
            lambda images: model.logits(images),
            TrainConfig.from_values(training["config"]),
            tuple(training["data"]["class_names"]),
            tuple(training["data"]["image_shape"]),
            {"saved_model": str(folder), "checkpoint": training["checkpoint"]},
        )
    except (OSError, LookupError, TypeError, ValueError, tf.errors.OpError):
        raise UserError(
            f"--saved_model={path} is not a whole SavedModel that la_tf.export wrote; "
            "give the folder of a version, such as exported/1."
        ) from None
