"""What must be settled before TensorFlow is imported."""

import os
import warnings


def quiet(verbosity=0):
    """None; sets the environment so that a command's first words are its own.

    Call it before the first import of TensorFlow: the C++ libraries read these
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
    warnings.filterwarnings("ignore", module="tensorflow_addons")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
