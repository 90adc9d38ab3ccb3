"""Plain training: crop and flip, one view, cross-entropy."""

from la_tf.methods.method import Method

# Policies: none. Weights: 1 on the only view. The prior: has no part in it.
METHOD = Method(
    "baseline",
    "crop and flip alone, one view an image",
    {"num_views": 1, "final": "none", "prior": "fixed"},
    drawing=None,
    has_policies=False,
)
