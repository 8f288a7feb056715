"""Limits on the size and duration of a model server's answers.

Every provider's library sends requests through some version of httpx; its transports are wrapped to count bytes.
Answers are requested uncompressed, since a few compressed bytes may expand to any number.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

ANSWER_BYTES = 8 * 1024 * 1024  # of an unstreamed answer; the longest draft has 0.4 million characters
STREAM_BYTES = 32 * 1024 * 1024  # of a streamed answer, at some 250 bytes per token
STREAM_TIMES = 5  # times the time limit of an unstreamed answer, for a stream
_STREAMS = ("text/event-stream", "application/x-ndjson")
_COUNTED = ("x-stainless-raw-response", "stream")
"""Header of requests for a batch's results, which hold many answers; their reader counts each answer itself."""
_Send = Callable[[Any], Awaitable[Any]]


def cap_answers(http: Any, timeout_s: float) -> None:
    """Limit the size and the duration of each answer.

    An answer that exceeds a limit fails in the library like a broken connection.

    Args:
        http: the library's httpx client; its transports are wrapped, including those of proxies.
        timeout_s: for a whole answer, from request to last byte; multiplied by `STREAM_TIMES` for a stream.
    """
    own = next(each for each in type(http).__mro__ if each.__name__ == "AsyncClient")
    library = importlib.import_module(own.__module__.partition(".")[0])
    for transport in filter(None, (http._transport, *http._mounts.values())):
        transport.handle_async_request = _cap_send(transport.handle_async_request, library, timeout_s)


def _cap_send(send: _Send, library: Any, timeout_s: float) -> _Send:
    async def ask(request: Any) -> Any:
        name, value = _COUNTED
        is_counted = request.headers.get(name) == value
        request.headers["accept-encoding"] = "identity"
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(timeout_s):
                response = await send(request)
        except TimeoutError as error:
            raise library.ReadTimeout(f"no answer within {timeout_s:g} s") from error
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise library.DecodingError("the answer is packed, which was not asked for")
        if is_counted and response.status_code < 400:  # an error's body is read by the library
            return response
        streams = response.headers.get("content-type", "").startswith(_STREAMS)
        most, until = STREAM_BYTES if streams else ANSWER_BYTES, began + timeout_s * (STREAM_TIMES if streams else 1)
        body = type("CappedBody", (_CappedBody, library.AsyncByteStream), {})
        response.stream = body(response.stream, library, most, until)
        return response

    return ask


class _CappedBody:
    def __init__(self, inner: Any, library: Any, most: int, until: float) -> None:
        self._inner, self._library, self._most, self._until = inner, library, most, until

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read, chunks = 0, aiter(self._inner)
        while True:
            try:
                async with asyncio.timeout_at(self._until):
                    chunk = await anext(chunks, None)
            except TimeoutError as error:
                raise self._library.ReadTimeout("the answer did not end in time") from error
            if chunk is None:
                return
            read += len(chunk)
            if read > self._most:
                raise self._library.DecodingError(f"the answer is larger than {self._most:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        """Close the library's stream."""
        await self._inner.aclose()
