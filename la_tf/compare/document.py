"""A document that is written both as Markdown and as an HTML page.

It is a list of parts; each knows both of its forms, so that the two files cannot tell
different things.
"""

from __future__ import annotations

import dataclasses

from matplotlib import figure as figures

from la_tf.report import markup, page

NAME = "compare"


@dataclasses.dataclass(frozen=True)
class Heading:
    """A heading: level 2 or 3."""

    text: str
    level: int = 2

    def markdown(self, gallery):
        del gallery
        return f"{'#' * self.level} {self.text}"

    def html(self, gallery):
        del gallery
        return markup.tag(f"h{self.level}", self.text)


@dataclasses.dataclass(frozen=True)
class Paragraph:
    """A few sentences, in which `backquotes` mark code."""

    text: str
    is_note: bool = False

    def markdown(self, gallery):
        del gallery
        return self.text

    def html(self, gallery):
        del gallery
        parts = self.text.split("`")
        # Every second one stands between two of the marks.
        parts[1::2] = [markup.tag("code", part) for part in parts[1::2]]
        return markup.tag("p", *parts, class_="note" if self.is_note else None)


@dataclasses.dataclass(frozen=True)
class Items:
    """A numbered list."""

    lines: tuple[str, ...]

    def markdown(self, gallery):
        del gallery
        return "\n".join(
            f"{number}. {line}" for number, line in enumerate(self.lines, 1)
        )

    def html(self, gallery):
        del gallery
        return markup.tag("ol", *(markup.tag("li", line) for line in self.lines))


@dataclasses.dataclass(frozen=True)
class Table:
    """A table whose first column names the rows."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self, gallery):
        del gallery
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
        rows = [f"| {' | '.join(line)} |" for line in cells]
        return "\n".join([f"**{self.caption}**", "", *rows])

    def html(self, gallery):
        del gallery
        return markup.table(self.head, self.rows, self.caption)


@dataclasses.dataclass(frozen=True, eq=False)
class Chart:
    """A figure, saved beside the document."""

    name: str
    figure: figures.Figure
    alt: str
    caption: str

    def markdown(self, gallery):
        del gallery
        return f"![{self.alt}]({self.name}.png)\n\n{self.caption}"

    def html(self, gallery):
        chart = gallery.chart(self.name, self.figure, self.alt, self.caption)
        return markup.tag("div", chart, class_="charts")


def write(gallery, title, lead, parts):
    """Write the document's two files; return their paths, Markdown first."""
    # HTML first: it is what saves the pictures.
    body = page.whole(title, lead, [part.html(gallery) for part in parts])
    texts = [f"# {title}", lead, *(part.markdown(gallery) for part in parts)]
    text = "\n\n".join(text for text in texts if text) + "\n"
    return (
        gallery.write(f"{NAME}.md", text.encode()),
        gallery.write(f"{NAME}.html", body.encode()),
    )
