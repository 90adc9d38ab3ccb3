"""Many small pictures on one sheet, in rows, with words under each.

Drawn by Pillow and not as a figure: every pixel of a small image becomes a square of
whole pixels, so that the sheet shows exactly what a network is given.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import pathlib

import matplotlib
from PIL import Image, ImageDraw, ImageFont

TILE_SIDE = 112
LARGEST_TILE = 160
GAP = 8
MARGIN = 20
TEXT_SIZE, TITLE_SIZE = 12, 18
LINE = 16

PAPER, INK, MUTED, EDGE = "#ffffff", "#1b1f24", "#57606a", "#c8ced6"


@dataclasses.dataclass(frozen=True)
class Row:
    """Pictures side by side.

    Attributes:
        tiles: uint8 arrays `[H, W, C]`, all of one shape.
        captions: under each tile a text, its lines separated by newlines.
        heading: at the left of the row, its lines separated by newlines.
        first_column: where the first tile stands.
    """

    tiles: list
    captions: list
    heading: str = ""
    first_column: int = 0


def draw(title, subtitle, rows, columns=()):
    """Draw the sheet and return it, a Pillow image.

    Args:
        title, subtitle: above everything.
        rows: the `Row`s.
        columns: words above the columns.
    """
    layout = _Layout(rows)
    top = MARGIN + TITLE_SIZE + 2 * LINE + (LINE if columns else 0) + GAP
    height = top + sum(layout.row_height(row) for row in rows) + MARGIN - GAP
    width = max(layout.width, 2 * MARGIN + _text_width(subtitle))
    sheet = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((MARGIN, MARGIN), title, INK, _font(TITLE_SIZE))
    pen.text((MARGIN, MARGIN + TITLE_SIZE + GAP), subtitle, MUTED, _font(TEXT_SIZE))
    for column, heading in enumerate(columns):
        place = (layout.middle(column), top - LINE - 2)
        pen.text(place, heading, MUTED, _font(TEXT_SIZE), anchor="ma")
    for row in rows:
        _draw_row(sheet, pen, layout, row, top)
        top += layout.row_height(row)
    return sheet


class _Layout:
    """Where things stand on a sheet of these rows."""

    def __init__(self, rows):
        headings = max(_text_width(row.heading) for row in rows)
        self.left = MARGIN + (headings + 2 * GAP if headings else 0)
        self.tile = _tile_size(rows[0].tiles[0])
        columns = max(row.first_column + len(row.tiles) for row in rows)
        self.width = self.left + columns * (self.tile[0] + GAP) - GAP + MARGIN

    def left_edge(self, column):
        return self.left + column * (self.tile[0] + GAP)

    def middle(self, column):
        return self.left_edge(column) + self.tile[0] // 2

    def row_height(self, row):
        lines = max(caption.count("\n") + 1 for caption in row.captions)
        return self.tile[1] + lines * LINE + 2 * GAP


def _draw_row(sheet, pen, layout, row, top):
    width, height = layout.tile
    middle = top + height // 2
    pen.text(
        (MARGIN, middle), row.heading, INK, _font(TEXT_SIZE, bold=True), anchor="lm"
    )
    pairs = zip(row.tiles, row.captions)
    for column, (tile, caption) in enumerate(pairs, row.first_column):
        left = layout.left_edge(column)
        sheet.paste(_scaled(tile, layout.tile), (left, top))
        # An edge, or white pictures would have no border on the paper.
        pen.rectangle((left - 1, top - 1, left + width, top + height), outline=EDGE)
        for number, line in enumerate(caption.split("\n")):
            place = (layout.middle(column), top + height + 4 + number * LINE)
            text = _fitted(line, width + GAP - 2)
            pen.text(place, text, INK, _font(TEXT_SIZE), anchor="ma")


def _tile_size(tile):
    """Return the tiles' width and height, whole multiples of a small image's own."""
    height, width = tile.shape[:2]
    side = max(height, width)
    if side > LARGEST_TILE:
        scale = LARGEST_TILE / side
        return max(1, round(width * scale)), max(1, round(height * scale))
    factor = max(1, round(TILE_SIDE / side))
    return width * factor, height * factor


def _scaled(tile, size):
    picture = Image.fromarray(tile[..., 0] if tile.shape[-1] == 1 else tile)
    larger = size[0] >= picture.width
    method = Image.Resampling.NEAREST if larger else Image.Resampling.LANCZOS
    return picture.convert("RGB").resize(size, method)


def _fitted(text, width):
    """Return the text, shortened where it is wider than `width` pixels."""
    if _text_width(text) <= width:
        return text
    while text and _text_width(text + "…") > width:
        text = text[:-1]
    return text + "…"


def _text_width(text):
    font = _font(TEXT_SIZE, bold=True)
    return max(math.ceil(font.getlength(line)) for line in text.split("\n"))


@functools.lru_cache(maxsize=8)
def _font(size, bold=False):
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    # matplotlib carries it, with the signs that the captions need.
    folder = pathlib.Path(matplotlib.get_data_path(), "fonts", "ttf")
    return ImageFont.truetype(str(folder / name), size)
