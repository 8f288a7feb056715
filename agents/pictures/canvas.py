"""Where matplotlib draws a report's pictures: one figure for wide pages, one for phones, as SVG fit for a page.

Same report, same bytes: nothing of the clock, the machine's fonts or a random number goes in. matplotlib writes style
attributes, a style sheet that would reach the whole page, and ids that repeat from picture to picture. Here they become
presentation attributes and classes, so that the page's Content-Security-Policy can be strict and its style sheet can
colour the picture for light and dark.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from defusedxml.ElementTree import fromstring
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from willowbark.tools.enclosure import visible

from .figures import Plot

INK = "#16181d"
COLOURS = {
    INK: "ink",
    "#59616e": "muted",
    "#d5d9e0": "rule",
    "#1d6fb8": "supports",
    "#c2410c": "contradicts",
    "#6d7480": "undecided",
    "#0f766e": "review",
    "#7a5195": "observed",
    "#9a6412": "experiment",
    "#a23b72": "other",
}
"""Colours that pictures are drawn in, and the classes that the page colours anew; readable on white by themselves."""
NAMES = {name: colour for colour, name in COLOURS.items()}

_KEPT_STYLES = frozenset(
    "fill stroke stroke-width stroke-dasharray stroke-dashoffset stroke-linejoin stroke-linecap stroke-miterlimit "
    "opacity fill-opacity stroke-opacity text-anchor font-size font-weight font-style".split()
)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold: https://www.w3.org/TR/xml/#charsets."""
_DROPPED_TAGS = frozenset({"metadata", "style", "script", "foreignObject", "image", "a"})
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


@dataclass(frozen=True)
class Picture:
    """A picture with what it shows in words, each form drawn when it is wanted; Jupyter displays it."""

    name: str
    """Unique on a page: letters, digits and dashes."""
    caption: str
    description: str
    """What the picture shows, for those who don't see it."""
    draw: Callable[[Axes, float], None]
    """Draws on axes of a width in inches."""
    heights: tuple[float, float]
    """Of the wide and the narrow form, in inches."""

    @cached_property
    def wide(self) -> str:
        """SVG for pages of 600 px and more."""
        return cleaned(_svg(self.draw, WIDE, self.heights[0]), f"{self.name}-wide", self.description)

    @cached_property
    def narrow(self) -> str:
        """The same for phones."""
        return cleaned(_svg(self.draw, NARROW, self.heights[1]), f"{self.name}-narrow", self.description)

    @cached_property
    def png(self) -> bytes:
        """The wide form on white, for documents that can't hold SVG."""
        file = io.BytesIO()
        with _figure(self.draw, WIDE, self.heights[0]) as figure:
            figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.wide.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def cleaned(svg: str, name: str, description: str) -> str:
    """Make matplotlib's SVG fit for a page.

    Args:
        svg: as matplotlib wrote it.
        name: goes in front of the ids that are left.
        description: the picture in words.
    """
    root = fromstring(_NOT_XML.sub("", visible(svg)))
    _prune(root)
    used = set(re.findall(r"#([\w.-]+)", " ".join(v for e in root.iter() for k, v in e.attrib.items() if k != "id")))
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]
        element.attrib = _attributes(element, name, used)
    box = root.get("viewBox", "0 0 100 100")
    root.attrib = {
        **opening(name, box, description),
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
    }
    return ET.tostring(root, encoding="unicode")


def opening(name: str, view_box: str, description: str) -> dict[str, str]:
    """The attributes of a picture's root."""
    told = _NOT_XML.sub("", visible(description))
    return {"class": f"picture {name}", "viewBox": view_box, "role": "img", "aria-label": told}


def _prune(element: ET.Element) -> None:
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] in _DROPPED_TAGS:
            element.remove(child)
        else:
            _prune(child)


def _attributes(element: ET.Element, name: str, used: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    classes: list[str] = []
    for key, value in [*element.attrib.items(), *_styles(element.get("style", ""))]:
        plain = key.rpartition("}")[2]
        if plain == "id":
            if value in used:
                found["id"] = f"{name}-{value}"
        elif plain == "style" or plain.startswith("on"):
            continue
        elif plain == "href":
            if value.startswith("#"):
                found["href"] = f"#{name}-{value[1:]}"
        elif plain in ("fill", "stroke") and value.lower() in COLOURS:
            found[plain] = value.lower()
            classes.append(f"{plain[0]}-{COLOURS[value.lower()]}")
        else:
            found[plain] = re.sub(r"url\(#([\w.-]+)\)", rf"url(#{name}-\1)", value)
    return {**found, "class": " ".join(classes)} if classes else found


def _styles(style: str) -> list[tuple[str, str]]:
    pairs = [(key.strip(), value.strip()) for key, _, value in (each.partition(":") for each in style.split(";"))]
    shorthand = re.search(r"(?:^|;)\s*font:[^;]*?(\d+(?:\.\d+)?)px", style)
    size = [("font-size", shorthand[1])] if shorthand else []
    return size + [(key, value.removesuffix("px")) for key, value in pairs if key in _KEPT_STYLES and value]


def picture(plot: Plot, draw: Callable[[Axes, float], None], *, wide_height: float, narrow_height: float) -> Picture:
    """A plot to be drawn in both widths; heights are in inches."""
    return Picture(plot.name, plot.caption, plot.description, draw, (wide_height, narrow_height))


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
