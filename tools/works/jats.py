"""An article's XML: what it reports in its results, and what it says limits them; its licence.

JATS, described at https://jats.nlm.nih.gov/archiving/tag-library/. Figures, formulas and the numbers of references are
left out; tables are read row by row (`tables`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from ..errors import UnreadableReply
from .markup import flat
from .sections import Kind
from .tables import read_tables

MAX_XML_BYTES = 4 * 1024 * 1024  # articles with their tables and references take 0.1 to 1 MB
MAX_SECTION_CHARS = 6000  # of one kind: what a model can read beside the other records
_MAX_DEPTH = 100
_MAX_ELEMENTS = 300_000
_DOCTYPE = re.compile(rb"<!DOCTYPE\s[^\[<>]*>")  # one that declares nothing; any other is refused
_LIMITS_TITLE = re.compile(r"\blimitations?\b|\bshortcomings?\b|\bweaknesses\b|\bcaveats?\b", re.IGNORECASE)
_LIMITS_TEXT = re.compile(
    r"\blimitations?\b|\bshortcomings?\b|\bcaveats?\b|\binterpreted with caution\b|\bunderpowered\b"
    r"|\b(?:study|trial|analysis|findings|results) (?:is|are|was|were) limited\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_COMMONS = re.compile(r"creativecommons\.org/(?:licenses/([a-z-]+)(?:/([0-9.]+))?|publicdomain/(zero)(?:/([0-9.]+))?)")

_WORDED = re.compile(
    r"creative commons attribution"
    r"((?:[-\s]*(?:non[-\s]?commercial|no[-\s]?deriv(?:ative)?s?(?:\s+works)?|share[-\s]?alike))*)"
    r"[\s,(-]*(\d\.\d)?",
    re.IGNORECASE,
)
_TERMS = (("-NC", "commercial"), ("-ND", "deriv"), ("-SA", "alike"))


@dataclass(frozen=True, slots=True)
class Section:
    """Paragraphs of one section."""

    kind: Kind
    title: str
    """As the article heads it, with the headings above it: `Discussion > Limitations`; a table's label."""
    paragraphs: tuple[str, ...]
    """Of a table its caption, its rows and its footnotes, one each."""


@dataclass(frozen=True, slots=True)
class FullText:
    """What was read of one article."""

    pmcid: str
    sections: tuple[Section, ...] = ()
    licence: str | None = None
    """`CC BY 4.0`, or the article's own words; None where it states none."""
    titles: tuple[str, ...] = field(default=())
    """The headings of all top sections, to see what the article has."""


def parse_full_text(xml: bytes, pmcid: str) -> FullText | None:
    """Read an article; None where the reply says that it is not open access.

    Args:
        xml: an `article`, alone or within a set; other elements mean that there is none.
        pmcid: of the article that was asked for.

    Raises:
        UnreadableReply: the XML is cut, too large or too deep, holds entities, or is no article.

    >>> body = b"<body><sec><title>Results</title><p>Pain fell by 10<sup>2</sup>.</p></sec></body>"
    >>> parse_full_text(b"<article>" + body + b"</article>", "PMC1").sections[0].paragraphs
    ('Pain fell by 10^2.',)
    """
    root = _root(xml)
    if root.tag == "errorBean":  # `Article with id … is not open access one`, with status 200
        return None
    article = root if root.tag == "article" else root.find(".//article")
    if article is None:
        raise UnreadableReply("europepmc", "answered with XML that holds no article")
    body = article.find("body")
    prose = _capped(_sections(body, ())) if body is not None else ()
    rows = (Section("table", table.label, table.lines()) for table in read_tables(article))
    titles = tuple(_title(each) for each in (body.findall("sec") if body is not None else ()))
    return FullText(pmcid, (*prose, *rows), _licence(article), titles)


def _root(xml: bytes) -> Element:
    if len(xml) > MAX_XML_BYTES:
        raise UnreadableReply("europepmc", f"answered with an article of more than {MAX_XML_BYTES // 1024**2} MB")
    plain = _DOCTYPE.sub(b"", xml[:4096], count=1) + xml[4096:]
    depth = elements = 0
    root: Element | None = None
    try:
        for event, element in iterparse(BytesIO(plain), events=("start", "end"), forbid_dtd=True):
            root = element if root is None else root
            depth += 1 if event == "start" else -1
            elements += event == "start"
            if depth > _MAX_DEPTH or elements > _MAX_ELEMENTS:
                raise UnreadableReply("europepmc", "answered with XML that is nested or cut up beyond any article")
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        kind = type(error).__name__
        raise UnreadableReply("europepmc", f"answered with XML that is cut or broken ({kind})") from None
    if root is None:
        raise UnreadableReply("europepmc", "answered with XML that is empty")
    return root


def _sections(parent: Element, above: tuple[str, ...]) -> Iterator[Section]:
    """The results, and what is said of limits, wherever in the article they stand."""
    for sec in parent.findall("sec"):
        title = _title(sec)
        path = (*above, title) if title else above
        heading = " > ".join(path) or "untitled"
        if _LIMITS_TITLE.search(title):
            yield Section("limitations", heading, tuple(_paragraphs(sec)))
        elif _is_results(sec, title):
            yield Section("results", heading, tuple(_paragraphs(sec, leave=_LIMITS_TITLE)))
            yield from _limits_below(sec, path)
        elif _is_discussion(sec, title):
            yield from _limits_below(sec, path)
            said = tuple(text for text in _paragraphs(sec, leave=_LIMITS_TITLE) if _LIMITS_TEXT.search(text))
            yield Section("limitations", heading, said)
        else:
            yield from _sections(sec, path)


def _limits_below(sec: Element, above: tuple[str, ...]) -> Iterator[Section]:
    """Subsections on limits, at any depth."""
    for each in sec.findall("sec"):
        path = (*above, _title(each))
        if _LIMITS_TITLE.search(_title(each)):
            yield Section("limitations", " > ".join(path), tuple(_paragraphs(each)))
        else:
            yield from _limits_below(each, path)


def _is_results(sec: Element, title: str) -> bool:
    return "results" in sec.get("sec-type", "").lower() or bool(
        re.match(r"[\divx.\s]*(?:\w+\s+){0,2}(?:results|findings)\b", title, re.IGNORECASE)
    )


def _is_discussion(sec: Element, title: str) -> bool:
    kinds = sec.get("sec-type", "").lower()
    return (
        "discussion" in kinds or "conclusion" in kinds or bool(re.search(r"discussion|conclusion|comment", title, re.I))
    )


def _title(sec: Element) -> str:
    title = sec.find("title")
    return flat(title).rstrip(" .:") if title is not None else ""


def _paragraphs(sec: Element, leave: re.Pattern[str] | None = None) -> Iterator[str]:
    """The paragraphs of a section and those below it, without figures and tables.

    Args:
        sec: a section.
        leave: subsections whose title it matches are left out; None leaves none out.
    """
    for each in sec:
        if each.tag == "sec":
            if leave is None or not leave.search(_title(each)):
                yield from _paragraphs(each, leave)
        elif each.tag in ("p", "list", "disp-quote") and (text := flat(each)):
            yield text


def _capped(sections: Iterable[Section]) -> Iterator[Section]:
    """Sections that hold text, each paragraph once, cut at a sentence's end where a kind has had its share."""
    room: dict[Kind, int] = {"results": MAX_SECTION_CHARS, "limitations": MAX_SECTION_CHARS}
    seen: set[str] = set()
    for section in sections:
        kept: list[str] = []
        for text in section.paragraphs:
            if text in seen or room[section.kind] <= 0:
                continue
            seen.add(text)
            short = _cut(text, room[section.kind])
            room[section.kind] = room[section.kind] - len(short) if short == text else 0
            kept += [short] if short else []
        if kept:
            yield Section(section.kind, section.title, tuple(kept))


def _cut(text: str, room: int) -> str:
    """The text, or as many of its sentences as there is room for."""
    if len(text) <= room:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text[:room])]
    return text[: ends[-1]] if ends else ""


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
    if worded := _WORDED.search(words):
        terms = "".join(short for short, word in _TERMS if word in worded[1].lower())
        return " ".join(filter(None, (f"CC BY{terms}", worded[2])))
    return (words if len(words) <= 200 else words[:199] + "…") or None
