"""Networks of `keras.applications`, with their own preprocessing inside."""

from __future__ import annotations

from tensorflow import keras

# These expect pixels in -1..1; the others have such a layer of their own.
_TAKE_UNIT_PIXELS = ("MobileNetV2", "ResNet50V2", "ResNet101V2", "ResNet152V2")


def features(pixels, name, weights=None):
    """Return the last activations of a backbone.

    Args:
        pixels: raw, 0..255; grey ones are repeated for the three colours.
        name: one of `names.BACKBONES`.
        weights: "imagenet" fetches these; None draws fresh ones.
    """
    if pixels.shape[-1] == 1:
        pixels = keras.layers.Concatenate(name="grey_to_colour")([pixels] * 3)
    if name in _TAKE_UNIT_PIXELS:
        pixels = keras.layers.Rescaling(1 / 127.5, -1.0, name="normalise")(pixels)
    backbone = getattr(keras.applications, name)(
        include_top=False, weights=weights, input_tensor=pixels
    )
    for layer in backbone.layers:
        # Keras' own noise would not repeat with a run's seed, nor in a second pass.
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    return backbone.output
