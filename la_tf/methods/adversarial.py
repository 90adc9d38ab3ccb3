"""Adversarial AutoAugment: a controller learns policies that the network finds hard."""

from la_tf.methods import method


def _defaults(recipe):
    return {**method.as_published(recipe), "num_views": 8}


def _drawing(config):
    from la_tf.learners import adversarial

    return adversarial.Adversarial(
        config.num_views, config.controller_interval, config.seed
    )


# Policies: M of the controller's, one for each view, decided anew in every interval.
# Weights: equal, and all views are trained on, for their losses are the controller's
# rewards. Updated: the controller, by REINFORCE.
METHOD = method.Method(
    "adversarial",
    "a controller's policies, learned to be hard (Adversarial AutoAugment)",
    {**method.weighted("equal"), "backward_views": None, "augment_on": "device"},
    defaults=_defaults,
    drawing=_drawing,
    has_policies=False,
)
