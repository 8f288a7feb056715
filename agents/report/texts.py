"""The report's sentences: Jinja templates, one file per section, whose macros turn data into blocks or plain text.

A template uses a little Markdown: paragraphs between blank lines (`~ ` before a small one), `- ` before points,
`Name :: content` for pairs, `| a | b |` for a table (its caption and its look in the first line, ` #` after the names
of columns of numbers, `> ` before what stands below a row), `**strong**`; the names of styles are filters. Inserted
values are never parsed as markup: the result has them as plain text, or as the node that they are, such as a citation.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from willowbark.tools.mechanism import Step
from willowbark.tools.reading.screening import is_addressed_to_machines
from willowbark.tools.reading.sections import get_licence, places
from willowbark.tools.records.card import authority
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import title_of, web_engines
from willowbark.tools.wording import as_spelt, capital, counted, listed, short
from willowbark.tools.works.trust import flags_of, is_unchecked

from .content import ReportSection
from .forms import find_url, record_name
from .forms.blocks import (
    Block,
    Cite,
    Group,
    Items,
    Link,
    Pairs,
    Paragraph,
    RichText,
    Row,
    Section,
    Style,
    Table,
    Text,
    TreeNode,
    flow,
)

TEMPLATES = Path(__file__).parent / "templates"
_INSERTED = re.compile("\ue000(\\d+)\ue001")
_STRONG = re.compile(r"\*\*(.+?)\*\*")
Cites = Callable[[Iterable[str]], Cite | str]
_IDENTIFIERS = ("doi", "pmid", "pmcid", "nct_id", "found_by")
_JOURNAL = ("journal", "journal_abbreviation", "volume", "issue", "pages")
_STYLES: tuple[Style, ...] = ("emphasis", "code", "small", "flag", "mark", "level")


class ReportStatement(NamedTuple):
    """What is to be said: a template's macro with its arguments."""

    template: str
    """File name without `.md.j2`."""
    macro: str
    data: Mapping[str, Any]
    """Texts, numbers, keys of records, records."""
    within: Section | None = None
    """The section to hold it; None for none of its own."""

    @property
    def lines(self) -> list[str]:
        """It as plain text, one string per paragraph."""
        return write_lines(self.template, self.macro, **self.data)


class References:
    """Writes sections, and numbers records in the order of their first citation.

    Args:
        records: records that can be cited, by key.
    """

    def __init__(self, records: Mapping[str, Evidence]) -> None:
        self._records = records
        self._numbers: dict[str, int] = {}

    def cite(self, keys: Iterable[str]) -> Cite | str:
        """Cite records, ignoring those outside the pool; return an empty text if there are none."""
        known_keys = [key for key in dict.fromkeys(keys) if key in self._records]
        numbers = [self._numbers.setdefault(key, len(self._numbers) + 1) for key in known_keys]
        return Cite(tuple(sorted(numbers))) if numbers else ""

    def write(self, title: str, statements: Iterable[ReportStatement]) -> ReportSection:
        """Write a section; its `citations` are the records first cited there."""
        start = len(self._numbers)
        blocks = list[Block]()
        for template, macro, data, within in statements:
            written = write_blocks(template, macro, self.cite, **data)
            blocks += [replace(within, blocks=written)] if within else written
        return ReportSection.of(title, blocks, list(self._numbers)[start:])

    def list_entries(self) -> list[dict[str, Any]]:
        """List the references, as `ReportContent.references` describes them; only what is known is in an entry."""
        entries = []
        for key, number in self._numbers.items():
            record = self._records[key]
            data = record.record
            paper = record.paper
            raised = flags_of(record)
            fields: dict[str, Any] = {name: getattr(data, name) for name in _IDENTIFIERS}
            fields["web"] = [title_of(name) for name in data.found_in if name in web_engines()]
            own = {*authority(), record.citation.source}
            fields["agents"] = [name for name in data.found_in if name not in own]
            fields["given_by"] = data.given_by
            fields["evidence_type"] = record.evidence_type
            if paper:
                versions = {"preprint": paper.preprint_versions, "earlier version": paper.earlier_versions}
                fields |= {name: getattr(paper, name) for name in _JOURNAL}
                fields["versions"] = list(_join_versions(versions))
                fields["published_version"] = record.is_preprint and paper.published_version
            if licence := get_licence(record):
                titles = list(dict.fromkeys(place.title for place in places(record)))
                fields["full_text"] = {"pmcid": data.pmcid, "licence": licence, "sections": titles}
            flags = {
                "preprint": record.is_preprint,
                "retracted": "retracted" in raised,
                "expression of concern": "expression_of_concern" in raised,
                "corrected": "corrected" in raised,
                "retraction not checked": is_unchecked(record),
                "title only": not record.has_abstract,
                "contains text addressed to machines": is_addressed_to_machines(record),
            }
            entry = {"number": number, "key": key, **record.citation.model_dump()}
            entry |= {name: value for name, value in fields.items() if value}
            entries.append({**entry, "flags": [flag for flag, is_raised in flags.items() if is_raised]})
        return entries


def _join_versions(versions: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield a record's other versions, each with its relation to it."""
    for relation, others in versions.items():
        for version in others:
            yield {"relation": relation, **version}


@pass_context
def _insert(context: Context, value: object) -> Markup:
    """Store a value and return its placeholder; a macro's output already has one."""
    if isinstance(value, Markup):
        return value
    if value in ("", ()):
        return Markup("")
    inserted: list[RichText] = context["inserted"]
    nodes = value if isinstance(value, tuple) else flow(value if isinstance(value, Cite) else str(value))
    # The text of a record may look like the template's markup; behind a placeholder nothing reads it as such.
    inserted.append(nodes)
    return Markup(f"\ue000{len(inserted) - 1}\ue001")  # noqa: S704  a number between two marks


def _style_text(style: Style, text: object) -> RichText:
    return flow(Text(str(text), style)) if text else ()


def _make_link(text: str, key: str, url: str = "") -> RichText:
    return flow(Link(text, find_url(key, url)))


def _link_candidate(name: str, place: int) -> RichText:
    return flow(Link(name, f"#candidate-{place}"))


def describe_sources(step: Step) -> dict[str, Any]:
    """Return who says a step: databases with identifiers, the numbers of sentences, and the records to cite."""
    backings = [backing for backing in step.backings if not backing.denies]
    entries = []
    for backing in backings:
        if backing.basis == "shared protein":
            entries.append(f"what is said of {backing.number}")
        # Sentences are counted, not listed: the report has them elsewhere.
        elif backing.basis != "sentence":
            score = f", score {backing.score:.2f}" if backing.score is not None else ""
            entries.append(f"{title_of(backing.source)}{f' {backing.number}' if backing.number else ''}{score}")
    sentences = {backing.key: backing for backing in backings if backing.basis == "sentence"}
    return {
        "entries": list(dict.fromkeys(entries)),
        "sentences": len(sentences),
        "hedged": sum(sentence.hedged for sentence in sentences.values()),
        "records": list(dict.fromkeys(backing.key for backing in backings))[:4],
    }


@cache
def _make_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_insert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: tuple[Callable[..., Any], ...] = (as_spelt, capital, listed, short)
    environment.filters |= {function.__name__: function for function in filters}
    environment.filters |= {style: partial(_style_text, style) for style in _STYLES}
    environment.filters |= {"sources": describe_sources, "thousands": lambda number: f"{number:,}"}
    environment.filters |= {"day": lambda when: f"{when:%Y-%m-%d}"}
    environment.globals |= {"anchor": _link_candidate, "link": _make_link}
    environment.globals |= {function.__name__: function for function in (counted, record_name, title_of)}
    return environment


def write_blocks(template: str, macro: str, cite: Cites | None = None, **data: Any) -> tuple[Block, ...]:
    """Render a template's macro as blocks; its `cite` numbers records."""
    return tuple(_read_blocks(*_render(template, macro, cite, data)))


def write_lines(template: str, macro: str, **data: Any) -> list[str]:
    """Render a macro as plain text, one string per paragraph."""
    rendered, inserted = _render(template, macro, None, data)
    return [_read_plain(part, inserted) for part in re.split(r"\n\s*\n", rendered) if part.strip()]


def write_line(template: str, macro: str, **data: Any) -> str:
    """Render a macro as one plain text."""
    return " ".join(write_lines(template, macro, **data))


def _render(template: str, macro: str, cite: Cites | None, data: dict[str, Any]) -> tuple[str, list[RichText]]:
    inserted: list[RichText] = []
    module = _make_environment().get_template(f"{template}.md.j2").make_module({"inserted": inserted, "cite": cite})
    return str(getattr(module, macro)(**data)), inserted


def _read_blocks(rendered: str, inserted: list[RichText]) -> Iterator[Block]:
    for part in re.split(r"\n\s*\n", rendered):
        lines = [line.strip() for line in part.splitlines() if line.strip()]
        if not lines:
            continue
        if lines[0].startswith("- "):
            items = " ".join(lines).removeprefix("- ").split(" - ")
            yield Items(tuple(_read_line(item, inserted) for item in items))
        elif " :: " in lines[0]:
            pairs = [part.partition(" :: ") for part in re.split(r"\n(?=.* :: )", "\n".join(lines))]
            yield Pairs(tuple((_read_plain(name, inserted), _read_line(text, inserted)) for name, _, text in pairs))
        elif lines[0].startswith("| "):
            caption, head, *body = (line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines)
            names = [_read_plain(name, inserted) for name in head]
            rows = list[Row]()
            for cells in body:
                if cells[0].startswith("> "):
                    rows[-1] = replace(rows[-1], below=_read_line(cells[0][2:], inserted))
                else:
                    rows.append(Row(tuple(_read_line(cell, inserted) for cell in cells)))
            table = Table(
                _read_plain(caption[0], inserted),
                tuple(name.removesuffix(" #") for name in names),
                (Group(tuple(rows)),),
                cast("Any", caption[1] if caption[1:] else "plain"),
                tuple(name.removesuffix(" #") for name in names if name.endswith(" #")),
            )
            yield table.without_empty_columns()
        elif lines[0].startswith("~ "):
            yield Paragraph(_read_line(" ".join(lines)[2:], inserted), "small")
        else:
            yield Paragraph(_read_line(" ".join(lines), inserted))


def _read_plain(marked: str, inserted: list[RichText]) -> str:
    return "".join(node.text for node in _read_line(marked, inserted) if isinstance(node, Text | Cite))


def _read_line(marked: str, inserted: list[RichText]) -> RichText:
    """Replace placeholders in a template's line by their values; adjacent plain texts are merged."""
    # Parts of a sentence that a template leaves out also leave the blank before its mark.
    line = re.sub(r" +([.,;:)])", r"\1", " ".join(marked.split()))
    nodes: list[TreeNode] = []
    for strong, text in enumerate(_STRONG.split(line)):
        for place, part in enumerate(_INSERTED.split(text)):
            for node in inserted[int(part)] if place % 2 else flow(part):
                last = nodes[-1] if nodes else None
                if isinstance(node, Text) and strong % 2:
                    nodes.append(Text(node.text, "strong"))
                elif isinstance(last, Text) and isinstance(node, Cite):  # a citation has its own space
                    nodes[-1:] = [Text(last.text.rstrip(), last.style), node]
                elif isinstance(last, Text) and isinstance(node, Text) and last.style == node.style == "plain":
                    nodes[-1] = Text(last.text + node.text)
                else:
                    nodes.append(node)
    return tuple(nodes)
