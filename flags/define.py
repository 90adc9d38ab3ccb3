"""Shorthands for flags that check what they are given, each with one line of help."""

from absl import flags as absl_flags

from la_tf import config, errors

_DEFINERS = {
    "bool": absl_flags.DEFINE_bool,
    "int": absl_flags.DEFINE_integer,
    "float": absl_flags.DEFINE_float,
    "str": absl_flags.DEFINE_string,
}


def fields(**help_texts):
    """Define a flag for each of these fields of TrainConfig; return their names.

    What the recipe decides has no default that --help could show.
    """
    for name, help_text in help_texts.items():
        field = config.FIELDS[name]
        by_recipe = name in config.RECIPE_FIELDS or name == "model"
        define = _DEFINERS[field.type.split(" | ")[0]]
        define(name, None if by_recipe else field.default, help_text)
        absl_flags.register_validator(name, _checked(name))
    return tuple(help_texts)


def integer(name, default, low, high, help_text):
    """Define a whole-number flag that must lie in [low, high] or be unset."""
    absl_flags.DEFINE_integer(name, default, help_text)
    absl_flags.register_validator(
        name,
        lambda value: value is None or low <= value <= high,
        message=f"must be a whole number from {low} to {high}.",
    )


def choice(name, default, options, help_text):
    """Define a flag that must be one of the options, or be unset."""
    absl_flags.DEFINE_string(name, default, help_text)

    def check(value):
        if value is not None and value not in options:
            raise absl_flags.ValidationError(errors.unknown(value, options))
        return True

    absl_flags.register_validator(name, check)


def _checked(name):
    def check(value):
        wrong = None if value is None else config.problem(name, value)
        if wrong is not None:
            raise absl_flags.ValidationError(wrong)
        return True

    return check
