"""From a record to an item of the appraisal."""

from collections.abc import Sequence

from willowbark.tools.evidence import Evidence, checked_identifier
from willowbark.tools.registry import kind_of
from willowbark.tools.works.linking import named_trials, trial_number
from willowbark.tools.works.sections import places

from ..appraisal.item import AppraisedItem
from ..appraisal.stopping import why_stopped_kind
from .arms import name_pattern
from .conclusion import conclusion_of
from .design import DesignFinding, StudyDesign, classify_design
from .direction import Direction, DirectionFinding
from .purpose import purpose_of
from .reporting import sample_size

_OF_ONE_STUDY = frozenset(
    {
        StudyDesign.rct,
        StudyDesign.rct_blinded,
        StudyDesign.rct_open,
        StudyDesign.controlled_cohort,
        StudyDesign.cohort,
        StudyDesign.registry_entry,
    }
)
_PRECLINICAL = frozenset({StudyDesign.in_vivo, StudyDesign.in_vitro, StudyDesign.in_silico})


def design_of(record: Evidence) -> DesignFinding:
    """Tell the study design of a record; a record of a trial registry is a registry entry."""
    if kind_of(record) == "trial":
        return DesignFinding(design=StudyDesign.registry_entry, reason="record of a trial registry")
    return classify_design(
        record.citation.title,
        record.content,
        record.paper.publication_types if record.paper else (),
        record.record.mesh_terms,
    )


def finding_of(
    record: Evidence, drug: str, condition: str, synonyms: Sequence[str] = (), *, intent: str = "unknown"
) -> DirectionFinding:
    """Tell whether a record supports a drug for a condition.

    The abstract decides: the rules were set on abstracts. Only where it states no result for the drug are the results
    of an open full text read, if the record has them. With the intent `prevention`, a record that uses the drug only to
    treat what is there is neutral.
    """
    title = record.citation.title
    body = record.content.removeprefix(title).lstrip(" .\n")
    found = conclusion_of(title, body, drug, condition, synonyms, intent=intent)
    results = _results(record)
    if not results or not _is_open(found):
        return found
    return conclusion_of(title, results, drug, condition, synonyms, intent=intent)


def prevents(record: Evidence, drug: str, synonyms: Sequence[str] = ()) -> bool:
    """Whether a record uses the drug to prevent something, rather than to treat what is there."""
    return purpose_of(record.citation.title, record.content, name_pattern((drug, *synonyms))) == "prevention"


def _is_open(found: DirectionFinding) -> bool:
    return found.direction is Direction.unclear


def _results(record: Evidence) -> str:
    return "\n".join(place.text for place in places(record, "results"))


def appraised_item(
    record: Evidence, drug: str, condition: str, synonyms: Sequence[str] = (), *, intent: str = "unknown"
) -> AppraisedItem:
    """Make the item that stands for a record in the appraisal of a drug for a condition."""
    design = design_of(record).design
    finding = finding_of(record, drug, condition, synonyms, intent=intent)
    trial, paper = record.trial, record.paper
    size = trial.enrollment if trial else None
    if size is None:
        reported = sample_size(record.content) or sample_size(_results(record))
        size = int(reported.value) if reported else None
    return AppraisedItem(
        key=record.key,
        design=design,
        direction=finding.direction,
        hedged=finding.hedged,
        against_nothing=finding.against_nothing,
        sample_size=size,
        is_preprint=record.is_preprint,
        retracted=paper.retracted if paper else None,
        concern=paper.expression_of_concern if paper else None,
        trial_status=trial.overall_status if trial else None,
        why_stopped_kind=why_stopped_kind(trial.why_stopped if trial else None),
        direct=design not in _PRECLINICAL,
        trial=trial_of(record, design),
    )


def trial_of(record: Evidence, design: StudyDesign) -> str | None:
    """The one trial that a record reports, by its NCT number; None for reviews, and where it names none or several."""
    if own := trial_number(record):
        return own
    if design not in _OF_ONE_STUDY:
        return None
    linked = (checked_identifier("nct_id", key.partition(":")[2]) for key in record.record.linked_trials)
    named = {*named_trials(record), *filter(None, linked)}
    return named.pop() if len(named) == 1 else None
