"""A command's --help: one line a flag, grouped by concern."""

import sys
import textwrap

from absl import app
from absl import flags as absl_flags

from la_tf import cli

WIDTH = 80
COLUMN = 25


class _Help(app.HelpFlag):
    """--help that prints a command's own page and ends the program."""

    def __init__(self, page):
        super().__init__()
        self.allow_override = True
        self.short_name = "h"
        self._page = page

    def parse(self, argument):
        if self._parse(argument):
            cli.show(self._page())
            sys.exit(0)


def install(usage, groups):
    """Make `--help` print the usage and the groups of flags.

    Args:
        usage: the lines above the flags.
        groups: pairs of a heading and the names of the flags below it.
    """
    # absl defines its own --help once, at the latest when the program starts.
    app.define_help_flags()
    absl_flags.DEFINE_flag(_Help(lambda: page(usage, groups)), module_name="help")


def page(usage, groups):
    """Return the text of a command's help."""
    lines = [usage, ""]
    for heading, names in groups:
        lines.append(f"{heading}:")
        lines.extend(_line(absl_flags.FLAGS[name]) for name in names)
    return "\n".join(lines) + "\n"


def _line(flag):
    name = f"  --{flag.name}".ljust(COLUMN)
    default = "" if flag.default in (None, False) else f" ({flag.default})"
    return textwrap.fill(
        f"{name} {flag.help}{default}",
        WIDTH,
        subsequent_indent=" " * (COLUMN + 1),
        break_on_hyphens=False,
    )
