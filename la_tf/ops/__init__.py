"""The operations, as keras-cv layers with Pillow's results.

`OPERATIONS` are LatentAugment's sixteen, in the order of their indices; `make` gives a
layer by its name. `spaces` has the operations of other methods and their magnitudes.
"""

from __future__ import annotations

from la_tf.ops import blend, geometry, identity, mixing, spaces, tone
from la_tf.ops.operation import Operation

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
# Operations of other methods: SamplePairing stands in MixUp's place among AutoAugment's
# own, and Identity where a method leaves an image as it is.
_EXTRA = (mixing.SamplePairing, identity.Identity)

OPERATIONS = spaces.LATENTAUGMENT.operations

__all__ = ["OPERATIONS", "Operation", "make", "spaces"]


def make(name, **options):
    """Return the layer of that name: of `OPERATIONS`, "SamplePairing" or "Identity".

    Args:
        name: the operation's name, as "ShearX".
        **options: the layer's own, as `level`, `seed`, `space` and MixUp's `alpha`.
    """
    layers = {layer.__name__: layer for layer in _CLASSES + _EXTRA}
    if name not in layers:
        raise ValueError(f"no operation {name!r}; there are {', '.join(layers)}")
    return layers[name](**options)
