"""An answer in a model's words: requested, checked sentence by sentence, mended once; what fails is dropped."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from willowbark.agents.autogen import CancellationToken, ChatCompletionClient, RequestUsage
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.records.enclosure import enclose_lines, unmarked

from ..asking import Aids, ModelAnswer, add_usage, ask, make_messages, name_analyst
from ..asking.drafts import AnswerPart, MendedDraft, SentenceDraft, SentenceVerdictDraft, WrittenDraft
from ..checking.basis import TABLE, WritingBasis
from ..checking.checker import SentenceChecker, describe_source
from ..checking.table import clean_text, find_fault, lower_certainty
from ..checking.written import (
    MOST_PART_WORDS,
    MOST_WORDS,
    CheckedSentence,
    DroppedSentence,
    WrittenAnswer,
    WrittenParagraph,
    WrittenPlace,
)
from .answer_request import AnswerRequest

NOT_BORNE_OUT = "its passages do not bear it out"
PARTLY_BORNE_OUT = "its passages bear out only a part"
GIVES_ADVICE = "gives advice"
_TOO_LONG = "is beyond the length"


@dataclass(frozen=True)
class _Piece:
    """A sentence on its way into the report."""

    place: WrittenPlace
    drug: str
    """Of its paragraph; empty elsewhere."""
    draft: SentenceDraft
    part: AnswerPart | Literal[""] = ""
    """Of the answer; empty elsewhere."""
    reason: str = ""
    """Which check it fails; empty if nothing speaks against it."""
    detail: str = ""
    """What fails it, for its writer."""
    is_dropped: bool = False
    is_checked: bool = False
    is_reworded: bool = False


@dataclass(eq=False)
class Answering:
    """One answer: requested, checked, mended once.

    Args:
        name: of the writing agent.
        system_message: its prompt.
        request: what the writer sees.
        basis: what its sentences may rest on.
        checker: compares sentences with passages.
        aids: tools that the writer may use before it writes; None for none.
    """

    name: str
    system_message: str
    request: AnswerRequest
    basis: WritingBasis
    checker: SentenceChecker
    aids: Aids | None = None
    judged: Sequence[SentenceDraft] = ()
    """The judge's sentences, which are checked beside the writer's: they rest on the same records."""
    refuted: list[str] = field(default_factory=list)
    """Those of the judge's sentences that their records do not bear out."""
    written: WrittenAnswer | None = None
    """None if the model gave no answer of which a sentence stands."""
    failure: str | None = None
    """Why there is none."""
    notes: list[str] = field(default_factory=list)
    """Problems, for the report's limitations."""
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    """Tokens of the writer; the checker has its own."""

    async def run(self, client: ChatCompletionClient, token: CancellationToken) -> None:
        """Get an answer and check it; sentences that do not stand go back once."""
        answer = await self._ask(client, token)
        while answer.was_too_long and self.request.can_be_shorter:  # for a model with a small context
            self.request = self.request.shorter()
            answer = await self._ask(client, token)
        if answer.given is None:
            self.failure = answer.failures[0]
            return
        pieces = await self._check(list(self._pieces(answer.given)), token, self.judged)
        due = [at for at, piece in enumerate(pieces) if piece.reason and not piece.is_dropped]
        if due:
            mended = await self._mend([pieces[at] for at in due], client, token)
            for at, piece in zip(due, await self._check(mended, token), strict=True):
                pieces[at] = replace(piece, is_dropped=True) if piece.reason else piece
        pieces = _within_length(pieces)
        self.written = self._assemble(pieces, client)
        if not any(True for _ in self.written.sentences()):
            self.failure = "none of the model's sentences passed the checks"

    async def _ask(self, client: ChatCompletionClient, token: CancellationToken) -> ModelAnswer[WrittenDraft]:
        messages = make_messages(self.system_message, self.request.text, source=self.name)
        answer = await ask(
            [client], messages, WrittenDraft, token, request=self.request, check=_find_silence, aids=self.aids
        )
        add_usage(self.usage, answer.usage)
        return answer

    def _pieces(self, draft: WrittenDraft) -> Iterator[_Piece]:
        for part, sentence in draft.answer.by_part():
            yield from self._take("answer", [sentence], part=part)
        for paragraph in draft.drugs:
            drug = canonical_drug(paragraph.drug) or paragraph.drug.strip().casefold()
            yield from self._take("drug", paragraph.sentences, drug)
        yield from self._take("mechanism", draft.mechanism)
        yield from self._take("would_change", draft.would_change)

    def _take(
        self,
        place: WrittenPlace,
        sentences: Iterable[SentenceDraft],
        drug: str = "",
        part: AnswerPart | Literal[""] = "",
    ) -> Iterator[_Piece]:
        for sentence in sentences:
            text = clean_text(sentence.text)
            if text:
                draft = sentence.model_copy(update={"text": text, "keys": self._held(sentence)})
                yield _Piece(place, drug, draft, part)

    def _held(self, sentence: SentenceDraft) -> list[str]:
        """Return the keys of a sentence that the run holds: no other one is shown as its source."""
        keys = [key.strip() for key in sentence.keys]
        return [source.key for source in self.basis.cited(keys, sentence.text)]

    async def _check(
        self, pieces: Sequence[_Piece], token: CancellationToken, judged: Sequence[SentenceDraft] = ()
    ) -> list[_Piece]:
        """Check sentences by the table, then what stands by the checker, and the judge's beside them."""
        checked = [self._check_by_table(piece) for piece in pieces]
        standing = [at for at, piece in enumerate(checked) if not (piece.reason or piece.is_dropped)]
        sentences = [*(checked[at].draft for at in standing), *judged]
        verdicts = await self.checker.check(sentences, self.basis.of_judge, token)
        for at, verdict in zip(standing, verdicts, strict=False):
            checked[at] = _judge(checked[at], verdict)
        for sentence, verdict in zip(judged, verdicts[len(standing) :], strict=True):
            if verdict is not None and (verdict.borne_out != "yes" or verdict.advises):  # nobody mends a judge's
                self.refuted.append(sentence.text)
        return checked

    def _check_by_table(self, piece: _Piece) -> _Piece:
        if piece.is_dropped:
            return piece
        lowered = lower_certainty(piece.draft.text, self.basis)
        is_reworded = piece.is_reworded or lowered != piece.draft.text
        draft = piece.draft.model_copy(update={"text": lowered})
        fault = find_fault(draft, self.basis, piece.drug, is_of_missing=piece.part == "missing")
        if fault is None:
            return replace(piece, draft=draft, is_reworded=is_reworded)
        return replace(piece, draft=draft, reason=fault.kind, detail=fault.detail, is_dropped=fault.is_final)

    async def _mend(
        self, pieces: Sequence[_Piece], client: ChatCompletionClient, token: CancellationToken
    ) -> list[_Piece]:
        """Return sentences as their writer mended them; those left out are dropped for their first reason."""
        lines = [_describe_fault(at, piece) for at, piece in enumerate(pieces, 1)]
        keys = list(chain.from_iterable(piece.draft.keys for piece in pieces))
        texts = " ".join(piece.draft.text for piece in pieces)
        sources = [describe_source(source) for source in self.basis.cited(keys, texts)]
        asked = [
            f"Question: {self.request.question}",
            "What the sentences below cite:",
            enclose_lines(sources, self.request.marker),
            "These sentences don't stand. Mend each by its number from what it cites, or leave it out:",
            *lines,
        ]
        messages = make_messages(self.system_message, "\n".join(asked), source=self.name)
        answer = await ask([client], messages, MendedDraft, token, request=self.request)
        add_usage(self.usage, answer.usage)
        self.notes += [f"{self.name}: {failure}" for failure in answer.failures]
        given = {sentence.number: sentence for sentence in answer.given.sentences} if answer.given else {}
        mended = list[_Piece]()
        for at, piece in enumerate(pieces, 1):
            new = given.get(at)
            text = clean_text(new.text) if new else ""
            if new is None or not text:
                mended.append(replace(piece, is_dropped=True))
                continue
            draft = SentenceDraft(text=text, keys=self._held(new))
            mended.append(replace(piece, draft=draft, reason="", detail="", is_reworded=True))
        return mended

    def _assemble(self, pieces: Sequence[_Piece], client: ChatCompletionClient) -> WrittenAnswer:
        standing = [piece for piece in pieces if not piece.is_dropped]
        drugs = dict.fromkeys(piece.drug for piece in standing if piece.place == "drug")
        unchecked = sum(not piece.is_checked for piece in standing)
        because = self.checker.failures[-1] if self.checker.failures else "the checker gave no verdict"
        return WrittenAnswer(
            answer=_shown(standing, "answer"),
            drugs=[WrittenParagraph(drug=drug, sentences=_shown(standing, "drug", drug)) for drug in drugs],
            mechanism=_shown(standing, "mechanism"),
            would_change=_shown(standing, "would_change"),
            writer=name_analyst(client),
            checker=name_analyst(self.checker.client),
            made=len(pieces),
            reworded=sum(piece.is_reworded for piece in standing),
            dropped=[DroppedSentence(place=piece.place, reason=piece.reason) for piece in pieces if piece.is_dropped],
            unchecked=unchecked,
            unchecked_because=because if unchecked else "",
        )


def _find_silence(draft: WrittenDraft) -> str | None:
    return None if any(draft.answer.by_part()) else "answer: empty; say what was found, or that nothing was"


def _describe_fault(number: int, piece: _Piece) -> str:
    """Say in a line what is wrong with a sentence, before the sentence as data."""
    why = f"{piece.reason} ({piece.detail})" if piece.detail else piece.reason
    return f"{number}. {why}: {piece.draft.model_dump_json()}"


def _judge(piece: _Piece, verdict: SentenceVerdictDraft | None) -> _Piece:
    """Apply a checker's verdict to a sentence; without one it stands unchecked."""
    if verdict is None:
        return piece
    if verdict.advises:
        return replace(piece, reason=GIVES_ADVICE, is_dropped=True)
    if verdict.borne_out == "no":
        return replace(piece, reason=NOT_BORNE_OUT, is_dropped=True)
    if verdict.borne_out == "partly":
        return replace(piece, reason=PARTLY_BORNE_OUT, detail=unmarked(" ".join(verdict.words.split())))
    return replace(piece, is_checked=True)


def _within_length(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Drop what is beyond the words of each place and each part of the answer, whole sentences from its end."""
    used = dict[tuple[str, str, str], int]()
    kept = list[_Piece]()
    for piece in pieces:
        if piece.is_dropped:
            kept.append(piece)
            continue
        where = (piece.place, piece.drug, piece.part)
        words = used.get(where, 0) + len(piece.draft.text.split())
        used[where] = words
        most = MOST_PART_WORDS[piece.part] if piece.part else MOST_WORDS[piece.place]
        is_beyond = words > most
        kept.append(replace(piece, reason=_TOO_LONG, is_dropped=True) if is_beyond else piece)
    return _shorten_answer(kept)


def _shorten_answer(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Drop the last sentence of an answer's longest part until it has its length: no part is lost to another's."""
    shorter = list(pieces)
    while True:
        standing = [at for at, piece in enumerate(shorter) if piece.place == "answer" and not piece.is_dropped]
        words = Counter[str]()
        for at in standing:
            words[shorter[at].part] += len(shorter[at].draft.text.split())
        if words.total() <= MOST_WORDS["answer"]:
            return shorter
        [(longest, _)] = words.most_common(1)
        last = max(at for at in standing if shorter[at].part == longest)
        shorter[last] = replace(shorter[last], reason=_TOO_LONG, is_dropped=True)


def _shown(pieces: Iterable[_Piece], place: WrittenPlace, drug: str = "") -> list[CheckedSentence]:
    return [
        CheckedSentence(
            text=piece.draft.text, citations=_citations(piece.draft), part=piece.part, is_checked=piece.is_checked
        )
        for piece in pieces
        if (piece.place, piece.drug) == (place, drug)
    ]


def _citations(draft: SentenceDraft) -> list[str]:
    return [key for key in draft.keys if key != TABLE]
