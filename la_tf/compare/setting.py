"""A point of a study's grid, and what tells it from all others."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib

from la_tf.config import FIELDS, TrainConfig

# Fields of a single run, which are not a study's to choose.
OF_A_RUN = ("seed", "run_dir", "resume")
# Fields that the machine decides: where the data are.
OF_THE_MACHINE = ("data_dir", "data_service")
_NO_MATTER = frozenset(
    [
        *(*OF_A_RUN, *OF_THE_MACHINE),
        *("augment_on", "checkpoint_minutes", "keep", "profile", "verbosity"),
    ]
)


@dataclasses.dataclass(frozen=True)
class Place:
    """A point of a sweep: the field, its value, and what the rest is called."""

    field: str
    value: float
    line: str


@dataclasses.dataclass(frozen=True)
class Setting:
    """A point of the grid: what its runs share, and their seeds.

    Attributes:
        name: what it is called, different for each of a data set and network.
        config: the TrainConfig, but for seed and run folder.
        seeds: one for each run.
        note: what the method or the protocol changed, or an empty text.
        place: where it stands in a sweep over numbers, or None.
    """

    name: str
    config: TrainConfig
    seeds: tuple[int, ...]
    note: str = ""
    place: Place | None = None

    @property
    def group(self):
        """The data set and network; only runs of one group are compared."""
        return f"{self.config.dataset} with {self.config.model}"

    @property
    def fingerprint(self):
        """A short text that is the same for configurations with the same results."""
        return fingerprint(self.config)

    def run(self, seed, runs_dir):
        """Return the TrainConfig of one run."""
        folder = f"{self.config.method}-{self.fingerprint}"
        path = pathlib.Path(runs_dir) / folder / f"seed-{seed}"
        return dataclasses.replace(self.config, seed=seed, run_dir=str(path))


def fingerprint(config):
    """Return a short text that is the same for configurations with the same results.

    Only what differs from the defaults counts, so that a field that comes later changes
    no fingerprint.
    """
    values = {
        name: value
        for name, value in config.values().items()
        if name not in _NO_MATTER and value != FIELDS[name].default
    }
    if config.dataset in ("folder", "npz"):
        values["data"] = pathlib.Path(config.data_dir).name
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]
