"""Reading a run's config.json, which somebody may have edited."""

from __future__ import annotations

import math

from la_tf.config import FIELDS, TrainConfig
from la_tf.errors import UserError


def config_of(record, path):
    """Return the TrainConfig in what config.json holds.

    Raises:
        UserError: it is none.
    """
    values = record.get("config")
    if not isinstance(values, dict):
        raise _unknown(path, "it has no config")
    missing = sorted(FIELDS.keys() - values.keys())
    if missing:
        # A default in its place would be another run.
        raise _unknown(path, f"it does not tell {missing[0]}")
    try:
        return TrainConfig.from_values(values, record.get("origins"))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise _unknown(path, error) from None


def data_of(record, path):
    """Return what config.json tells of the classes and the images.

    Raises:
        UserError: it does not tell all that must be known to use a network.
    """
    data = record.get("data")
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
    return data


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
