"""The one kind of error that a user can mend."""


class UserError(ValueError):
    """A mistake in what the user gave, told in one sentence.

    The sentence names the flag or the file and the way out. Commands print it without
    a traceback and end with a non-zero exit code.
    """
