"""How every command starts and how it ends."""

import contextlib
import io
import logging as standard_logging
import os
import sys
import tempfile
import traceback
import warnings

from absl import app, logging
from absl import flags as absl_flags

from la_tf import environment, errors

UNEXPECTED_ERROR = 1
USER_ERROR = 2
INTERRUPTED = 130


def run(main, subjects=()):
    """Parse the flags, call `main()` and exit with its code; never return.

    A mistake of the user's ends with one sentence on the error stream and exit code 2.
    An error that nobody foresaw ends with one line and exit code 1; its traceback is in
    a file that the line names.

    Args:
        main: what the command does.
        subjects: the words of which the command line must have one besides its flags;
            `main` is called with it.
    """
    app.run(lambda argv: _call(main, argv[1:], subjects), flags_parser=_parse)


def load_tensorflow(verbosity=0):
    """Import TensorFlow and keras-cv without their chatter.

    Call it before anything else imports TensorFlow: the C++ libraries read their
    environment variables once. Whatever the user has set stays as it is.

    Args:
        verbosity: 1 or more leaves the libraries' own messages on.
    """
    environment.settle()
    if verbosity >= 1:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    logging.set_verbosity(logging.ERROR)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import_quietly()
    # In a notebook it would tell of every file that it writes.
    standard_logging.getLogger("tensorflow").setLevel(standard_logging.ERROR)


def import_quietly():
    """Import keras-cv, and TensorFlow with it, without what they announce."""
    with contextlib.redirect_stdout(io.StringIO()), error_stream_closed():
        # keras-cv announces its backend; TensorFlow speaks past all settings before
        # its own logging begins.
        import keras_cv  # noqa: F401


def hush_compiler():
    """Take from XLA the line by which it announces its first compilation.

    It is written once in a process, past all settings of logging: so here a first,
    tiny program is compiled with the error stream closed. Devices must be settled.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "3":
        return
    import tensorflow as tf

    with error_stream_closed():
        tf.function(tf.identity, jit_compile=True)(tf.constant(0))


@contextlib.contextmanager
def error_stream_closed():
    """Let nothing through to the error stream, not even from C++."""
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


def show(page):
    """Print a page, as far as the reader wants it: `head` closes the pipe early."""
    try:
        sys.stdout.write(page)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try once more to write what is left, at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(sentence):
    """Say what is wrong and exit with code 2; never return."""
    sys.stderr.write(f"error: {sentence}\n")
    sys.exit(USER_ERROR)


def _parse(argv):
    try:
        return absl_flags.FLAGS(argv)
    except absl_flags.UnrecognizedFlagError as error:
        hint = errors.nearest(error.flagname, list(absl_flags.FLAGS), prefix="--")
        hint = hint or "--help lists the flags."
        return fail(f"there is no flag --{error.flagname}; {hint}")
    except (absl_flags.Error, OSError, ValueError) as error:
        # Some of absl's own flags, such as --stderrthreshold, raise a plain ValueError.
        return fail(" ".join(str(error).split()))


def _call(main, words, subjects):
    if subjects and (len(words) != 1 or words[0] not in subjects):
        fail(f"name one of these: {', '.join(subjects)}.")
    if words and not subjects:
        fail(f"'{words[0]}' is not a flag; flags are written --name=value.")
    try:
        return main(*words)
    except errors.UserError as error:
        return fail(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return sys.exit(INTERRUPTED)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return fail(f"{named}{error.strerror or error}.")
    except Exception as error:
        return _fail_unexpectedly(error)


def _fail_unexpectedly(error):
    """Say in a line what happened, keep the traceback in a file, exit with code 1."""
    said = " ".join(str(error).split())[:200]
    line = f"unexpected error: {type(error).__name__}: {said}"
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(
            "w", prefix="la_tf-", suffix=".log", delete=False, encoding="utf-8"
        ) as log:
            log.write(f"{sys.argv}\n")
            traceback.print_exception(type(error), error, error.__traceback__, file=log)
        line += f" (details in {log.name}; please report it)"
    sys.stderr.write(f"{line}\n")
    sys.exit(UNEXPECTED_ERROR)
