"""The report's sentences: Jinja templates, one file per section, whose macros turn data into blocks or plain text.

A template uses a little Markdown: paragraphs between blank lines (`~ ` before a small one), `- ` and `1. ` before
points and steps, `Name :: content` for pairs, `**strong**`. Inserted values are never parsed as markup: the
result has them as plain text, or as the node that they are, such as a citation.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from willowbark.tools.wording import capital, counted, listed, short

from .forms.blocks import Block, Cite, Flow, Items, Node, Pairs, Paragraph, Text, flow

TEMPLATES = Path(__file__).parent / "templates"
_INSERTED = re.compile("\ue000(\\d+)\ue001")
_STRONG = re.compile(r"\*\*(.+?)\*\*")
Cites = Callable[[Iterable[str]], Cite | str]
_MARKS: dict[str, Literal["points", "steps"]] = {"- ": "points", "1. ": "steps"}


@pass_context
def _insert(context: Context, value: object) -> Markup:
    """Store a value and return its placeholder; a macro's output already has one."""
    if isinstance(value, Markup):
        return value
    if value in ("", ()):
        return Markup("")
    inserted: list[Flow] = context["inserted"]
    nodes = value if isinstance(value, tuple) else flow(value if isinstance(value, Cite) else str(value))
    inserted.append(nodes)
    return Markup(f"\ue000{len(inserted) - 1}\ue001")  # noqa: S704  a number between two marks


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_insert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"capital": capital, "listed": listed, "short": short, "thousands": lambda number: f"{number:,}"}
    made.globals |= {"counted": counted}
    return made


def write_blocks(template: str, macro: str, cite: Cites | None = None, **data: Any) -> tuple[Block, ...]:
    """Render a template's macro as blocks.

    Args:
        template: its file name without `.md.j2`.
        macro: the macro's name.
        cite: the template's `cite`, which numbers records in the order of their first citation.
        data: the macro's arguments: texts, numbers, keys of records, pieces of content.
    """
    rendered, inserted = _render(template, macro, cite, data)
    return tuple(_blocks(rendered, inserted))


def write_lines(template: str, macro: str, **data: Any) -> list[str]:
    """Render a macro as plain text, one string per paragraph."""
    rendered, inserted = _render(template, macro, None, data)
    flows = (_flow(part, inserted) for part in re.split(r"\n\s*\n", rendered) if part.strip())
    return ["".join(node.text for node in nodes if isinstance(node, Text | Cite)) for nodes in flows]


def write_line(template: str, macro: str, **data: Any) -> str:
    """Render a macro as one plain text."""
    return " ".join(write_lines(template, macro, **data))


def write_flow(template: str, macro: str, cite: Cites | None = None, **data: Any) -> Flow:
    """Render a macro as the content of one paragraph."""
    return _flow(*_render(template, macro, cite, data))


def _render(template: str, macro: str, cite: Cites | None, data: dict[str, Any]) -> tuple[str, list[Flow]]:
    inserted: list[Flow] = []
    module = _environment().get_template(f"{template}.md.j2").make_module({"inserted": inserted, "cite": cite})
    return str(getattr(module, macro)(**data)), inserted


def _blocks(rendered: str, inserted: list[Flow]) -> Iterator[Block]:
    for part in re.split(r"\n\s*\n", rendered):
        lines = [line.strip() for line in part.splitlines() if line.strip()]
        if not lines:
            continue
        mark = next((mark for mark in _MARKS if lines[0].startswith(mark)), None)
        if mark:
            items = " ".join(lines).removeprefix(mark).split(f" {mark}")
            yield Items(tuple(_flow(item, inserted) for item in items), _MARKS[mark])
        elif " :: " in lines[0]:
            pairs = [part.partition(" :: ") for part in re.split(r"\n(?=.* :: )", "\n".join(lines))]
            yield Pairs(tuple((_plain_text(name, inserted), _flow(text, inserted)) for name, _, text in pairs))
        elif lines[0].startswith("~ "):
            yield Paragraph(_flow(" ".join(lines)[2:], inserted), "small")
        else:
            yield Paragraph(_flow(" ".join(lines), inserted))


def _plain_text(marked: str, inserted: list[Flow]) -> str:
    return "".join(node.text for node in _flow(marked, inserted) if isinstance(node, Text))


def _flow(marked: str, inserted: list[Flow]) -> Flow:
    """Replace placeholders in a template's line by their values; adjacent plain texts are merged."""
    line = re.sub(r" +([.,;:)])", r"\1", " ".join(marked.split()))
    found: list[Node] = []
    for strong, text in enumerate(_STRONG.split(line)):
        for place, part in enumerate(_INSERTED.split(text)):
            found += [
                Text(node.text, "strong") if strong % 2 and isinstance(node, Text) else node
                for node in (inserted[int(part)] if place % 2 else flow(part))
            ]
    nodes: list[Node] = []
    for node in found:
        last = nodes[-1] if nodes else None
        if isinstance(last, Text) and isinstance(node, Cite):  # a citation has its own space
            nodes[-1:] = [Text(last.text.rstrip(), last.style), node]
        elif isinstance(last, Text) and isinstance(node, Text) and last.style == node.style == "plain":
            nodes[-1] = Text(last.text + node.text)
        else:
            nodes.append(node)
    return tuple(nodes)
