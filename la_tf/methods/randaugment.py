"""RandAugment: a number of random operations, all at one magnitude."""

from la_tf.methods import method


def _drawing(config):
    from la_tf import rules
    from la_tf.ops import spaces

    of_10 = config.magnitude_scale == 10
    space = spaces.RANDAUGMENT_OF_10 if of_10 else spaces.RANDAUGMENT
    number, magnitude = config.randaugment_ops, config.randaugment_magnitude
    return rules.RandomOperations(space, number, magnitude)


# Operations: `randaugment_ops` of 14, with replacement, at `randaugment_magnitude`;
# they are no policies. Weights: equal. The prior: has no part in it.
METHOD = method.Method(
    "randaugment",
    "random operations at one magnitude (RandAugment)",
    defaults=method.as_published,
    drawing=_drawing,
    has_policies=False,
)
