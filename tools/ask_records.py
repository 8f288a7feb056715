"""AutoGen tool `ask_records`: find the best passages for a question in the collected records."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Self

from autogen_core import CancellationToken, Component
from autogen_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field

from .collected import Answer, CollectedEvidence
from .enclosure import enclose_lines, new_marker

SHOWN = 5  # passages per answer
SHOWN_CHARACTERS = 400  # per passage


class AskRecordsArgs(BaseModel):
    """What to look for. The schema has neither bounds nor a title, which strict providers refuse."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra=lambda schema: schema["properties"]["query"].pop("title")
    )

    query: Annotated[str, Field(description="Words, such as drug, condition, outcome")]


class AskRecordsConfig(BaseModel):
    """File with the records; None starts empty."""

    path: Path | None = None


class AskRecords(BaseTool[AskRecordsArgs, Answer], Component[AskRecordsConfig]):
    """Ask the collected records.

    Args:
        collected: the records; None starts empty.
        marker: marker for the block of passages; None creates one.
        before: awaited before each call, with the tool's name and its checked arguments.
    """

    component_config_schema = AskRecordsConfig
    component_provider_override = "willowbark.tools.ask_records.AskRecords"

    def __init__(
        self,
        collected: CollectedEvidence | None = None,
        *,
        marker: str | None = None,
        before: Callable[[str, BaseModel], Awaitable[None]] | None = None,
    ) -> None:
        self.collected = CollectedEvidence() if collected is None else collected
        self._marker, self._before = marker or new_marker(), before
        description = "What the collected records say: their best passages on a question."
        super().__init__(AskRecordsArgs, Answer, "ask_records", description, strict=True)

    async def run(self, args: AskRecordsArgs, cancellation_token: CancellationToken) -> Answer:
        """Return the best passages; raises as `CollectedEvidence.passages`."""
        if self._before is not None:
            await self._before(self.name, args)
        return await self.collected.passages(args.query, SHOWN)

    def return_value_as_string(self, value: Any) -> str:
        """Format the passages as a marked block for the model, with the number of matches at the top."""
        answer, lines = Answer.model_validate(value), []
        for passage in answer.passages:
            line: dict[str, Any] = {"key": passage.key, "year": passage.year, "section": passage.section}
            if passage.retracted:
                line["retracted"] = True
            cut = len(passage.text) > SHOWN_CHARACTERS
            lines.append(line | {"passage": f"{passage.text[: SHOWN_CHARACTERS - 1]}…" if cut else passage.text})
        head = {"matching": answer.matching, "truncated": answer.truncated}
        return enclose_lines(lines, self._marker, head=head)

    def _to_config(self) -> AskRecordsConfig:
        return AskRecordsConfig(path=self.collected.path)

    @classmethod
    def _from_config(cls, config: AskRecordsConfig) -> Self:
        return cls(CollectedEvidence(config.path))
