"""The notebook's face: one display that follows the run, interruptions that keep the report, in a real kernel."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION, record, reply

from willowbark.teams.events import AgentEvent
from willowbark.teams.faces import notebook
from willowbark.teams.faces.notebook import LiveView
from willowbark.teams.ledger import DEFAULT_PATH
from willowbark.teams.run.options import RunOptions
from willowbark.tools.search import SourceReply, Status

pytestmark = pytest.mark.whole

manager = pytest.importorskip("jupyter_client.manager", reason="needs the extra `notebook`")
pytest.importorskip("ipykernel", reason="needs the extra `notebook`")

QUICK = {"research.max_iterations": 1, "research.max_results_per_tool": 10}
CELL = f"""
from willowbark.teams.faces.notebook import research_in_cell
report = await research_in_cell({QUESTION!r})
print(report.stop_reason, len(report.executive_summary) >= 100)
"""


SCRIPTS_CELL = f"""
from willowbark import ask
report = ask({QUESTION!r})
print(report.stop_reason, len(report.executive_summary) >= 100)
"""
"""The same words as in a script."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the ledger in a folder of one's own."""
    monkeypatch.chdir(tmp_path)


class Kernel:
    """A kernel of its own, and what a front end would see of it."""

    def __init__(self, client: Any, owner: Any) -> None:
        self.client = client
        self.owner = owner
        self.prompt = ""

    async def run(
        self, code: str, *, interrupt_at: int | None = None, typed: str | None = None
    ) -> tuple[str, list[dict[str, Any]]]:
        """Run a cell; gives its status and messages.

        It is interrupted after so many displays. What is typed goes into the first input box; without it the front end
        has none.
        """
        asked = self.client.execute(code, allow_stdin=typed is not None)
        if typed is not None:
            self.prompt = (await self.client.get_stdin_msg(timeout=60))["content"]["prompt"]
            self.client.input(typed)
        seen: list[dict[str, Any]] = []
        while True:
            message = await self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != asked:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
            seen.append({"type": message["msg_type"], **message["content"]})
            if interrupt_at is not None and len(displays(seen)) == interrupt_at:
                interrupt_at = None
                await self.owner.interrupt_kernel()
        reply = await self.client.get_shell_msg(timeout=60)
        while reply["parent_header"].get("msg_id") != asked:  # of requests before
            reply = await self.client.get_shell_msg(timeout=60)
        return reply["content"]["status"], seen


def displays(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m for m in seen if m["type"] in ("display_data", "update_display_data")]


def printed(seen: list[dict[str, Any]]) -> str:
    return "".join(m["text"] for m in seen if m["type"] == "stream" and m["name"] == "stdout")


@pytest.fixture
async def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Kernel]:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    owner = manager.AsyncKernelManager(transport="ipc", ip=str(tmp_path / "k"))
    await owner.start_kernel(cwd=str(tmp_path))
    client = owner.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=60)
        yield Kernel(client, owner)
    finally:
        client.stop_channels()
        await owner.shutdown_kernel(now=True)


@pytest.mark.parametrize("cell", [CELL, SCRIPTS_CELL], ids=["awaited", "as in a script"])
async def test_a_run_is_one_display_that_is_updated(kernel: Kernel, cell: str) -> None:
    status, seen = await kernel.run(cell)

    shown = displays(seen)
    assert status == "ok"
    assert [m["type"] for m in shown].count("display_data") == 1
    assert len({m["transient"]["display_id"] for m in shown}) == 1
    assert len(shown) >= 4
    assert "stopped" in shown[-1]["data"]["text/html"]
    assert not [m for m in shown if "**" in m["data"]["text/html"]]
    assert len({m["data"]["text/html"].count("<div") for m in shown}) == 1  # nothing below it moves
    assert printed(seen).endswith("True\n")
    assert DEFAULT_PATH.is_file()


@pytest.mark.parametrize("cell", [CELL, SCRIPTS_CELL], ids=["awaited", "as in a script"])
async def test_interrupting_the_cell_gives_the_report_so_far(kernel: Kernel, cell: str) -> None:
    status, seen = await kernel.run(cell, interrupt_at=3)
    again, _ = await kernel.run("1 + 1")

    assert (status, again) == ("ok", "ok")
    assert not [m for m in seen if m["type"] == "error" or m.get("name") == "stderr"]
    assert printed(seen) == "cancelled True\n"
    assert "The run was stopped" in displays(seen)[-1]["data"]["text/html"]


async def test_a_second_interruption_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def endless(_: RunOptions) -> AsyncIterator[AgentEvent]:
        began.set()
        try:
            await asyncio.sleep(3600)
            yield AgentEvent(type="thinking", message="still there")
        finally:
            ended.set()

    monkeypatch.setattr(notebook, "research_stream", endless)
    cell = asyncio.create_task(notebook.research_in_cell(QUESTION))
    await began.wait()
    for _ in range(2):
        cell.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await cell
    await asyncio.wait_for(ended.wait(), 10)


def test_a_display_that_fails_does_not_stop_the_run() -> None:
    class Broken:
        def update(self, _: object) -> None:
            raise ConnectionError("the page was closed")

    view = LiveView(QUESTION)
    view._handle = Broken()
    view.show(AgentEvent(type="error", message="first"))
    view.show(AgentEvent(type="searching", message="second", iteration=1))

    assert view._handle is None
    assert "second" in view._repr_html_()


def test_the_display_keeps_its_height_and_shows_neither_markup_nor_markdown() -> None:
    view = LiveView("<script>alert(1)</script>", ["pubmed", "clinicaltrials"])
    bad = SourceReply(source="pubmed", query="x", status=Status.UNAVAILABLE, warnings=["<script>alert(3)</script>"])
    shown = [view._repr_html_()]
    for event in (
        AgentEvent(type="searching", message="<img src=x onerror=alert(2)>", iteration=1),
        AgentEvent(type="search_complete", message="", data=bad, iteration=1),
        AgentEvent(type="search_complete", message="", data=reply(record("1", "A trial")), iteration=1),
        AgentEvent(type="thinking", message="**literature, round 1**\n\n- pubmed · `x`: 1 of 1 record", iteration=1),
    ):
        view.show(event)
        shown.append(view._repr_html_())

    assert {each.count("<div") for each in shown} == {4}
    assert not [each for each in shown if "<script" in each or "<img" in each or "**" in each]
    assert "PubMed · 1 record" in shown[-1]


APPROVED = f"""
from willowbark.teams.config import Settings
from willowbark import ask
short = Settings.load().overridden({QUICK!r})
report = ask({QUESTION!r}, settings=short, approve=True)
print(report.approval.decided_by, "|", report.approval.via, "|", report.approval.because)
print(len(report.drug_candidates), len(report.approval.set_aside) > 0)
"""


async def test_a_person_is_asked_below_the_cell(kernel: Kernel) -> None:
    status, seen = await kernel.run(APPROVED, typed="1; enough")

    assert status == "ok"
    assert "1. " in kernel.prompt
    assert "Which of these go into the report?" in kernel.prompt
    assert printed(seen).splitlines() == ["person | notebook | ", "1 True"]


async def test_a_front_end_without_input_leaves_the_default_at_once(kernel: Kernel) -> None:
    status, seen = await kernel.run(APPROVED)

    assert status == "ok"
    assert printed(seen).splitlines()[0] == "default | notebook | the notebook takes no input"
