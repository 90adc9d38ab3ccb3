"""Networks by name; `build` makes one, `load` reads a saved one.

A network takes raw pixels, 0..255, and gives float32 logits. TensorFlow is imported by
the first `build`, so that a name can be checked without it.
"""

from __future__ import annotations

import importlib

from models import names
from models.names import BACKBONES, NAMES, check_name

__all__ = ["BACKBONES", "NAMES", "build", "check_name", "load"]


def build(
    name,
    input_shape,
    num_classes,
    *,
    mean=None,
    std=None,
    remat=False,
    zero_init_last=False,
    weights=None,
):
    """Return a `keras.Model` from raw pixels to logits, freshly initialised.

    `keras.utils.set_random_seed` before the call makes the initial weights repeat.

    Args:
        name: one of `NAMES`, or another member of their families such as `wrn_16_4`, or
            one of `BACKBONES`.
        input_shape: height, width and channels (1 or 3) of an image.
        num_classes: how many logits to give.
        mean: mean of each channel (or of all), in 0..1 units; 0.5 when not given. The
            `BACKBONES` have a preprocessing of their own instead.
        std: standard deviation of each channel (or of all) likewise; 0.25 when not
            given.
        remat: recompute each block's activations in the backward pass instead of
            keeping them: the same gradients for less memory and about a third more
            arithmetic.
        zero_init_last: start the last BatchNorm scale of every ResNet block at zero;
            for `resnet_50` only.
        weights: "imagenet" fetches those of one of `BACKBONES`, but for the last layer.
    """
    family, numbers = names.parse(name)
    if zero_init_last and family != "resnet":
        raise ValueError(f"zero_init_last is for resnet_50, not for {name}.")
    if remat and family == "applications":
        raise ValueError(f"there is no remat for {name}, a network of Keras.")
    if weights is not None and family != "applications":
        raise ValueError(
            f"there are no {weights} weights for {name}; choose one of "
            f"{', '.join(BACKBONES)}."
        )
    ends = importlib.import_module("models.pixels_to_logits")
    ends.check_classes(num_classes)
    network = importlib.import_module(f"models.{family}")
    if family == "applications":
        inputs = ends.pixels(family, input_shape)
        features = network.features(inputs, *numbers, weights=weights)
    else:
        options = {"zero_init_last": True} if zero_init_last else {}
        inputs, pixels = ends.entrance(family, input_shape, mean, std)
        features = network.features(pixels, *numbers, remat=remat, **options)
    return ends.classifier(inputs, features, num_classes, name)


def load(path):
    """Return the `keras.Model` in a `.keras` file of one of these networks.

    `keras.models.load_model` does the same once the network's module, such as
    `models.wrn`, is imported: that is when Keras learns of its layers. But here a file
    that might run as a program is not loaded.

    Raises:
        ValueError: it is no such file.
    """
    from tensorflow import keras

    from models import saved_file

    saved_file.check(path)
    for family in names.FAMILIES:
        importlib.import_module(f"models.{family}")
    return keras.models.load_model(path, compile=False)
