"""Small pieces of HTML; all text that goes in is escaped here."""

from __future__ import annotations

import base64
import html
import io

from PIL import Image

# Larger pictures are shrunk: a page holds dozens of them.
_LONGEST_SIDE = 112


class Html(str):
    """Text that is HTML already."""


def text(value):
    """Return a value as HTML: escaped, unless it is `Html`."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def tag(name, *children, **attributes):
    """Return an element; `_` in an attribute's name is `-`, a last one is dropped."""
    words = [name]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(key)
        elif value not in (None, False):
            words.append(f'{key}="{html.escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    if name in ("img", "input"):
        return Html(start)
    return Html(f"{start}{join(children)}</{name}>")


def join(children, separator=""):
    """Return pieces of HTML or of plain text, one after the other."""
    return Html(separator.join(text(child) for child in children))


def section(level, title, *children, note=None):
    """Return a section under a heading of that level, with a note on what it shows."""
    about = [tag("p", note, class_="note")] if note else []
    return tag("section", tag(f"h{level}", title), *about, *children)


def table(head, rows, caption, class_=None):
    """Return a table whose first column names the rows."""
    header = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell) for cell in row[1:]),
        )
        for row in rows
    ]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", header),
            tag("tbody", *body),
        ),
        class_=f"table {class_ or ''}".strip(),
        role="region",
        aria_label=caption,
        tabindex=0,
    )


def picture(pixels, alt):
    """Return an image element that carries its pixels, uint8 [H, W, C], with it."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE), Image.LANCZOS)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    data = base64.b64encode(file.getvalue()).decode()
    return tag(
        "img",
        src=f"data:image/png;base64,{data}",
        alt=alt,
        width=image.width,
        height=image.height,
    )


def tile(pixels, alt, *lines, class_=None):
    """Return a picture with lines of text under it."""
    caption = tag("figcaption", join(lines, Html("<br>")))
    return tag("figure", picture(pixels, alt), caption, class_=class_)


def tiles(*children, class_=None):
    """Return tiles side by side, in as many rows as the page's width asks for."""
    return tag("div", *children, class_=f"tiles {class_ or ''}".strip())
