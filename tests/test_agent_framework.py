"""Willowbark in Microsoft's Agent Framework: as an agent of its own, and as a server of tools.

`make agent-framework-test` runs it in an environment of its own.
"""

import os
import re
import sys
from pathlib import Path
from textwrap import indent

import pytest
from builders import QUESTION, run_python

from willowbark.agents.report.follow_up import AnswerWithin
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.ledger import Ledger
from willowbark.tools.errors import UsageError

framework = pytest.importorskip("agent_framework", reason="needs the extra `agent-framework`")

from willowbark.teams.faces.agent_framework import WillowbarkAgent  # noqa: E402

pytestmark = pytest.mark.whole


async def test_an_agent_streams_a_run_and_answers_further_messages_from_it(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    agent = WillowbarkAgent(offline=True, depth="quick", max_iterations=1, ledger=ledger)
    session = agent.create_session()

    stream = agent.run(QUESTION, stream=True, session=session)
    steps = [update async for update in stream]
    answer = await stream.get_final_response()
    further = await agent.run("Is propranolol effective?", session=session)
    with Ledger.existing(ledger) as runs:
        questions = [run.question for run in runs.runs()]

    assert isinstance(answer.value, ResearchReport)
    assert answer.text == answer.value.to_markdown()
    assert "not medical advice" in answer.text
    assert [step.text for step in steps[:-1] if step.text] == []  # steps are reasoning
    assert [step for step in steps if "pubmed: ok" in step.contents[0].text]
    assert {step.author_name for step in steps} >= {"literature", "judge"}
    assert isinstance(further.value, AnswerWithin)
    assert "PMID" in further.text
    assert questions == [QUESTION]  # the further message searched nothing


async def test_a_message_without_a_session_is_a_run_of_its_own(tmp_path: Path) -> None:
    agent = WillowbarkAgent(offline=True, depth="quick", max_iterations=1, ledger=tmp_path / "ledger.db")
    history = [framework.Message("user", [QUESTION]), framework.Message("assistant", ["…"])]
    answer = await agent.run([*history, framework.Message("user", ["Which drugs could treat diabetic nephropathy?"])])

    assert answer.value.research_question == "Which drugs could treat diabetic nephropathy?"


async def test_what_cannot_be_asked_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean"):
        WillowbarkAgent(ofline=True)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="question"):
        await WillowbarkAgent(offline=True, ledger=tmp_path / "ledger.db").run(" ")


async def test_the_frameworks_mcp_tool_calls_the_server(tmp_path: Path) -> None:
    tool = framework.MCPStdioTool(
        name="willowbark",
        command=sys.executable,
        args=["-m", "willowbark", "mcp", "--offline", "--workspace", str(tmp_path)],
        env=dict(os.environ),
        request_timeout=120,
    )
    async with tool:
        names = {function.name for function in tool.functions}
        found = await tool.call_tool("get_label", drugs=["propranolol"])

    assert {"research", "ask_run", "search_pubmed"} <= names
    assert "propranolol" in "".join(part.text or "" for part in found)


@pytest.mark.parametrize("number", [0, 1])
def test_each_program_of_the_how_to_runs(number: int, tmp_path: Path) -> None:
    page = Path(__file__).parent.parent / "docs/how-to/use-from-agent-framework.md"
    shown = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[number]
    own = f'command={sys.executable!r}, env=dict(__import__("os").environ), args=["-m", "willowbark", '
    shown = shown.replace('command="willowbark", args=[', own)
    program = f"import asyncio\n\nasync def main():\n{indent(shown, '    ')}\n\nasyncio.run(main())\n"
    done = run_python("-c", program, folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "propranolol" in done.stdout
