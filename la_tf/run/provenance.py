"""Where a run came from: what config.json says besides the values."""

import importlib.metadata
import os
import pathlib
import platform
import shlex
import sys

import la_tf
from la_tf import environment
from la_tf.errors import UserError
from la_tf.run import data_check

_PACKAGES = ("tensorflow", "keras", "keras-cv", "tensorflow-datasets", "numpy")


def record(config, source):
    """Return what config.json holds: all that repeating or using the run takes."""
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
            **data_check.fingerprint(source),
        },
        "versions": versions(),
        "machine": machine(),
        "command": command(config),
    }


def versions():
    """Return the version of Python, la_tf and the packages that matter, by name."""
    found = {"python": platform.python_version(), "la_tf": la_tf.__version__}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = _imported_version(package)
    return found


def machine():
    """Return what decides the last bits of a number besides the program and its data.

    TensorFlow takes other instructions on another type of CPU, cuts its sums into other
    pieces where it may use another number of cores, even with --deterministic, and has
    other kernels with oneDNN.
    """
    return {
        "cpu": cpu_type(),
        "cores": len(environment.cores()),
        "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS"),
    }


def cpu_type(cpuinfo=pathlib.Path("/proc/cpuinfo")):
    """Return the CPU's name and, as clouds hide behind one name, its model number."""
    try:
        lines = cpuinfo.read_text("utf-8").splitlines()
    except OSError:
        lines = []
    pairs = (line.partition(":") for line in lines)
    facts = {name.strip(): value.strip() for name, _, value in pairs}
    if "model name" not in facts:
        return platform.processor() or platform.machine()
    family, model = facts.get("cpu family"), facts.get("model")
    return f"{facts['model name']} (family {family}, model {model})"


def machine_note(record):
    """Return a line where a run goes on elsewhere than it began, None otherwise.

    Args:
        record: what config.json holds.
    """
    began, here = record.get("machine"), machine()
    if began is None or began == here:
        return None
    changes = ", ".join(
        f"{name} {began.get(name)} is now {here[name]}"
        for name in here
        if began.get(name) != here[name]
    )
    return (
        f"another type of machine than the run began on ({changes}): "
        "results may differ in the last bits from those of an unbroken run"
    )


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
    """Return the command line that repeats the run; its seed is written out."""
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
