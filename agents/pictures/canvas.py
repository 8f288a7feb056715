"""Where matplotlib draws a report's pictures: settings, and one figure for wide pages and one for phones.

Same report, same bytes: nothing of the clock, the machine's fonts or a random number goes in.
"""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from willowbark.tools.enclosure import visible

from .svg import INK, NAMES, Picture, cleaned

DPI = 200  # of PNGs: sharp in print at the width of a page
WIDE, NARROW = 7.4, 3.3  # inches; shown at 740 px and 330 px a picture's letters come out at 12 px or more
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "willowbark",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": NAMES["muted"],
    "axes.labelcolor": INK,
    "xtick.color": NAMES["muted"],
    "ytick.color": NAMES["muted"],
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "legend.frameon": False,
}


def picture(
    name: str,
    caption: str,
    description: str,
    draw: Callable[[Axes, float], None],
    *,
    wide_height: float,
    narrow_height: float,
) -> Picture:
    """Draw for both widths; heights are in inches."""
    wide = cleaned(_svg(draw, WIDE, wide_height), f"{name}-wide", description)
    narrow = cleaned(_svg(draw, NARROW, narrow_height), f"{name}-narrow", description)
    return Picture(name, caption, description, wide, narrow, partial(png, draw, wide_height))


def png(draw: Callable[[Axes, float], None], height: float) -> bytes:
    """Draw the wide form as PNG on white; the height is in inches."""
    file = io.BytesIO()
    with _figure(draw, WIDE, height) as figure:
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    return file.getvalue()


def _svg(draw: Callable[[Axes, float], None], width: float, height: float) -> str:
    file = io.StringIO()
    with _figure(draw, width, height) as figure:
        figure.patch.set_visible(False)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


@contextmanager
def _figure(draw: Callable[[Axes, float], None], width: float, height: float) -> Iterator[Figure]:
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the measuring font lacks are the reader's font's to show
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        draw(axes, width)
        yield figure


def cut(text: str, length: int) -> str:
    """A text in one line of so many characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"
