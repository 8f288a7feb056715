"""Pictures as SVG that can stand inside a page: no styles, scripts or addresses of their own, colours from the page.

matplotlib writes style attributes, a style sheet that would reach the whole page, and ids that repeat from picture to
picture. Here they become presentation attributes and classes, so that the page's Content-Security-Policy can be strict
and its style sheet can colour the picture for light and dark.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from xml.etree import ElementTree as ET

from defusedxml.ElementTree import fromstring

from willowbark.tools.enclosure import visible

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


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with what it shows in words; Jupyter displays it."""

    name: str
    """Unique on a page: letters, digits and dashes."""
    caption: str
    description: str
    """What the picture shows, for those who don't see it."""
    wide: str
    """SVG for pages of 600 px and more."""
    narrow: str
    """The same for phones."""
    png: Callable[[], bytes] = field(compare=False, repr=False)
    """Draws the wide form as PNG, for documents that can't hold SVG."""

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


def element(tag: str, text: str | None = None, /, **attributes: object) -> str:
    """One element as text, escaped; `_` in attribute names stands for `-`, a trailing one is dropped.

    >>> element("text", "a < b", x=1, class_="f-ink")
    '<text x="1" class="f-ink">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items()
    )
    return f"<{tag}{written}>{escape(text)}</{tag}>" if text is not None else f"<{tag}{written}/>"


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
