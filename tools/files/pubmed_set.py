"""PubMed's XML: sets of articles and books, read one at a time, from files of any length."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError, fromstring

from ..errors import UnreadableReply
from ..http.xml import attribute, first, read_trees
from ..local_files import UnusableFile, open_pieces
from ..sources.studies.pubmed import convert_article

_ENDS = re.compile(rb"</Pubmed(?:Book)?Article>")
_SET = re.compile(rb"<Pubmed(?:Book)?ArticleSet")
_SET_END = re.compile(rb"</Pubmed(?:Book)?ArticleSet>")
_LONGEST = 16_000_000  # longest article in bytes
_HEAD = 4096
_PASSED_OVER = ((b"<ReferenceList", b"</ReferenceList>"), (b"<History>", b"</History>"))
"""Long elements that are not needed, and in which no others occur."""
_MOST_TAGS = 50_000  # of an article, without its references; above, it is read with bounds of depth and number
_PMID = re.compile(rb"<PMID[^>]{0,100}>\s{0,20}(\d{1,10})\s{0,20}</PMID>")


class BadFile(Exception):
    """The file is not a baseline or update file, or ends too early; the message says which in a few words."""


class Article(NamedTuple):
    pmid: str
    version: int
    facts: dict[str, Any]
    """See `pubmed.convert_article`."""


class Deletion(NamedTuple):
    """An article deleted from PubMed."""

    pmid: str


class Unread(NamedTuple):
    why: str


def read_medline(file: Path) -> Iterator[Article | Deletion | Unread]:
    """Read a whole `.xml.gz` or `.xml` file; on `BadFile`, discard everything read from it so far."""
    try:
        with open_pieces(file) as pieces:
            yield from read_set(pieces)
    except UnusableFile as error:
        raise BadFile(str(error)) from None


def read_set(pieces: Iterable[bytes]) -> Iterator[Article | Deletion | Unread]:
    """Read a set of articles or books, or a single one, from its pieces; raises `BadFile` as `read_medline`."""
    rest = b""
    is_set = is_begun = False
    for piece in pieces:
        rest += piece
        if not is_begun:
            is_begun = True
            is_set = _SET.search(rest, 0, _HEAD) is not None
            if not is_set and _ENDS.search(rest) is None:
                raise BadFile("holds no set of PubMed articles")
        at = 0
        for end in _ENDS.finditer(rest):
            opening = b"<" + end[0][2:]
            begin = rest.find(opening, at, end.start())
            yield _read_article(rest[begin if begin >= 0 else at : end.end()])
            at = end.end()
        rest = rest[at:]
        if len(rest) > _LONGEST:
            raise BadFile("holds an article of more than 16 MB")
    if not is_begun:
        raise BadFile("holds no set of PubMed articles")
    if is_set and _SET_END.search(rest) is None:
        raise BadFile("ends before its last article")
    for start, stop in _places_of(rest, b"<DeleteCitation>", b"</DeleteCitation>"):
        for pmid in _PMID.findall(rest, start, stop):
            yield Deletion(pmid.decode())


def _places_of(xml: bytes, opening: bytes, closing: bytes) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each element, in a time that grows with the length alone, also where none is closed."""
    begin = xml.find(opening)
    while begin >= 0:
        end = xml.find(closing, begin)
        if end < 0:
            return
        end += len(closing)
        yield begin, end
        begin = xml.find(opening, end)


def _drop(xml: bytes, opening: bytes, closing: bytes) -> bytes:
    children = []
    at = 0
    for begin, end in _places_of(xml, opening, closing):
        children.append(xml[at:begin])
        at = end
    children.append(xml[at:])
    return b"".join(children)


def _read_article(xml: bytes) -> Article | Unread:
    number = _PMID.search(xml)
    name = f"PMID {number[1].decode()}" if number else "an article without PMID"
    try:
        for opening, closing in _PASSED_OVER:
            begin = xml.find(opening)
            end = xml.rfind(closing)
            if 0 <= begin < end:
                xml = xml[:begin] + xml[end + len(closing) :]
        xml = _drop(xml, b"<AffiliationInfo>", b"</AffiliationInfo>")
        # the prefix of formulas may not be declared; what has very many elements is not PubMed's
        if b"<mml:" in xml or xml.count(b"<") > _MOST_TAGS:
            _, (root,) = read_trees("pubmed", xml, ("PubmedArticle", "PubmedBookArticle"))
        else:
            root = fromstring(xml)  # noqa: S314  a fragment of a document, in which no entity can be declared
        facts = convert_article({root.tag: root})
        publication = attribute(first(root, "MedlineCitation", "PMID"), "Version") or "1"
        return Article(facts["metadata"]["pmid"], int(publication) if publication.isdecimal() else 1, facts)
    except (ParseError, UnreadableReply, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return Unread(f"{name} is unreadable ({type(error).__name__})")
