"""What a report is made of: the dossier, what was appraised and claimed, and how the run went."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import Evidence
from willowbark.tools.questions.query import ParsedQuestion, parse_question

from ..approval import Approval
from ..drafts import ReportDraft
from ..findings import Dossier
from ..judge import JudgeAssessment
from ..progress import Progress
from .claims import Verdicts
from .content import TurnUsage

_ENDINGS = {
    "sufficient_evidence": "the evidence was judged sufficient",
    "token_budget_exceeded": "the token budget was nearly used",
    "max_iterations_reached": "the highest number of rounds was reached",
    "timeout": "the time budget was nearly used",
    "no_new_evidence": "nothing new was left to find",
    "sources_unreachable": "no source could be reached",
    "cancelled": "the run was cancelled",
    "no_verdict": "the report was called for before a judge had ended it",
    "error": "the run failed, and this is what it had found until then",
}
_AIMS = {"prevention": "to prevent", "treatment": "for", "unknown": "for"}


@dataclass(frozen=True)
class Material:
    """All that a report is made of."""

    dossier: Dossier
    assessments: Sequence[JudgeAssessment]
    pool: Sequence[Evidence]
    candidates: Sequence[Candidate]
    """Without those that were set aside."""
    draft: ReportDraft
    verdicts: Verdicts
    repaired: int = 0
    notes: Sequence[str] = ()
    tokens_used: int = 0
    analyst: str = "unknown"
    model_failed: bool = False
    """Whether the draft is not by the model that was asked first."""
    stop_reason: str | None = None
    approval: Approval = field(default_factory=Approval.not_asked)
    aside: Sequence[Candidate] = ()
    """Candidates that the report does not deal with, by decision."""
    usage: Sequence[TurnUsage] = ()
    readings: Readings = field(default_factory=Readings)
    """Of the run."""
    records: Mapping[str, Evidence] = field(init=False)
    asked: ParsedQuestion = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", {record.key: record for record in self.pool})
        object.__setattr__(self, "asked", parse_question(self.dossier.question))

    @property
    def reason(self) -> str:
        """Why the search ended, as `JudgeAssessment.stop_reason` names it; `no_verdict` where no judge ended it."""
        given = [verdict.stop_reason for verdict in self.assessments if verdict.stop_reason]
        return self.stop_reason or (given[-1] if given else "no_verdict")

    @property
    def ending(self) -> str:
        """Why the search ended, in words, and how much was read."""
        progress = self.assessments[-1].progress if self.assessments else Progress()
        why = _ENDINGS.get(self.reason, self.reason)
        if self.reason == "sources_unreachable" and self.dossier.answered:
            why = "the sources that were asked could no longer be reached"
        elif self.reason == "verdicts_settled":
            why = f"the last {progress.unchanged:,} records changed no verdict"
        elif self.reason == "depth_reached":
            why = f"the {progress.most:,} records of the depth asked for were reached"
        elif self.reason == "no_new_evidence" and progress.read < progress.hits:
            why = "the hits that are left could not be had, or were others' again"
        return f"{why}; {progress.said}" if progress.hits else why

    @property
    def topic(self) -> str:
        """The condition asked about, spelt as in the question; the question's words in quotes where none is known."""
        named = " and ".join(as_asked(name, self.dossier.question) for name in self.asked.conditions)
        return named or f"“{' '.join(self.asked.terms) or self.dossier.question}”"

    @property
    def purpose(self) -> str:
        """What the drugs are looked at for: `to prevent migraine`, `for portal hypertension`."""
        return f"{_AIMS[self.asked.intent]} {self.topic}"

    @property
    def sandboxed(self) -> bool:
        """Whether a sandbox answered in the sources' place."""
        return any(reply.sandboxed for reply in self.dossier.replies)


def as_asked(name: str, question: str) -> str:
    """A condition's common name with the capitals that the question gives it."""
    found = re.search(rf"\b{re.escape(name)}\b", question, re.IGNORECASE)
    return found[0] if found else name
