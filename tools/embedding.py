"""Meaning as vectors, where somebody gives them: what an embedder is, and one that speaks OpenAI's protocol.

https://platform.openai.com/docs/api-reference/embeddings; Ollama, vLLM, llama.cpp and others speak it too.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from .errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from .http.wire import httpx_alone

if TYPE_CHECKING:
    import httpx
    import numpy as np

BATCH = 64  # texts of one request
MAX_TEXT = 2000  # characters of a text; servers refuse what is longer than their models take
TIMEOUT_S = 60.0


@runtime_checkable
class Embedder(Protocol):
    """Anything that gives vectors."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, all of one length; may raise anything."""


class OpenAIEmbedder:
    """Asks a server that speaks OpenAI's protocol.

    Args:
        model: as the server knows it, such as `text-embedding-3-small`.
        base_url: of the server, `…/v1`; `OPENAI_API_KEY` goes there where it is set.
        client: asks instead of a client for each request; left open.
    """

    def __init__(
        self, model: str, *, base_url: str = "https://api.openai.com/v1", client: "httpx.AsyncClient | None" = None
    ) -> None:
        self._model, self._base_url, self._client = model, base_url.rstrip("/"), client

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in their order.

        Raises:
            SearchError: no answer, or none that can be read.
        """
        found: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            found += await self._batch([text[:MAX_TEXT] for text in texts[start : start + BATCH]])
        return found

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        httpx = httpx_alone()
        key = os.environ.get("OPENAI_API_KEY")
        asked: dict[str, Any] = {
            "json": {"model": self._model, "input": texts},
            "headers": {"Authorization": f"Bearer {key}"} if key else {},
            "timeout": TIMEOUT_S,
        }
        try:
            if self._client is not None:
                reply = await self._client.post(f"{self._base_url}/embeddings", **asked)
            else:
                async with httpx.AsyncClient() as client:
                    reply = await client.post(f"{self._base_url}/embeddings", **asked)
        except httpx.HTTPError as error:
            raise SourceUnavailable("embedder", f"cannot be reached ({type(error).__name__})") from None
        if reply.status_code != 200:
            said: type[SearchError] = SourceRefused if 400 <= reply.status_code < 429 else SourceUnavailable
            raise said("embedder", f"answered {reply.status_code}")
        try:
            rows = sorted(reply.json()["data"], key=lambda row: row["index"])
            vectors = [[float(number) for number in row["embedding"]] for row in rows]
        except (ValueError, KeyError, TypeError):
            raise UnreadableReply("embedder", "answered without vectors") from None
        if len(vectors) != len(texts):
            raise UnreadableReply("embedder", f"gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors


class Vectors:
    """The vectors of numbered texts, each asked for once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[int, tuple[str, np.ndarray]] = {}

    async def nearest(self, query: str, texts: Mapping[int, str], most: int) -> list[int]:
        """Numbers of the texts that are nearest in meaning, best first; raises what the embedder raises."""
        import numpy as np  # noqa: PLC0415  words alone need none of it

        new = [number for number, text in texts.items() if self._known.get(number, ("",))[0] != text]
        given = await self._embedder.embed([query, *(texts[number] for number in new)])
        asked, *vectors = (_unit(np.asarray(each, dtype=np.float32)) for each in given)
        self._known.update((at, (texts[at], each)) for at, each in zip(new, vectors, strict=True))
        self._known = {at: self._known[at] for at in texts}
        if not texts:
            return []
        near = np.stack([self._known[at][1] for at in texts]) @ asked
        numbers = list(texts)
        return [numbers[at] for at in np.argsort(-near, kind="stable")[:most]]


def _unit(vector: "np.ndarray") -> "np.ndarray":
    """A vector of length 1; one without any stays so."""
    length = float((vector * vector).sum()) ** 0.5
    return vector / length if length else vector
