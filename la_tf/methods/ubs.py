"""Uncertainty-based sampling: only hard views are trained on."""

from la_tf.methods.method import Method, weighted

# Policies: as LatentAugment's. Weights: evenly on the `ubs_select` hardest views, or on
# as many that `ubs_choice` draws in proportion to their losses. The prior: fixed.
METHOD = Method(
    "ubs",
    "the hardest views alone (uncertainty-based sampling)",
    weighted("hardest"),
)
