"""One line from whoever works in a notebook, without blocking the kernel: it can time out and be cancelled.

IPython's own `input()` waits inside the event loop, in which the run goes on too. So the same request is sent on the
kernel's stdin channel, and the reply is looked for between other things.
https://jupyter-client.readthedocs.io/en/stable/messaging.html#messages-on-the-stdin-router-dealer-channel
"""

import asyncio
from typing import Any

from autogen_core import CancellationToken

from willowbark.agents.approval import NobodyToAsk

_PAUSE_S = 0.05  # between looks for a reply: nobody types faster


async def notebook_input(prompt: str, cancellation_token: CancellationToken | None = None) -> str:
    """Show a prompt with an input box below the cell and wait for what is entered.

    Args:
        prompt: shown as it is.
        cancellation_token: ends the wait.

    Raises:
        NobodyToAsk: no notebook, or one that is run without anybody watching (nbclient, papermill).
    """
    kernel = _kernel()
    if kernel is None or not kernel._allow_stdin:
        raise NobodyToAsk("the notebook takes no input")
    waiting = asyncio.ensure_future(_reply(kernel, prompt))
    if cancellation_token is not None:
        cancellation_token.link_future(waiting)
    return await waiting


def _kernel() -> Any:
    from IPython.core.getipython import get_ipython  # noqa: PLC0415  an extra

    return getattr(get_ipython(), "kernel", None)


async def _reply(kernel: Any, prompt: str) -> str:
    socket = kernel.stdin_socket
    while socket.poll(0):  # replies that came when nobody waited any more
        socket.recv_multipart()
    content = {"prompt": prompt, "password": False}
    sender = kernel._parent_ident["shell"]
    kernel.session.send(socket, "input_request", content, kernel.get_parent("shell"), ident=sender)
    while True:
        while not socket.poll(0):  # noqa: ASYNC110  a channel of the kernel's, which no event belongs to
            await asyncio.sleep(_PAUSE_S)
        _, reply = kernel.session.recv(socket)
        if reply is not None:
            return str(reply["content"].get("value", ""))
