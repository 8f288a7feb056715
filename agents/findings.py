"""What specialists hand to the others, and the dossier that judge and report agent build from it.

All that matters travels in messages, so a team's saved state holds everything, and nothing is read behind its back.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property

from pydantic import BaseModel, Field

from willowbark.agents.autogen import BaseChatMessage, ModelTextMessage, TextMessage
from willowbark.tools.enclosure import GUIDANCE, unmarked
from willowbark.tools.evidence import Evidence, EvidenceStore
from willowbark.tools.questions import Question, follow_up, parse_question
from willowbark.tools.ranking import rank
from willowbark.tools.reading.reading import Reading
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import Asked
from willowbark.tools.wording import counted

from .digest import EvidenceDigest

_FAILED = (Status.UNAVAILABLE, Status.BAD_QUERY)


class Specialist(BaseModel, frozen=True, extra="forbid"):
    """An agent that searches, as it declares itself to the others."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    """Names of its tools."""
    takes: tuple[Asked, ...] = ("queries",)
    """What its tools are asked by."""

    @property
    def line(self) -> str:
        """The specialist for a model that chooses who should search.

        >>> Specialist(name="labels", description="Reads labels.", takes=("drugs",)).line
        'labels (takes drugs): Reads labels.'
        """
        return unmarked(f"{self.name} (takes {', '.join(self.takes) or 'what its tools say'}): {self.description}")


class Findings(BaseModel, extra="forbid"):
    """What one specialist found in one round."""

    specialist: str
    declared: Specialist | None = None
    """Who that is; None for an agent that doesn't say: it is taken for one that takes queries."""
    iteration: int = Field(ge=1)
    """The round, from 1."""
    summary: str
    """What came of the searches, in a few sentences; of a turn without a search, why."""
    reflection: str = ""
    """What a language model made of it by the titles: found, missing, doubts; empty where none was asked."""
    digest: EvidenceDigest | None = None
    """What the studies found, in short: what other agents' models read; None where nobody made one."""
    replies: list[SourceReply] = []
    """What each source said to each query, failures included."""
    readings: list[Reading] = []
    """What a language model read in these records, as far as its quotes stand there; empty where none was asked."""
    reading_tokens: tuple[int, int] = (0, 0)
    """Tokens of the prompts and answers of reading, which are among those of the turn."""
    batch_tokens: tuple[int, int] = (0, 0)
    """Those of them that have a batch's price."""
    notes: list[str] = []
    """What went wrong on the way, for the report's limitations."""
    reading_notes: list[str] = []
    """What a language model did not read, or read otherwise than its records say; for the limitations too."""

    @property
    def records(self) -> list[Evidence]:
        """All records, duplicates included."""
        return [record for reply in self.replies for record in reply.records]

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Without the records: AutoGen writes every message for its log, whether or not anybody reads that."""
        yield from (("specialist", self.specialist), ("iteration", self.iteration), ("summary", self.summary))


class FindingsMessage(ModelTextMessage[Findings]):
    """Findings as a message: agents read the type, models and people a few lines."""

    def to_text(self) -> str:
        """One line for consoles."""
        found = self.content
        counts = f"{counted(len(found.records), 'record')} from {counted(len(found.replies), 'search')}"
        return f"{found.specialist}, round {found.iteration}: {counts}"

    def to_model_text(self) -> str:
        """The digest of the evidence: what other agents' models need; the records stay in the type."""
        digest, said = self.content.digest, unmarked(self.content.reflection)
        told = f"{GUIDANCE}\n{digest.as_text()}" if digest else unmarked(self.content.summary)
        return f"{self.to_text()}\n{told}\n{said}".rstrip()


class Dossier(BaseModel, extra="forbid"):
    """The question, and everything that was found on it so far."""

    question: str = ""
    asked_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    findings: list[Findings] = []
    tokens_used: int = 0
    """Prompt and completion tokens of all messages seen."""

    def add(self, messages: Sequence[BaseChatMessage]) -> None:
        """Take in messages; a user's message opens a new question."""
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
        """Who searched so far, in alphabetical order: those who can be asked to search again."""
        known = {each.specialist: each.declared or Specialist(name=each.specialist) for each in self.in_order}
        return [known[name] for name in sorted(known)]

    @property
    def asked(self) -> Question:
        """What the question asks."""
        return parse_question(self.question)

    @property
    def iteration(self) -> int:
        """The latest round that anybody searched in; 0 before the first."""
        return max((found.iteration for found in self.findings), default=0)

    @property
    def replies(self) -> list[SourceReply]:
        """Every reply of every source, in the order of the rounds."""
        return [reply for found in self.in_order for reply in found.replies]

    def replies_of(self, specialist: str, iteration: int) -> list[SourceReply]:
        """What one specialist was answered in a round."""
        found = (each for each in self.findings if (each.specialist, each.iteration) == (specialist, iteration))
        return [reply for each in found for reply in each.replies]

    @property
    def readings(self) -> list[Reading]:
        """What a language model read, in the order of the rounds."""
        return [reading for found in self.in_order for reading in found.readings]

    @property
    def in_order(self) -> list[Findings]:
        """The findings by round and specialist, whoever answered first."""
        return sorted(self.findings, key=lambda found: (found.iteration, found.specialist))

    def pool(self) -> list[Evidence]:
        """The records, united and ranked for the question."""
        store, taken = self._united
        store.add(record for found in self.findings[len(taken) :] for record in found.records)
        taken += self.findings[len(taken) :]
        return rank(self.question, store.merged())

    @cached_property
    def _united(self) -> tuple[EvidenceStore, list[Findings]]:
        """The records of findings, united as they come, and the findings that they are of."""
        return EvidenceStore(), []

    def has_news(self, iteration: int) -> bool:
        """Whether a round gave a record that shares no identifier with one of the rounds before it."""
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
        """What could not be had: one line a source and reason, and every note, in alphabetical order."""
        lines = {
            f"{reply.source}: {warning}"
            for reply in self.replies
            if reply.status in (*_FAILED, Status.PARTIAL)
            for warning in reply.warnings or ["no reason given"]
        }
        return sorted(lines | {note for found in self.findings for note in found.notes})

    def all_failed(self, iteration: int) -> bool:
        """Whether nothing at all answered in a round."""
        return self._statuses(iteration) <= set(_FAILED)

    def unreachable(self, iteration: int) -> bool:
        """Whether nothing at all answered in a round because sources could not be reached or read."""
        return Status.UNAVAILABLE in self._statuses(iteration) and self.all_failed(iteration)

    def _statuses(self, iteration: int) -> set[Status]:
        return {reply.status for found in self.findings if found.iteration == iteration for reply in found.replies}
