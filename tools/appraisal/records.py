"""From a record to an item of the appraisal."""

from collections.abc import Sequence

from willowbark.tools.evidence import Evidence

from .certainty import AppraisedItem
from .conclusion import conclusion_of
from .design import DesignFinding, StudyDesign, classify_design
from .direction import DirectionFinding
from .reporting import sample_size
from .stopping import why_stopped_kind

_PRECLINICAL = frozenset({StudyDesign.in_vivo, StudyDesign.in_vitro, StudyDesign.in_silico})


def design_of(record: Evidence) -> DesignFinding:
    """Tell the study design of a record; a record of a trial registry is a registry entry."""
    if record.citation.source == "clinicaltrials":
        return DesignFinding(design=StudyDesign.registry_entry, reason="record of a trial registry")
    return classify_design(
        record.citation.title,
        record.content,
        record.metadata.get("publication_types") or (),
        record.metadata.get("mesh_terms") or (),
    )


def finding_of(record: Evidence, drug: str, condition: str, synonyms: Sequence[str] = ()) -> DirectionFinding:
    """Tell whether a record supports a drug for a condition."""
    body = record.content.removeprefix(record.citation.title).lstrip(" .\n")
    return conclusion_of(record.citation.title, body, drug, condition, synonyms)


def appraised_item(record: Evidence, drug: str, condition: str, synonyms: Sequence[str] = ()) -> AppraisedItem:
    """Make the item that stands for a record in the appraisal of a drug for a condition."""
    design = design_of(record).design
    finding = finding_of(record, drug, condition, synonyms)
    size = record.metadata.get("enrollment")
    if not isinstance(size, int):
        reported = sample_size(record.content)
        size = int(reported.value) if reported else None
    return AppraisedItem(
        key=record.key,
        design=design,
        direction=finding.direction,
        hedged=finding.hedged,
        against_nothing=finding.against_nothing,
        sample_size=size,
        is_preprint=record.is_preprint,
        retracted=record.metadata.get("retracted"),
        concern=record.metadata.get("expression_of_concern"),
        trial_status=record.metadata.get("overall_status"),
        why_stopped_kind=why_stopped_kind(record.metadata.get("why_stopped")),
        direct=design not in _PRECLINICAL,
    )
