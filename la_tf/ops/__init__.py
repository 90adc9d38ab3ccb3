"""The sixteen operations, as keras-cv layers with Pillow's results.

`OPERATIONS` fixes the order, which is the index; `make` gives a layer by its name.
"""

from __future__ import annotations

from la_tf.ops import blend, geometry, mixing, tone
from la_tf.ops.operation import NUM_LEVELS, Operation

_CLASSES = (
    geometry.ShearX,
    geometry.ShearY,
    geometry.TranslateX,
    geometry.TranslateY,
    geometry.Rotate,
    blend.Color,
    tone.Posterize,
    tone.Solarize,
    tone.Contrast,
    blend.Sharpness,
    tone.Brightness,
    tone.AutoContrast,
    tone.Equalize,
    tone.Invert,
    mixing.Cutout,
    mixing.MixUp,
)
# Stands in MixUp's place among AutoAugment's own operations.
_EXTRA = (mixing.SamplePairing,)

OPERATIONS = tuple(operation.__name__ for operation in _CLASSES)

__all__ = ["NUM_LEVELS", "OPERATIONS", "Operation", "make"]


def make(name, **options):
    """Return the layer of that name: one of `OPERATIONS`, or "SamplePairing".

    Args:
        name: the operation's name, as "ShearX".
        **options: the layer's own, as `level`, `seed` and MixUp's `alpha`.
    """
    layers = {layer.__name__: layer for layer in _CLASSES + _EXTRA}
    if name not in layers:
        raise ValueError(f"no operation {name!r}; there are {', '.join(layers)}")
    return layers[name](**options)
