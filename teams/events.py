"""What a run tells while it goes on."""

from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_serializer
from pydantic_core import to_jsonable_python

EventType = Literal[
    "started",
    "thinking",
    "searching",
    "search_complete",
    "judging",
    "judge_complete",
    "looping",
    "synthesizing",
    "complete",
    "error",
    "streaming",
    "hypothesizing",
    "analyzing",
    "analysis_complete",
    "progress",
]

ICONS: dict[EventType, str] = {
    "started": "🚀",
    "thinking": "🤔",
    "searching": "🔍",
    "search_complete": "📚",
    "judging": "⚖️",
    "judge_complete": "✅",
    "looping": "🔄",
    "synthesizing": "📝",
    "complete": "🎉",
    "error": "❌",
    "streaming": "📡",
    "hypothesizing": "🔬",
    "analyzing": "📊",
    "analysis_complete": "📈",
    "progress": "⏳",
}


class AgentEvent(BaseModel):
    """One thing that happened in a run; the last one is `complete` or `error`.

    >>> AgentEvent(type="searching", message="PubMed: migraine prevention", iteration=1).to_markdown()
    '🔍 **searching** (round 1): PubMed: migraine prevention'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: EventType
    message: str
    data: Any = None
    """What belongs to the type: the `ResearchReport` of `complete`; None where nothing does."""
    timestamp: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    iteration: int = Field(default=0, ge=0)
    """The round this happened in, from 1; 0 before the first."""
    agent: str | None = None
    """Who did it, by the name that the team knows; None where it is nobody's in particular."""

    @property
    def icon(self) -> str:
        """A picture for the type."""
        return ICONS[self.type]

    def to_markdown(self) -> str:
        """One paragraph of Markdown."""
        words = self.type.replace("_", " ")
        when = f" (round {self.iteration})" if self.iteration else ""
        return f"{self.icon} **{words}**{when}: {self.message}"

    @field_serializer("data", when_used="json")
    def _data_as_json(self, data: Any) -> Any:
        """The data where JSON can hold it, else the names of the types in its place: dumping an event never fails."""
        try:
            return to_jsonable_python(data, inf_nan_mode="null", fallback=_summary)
        except Exception:  # noqa: BLE001  the data is anyone's: cycles, properties that raise
            return _summary(data)


def _summary(value: Any) -> str:
    return f"<{type(value).__name__}>"
