"""The example: a whole run of a strong language model on the bundled library, replayed from its recorded answers.

The same agents ask the same prompts; AutoGen's `ReplayChatCompletionClient` answers each as the model did, so that
neither key nor network is needed. `example.jsonl` holds the question with its options, then an answer a line, by the
hash of its prompt; `make example` records it anew.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from willowbark.agents.autogen import (
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    ReplayChatCompletionClient,
    Tool,
    ToolSchema,
)
from willowbark.agents.report.content import SummaryPart
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import WillowbarkError

from ..config import Settings
from ..ledger.model_calls import request_key
from .following import Events
from .options import RunOptions
from .research import research_stream

RECORDING = Path(__file__).with_name("example.jsonl")
LABEL = "Recorded example"
NOTICE = (
    "a strong language model's answers, given once, were replayed through the same agents; no model was asked, and "
    "token counts are estimated."
)
CAPABLE = ModelInfo(
    vision=False, function_calling=True, json_output=True, family=ModelFamily.UNKNOWN, structured_output=True
)


NOT_FITTING = "the recorded example does not fit this version: `make example` records it anew"


class PromptNotRecorded(WillowbarkError):
    """The example's run asked what its recording does not answer."""


class RecordedAnswers(ReplayChatCompletionClient):
    """Answers each prompt as it was answered once, in whatever order they come."""

    display_name = "a strong language model (recorded)"

    def __init__(self, answers: Mapping[str, CreateResult]) -> None:
        super().__init__([], model_info=CAPABLE)
        self._answers = answers
        self.is_complete = True
        """False once a prompt came that nobody answered before."""

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        **options: Any,
    ) -> CreateResult:
        """Answer as before.

        Raises:
            PromptNotRecorded: nobody answered this before.
        """
        answer = self._answers.get(request_key(messages, tools, json_output, extra_create_args))
        if answer is None:
            self.is_complete = False
            raise PromptNotRecorded(NOT_FITTING)
        return answer


def read_recording() -> tuple[RunOptions, RecordedAnswers]:
    """Read the recorded question with its options, and the answers."""
    with RECORDING.open(encoding="utf-8") as file:
        choices, *lines = map(json.loads, file)
    answers = {line["prompt"]: CreateResult.model_validate(line["answer"]) for line in lines}
    return RunOptions(**choices), RecordedAnswers(answers)


def write_recording(choices: Mapping[str, Any], answers: Mapping[str, CreateResult]) -> None:
    """Write the recording from a run's options and the answers that it got, by `request_key`."""
    lines = [{"prompt": prompt, "answer": answer.model_dump(mode="json")} for prompt, answer in answers.items()]
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in (dict(choices), *lines))
    RECORDING.write_text(text, encoding="utf-8")


def label_report(report: ResearchReport) -> ResearchReport:
    """Return the report with a first line that says what it is."""
    part = SummaryPart(label=LABEL, text=NOTICE)
    return report.model_copy(update={"summary_parts": [part, *report.summary_parts]})


async def example_stream(options: RunOptions | None = None) -> Events:
    """Replay the example, with labelled events as of `research_stream`.

    Args:
        options: how and where it is shown and kept; question, model, library and settings are the recording's.

    Raises:
        PromptNotRecorded: the prompts have changed since it was recorded; rules would answer in the model's place.
    """
    recorded, client = read_recording()
    fixed = {name: getattr(recorded, name) for name in recorded.model_fields_set}
    fixed |= {"model_client": client, "offline": True, "settings": Settings()}
    async for event in research_stream((options or RunOptions()).model_copy(update=fixed)):
        if not client.is_complete:
            raise PromptNotRecorded(NOT_FITTING)
        yield event if event.report is None else event.model_copy(update={"data": label_report(event.report)})
