"""Uncertainty-based sampling: only the hardest views are trained on."""

from la_tf.methods.method import Method

# Policies: as LatentAugment's. Weights: all on the hardest view, the limit of a small
# sigma, or evenly on the `ubs_select` hardest. The prior: fixed.
METHOD = Method(
    "ubs",
    "the hardest views alone (uncertainty-based sampling)",
    {"sigma": 0.0, "prior": "fixed"},
)
