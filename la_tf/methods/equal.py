"""Every view weighs the same: Adversarial AutoAugment's loss without its network."""

from la_tf.methods.method import Method, weighted

# Policies are drawn as in LatentAugment. The weights are 1/K and the prior plays no
# part.
METHOD = Method(
    "equal",
    "all views weigh the same (AdvAA's loss without its network)",
    weighted("equal"),
)
