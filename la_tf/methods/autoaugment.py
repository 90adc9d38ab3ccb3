"""AutoAugment: the 25 sub-policies that its authors found for each of three data sets.

The tables are those of the paper's appendix (arXiv 1805.09501). An operation is its
name, the chance that it is applied in tenths, and its level.
"""

from __future__ import annotations

from la_tf.methods import method

_CIFAR10 = (
    (("Invert", 1, 7), ("Contrast", 2, 6)),
    (("Rotate", 7, 2), ("TranslateX", 3, 9)),
    (("Sharpness", 8, 1), ("Sharpness", 9, 3)),
    (("ShearY", 5, 8), ("TranslateY", 7, 9)),
    (("AutoContrast", 5, 8), ("Equalize", 9, 2)),
    (("ShearY", 2, 7), ("Posterize", 3, 7)),
    (("Color", 4, 3), ("Brightness", 6, 7)),
    (("Sharpness", 3, 9), ("Brightness", 7, 9)),
    (("Equalize", 6, 5), ("Equalize", 5, 1)),
    (("Contrast", 6, 7), ("Sharpness", 6, 5)),
    (("Color", 7, 7), ("TranslateX", 5, 8)),
    (("Equalize", 3, 7), ("AutoContrast", 4, 8)),
    (("TranslateY", 4, 3), ("Sharpness", 2, 6)),
    (("Brightness", 9, 6), ("Color", 2, 8)),
    (("Solarize", 5, 2), ("Invert", 0, 3)),
    (("Equalize", 2, 0), ("AutoContrast", 6, 0)),
    (("Equalize", 2, 8), ("Equalize", 6, 4)),
    (("Color", 9, 9), ("Equalize", 6, 6)),
    (("AutoContrast", 8, 4), ("Solarize", 2, 8)),
    (("Brightness", 1, 3), ("Color", 7, 0)),
    (("Solarize", 4, 5), ("AutoContrast", 9, 3)),
    (("TranslateY", 9, 9), ("TranslateY", 7, 9)),
    (("AutoContrast", 9, 2), ("Solarize", 8, 3)),
    (("Equalize", 8, 8), ("Invert", 1, 3)),
    (("TranslateY", 7, 9), ("AutoContrast", 9, 1)),
)
_SVHN = (
    (("ShearX", 9, 4), ("Invert", 2, 3)),
    (("ShearY", 9, 8), ("Invert", 7, 5)),
    (("Equalize", 6, 5), ("Solarize", 6, 6)),
    (("Invert", 9, 3), ("Equalize", 6, 3)),
    (("Equalize", 6, 1), ("Rotate", 9, 3)),
    (("ShearX", 9, 4), ("AutoContrast", 8, 3)),
    (("ShearY", 9, 8), ("Invert", 4, 5)),
    (("ShearY", 9, 5), ("Solarize", 2, 6)),
    (("Invert", 9, 6), ("AutoContrast", 8, 1)),
    (("Equalize", 6, 3), ("Rotate", 9, 3)),
    (("ShearX", 9, 4), ("Solarize", 3, 3)),
    (("ShearY", 8, 8), ("Invert", 7, 4)),
    (("Equalize", 9, 5), ("TranslateY", 6, 6)),
    (("Invert", 9, 4), ("Equalize", 6, 7)),
    (("Contrast", 3, 3), ("Rotate", 8, 4)),
    (("Invert", 8, 5), ("TranslateY", 0, 2)),
    (("ShearY", 7, 6), ("Solarize", 4, 8)),
    (("Invert", 6, 4), ("Rotate", 8, 4)),
    (("ShearY", 3, 7), ("TranslateX", 9, 3)),
    (("ShearX", 1, 6), ("Invert", 6, 5)),
    (("Solarize", 7, 2), ("TranslateY", 6, 7)),
    (("ShearY", 8, 4), ("Invert", 8, 8)),
    (("ShearX", 7, 9), ("TranslateY", 8, 3)),
    (("ShearY", 8, 5), ("AutoContrast", 7, 3)),
    (("ShearX", 7, 2), ("Invert", 1, 5)),
)
_IMAGENET = (
    (("Posterize", 4, 8), ("Rotate", 6, 9)),
    (("Solarize", 6, 5), ("AutoContrast", 6, 5)),
    (("Equalize", 8, 8), ("Equalize", 6, 3)),
    (("Posterize", 6, 7), ("Posterize", 6, 6)),
    (("Equalize", 4, 7), ("Solarize", 2, 4)),
    (("Equalize", 4, 4), ("Rotate", 8, 8)),
    (("Solarize", 6, 3), ("Equalize", 6, 7)),
    (("Posterize", 8, 5), ("Equalize", 10, 2)),
    (("Rotate", 2, 3), ("Solarize", 6, 8)),
    (("Equalize", 6, 8), ("Posterize", 4, 6)),
    (("Rotate", 8, 8), ("Color", 4, 0)),
    (("Rotate", 4, 9), ("Equalize", 6, 2)),
    (("Equalize", 0, 7), ("Equalize", 8, 8)),
    (("Invert", 6, 4), ("Equalize", 10, 8)),
    (("Color", 6, 4), ("Contrast", 10, 8)),
    (("Rotate", 8, 8), ("Color", 10, 2)),
    (("Color", 8, 8), ("Solarize", 8, 7)),
    (("Sharpness", 4, 7), ("Invert", 6, 8)),
    (("ShearX", 6, 5), ("Equalize", 10, 9)),
    (("Color", 4, 0), ("Equalize", 6, 3)),
    (("Equalize", 4, 7), ("Solarize", 2, 4)),
    (("Solarize", 6, 5), ("AutoContrast", 6, 5)),
    (("Invert", 6, 4), ("Equalize", 10, 8)),
    (("Color", 6, 4), ("Contrast", 10, 8)),
    (("Equalize", 8, 8), ("Equalize", 6, 3)),
)
SUB_POLICIES = {"cifar10": _CIFAR10, "svhn": _SVHN, "imagenet": _IMAGENET}


def _drawing(config):
    from la_tf import rules
    from la_tf.ops import spaces

    return rules.SubPolicies(spaces.AUTOAUGMENT, SUB_POLICIES[config.autoaugment])


# Policies: a sub-policy of the 25, drawn evenly. Weights: equal. The prior: fixed; it
# moves with `--weights=latent`.
METHOD = method.Method(
    "autoaugment",
    "one of 25 learned sub-policies (AutoAugment)",
    defaults=method.as_published,
    drawing=_drawing,
)
