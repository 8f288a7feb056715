"""Specialists and stock assistants whose tools are those of an MCP server, in a team."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from builders import QUESTION, asked, calling, scripted

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialist import SpecialistAgent
from willowbark.teams.research_team import ResearchTeam

mcp = pytest.importorskip("autogen_ext.tools.mcp", reason="needs the extra `mcp`")
pytestmark = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore:Use `streamable_http_client` instead"),  # AutoGen 0.7.5 uses the older name
]

SERVER = Path(__file__).parent / "small_mcp_server.py"


@asynccontextmanager
async def over_http() -> AsyncIterator[mcp.McpWorkbench]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = await asyncio.create_subprocess_exec(sys.executable, SERVER, str(port), stderr=asyncio.subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                break
        address = mcp.StreamableHttpServerParams(url=f"http://127.0.0.1:{port}/mcp")
        async with mcp.McpWorkbench(address) as workbench:
            yield workbench
    finally:
        server.terminate()
        await server.wait()


@asynccontextmanager
async def over_stdio() -> AsyncIterator[mcp.McpWorkbench]:
    params = mcp.StdioServerParams(command=sys.executable, args=[str(SERVER)], read_timeout_seconds=60)
    async with mcp.McpWorkbench(params) as workbench:
        yield workbench


WAYS = {"stdio": over_stdio, "http": over_http}


def team(*members: AssistantAgent) -> ResearchTeam:
    client = BaselineChatCompletionClient()
    judge = JudgeAgent("judge", client, limits=JudgeLimits(max_iterations=1))
    return ResearchTeam([*members, judge, ReportAgent("report", client)], client)


@pytest.mark.parametrize("way", WAYS)
async def test_a_good_run_with_an_mcp_workbench_ends_well_and_can_be_repeated(way: str) -> None:
    async with WAYS[way]() as workbench:
        answers = [calling("search_notes", "migraine"), "One note was found.", "One note was found."] * 2
        notes = SpecialistAgent("notes", scripted(*answers), workbench=workbench)
        researchers = team(notes)
        for _ in range(2):
            messages = (await asyncio.wait_for(researchers.run(task=QUESTION), 60)).messages
            (found,) = [message.content for message in messages if isinstance(message, FindingsMessage)]
            assert "One note was found." in found.summary
            assert isinstance(messages[-1], ReportMessage)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [SpecialistAgent, AssistantAgent])
async def test_a_run_is_stopped_during_a_call_of_an_mcp_server_and_repeated(
    way: str, kind: type[AssistantAgent]
) -> None:
    async with AsyncExitStack() as stack:
        workbench = await stack.enter_async_context(WAYS[way]())
        answers = [calling("search_archive", "migraine"), calling("search_notes", "migraine"), "One note was found."]
        notes = kind("notes", scripted(*answers), workbench=workbench)
        other = SpecialistAgent("other", scripted("Nothing to ask.", "Nothing to ask."))
        researchers, token = team(notes, other), CancellationToken()
        stream = researchers.run_stream(task=QUESTION, cancellation_token=token)
        with pytest.raises(asyncio.CancelledError):  # noqa: PT012  the call comes at any place
            async for message in stream:
                if type(message).__name__ == "ToolCallRequestEvent":
                    asyncio.get_running_loop().call_later(0.3, token.cancel)
        messages = (await asyncio.wait_for(researchers.run(task=QUESTION), 60)).messages
        assert isinstance(messages[-1], ReportMessage)


async def test_a_specialist_alone_may_have_its_token_cancelled_after_a_call_of_an_mcp_server() -> None:
    async with over_stdio() as workbench:
        notes = SpecialistAgent(
            "notes", scripted(calling("search_notes", "migraine"), "One note was found."), workbench=workbench
        )
        token = CancellationToken()
        response = await notes.on_messages([asked()], token)
        token.cancel()
        assert isinstance(response.chat_message, FindingsMessage)
