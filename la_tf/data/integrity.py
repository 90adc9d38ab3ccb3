"""Which image cannot be read, where tf.data only says that one cannot."""

from __future__ import annotations

import contextlib
import pathlib

import tensorflow as tf

from la_tf.data.sources import image_files
from la_tf.errors import UserError

# What a file that is lost or damaged makes tf.data raise.
_READING_ERRORS = (
    tf.errors.DataLossError,
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
)


@contextlib.contextmanager
def told(source):
    """Name the file at fault where reading the images of a source fails."""
    try:
        yield
    except _READING_ERRORS:
        for split in (source.train, source.test):
            found = _first_unreadable(getattr(split, "paths", ()))
            if found is not None:
                path, reason = found
                raise UserError(
                    f"{path} can no longer be read ({reason}): put the whole file back "
                    "(a run then goes on with --resume), or start anew with "
                    "--skip_bad_images."
                ) from None
        raise


def _first_unreadable(paths):
    """Return the path of the first file that cannot be read, and why.

    None if all can be.
    """
    for path in paths:
        try:
            if pathlib.Path(path).suffix.lower() in image_files.SUFFIXES:
                image_files.decode_once(path)
            else:
                _read_records(path)
        except OSError as error:
            return path, error.strerror
        except (tf.errors.OpError, image_files.BadImageError) as error:
            return path, str(getattr(error, "message", error)).splitlines()[0]
    return None


def _read_records(path):
    for _ in tf.data.TFRecordDataset(path, buffer_size=1 << 20).batch(1024):
        pass
