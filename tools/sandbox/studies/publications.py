"""The library as several sources find it.

Publications as PubMed and Europe PMC do: one index, with both sources' names of fields. Pages of publications and
trials, as search engines do.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

from ..library import FullText, Library, Publication
from ..matching import Document, Index
from ..syntax import Node, parse

_DEFAULT = ("title", "abstract", "mesh", "uid")
_TITLE_ABSTRACT = ("title", "abstract")
_ALIASES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("all", "all fields", "tw", "text word", "text words"), _DEFAULT),
    **dict.fromkeys(("ti", "title"), ("title",)),
    **dict.fromkeys(("ab", "abstract"), ("abstract",)),
    **dict.fromkeys(("tiab", "title/abstract", "title_abs", "ot"), _TITLE_ABSTRACT),
    **dict.fromkeys(("mh", "mesh", "mesh terms", "majr", "mesh major topic", "kw", "nm", "substance name"), ("mesh",)),
    **dict.fromkeys(("pt", "ptyp", "publication type", "pub_type"), ("type",)),
    **dict.fromkeys(("au", "author", "auth"), ("author",)),
    **dict.fromkeys(("ta", "journal"), ("journal",)),
    **dict.fromkeys(("dp", "pdat", "date - publication", "pub_year", "first_pdate", "p_pdate_d"), ("date",)),
    **dict.fromkeys(("uid", "pmid", "ext_id", "si", "secondary source id", "accession_id"), ("uid",)),
    **dict.fromkeys(("aid", "doi", "location id"), ("doi",)),
    **dict.fromkeys(("pmc", "pmcid"), ("pmcid",)),
    "src": ("source",),
    "has_abstract": ("has_abstract",),
}
_BROADER = {"Randomized Controlled Trial": "Clinical Trial"}
"""PubMed's tree of publication types: who asks for the broader finds the narrower."""


class Publications:
    """All publications that a source can serve, and their index.

    Args:
        library: holds them.
        whole: whether words without a field are sought in full texts, too.
    """

    def __init__(self, library: Library, *, whole: bool = False) -> None:
        self._citations = library.others.get("citations", ())
        self.full_texts = {each.pmcid: each for each in library.full_texts}
        self.by_id = {each.number: each for each in library.publications if each.number}
        bodies = self.full_texts if whole else {}
        self.index = Index(
            (_document(key, each, bodies.get(each.pmcid or "")) for key, each in self.by_id.items()),
            default=(*_DEFAULT, "body") if whole else _DEFAULT,
            aliases=_ALIASES,
        )

    @cached_property
    def by_pmid(self) -> dict[str, Publication]:
        """PubMed's own: preprints are not among them."""
        return {publication.pmid: publication for publication in self.by_id.values() if publication.pmid}

    @cached_property
    def citations(self) -> frozenset[tuple[str, str]]:
        """Which publication cites which, as far as the library's `citations.jsonl` says; it need not hold them."""
        return frozenset((str(each["citing"]), str(each["cited"])) for each in self._citations)

    def linked(self, pmid: str) -> tuple[list[str], list[str]]:
        """What cites a publication and what it cites, by PMID, the latest first."""
        citing = {one for one, other in self.citations if other == pmid}
        cited = {other for one, other in self.citations if one == pmid}
        return sorted(citing, key=int, reverse=True), sorted(cited, key=int, reverse=True)

    def found(self, node: Node | None) -> list[Publication]:
        """Those that a query matches, best first."""
        return [self.by_id[each] for each in self.index.search(node)]


def _document(key: str, publication: Publication, text: FullText | None) -> Document:
    broader = [_BROADER[kind] for kind in publication.publication_types if kind in _BROADER]
    return Document(
        id=key,
        fields={
            "title": publication.title,
            "abstract": publication.abstract or "",
            "mesh": " | ".join(publication.mesh_terms),
            "type": " | ".join([*publication.publication_types, *broader]),
            "author": " | ".join(publication.authors),
            "journal": publication.journal or "",
            "body": " | ".join(part for parts in text.sections.values() for part in parts) if text else "",
            "uid": " ".join([key, *publication.nct_ids]),
            "doi": publication.doi or "",
            "pmcid": publication.pmcid or "",
            "source": "PPR" if publication.is_preprint else "MED",
            "has_abstract": "y" if publication.abstract else "n",
        },
        dates={"date": publication.date} if publication.date else {},
    )


class Page(NamedTuple):
    """A page of the web as search engines show it."""

    url: str
    title: str
    text: str


def found_in(library: Library) -> Callable[[str], list[Page]]:
    """What finds pages: those of the library, then a page on somebody's opinion."""
    pages: dict[str, Page] = {}
    for each in library.publications:
        if each.pmid or each.doi:
            url = f"https://pubmed.ncbi.nlm.nih.gov/{each.pmid}/" if each.pmid else f"https://doi.org/{each.doi}"
            pages[url] = Page(url, each.title, each.abstract or "")
    for trial in library.trials:
        url = f"https://clinicaltrials.gov/study/{trial.nct_id}"
        named = trial.study["protocolSection"]["identificationModule"]
        pages[url] = Page(url, str(named.get("briefTitle", "")), trial.topic)
    index = Index(
        (Document(url, {"text": f"{page.title} {page.text}"}) for url, page in pages.items()),
        default=("text",),
        aliases={},
    )

    def search(query: str) -> list[Page]:
        found = [pages[url] for url in index.search(parse(query.replace(" -", " NOT ")))]
        return [*found[:1], Page("https://blog.example.org/", "My view", f"What I think of {query}"), *found[1:]]

    return search
