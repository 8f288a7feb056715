"""Python, command line, page, notebook, Studio, MCP, the bare AutoGen team: the same question gets the same report."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION, without_clock
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import TextContent, TextResourceContents
from pydantic import AnyUrl
from typer.testing import CliRunner

import willowbark
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.teams import ResearchTeam, Settings, research
from willowbark.teams.faces.cli import app
from willowbark.teams.faces.mcp import Server
from willowbark.teams.faces.notebook import ask
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


@pytest.fixture(scope="module")
def python() -> ResearchReport:
    return asyncio.run(research(QUESTION, offline=True))


def test_the_command_line_gives_the_report_of_python(python: ResearchReport) -> None:
    result = CliRunner().invoke(app, ["ask", QUESTION, "--json", "--quiet"])

    assert fingerprint(result.stdout) == fingerprint(python.to_json())
    (written,) = Path("runs").glob("*/report.json")
    assert fingerprint(written.read_text(encoding="utf-8")) == fingerprint(python.to_json())


async def test_the_page_gives_the_report_of_python(python: ResearchReport) -> None:
    runs = LiveRuns(RunOptions())
    run = await runs.ask({"question": QUESTION})
    while run.outcome is None:
        await run.changed(60)
    await runs.settle(1)

    written = run.folder.path / "report.json"
    assert fingerprint(written.read_text(encoding="utf-8")) == fingerprint(python.to_json())


async def test_a_notebook_gives_the_report_of_python(python: ResearchReport) -> None:
    pytest.importorskip("IPython", reason="needs the extra `notebook`")

    assert fingerprint((await ask(QUESTION)).to_json()) == fingerprint(python.to_json())


async def test_a_team_that_was_loaded_from_json_gives_the_report_of_python(python: ResearchReport) -> None:
    team = ResearchTeam.load_component(ResearchTeam().dump_component())
    message = (await team.run(task=QUESTION)).messages[-1]

    assert isinstance(message, ReportMessage)
    assert fingerprint(message.content.to_json()) == fingerprint(python.to_json())


async def test_an_mcp_client_gets_the_report_of_python(python: ResearchReport, tmp_path: Path) -> None:
    async with Transport(Endpoints(library=open_library("bundled"))) as transport:
        served = Server(Settings.load(), transport, tmp_path / "ledger.db")
        async with create_connected_server_and_client_session(served) as client:
            told = (await client.call_tool("research", {"question": QUESTION})).content[0]
            assert isinstance(told, TextContent)
            place = told.text.split("The whole report: ")[1].split("/report.md")[0]
            (read,) = (await client.read_resource(AnyUrl(f"{place}/report.json"))).contents

    assert isinstance(read, TextResourceContents)
    assert fingerprint(read.text) == fingerprint(python.to_json())


def test_a_script_gets_the_report_of_python_without_a_word_of_asyncio(python: ResearchReport) -> None:
    report = willowbark.ask(QUESTION, settings=Settings.load())
    assert fingerprint(report.to_json()) == fingerprint(python.to_json())


async def test_where_an_event_loop_runs_the_way_out_is_named() -> None:
    with pytest.raises(UsageError, match="await research"):
        willowbark.ask(QUESTION)
