"""A run goes on only with the data that it was started on."""

from __future__ import annotations

import os
import pathlib
import zlib

from la_tf.errors import UserError


def fingerprint(source):
    """Return what config.json keeps of the data, to compare it later."""
    return {
        "train_digest": digest(source.train),
        "test_digest": digest(source.test),
    }


def digest(split):
    """Return a text that changes with the images of a split.

    Arrays are read byte by byte. Of files, which may be many, the names, those of their
    class folders and the sizes count, wherever they lie.
    """
    if hasattr(split, "images"):
        value = zlib.crc32(split.labels.tobytes(), zlib.crc32(split.images.tobytes()))
    else:
        files = (pathlib.Path(path) for path in split.paths)
        listed = (f"{file.parent.name}/{file.name} {_size(file)}" for file in files)
        value = zlib.crc32("\n".join(listed).encode("utf-8", "surrogateescape"))
    return f"{value:08x}"


def check(before, source, run_dir):
    """Refuse to go on with other data than those that a run was started on.

    Args:
        before: what config.json tells of them.
        source: the data now.
        run_dir: of the run.
    """
    now = {
        "class_names": list(source.class_names),
        "train_images": int(source.train.size),
        "test_images": int(source.test.size),
        **fingerprint(source),
    }
    for name, value in now.items():
        # A run of an earlier version may not have kept all of them.
        if before.get(name, value) != value:
            raise UserError(
                f"the data have changed since the run in {run_dir} was started: "
                f"{_difference(name, before[name], value)}. Put the data back (in "
                "another place: --data_dir), or start a new run with another --run_dir."
            )


def _difference(name, before, now):
    what = name.replace("_", " ")
    if name == "class_names":
        gone = ", ".join(sorted(set(before) - set(now))) or "none"
        new = ", ".join(sorted(set(now) - set(before))) or "none"
        return f"classes that are gone: {gone}; that are new: {new}"
    if name.endswith("images"):
        return f"{before} {what} have become {now}"
    part = name.split("_")[0]
    return f"there are as many {part} images as before, but others"


def _size(file):
    try:
        return os.stat(file).st_size
    except OSError:
        return "missing"
