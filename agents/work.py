"""`WorkShare`: how much of a run was done by the language model that was asked for it."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from willowbark.tools.wording import counted, listed

from .asking.reader import ReadingCounts
from .assessment import JudgeAssessment
from .findings import Findings

LEAST_SHARE = 0.8
"""Share of any part below which a run counts as failed, with exit code 4."""


class PartShare(BaseModel, frozen=True, extra="forbid"):
    """How often the model was asked for a part of a run, and how often it did it."""

    name: str
    """reading, in records; searching and judging, in turns; writing."""
    due: int
    done: int

    @property
    def share(self) -> float:
        """Done of due, 0 to 1; 1 where nothing was due."""
        return self.done / self.due if self.due else 1.0


class WorkShare(BaseModel, frozen=True, extra="forbid"):
    """How much of a run was done by the model that was asked for it."""

    model: str
    parts: list[PartShare] = []
    readings: ReadingCounts = ReadingCounts()
    reason: str = ""
    """Why the last call failed; empty if none did."""

    @property
    def share(self) -> float:
        """The least share of any part, whichever it is; 0 for a model that cannot be relied on."""
        if self.readings.is_unreliable:
            return 0.0
        return min((part.share for part in self.parts), default=1.0)

    @property
    def has_failed(self) -> bool:
        """Whether too little of a part is the model's for the report to pass as its work."""
        return self.share < LEAST_SHARE

    @property
    def line(self) -> str:
        """What a report says of this first; empty where the model did everything and nothing was refused or disputed.

        >>> parts = [PartShare(name="reading", due=140, done=0), PartShare(name="writing", due=1, done=1)]
        >>> WorkShare(model="openai/m", parts=parts, reason="503 busy").line
        'openai/m did not do what it was asked for: 0 of 140 records read (503 busy). Rules stand in for it.'
        """
        counts = self.readings
        if counts.is_unreliable:
            return (
                f"{self.model} cannot be relied on: {counts.disputed:,} of {counted(counts.parts, 'reading')} are not "
                "borne out by the sentences that it quotes for them. None of its readings counts; rules read instead."
            )
        lacking = [_tell(part) for part in self.parts if part.done < part.due]
        if self.has_failed:
            why = f" ({self.reason})" if self.reason else ""
            return f"{self.model} did not do what it was asked for: {listed(lacking)}{why}. Rules stand in for it."
        flaws = [*lacking]
        if counts.refused:
            flaws.append(f"{counts.refused:,} of {counted(counts.asked, 'record')} refused")
        if counts.disputed:
            flaws.append(f"{counts.disputed:,} of {counted(counts.parts, 'reading')} disputed")
        return f"By {self.model}: {listed(flaws)}; what is refused or disputed counts for nothing." if flaws else ""


_TOLD = {
    "reading": "{done} of {due} records read",
    "searching": "{done} of {due} searches chosen",
    "judging": "{done} of {due} verdicts given",
    "writing": "the answer not written",
}


def _tell(part: PartShare) -> str:
    return _TOLD[part.name].format(done=f"{part.done:,}", due=f"{part.due:,}")


def measure_work(
    model: str,
    findings: Sequence[Findings],
    assessments: Iterable[JudgeAssessment],
    *,
    is_written: bool | None,
    reason: str = "",
) -> WorkShare:
    """Measure how much of a run its model did.

    Args:
        model: its name.
        findings: of all turns of specialists.
        assessments: of all rounds.
        is_written: whether it wrote the answer; None if it was not asked to.
        reason: why its last call failed; empty if none did.
    """
    counts = sum((finding.reading_counts for finding in findings), ReadingCounts())
    turns = [finding.is_by_model for finding in findings if finding.is_by_model is not None]
    verdicts = [assessment.is_by_model for assessment in assessments if assessment.is_by_model is not None]
    written = [] if is_written is None else [is_written]
    parts = [
        PartShare(name="reading", due=counts.asked, done=counts.read),
        PartShare(name="searching", due=len(turns), done=sum(turns)),
        PartShare(name="judging", due=len(verdicts), done=sum(verdicts)),
        PartShare(name="writing", due=len(written), done=sum(written)),
    ]
    return WorkShare(model=model, parts=[part for part in parts if part.due], readings=counts, reason=reason)
