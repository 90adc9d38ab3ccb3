"""What stands before and behind every network: pixels in, logits out."""

from __future__ import annotations

import numbers

from tensorflow import keras

# The smallest side that leaves the last stage of a network more than one pixel, or, for
# ResNet-50, the one pixel that its 32-fold reduction needs.
_SMALLEST_SIDE = {
    "wrn": 8,
    "shake_shake": 8,
    "pyramidnet": 8,
    "resnet": 32,
    "applications": 32,
}


def entrance(family, input_shape, mean=None, std=None):
    """Return the model's input and the normalised pixels behind it."""
    inputs = pixels(family, input_shape)
    shape = inputs.shape[1:]
    means = _per_channel("mean", 0.5 if mean is None else mean, shape[2])
    stds = _per_channel("std", 0.25 if std is None else std, shape[2])
    if min(stds) <= 0:
        raise ValueError(f"std must be above 0, not {std}.")
    normalise = keras.layers.Rescaling(
        scale=[1 / (255 * deviation) for deviation in stds],
        offset=[-centre / deviation for centre, deviation in zip(means, stds)],
        dtype="float32",
        name="normalise",
    )
    return inputs, normalise(inputs)


def pixels(family, input_shape):
    """Return a model's input: raw pixels of a size that the family's networks take."""
    shape = _checked_shape(family, input_shape)
    # Float32 whatever the policy: a Keras model casts what it is given to its input's
    # type, so uint8 pixels are welcome too, and half precision never sees 255.
    return keras.Input(shape, dtype="float32", name="pixels")


def classifier(inputs, features, num_classes, name):
    """Return the model that averages features over the image, to float32 logits."""
    pooled = keras.layers.GlobalAveragePooling2D(dtype="float32", name="pool")(features)
    logits = keras.layers.Dense(
        num_classes,
        # Uniform within 1/sqrt(inputs) and zero bias, as PyTorch's weights are; logits
        # start small, so the first steps are calm.
        kernel_initializer=keras.initializers.VarianceScaling(
            1 / 3, "fan_in", "uniform"
        ),
        dtype="float32",
        name="logits",
    )(pooled)
    return keras.Model(inputs, logits, name=name)


def check_classes(num_classes):
    """Raise a ValueError for a number of classes that cannot be told apart."""
    if not isinstance(num_classes, numbers.Integral) or num_classes < 2:
        raise ValueError(f"num_classes must be 2 or more, not {num_classes!r}.")


def _checked_shape(family, input_shape):
    shape = tuple(input_shape)
    if len(shape) != 3 or not all(isinstance(n, numbers.Integral) for n in shape):
        raise ValueError(
            f"input_shape must be (height, width, channels), not {input_shape!r}."
        )
    smallest = _SMALLEST_SIDE[family]
    if min(shape[:2]) < smallest:
        raise ValueError(
            f"Images of {shape[0]}x{shape[1]} are too small for this network; it needs "
            f"at least {smallest}x{smallest} pixels."
        )
    if shape[2] not in (1, 3):
        raise ValueError(
            f"Images must have 1 channel (grey) or 3 (colour), not {shape[2]}."
        )
    return tuple(int(n) for n in shape)


def _per_channel(argument, values, channels):
    """Return one float for each channel, from one for each or one for all."""
    values = [values] if isinstance(values, numbers.Number) else list(values)
    if len(values) not in (1, channels):
        raise ValueError(
            f"{argument} has {len(values)} numbers for {channels} channels; give one "
            "for each channel or one for all."
        )
    if not all(0 <= value <= 1 for value in values):
        raise ValueError(f"{argument} must lie in 0..1 (pixels / 255), not {values}.")
    return [float(value) for value in values] * (channels // len(values))
