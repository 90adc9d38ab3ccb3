"""What must be settled before TensorFlow is imported."""

import contextlib
import io
import os
import sys
import warnings

from absl import logging


def quiet(verbosity=0):
    """None; imports TensorFlow and keras-cv, without their chatter.

    Call it before anything else imports TensorFlow: the C++ libraries read these
    variables once. Whatever the user has set stays as it is.

    Args:
        verbosity: 1 or more leaves the libraries' own messages on.
    """
    # TensorFlow turns oneDNN on by itself only on CPUs with AVX512-VNNI; it is faster
    # on the others as well.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    # keras-cv is written for several backends; ours is the Keras inside TensorFlow.
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    if verbosity >= 1:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    logging.set_verbosity(logging.ERROR)
    warnings.filterwarnings("ignore", module="tensorflow_addons")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    with contextlib.redirect_stdout(io.StringIO()):
        # It announces its backend.
        import keras_cv  # noqa: F401


def hush_compiler():
    """None; takes from XLA the line by which it announces its first compilation.

    It is written once in a process, past all settings of logging: so here a first,
    tiny program is compiled with the error stream closed. Devices must be settled.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "3":
        return
    import tensorflow as tf

    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        tf.function(tf.identity, jit_compile=True)(tf.constant(0))
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
