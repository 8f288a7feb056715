"""Events say what happens, and can always be written as JSON."""

from pathlib import Path
from typing import Any, get_args

import mypy.api
import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.teams.events import ICONS, AgentEvent, EventType


@pytest.mark.parametrize("kind", get_args(EventType))
def test_every_type_has_an_icon_of_its_own_that_the_markdown_shows(kind: EventType) -> None:
    shown = AgentEvent(type=kind, message="something").to_markdown()

    assert shown.startswith(ICONS[kind])
    assert shown.endswith("something")
    assert len(set(ICONS.values())) == len(get_args(EventType))
    assert "(round 2)" in AgentEvent(type=kind, message="x", iteration=2).to_markdown()


def test_what_an_event_holds_is_given_by_its_type_alone() -> None:
    held = {"searching": "call", "judge_complete": "verdict", "complete": "report"}
    for kind in get_args(EventType):
        event = AgentEvent.model_construct(type=kind, message="x", data="held")
        given = {name for name in held.values() if getattr(event, name) is not None}
        assert given == ({held[kind]} if kind in held else set())


@given(st.text(), st.recursive(st.none() | st.text() | st.integers(), st.lists, max_leaves=5))
def test_an_event_of_plain_data_survives_json(message: str, data: Any) -> None:
    event = AgentEvent(type="progress", message=message, data=data, iteration=1)

    assert AgentEvent.model_validate_json(event.model_dump_json()) == event


TYPED = """
from typing import Literal, assert_type

from willowbark import research
from willowbark.agents.assessment import JudgeAssessment
from willowbark.agents.report.model import ResearchReport
from willowbark.teams import research_stream
from willowbark.teams.events import EventData, ToolRequest


async def told() -> None:
    async for event in research_stream("Which drugs help people stop smoking?"):
        assert_type(event.data, EventData)
        assert_type(event.call, ToolRequest | None)
        assert_type(event.verdict, JudgeAssessment | None)
        assert_type(event.report, ResearchReport | None)
    report = await research("Which drugs help people stop smoking?")
    assert_type(report.candidates[0].certainty, Literal["high", "moderate", "low", "very low", "not reported"])
    report.candidates[0].certainty == "middling"
"""


@pytest.mark.whole
def test_a_type_checker_knows_what_events_and_candidates_hold(tmp_path: Path) -> None:
    code = tmp_path / "typed.py"
    code.write_text(TYPED)
    checked, wrong, _ = mypy.api.run(["--strict", "--config-file", "pyproject.toml", str(code)])

    assert not wrong
    assert [line.split(": ", 2)[2] for line in checked.splitlines() if ": error: " in line] == [
        "Non-overlapping equality check (left operand type: \"Literal['high', 'moderate', 'low', 'very low', "
        "'not reported']\", right operand type: \"Literal['middling']\")  [comparison-overlap]"
    ]
