"""Small files that are written whole or not at all, and whose damage is noticed."""

from __future__ import annotations

import hashlib
import json
import os
import zlib

from la_tf.errors import UserError

_CHECKSUM = "checksum"


def write(path, data):
    """Replace a file by these bytes; a crash leaves all of the old or all of the new.

    The bytes are on the disk, not only in memory, before the name points to them.
    """
    partial = path.with_name(path.name + ".partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.write_bytes(data)
        sync(partial)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path):
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest(path, algorithm):
    """Return a file's digest in hexadecimal, however large the file is."""
    found = hashlib.new(algorithm)
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            found.update(block)
    return found.hexdigest()


def to_json(values):
    """Return a dictionary as the bytes of a JSON file with a checksum in it."""
    values = {**values, _CHECKSUM: _checksum(values)}
    return (json.dumps(values, indent=2) + "\n").encode()


def read_json(path):
    """Return the dictionary in a JSON file; its checksum, if it has one, must hold.

    Raises:
        FileNotFoundError: there is no such file.
        UserError: it cannot be read, or is not what was written.
    """
    try:
        values = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from None
    except (RecursionError, ValueError):
        raise UserError(f"{path} is damaged: it is not JSON.") from None
    if not isinstance(values, dict):
        raise UserError(f"{path} is damaged: it is not a JSON object.")
    if not _holds(values):
        raise UserError(
            f"{path} is damaged or was edited: its checksum does not hold. Put the "
            'file back, or, if you mean what it says, remove its line "checksum".'
        )
    return values


def _holds(values):
    """Take the checksum out of the values; tell whether it is theirs, or there is none.

    Damage to its own name would hide it, but not its value.
    """
    if _CHECKSUM in values:
        return values.pop(_CHECKSUM) == _checksum(values)
    if not values:
        return True
    *names, last = values
    # It is written last.
    return values[last] != _checksum({name: values[name] for name in names})


def _checksum(values):
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x}"
