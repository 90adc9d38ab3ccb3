"""SHA-256 sums of a folder's files, in the form that `sha256sum --check` reads."""

from __future__ import annotations

from la_tf import files
from la_tf.errors import UserError


def write(folder, path):
    """Write the sums of all files in a folder but the one at `path` itself."""
    found = sorted(file for file in folder.rglob("*") if file.is_file())
    lines = [
        f"{_of(file)}  {file.relative_to(folder).as_posix()}\n"
        for file in found
        if file != path
    ]
    files.write(path, "".join(lines).encode())


def check(folder, path, leave_out=lambda name: False):
    """Refuse a folder in which a file is not what it was.

    Args:
        folder: whose files are meant.
        path: what `write` wrote.
        leave_out: whether a file, by its name, need not be looked at.

    Raises:
        UserError: a sentence that names the file.
    """
    try:
        pairs = [line.split("  ", 1) for line in path.read_text("utf-8").splitlines()]
        names = {name: expected for expected, name in pairs}
    except (OSError, ValueError):
        raise UserError(f"{path} is damaged.") from None
    for name, expected in names.items():
        try:
            is_whole = leave_out(name) or _of(folder / name) == expected
        except (OSError, ValueError):
            is_whole = False
        if not is_whole:
            raise UserError(
                f"{folder / name} is damaged or gone (or the sums in {path} are); make "
                "it anew, or put a whole copy back."
            )


def _of(path):
    return files.digest(path, "sha256")
