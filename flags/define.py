"""Shorthands for flags with a validator beside them.

A flag that is defined here keeps one line of help and complains in one sentence.
"""

from absl import flags as absl_flags

from la_tf import errors


def integer(name, default, low, high, help_text):
    """None; defines a whole-number flag that must lie in [low, high] or be unset."""
    absl_flags.DEFINE_integer(name, default, help_text)
    _bound(name, low, high, "a whole number")


def number(name, default, low, high, help_text):
    """None; defines a real-number flag that must lie in [low, high] or be unset."""
    absl_flags.DEFINE_float(name, default, help_text)
    _bound(name, low, high, "a number")


def choice(name, default, options, help_text):
    """None; defines a flag that must be one of the options, or be unset.

    A word that is none of them is answered with the nearest one.
    """
    absl_flags.DEFINE_string(name, default, help_text)

    def check(value):
        if value is not None and value not in options:
            raise absl_flags.ValidationError(errors.unknown(value, options))
        return True

    absl_flags.register_validator(name, check)


def _bound(name, low, high, kind):
    def check(value):
        # The comparison is written so that NaN fails it.
        return value is None or low <= value <= high

    absl_flags.register_validator(
        name, check, message=f"must be {kind} from {low} to {high}."
    )
