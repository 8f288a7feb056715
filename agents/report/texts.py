"""The report's sentences: Jinja templates, one file a section, whose macros take data and give blocks or plain text.

A template is Markdown of a few marks: paragraphs between blank lines (`~ ` before a small one), `- ` and `1. ` before
points and steps, `Name :: content` for pairs, `**strong**`. What is inserted is never read as a mark, whoever wrote
it: it stands in the result as a text of its own, or as the node that it is, such as a citation.
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
    """Keep a value aside, and give the mark that stands for it; what a macro made is marked already."""
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
    """What a macro of a template says, as blocks.

    Args:
        template: its file's name without `.md.j2`.
        macro: its name.
        cite: what the template's `cite` is: numbers records in the order in which they are first cited.
        data: the macro's arguments: texts, numbers, keys of records, pieces of content.
    """
    rendered, inserted = _render(template, macro, cite, data)
    return tuple(_blocks(rendered, inserted))


def write_lines(template: str, macro: str, **data: Any) -> list[str]:
    """What a macro says, each paragraph as a plain text."""
    rendered, inserted = _render(template, macro, None, data)
    flows = (_flow(part, inserted) for part in re.split(r"\n\s*\n", rendered) if part.strip())
    return ["".join(node.text for node in nodes if isinstance(node, Text | Cite)) for nodes in flows]


def write_line(template: str, macro: str, **data: Any) -> str:
    """What a macro says, as one plain text."""
    return " ".join(write_lines(template, macro, **data))


def write_flow(template: str, macro: str, cite: Cites | None = None, **data: Any) -> Flow:
    """What a macro says, as the content of one paragraph."""
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
    """A line of a template with the values in their places; neighbouring plain texts become one."""
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
        if isinstance(last, Text) and isinstance(node, Cite):  # a citation brings its own space
            nodes[-1:] = [Text(last.text.rstrip(), last.style), node]
        elif isinstance(last, Text) and isinstance(node, Text) and last.style == node.style == "plain":
            nodes[-1] = Text(last.text + node.text)
        else:
            nodes.append(node)
    return tuple(nodes)
