"""The table of a study's results: a row a run, in one small CSV file."""

from __future__ import annotations

import csv
import dataclasses
import io
import pathlib
import statistics

from la_tf import files
from la_tf.compare.setting import fingerprint
from la_tf.errors import UserError
from la_tf.run.folder import RunFolder


@dataclasses.dataclass(frozen=True)
class Result:
    """What one run gave, after its last epoch.

    Attributes:
        group, setting, seed: which run.
        accuracy: on the test images, 0..1.
        top_5: likewise.
        seconds: of training, without evaluation and checkpoints; the first epoch's
            include the building of the graph.
        step_seconds: of a step, by the median epoch.
        views: augmented copies of images that were made for training.
        updates: steps of the optimizer.
        train_images, test_images: their numbers.
        cores: that the run had; seconds are comparable only where they agree.
        versions: of la_tf and TensorFlow.
        fingerprint: of the configuration, see `setting.fingerprint`.
    """

    group: str
    setting: str
    seed: int
    accuracy: float
    top_5: float
    seconds: float
    step_seconds: float
    views: int
    updates: int
    train_images: int
    test_images: int
    cores: int
    versions: str
    fingerprint: str

    @property
    def key(self):
        """What tells the run from all others."""
        return self.fingerprint, self.seed


_COLUMNS = {field.name: field.type for field in dataclasses.fields(Result)}
_TYPES = {"int": int, "float": float, "str": str}


def of_run(setting, seed, run_dir, cores):
    """Return the Result of a finished run's folder.

    Returns:
        The Result; None where the folder holds no finished run of this setting.
    """
    folder = RunFolder(run_dir)
    summary = folder.summary()
    if summary is None:
        return None
    config, record = folder.config(), folder.record()
    if fingerprint(config) != setting.fingerprint or config.seed != seed:
        return None
    rows = folder.rows()
    first, last = rows[0], rows[-1]
    epoch_seconds = statistics.median(row["seconds"] for row in rows)
    versions = record["versions"]
    return Result(
        group=setting.group,
        setting=setting.name,
        seed=seed,
        accuracy=summary["last_accuracy"],
        top_5=summary["last_top_5"],
        seconds=summary["seconds"],
        step_seconds=round(epoch_seconds / first["step"], 6),
        views=last["step"] * config.batch_size * config.num_views,
        updates=last["step"] - last["skipped_steps"],
        train_images=record["data"]["train_images"],
        test_images=record["data"]["test_images"],
        cores=cores,
        versions=f"la_tf {versions['la_tf']}, TensorFlow {versions['tensorflow']}",
        fingerprint=setting.fingerprint,
    )


def read(path):
    """Return the Results in a CSV file, by key; none where there is no file."""
    try:
        text = pathlib.Path(path).read_text("utf-8")
    except FileNotFoundError:
        return {}
    try:
        found = _rows(text)
    except (csv.Error, KeyError, TypeError, ValueError):
        raise UserError(
            f"{path} is damaged: it is not a table of results; mend or remove it."
        ) from None
    return {result.key: result for result in found}


def write(path, found):
    """Write the Results to a CSV file, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(_COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(dataclasses.asdict(result) for result in found.values())
    path = pathlib.Path(path)
    try:
        files.write(path, text.getvalue().encode())
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error.strerror}); choose another "
            "--compare_dir."
        ) from None


def of_study(study, found):
    """Return the study's Results by setting: `{(group, name): {seed: Result}}`.

    Those of other settings, or of a setting as it was before, are left out.
    """
    return {
        (setting.group, setting.name): {
            seed: found[setting.fingerprint, seed]
            for seed in setting.seeds
            if (setting.fingerprint, seed) in found
        }
        for setting in study.settings
    }


def _rows(text):
    reader = csv.DictReader(io.StringIO(text))
    if reader.fieldnames != list(_COLUMNS):
        raise ValueError("another table")
    return [_parsed(row) for row in reader]


def _parsed(row):
    return Result(**{name: _TYPES[kind](row[name]) for name, kind in _COLUMNS.items()})
