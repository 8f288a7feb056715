"""The way to a model's server, which is a network like any other: an answer has a size and a time that it may take.

Every provider's library asks through an httpx client, of one version or another. Its transports are made to count.
Answers are asked for unpacked, since what is packed into a few bytes may be any number of them.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

ANSWER_BYTES = 8 * 1024 * 1024  # of an answer in one piece; the longest draft has 0.4 million characters
STREAM_BYTES = 32 * 1024 * 1024  # of one that comes token by token, each of them in some 250 bytes
STREAM_TIMES = 5  # as long as an answer in one piece may take one that comes as a stream
_STREAMS = ("text/event-stream", "application/x-ndjson")
_COUNTED = ("x-stainless-raw-response", "stream")
"""As results of batches are asked for, which hold many answers: whoever reads them counts for each."""
_Send = Callable[[Any], Awaitable[Any]]


def cap_answers(http: Any, timeout_s: float) -> None:
    """Have each answer end: by its last byte, at a number of bytes, or when its time is up.

    What is too long or too late fails in the library as a broken connection does.

    Args:
        http: the library's httpx client; its transports are changed, those of proxies too.
        timeout_s: for a whole answer, from its request to its last byte; a stream has `STREAM_TIMES` as long.
    """
    own = next(each for each in type(http).__mro__ if each.__name__ == "AsyncClient")
    library = importlib.import_module(own.__module__.partition(".")[0])
    for transport in filter(None, (http._transport, *http._mounts.values())):
        transport.handle_async_request = _capped(transport.handle_async_request, library, timeout_s)


def _capped(send: _Send, library: Any, timeout_s: float) -> _Send:
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
        """Close the library's own."""
        await self._inner.aclose()
