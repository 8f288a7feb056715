"""Pictures without axes: the way from a drug over its target and pathway to the disease."""

import textwrap
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from willowbark.tools.enclosure import visible
from willowbark.tools.questions.query import parse_question

from ..report.model import NOT_REPORTED, ResearchReport
from .canvas import WIDE, png
from .svg import NAMES, Picture, element, opening

_LINE = 17  # units from line to line of text
_PAD = 12  # units between a box and its text
_WIDTH, _GAP = 156, 32  # units of a box, and from box to box, where they stand side by side


class Step(NamedTuple):
    """One stop on the way."""

    kind: str
    name: str
    note: str = ""

    @property
    def is_known(self) -> bool:
        """Whether a source names it."""
        return self.name != NOT_REPORTED


def mechanism_steps(report: ResearchReport, drug: str) -> tuple[Step, ...]:
    """Drug, target, pathway, disease as the report has them; empty where no mechanism was found."""
    for tested in report.hypotheses_tested:
        if tested.get("drug") == drug:
            told = {name: str(tested.get(name) or NOT_REPORTED) for name in ("target", "pathway", "effect")}
            effect = "" if told["effect"] == NOT_REPORTED else told["effect"]
            return (
                Step("drug", drug),
                Step("target", told["target"], effect),
                Step("pathway", told["pathway"]),
                Step("disease", _condition(report.research_question)),
            )
    return ()


def _condition(question: str) -> str:
    """The condition asked about, in the question's words where no condition is known in them."""
    asked = parse_question(question)
    return " and ".join(asked.conditions) or " ".join(asked.terms) or question


def mechanism_path(name: str, steps: Sequence[Step]) -> Picture:
    """Draw the steps as boxes with arrows, side by side for wide pages and below each other for phones.

    Args:
        name: unique on a page.
        steps: drug, target, pathway, disease; those not reported are drawn with dashes.
    """
    told = " → ".join(f"{step.kind}: {step.name}" for step in steps)
    description = f"Mechanism path, {told}."
    known = "as the drug databases give it; dashed: not reported"
    return Picture(
        name,
        f"Mechanism path, {known}",
        description,
        _side_by_side(f"{name}-wide", steps, description),
        _stacked(f"{name}-narrow", steps, description),
        partial(_as_png, steps),
    )


def _as_png(steps: Sequence[Step]) -> bytes:
    """The steps side by side, drawn by matplotlib."""
    boxes = [_wrapped(step, 16, 18) for step in steps]
    height = max(_height(lines) for lines in boxes)
    total = len(steps) * _WIDTH + (len(steps) - 1) * _GAP
    return png(lambda axes, _: _draw(axes, steps, boxes, height, total), WIDE * (height + 8) / (total + 8))


def _draw(axes: Axes, steps: Sequence[Step], boxes: Sequence[list[str]], height: float, total: float) -> None:
    axes.set(xlim=(-4, total + 4), ylim=(height + 4, -4))
    axes.set_axis_off()
    for n, (step, lines) in enumerate(zip(steps, boxes, strict=True)):
        x, ink = n * (_WIDTH + _GAP), "ink" if step.is_known else "muted"
        edge, style = ("supports", "-") if step.is_known else ("muted", "--")
        axes.add_patch(Rectangle((x, 0), _WIDTH, height, fill=False, edgecolor=NAMES[edge], linestyle=style))
        axes.text(x + _PAD, _PAD, step.kind, color=NAMES["muted"], va="top", fontsize=7)
        note_at = lines.index("") if "" in lines else len(lines)
        weight = "bold" if step.is_known else "normal"
        axes.text(x + _PAD, _PAD + _LINE, "\n".join(lines[:note_at]), color=NAMES[ink], va="top", weight=weight)
        note = "\n".join(lines[note_at + 1 :])
        axes.text(x + _PAD, _PAD + _LINE * (note_at + 2), note, color=NAMES["muted"], va="top")
        if n:
            arrow = {"arrowstyle": "-|>", "color": NAMES["muted"], "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", (x - 3, height / 2), (x - _GAP + 3, height / 2), arrowprops=arrow)


def _side_by_side(name: str, steps: Sequence[Step], description: str) -> str:
    width, gap = _WIDTH, _GAP
    boxes = [_wrapped(step, 16, 18) for step in steps]
    height = max(_height(lines) for lines in boxes)
    parts = []
    for n, (step, lines) in enumerate(zip(steps, boxes, strict=True)):
        x = 2 + n * (width + gap)
        parts += _box(step, lines, x, 2, width, height)
        if n:
            parts += _arrow(x - gap + 3, 2 + height / 2, x - 3, 2 + height / 2)
    total = 4 + len(steps) * width + (len(steps) - 1) * gap
    return _whole(name, total, height + 4, parts, description)


def _stacked(name: str, steps: Sequence[Step], description: str) -> str:
    width, gap = 336, 26
    parts, y = [], 2.0
    for n, step in enumerate(steps):
        lines = _wrapped(step, 34, 41)
        if n:
            parts += _arrow(2 + width / 2, y - gap + 3, 2 + width / 2, y - 3)
        parts += _box(step, lines, 2, y, width, _height(lines))
        y += _height(lines) + gap
    return _whole(name, width + 4, y - gap + 2, parts, description)


def _whole(name: str, width: float, height: float, parts: list[str], description: str) -> str:
    head = element("svg", "", **{k.replace("class", "class_"): v for k, v in
                                 opening(name, f"0 0 {width:g} {height:g}", description).items()})  # fmt: skip
    return head.removesuffix("</svg>") + "".join(parts) + "</svg>"


def _wrapped(step: Step, name_width: int, note_width: int) -> list[str]:
    note = _lines(step.note, note_width)
    return [*_lines(step.name, name_width), *([""] if note else []), *note]


def _lines(text: str, width: int) -> list[str]:
    """A text in at most six lines of so many Latin letters, or half as many of the wide ones."""
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    return textwrap.wrap(visible(text), width // 2 if wide else width, max_lines=6, placeholder=" …")


def _height(lines: Sequence[str]) -> int:
    return 2 * _PAD + _LINE * (len(lines) + 1)


def _box(step: Step, lines: Sequence[str], x: float, y: float, width: float, height: float) -> list[str]:
    dashes = {} if step.is_known else {"stroke_dasharray": "5 4"}
    stroke = "supports" if step.is_known else "muted"
    parts = [
        element(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            rx=8,
            fill="none",
            stroke=NAMES[stroke],
            stroke_width=1.5,
            class_=f"s-{stroke}",
            **dashes,
        ),
        _text(step.kind, x + _PAD, y + _PAD + 10, "muted", size=11.5),
    ]
    note_at = lines.index("") if "" in lines else len(lines)
    for n, line in enumerate(lines):
        ink = "ink" if n < note_at and step.is_known else "muted"
        bold = n < note_at and step.is_known
        if line:
            parts.append(_text(line, x + _PAD, y + _PAD + 10 + _LINE * (n + 1), ink, size=13, bold=bold))
    return parts


def _text(text: str, x: float, y: float, ink: str, *, size: float, bold: bool = False) -> str:
    weight = {"font_weight": "bold"} if bold else {}
    return element("text", text, x=f"{x:g}", y=f"{y:g}", font_size=size, fill=NAMES[ink], class_=f"f-{ink}", **weight)


def _arrow(x1: float, y1: float, x2: float, y2: float) -> list[str]:
    head = f"{x2:g},{y2:g} {x2 - 8:g},{y2 - 5:g} {x2 - 8:g},{y2 + 5:g}"
    if x1 == x2:
        head = f"{x2:g},{y2:g} {x2 - 5:g},{y2 - 8:g} {x2 + 5:g},{y2 - 8:g}"
    back = (8, 0) if x1 != x2 else (0, 8)
    return [
        element(
            "line",
            x1=f"{x1:g}",
            y1=f"{y1:g}",
            x2=f"{x2 - back[0]:g}",
            y2=f"{y2 - back[1]:g}",
            stroke=NAMES["muted"],
            stroke_width=1.5,
            class_="s-muted",
        ),
        element("polygon", points=head, fill=NAMES["muted"], class_="f-muted"),
    ]
