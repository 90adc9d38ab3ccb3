"""How every command starts and how it ends."""

import difflib
import sys

from absl import app
from absl import flags as absl_flags

from la_tf import errors

USER_ERROR = 2
INTERRUPTED = 130


def run(main, subjects=()):
    """Never returns; parses the flags, calls `main()` and exits with its code.

    A mistake of the user's ends with one sentence on the error stream and exit code 2.

    Args:
        main: what the command does.
        subjects: the words of which the command line must have one besides its flags;
            `main` is called with it.
    """
    app.run(lambda argv: _call(main, argv[1:], subjects), flags_parser=_parse)


def fail(sentence):
    """Never returns; says what is wrong and exits with code 2."""
    sys.stderr.write(f"error: {sentence}\n")
    sys.exit(USER_ERROR)


def _parse(argv):
    try:
        return absl_flags.FLAGS(argv)
    except absl_flags.UnrecognizedFlagError as error:
        return fail(f"there is no flag --{error.flagname}; {_hint(error.flagname)}")
    except absl_flags.Error as error:
        return fail(str(error))


def _hint(name):
    close = difflib.get_close_matches(name, list(absl_flags.FLAGS), n=1)
    return f"did you mean --{close[0]}?" if close else "--help lists the flags."


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
