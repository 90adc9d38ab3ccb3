"""Reading a run's config.json, which somebody may have edited."""

from __future__ import annotations

import dataclasses
import math

from la_tf.config import TrainConfig
from la_tf.errors import UserError

_TYPES = {"bool": bool, "int": int, "float": (int, float), "str": str}


def config_of(record, path):
    """The TrainConfig in what config.json holds.

    Raises:
        UserError: it is none, or what else must be known to use a run is not there.
    """
    _check_data(record.get("data"), path)
    values = record.get("config")
    if not isinstance(values, dict):
        raise _unknown(path, "it has no config")
    try:
        config = TrainConfig.from_values(values)
    except (KeyError, TypeError, ValueError) as error:
        raise _unknown(path, error) from None
    for field in dataclasses.fields(TrainConfig):
        value = getattr(config, field.name)
        if field.name != "origins" and not _fits(value, field.type):
            raise UserError(
                f"{path}: {field.name} is {value!r}, which is not of the type "
                f"{field.type}; put back what the run wrote."
            )
    return config


def _fits(value, annotation):
    """Whether a value is of a type, such as "int | None"."""
    names = annotation.split(" | ")
    if value is None:
        return "None" in names
    kinds = _TYPES[names[0]]
    # To Python True is an int.
    return isinstance(value, kinds) and isinstance(value, bool) == (kinds is bool)


def _check_data(data, path):
    """Refuse what does not tell the classes and the shape of the images."""
    kinds = {
        "class_names": (str, None),
        "image_shape": (int, 3),
        "mean": (float, None),
        "std": (float, None),
    }
    if not isinstance(data, dict):
        raise _unknown(path, "it does not tell the classes and the images' shape")
    for name, (kind, length) in kinds.items():
        values = data.get(name)
        if not isinstance(values, list) or len(values) != (length or len(values)):
            raise _unknown(path, f"{name} is {values!r}")
        for value in values:
            if not _is(value, kind):
                raise _unknown(path, f"{name} holds {value!r}")
    channels = data["image_shape"][-1]
    if {len(data["mean"]), len(data["std"])} != {channels} or not data["class_names"]:
        raise _unknown(path, "classes, channels, mean and std do not fit together")


def _is(value, kind):
    if isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, (int, float)) and math.isfinite(value)
    return isinstance(value, kind) and (kind is not int or value > 0)


def _unknown(path, why):
    return UserError(
        f"{path} is not a configuration that this version knows ({why}); put back what "
        "the run wrote."
    )
