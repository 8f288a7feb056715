"""Asks a model whether cited passages bear sentences out: it sees sentences and passages, not who wrote them or why."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from willowbark.agents.autogen import CancellationToken, ChatCompletionClient, RequestUsage
from willowbark.tools.records.enclosure import enclose_lines, new_marker

from ..asking import add_usage, ask, make_messages, read_prompt
from ..asking.drafts import CheckDraft, SentenceDraft, SentenceVerdictDraft
from .basis import TABLE, CitedSource, WritingBasis

AT_ONCE = 15  # sentences of a call: more, and models skip some
MOST_CHARACTERS = 24_000  # of the passages of a call with several sentences


class CheckRequest(BaseModel, frozen=True, extra="forbid"):
    """Sentences with what they cite, as data and as text for a language model."""

    sentences: list[SentenceDraft]
    sources: list[dict[str, Any]]
    """What they cite, once each."""
    marker: str = Field(default_factory=new_marker, exclude=True)

    @property
    def text(self) -> str:
        """The request as text: passages in a block, then the sentences by number."""
        lines = [
            json.dumps({"number": at, "text": each.text, "cites": each.keys}, ensure_ascii=False)
            for at, each in enumerate(self.sentences, 1)
        ]
        return "\n".join(["Passages:", enclose_lines(self.sources, self.marker), "Sentences:", *lines])


@dataclass(eq=False)
class SentenceChecker:
    """Asks for verdicts on sentences, several a call; a sentence with the same passages is asked about once."""

    client: ChatCompletionClient
    name: str = "checker"
    """Source of its messages."""
    marker: Callable[[], str] = new_marker
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    """Tokens of all calls."""
    failures: list[str] = field(default_factory=list)
    """Why calls gave no verdicts."""

    def __post_init__(self) -> None:
        self._verdicts = dict[str, SentenceVerdictDraft]()
        self._system_message = read_prompt("checker.md")

    async def check(
        self, sentences: Sequence[SentenceDraft], basis: WritingBasis, token: CancellationToken
    ) -> list[SentenceVerdictDraft | None]:
        """Return a verdict for each sentence; None where the checker gave none, for the reason in `failures`."""
        due = dict[str, SentenceDraft]()
        for sentence in sentences:
            name = _hash_of(sentence, basis)
            if name not in self._verdicts:
                due.setdefault(name, sentence)
        batches = _batch(due, basis)
        await asyncio.gather(*(self._ask(batch, basis, token) for batch in batches))
        return [self._verdicts.get(_hash_of(sentence, basis)) for sentence in sentences]

    async def _ask(self, batch: dict[str, SentenceDraft], basis: WritingBasis, token: CancellationToken) -> None:
        sentences = list(batch.values())
        keys = dict.fromkeys(key for sentence in sentences for key in sentence.keys)
        texts = " ".join(sentence.text for sentence in sentences)
        sources = [describe_source(source) for source in basis.cited(keys, texts)]
        request = CheckRequest(sentences=sentences, sources=sources, marker=self.marker())
        numbers = set(range(1, len(sentences) + 1))

        def find_silence(draft: CheckDraft) -> str | None:
            missing = numbers - {verdict.number for verdict in draft.verdicts}
            return f"verdicts: none on {', '.join(map(str, sorted(missing)))}" if missing else None

        messages = make_messages(self._system_message, request.text, source=self.name)
        answer = await ask([self.client], messages, CheckDraft, token, request=request, check=find_silence)
        add_usage(self.usage, answer.usage)
        self.failures += answer.failures
        if answer.given is None:
            return
        by_number = {verdict.number: verdict for verdict in reversed(answer.given.verdicts)}
        for number, name in enumerate(batch, 1):
            if number in by_number:
                self._verdicts[name] = by_number[number]


def describe_source(source: CitedSource) -> dict[str, Any]:
    """Return what a checker sees of a source."""
    line: dict[str, Any] = {"key": source.key, "title": source.title, "passages": list(source.passages)}
    return {**line, "values": list(source.values)} if source.values else line


def _batch(due: dict[str, SentenceDraft], basis: WritingBasis) -> list[dict[str, SentenceDraft]]:
    """Group sentences for calls, those that cite the same record first side by side, so that it is shown once."""
    batches = list[dict[str, SentenceDraft]]()
    size = 0
    shown = set[str]()
    places = {key: place for place, key in enumerate(_list_keys(due.values()))}
    for name, sentence in sorted(due.items(), key=lambda item: min((places[key] for key in item[1].keys), default=0)):
        new = [source for source in basis.cited(sentence.keys, sentence.text) if source.key not in shown]
        more = sum(len(source.text) for source in new)
        if not batches or len(batches[-1]) >= AT_ONCE or size + more > MOST_CHARACTERS:
            batches.append({})
            shown = set()
            size = 0
            more = sum(len(source.text) for source in basis.cited(sentence.keys, sentence.text))
        batches[-1][name] = sentence
        shown.update(source.key for source in basis.cited(sentence.keys, sentence.text))
        size += more
    return batches


def _list_keys(sentences: Iterable[SentenceDraft]) -> list[str]:
    """List the keys that sentences cite, each once, the computed table's last."""
    keys = dict.fromkeys(key for sentence in sentences for key in sentence.keys)
    return sorted(keys, key=lambda key: key == TABLE)


def _hash_of(sentence: SentenceDraft, basis: WritingBasis) -> str:
    """Name a sentence with the text of what it cites."""
    texts = [sentence.text, *(source.text for source in basis.cited(sentence.keys, sentence.text))]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
