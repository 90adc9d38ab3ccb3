"""The page around the sections: one file that needs nothing else."""

from __future__ import annotations

import importlib.resources

import la_tf
from la_tf.report import markup

# Nothing may be fetched, whatever a name in the data might say.
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'"
)


def whole(title, lead, body):
    """Return the text of the HTML file."""
    head = markup.tag(
        "head",
        markup.Html('<meta charset="utf-8">'),
        markup.Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        markup.Html(
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
        ),
        markup.Html('<meta name="color-scheme" content="light dark">'),
        markup.tag("title", title),
        markup.tag("style", _resource("report.css")),
    )
    header = markup.tag("header", markup.tag("h1", title), markup.tag("p", lead))
    page = markup.tag(
        "body",
        header,
        markup.tag("main", *body),
        markup.tag("footer", f"Written by la_tf {la_tf.__version__}."),
        markup.tag("script", _resource("report.js")),
    )
    return f'<!doctype html>\n<html lang="en">{head}{page}</html>\n'


def _resource(name):
    files = importlib.resources.files("la_tf.report")
    return markup.Html(files.joinpath(name).read_text("utf-8"))
