"""Writing a run's network where servers and others find it, whole or not at all.

EXPORT_DIR/1/saved_model.pb, variables/    the network and its signatures
EXPORT_DIR/1/assets/class_names.txt        the classes, a line each
EXPORT_DIR/1/assets.extra/                 warm-up requests; how it was trained
EXPORT_DIR/1/classifier.keras              the network as a Keras model
EXPORT_DIR/1/classifier_int8.tflite ...    the same for other runtimes, as asked for
EXPORT_DIR/2/ ...                          the next export
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from la_tf import sha256sums
from la_tf.data import sources
from la_tf.errors import UserError
from la_tf.export import portable, serving, warmup
from la_tf.run import build, restore

# The run's config.json and the checkpoint's name, below the version's folder.
TRAINING_PATH = "assets.extra/training.json"
# Of all other files, as `sha256sum --check` reads it.
SUMS_PATH = "assets.extra/SHA256SUMS"
KERAS_NAME = "classifier.keras"
ONNX_NAME = "classifier.onnx"

# Of the training images, from which int8 takes its ranges.
_REPRESENTATIVE_IMAGES = 200


def export_run(
    folder,
    export_dir,
    stages,
    *,
    version=None,
    checkpoint="last",
    most_megapixels=50.0,
    tflite=(),
    onnx=False,
    data_dir=None,
):
    """Return the path of the new version's folder.

    Args:
        folder: the RunFolder.
        export_dir: the folder that holds a model's versions, made where it is missing.
        stages: is told what is being done, a `console.Stages`.
        version: a number from 1; None takes the one after the largest.
        checkpoint: "last", "best" or a path.
        most_megapixels: larger encoded images are refused before they are decoded.
        tflite: which of `TFLITE_KINDS` to add.
        onnx: whether to add an ONNX file.
        data_dir: where the run's images are, which int8 takes, if not where they were.

    Raises:
        UserError: the version is there already, the run has no network to export, or
            the folder cannot be written. Nothing is left behind then.
    """
    export_dir = pathlib.Path(export_dir)
    target = _target(export_dir, version)
    stages.begin("rebuilding the network")
    network = restore.load(folder, checkpoint)
    images = _representative(network, data_dir) if "int8" in tflite else None
    with _new_folder(target) as partial:
        stages.begin("tracing and writing it")
        server = _save(network, partial, most_megapixels)
        stages.begin("adding the warm-up requests")
        _add_extras(network, server, partial, export_dir.resolve().name)
        network.classifier.save(partial / KERAS_NAME)
        if tflite or onnx:
            # Half precision is for accelerators; other runtimes choose their own.
            whole = restore.load(folder, checkpoint, full_precision=True).classifier
        for kind in tflite:
            stages.begin(f"converting to TFLite {kind}")
            converted = portable.tflite(whole, kind, images)
            (partial / tflite_name(kind)).write_bytes(converted)
        if onnx:
            stages.begin("converting to ONNX")
            (partial / ONNX_NAME).write_bytes(portable.onnx(whole))
        sha256sums.write(partial, partial / SUMS_PATH)
    return target


def tflite_name(kind):
    """Return the name of a TFLite file in a version's folder."""
    return f"classifier_{kind}.tflite"


def versions(export_dir):
    """Return the numbers of the versions that a folder holds, in rising order."""
    if not export_dir.is_dir():
        return []
    # Serving takes a folder called 007 for version 7.
    return sorted(int(path.name) for path in export_dir.iterdir() if _is_version(path))


def _is_version(path):
    return path.is_dir() and path.name.isascii() and path.name.isdigit()


def _target(export_dir, version):
    """Return the folder of the version to write, which is not there yet."""
    taken = versions(export_dir)
    free = max(taken, default=0) + 1
    if version in taken:
        raise UserError(
            f"--version={version} is in {export_dir} already and is not overwritten; "
            f"leave --version out to write version {free}."
        )
    return export_dir / str(version or free)


@contextlib.contextmanager
def _new_folder(target):
    """Yield a folder to fill, which becomes `target` if nothing goes wrong.

    It stands beside it, under a name that Serving does not look at, so that renaming
    it is one step and a server meets all of it or nothing.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The temporary folder is closed to other users; the one within it is not.
        with tempfile.TemporaryDirectory(prefix=".export-", dir=target.parent) as outer:
            partial = pathlib.Path(outer) / target.name
            yield partial
            os.rename(partial, target)
    except (OSError, tf.errors.OpError) as error:
        raise UserError(_why(target, error)) from None


def _why(target, error):
    """Return the sentence for a version that could not be written."""
    if target.exists():
        return f"{target} was written by somebody else meanwhile; export again."
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return (
        f"--export_dir={target.parent} cannot be written ({reason}); make room, or "
        "choose another --export_dir."
    )


def _save(network, path, most_megapixels):
    """Return the `Server` of a network, after it was written to `path`."""
    with tempfile.TemporaryDirectory() as scratch:
        names_file = pathlib.Path(scratch) / "class_names.txt"
        lines = [" ".join(name.splitlines()) for name in network.class_names]
        names_file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        server = serving.Server(
            network.classifier,
            network.class_names,
            names_file,
            sources.preparation(
                network.image_shape,
                encoded=network.config.preprocessing == "inception",
            ),
            most_megapixels,
        )
        tf.saved_model.save(
            server,
            str(path),
            signatures=server.signatures(),
            # Nobody trains a served model.
            options=tf.saved_model.SaveOptions(experimental_custom_gradients=False),
        )
    return server


def _add_extras(network, server, path, model_name):
    (path / "assets.extra").mkdir()
    warmup.write(path / warmup.PATH, model_name, server.warmup_requests())
    name = pathlib.Path(network.checkpoint).name
    training = {**network.record, "checkpoint": name}
    (path / TRAINING_PATH).write_text(json.dumps(training, indent=2) + "\n", "utf-8")


def _representative(network, data_dir):
    """Return training images as evaluation sees them, uint8 [N, H, W, C]."""
    config = network.config
    if data_dir is not None:
        config = dataclasses.replace(config, data_dir=data_dir)
    train = build.load_source(config).train
    count = min(_REPRESENTATIVE_IMAGES, train.size)
    # Stored order may be sorted by class, so the images are taken from all along it.
    chosen = train.take(np.arange(count) * train.size // count)
    return np.stack([image.numpy() for image, _ in chosen.evaluation_examples()])
