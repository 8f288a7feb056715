"""A small MCP server of somebody else's, on standard input and output or over HTTP: it answers in words, or never.

python tests/small_mcp_server.py [PORT]
"""

import asyncio
import sys

from mcp.server.fastmcp import FastMCP

server = FastMCP("small", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000, log_level="CRITICAL")


@server.tool()
def search_notes(query: str) -> str:
    """Search the notes of a clinic."""
    return f"One note on {query}: propranolol reduced migraine attacks."


@server.tool()
async def search_archive(query: str) -> str:
    """Search an archive that takes its time."""
    await asyncio.sleep(600)
    return query


if __name__ == "__main__":
    server.run(transport="streamable-http" if len(sys.argv) > 1 else "stdio")
