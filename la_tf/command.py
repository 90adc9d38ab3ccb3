"""How every command starts and how it ends."""

import sys

from absl import app
from absl import flags as absl_flags

from la_tf import errors

USER_ERROR = 2
INTERRUPTED = 130


def run(main):
    """Never returns; parses the flags, calls `main()` and exits with its code.

    A mistake of the user's ends with one sentence on the error stream and exit code 2.
    """
    app.run(lambda argv: _call(main, argv), flags_parser=_parse)


def fail(sentence):
    """Never returns; says what is wrong and exits with code 2."""
    sys.stderr.write(f"error: {sentence}\n")
    sys.exit(USER_ERROR)


def _parse(argv):
    try:
        return absl_flags.FLAGS(argv)
    except absl_flags.UnrecognizedFlagError as error:
        name = error.flagname
        hint = f"; did you mean {_options(error.suggestions)}?"
        ending = hint if error.suggestions else "; --help lists the flags."
        return fail(f"there is no flag --{name}{ending}")
    except absl_flags.Error as error:
        return fail(str(error))


def _options(names):
    return " or ".join(f"--{name}" for name in names)


def _call(main, argv):
    if len(argv) > 1:
        fail(f"'{argv[1]}' is not a flag; flags are written --name=value.")
    try:
        return main()
    except errors.UserError as error:
        return fail(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return sys.exit(INTERRUPTED)
