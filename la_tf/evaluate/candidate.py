"""What can be evaluated: a run's checkpoint, or what was exported of one."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Callable

import tensorflow as tf

import models
from la_tf import sha256sums
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.export import writer
from la_tf.run import restore

# What the runtimes raise for files that are missing, cut short or of something else.
_UNREADABLE = (
    *(OSError, LookupError, RuntimeError, TypeError, ValueError),
    tf.errors.OpError,
)


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


def from_export(path):
    """Return the `Candidate` of what la_tf.export wrote.

    Args:
        path: a version, a folder of versions whose newest is taken, or one of the
            files in a version: `.keras`, `.tflite` or `.onnx`.

    Raises:
        UserError: there is no such thing, it is damaged, or something else wrote it.
    """
    path = pathlib.Path(path)
    versions = writer.versions(path)
    if versions and not (path / "saved_model.pb").exists():
        path = path / str(versions[-1])
    load = _LOADERS.get(path.suffix, _saved_model)
    folder = path if load is _saved_model else path.parent
    sums = folder / writer.SUMS_PATH
    if sums.is_file():
        sha256sums.check(folder, sums)
    try:
        training = json.loads((folder / writer.TRAINING_PATH).read_text("utf-8"))
        return Candidate(
            load(path),
            TrainConfig.from_values(training["config"]),
            tuple(training["data"]["class_names"]),
            tuple(training["data"]["image_shape"]),
            {"saved_model": str(path), "checkpoint": training["checkpoint"]},
        )
    except ImportError as error:
        raise UserError(
            f"--saved_model={path} needs the package {error.name}; install it by "
            "pip install '.[onnx]'."
        ) from None
    except _UNREADABLE:
        raise UserError(
            f"--saved_model={path} is not a whole SavedModel, nor a file beside one, "
            "that la_tf.export wrote; give the folder of a version, such as exported/1."
        ) from None


def _saved_model(path):
    model = tf.saved_model.load(str(path))
    # Not `model.logits` alone: the variables live as long as the model does.
    return lambda images: model.logits(images)


def _keras(path):
    return functools.partial(models.load(path), training=False)


def _tflite(path):
    if not (path.parent / writer.SUMS_PATH).is_file():
        # The interpreter crashes on a file that was cut: it must have been checked.
        raise ValueError(f"{path} has no sums")
    interpreter = tf.lite.Interpreter(str(path), num_threads=os.cpu_count())
    run = interpreter.get_signature_runner()
    return lambda images: run(images=images)["logits"]


def _onnx(path):
    import onnxruntime

    session = onnxruntime.InferenceSession(
        str(path), providers=["CPUExecutionProvider"]
    )
    return lambda images: session.run(["logits"], {"images": images.numpy()})[0]


_LOADERS = {".keras": _keras, ".tflite": _tflite, ".onnx": _onnx}
