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
from ..http.xml import join_text, read_trees
from ..reading.screening import addressed_to_machines, set_aside
from ..reading.sections import DecidingReason, SectionKind, SectionPlace
from ..reading.text import says
from ..records import ArticleSection, FullText
from ..records.enclosure import visible
from ..records.evidence import Evidence, checked_identifier
from ..search import local_library
from ..sources.publications import cut_at_sentence

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
    root, articles = read_trees("europepmc", xml, ("article",))
    if root == "errorBean":  # `Article with id … is not open access one`, with status 200
        return None
    if not articles:
        raise UnreadableReply("europepmc", "answered with XML that holds no article")
    article = articles[0]
    body = article.find("body")
    prose, is_prose_cut = _parse_sections(body) if body is not None else ([], False)
    tables, are_tables_cut = _parse_all_tables(article)
    return ArticleText(pmcid, (*prose, *tables), _parse_licence(article), is_prose_cut or are_tables_cut)


def _parse_sections(body: Element) -> tuple[list[SectionPlace], bool]:
    """Read results and limitations, each paragraph once; one that goes past its kind's limit is cut after a sentence.

    Returns:
        The sections, and whether anything was cut.
    """
    room: dict[SectionKind, int] = {"results": MAX_SECTION_CHARS, "limitations": MAX_SECTION_CHARS}
    texts = dict[tuple[SectionKind, str], list[str]]()
    seen = set[str]()
    is_cut = False
    for kind, heading, text in _parse_paragraphs(body):
        if text in seen:
            continue
        seen.add(text)
        is_cut = is_cut or len(text) > room[kind]
        if room[kind] > 0:
            texts.setdefault((kind, heading), []).append(cut_at_sentence(text, room[kind]))
            room[kind] -= len(text)
    sections = []
    for (kind, heading), paragraphs in texts.items():
        joined = "\n".join(filter(None, paragraphs))
        if joined:
            sections.append(SectionPlace(kind, heading, joined))
    return sections, is_cut


def _parse_paragraphs(
    parent: Element, above: tuple[str, ...] = (), role: str = "", heading: str = ""
) -> Iterator[tuple[SectionKind, str, str]]:
    """Yield kind, heading (with those above it: `Discussion > Limitations`) and text of each paragraph, wherever it is.

    Of a discussion only what speaks of limits counts, outside of a section on these.
    """
    for element in parent:
        if element.tag == "sec":
            title_element = element.find("title")
            title = flatten(title_element).rstrip(" .:") if title_element is not None else ""
            path = (*above, title) if title else above
            own = _find_role(title, element.get("sec-type", "").lower(), role)
            subheading = heading if own == role and role else " > ".join(path) or "untitled"
            yield from _parse_paragraphs(element, path, own, subheading)
        elif role and element.tag in ("p", "list", "disp-quote"):
            text = flatten(element)
            if text and (role != "discussion" or says("speaks of limits", text)):
                yield "results" if role == "results" else "limitations", heading, text


def _find_role(title: str, kinds: str, above: str) -> str:
    if says("heading of limits", title):
        return "limitations"
    if above:
        return above
    if "results" in kinds or says("heading of results", title.lstrip("0123456789ivxIVX. ")):
        return "results"
    heading = f"{title.lower()} {kinds}"
    return "discussion" if any(word in heading for word in ("discussion", "conclusion", "comment")) else ""


def _parse_licence(article: Element) -> str | None:
    stated = article.find(".//permissions/license")
    if stated is None:
        return None
    addresses: list[str] = []
    for element in stated.iter():
        addresses += [value for name, value in element.attrib.items() if name.endswith("href")]
    references = [element.text or "" for element in stated.iter() if element.tag.endswith("license_ref")]
    for address in [*addresses, *references]:
        licence = _COMMONS.search(address.lower())
        if licence:
            name = "CC0" if licence[3] else f"CC {licence[1].strip('-').upper()}"
            return " ".join(filter(None, (name, licence[2] or licence[4])))
    words = flatten(stated)
    return None if "creative commons" in words.lower() else words[:200] or None


_DROPPED = frozenset(
    "table-wrap table fig fig-group disp-formula tex-math supplementary-material graphic media ref-list fn fn-group"
    " label".split()
)
_EMPTY_BRACKETS = re.compile(r"[\[(][\s,;–-]*[\])]")
_BEFORE_POINT = re.compile(r"\s+([,.;:)\]])")


def flatten(element: Element) -> str:
    """Return running text without markup, reference numbers, footnote marks, formulas and tables.

    Superscripts stay readable.

    >>> from xml.etree.ElementTree import XML
    >>> flatten(XML('<td>10<sup>3</sup> cells<sup><xref ref-type="table-fn">*</xref></sup><break/>a day</td>'))
    '10^3 cells a day'
    """

    def is_left_out(element: Element) -> bool:
        tag = element.tag.rpartition(":")[2]
        return tag in _DROPPED or (tag == "xref" and element.get("ref-type") in ("bibr", "table-fn"))

    text = _EMPTY_BRACKETS.sub("", join_text(element, is_left_out))
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
    return _parse_all_tables(article)[0]


def _parse_all_tables(article: Element) -> tuple[list[SectionPlace], bool]:
    """Read the tables of an article, and whether one, or part of one, was left out for its length."""
    tables: list[SectionPlace] = []
    room = MAX_TABLES_CHARS
    is_cut = False
    for wrap in article.iter("table-wrap"):
        if len(tables) == MAX_TABLES or room <= 0:
            return tables, True
        table, is_table_cut = _parse_table(wrap, len(tables) + 1, min(room, MAX_TABLE_CHARS))
        is_cut = is_cut or is_table_cut
        if table is not None:
            room -= len(table.text)
            tables.append(table)
    return tables, is_cut


def _parse_table(wrap: Element, number: int, room: int) -> tuple[SectionPlace | None, bool]:
    """Read a table by its label, or its number if it has none: caption, rows with their column names, and footnotes.

    A column's name is the head cells above it, from top to bottom. Lines beyond `room` characters are left out.

    Returns:
        The table, None where it has no cells, and whether lines were left out.
    """
    table = wrap.find("table")
    table = wrap.find("alternatives/table") if table is None else table
    if table is None:
        return None, False
    head, body = _split_rows(table)
    header = list(filter(any, _lay_out_cells(head)))
    rows = list(filter(any, _lay_out_cells(body)))
    if not rows:
        return None, False
    columns: list[str] = []
    for at in range(MAX_COLUMNS):
        above = dict.fromkeys(row[at] for row in header if at < len(row) and row[at])
        columns.append(" > ".join(above))
    label = wrap.find("label")
    caption = wrap.find("caption")
    lines = [flatten(caption) if caption is not None else ""]
    group = ""
    for row in rows:
        if len(row) > 1 and row[0] and set(row[1:]) <= {"", row[0]}:
            group = row[0]  # a heading of the rows below
            continue
        cells = dict.fromkeys((columns[at], cell) for at, cell in enumerate(row) if cell and at)
        values = [f"{name}: {cell}" if name else cell for name, cell in cells]
        lines.append("; ".join(filter(None, (group, row[0], *values))))
    notes: list[str] = []
    for foot in wrap.findall("table-wrap-foot"):
        notes += filter(None, map(flatten, foot.iter("p")))
    lines += notes[:_MAX_NOTES]
    fitting: list[str] = []
    for line in filter(None, lines):
        room -= len(line)
        if room >= 0:
            fitting.append(line)
    title = " ".join("".join(label.itertext()).split()).rstrip(" .:") if label is not None else ""
    place = SectionPlace("table", title[:_MAX_LABEL_CHARS] or f"Table {number}", "\n".join(fitting))
    return place, room < 0 or len(body) > MAX_ROWS


def _split_rows(table: Element) -> tuple[list[Element], list[Element]]:
    """Return the rows of a table's head and of its body; without a `thead`, first rows of `th` alone are the head."""
    head = list(table.findall("thead/tr"))
    has_head = bool(head)
    body: list[Element] = []
    for part in table:
        if part.tag == "tr":
            body.append(part)
        elif part.tag in ("tbody", "tfoot"):
            body += part.findall("tr")
    while body and not has_head and all(cell.tag == "th" for cell in body[0]):
        head.append(body.pop(0))
    return head, body


def _lay_out_cells(rows: Sequence[Element]) -> Iterator[tuple[str, ...]]:
    """Yield the texts of each row by column; a cell that spans several stands in each."""
    spanning: dict[int, tuple[str, int]] = {}  # by column: the text, and how many rows below it still fills
    for row in rows[:MAX_ROWS]:
        line = {column: text for column, (text, _) in spanning.items()}
        spanning = {column: (text, left - 1) for column, (text, left) in spanning.items() if left > 1}
        column = 0
        for cell in row:
            if cell.tag not in ("td", "th"):
                continue
            while column in line:
                column += 1
            text = flatten(cell)[:MAX_CELL_CHARS]
            below = _parse_span(cell, "rowspan", MAX_ROWS) - 1
            for at in range(column, min(column + _parse_span(cell, "colspan", MAX_COLUMNS), MAX_COLUMNS)):
                line[at] = text
                if below:
                    spanning[at] = (text, below)
                column = at + 1
        yield tuple(line.get(at, "") for at in range(max(line, default=-1) + 1))


def _parse_span(cell: Element, name: str, most: int) -> int:
    value = cell.get(name, "").strip()
    return min(max(int(value), 1), most) if value.isascii() and value.isdigit() and len(value) < 10 else 1


async def fetch_full_text(pmcid: str, transport: Transport) -> ArticleText | None:
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
    extended_records = list(records)
    open_records = [i for i, record in enumerate(records) if may_be_open(record)][: max(0, limit)]
    for i in open_records:
        extended_records[i] = records[i].noting(
            full_text_unread="Europe PMC gave no answer in time"
        )  # until it arrives

    async def read(i: int) -> None:
        try:
            text = await fetch_full_text(records[i].record.pmcid or "", transport)
        except (SourceRefused, UnreadableReply) as error:
            extended_records[i] = records[i].noting(full_text_unread=f"Europe PMC {error.reason}")
        except SearchError:
            return
        else:
            extended_records[i] = add_full_text(records[i], text)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline_s):
            await asyncio.gather(*map(read, open_records))
    return extended_records


def may_be_open(record: Evidence) -> bool:
    """Whether to request the full text: not requested yet, in PubMed Central, not known to be closed or retracted."""
    paper = record.paper
    if paper is None or paper.is_open_access is False or paper.retracted or paper.full_text_unread:
        return False
    return paper.pmcid is not None and paper.full_text is None


def add_full_text(record: Evidence, article: ArticleText | None) -> Evidence:
    """Add the sections of the full text to a record, if there is one, its licence is open and there are any."""
    if article is None:
        return record.noting(full_text_unread="Europe PMC has no open full text")
    licence = article.licence or (record.paper and (record.paper.license or "").strip().upper()) or ""
    if not licence.startswith(_OPEN):
        return record.noting(full_text_unread="it states no open licence")
    sections: list[ArticleSection] = []
    texts: list[str] = []
    for section in article.sections:
        texts += (section.title, *section.lines)
        text = "\n".join(filter(None, map(_clean, section.lines)))
        if text:
            sections.append(ArticleSection(kind=section.kind, title=_clean(section.title), text=text))
    if not sections:
        return record.noting(full_text_unread="its results have no section of their own")
    full_text = FullText(source="europepmc", pmcid=article.pmcid, licence=licence, sections=sections)
    if any(map(addressed_to_machines, texts)):
        full_text["addressed_to_machines"] = True
    if article.is_cut:
        full_text["is_cut"] = True
    return record.noting(full_text=full_text)


def mark_whole(record: Evidence, reason: str) -> Evidence:
    """Note why a model is shown the whole full text; the record itself where there is no text or no reason."""
    text = record.paper and record.paper.full_text
    return record.noting(full_text={**text, "decides": reason}) if text and reason else record


async def fetch_whole_text(record: Evidence, transport: Transport) -> Evidence:
    """Return a publication with its open full text, to be shown whole, as somebody asked for it by name.

    A record without a text says why in `full_text_unread`; raises nothing.
    """
    if not may_be_open(record):
        paper = record.paper
        if paper is None or paper.full_text or paper.full_text_unread:
            return mark_whole(record, ASKED_FOR)
        return record.noting(full_text_unread=_describe_closed(paper.pmcid, is_retracted=bool(paper.retracted)))
    [extended_record] = await read_full_texts([record], transport, 1)
    return mark_whole(extended_record, ASKED_FOR)


def _describe_closed(pmcid: str | None, *, is_retracted: bool) -> str:
    """Say why a publication's full text is not requested."""
    if is_retracted:
        return "it is retracted"
    return "Europe PMC marks it as not open" if pmcid else "it is not in PubMed Central"


def _clean(text: str) -> str:
    return " ".join(visible(set_aside(text)).split())
