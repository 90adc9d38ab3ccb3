"""What a report reads from a run's folder."""

from __future__ import annotations

import dataclasses
import functools
import json
import math

import numpy as np

from la_tf import methods
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run.folder import RunFolder


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """A run with at least one finished epoch.

    Attributes:
        folder: the RunFolder.
        name: what it is called in the report, different for each run.
        config: the TrainConfig.
        record: what config.json holds.
        rows: those of metrics.csv.
        priors: float [epochs, policies]; no epochs where the method has no policies.
        evaluation: what la_tf.evaluate wrote into the folder; None if it has not.
    """

    folder: RunFolder
    name: str
    config: TrainConfig
    record: dict
    rows: list
    priors: np.ndarray
    evaluation: dict | None = None

    @property
    def last(self):
        """The last epoch's row."""
        return self.rows[-1]

    @property
    def best(self):
        """The row with the highest test accuracy, the first among equals."""
        rows = [row for row in self.rows if not np.isnan(row["test_accuracy"])]
        return max(rows or self.rows, key=lambda row: row["test_accuracy"])

    @property
    def has_policies(self):
        """Whether the run has policies to show."""
        return len(self.priors) > 0

    @functools.cached_property
    def rule(self):
        """The drawing rule; LatentAugment's where there are no operations."""
        return methods.rule(self.config)

    @property
    def last_prior(self):
        """The policies' probabilities, float [policies]; all alike without a prior."""
        if self.has_policies:
            return self.priors[-1]
        count = self.rule.num_policies
        return np.full([count], 1 / count, np.float32)

    @property
    def has_operations(self):
        """Whether views are changed by operations."""
        return methods.get(self.config.method).drawing is not None

    @property
    def weighs_alike(self):
        """Whether all views of an image weigh the same."""
        return self.config.num_views == 1 or math.isinf(self.config.sigma)

    @property
    def seconds(self):
        """Training seconds of all finished epochs."""
        return sum(row["seconds"] for row in self.rows)

    def column(self, name):
        """Return one number an epoch, float [epochs]; NaN where it was not recorded."""
        return np.array([row.get(name, np.nan) for row in self.rows])


def read(paths):
    """Return the Runs in these folders.

    Raises:
        UserError: one of them holds no run, or none with a finished epoch.
    """
    names = _names(paths)
    return [_read(RunFolder(path), name) for path, name in zip(paths, names)]


def _read(folder, name):
    config, record = folder.config(), folder.record()
    folder.data()
    rows, priors = folder.rows(), folder.policies()
    if not rows:
        raise UserError(
            f"the run in --run_dir={folder.path} has no finished epoch yet; let it "
            "finish one first."
        )
    # The two files are written one after the other; a kill may fall between them.
    epochs = len(rows) if methods.get(config.method).has_policies else 0
    evaluation = _evaluation(folder)
    return Run(folder, name, config, record, rows, priors[:epochs], evaluation)


def _evaluation(folder):
    path = folder.path / "evaluation.json"
    if not path.exists():
        return None
    try:
        result = json.loads(path.read_text("utf-8"))
        np.asarray(result["confusion"]).reshape([len(result["class_names"])] * 2)
        return result
    except (OSError, ValueError, LookupError, TypeError):
        raise UserError(
            f"{path} is damaged; write it anew by python -m la_tf.evaluate "
            f"--run_dir={folder.path}, or remove it."
        ) from None


def _names(paths):
    """Return the folders' names, with enough of their parents to tell them apart."""
    parts = [RunFolder(path).path.resolve().parts for path in paths]
    if len(set(parts)) < len(parts):
        raise UserError("--run_dir names the same run twice; leave one of them out.")
    length = 1
    while len({part[-length:] for part in parts}) < len(parts):
        length += 1
    return ["/".join(part[-length:]) for part in parts]
