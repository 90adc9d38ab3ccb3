"""One view an image under a random policy: LatentAugment without its several views."""

from la_tf.methods.method import Method

# Policies: one of the 256, drawn uniformly. Weights: 1 on the only view. The prior: has
# no part in it.
METHOD = Method(
    "policy",
    "one random policy of the 256, one view an image",
    {"num_views": 1, "prior": "fixed"},
)
