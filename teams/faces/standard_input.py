"""Standard input, line by line, for a server that may have to end while its client keeps it open."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator

_BYTES = 65_536  # of one read


async def read_lines() -> AsyncIterator[str]:
    """Yield the lines of standard input until it is closed.

    The MCP library's own reader blocks a thread that its event loop waits for: after an interrupt the process stays
    until its client closes the input. Here the thread is left behind; it reads the descriptor itself, since a thread
    that waits in `sys.stdin` holds its lock, without which the interpreter cannot end.
    """
    loop = asyncio.get_running_loop()
    waiting = asyncio.Queue[bytes]()
    descriptor = sys.stdin.fileno()

    def read() -> None:
        is_open = True
        while is_open:
            try:
                part = os.read(descriptor, _BYTES)
            except OSError:
                part = b""
            is_open = part != b""
            try:
                loop.call_soon_threadsafe(waiting.put_nowait, part)
            except RuntimeError:  # the loop is closed: nobody listens
                return

    threading.Thread(target=read, name="standard input", daemon=True).start()
    rest = b""
    while part := await waiting.get():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")
