"""MetaAugment: a policy network learns how much each view counts."""

from la_tf.methods import method


def _drawing(config):
    del config
    from la_tf.learners import sampler

    return sampler.Sampler()


# Policies: a pair of operations by the sampler. Weights: the policy network's, over the
# batch. Updated: the policy network, by what its weights do for held-out images, and
# the sampler after every epoch. Recomputation cannot be differentiated twice.
METHOD = method.Method(
    "metaaugment",
    "one view, weighted by a learned network (MetaAugment)",
    {
        **method.weighted("equal"),
        "num_views": 1,
        "e_step": "shared",
        "view_chunk": None,
        "backward_views": None,
        "remat": False,
        "augment_on": "device",
    },
    defaults=method.as_published,
    drawing=_drawing,
    has_policies=False,
    sets_aside=True,
)
