"""Record `willowbark example` anew from a recorded question: `make example` (`python -m benchmarks.example kidney`).

The question is replayed on `recorded/NAME.jsonl`; what each prompt got goes into the package by its hash.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from autogen_core.models import CreateResult, LLMMessage
from autogen_core.tools import Tool, ToolSchema
from benchmarks.recorded import Answered, RecordedClient, describe_changes, open_choices, read_recorded

from willowbark.teams.config import Settings
from willowbark.teams.ledger.model_calls import request_key
from willowbark.teams.run.example import RECORDING, RecordedAnswers, write_recording
from willowbark.teams.run.research import research

NAME = "kidney"


class NotingClient(RecordedClient):
    """A recorded client that notes what each prompt got."""

    def __init__(self, answered: Sequence[Answered]) -> None:
        super().__init__(answered)
        self.display_name = RecordedAnswers.display_name
        self.answers: dict[str, CreateResult] = {}

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        json_output: Any = None,
        extra_create_args: Mapping[str, Any] = {},
        **options: Any,
    ) -> CreateResult:
        """Answer as before, and note the answer."""
        result = await super().create(
            messages, tools=tools, json_output=json_output, extra_create_args=extra_create_args, **options
        )
        self.answers[request_key(messages, tools, json_output, extra_create_args)] = result
        return result


def record(name: str) -> int:
    """Write the recording; return its bytes.

    Raises:
        SystemExit: the question's own recording does not fit the prompts any more.
    """
    head, answered = read_recorded(name)
    client = NotingClient(answered)
    with open_choices(head, None) as options:
        asyncio.run(research(model_client=client, settings=Settings(), **options))
    if problem := describe_changes(client):
        raise SystemExit(f"{name}:\n{problem}")
    run_options = {option: value for option, value in options.items() if option != "offline"}
    write_recording(run_options, client.answers)
    return RECORDING.stat().st_size


def main() -> None:
    """Record and print the size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="?", default=NAME, help="a question of benchmarks/recorded")
    size = record(parser.parse_args().name)
    print(f"{RECORDING.name}: {size:,} bytes")


if __name__ == "__main__":
    main()
