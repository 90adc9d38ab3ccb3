"""Settings of the process that TensorFlow reads once, when it is imported.

Commands, benchmarks and tests share them, so that all of them compute the same on the
same machine. What the user has set stays as it is.
"""

import os

DEFAULTS = {
    # TensorFlow turns oneDNN on by itself only on CPUs with AVX512-VNNI; it is faster
    # on the others as well, and its results differ in the last bits.
    "TF_ENABLE_ONEDNN_OPTS": "1",
    # keras-cv is written for several backends; ours is the Keras inside TensorFlow.
    "KERAS_BACKEND": "tensorflow",
}


def settle():
    """Set what the user has left open; call it before TensorFlow is imported."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
