"""Python, command line, page, notebook, Studio, MCP, the bare AutoGen team: the same question gets the same report."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION, without_clock
from mcp_client import connect
from typer.testing import CliRunner

import willowbark
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.teams import ResearchTeam, Settings, research
from willowbark.teams.faces.cli import app
from willowbark.teams.faces.mcp import Server
from willowbark.teams.faces.notebook import research_in_cell
from willowbark.teams.page.live_runs import LiveRuns
from willowbark.teams.run.options import RunOptions
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import open_library

pytestmark = pytest.mark.whole


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")


def fingerprint(report: str) -> dict[str, Any]:
    """A report's JSON without its clocks."""
    return without_clock(json.loads(report))


async def by_the_command_line() -> str:
    def run() -> str:
        printed = CliRunner().invoke(app, ["ask", QUESTION, "--json", "--quiet"]).stdout
        (written,) = Path("runs").glob("*/report.json")
        assert fingerprint(written.read_text(encoding="utf-8")) == fingerprint(printed)
        return printed

    return await asyncio.to_thread(run)


async def on_the_page() -> str:
    runs = LiveRuns(RunOptions())
    run = await runs.ask({"question": QUESTION})
    while run.outcome is None:
        await run.wait_for_change(60)
    await runs.settle(1)
    return (run.folder.path / "report.json").read_text(encoding="utf-8")


async def in_a_notebook() -> str:
    pytest.importorskip("IPython", reason="needs the extra `notebook`")
    return (await research_in_cell(QUESTION)).to_json()


async def by_a_team_loaded_from_json() -> str:
    team = ResearchTeam.load_component(ResearchTeam().dump_component())
    message = (await team.run(task=QUESTION)).messages[-1]
    assert isinstance(message, ReportMessage)
    return message.content.to_json()


async def over_mcp() -> str:
    async with Transport(Endpoints(library=open_library("bundled"))) as transport:
        served = Server(Settings.load(), transport, Path("ledger.db"))
        served.patience_s = 1_000  # for a busy machine
        async with connect(served) as client:
            answer = (await client.call_tool("research", {"question": QUESTION})).data or {}
            return await client.read(answer["report"].replace(".md", ".json"))


async def by_a_script() -> str:
    return (await asyncio.to_thread(willowbark.ask, QUESTION)).to_json()


@pytest.fixture(scope="module")
def python() -> ResearchReport:
    return asyncio.run(research(QUESTION, offline=True))


FACES = (by_the_command_line, on_the_page, in_a_notebook, by_a_team_loaded_from_json, over_mcp, by_a_script)


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
async def test_every_face_gives_the_report_of_python(
    face: Callable[[], Awaitable[str]], python: ResearchReport
) -> None:
    assert fingerprint(await face()) == fingerprint(python.to_json())


async def test_where_an_event_loop_runs_the_way_out_is_named() -> None:
    with pytest.raises(UsageError, match="await research"):
        willowbark.ask(QUESTION)
