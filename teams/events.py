"""The events that a run emits."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, get_args

from pydantic import AwareDatetime, BaseModel, Field

if TYPE_CHECKING:
    from willowbark.agents.approval import Approval
    from willowbark.agents.assessment import JudgeAssessment
    from willowbark.agents.findings import Findings
    from willowbark.agents.report.model import ResearchReport
    from willowbark.tools.search import SourceReply

EventType = Literal[
    "started", "thinking", "searching", "search_complete", "judging", "judge_complete", "looping", "synthesizing",
    "complete", "error", "streaming", "hypothesizing", "analyzing", "analysis_complete", "progress",
]  # fmt: skip

ICONS: dict[EventType, str] = dict(
    zip(get_args(EventType), "🚀 🤔 🔍 📚 ⚖️ ✅ 🔄 📝 🎉 ❌ 📡 🔬 📊 📈 ⏳".split(), strict=True)
)


class ToolRequest(TypedDict):
    """A tool call by an agent."""

    tool: str
    arguments: str
    """As the agent wrote them, usually JSON."""
    call_id: str
    """The agent's id of the call, which the events of its replies repeat; models may use one again in a later turn."""


@dataclass(frozen=True, slots=True)
class Veto:
    """A hook's answer to a `searching` event: the call is not made, and its reply says why."""

    reason: str


if TYPE_CHECKING:
    EventData = ToolRequest | SourceReply | Findings | JudgeAssessment | Approval | ResearchReport | None
else:  # agents take most of a second to load, and events don't validate
    EventData = Any


class AgentEvent(BaseModel, frozen=True, extra="forbid"):
    """One thing that happened in a run; the last one is `complete` or `error`.

    >>> AgentEvent(type="searching", message="PubMed: migraine prevention", iteration=1).to_markdown()
    '🔍 **searching** (round 1): PubMed: migraine prevention'
    """

    type: EventType
    message: str
    data: EventData = None
    """Depends on the type: `ToolRequest` for `searching`, `SourceReply` for `search_complete`, `JudgeAssessment` for
    `judge_complete`, `ResearchReport` for `complete`, `Findings` or `Approval` for `progress`; else None."""
    timestamp: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    iteration: int = Field(default=0, ge=0)
    """The round this happened in, from 1; 0 before the first."""
    tool: str | None = None
    """Name of the tool called, of `searching` and `search_complete`; None for all others."""
    call_id: str | None = None
    """Id of that call."""
    elapsed_s: float | None = Field(default=None, ge=0)
    """Seconds that the call took, of `search_complete`; a call to several sources has several replies."""
    agent: str | None = None
    """Name of the agent within the team; None if no single agent caused the event."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens of the turn that this event ends; None if it ends none."""
    cost_usd: float | None = None
    """US dollars of that turn; None if the event ends none, or the price is unknown."""

    @property
    def icon(self) -> str:
        """An emoji for the type."""
        return ICONS[self.type]

    @property
    def call(self) -> "ToolRequest | None":
        """The tool call of a `searching` event; None for all others."""
        return cast("ToolRequest | None", self.data) if self.type == "searching" else None

    @property
    def verdict(self) -> "JudgeAssessment | None":
        """The verdict of a `judge_complete` event; None for all others."""
        return cast("JudgeAssessment | None", self.data) if self.type == "judge_complete" else None

    @property
    def report(self) -> "ResearchReport | None":
        """The report of a `complete` event; None for all others."""
        return cast("ResearchReport | None", self.data) if self.type == "complete" else None

    def to_markdown(self) -> str:
        """Format the event as one paragraph of Markdown."""
        words = self.type.replace("_", " ")
        when = f" (round {self.iteration})" if self.iteration else ""
        return f"{self.icon} **{words}**{when}: {self.message}"
