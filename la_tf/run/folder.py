"""A run's folder: what is in it, and what may be done with it.

config.json      every value used, where it came from, versions, the command
metrics.csv      a row an epoch
policy.npz       the prior at the end of every epoch
summary.json     the result
checkpoints/     what a resumed run starts from; best/ has the best epoch's
tensorboard/     event files, in a folder of the run's name
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import pathlib

import numpy as np

from la_tf.config import TrainConfig
from la_tf.errors import UserError

# What a resumed run may be told anew; all else must be as it was.
_MAY_CHANGE = frozenset(
    [
        "checkpoint_minutes",
        "data_dir",
        "data_service",
        "keep",
        "on_nonfinite",
        "profile",
        "resume",
        "run_dir",
        "verbosity",
    ]
)


class RunFolder:
    """The paths and files of one run.

    Where several workers share a run, only the chief's folder is writable: what the
    others write is dropped.
    """

    def __init__(self, path, writable=True):
        self.path = pathlib.Path(path)
        self.writable = writable
        self.config_path = self.path / "config.json"
        self.metrics_path = self.path / "metrics.csv"
        self.policy_path = self.path / "policy.npz"
        self.summary_path = self.path / "summary.json"
        self.checkpoints = self.path / "checkpoints"
        self.best_checkpoints = self.checkpoints / "best"
        # TensorBoard calls a run by its folder below the one it is given.
        self.tensorboard = self.path / "tensorboard" / self.path.resolve().name

    def write_record(self, record):
        """None; writes config.json."""
        self._write(self.config_path, _json(record))

    def record(self):
        """What config.json holds."""
        try:
            return json.loads(self.config_path.read_text("utf-8"))
        except FileNotFoundError:
            raise UserError(
                f"--run_dir={self.path} holds no run (there is no config.json in it)."
            ) from None
        except ValueError:
            raise UserError(f"{self.config_path} is damaged: it is not JSON.") from None

    def config(self):
        """The TrainConfig of the run."""
        record = self.record()
        try:
            config = TrainConfig.from_values(record["config"], record.get("origins"))
        except UserError as error:
            raise UserError(f"{self.config_path}: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise UserError(
                f"{self.config_path} is not a configuration that this version knows."
            ) from None
        return config

    def rows(self):
        """The rows of metrics.csv, each a dictionary of numbers."""
        if not self.metrics_path.exists():
            return []
        with open(self.metrics_path, newline="", encoding="utf-8") as file:
            return [
                {name: _number(cell) for name, cell in row.items()}
                for row in csv.DictReader(file)
            ]

    def write_rows(self, rows):
        """None; writes metrics.csv anew."""
        text = io.StringIO()
        if rows:
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        self._write(self.metrics_path, text.getvalue().encode())

    def policies(self):
        """The prior at the end of each epoch, float [epochs, policies]."""
        if not self.policy_path.exists():
            return np.zeros([0, 0], np.float32)
        with np.load(self.policy_path) as arrays:
            return arrays["prior"]

    def write_policies(self, priors, operations):
        """None; writes policy.npz: `prior` [epochs, policies], `operations` names."""
        file = io.BytesIO()
        np.savez(file, prior=np.asarray(priors), operations=np.asarray(operations))
        self._write(self.policy_path, file.getvalue())

    def write_summary(self, summary):
        """None; writes summary.json."""
        self._write(self.summary_path, _json(summary))

    def _write(self, path, data):
        """None; writes a file whole or not at all, so no reader meets half of it."""
        if not self.writable:
            return
        partial = path.with_name(path.name + ".partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(data)
            os.replace(partial, path)
        except OSError as error:
            raise UserError(
                f"--run_dir={self.path} cannot be written ({error.strerror}); make "
                "room, or choose another --run_dir."
            ) from None


def fresh(config):
    """The folder of a run that is about to start; nothing is written yet.

    A folder that already holds a run is never touched.
    """
    folder = RunFolder(config.run_dir or _next_free(config))
    if folder.config_path.exists():
        raise UserError(
            f"--run_dir={folder.path} already holds a run: pass --resume to go on with "
            "it, or choose another --run_dir."
        )
    return folder


def resumed(chosen):
    """Return the folder and configuration of a run to go on with.

    Args:
        chosen: fields of TrainConfig that the user gave anew. They must agree with the
            run, but for those that change nothing in its result.
    """
    if chosen.get("run_dir") is None:
        raise UserError(
            "--resume needs --run_dir, the folder of the run to go on with."
        )
    folder = RunFolder(chosen["run_dir"])
    stored = folder.config()
    for name, value in chosen.items():
        kept = getattr(stored, name)
        if name not in _MAY_CHANGE and value != kept:
            raise UserError(
                f"--{name}={value} differs from the {kept} of the run in "
                f"{folder.path}; leave --{name} out to resume, or start a new run."
            )
    changes = {**chosen, "run_dir": str(folder.path), "resume": True}
    return folder, dataclasses.replace(stored, **changes)


def _next_free(config):
    stem = f"{config.dataset}-{config.model}-{config.method}"
    number = 1
    while (pathlib.Path("runs") / f"{stem}-{number}").exists():
        number += 1
    return pathlib.Path("runs") / f"{stem}-{number}"


def _number(cell):
    return int(cell) if cell.isdigit() else float(cell)


def _json(value):
    return (json.dumps(value, indent=2) + "\n").encode()
