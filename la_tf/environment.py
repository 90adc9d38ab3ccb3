"""Settings of the process that TensorFlow reads once, when it is imported.

Commands, benchmarks and tests share them, so that all of them compute the same on the
same machine. What the user has set stays as it is.
"""

import os

from la_tf.errors import UserError

DEFAULTS = {
    # TensorFlow turns oneDNN on by itself only on CPUs with AVX512-VNNI; it is faster
    # on the others as well, and its results differ in the last bits.
    "TF_ENABLE_ONEDNN_OPTS": "1",
    # keras-cv is written for several backends; ours is the Keras inside TensorFlow.
    "KERAS_BACKEND": "tensorflow",
}


def settle():
    """Set what the user has left open; call it before TensorFlow is imported."""
    check()
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)


def cores():
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def check():
    """Raise a `UserError` for a setting under which Keras is not TensorFlow's own."""
    backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
    if backend != "tensorflow":
        raise UserError(
            f"KERAS_BACKEND is {backend}, but la_tf trains on TensorFlow: unset it, or "
            "set it to tensorflow."
        )
    if os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true"):
        raise UserError(
            "TF_USE_LEGACY_KERAS is set, but la_tf runs on the Keras that TensorFlow "
            "itself brings, not on tf-keras: unset it."
        )
