"""Every view weighs the same: Adversarial AutoAugment's loss without its network."""

import math

from la_tf.methods.method import Method

# Policies: as LatentAugment's. Weights: 1/K, the limit of a large sigma. The prior: has
# no part in it.
METHOD = Method(
    "equal",
    "all views weigh the same (AdvAA's loss without its network)",
    {"sigma": math.inf, "prior": "fixed"},
)
