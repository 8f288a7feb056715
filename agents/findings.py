"""Specialists' findings, passed in messages alone, and the dossier that judge and report agent build from them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property

from pydantic import BaseModel, Field

from willowbark.agents.autogen import BaseChatMessage, ModelTextMessage, TextMessage
from willowbark.tools.enclosure import GUIDANCE, unmarked
from willowbark.tools.evidence import Evidence, EvidenceStore
from willowbark.tools.questions import Question, follow_up, parse_question
from willowbark.tools.reading.reading import Reading
from willowbark.tools.search import SourceReply, Status, rank
from willowbark.tools.toolbox import Asked
from willowbark.tools.wording import counted

from .digest import EvidenceDigest

_FAILED = (Status.UNAVAILABLE, Status.BAD_QUERY)


class Specialist(BaseModel, frozen=True, extra="forbid"):
    """An agent that searches, as it declares itself to the others."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    takes: tuple[Asked, ...] = ("queries",)

    @property
    def line(self) -> str:
        """Description for a model that chooses specialists.

        >>> Specialist(name="labels", description="Reads labels.", takes=("drugs",)).line
        'labels (takes drugs): Reads labels.'
        """
        return unmarked(f"{self.name} (takes {', '.join(self.takes) or 'what its tools say'}): {self.description}")


class Findings(BaseModel, extra="forbid"):
    """Findings of one specialist in one round."""

    specialist: str
    declared: Specialist | None = None
    """The specialist; None if the agent does not declare itself: it is then assumed to take queries."""
    iteration: int = Field(ge=1)
    summary: str
    """Result of the searches in a few sentences, or why there was no search."""
    reflection: str = ""
    """A language model's reflection on the titles: found, missing, doubts; empty without a model."""
    digest: EvidenceDigest | None = None
    """Digest of the studies for other agents' models; None if not made."""
    replies: list[SourceReply] = []
    """Every source's reply to each query, including failures."""
    readings: list[Reading] = []
    """A language model's readings of these records with verified quotes; empty without a model."""
    reading_tokens: tuple[int, int] = (0, 0)
    """Prompt and completion tokens of reading, included in the turn's."""
    batch_tokens: tuple[int, int] = (0, 0)
    notes: list[str] = []
    """Problems, for the report's limitations."""
    reading_notes: list[str] = []
    """Records that a language model did not read or misread, also for the limitations."""

    @property
    def records(self) -> list[Evidence]:
        """All records, duplicates included."""
        return [record for reply in self.replies for record in reply.records]

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Leave out the records, as AutoGen formats every message for its log, even if that is off."""
        yield from (("specialist", self.specialist), ("iteration", self.iteration), ("summary", self.summary))


class FindingsMessage(ModelTextMessage[Findings]):
    """Findings as a message: data for agents, a few lines for models and people."""

    def to_text(self) -> str:
        """Return one line for consoles."""
        found = self.content
        counts = f"{counted(len(found.records), 'record')} from {counted(len(found.replies), 'search')}"
        return f"{found.specialist}, round {found.iteration}: {counts}"

    def to_model_text(self) -> str:
        """Return the digest for other agents' models; the records stay in the data."""
        digest, said = self.content.digest, unmarked(self.content.reflection)
        told = f"{GUIDANCE}\n{digest.as_text()}" if digest else unmarked(self.content.summary)
        return f"{self.to_text()}\n{told}\n{said}".rstrip()


class Dossier(BaseModel, extra="forbid"):
    """The question and all findings so far."""

    question: str = ""
    asked_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    findings: list[Findings] = []
    tokens_used: int = 0

    def add(self, messages: Sequence[BaseChatMessage]) -> None:
        """Add messages; a user's message starts a new question."""
        for message in messages:
            if isinstance(message, FindingsMessage):
                self.findings.append(message.content)
            elif isinstance(message, TextMessage) and message.source == "user":
                self.question = follow_up([self.question, message.content])
                self.asked_at = message.created_at
                self.findings, self.tokens_used = [], 0
                self.__dict__.pop("_united", None)
            if message.models_usage is not None:
                self.tokens_used += message.models_usage.prompt_tokens + message.models_usage.completion_tokens

    @property
    def specialists(self) -> list[Specialist]:
        """Specialists that have searched and can search again, in alphabetical order."""
        known = {each.specialist: each.declared or Specialist(name=each.specialist) for each in self.in_order}
        return [known[name] for name in sorted(known)]

    @property
    def asked(self) -> Question:
        """The parsed question."""
        return parse_question(self.question)

    @property
    def iteration(self) -> int:
        """The latest round with a search; 0 before the first."""
        return max((found.iteration for found in self.findings), default=0)

    @property
    def replies(self) -> list[SourceReply]:
        """Every reply of every source, in the order of the rounds."""
        return [reply for found in self.in_order for reply in found.replies]

    def replies_of(self, specialist: str, iteration: int) -> list[SourceReply]:
        """Return the replies to one specialist in a round."""
        found = (each for each in self.findings if (each.specialist, each.iteration) == (specialist, iteration))
        return [reply for each in found for reply in each.replies]

    @property
    def readings(self) -> list[Reading]:
        """A language model's readings, by round."""
        return [reading for found in self.in_order for reading in found.readings]

    @property
    def in_order(self) -> list[Findings]:
        """The findings by round and specialist, regardless of who answered first."""
        return sorted(self.findings, key=lambda found: (found.iteration, found.specialist))

    def pool(self) -> list[Evidence]:
        """Return the records, deduplicated and ranked for the question."""
        store, taken = self._united
        store.add(record for found in self.findings[len(taken) :] for record in found.records)
        taken += self.findings[len(taken) :]
        return rank(self.question, store.merged())

    @cached_property
    def _united(self) -> tuple[EvidenceStore, list[Findings]]:
        """The deduplicated records so far, and the findings already added to them."""
        return EvidenceStore(), []

    def has_news(self, iteration: int) -> bool:
        """Whether a round found a record that shares no identifier with one of earlier rounds."""
        known: set[str] = set()
        for found in self.in_order:
            names = [{record.key, *record.identifiers} for record in found.records]
            if found.iteration == iteration and any(known.isdisjoint(each) for each in names):
                return True
            if found.iteration < iteration:
                known.update(*names)
        return False

    @property
    def answered(self) -> list[str]:
        """Names of the sources that answered at least once, in alphabetical order."""
        return sorted({reply.source for reply in self.replies if reply.status not in _FAILED})

    @property
    def failures(self) -> list[str]:
        """Failures, one line for each source and reason, and all notes, in alphabetical order."""
        lines = {
            f"{reply.source}: {warning}"
            for reply in self.replies
            if reply.status in (*_FAILED, Status.PARTIAL)
            for warning in reply.warnings or ["no reason given"]
        }
        return sorted(lines | {note for found in self.findings for note in found.notes})

    def all_failed(self, iteration: int) -> bool:
        """Whether no source answered in a round."""
        return self._statuses(iteration) <= set(_FAILED)

    def unreachable(self, iteration: int) -> bool:
        """Whether no source answered in a round because none could be reached or read."""
        return Status.UNAVAILABLE in self._statuses(iteration) and self.all_failed(iteration)

    def _statuses(self, iteration: int) -> set[Status]:
        return {reply.status for found in self.findings if found.iteration == iteration for reply in found.replies}
