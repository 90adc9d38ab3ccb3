"""Every view weighs the same: Adversarial AutoAugment's loss without its network."""

import math

from la_tf.methods.method import Method

# Policies are drawn as in LatentAugment. The weights are 1/K, the limit of a large
# sigma, and the prior plays no part.
METHOD = Method(
    "equal",
    "all views weigh the same (AdvAA's loss without its network)",
    {"sigma": math.inf, "prior": "fixed"},
)
