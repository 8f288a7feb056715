"""One hit of Europe PMC as evidence, in its full or its short form.

Fields are described at https://europepmc.org/docs/EBI_Europe_PMC_Web_Service_Reference.pdf
"""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..evidence import Citation, Evidence, checked_identifier
from ..records import Notice, NoticeOn, Publication
from .publications import NO_TITLE, NOTICE_TYPES, date_of, publication_date, raised, trial_numbers, written

_TAG = re.compile(
    r"</?([A-Za-z][\w:.-]{0,40})(?:\s+[\w:.-]{1,40}\s*=\s*(?:\"[^\"<>]{0,300}\"|'[^'<>]{0,300}'|[^\s\"'<>=]{1,300}))*\s*/?>"
)
_HEADING = re.compile(r"<h\d>([^<>]*)</h\d>", re.IGNORECASE)
_SUPERSCRIPT = re.compile(r"<sup>([^<>]*)</sup>", re.IGNORECASE)
_NOTICE_TYPES = frozenset(kind.lower() for kind in NOTICE_TYPES)
_NOTICES = {
    "retraction of": "retracted",
    "expression of concern for": "expression_of_concern",
    "erratum for": "corrected",
    "correction of": "corrected",
}
"""Notes by which an article speaks of another, and what that makes of the other."""
_CORRECTED = frozenset({"erratum in", "correction in", "corrected and republished in"})
_LINES = frozenset({"p", "br", "li", "div", "ul", "ol", "sec", "title"})


def parse_record(hit: Mapping[str, Any]) -> Evidence:
    """Read one hit.

    Raises:
        LookupError: it has no source or no number.
    """
    source, number = str(hit["source"]), str(hit["id"])
    types = _types(hit)
    preprint = source == "PPR" or "preprint" in {kind.lower() for kind in types}
    title = plain(hit.get("title") or "") or NO_TITLE
    abstract = plain(hit.get("abstractText") or "")
    return Evidence(
        content=written(title, abstract, preprint=preprint),
        citation=Citation(
            source="preprint" if preprint else "europepmc",
            title=title,
            url=f"https://europepmc.org/article/{source}/{number}",
            date=_date(hit, source),
            authors=list(_authors(hit)),
        ),
        record=_record(
            hit, types, is_preprint=preprint, nct_ids=trial_numbers(title, abstract), has_abstract=bool(abstract)
        ),
    )


def plain(text: str) -> str:
    """Text without markup: headings become labels, superscripts stay readable; a lone `<` is no markup.

    >>> plain("<h4>Results</h4>Pain fell (P<0.001; n&lt;5 of 10<sup>5</sup>).")
    'Results: Pain fell (P<0.001; n<5 of 10^5).'
    """
    text = _HEADING.sub(lambda m: f"\n{m[1].strip().rstrip(':')}: " if m[1].strip() else "\n", text)
    text = _TAG.sub(_untagged, text)
    text = _SUPERSCRIPT.sub(lambda m: raised(text[max(0, m.start() - 1) : m.start()], m[1]), text)
    lines = (" ".join(line.split()) for line in html.unescape(_TAG.sub("", text)).split("\n"))
    return "\n".join(line for line in lines if line)


def _untagged(match: re.Match[str]) -> str:
    name = match[1].lower()
    if name == "sup":
        return match[0]
    return "\n" if name in _LINES else ""


def _types(hit: Mapping[str, Any]) -> list[str]:
    """Publication types: a list in full records, one joined text in short ones."""
    listed = _under(hit, "pubTypeList", "pubType") or hit.get("pubType") or []
    types = listed.split(";") if isinstance(listed, str) else listed
    return list(dict.fromkeys(kind.strip() for kind in types if isinstance(kind, str) and kind.strip()))


def _record(
    hit: Mapping[str, Any], types: list[str], *, is_preprint: bool, nct_ids: list[str], has_abstract: bool
) -> Publication | Notice:
    """What the hit reports: of itself, of its standing (unknown where it gives no types), of its other versions."""
    source, number = str(hit["source"]), str(hit["id"])
    notes = _dicts(_under(hit, "commentCorrectionList", "commentCorrection"))
    kinds = {str(note.get("type")).lower() for note in notes}
    lowered = {kind.lower() for kind in types}
    told = bool(types or notes)
    said = [(str(note.get("type")).lower(), name) for note in notes if (name := _named(note))]
    preprint_of = [name for kind, name in said if kind == "preprint of" and name.startswith("pmid:")]
    is_notice = bool(_NOTICE_TYPES & lowered)
    on = [NoticeOn(flag=_NOTICES[kind], name=name) for kind, name in said if kind in _NOTICES]
    journal = _under(hit, "journalInfo", "journal", "title") or hit.get("journalTitle")
    cited = hit.get("citedByCount")
    headings = _dicts(_under(hit, "meshHeadingList", "meshHeading"))
    chemicals = _dicts(_under(hit, "chemicalList", "chemical"))
    keywords = _under(hit, "keywordList", "keyword")
    return (Notice if is_notice else Publication)(
        pmid=checked_identifier("pmid", hit.get("pmid") or (number if source == "MED" else None)),
        pmcid=checked_identifier("pmcid", hit.get("pmcid") or (number if source == "PMC" else None)),
        doi=checked_identifier("doi", hit.get("doi")),
        ppr_id=number if source == "PPR" else None,
        journal=_said(journal or _under(hit, "bookOrReportDetails", "publisher")),
        language=_said(hit.get("language")),
        license=_said(hit.get("license")),
        is_open_access={"Y": True, "N": False}.get(str(hit.get("isOpenAccess"))),
        cited_by_count=cited if isinstance(cited, int) else None,
        publication_types=types,
        is_preprint=is_preprint,
        retracted="retracted publication" in lowered or "retraction in" in kinds if told else None,
        expression_of_concern="expression of concern in" in kinds if told else None,
        corrected=bool(kinds & _CORRECTED) if told else None,
        published_version=preprint_of[0].partition(":")[2] if preprint_of else None,
        updated_in=[name for kind, name in said if kind == "update in"],
        update_of=[name for kind, name in said if kind in ("preprint in", "update of")],
        notice_on=on if is_notice else [],
        mesh_terms=[plain(str(heading["descriptorName"])) for heading in headings if heading.get("descriptorName")],
        chemicals=[plain(str(chemical["name"])) for chemical in chemicals if chemical.get("name")],
        keywords=[plain(str(word)) for word in keywords] if isinstance(keywords, list) else [],
        nct_ids=nct_ids,
        has_abstract=has_abstract,
    )


def _said(value: object) -> str | None:
    return str(value) if value else None


def _named(note: Mapping[str, Any]) -> str | None:
    """The article that a note is on: `pmid:…`, or `ppr:…` for a preprint."""
    source, number = note.get("source"), str(note.get("id"))
    if source == "PPR":
        return f"ppr:{number}"
    pmid = checked_identifier("pmid", number) if source == "MED" else None
    return f"pmid:{pmid}" if pmid else None


def _date(hit: Mapping[str, Any], source: str) -> str:
    """A preprint's first day; an article's date as PubMed would give it (a printed month has no day)."""
    first = date_of(str(hit.get("firstPublicationDate") or ""))
    issue = date_of(str(_under(hit, "journalInfo", "dateOfPublication") or ""))
    if source == "PPR" or issue is None:
        return publication_date(first, date_of(str(hit.get("pubYear") or "")))
    return publication_date(issue, date_of(str(hit.get("electronicPublicationDate") or "")))


def _authors(hit: Mapping[str, Any]) -> Iterator[str]:
    listed = _dicts(_under(hit, "authorList", "author"))
    names = [str(author.get("fullName") or author.get("collectiveName") or "") for author in listed]
    for name in names or str(hit.get("authorString") or "").rstrip(".").split(", "):
        if shown := plain(name):
            yield shown


def _under(hit: Mapping[str, Any], *path: str) -> Any:
    """What stands at a path; None where any part of it is missing."""
    found: Any = hit
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _dicts(found: Any) -> list[dict[str, Any]]:
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
