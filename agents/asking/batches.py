"""Reads records through the batch APIs of OpenAI and Anthropic: half the price, answers within a day.

Calls from AutoGen's client to its provider's library wait in places until each has its prompt; all are sent as one
batch. Prompts that it does not answer are asked one by one.

https://developers.openai.com/api/docs/guides/batch, https://platform.claude.com/docs/en/build-with-claude/batch-processing
"""

import asyncio
import importlib
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from willowbark.agents.autogen import RequestUsage
from willowbark.tools.wording import listed

from .answers import ModelUnavailable, add_usage, describe_provider_error, write_line

AT_ONCE = 4  # concurrent prompts outside a batch; providers limit rates
FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0  # between polls of a batch; the wait grows
PATIENCE_S = 25 * 3600.0  # both providers end a batch after 24 hours
RESULTS_S = 300.0  # for a batch's results
RESULTS_BYTES = 32 << 20
ANSWER_BYTES = 64 << 10  # of a batch's results, and as much again for each of its answers
MOST_FAILURES = 30  # failed polls in a row, about half an hour
_ID = re.compile(r"[\w-]{1,200}")
_PASSING = (408, 409, 429)  # client errors that may pass on another try
_RAW = {"X-Stainless-Raw-Response": "stream"}  # makes either library return the reply unread
Create = Callable[..., Awaitable[Any]]


class _ProviderBatches:
    """A provider's batch API, called through its library's client, which bounds all replies but results."""

    answers: tuple[str, str]  # module and name of the library's type
    answer_at: tuple[str, ...]  # in a line of results
    reasons_at: tuple[tuple[str, ...], ...]  # where a line may say why it has none

    def __init__(self, library: Any) -> None:
        self._library = library

    async def _results(self, path: str, prompts: int) -> dict[str, Any]:
        """Read by key an answer or why there is none, one per line, within limits on bytes and time."""
        most = RESULTS_BYTES + prompts * ANSWER_BYTES
        received = bytearray()
        results = dict[str, Any]()
        try:
            async with asyncio.timeout(RESULTS_S):
                reply = await self._library.get(path, cast_to=object, options={"headers": _RAW})
                try:
                    async for piece in reply.iter_bytes():
                        received += piece
                        if len(received) > most:
                            raise ModelUnavailable(f"a batch's results have more than {most:,} bytes")
                finally:
                    await reply.close()
        except TimeoutError:
            raise ModelUnavailable(f"a batch's results did not end in {RESULTS_S:g} s") from None
        answer_type = getattr(importlib.import_module(self.answers[0]), self.answers[1])
        for content in bytes(received).splitlines():
            try:
                line = json.loads(content)
            except (ValueError, RecursionError):
                continue
            try:
                answer = answer_type.model_validate(_follow_path(line, *self.answer_at))
            except ValueError:
                answer = _explain(line, *self.reasons_at)
            results.setdefault(str(_follow_path(line, "custom_id")), answer)
        return results


class OpenAIBatches(_ProviderBatches):
    """Batches of chat completions, as files of JSON lines."""

    answers = ("openai.types.chat", "ChatCompletion")
    answer_at = ("response", "body")
    reasons_at = (("error", "message"), ("response", "body", "error", "message"))

    async def send(self, prompts: Mapping[str, Mapping[str, Any]]) -> str:
        """Send prompts by key and return the batch's ID."""
        to = "/v1/chat/completions"
        lines = [
            json.dumps({"custom_id": key, "method": "POST", "url": to, "body": body}) for key, body in prompts.items()
        ]
        file = ("readings.jsonl", "\n".join(lines).encode(), "application/jsonl")
        sent = _find_id(await self._library.files.create(file=file, purpose="batch"))
        begun = await self._library.batches.create(input_file_id=sent, endpoint=to, completion_window="24h")
        return _find_id(begun)

    async def look(self, batch: str, prompts: int) -> Mapping[str, Any] | None:
        """Poll a batch: None while it runs, then by key an answer of the library's type or the error."""
        state = await self._library.batches.retrieve(batch)
        results = dict[str, Any]()
        if state.status not in ("completed", "failed", "expired", "cancelled"):
            return None
        if state.status == "failed":
            raise ModelUnavailable(f"the batch failed: {_explain(state.to_dict(), ('errors', 'data', 'message'))}")
        for name in ("output_file_id", "error_file_id"):
            if getattr(state, name) is not None:
                results |= await self._results(f"/files/{_find_id(state, name)}/content", prompts)
        return results


class AnthropicBatches(_ProviderBatches):
    """Batches of Anthropic messages."""

    answers = ("anthropic.types", "Message")
    answer_at = ("result", "message")
    reasons_at = (("result", "error", "error", "message"), ("result", "type"))

    async def send(self, prompts: Mapping[str, Mapping[str, Any]]) -> str:
        """As `OpenAIBatches`."""
        requests = [{"custom_id": key, "params": body} for key, body in prompts.items()]
        return _find_id(await self._library.messages.batches.create(requests=requests))

    async def look(self, batch: str, prompts: int) -> Mapping[str, Any] | None:
        """As `OpenAIBatches`."""
        state = await self._library.messages.batches.retrieve(batch)
        if state.processing_status != "ended":
            return None
        return await self._results(f"/v1/messages/batches/{batch}/results", prompts)


Interface = OpenAIBatches | AnthropicBatches


@dataclass
class BatchPlace:
    """One prompt's place in a batch, for its first request; later requests are sent on their own."""

    gathered: "Gathered"
    key: str = field(default_factory=lambda: uuid4().hex)
    """Key of the prompt, the same when a run is resumed."""
    batch: str | None = None
    """Batch in which it was sent before the run was resumed; None if not sent yet."""
    keep: Callable[[str], None] = lambda _: None
    is_open: bool = True
    was_answered: bool = False
    unanswered: str = ""
    """Why the batch did not answer it; empty if it did, or if it was in no batch."""
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    asked: Mapping[str, Any] = field(default_factory=dict)
    """The request that waits, or waited, for the batch."""

    def settle(self, usage: RequestUsage, unanswered: str) -> None:
        """Record whether the batch answered and, if so, its tokens."""
        self.was_answered = not unanswered
        self.unanswered = unanswered
        if self.was_answered:
            add_usage(self.usage, usage)


present_place: ContextVar[BatchPlace | None] = ContextVar("place in a batch", default=None)
"""Place of the prompt being asked; None outside batches."""


def send_through_batches(provider: str, library: Any, create: Create) -> Create:
    """Wrap a provider's call so that it waits for the batch when made in a batch's place."""
    interface: Interface = OpenAIBatches(library) if provider == "openai" else AnthropicBatches(library)

    async def call(**arguments: Any) -> Any:
        place = present_place.get()
        if place is None or not place.is_open:
            return await create(**arguments)
        place.asked = {
            n: v for n, v in arguments.items() if n != "stream" and type(v).__name__ not in ("NotGiven", "Omit")
        }
        if (answer := await place.gathered.answer(place, interface)) is not None:
            return answer
        async with place.gathered.alone:
            return await create(**arguments)

    return call


class Gathered:
    """Collects the prompts of a reading stage, as many as places are due, into a batch."""

    def __init__(self, prompts: int) -> None:
        self.alone = asyncio.Semaphore(AT_ONCE)
        self._places: list[BatchPlace] = []
        self._due = prompts
        self._is_complete = asyncio.Event()
        self._results: dict[str | None, asyncio.Task[Mapping[str, Any]]] = {}

    @contextmanager
    def place(self) -> Iterator[BatchPlace]:
        """Open a prompt's place; a request made within waits for the others."""
        place = BatchPlace(self)
        self._places.append(place)
        before = present_place.set(place)
        try:
            yield place
        finally:
            present_place.reset(before)
            self._close(place)

    @property
    def notes(self) -> list[str]:
        """Notes on the batch for the report."""
        reasons = Counter(place.unanswered for place in self._places if place.unanswered)
        if not reasons:
            return []
        number = reasons.total() + sum(place.was_answered for place in self._places)
        note = f"Of {number} prompts in a batch {reasons.total()} had no answer there"
        return [f"{note} ({listed(list(reasons), most=3)}), and were asked alone at the full price"]

    async def answer(self, place: BatchPlace, interface: Interface) -> Any:
        """Wait for a prompt's answer from its batch, a new one or that of before a resume; None if there is none."""
        self._close(place)
        await self._is_complete.wait()
        if place.batch not in self._results:
            places = [waiting for waiting in self._places if waiting.asked and waiting.batch == place.batch]
            self._results[place.batch] = asyncio.create_task(_wait_for_results(interface, place.batch, places))
        result = (await self._results[place.batch]).get(place.key, "it ended without them")
        if isinstance(result, str):
            place.unanswered = result
            return None
        place.was_answered = True
        return result

    def _close(self, place: BatchPlace) -> None:
        """Mark a place as filled or left."""
        if place.is_open:
            place.is_open = False
            self._due -= 1
            if self._due == 0:
                self._is_complete.set()


async def _wait_for_results(interface: Interface, batch: str | None, places: Sequence[BatchPlace]) -> Mapping[str, Any]:
    """Return the answers to prompts, or why there is none, by key; None as a batch sends a new one."""
    try:
        if batch is None:
            batch = await interface.send({place.key: place.asked for place in places})
            for place in places:
                place.keep(batch)
        return await _wait_for_end(interface, batch, len(places))
    except Exception as error:  # noqa: BLE001  libraries may raise anything: it becomes a note
        return dict.fromkeys((place.key for place in places), describe_provider_error(error))


async def _wait_for_end(interface: Interface, batch: str, prompts: int) -> Mapping[str, Any]:
    """Wait until a batch ends and return its results."""
    wait = FIRST_WAIT_S
    failures = 0
    since = time.monotonic()
    while time.monotonic() - since < PATIENCE_S:
        try:
            if (results := await interface.look(batch, prompts)) is not None:
                return results
            failures = 0
        except Exception as error:
            status = getattr(error, "status_code", 500)
            failures = failures + 1
            is_final = isinstance(error, ModelUnavailable) or (status < 500 and status not in _PASSING)
            if is_final or failures >= MOST_FAILURES:
                raise
        await asyncio.sleep(wait)
        wait = min(LONGEST_WAIT_S, 1.5 * wait)
    raise ModelUnavailable("it expired without an end")


def _find_id(answer: Any, place: str = "id") -> str:
    name = getattr(answer, place, None)
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ModelUnavailable("the server gave a batch or its file no usable name")
    return name


def _follow_path(answer: Any, *steps: str) -> Any:
    """Return the value at a JSON path, taking the first item of each list; None if absent."""
    for step in steps:
        answer = answer[0] if isinstance(answer, list) and answer else answer
        answer = answer.get(step) if isinstance(answer, dict) else None
    return answer


def _explain(answer: Any, *paths: tuple[str, ...]) -> str:
    """Return the first of a provider's possible messages on a missing answer."""
    reasons = (_follow_path(answer, *path) for path in paths)
    return write_line(next((reason for reason in reasons if isinstance(reason, str) and reason), "no usable answer"))
