"""A run's network with the weights it was trained to."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib

from tensorflow import keras

from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run import build, checkpoints, provenance, store


@dataclasses.dataclass(frozen=True, eq=False)
class RestoredNetwork:
    """A trained network and what must be known to use it.

    Attributes:
        classifier: the Keras model, from raw pixels to logits.
        config: the TrainConfig of its run.
        record: what the run's config.json holds.
        checkpoint: the path of the checkpoint that its weights came from.
    """

    classifier: keras.Model
    config: TrainConfig
    record: dict
    checkpoint: str

    @property
    def class_names(self):
        """The classes' names; a label is an index into them."""
        return tuple(self.record["data"]["class_names"])

    @property
    def image_shape(self):
        """Height, width and channels of the images the network takes."""
        return tuple(self.record["data"]["image_shape"])


def load(folder, checkpoint="last", full_precision=False):
    """Return the `RestoredNetwork` of a run.

    Args:
        folder: the RunFolder.
        checkpoint: "last", "best", or the path of a checkpoint of that network.
        full_precision: compute in float32 even if the run did not.

    Raises:
        UserError: the folder holds no run, or the checkpoint cannot be used.
    """
    config, record = folder.config(), folder.record()
    provenance.check_keras(folder)
    path = _find(folder, checkpoint)
    with _precision(config.mixed_precision and not full_precision):
        classifier = _build(config, folder.data())
    checkpoints.restore_classifier(classifier, path, averaged=config.ema is not None)
    return RestoredNetwork(classifier, config, record, path)


def _build(config, data):
    shape, classes = tuple(data["image_shape"]), len(data["class_names"])
    return build.build_classifier(config, shape, classes, data["mean"], data["std"])


def _find(folder, checkpoint):
    """Return the path of a checkpoint, as TensorFlow wants it: without a suffix."""
    if checkpoint in ("last", "best"):
        return checkpoints.latest(folder, best=checkpoint == "best")
    path = pathlib.Path(checkpoint)
    if path.is_dir():
        path = max(store.found(path), default=(0, path))[1]
    elif path.suffix == ".index":
        path = path.with_suffix("")
    if not pathlib.Path(f"{path}.index").is_file():
        raise UserError(
            f"--checkpoint={checkpoint} is no checkpoint (there is no {path}.index); "
            "give last, best or a path such as RUN/checkpoints/step-100."
        )
    return str(path)


@contextlib.contextmanager
def _precision(mixed):
    """Set the run's policy while its network is built: it computes as it did."""
    before = keras.mixed_precision.global_policy()
    name = "mixed_float16" if mixed else "float32"
    keras.mixed_precision.set_global_policy(name)
    try:
        yield
    finally:
        keras.mixed_precision.set_global_policy(before)
