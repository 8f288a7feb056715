"""XML of others: EndNote's, and the full records that ClinicalTrials.gov gave for download until 2024.

https://docs.endnote.com/docs/endnote/2025/v1/windows/content/15exporting/exporting_records_as_xml_.htm
"""

from collections.abc import Callable, Iterator
from typing import Any

from ..arguments import as_code, read_phases
from ..errors import UnreadableReply
from ..http.xml import every, first, read_items, text_of
from ..local_files import UnusableFile
from ..records.evidence import checked_identifier
from ..sources.publications import format_iso_date
from .item import FileItem, FileRecord, RecordFields, UnreadableRecord, publication_fields
from .studies import PHASES, study_of_facts

_ENDNOTE_TEXTS = frozenset(
    "title secondary-title alt-title full-title abbr-1 author abstract year date volume number pages accession-num"
    " electronic-resource-num url remote-database-name custom2 notes work-type rec-number".split()
)
"""Elements of which the text is in `style` elements, one for each change of font."""
_ENDNOTE_DROPPED = frozenset({"database", "foreign-keys", "auth-address", "ref-type", "keywords", "source-app"})
_STUDY_TEXTS = frozenset(
    "nct_id brief_title official_title acronym overall_status why_stopped textblock condition intervention_type"
    " intervention_name measure agency phase enrollment study_type allocation masking primary_purpose start_date"
    " completion_date last_update_posted".split()
)
_STUDY_DROPPED = frozenset(
    "location location_countries eligibility oversight_info overall_official overall_contact reference"
    " results_reference clinical_results removed_countries detailed_description arm_group other_outcome".split()
)


def read_endnote(content: bytes) -> Iterator[FileItem]:
    """Yield the records of EndNote's XML; raises `UnusableFile` where it is cut or broken before the first."""
    yield from _read_items(content, "record", _ENDNOTE_TEXTS, _ENDNOTE_DROPPED, _endnote_fields)


def read_studies(content: bytes) -> Iterator[FileItem]:
    """Yield the studies of ClinicalTrials.gov's older XML; raises as `read_endnote`."""
    yield from _read_items(content, "clinical_study", _STUDY_TEXTS, _STUDY_DROPPED, _study_fields)


def _read_items(
    content: bytes, name: str, texts: frozenset[str], dropped: frozenset[str], parse: Callable[[Any], RecordFields]
) -> Iterator[FileItem]:
    items = list[FileItem]()

    def take(_: str, data: Any) -> None:
        place = f"record {len(items) + 1}"
        fields = parse(data)
        if fields:
            items.append(FileRecord(place, fields, _number_of(data)))
        else:
            items.append(UnreadableRecord(place, "neither title nor number"))

    broken = ""
    try:
        read_items("file", content, take, items=(name,), texts=texts, dropped=dropped)
    except UnreadableReply:
        broken = "the XML ends or breaks here"
        if not items:
            raise UnusableFile("is XML that is cut or broken") from None
    yield from items
    if broken:
        yield UnreadableRecord(f"record {len(items) + 1}", broken)


def _number_of(data: Any) -> dict[str, str]:
    number = text_of(first(data, "rec-number"))
    return {"id": number} if number else {}


def _endnote_fields(record: Any) -> RecordFields:
    database = text_of(first(record, "remote-database-name")).lower()
    number = text_of(first(record, "accession-num"))
    is_pubmed = "medline" in database or "pubmed" in database or "nlm" in database
    return publication_fields(
        title=text_of(first(record, "titles", "title")),
        texts=[text_of(first(record, "abstract"))],
        authors=[text_of(name) for name in every(record, "contributors", "authors", "author")],
        date=text_of(first(record, "dates", "year")),
        pmid=number if is_pubmed else "",
        pmcid=text_of(first(record, "custom2")),
        doi=text_of(first(record, "electronic-resource-num")),
        notes=[number, text_of(first(record, "notes")), *_urls_of(record)],
        journal=text_of(first(record, "periodical", "full-title") or first(record, "titles", "secondary-title")),
        journal_abbreviation=text_of(first(record, "periodical", "abbr-1")),
        volume=text_of(first(record, "volume")),
        issue=text_of(first(record, "number")),
        pages=text_of(first(record, "pages")),
    )


def _urls_of(record: Any) -> list[str]:
    return [text_of(address) for address in every(record, "urls", "related-urls", "url")]


def _study_fields(study: Any) -> RecordFields:
    number = checked_identifier("nct_id", text_of(first(study, "id_info", "nct_id")) or text_of(first(study, "nct_id")))
    title = text_of(first(study, "brief_title")) or text_of(first(study, "official_title"))
    if number is None:
        return {}
    if not title:
        return {"nct_id": number}
    design = first(study, "study_design_info")
    return study_of_facts(
        nct_id=number,
        title=title,
        official_title=text_of(first(study, "official_title")),
        acronym=text_of(first(study, "acronym")),
        status=as_code(text_of(first(study, "overall_status"))),
        why_stopped=text_of(first(study, "why_stopped")),
        summary=" ".join(text_of(first(study, "brief_summary", "textblock")).split()),
        conditions=[text_of(name) for name in every(study, "condition")],
        interventions=[_intervention(entry) for entry in every(study, "intervention")],
        outcomes=[text_of(first(outcome, "measure")) for outcome in every(study, "primary_outcome")],
        secondary=[text_of(first(outcome, "measure")) for outcome in every(study, "secondary_outcome")],
        sponsor=text_of(first(study, "sponsors", "lead_sponsor", "agency")),
        phases=read_phases(text_of(first(study, "phase")), PHASES),
        enrollment=text_of(first(study, "enrollment")),
        study_type=as_code(text_of(first(study, "study_type"))),
        design={
            "allocation": as_code(text_of(first(design, "allocation"))),
            "masking": as_code(text_of(first(design, "masking")).partition("(")[0]),
            "primary purpose": as_code(text_of(first(design, "primary_purpose"))),
        },
        start=_iso(text_of(first(study, "start_date"))),
        completion=_iso(text_of(first(study, "completion_date"))),
        updated=_iso(text_of(first(study, "last_update_posted"))),
    )


def _iso(text: str) -> str:
    """Write `March 5, 2019` and `March 2019` as 2019-03-05 and 2019-03; empty for no date."""
    *words, year = text.replace(",", " ").split() or [""]
    return format_iso_date(year, *words[:2]) or ""


def _intervention(data: Any) -> str:
    kind = text_of(first(data, "intervention_type"))
    name = text_of(first(data, "intervention_name"))
    return f"{kind}: {name}" if kind else name
