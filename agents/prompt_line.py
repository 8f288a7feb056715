"""One line from the terminal, without blocking the run: it can time out and be cancelled.

`input()` in a thread can be neither, and keeps the program from ending. Where the event loop cannot watch the terminal
(Windows), a daemon thread reads, and is left behind when nobody answers.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from autogen_core import CancellationToken

from .approval import NobodyToAsk


async def terminal_input(prompt: str, cancellation_token: CancellationToken | None = None) -> str:
    """Show a prompt on stderr and wait for a line of stdin.

    Args:
        prompt: shown as it is.
        cancellation_token: ends the wait.

    Returns:
        The line, without its end.

    Raises:
        NobodyToAsk: stdin or stderr is no terminal, or stdin was closed (Ctrl-D).
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise NobodyToAsk("no terminal to ask in")
    print(prompt, end="", file=sys.stderr, flush=True)
    line: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    if cancellation_token is not None:
        cancellation_token.link_future(line)
    stop = _watched(line)
    try:
        typed = await line
    except asyncio.CancelledError:
        print(file=sys.stderr)  # what comes next starts on a line of its own
        raise
    finally:
        stop()
    if not typed:
        raise NobodyToAsk("the input was closed")
    return typed.rstrip("\r\n")


def _watched(line: "asyncio.Future[str]") -> Callable[[], None]:
    """Have the future get stdin's next line; what is given back ends that."""
    loop, handle = asyncio.get_running_loop(), sys.stdin.fileno()

    def deliver(text: str) -> None:
        if not line.done():
            line.set_result(text)

    def read() -> None:
        text = _line(handle)
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, text)

    try:
        loop.add_reader(handle, lambda: deliver(_line(handle)))
    except NotImplementedError:
        threading.Thread(target=read, daemon=True).start()
        return lambda: None
    return lambda: _unwatch(loop, handle)


def _line(handle: int) -> str:
    """What was typed up to Enter: a terminal hands over one line at a time, past Python's own buffer."""
    return os.read(handle, 4096).decode(errors="replace")


def _unwatch(loop: asyncio.AbstractEventLoop, handle: int) -> None:
    with suppress(RuntimeError, ValueError):
        loop.remove_reader(handle)
