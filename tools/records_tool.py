"""The collected records as an AutoGen tool: `ask_records` gives the passages that fit a question best."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Self

from autogen_core import CancellationToken, Component
from autogen_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field

from .collected import Answer, CollectedEvidence
from .enclosure import enclose_lines, new_marker

SHOWN = 5  # passages of an answer: what a model needs to go on
SHOWN_CHARACTERS = 400  # of a passage


class AskRecordsArgs(BaseModel):
    """What is looked for."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra=lambda schema: schema["properties"]["query"].pop("title")
    )

    query: Annotated[str, Field(description="Words, such as drug, condition, outcome")]
    """Neither bounds nor a title stand in its schema: strict providers refuse them."""


class AskRecordsConfig(BaseModel):
    """Where the records are."""

    path: Path | None = None
    """The file that keeps them; None begins with none."""


class AskRecords(BaseTool[AskRecordsArgs, Answer], Component[AskRecordsConfig]):
    """Ask the collected records.

    Args:
        collected: the records; None begins with none.
        marker: of the block of passages; None makes one.
        before: awaited before each call, with the tool's name and its checked arguments.
    """

    component_config_schema = AskRecordsConfig
    component_provider_override = "willowbark.tools.records_tool.AskRecords"

    def __init__(
        self,
        collected: CollectedEvidence | None = None,
        *,
        marker: str | None = None,
        before: Callable[[str, BaseModel], Awaitable[None]] | None = None,
    ) -> None:
        self.collected = CollectedEvidence() if collected is None else collected
        self._marker, self._before = marker or new_marker(), before
        said = "What the collected records say: their best passages on a question."
        super().__init__(AskRecordsArgs, Answer, "ask_records", said, strict=True)

    async def run(self, args: AskRecordsArgs, cancellation_token: CancellationToken) -> Answer:
        """Give the best passages; raises as `CollectedEvidence.passages`."""
        if self._before is not None:
            await self._before(self.name, args)
        return await self.collected.passages(args.query, SHOWN)

    def return_value_as_string(self, value: Any) -> str:
        """The passages as a marked block, for the model; before it stands how many there are."""
        found = Answer.model_validate(value)
        lines = [
            {
                "key": passage.key,
                "year": passage.year,
                "section": passage.section,
                **({"retracted": True} if passage.retracted else {}),
                "passage": _cut(passage.text),
            }
            for passage in found.passages
        ]
        head = {"matching": found.matching, "truncated": found.truncated}
        return enclose_lines(lines, self._marker, head=head)

    def _to_config(self) -> AskRecordsConfig:
        return AskRecordsConfig(path=self.collected.path)

    @classmethod
    def _from_config(cls, config: AskRecordsConfig) -> Self:
        return cls(CollectedEvidence(config.path))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
