"""A client of an MCP server in this process, the same under releases 1 and 2 of the protocol's SDK."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

from willowbark.teams.faces.mcp import Server
from willowbark.teams.faces.mcp_sdk import SDK_RELEASE

if SDK_RELEASE < 2:
    import httpx
    from mcp import ClientSession, McpError
    from mcp.shared.memory import create_connected_server_and_client_session
    from mcp.types import (
        CancelledNotification,
        CancelledNotificationParams,
        ClientNotification,
    )
else:
    import httpx2 as httpx
    from mcp import Client
    from mcp.shared.exceptions import MCPError as McpError

__all__ = ["Called", "McpClient", "McpError", "connect", "connect_over_http"]

ToldProgress = Callable[[float, float | None, str | None], Awaitable[None]]


class Called(NamedTuple):
    """What a call of a tool gave, as it goes over the wire."""

    content: list[dict[str, Any]]
    is_error: bool
    data: dict[str, Any] | None

    @property
    def text(self) -> str:
        """The only content, which is text."""
        (content,) = self.content
        assert content["type"] == "text"
        return str(content["text"])


class McpClient:
    """The SDK's client, whose answers are the JSON of the wire."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def list_tools(self) -> list[dict[str, Any]]:
        return _dump(await self.client.list_tools())["tools"]

    async def list_prompts(self) -> list[dict[str, Any]]:
        return _dump(await self.client.list_prompts())["prompts"]

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> str:
        (message,) = _dump(await self.client.get_prompt(name, arguments))["messages"]
        return str(message["content"]["text"])

    async def call_tool(
        self, name: str, arguments: dict[str, Any], progress_callback: ToldProgress | None = None
    ) -> Called:
        result = _dump(await self.client.call_tool(name, arguments, progress_callback=progress_callback))
        return Called(result["content"], result.get("isError", False), result.get("structuredContent"))

    async def read(self, uri: str) -> str:
        """Text of a resource."""
        address = AnyUrl(uri) if SDK_RELEASE < 2 else uri
        (content,) = _dump(await self.client.read_resource(address))["contents"]
        return str(content["text"])

    async def give_up(self, call: "asyncio.Task[Called]") -> None:
        """Cancel the latest call, and tell the server so, which release 1 leaves to its user."""
        if SDK_RELEASE < 2:
            params = CancelledNotificationParams(requestId=self.client._request_id - 1)
            notice = CancelledNotification(method="notifications/cancelled", params=params)
            await self.client.send_notification(ClientNotification(notice))
        else:
            call.cancel()
        await asyncio.wait([call])


def _dump(result: Any) -> Any:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@asynccontextmanager
async def connect(server: Server) -> AsyncIterator[McpClient]:
    """Connect to a server, in the newest protocol that the SDK speaks."""
    if SDK_RELEASE < 2:
        async with create_connected_server_and_client_session(server) as client:
            yield McpClient(client)
    else:
        async with Client(server) as client:
            yield McpClient(client)


@asynccontextmanager
async def connect_over_http(url: str, token: str) -> AsyncIterator[McpClient]:
    """Connect to a server at an address, with its token."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        if SDK_RELEASE < 2:
            async with transport as streams, ClientSession(*streams[:2]) as client:
                await client.initialize()
                yield McpClient(client)
        else:
            async with Client(transport) as client:
                yield McpClient(client)
