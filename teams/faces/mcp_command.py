"""`willowbark mcp`: the server on standard input and output, or as streamable HTTP on loopback, behind a token.

https://modelcontextprotocol.io/specification/2025-06-18/basic/transports
"""

import os
from collections.abc import Callable
from pathlib import Path

import uvicorn

from willowbark.tools.http.transport import Transport

from ..page.guard import Guarded, Tokened, listening_at, tell_token, token_from
from ..run.options import RunOptions
from .mcp_server import Server

HOST = "127.0.0.1"
TOKEN_VARIABLE = "WILLOWBARK_MCP_TOKEN"  # noqa: S105  its name, not the token
_STOP_S = 2  # for requests under way when the server ends
_SETTLE_S = 10.0  # for their runs to keep what they found; they can be gone on with


async def serve_stdio(options: RunOptions, ledger: Path) -> None:
    """Serve one client on standard input and output, until it closes them.

    Raises:
        UsageError: settings or keys are at fault.
    """
    settings = options.chosen()
    with options.sources_at(settings) as endpoints:
        async with Transport(endpoints) as transport:
            server = Server(settings, transport, ledger)
            await server.run_stdio_async()
            await server.settled(_SETTLE_S)


async def serve_http(options: RunOptions, ledger: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve on loopback, until the process is asked to end.

    Args:
        options: of every run, without a question.
        ledger: where runs are kept.
        port: 0 takes a free one.
        say: told the address, and the token where the environment names none.

    Raises:
        UsageError: settings, keys or the token are at fault, or the port is taken.
    """
    settings, named = options.chosen(), token_from(os.environ, TOKEN_VARIABLE)
    with options.sources_at(settings) as endpoints, listening_at(HOST, port) as listening:
        async with Transport(endpoints) as transport:
            server = Server(settings, transport, ledger)
            say(f"MCP at http://{HOST}:{listening.getsockname()[1]}/mcp (Ctrl-C ends it)")
            token = tell_token(named, TOKEN_VARIABLE, say)
            app = Guarded(Tokened(server.streamable_http_app(), token, TOKEN_VARIABLE))
            config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=_STOP_S)
            await uvicorn.Server(config).serve([listening])
            await server.settled(_SETTLE_S)
