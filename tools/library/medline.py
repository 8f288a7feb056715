"""Reads PubMed's baseline and update files: `pubmedYYnNNNN.xml.gz`, some 30,000 articles each.

https://pubmed.ncbi.nlm.nih.gov/download/ and https://www.nlm.nih.gov/databases/download/pubmed_medline_documentation.html.
A file is streamed and split into articles, each parsed separately: a broken article affects no other, and memory holds
one at a time. Articles are parsed by the same function as PubMed's replies.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError, fromstring

from ..errors import UnreadableReply
from ..sources.studies.pubmed import article_facts, read_articles

_BEGIN, _END = b"<PubmedArticle>", b"</PubmedArticle>"
_CHUNK = 1 << 20
_LONGEST = 16_000_000  # longest article in bytes
_HEAD = 4096
_PASSED_OVER = ((b"<ReferenceList", b"</ReferenceList>"), (b"<History>", b"</History>"))
"""Long elements that are not needed, and in which no others occur."""
_AFFILIATION = re.compile(rb"<AffiliationInfo>[^<]*(?:<(?!/AffiliationInfo>)[^<]*)*</AffiliationInfo>")
_DELETED = re.compile(rb"<DeleteCitation>(.*?)</DeleteCitation>", re.DOTALL)
_PMID = re.compile(rb"<PMID[^>]*>\s*(\d+)\s*</PMID>")


class BadFile(Exception):
    """The file is not a baseline or update file, or ends too early; the message says which in a few words."""


class Article(NamedTuple):
    pmid: str
    version: int
    facts: dict[str, Any]
    """See `pubmed.article_facts`."""


class Deletion(NamedTuple):
    """An article deleted from PubMed."""

    pmid: str


class Unread(NamedTuple):
    why: str


def read_medline(file: Path) -> Iterator[Article | Deletion | Unread]:
    """Read a whole `.xml.gz` or `.xml` file; on `BadFile`, discard everything read from it so far."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            held = stream.read(_HEAD)
            if b"<PubmedArticleSet" not in held:
                raise BadFile("holds no set of PubMed articles")
            chunk = held
            while chunk:
                chunk = stream.read(_CHUNK)
                held += chunk
                at = 0
                while (end := held.find(_END, at)) >= 0:
                    begin = held.find(_BEGIN, at, end)
                    yield _read_article(held[begin if begin >= 0 else at : end + len(_END)])
                    at = end + len(_END)
                held = held[at:]
                if len(held) > _LONGEST:
                    raise BadFile("holds an article of more than 16 MB")
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise BadFile("is cut or damaged") from None
    except OSError as error:
        raise BadFile(f"cannot be read ({error.strerror})") from None
    if b"</PubmedArticleSet>" not in held:
        raise BadFile("ends before its last article")
    for group in _DELETED.findall(held):
        for pmid in _PMID.findall(group):
            yield Deletion(pmid.decode())


def _read_article(xml: bytes) -> Article | Unread:
    number = _PMID.search(xml)
    name = f"PMID {number[1].decode()}" if number else "an article without PMID"
    try:
        for first, last in _PASSED_OVER:
            begin, end = xml.find(first), xml.rfind(last)
            xml = xml[:begin] + xml[end + len(last) :] if 0 <= begin < end else xml
        xml = _AFFILIATION.sub(b"", xml)
        if b"<mml:" in xml:  # formulas, whose prefix may not be declared
            (root,) = read_articles(xml)
        else:
            root = fromstring(xml)  # noqa: S314  a fragment of a document, in which no entity can be declared
        facts = article_facts(root)
        version = root.find("MedlineCitation/PMID")
        said = version.get("Version", "1") if version is not None else "1"
        return Article(facts["metadata"]["pmid"], int(said) if said.isdecimal() else 1, facts)
    except (ParseError, UnreadableReply, ValueError, LookupError, TypeError, AttributeError) as error:
        return Unread(f"{name} is unreadable ({type(error).__name__})")
