"""Figures as files beside the page and as drawings in it."""

from __future__ import annotations

import base64
import pathlib
import re

from la_tf import drawing, files
from la_tf.errors import UserError
from la_tf.report import markup

# Colours of the figures, and what the page's style sheet calls them.
_COLOURS = {
    "#ffffff": "none",
    drawing.INK: "currentColor",
    drawing.GRID: "var(--grid)",
    **{colour: f"var(--series-{n})" for n, colour in enumerate(drawing.SERIES)},
}
_DROPPED = re.compile(
    r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<\?xml.*?\?>|<!DOCTYPE.*?>",
    re.DOTALL,
)


class Gallery:
    """The folder that a report is written to.

    Args:
        path: of the folder.
        flag: the flag that chose it.
    """

    def __init__(self, path, flag="report_dir"):
        self.path = pathlib.Path(path)
        self._flag = flag
        self.names = []

    def write(self, name, data):
        """Write a file, whole or not at all, and return its path."""
        path = self.path / name
        try:
            files.write(path, data)
        except OSError as error:
            raise UserError(
                f"--{self._flag}={self.path} cannot be written ({error.strerror}); "
                f"choose another --{self._flag}."
            ) from None
        return path

    def save(self, name, figure):
        """Save a figure; return the bytes of its PNG file and the text of its SVG."""
        png, svg = drawing.png(figure), drawing.svg(figure)
        self.write(f"{name}.png", png)
        self.write(f"{name}.svg", svg.encode())
        self.names.append(name)
        return png, svg

    def chart(self, name, figure, alt, caption=None):
        """Save a figure and return it as HTML in the page's own colours."""
        _, svg = self.save(name, figure)
        drawn = inline(svg, name, alt)
        under = [markup.tag("figcaption", caption)] if caption else []
        return markup.tag("figure", drawn, *under, class_="chart")

    def picture(self, name, figure, alt):
        """Return the figure as HTML in its own colours, on white; also saved."""
        png, _ = self.save(name, figure)
        data = base64.b64encode(png).decode()
        image = markup.tag("img", src=f"data:image/png;base64,{data}", alt=alt)
        return markup.tag("figure", image, class_="drawing")


def inline(svg, name, alt):
    """Return an SVG file's text as an element of a page.

    Its colours become the page's, and its names get a prefix: all drawings of a page
    share one space of names.
    """
    svg = _DROPPED.sub("", svg)
    prefix = re.sub(r"\W", "-", name) + "-"
    svg = re.sub(r'(\bid=")', rf"\g<1>{prefix}", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", svg)
    for colour, other in _COLOURS.items():
        svg = svg.replace(f": {colour}", f": {other}")
    box = re.search(r'viewBox="[^"]+"', svg).group()
    label = markup.tag("svg", role="img", aria_label=alt)
    opening = label.replace("<svg", f"<svg {box}").replace("></svg>", ">")
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    return markup.Html(opening + re.sub(r"\s+", " ", body).strip())
