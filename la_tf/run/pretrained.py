"""Where a network's first weights come from, if not from chance."""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile

import h5py
import numpy as np

import models
from la_tf import keras_generation
from la_tf.errors import UserError
from la_tf.run import build, restore
from la_tf.run import folder as run_folder

# What Keras and HDF5 raise for files that are cut short or something else.
_UNREADABLE = (OSError, LookupError, TypeError, ValueError, AttributeError)


def initialise(classifier, config, source):
    """Give a network what fits of other weights; return a line that tells what did.

    Args:
        classifier: a new network of the run.
        config: the TrainConfig, with `init_from`.
        source: the run's data set.

    Raises:
        UserError: `init_from` cannot be read, or nothing in it fits.
    """
    path = pathlib.Path(config.init_from)
    if config.init_from == "imagenet":
        left = _take_layers(classifier, _from_imagenet(config, source))
    elif path.is_dir():
        network = restore.load(run_folder.RunFolder(path))
        left = _take_layers(classifier, network.classifier)
    elif path.suffix == ".keras":
        left = _take_layers(classifier, _from_keras_file(path))
    else:
        left = _take_file(classifier, path)
    return _told(classifier, *left, config.init_from)


def _from_imagenet(config, source):
    try:
        return build.build_classifier(
            dataclasses.replace(config, remat=False),
            source.image_shape,
            source.num_classes,
            source.mean,
            source.std,
            weights="imagenet",
        )
    except UserError:
        raise
    except Exception as error:  # Keras raises a plain one where it cannot fetch.
        said = " ".join(str(error).split())[:120]
        raise UserError(
            f"--init_from=imagenet: Keras could not fetch the weights of "
            f"{config.model} ({said}); pass --init_from=FILE with a weights file of it "
            "that you have, or leave --init_from out."
        ) from None


def _from_keras_file(path):
    try:
        network = models.load(path)
    except _UNREADABLE as error:
        said = " ".join(str(error).split())[:120]
        raise UserError(
            f"--init_from={path} is no Keras model that can be loaded here ({said})."
        ) from None
    # A whole LatentAugment model, saved by somebody's own script.
    return getattr(network, "classifier", network)


def _take_layers(classifier, other):
    """Take weights by layers; return the names of those left, how many were not.

    Layers are paired by their place where both networks have as many, as Keras numbers
    layers without a name through a whole process, and by name where not.
    """
    own, others = _weighty(classifier), _weighty(other)
    if len(own) == len(others):
        pairs = zip(own, others)
    else:
        by_name = {layer.name: layer for layer in others}
        pairs = ((layer, by_name.get(layer.name)) for layer in own)
    matches = (
        (layer, [] if match is None else _values(match)) for layer, match in pairs
    )
    return _take_values(matches)


def _take_values(matches):
    """Take the values of each layer if they fit; return as `_take_layers` does."""
    left, taken = [], 0
    for layer, values in matches:
        variables = keras_generation.all_variables(layer)
        if [value.shape for value in values] == [own.shape for own in variables]:
            for variable, value in zip(variables, values):
                variable.assign(value)
            taken += 1
        else:
            left.append(layer.name)
    return left, taken


def _values(layer):
    return [each.numpy() for each in keras_generation.all_variables(layer)]


def _weighty(network):
    return [layer for layer in network.layers if layer.weights]


def _take_file(classifier, path):
    """Take from a file of weights alone; return what is left and how much is not."""
    try:
        with h5py.File(path, "r") as file:
            if "layer_names" in file.attrs:
                return _take_groups(classifier, file)
            return _take_datasets(classifier, file)
    except OSError as error:
        raise UserError(
            f"--init_from={path} is no run folder, .keras file or weights file "
            f"({error}); give one of these, or imagenet."
        ) from None


def _take_groups(classifier, file):
    """Take from the older form of file, a group for each layer's name."""
    return _take_values(
        (layer, _group_values(file, layer.name)) for layer in _weighty(classifier)
    )


def _group_values(file, name):
    if name not in file:
        return []
    group = file[name]
    return [np.asarray(group[each]) for each in group.attrs["weight_names"]]


def _take_datasets(classifier, file):
    """Take from a `.weights.h5`, whose paths are those of a network like ours."""
    left = []
    with tempfile.TemporaryDirectory() as scratch:
        own_path = pathlib.Path(scratch) / "own.weights.h5"
        classifier.save_weights(own_path)
        with h5py.File(own_path, "r+") as own:
            paths = _datasets(own)
            for path in paths:
                found = file.get(path)
                if found is not None and found.shape == own[path].shape:
                    own[path][...] = found[...]
                else:
                    left.append(path)
        classifier.load_weights(own_path)
    return left, len(paths) - len(left)


def _datasets(file):
    paths = []
    file.visititems(
        lambda path, item: (
            paths.append(path) if isinstance(item, h5py.Dataset) else None
        )
    )
    return paths


def _told(classifier, left, taken, origin):
    if not taken:
        raise UserError(
            f"--init_from={origin}: nothing in it fits {classifier.name}; choose the "
            "--model that it was trained with."
        )
    if not left:
        return f"weights from {origin}: all of them fit"
    shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if left[5:] else "")
    return f"weights from {origin}: all that fit; new: {shown}"
