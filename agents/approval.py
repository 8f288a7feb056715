"""A person's approval of the candidates before the report is written: request, answer and decision."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Self

from pydantic import BaseModel, Field

from willowbark.agents.autogen import ModelTextMessage
from willowbark.tools.appraisal import Level, Quality
from willowbark.tools.appraisal.appraised import list_conditions
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.errors import WillowbarkError
from willowbark.tools.questions import Question
from willowbark.tools.reading.corrections import CorrectionBook

QUOTES_A_SIDE = 2  # of a candidate that a person decides on
MAX_REASON_CHARACTERS = 300  # of a person's reason, which the report quotes
Default = Literal["all", "none"]
"""Candidates accepted if nobody decides."""
DecidedBy = Literal["person", "program", "default", "nobody"]
"""A person answered; a function answered; nobody answered, so the default applies; the run was told not to ask."""


class NobodyToAsk(WillowbarkError):
    """No person can be asked; the message gives the reason in a few words for the report."""


class ProposalQuote(BaseModel, frozen=True, extra="forbid"):
    """What one study says of a candidate, in its own words."""

    key: str
    direction: str
    sentence: str
    """A whole sentence or more, to the letter."""

    @property
    def line(self) -> str:
        """The sentence with its record."""
        return f"{self.direction}: “{' '.join(self.sentence.split())}” ({self.key})"


class Proposal(BaseModel, frozen=True, extra="forbid"):
    """A candidate as shown to the person who decides."""

    name: str
    supporting: int = Field(ge=0)
    contradicting: int = Field(ge=0)
    certainty: Level
    """GRADE-like level."""
    evidence_quality: Quality
    quotes: tuple[ProposalQuote, ...] = ()
    """Of its strongest studies on each side; empty for one set aside, whose studies the report leaves out."""


class SetAside(Proposal, frozen=True):
    """A candidate that the report does not deal with, by decision."""

    reason: str = ""
    """In the decider's words; empty if none was given."""


class ApprovalAnswer(BaseModel, frozen=True, extra="forbid"):
    """The answer of a person, or of the function that answers for one."""

    accepted: tuple[str, ...] = ()
    """Names of candidates; all others are set aside."""
    reason: str = Field(default="", max_length=MAX_REASON_CHARACTERS)


class ApprovalRequest(BaseModel, frozen=True, extra="forbid"):
    """The request for a person's decision."""

    question: str
    candidates: tuple[Proposal, ...]
    """Candidates with supporting or contradicting evidence, best first."""
    timeout_s: float
    default: Default

    def all(self) -> ApprovalAnswer:
        """Accept every candidate."""
        return ApprovalAnswer(accepted=tuple(candidate.name for candidate in self.candidates))

    def none(self, reason: str = "") -> ApprovalAnswer:
        """Set every candidate aside."""
        return ApprovalAnswer(reason=reason)

    def only(self, *names: str, reason: str = "") -> ApprovalAnswer:
        """Accept the named candidates.

        Raises:
            ValueError: a name that was not proposed.
        """
        names_by_key = {candidate.name.casefold(): candidate.name for candidate in self.candidates}
        unknown = [name for name in names if name.casefold() not in names_by_key]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: not among the candidates")
        return ApprovalAnswer(accepted=tuple(names_by_key[name.casefold()] for name in names), reason=reason)

    @property
    def prompt(self) -> str:
        """One line that says how to answer."""
        return (
            "Which of these go into the report? all, none, or numbers such as 1,3; a reason may follow a semicolon "
            f"(without an answer in {self.timeout_s:g} s: {self.default}) > "
        )

    @property
    def lines(self) -> list[str]:
        """The candidates, numbered from 1, each with what its strongest studies say."""
        lines = list[str]()
        for number, c in enumerate(self.candidates, start=1):
            counts = f"{c.supporting} supporting, {c.contradicting} contradicting"
            lines.append(f"{number}. {c.name}: {counts}, {c.certainty} certainty, {c.evidence_quality} evidence")
            lines += [f"   - {quote.line}" for quote in c.quotes]
        return lines

    def read(self, text: str) -> ApprovalAnswer:
        """Parse a typed answer: `all`, `none`, `1,3`, `2; too little evidence`, or names.

        Raises:
            ValueError: not a valid answer; the message lists the valid ones.
        """
        choice, _, reason = (part.strip() for part in text.partition(";"))
        reason = reason[:MAX_REASON_CHARACTERS]
        if choice.casefold() in ("all", "a", "yes", "y"):
            return self.all()
        if choice.casefold() in ("none", "n", "no"):
            return self.none(reason)
        names = list[str]()
        numbers = choice.replace(",", " ").split()
        parts = numbers if numbers and all(map(str.isdecimal, numbers)) else choice.split(",")
        for one in dict.fromkeys(part.strip() for part in parts):
            if one.isdecimal() and not 1 <= int(one) <= len(self.candidates):
                raise ValueError(f"there are candidates 1 to {len(self.candidates)}")
            names.append(self.candidates[int(one) - 1].name if one.isdecimal() else one)
        try:
            return self.only(*names, reason=reason)
        except ValueError:
            raise ValueError("answer all, none, or numbers such as 1,3") from None


Approve = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
"""Asks for approval; raises `NobodyToAsk` if nobody can be asked."""


class Approval(BaseModel, frozen=True, extra="forbid"):
    """The decision on the candidates, and who made it."""

    decided_by: DecidedBy
    via: str = ""
    """How the person was asked: terminal, notebook, …; empty if nobody was."""
    because: str = ""
    """Why the default applies; empty otherwise."""
    accepted: list[str] = []
    """Names of accepted candidates; also empty if nobody was to be asked, when the report has all."""
    set_aside: list[SetAside] = []

    @classmethod
    def by(
        cls, who: DecidedBy, via: str, proposals: Sequence[Proposal], answer: ApprovalAnswer, because: str = ""
    ) -> Self:
        """Build the decision from an answer, or from the default for the reason in `because`."""
        accepted_keys = {name.casefold() for name in answer.accepted}
        accepted = [proposal.name for proposal in proposals if proposal.name.casefold() in accepted_keys]
        refused = [proposal for proposal in proposals if proposal.name.casefold() not in accepted_keys]
        set_aside_ones = [SetAside(**{**dict(one), "quotes": ()}, reason=answer.reason) for one in refused]
        return cls(decided_by=who, via=via, because=because, accepted=accepted, set_aside=set_aside_ones)

    @property
    def who(self) -> str:
        """Describe who decided in a few words."""
        if self.decided_by == "nobody" and self.set_aside:
            return "people, in corrections"
        return {
            "person": f"a person ({self.via})",
            "program": f"a function of the calling program ({self.via})",
            "default": f"the configured default ({self.because})",
            "nobody": "nobody",
        }[self.decided_by]

    @property
    def sentence(self) -> str:
        """The sentence on the decision in the report's methodology."""
        if self.decided_by == "nobody":
            return "Nobody was asked to approve the candidates."
        accepted = len(self.accepted)
        proposed = accepted + len(self.set_aside)
        return f"Who decided on the candidates before the report: {self.who}; {accepted} of {proposed} accepted."

    def lets(self, candidate: str) -> bool:
        """Whether the report may include a candidate; once somebody was asked, only those they accepted."""
        return not self.holds_back(candidate) and (self.decided_by == "nobody" or candidate in self.accepted)

    def add_set_aside(
        self, candidates: Sequence[Candidate], question: Question, corrections: CorrectionBook
    ) -> "Approval":
        """Return the decision with the candidates that people set aside for this question, now or in earlier runs."""
        additions = list[SetAside]()
        for proposal in list_proposals(candidates):
            word = corrections.find_aside(proposal.name, list_conditions(question))
            if word is not None and not self.holds_back(proposal.name):
                reason = f"{word.note or 'set aside'} ({word.by})"
                additions.append(SetAside(**{**dict(proposal), "quotes": ()}, reason=reason))
        return self.model_copy(update={"set_aside": [*self.set_aside, *additions]}) if additions else self

    def holds_back(self, drug: str) -> bool:
        """Whether a drug was set aside."""
        return any(one.name.casefold() == drug.casefold() for one in self.set_aside)


class ApprovalMessage(ModelTextMessage[Approval]):
    """A decision as a message."""

    def to_text(self) -> str:
        """One line for consoles."""
        names = ", ".join(one.name for one in self.content.set_aside)
        return self.content.sentence + (f" Set aside: {names}." if names else "")


def list_proposals(candidates: Sequence[Candidate]) -> tuple[Proposal, ...]:
    """Return the candidates to decide on: those that studies support or contradict."""
    return tuple(
        Proposal(
            name=c.drug,
            supporting=len(c.appraisal.supporting),
            contradicting=len(c.appraisal.contradicting),
            certainty=c.appraisal.certainty.level.said,
            evidence_quality=c.appraisal.quality,
            quotes=quote_studies(c),
        )
        for c in candidates
        if c.has_verdict
    )


def quote_studies(candidate: Candidate) -> tuple[ProposalQuote, ...]:
    """Quote the strongest studies for and against a candidate, those against it first."""
    appraisal = candidate.appraisal
    against = {*appraisal.contradicting, *appraisal.missed}
    quotes = list[ProposalQuote]()
    for side in (against, set(appraisal.supporting)):
        quotable = [record for record in candidate.records if record.key in side and record.sentence]
        for record in quotable[:QUOTES_A_SIDE]:
            direction = "missed its primary outcome" if record.item.missed_primary else record.item.direction.value
            quotes.append(ProposalQuote(key=record.key, direction=direction, sentence=record.sentence))
    return tuple(quotes)
