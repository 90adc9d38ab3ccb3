"""Which of several machines this one is, as TF_CONFIG tells."""

import json
import os

from la_tf.errors import UserError


def workers():
    """How many processes train together; 1 without TF_CONFIG."""
    cluster = _settings().get("cluster", {})
    return max(1, len(cluster.get("chief", ())) + len(cluster.get("worker", ())))


def is_chief():
    """Whether this process speaks and writes for all."""
    task = _settings().get("task", {})
    if "chief" in _settings().get("cluster", {}):
        return task.get("type") == "chief"
    return task.get("index", 0) == 0


def _settings():
    try:
        return json.loads(os.environ.get("TF_CONFIG") or "{}")
    except ValueError:
        raise UserError(
            "the environment variable TF_CONFIG is not JSON; mend it, or unset it to "
            "train on this machine alone."
        ) from None
