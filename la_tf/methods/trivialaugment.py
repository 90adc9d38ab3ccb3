"""TrivialAugment: one random operation at a random strength, and nothing to tune."""

from la_tf.methods import method


def _drawing(config):
    from la_tf import rules
    from la_tf.ops import spaces

    wide = config.trivialaugment == "wide"
    return rules.RandomOperations(spaces.WIDE if wide else spaces.RANDAUGMENT, 1)


# Operations: one of 14 at a level from 0 to 30, both drawn evenly; they are no
# policies. Weights: equal. The prior: has no part in it.
METHOD = method.Method(
    "trivialaugment",
    "one random operation at a random level (TrivialAugment)",
    defaults=method.as_published,
    drawing=_drawing,
    has_policies=False,
)
