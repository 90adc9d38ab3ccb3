"""Pictures of what a run learned, drawn without a display.

TensorBoard and the report show the same two: the prior as a heat map, and a strip of
views with words under each. Both keep their figure, so that showing another epoch costs
a drawing and not a layout.
"""

from __future__ import annotations

import io
import math
import warnings

import matplotlib
import numpy as np
from matplotlib import figure as figures
from matplotlib.backends import backend_agg

# The report gives these colours others in the dark; see report/report.css.
INK = "#1b1f24"
GRID = "#d5dae0"
SERIES = (
    "#0b62b8",
    "#c2410c",
    "#15803d",
    "#7e22ce",
    "#b91c5c",
    "#0e7490",
    "#854d0e",
    "#4b5563",
)
COLOUR_MAP = "viridis"
DIFFERENCE_MAP = "RdBu_r"

_STYLE = {
    "axes.edgecolor": INK,
    # An axis without numbers to add to its numbers in the head.
    "axes.formatter.useoffset": False,
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.color": GRID,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "la_tf",
    "text.color": INK,
    # A class may be called $a_{$.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


def style():
    """Return a context in which figures are made and saved in the project's style."""
    return matplotlib.rc_context(_STYLE)


def new_figure(width, height):
    """Return an empty figure of a size in inches that arranges itself."""
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    backend_agg.FigureCanvasAgg(figure)
    return figure


def pixels(figure):
    """Return the figure as uint8 [height, width, 3]."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()


def png(figure):
    """Return the figure as the bytes of a PNG file."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # A sign that the font has not is drawn as a box, and that can be seen.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(file, format="png", dpi=160, metadata={"Software": None})
    return file.getvalue()


def svg(figure):
    """Return the figure as the text of an SVG file, always the same text."""
    file = io.StringIO()
    with style():
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


class HeatMap:
    """The prior as 16 by 16 cells: rows by first operation, columns by second.

    A cell's colour is its policy's probability as a multiple of the uniform one.

    Args:
        operations: the sixteen names.
        limits: the multiples at the two ends of the colours.
        difference: show what one prior has more or less than another, around 0.
    """

    def __init__(self, operations, limits=(0.0, 2.0), difference=False):
        self._side = len(operations)
        with style():
            self.figure = new_figure(4.9, 4.3)
            axes = self.figure.add_subplot()
            self._image = axes.imshow(
                np.ones([self._side] * 2),
                cmap=DIFFERENCE_MAP if difference else COLOUR_MAP,
                vmin=limits[0],
                vmax=limits[1],
                interpolation="nearest",
            )
            axes.set_xticks(range(self._side), operations, rotation=90, fontsize=8)
            axes.set_yticks(range(self._side), operations, fontsize=8)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            axes.set_xlabel("second operation")
            axes.set_ylabel("first operation")
            # Room for the title: a difference names two runs, in two lines.
            self._title = axes.set_title(" \n " if difference else " ")
            bar = self.figure.colorbar(self._image, shrink=0.8, extend="both")
            bar.set_label("times uniform" + difference * ", more or less")
            bar.outline.set_visible(False)
        _fix_layout(self.figure)

    def show(self, prior, title):
        """Draw this prior, [policies], and return the figure."""
        multiples = np.reshape(prior, [self._side] * 2) * self._side**2
        self._image.set_data(multiples)
        self._title.set_text(title)
        return self.figure


class ViewStrip:
    """Pictures in rows, each with a few words under it.

    Args:
        pictures: uint8 [rows, columns, H, W, C].
        lines: room under each picture.
    """

    def __init__(self, pictures, lines):
        rows, columns = pictures.shape[:2]
        with style():
            self.figure = new_figure(1.25 * columns, (1.15 + 0.14 * lines) * rows)
            grid = self.figure.subplots(rows, columns, squeeze=False)
            self._captions = []
            for axes, picture in zip(grid.flat, _flat(pictures)):
                axes.imshow(picture, cmap="gray", vmin=0, vmax=255)
                axes.set_axis_off()
                caption = axes.set_title("\n" * (lines - 1), fontsize=7.5, y=0, pad=-4)
                caption.set_verticalalignment("top")
                self._captions.append(caption)
        _fix_layout(self.figure)

    def show(self, captions):
        """Write these words, a list [rows][columns], and return the figure."""
        flat = [caption for row in captions for caption in row]
        for artist, text in zip(self._captions, flat):
            artist.set_text(text)
        return self.figure


def limits_of(priors):
    """Return round multiples of uniform that nearly all probabilities lie between."""
    multiples = np.asarray(priors, np.float64) * np.shape(priors)[-1]
    low, high = np.quantile(multiples, [0.005, 0.995])
    low, high = min(low, 0.9), max(high, 1.1)
    return math.floor(low * 10) / 10, math.ceil(high * 10) / 10


def _flat(pictures):
    flat = np.reshape(pictures, [-1, *pictures.shape[2:]])
    return flat[..., 0] if flat.shape[-1] == 1 else flat


def _fix_layout(figure):
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
