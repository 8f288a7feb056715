"""What a registered trial says of a drug, as a reading: its posted results, for a registration alone states aims."""

from collections.abc import Mapping, Sequence

from willowbark.tools.evidence import Evidence

from ..reading.reading import Comparator, Effect, OutcomeKind, Passage, Reading
from .direction import Direction
from .posted import PostedFinding, posted_finding

_EFFECTS: Mapping[Direction, Effect] = {
    Direction.supports: "better",
    Direction.contradicts: "no_difference",
    Direction.neutral: "mixed",
    Direction.unclear: "not_reported",
}
_COMPARATORS: Mapping[bool | None, Comparator] = {True: "none", False: "active", None: "not_reported"}
"""By whether the trial was against placebo or no treatment."""


def registered_reading(
    record: Evidence, drug: str, condition: str, synonyms: Sequence[str] = ()
) -> tuple[Reading, PostedFinding | None]:
    """Make the reading of a registered trial.

    Args:
        record: of ClinicalTrials.gov.
        drug: the drug asked about.
        condition: the condition asked about.
        synonyms: the drug's other names.

    Returns:
        The reading, and the posted results it was made from: None where none are posted.
    """
    posted = posted_finding(record, drug, synonyms)
    told = posted is not None and posted.direction is not Direction.unclear
    kind: OutcomeKind = "efficacy" if told else "none"
    comparator = _COMPARATORS[posted.against_nothing if posted else None]
    reading = Reading(
        key=record.key,
        drug=drug,
        condition=condition,
        role="tested",
        kind=kind,
        comparator=comparator,
        effect=_EFFECTS[posted.direction] if posted else "not_reported",
        design="rct" if told else "protocol",
        participants=record.trial.enrollment if record.trial else None,
        passages=tuple(_passages(record, posted)) if posted else (),
        reader="posted",
        version="1",
    )
    return reading, posted


def _passages(record: Evidence, posted: PostedFinding) -> list[Passage]:
    """The posted analysis that decided; none where none did."""
    if not posted.sentence:
        return []
    start = max(0, f"{record.citation.title}. {record.content}".find(posted.sentence))
    return [Passage(text=posted.sentence, section="Registry entry", start=start, end=start + len(posted.sentence))]
