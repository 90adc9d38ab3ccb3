"""Checkpoints in a folder: written whole, kept to a number, found by looking.

What lies on the disk is the truth. The file `checkpoint` beside them, by which
TensorFlow's own functions find the newest, is written for these and never read.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil

import tensorflow as tf

from la_tf import files
from la_tf.errors import UserError

_INDEX = re.compile(r"step-(\d+)\.index")
_PLACES = re.compile(r"\{\{[^}]*\}\}|\[Op:.*")

# What TensorFlow raises for a file that is cut short, garbled or of another network.
UNREADABLE = (
    *(tf.errors.OpError, AssertionError, LookupError, TypeError, ValueError),
    *(OverflowError, RuntimeError),
)

# What a disk that is full, read-only or gone makes TensorFlow raise. Not all of its
# errors: a lost worker is no fault of the disk's.
DISK_ERRORS = (
    OSError,
    tf.errors.FailedPreconditionError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.ResourceExhaustedError,
    tf.errors.UnknownError,
)


class Store:
    """The checkpoints of one kind in a folder.

    Args:
        checkpoint: the tf.train.Checkpoint.
        directory: where they are; made with the first of them.
        keep: how many; older ones are removed once a new one is on the disk.
    """

    def __init__(self, checkpoint, directory, keep):
        self.directory = pathlib.Path(directory)
        self._checkpoint = checkpoint
        self._keep = keep

    def save(self, number):
        """Write a checkpoint; at every moment it is there as a whole or not at all.

        Raises:
            UserError: the disk is full or cannot be written to; nothing has changed.
        """
        partial = self.directory / "partial"
        try:
            self._write(number, partial)
            self._sweep()
        except DISK_ERRORS as error:
            raise UserError(
                f"a checkpoint cannot be written to {self.directory} "
                f"({reason(error)}); the one before stays: make room, pass --resume."
            ) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def read(self, path):
        """Restore a checkpoint; raises one of `UNREADABLE` if all of it cannot be."""
        self._checkpoint.read(str(path)).assert_existing_objects_matched()

    def forget(self, is_wrong):
        """Remove the checkpoints for whose number `is_wrong` holds."""
        for number, path in found(self.directory):
            if is_wrong(number):
                _remove(path)

    def _write(self, number, partial):
        partial.mkdir(parents=True, exist_ok=True)
        parts = len(tf.train.TrackableView(self._checkpoint).descendants())
        self._write_values(tf.constant(str(partial / f"step-{number}")), parts)
        # The index comes last: without it a checkpoint is not seen.
        for path in sorted(partial.iterdir()):
            files.sync(path)
            os.replace(path, self.directory / path.name)
        files.sync(self.directory)

    # As one function: TensorFlow 2.15 loses some 50 bytes with every tensor that is
    # made outside of one, and a save would make several of each variable.
    @tf.function(autograph=False)
    def _write_values(self, path, parts):
        """Write the files of a checkpoint; traced anew should its parts change."""
        del parts
        # The device by its whole name: else there would be a file of values for each
        # of its names.
        with tf.device(_cpu()):
            return self._checkpoint.write(path)

    def _sweep(self):
        paths = [path for _, path in found(self.directory)]
        for path in paths[: -self._keep]:
            _remove(path)
        for part in self.directory.glob("step-*.data-*"):
            # Left by a process that was killed before the index came.
            if not part.with_name(f"{part.name.split('.')[0]}.index").exists():
                part.unlink()
        kept = [path.name for path in paths[-self._keep :]]
        lines = [f'model_checkpoint_path: "{kept[-1]}"\n']
        lines += [f'all_model_checkpoint_paths: "{name}"\n' for name in kept]
        files.write(self.directory / "checkpoint", "".join(lines).encode())


def found(directory):
    """Return pairs of number and path of a folder's checkpoints, the newest last."""
    directory = pathlib.Path(directory)
    if not directory.is_dir():
        return []
    matches = (_INDEX.fullmatch(name) for name in os.listdir(directory))
    numbers = sorted(int(match[1]) for match in matches if match)
    return [(number, directory / f"step-{number}") for number in numbers]


def _remove(path):
    # The index first: what is left of an interrupted removal is no checkpoint.
    path.with_name(f"{path.name}.index").unlink(missing_ok=True)
    for part in path.parent.glob(f"{path.name}.data-*"):
        part.unlink()


def _cpu():
    """Return the name of this process's CPU, with that of its task in a cluster."""
    with tf.init_scope():
        # Texts are always there.
        return tf.constant("").device


def reason(error):
    """Return what one of `DISK_ERRORS` says, without TensorFlow's own places."""
    if isinstance(error, OSError):
        return error.strerror
    # Before it stands where in a program it happened, and behind it in which node.
    said = _PLACES.sub("", str(error.message)).split("\n\t [[")[0].strip()
    return said.splitlines()[-1].rsplit(";", 1)[-1].strip()
