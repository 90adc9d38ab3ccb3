"""Mistakes that the user can mend, and the words for them."""

import difflib


class UserError(ValueError):
    """A mistake in what the user gave, told in one sentence.

    The sentence names the flag or the file and the way out. Commands print it without
    a traceback and end with a non-zero exit code.
    """


def unknown(value, options):
    """Return the sentence for a word that is none of the options."""
    options = [str(option) for option in options]
    hint = nearest(str(value).lower(), options)
    sentences = f"'{value}' is unknown; {hint}".rstrip()
    return f"{sentences} Choose one of {', '.join(options)}."


def nearest(word, options, prefix=""):
    """Return "did you mean …?" with the option most like the word, or an empty text."""
    close = difflib.get_close_matches(word, options, n=1, cutoff=0.5)
    return f"did you mean {prefix}{close[0]}?" if close else ""
