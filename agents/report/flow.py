"""How many records came and went, in the steps of PRISMA 2020 (https://doi.org/10.1136/bmj.n71).

The numbers add up by making: all that was identified is a duplicate or screened, all that was screened is excluded or
included.
"""

from collections import Counter

from willowbark.tools.appraisal.candidates import on_condition
from willowbark.tools.evidence import Evidence
from willowbark.tools.questions.query import ParsedQuestion

from .material import Material
from .model import Flow

RETRACTED = "retracted"
BACKGROUND = "drug or disease database entry, used for mechanisms"
OFF_TOPIC = "not on the condition asked about"
NO_DRUG = "names no drug"
NOTICE = "notice on another article (retraction, concern or correction)"
VERSION = "preprint or earlier version of a record that was read"
_VERSIONS = ("preprint_versions", "earlier_versions")
SET_ASIDE = "on drugs that were set aside before the report"


def flow(material: Material) -> Flow:
    """Count the records from identification to inclusion."""
    identified: Counter[str] = Counter()
    for reply in material.dossier.replies:
        identified[reply.source] += len(reply.records)
    for record in material.pool:
        identified[record.citation.source] += "fetched_as" in record.metadata
    appraised = {record.key for candidate in (*material.candidates, *material.aside) for record in candidate.records}
    aside = {record.key for candidate in material.aside for record in candidate.records}
    reasons = [
        SET_ASIDE if record.key in aside - appraised else _reason(record, appraised, material.asked)
        for record in material.pool
    ]
    excluded = Counter(reason for reason in reasons if reason)
    screened = len(material.pool)
    if united := sum(len(r.metadata.get(kind) or ()) for r in material.pool for kind in _VERSIONS):
        excluded[VERSION] = united
        screened += united
    return Flow(
        identified={source: number for source, number in sorted(identified.items()) if number},
        duplicates=identified.total() - screened,
        screened=screened,
        excluded=dict(sorted(excluded.items())),
        included=screened - excluded.total(),
    )


def _reason(record: Evidence, appraised: set[str], asked: ParsedQuestion) -> str | None:
    """Why a record was left out; None where it was appraised for a candidate."""
    if record.key in appraised:
        return RETRACTED if record.metadata.get("retracted") else None
    if record.metadata.get("record_type") in ("drug", "disease"):
        return BACKGROUND
    if record.metadata.get("record_type") == "notice":
        return NOTICE
    return NO_DRUG if on_condition(record, asked) else OFF_TOPIC
