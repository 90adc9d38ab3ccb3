"""A run's folder: what is in it, and what may be done with it.

config.json      every value used, where it came from, versions, the command
metrics.csv      a row an epoch
policy.npz       the prior at the end of every epoch
summary.json     the result
checkpoints/     what a resumed run starts from; best/ has the best epoch's
tensorboard/     event files, in a folder of the run's name
lock             host and process of the run, while it lives
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import itertools
import pathlib
import zipfile
import zlib

import numpy as np

from la_tf import files
from la_tf.config import TrainConfig
from la_tf.data import sources
from la_tf.errors import UserError
from la_tf.run import cluster, config_check, lock, provenance

# What a resumed run may be told anew; all else must be as it was.
MAY_CHANGE = frozenset(
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
        self._is_taken = False

    @contextlib.contextmanager
    def taken(self, new=False):
        """Keep other runs out of the folder; inside itself it does nothing more.

        Args:
            new: whether the folder must not hold a run yet.
        """
        if self._is_taken or not self.writable:
            yield
            return
        with lock.held(self.path, is_new=new):
            # Another run may have come and gone since somebody last looked.
            if new:
                self.check_free()
            self._is_taken = True
            try:
                yield
            finally:
                self._is_taken = False

    def check_free(self):
        """Refuse a folder that already holds a run."""
        if self.config_path.exists():
            raise UserError(
                f"--run_dir={self.path} already holds a run: pass --resume to go on "
                "with it, or choose another --run_dir."
            )

    def write_record(self, record):
        """Write config.json."""
        self._write(self.config_path, files.to_json(record))

    def record(self):
        """Return what config.json holds."""
        try:
            return files.read_json(self.config_path)
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(
                f"--run_dir={self.path} holds no run (there is no config.json in it)."
            ) from None

    def config(self):
        """Return the TrainConfig of the run."""
        return config_check.config_of(self.record(), self.config_path)

    def data(self):
        """Return what config.json tells of the classes and the images."""
        return config_check.data_of(self.record(), self.config_path)

    def rows(self):
        """Return the rows of metrics.csv, each a dictionary of numbers.

        Raises:
            UserError: the file is not as the run wrote it.
        """
        _, checksums = self._read_policies()
        try:
            lines = self.metrics_path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            lines = []
        except (OSError, ValueError) as error:
            raise self._damaged(self.metrics_path, error) from None
        # The files are written one after the other; a kill may fall between them.
        complete = max(1, len(lines)) >= len(checksums)
        written = zip(_row_checksums(lines), checksums)
        if not complete or any(found != expected for found, expected in written):
            raise self._damaged(self.metrics_path, "it is not what the run wrote")
        try:
            return _parsed(lines)
        except (csv.Error, TypeError, ValueError) as error:
            raise self._damaged(self.metrics_path, error) from None

    def policies(self):
        """Return the prior at the end of each epoch, float [epochs, policies]."""
        return self._read_policies()[0]

    def write_history(self, rows, priors, operations):
        """Write metrics.csv and policy.npz anew.

        policy.npz has `prior` [epochs, policies], the `operations`' names, and since a
        table has no place for them, the checksums of the rows of metrics.csv.
        """
        text = io.StringIO()
        if rows:
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        table = text.getvalue()
        file = io.BytesIO()
        np.savez(
            file,
            prior=np.asarray(priors if rows else np.zeros([0, 0]), np.float32),
            operations=np.asarray(operations),
            metrics_crc32=np.asarray(_row_checksums(table.splitlines()), np.uint32),
        )
        self._write(self.policy_path, file.getvalue())
        self._write(self.metrics_path, table.encode())

    def summary(self):
        """Return what summary.json holds; None where the run is not finished."""
        try:
            return files.read_json(self.summary_path)
        except FileNotFoundError:
            return None

    def write_summary(self, summary):
        """Write summary.json."""
        self._write(self.summary_path, files.to_json(summary))

    def _read_policies(self):
        """Return the priors, and the checksums of the rows of metrics.csv."""
        try:
            priors, _, checksums = read_policies(self.policy_path)
        except FileNotFoundError:
            # It is written before the table: without it there is no table yet.
            if self.metrics_path.exists():
                raise self._damaged(self.policy_path, "it is gone") from None
            return np.zeros([0, 0], np.float32), []
        except UNREADABLE as error:
            raise self._damaged(self.policy_path, error) from None
        return priors, checksums

    def _damaged(self, path, why):
        return UserError(
            f"{path} is damaged ({why}); python -m la_tf.train --run_dir={self.path} "
            "--resume writes it anew from the last checkpoint."
        )

    def _write(self, path, data):
        if not self.writable:
            return
        try:
            files.write(path, data)
        except OSError as error:
            raise UserError(
                f"--run_dir={self.path} cannot be written ({error.strerror}); make "
                "room, or choose another --run_dir."
            ) from None


# What reading a damaged policy.npz may raise.
UNREADABLE = (
    *(EOFError, LookupError, NotImplementedError, OSError, SyntaxError, TypeError),
    *(ValueError, zipfile.BadZipFile, zlib.error),
)


def read_policies(path):
    """Return what a policy.npz holds.

    Returns:
        The priors, float [epochs, policies]; the operations' names; and the checksums
        of the rows of metrics.csv.
    """
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
        priors, operations = arrays["prior"], tuple(map(str, arrays["operations"]))
        checksums = (
            arrays["metrics_crc32"].tolist() if "metrics_crc32" in arrays else []
        )
    if priors.ndim != 2 or priors.dtype.kind != "f":
        raise ValueError(f"its prior is {priors.dtype} of shape {priors.shape}")
    if not np.isfinite(priors).all():
        raise ValueError("its prior is not finite")
    return priors, operations, checksums


def fresh(config):
    """Return the folder of a run that is about to start.

    A folder that already holds a run is never touched. Without --run_dir one is made
    at once: of several runs that start together, each gets its own.
    """
    if config.run_dir is None:
        return RunFolder(_new(config))
    folder = RunFolder(config.run_dir)
    folder.check_free()
    return folder


def opened(chosen):
    """Return the folder and configuration of a run: a new one, or one to go on with.

    Args:
        chosen: fields of TrainConfig by name.
    """
    if chosen.get("resume"):
        folder, config = resumed(chosen)
        sources.check(config.dataset, config.data_dir)
        return folder, config
    config = TrainConfig(**chosen)
    # Before anything is made: a wrong path leaves nothing behind.
    sources.check(config.dataset, config.data_dir)
    _check_init_from(config.init_from)
    return fresh(config), config


def _check_init_from(path):
    if path not in (None, "imagenet") and not pathlib.Path(path).exists():
        raise UserError(
            f"--init_from={path}: there is no such file or folder; give a run folder, "
            "a .keras or weights file, or imagenet."
        )


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
    provenance.check_keras(folder)
    for name, value in chosen.items():
        kept = getattr(stored, name)
        if name not in MAY_CHANGE and value != kept:
            raise UserError(
                f"--{name}={value} differs from the {kept} of the run in "
                f"{folder.path}; leave --{name} out to resume, or start a new run."
            )
    changes = {**chosen, "run_dir": str(folder.path), "resume": True}
    return folder, dataclasses.replace(stored, **changes)


def _new(config):
    stem = f"{config.dataset}-{config.model}-{config.method}"
    paths = (pathlib.Path("runs") / f"{stem}-{number}" for number in itertools.count(1))
    return next(path for path in paths if _make(path))


def _make(path):
    """Tell whether the folder was not there; the look and the making are one step."""
    if not cluster.is_chief():
        # The chief's folder counts; of the others' nothing is written.
        return True
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise UserError(
            f"{path} cannot be made ({error.strerror}); choose a --run_dir."
        ) from None
    return True


def _parsed(lines):
    """Return the rows of a table, each a dictionary of numbers.

    Epochs count 1, 2, ...
    """
    header, *rows = csv.reader(lines) if lines else [[]]
    for number, row in enumerate(rows, 1):
        if len(row) != len(header) or row[:1] != [str(number)]:
            raise ValueError(f"row {number} is not that of epoch {number}")
    return [dict(zip(header, map(_number, row))) for row in rows]


def _row_checksums(lines):
    """Return a checksum for each row of a table; all depend on the header too."""
    return [zlib.crc32(f"{lines[0]}\n{line}".encode()) for line in lines[1:]]


def _number(cell):
    return int(cell) if cell.isdigit() else float(cell)
