"""Where a run came from: what config.json says besides the values."""

import importlib.metadata
import platform
import shlex
import sys

import la_tf
from la_tf.errors import UserError

_PACKAGES = ("tensorflow", "keras", "keras-cv", "tensorflow-datasets", "numpy")


def record(config, source):
    """What config.json holds: all that is needed to repeat the run or to use it."""
    return {
        "config": config.values(),
        "origins": dict(config.origins),
        "data": {
            "class_names": list(source.class_names),
            "image_shape": list(source.image_shape),
            "mean": [float(value) for value in source.mean],
            "std": [float(value) for value in source.std],
            "train_images": int(source.train.size),
            "test_images": int(source.test.size),
            "skipped_images": int(source.skipped),
        },
        "versions": versions(),
        "command": command(config),
    }


def versions():
    """The version of Python, of la_tf and of the packages that matter, by name."""
    found = {"python": platform.python_version(), "la_tf": la_tf.__version__}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = _imported_version(package)
    return found


def check_keras(folder):
    """Raise a `UserError` for a run of the other generation of Keras.

    Keras 2 and 3 lay out a network's variables differently in a checkpoint.
    """
    there = folder.record().get("versions", {}).get("keras", "unknown")
    here = versions()["keras"]
    if "unknown" not in (there, here) and there.split(".")[0] != here.split(".")[0]:
        raise UserError(
            f"the run in {folder.path} was trained on Keras {there}, whose checkpoints "
            f"Keras {here} does not read; use it where it was trained, or export it "
            "there: a SavedModel serves both."
        )


def command(config):
    """The command line that repeats the run; its seed is written out."""
    chosen = {
        name: value
        for name, value in config.values().items()
        if config.origins.get(name) == "chosen" and name not in ("run_dir", "resume")
    }
    chosen["seed"] = config.seed
    words = [f"--{name}={value}" for name, value in chosen.items() if value is not None]
    return shlex.join(["python", "-m", "la_tf.train", *words])


def _imported_version(package):
    # Builds such as tensorflow-cpu are distributed under another name.
    return getattr(sys.modules.get(package.replace("-", "_")), "__version__", "unknown")
