"""The one seam to MCP's SDK, whose releases 1 and 2 differ in names and in what a call is handed.

AutoGen's own MCP tools need release 1; release 2 also speaks the protocol of 2026-07-28.
https://py.sdk.modelcontextprotocol.io/migration/
"""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from mcp.types import CallToolResult

SDK_RELEASE = int(version("mcp").partition(".")[0])

if TYPE_CHECKING or SDK_RELEASE < 2:
    from mcp.server.fastmcp import FastMCP
    from mcp.server.fastmcp.exceptions import ResourceError, ToolError
    from mcp.server.fastmcp.prompts import Prompt
else:
    from mcp.server.mcpserver import MCPServer as FastMCP
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    from mcp.server.mcpserver.prompts import Prompt

__all__ = ["SDK_RELEASE", "Prompt", "ResourceError", "SdkServer", "TellProgress", "ToolError"]

TellProgress = Callable[[int, str], Awaitable[None]]
"""Tells the client of a call a step and a line; says nothing to one that did not ask for progress."""


class SdkServer(FastMCP[Any]):
    """A server of either release: its subclasses list their tools and answer calls alike under both.

    Attributes:
        protocol_server: the SDK's server below, which speaks the protocol over streams.
    """

    def __init__(self, name: str, instructions: str, own_version: str) -> None:
        super().__init__(name, instructions=instructions, log_level="CRITICAL")
        self.protocol_server = getattr(self, "_mcp_server" if SDK_RELEASE < 2 else "_lowlevel_server")
        self.protocol_server.version = own_version

    async def answer_call(self, name: str, arguments: dict[str, Any], tell: TellProgress) -> CallToolResult:
        """Answer a call of a tool.

        Raises:
            ToolError: it cannot be answered; the client is sent the message.
        """
        raise NotImplementedError

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Answer a call: release 2 hands its context on, release 1 keeps it."""
        call = self.get_context() if context is None else context

        async def tell(step: int, line: str) -> None:
            await call.report_progress(step, message=line)

        return await self.answer_call(name, arguments, tell)
