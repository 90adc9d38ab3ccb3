"""One run a folder: a lock that is held while the run lives.

The lock is a file that names its owner's host and process. The operating system locks
the file itself too, and lets go when the owner dies, however that happens: so a dead
owner of this host is told from a living one, whatever has become of process numbers.
Of another host nothing is certain, and its lock is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import sys

from la_tf.errors import UserError

NAME = "lock"


@contextlib.contextmanager
def held(folder, is_new=False):
    """Hold the lock of a folder, which is made where it is missing.

    Args:
        folder: its path.
        is_new: whether it is for a new run; it is then taken away if it stays empty.

    Raises:
        UserError: another process holds the lock, or may hold it.
    """
    path = folder / NAME
    try:
        made = _make(folder)
        file = _take(path)
    except OSError as error:
        raise UserError(
            f"--run_dir={folder} cannot be written ({error.strerror}); make room, or "
            "choose another --run_dir."
        ) from None
    try:
        yield
    finally:
        # While it is locked, so that nobody else's file of that name is removed.
        with contextlib.suppress(OSError):
            path.unlink()
        file.close()
        with contextlib.suppress(OSError):
            for parent in made or ([folder] if is_new else []):
                parent.rmdir()


def _make(folder):
    """Return the folders that were missing, the innermost first, after making them."""
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return made


def _take(path):
    """Return the open, locked file that names this process."""
    while True:
        file = open(path, "a+", encoding="utf-8", errors="replace")  # noqa: SIM115
        try:
            _lock(file, path)
            if _is_in_place(file, path):
                _check_owner(_owner(file), path)
                _sign(file)
                return file
            # Its owner removed it between our opening and our locking it.
            file.close()
        except BaseException:
            file.close()
            raise


def _lock(file, path):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            f"--run_dir={path.parent} is in use by {_named(_owner(file))}; wait until "
            "it ends, or choose another --run_dir."
        ) from None
    except OSError as error:
        sys.stderr.write(
            f"{path.parent} is on a file system that cannot lock files "
            f"({error.strerror}): see to it that no other run uses this folder.\n"
        )


def _is_in_place(file, path):
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _check_owner(owner, path):
    if owner and owner.get("host") != socket.gethostname():
        raise UserError(
            f"--run_dir={path.parent} was taken by {_named(owner)}, and from this host "
            f"it cannot be told whether that still runs; if it does not, remove {path}."
        )


def _owner(file):
    """Return what the lock says of its owner; empty where it says nothing."""
    file.seek(0)
    try:
        owner = json.loads(file.read() or "{}")
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _named(owner):
    return (
        f"process {owner.get('process', 'unknown')} on host "
        f"{owner.get('host', 'unknown')}"
    )


def _sign(file):
    file.truncate(0)
    json.dump({"host": socket.gethostname(), "process": os.getpid()}, file)
    file.flush()
