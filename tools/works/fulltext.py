"""Open-access full texts from Europe PMC: results, tables and limitations, with their place and licence.

They are read from an article's XML (https://jats.nlm.nih.gov/archiving/tag-library/). Figures, formulas and reference
numbers are left out; a cell that spans rows or columns is repeated in each of them. A record's content stays its title
and abstract, for which the appraisal rules were set.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ..errors import SearchError, SourceRefused, UnreadableReply
from ..http.reply import Reply
from ..http.transport import Transport
from ..http.xml import read_trees, running_text
from ..reading.screening import addressed_to_machines, set_aside
from ..reading.sections import DecidingReason, SectionKind, SectionPlace
from ..reading.text import says
from ..records import ArticleSection, FullText
from ..records.enclosure import visible
from ..records.evidence import Evidence, checked_identifier
from ..search import local_library
from ..sources.publications import in_whole_sentences

ASKED_FOR: DecidingReason = "asked for"
FULL_TEXT_LIMIT = 12  # articles per run, 0.1 to 1 MB each: one or two for every candidate that a report shows
DEADLINE_S = 15.0  # for all of them; Europe PMC delivers one in about a second
_OPEN = ("CC0", "CC BY")
"""Licences that allow quoting with attribution: every CC licence, https://creativecommons.org/licenses/."""

MAX_XML_BYTES = 4 * 1024 * 1024  # articles with their tables and references take 0.1 to 1 MB
MAX_SECTION_CHARS = 60_000  # per kind: whole results of nearly every article, whose longest have some 50,000
_COMMONS = re.compile(r"creativecommons\.org/(?:licenses/([a-z-]+)(?:/([0-9.]+))?|publicdomain/(zero)(?:/([0-9.]+))?)")


class ArticleText(NamedTuple):
    """The sections read from one article; of a table the lines are its caption, rows and footnotes."""

    pmcid: str
    sections: tuple[SectionPlace, ...] = ()
    licence: str | None = None
    """`CC BY 4.0`, or the article's own words; None where it gives no address of a licence."""
    is_cut: bool = False
    """Whether results, limitations or tables are longer than what is kept of an article."""


def parse_full_text(xml: bytes, pmcid: str) -> ArticleText | None:
    """Read an article, alone or within a set; None if the reply says that it is not open access.

    Raises:
        UnreadableReply: the XML is truncated, too large or too deep, holds entities, or is no article.
    """
    if len(xml) > MAX_XML_BYTES:
        raise UnreadableReply("europepmc", f"answered with an article of more than {MAX_XML_BYTES // 1024**2} MB")
    root, found = read_trees("europepmc", xml, ("article",))
    if root == "errorBean":  # `Article with id … is not open access one`, with status 200
        return None
    if not found:
        raise UnreadableReply("europepmc", "answered with XML that holds no article")
    article = found[0]
    body = article.find("body")
    prose, is_prose_cut = _read_sections(body) if body is not None else ([], False)
    tables, are_tables_cut = _read_all_tables(article)
    return ArticleText(pmcid, (*prose, *tables), _licence(article), is_prose_cut or are_tables_cut)


def _read_sections(body: Element) -> tuple[list[SectionPlace], bool]:
    """Read results and limitations, each paragraph once; one that goes past its kind's limit is cut after a sentence.

    Returns:
        The sections, and whether anything was cut.
    """
    room: dict[SectionKind, int] = {"results": MAX_SECTION_CHARS, "limitations": MAX_SECTION_CHARS}
    texts = dict[tuple[SectionKind, str], list[str]]()
    seen = set[str]()
    is_cut = False
    for kind, heading, text in _paragraphs(body):
        if text in seen:
            continue
        seen.add(text)
        is_cut = is_cut or len(text) > room[kind]
        if room[kind] > 0:
            texts.setdefault((kind, heading), []).append(in_whole_sentences(text, room[kind]))
            room[kind] -= len(text)
    sections = []
    for (kind, heading), paragraphs in texts.items():
        joined = "\n".join(filter(None, paragraphs))
        if joined:
            sections.append(SectionPlace(kind, heading, joined))
    return sections, is_cut


def _paragraphs(
    parent: Element, above: tuple[str, ...] = (), role: str = "", heading: str = ""
) -> Iterator[tuple[SectionKind, str, str]]:
    """Yield kind, heading (with those above it: `Discussion > Limitations`) and text of each paragraph, wherever it is.

    Of a discussion only what speaks of limits counts, outside of a section on these.
    """
    for each in parent:
        if each.tag == "sec":
            title = flat(named).rstrip(" .:") if (named := each.find("title")) is not None else ""
            path = (*above, title) if title else above
            own = _role_of(title, each.get("sec-type", "").lower(), role)
            shown = heading if own == role and role else " > ".join(path) or "untitled"
            yield from _paragraphs(each, path, own, shown)
        elif role and each.tag in ("p", "list", "disp-quote"):
            text = flat(each)
            if text and (role != "discussion" or says("speaks of limits", text)):
                yield "results" if role == "results" else "limitations", heading, text


def _role_of(title: str, kinds: str, above: str) -> str:
    if says("heading of limits", title):
        return "limitations"
    if above:
        return above
    if "results" in kinds or says("heading of results", title.lstrip("0123456789ivxIVX. ")):
        return "results"
    said = f"{title.lower()} {kinds}"
    return "discussion" if any(word in said for word in ("discussion", "conclusion", "comment")) else ""


def _licence(article: Element) -> str | None:
    stated = article.find(".//permissions/license")
    if stated is None:
        return None
    addresses = [value for each in stated.iter() for name, value in each.attrib.items() if name.endswith("href")]
    references = [each.text or "" for each in stated.iter() if each.tag.endswith("license_ref")]
    for address in [*addresses, *references]:
        if found := _COMMONS.search(address.lower()):
            name = "CC0" if found[3] else f"CC {found[1].strip('-').upper()}"
            return " ".join(filter(None, (name, found[2] or found[4])))
    words = flat(stated)
    return None if "creative commons" in words.lower() else words[:200] or None


_DROPPED = frozenset(
    "table-wrap table fig fig-group disp-formula tex-math supplementary-material graphic media ref-list fn fn-group"
    " label".split()
)
_EMPTY_BRACKETS = re.compile(r"[\[(][\s,;–-]*[\])]")
_BEFORE_POINT = re.compile(r"\s+([,.;:)\]])")


def flat(element: Element) -> str:
    """Return running text without markup, reference numbers, footnote marks, formulas and tables.

    Superscripts stay readable.

    >>> from xml.etree.ElementTree import XML
    >>> flat(XML('<td>10<sup>3</sup> cells<sup><xref ref-type="table-fn">*</xref></sup><break/>a day</td>'))
    '10^3 cells a day'
    """

    def is_left_out(each: Element) -> bool:
        tag = each.tag.rpartition(":")[2]
        return tag in _DROPPED or (tag == "xref" and each.get("ref-type") in ("bibr", "table-fn"))

    text = _EMPTY_BRACKETS.sub("", running_text(element, is_left_out))
    return _BEFORE_POINT.sub(r"\1", " ".join(text.split()))


MAX_TABLES = 30  # per article
MAX_TABLE_CHARS = 20_000  # per table, some 200 rows
MAX_TABLES_CHARS = 60_000  # of all tables of an article
MAX_ROWS = 200
MAX_COLUMNS = 16
MAX_CELL_CHARS = 300
_MAX_LABEL_CHARS = 60
_MAX_NOTES = 10


def read_tables(article: Element) -> list[SectionPlace]:
    """Read the tables of an article, in order; those given only as images are skipped."""
    return _read_all_tables(article)[0]


def _read_all_tables(article: Element) -> tuple[list[SectionPlace], bool]:
    """Read the tables of an article, and whether one, or part of one, was left out for its length."""
    tables: list[SectionPlace] = []
    room = MAX_TABLES_CHARS
    is_cut = False
    for wrap in article.iter("table-wrap"):
        if len(tables) == MAX_TABLES or room <= 0:
            return tables, True
        table, is_table_cut = _read_table(wrap, len(tables) + 1, min(room, MAX_TABLE_CHARS))
        is_cut = is_cut or is_table_cut
        if table is not None:
            room -= len(table.text)
            tables.append(table)
    return tables, is_cut


def _read_table(wrap: Element, number: int, room: int) -> tuple[SectionPlace | None, bool]:
    """Read a table by its label, or its number if it has none: caption, rows with their column names, and footnotes.

    A column's name is the head cells above it, from top to bottom. Lines beyond `room` characters are left out.

    Returns:
        The table, None where it has no cells, and whether lines were left out.
    """
    table = next((each for path in ("table", "alternatives/table") if (each := wrap.find(path)) is not None), None)
    if table is None:
        return None, False
    head = [*table.findall("thead/tr")]
    body = [
        row
        for part in table
        if part.tag in ("tbody", "tfoot", "tr")
        for row in ([part] if part.tag == "tr" else part.findall("tr"))
    ]
    while body and not table.findall("thead/tr") and all(cell.tag == "th" for cell in body[0]):
        head.append(body.pop(0))
    header, rows = ([row for row in _grid(part) if any(row)] for part in (head, body))
    if not rows:
        return None, False
    above = [[row[at] for row in header if at < len(row) and row[at]] for at in range(MAX_COLUMNS)]
    columns = [" > ".join(dict.fromkeys(each)) for each in above]
    label = wrap.find("label")
    caption = wrap.find("caption")
    lines = [flat(caption) if caption is not None else ""]
    group = ""
    for row in rows:
        if len(row) > 1 and row[0] and set(row[1:]) <= {"", row[0]}:
            group = row[0]  # a heading of the rows below
            continue
        cells = dict.fromkeys((columns[at], cell) for at, cell in enumerate(row) if cell and at)
        named = [f"{name}: {cell}" if name else cell for name, cell in cells]
        lines.append("; ".join(filter(None, (group, row[0], *named))))
    notes = (each for foot in wrap.findall("table-wrap-foot") for each in foot.iter("p"))
    lines += list(filter(None, map(flat, notes)))[:_MAX_NOTES]
    shown = list[str]()
    for line in filter(None, lines):
        room -= len(line)
        if room >= 0:
            shown.append(line)
    title = " ".join("".join(label.itertext()).split()).rstrip(" .:") if label is not None else ""
    place = SectionPlace("table", title[:_MAX_LABEL_CHARS] or f"Table {number}", "\n".join(shown))
    return place, room < 0 or len(body) > MAX_ROWS


def _grid(rows: Sequence[Element]) -> Iterator[tuple[str, ...]]:
    held: dict[int, tuple[str, int]] = {}
    for row in rows[:MAX_ROWS]:
        line = {column: text for column, (text, _) in held.items()}
        held = {column: (text, left - 1) for column, (text, left) in held.items() if left > 1}
        column = 0
        for cell in (each for each in row if each.tag in ("td", "th")):
            while column in line:
                column += 1
            text = flat(cell)[:MAX_CELL_CHARS]
            below = _span(cell, "rowspan", MAX_ROWS) - 1
            for at in range(column, min(column + _span(cell, "colspan", MAX_COLUMNS), MAX_COLUMNS)):
                line[at] = text
                if below:
                    held[at] = (text, below)
                column = at + 1
        yield tuple(line.get(at, "") for at in range(max(line, default=-1) + 1))


def _span(cell: Element, name: str, most: int) -> int:
    said = cell.get(name, "").strip()
    return min(max(int(said), 1), most) if said.isascii() and said.isdigit() and len(said) < 10 else 1


async def full_text(pmcid: str, transport: Transport) -> ArticleText | None:
    """Read one article; None if Europe PMC has no open full text of it.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    number = checked_identifier("pmcid", pmcid)
    if number is None:
        return None

    if (library := local_library(transport)) is not None:
        return parse_full_text(library.full_text(number).encode(), number)

    def read(reply: Reply) -> ArticleText | None:
        return None if reply.status == 404 else parse_full_text(reply.xml(), number)

    return await transport.get("europepmc", f"{number}/fullTextXML", read=read, also=(404,))


async def read_full_texts(
    records: Sequence[Evidence], transport: Transport, limit: int = FULL_TEXT_LIMIT, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Add results, tables and limitations to the first `limit` records that have an open full text.

    Args:
        records: best first.
        transport: sends the requests.
        limit: most articles to request.
        deadline_s: seconds for all of them.

    Returns:
        The records in their order. One that was read has `full_text`, without text addressed to machines; one whose
        text was not read has `full_text_unread`: why. Late and failed articles get the same reason, so that a resumed
        run gives the same result.
    """
    found = list(records)
    wanted = [i for i, record in enumerate(records) if may_be_open(record)][: max(0, limit)]
    for i in wanted:
        found[i] = records[i].noting(full_text_unread="Europe PMC gave no answer in time")  # until it arrives

    async def read(i: int) -> None:
        try:
            text = await full_text(records[i].record.pmcid or "", transport)
        except (SourceRefused, UnreadableReply) as error:
            found[i] = records[i].noting(full_text_unread=f"Europe PMC {error.reason}")
        except SearchError:
            return
        else:
            found[i] = extended(records[i], text)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline_s):
            await asyncio.gather(*map(read, wanted))
    return found


def may_be_open(record: Evidence) -> bool:
    """Whether to request the full text: not requested yet, in PubMed Central, not known to be closed or retracted."""
    known = record.paper
    if known is None or known.is_open_access is False or known.retracted or known.full_text_unread:
        return False
    return known.pmcid is not None and known.full_text is None


def extended(record: Evidence, found: ArticleText | None) -> Evidence:
    """Add the sections of the full text to a record, if there is one, its licence is open and there are any."""
    if found is None:
        return record.noting(full_text_unread="Europe PMC has no open full text")
    licence = found.licence or (record.paper and (record.paper.license or "").strip().upper()) or ""
    if not licence.startswith(_OPEN):
        return record.noting(full_text_unread="it states no open licence")
    every = [
        ArticleSection(
            kind=section.kind, title=_clean(section.title), text="\n".join(filter(None, map(_clean, section.lines)))
        )
        for section in found.sections
    ]
    sections = [each for each in every if each["text"]]
    if not sections:
        return record.noting(full_text_unread="its results have no section of their own")
    read = FullText(source="europepmc", pmcid=found.pmcid, licence=licence, sections=sections)
    if any(addressed_to_machines(text) for section in found.sections for text in (section.title, *section.lines)):
        read["addressed_to_machines"] = True
    if found.is_cut:
        read["is_cut"] = True
    return record.noting(full_text=read)


def mark_whole(record: Evidence, reason: str) -> Evidence:
    """Note why a model is shown the whole full text; the record itself where there is no text or no reason."""
    text = record.paper and record.paper.full_text
    return record.noting(full_text={**text, "decides": reason}) if text and reason else record


async def with_whole_text(record: Evidence, transport: Transport) -> Evidence:
    """Return a publication with its open full text, to be shown whole, as somebody asked for it by name.

    A record without a text says why in `full_text_unread`; raises nothing.
    """
    if not may_be_open(record):
        known = record.paper
        if known is None or known.full_text or known.full_text_unread:
            return mark_whole(record, ASKED_FOR)
        return record.noting(full_text_unread=_describe_closed(known.pmcid, is_retracted=bool(known.retracted)))
    [extended_record] = await read_full_texts([record], transport, 1)
    return mark_whole(extended_record, ASKED_FOR)


def _describe_closed(pmcid: str | None, *, is_retracted: bool) -> str:
    """Say why a publication's full text is not requested."""
    if is_retracted:
        return "it is retracted"
    return "Europe PMC marks it as not open" if pmcid else "it is not in PubMed Central"


def _clean(text: str) -> str:
    return " ".join(visible(set_aside(text)).split())
