"""PubMed's EFetch XML, cut into articles whose titles, abstracts and other running text hold no markup.

A SAX pass before `xmltodict` reads the structure: of "did <b>not</b> reduce" a tree of dictionaries keeps the words and
loses their order. Documented at https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html
"""

from dataclasses import dataclass
from io import BytesIO
from xml.sax import SAXException
from xml.sax.handler import ContentHandler
from xml.sax.saxutils import escape, quoteattr
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser

from ...errors import UnreadableReply
from ..publications import raised, without_doctype, without_markup

_MAX_DEPTH = 100  # PubMed's own records stay below 20, formulas included

_ARTICLES = frozenset({"PubmedArticle", "PubmedBookArticle"})
_ROOTS = frozenset({*_ARTICLES, "PubmedArticleSet", "PubmedBookArticleSet", "eFetchResult", "ERROR"})
_DROPPED = frozenset(
    "ReferenceList OtherAbstract CopyrightInformation AffiliationInfo InvestigatorList GrantList CoiStatement History"
    " GeneralNote PersonalNameSubjectList Sections".split()
)
_TEXT = frozenset(
    "ArticleTitle VernacularTitle AbstractText BookTitle Title CollectiveName LastName ForeName Initials Suffix Keyword"
    " NameOfSubstance DescriptorName PublicationType RefSource MedlineDate".split()
)
_BETWEEN = {"msup": "^", "mfrac": "/"}  # MathML: written between the two children


@dataclass(frozen=True, slots=True)
class ArticleSet:
    """What an EFetch reply holds, before its articles are read."""

    articles: list[str]
    """XML of each article; its titles, abstracts and other running text hold no markup."""
    error: str = ""
    """PubMed's own error message; empty where there is none."""


def cut(xml: bytes) -> ArticleSet:
    """Cut a reply into articles whose running text is plain.

    Raises:
        UnreadableReply: the XML is cut, is something else, holds entities, or is nested beyond any real record.

    >>> cut(b"<PubmedArticleSet><PubmedArticle><Keyword>TNF-<i>alpha</i></Keyword></PubmedArticle></PubmedArticleSet>")
    ArticleSet(articles=['<PubmedArticle><Keyword>TNF-alpha</Keyword></PubmedArticle>'], error='')
    """
    handler = _Cutter()
    parser = create_parser(forbid_dtd=True)
    parser.setContentHandler(handler)
    try:
        parser.parse(BytesIO(without_doctype(xml)))
    except (SAXException, DefusedXmlException, ValueError, LookupError) as error:
        raise UnreadableReply("pubmed", f"answered with XML that is cut or broken ({type(error).__name__})") from None
    if handler.root not in _ROOTS:
        raise UnreadableReply("pubmed", "answered with XML that holds no articles")
    return ArticleSet(handler.articles, handler.error)


class _Cutter(ContentHandler):
    """Does the cutting.

    Attributes:
        root: name of the outermost element.
        articles: XML of each article.
        error: text of an `ERROR` element outside of the articles.
    """

    def __init__(self) -> None:
        super().__init__()
        self.root = ""
        self.articles: list[str] = []
        self.error = ""
        self._depth = 0
        self._skipped_at = 0  # depth of the element that is being dropped; 0 outside of one
        self._text_at = 0  # depth of the element whose content is running text; 0 outside of one
        self._out: list[str] | None = None  # the article's XML so far; None between articles
        self._text: list[str] = []
        self._raised: list[tuple[int, int]] = []  # depth of each open superscript, and where its text begins
        self._pairs: list[tuple[int, str]] = []  # depth of each open MathML pair, and what to write between

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 - SAX's name
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        if self._depth == 1:
            self.root = name
        if self._skipped_at:
            return
        if self._text_at:
            self._start_inline(name)
        elif name in _ARTICLES:
            self._out = [f"<{name}>"]
        elif name == "ERROR" and self._out is None:
            self._text_at, self._text = self._depth, []
        elif self._out is not None and name in _DROPPED:
            self._skipped_at = self._depth
        elif self._out is not None:
            self._out.append(f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in attrs.items())}>")
            if name in _TEXT:
                self._text_at, self._text = self._depth, []

    def _start_inline(self, name: str) -> None:
        plain = name.rpartition(":")[2]
        if plain == "sup":
            self._raised.append((self._depth, len(self._text)))
        elif plain in _BETWEEN:
            self._pairs.append((self._depth, _BETWEEN[plain]))

    def characters(self, content: str) -> None:
        if self._skipped_at:
            return
        if self._text_at:
            self._text.append(content)
        elif self._out is not None:
            self._out.append(escape(content))

    def endElement(self, name: str) -> None:  # noqa: N802 - SAX's name
        depth, self._depth = self._depth, self._depth - 1
        if self._skipped_at:
            self._skipped_at = 0 if depth == self._skipped_at else self._skipped_at
            return
        if self._text_at and depth > self._text_at:
            self._end_inline(depth)
            return
        if self._text_at:
            self._end_text()
        if self._out is not None:
            self._out.append(f"</{name}>")
            if name in _ARTICLES:
                self.articles.append("".join(self._out))
                self._out = None

    def _end_inline(self, depth: int) -> None:
        if self._raised and self._raised[-1][0] == depth:
            start = self._raised.pop()[1]
            before = self._text[start - 1] if start else ""
            self._text[start:] = [raised(before, "".join(self._text[start:]))]
        if self._pairs and self._pairs[-1][0] == depth:
            self._pairs.pop()
        elif self._pairs and self._pairs[-1][0] == depth - 1 and self._pairs[-1][1]:
            self._text.append(self._pairs[-1][1])
            self._pairs[-1] = (depth - 1, "")

    def _end_text(self) -> None:
        text = "".join(self._text)
        if "</" in text or "<br" in text:  # some publishers' markup is sent escaped
            text = without_markup(text)
        text = " ".join(text.split())
        self._text_at = 0
        if self._out is None:
            self.error = text or "no reason given"
        else:
            self._out.append(escape(text))
