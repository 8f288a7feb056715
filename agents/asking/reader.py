"""Has a model read records in small concurrent batches, each once, and checks each quote in its record.

A model gives the record's study: arms, comparisons with quoted sentences, harms and the authors' statements, whatever
is asked; what it says of each drug follows by rule. What does not stand, and what its own passage does not bear out, is
returned once with the reason. Then the first is left out and the second is disputed and counts for nothing; a record
without a study is absent, and no other reader steps in for it.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from pydantic import BaseModel

from willowbark.agents.autogen import CancellationToken, ChatCompletionClient, RequestUsage
from willowbark.tools.appraisal.appraised import get_condition
from willowbark.tools.appraisal.candidates import list_wanted_drugs
from willowbark.tools.appraisal.views import MatchedStudy, make_readings, match_by_words
from willowbark.tools.lexicon import find_conditions
from willowbark.tools.questions import Question, parse_question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.screening import readable
from willowbark.tools.reading.sections import MOST_OF_WHOLE, get_whole_reason, make_excerpt, places
from willowbark.tools.records.card import STUDIES
from willowbark.tools.records.enclosure import enclose_lines, unmarked
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import kind_of
from willowbark.tools.wording import counted, listed

from .answers import PROMPTS_VERSION, ModelAnswer, add_usage, ask, ask_to_mend, make_messages, name_analyst, read_prompt
from .batches import AT_ONCE, Gathered
from .claims import plain
from .drafts import StudiesDraft, StudyDraft
from .numbering import number_lines, number_sentences, show_passages
from .studies import CheckedStudy, Refused, check_study, join_studies

BATCH = 28  # most records of a prompt, whose answer then is within 8,192 tokens; the instructions are sent once for all
BATCH_CHARACTERS = 50_000  # of the records of one prompt on average
WHOLE_CHARACTERS = 60_000  # of the records of one prompt on average, where their full texts are shown whole
MAX_DRUGS = 10  # of one record asked about by name; a model may add others
TABLE_CHARACTERS = 2_000  # of the rows of a full text's tables in a prompt
MOST_DISPUTED = 0.05
"""Share of a model's comparisons and statements above which none counts: of a strong model's at most 0.01 are disputed
in the recorded runs, of the same with "better" in all of them 0.06 to 0.34."""
FEWEST_DISPUTED = 3
ABSENT = "studies {} were rejected: their records count for nothing"
LEFT_OUT = "studies {} lost a part"
TIME_UP = "its time was up"
OMITTED = "the model left it out of its answer"
MISREAD = "A judge calls earlier readings of these wrong:"


@dataclass(frozen=True)
class ToRead:
    """A record to be read by a model, with the drugs to ask about."""

    record: Evidence
    drugs: tuple[str, ...]
    """Generic names found in it by the lexicon; may be empty."""
    condition: str
    """The one asked about, which no prompt names."""
    in_short: bool = False
    """Whether its results and conclusions are shown without the other sentences."""
    is_whole: bool = False
    """Whether the whole results and tables of its full text are shown."""

    @cached_property
    def page(self) -> Document:
        """The record split into sentences as all readers do."""
        return Document.of(self.record)

    @property
    def fingerprint(self) -> str:
        """Hash of the text, so that none is read twice, whatever is asked, but for its full text."""
        whole = "\nwhole" if self.is_whole else ""
        return hashlib.sha256(f"{plain(self.page.whole)}{whole}".encode()).hexdigest()[:32]

    @property
    def line(self) -> dict[str, Any]:
        """The record for a model: key, title, the abstract by numbered sentences, the same of its full text, drugs."""
        title = [sentence.quote for sentence in self.page.sentences if sentence.headed == "title"]
        line: dict[str, Any] = {"key": self.record.key, "title": " ".join(title), "text": show_passages(self._abstract)}
        for name, parts in self._full_text.items():
            if parts:
                line[name] = [f"{heading}: {show_passages(passages)}" for heading, passages in parts]
        return {**line, "drugs": list(self.drugs[:MAX_DRUGS])}

    @cached_property
    def passages(self) -> dict[str, str]:
        """What a model is shown by number: sentences, of a full text's results as `r1`, rows of its tables as `t1`."""
        parts = chain.from_iterable(self._full_text.values())
        return dict(chain(self._abstract.items(), *(passages.items() for _, passages in parts)))

    @cached_property
    def _abstract(self) -> dict[str, str]:
        """The sentences of the text that are shown, by number."""
        every = self.page.sentences
        telling = [sentence for sentence in every if not self.in_short or sentence.zone in "RC"]
        return number_sentences(telling) or number_sentences(every)

    @cached_property
    def _full_text(self) -> dict[str, list[tuple[str, dict[str, str]]]]:
        """What is shown of the full text under the names of the prompt: headings, each with its numbered passages."""
        if self.is_whole:
            parts = places(make_excerpt(self.record, MOST_OF_WHOLE, MOST_OF_WHOLE))
        elif self.in_short:
            parts = []
        else:
            parts = places(make_excerpt(self.record, TABLE_CHARACTERS), "table")
        results = [part for part in parts if part.kind == "results"]
        tables = [part for part in parts if part.kind == "table"]
        return {
            "results": number_lines(results, "r", by_rows=False),
            "tables": number_lines(tables, "t", by_rows=True),
        }

    @property
    def characters(self) -> int:
        """Characters of the record in a prompt."""
        parts = chain.from_iterable(self._full_text.values())
        return len(self.page.whole) + sum(len(heading) + len(show_passages(shown)) for heading, shown in parts)


class WholeTexts(BaseModel, frozen=True, extra="forbid"):
    """The full texts that a model was shown whole in a turn, in prompts of their own, and what these took."""

    publications: int = 0
    characters: int = 0
    """Of these records in the prompts, without instructions."""
    prompts: int = 0
    """Repeated ones included."""
    tokens: tuple[int, int] = (0, 0)
    """Prompt and completion tokens, those at a batch's price included."""
    batch_tokens: tuple[int, int] = (0, 0)


class UnreadRecord(BaseModel, frozen=True, extra="forbid"):
    """A publication or trial that was fetched and of which the model read nothing that stands."""

    key: str
    reason: str
    is_absent: bool = False
    """Whether the model was asked and its answer does not stand, so that no other reader's reading counts."""


class ReadingCounts(BaseModel, frozen=True, extra="forbid"):
    """How much a model read of what it was asked to read."""

    asked: int = 0
    """Records."""
    read: int = 0
    """Records whose study stands, in whole or in part."""
    refused: int = 0
    """Records whose study was refused, or left out of the answer."""
    parts: int = 0
    """Comparisons and statements that it gave."""
    disputed: int = 0
    """Of these, those that their own passages do not bear out."""

    def __add__(self, other: "ReadingCounts") -> "ReadingCounts":
        """Add the counts of another turn."""
        mine = self.model_dump()
        others = other.model_dump()
        return ReadingCounts(**{name: mine[name] + others[name] for name in mine})

    @property
    def is_unreliable(self) -> bool:
        """Whether so many readings are disputed that none of the model's should count."""
        return self.disputed >= FEWEST_DISPUTED and self.disputed > MOST_DISPUTED * self.parts


@dataclass
class ReadingResults:
    """Results of reading records."""

    question: Question = field(default_factory=lambda: parse_question(""))
    """The one by whose words studies are matched until a model matches them."""
    done: set[str] = field(default_factory=set)
    """Fingerprints of the records that were read."""
    refused: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Keys of what was rejected, by what became of it and the reason."""
    failures: Counter[str] = field(default_factory=Counter)
    """Number of records a model did not read, by reason."""
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    batched: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    """Part of `usage` at a batch's price."""
    batch_notes: list[str] = field(default_factory=list)
    whole: WholeTexts = field(default_factory=WholeTexts)
    """Part of `usage` for full texts that were shown whole."""
    shortened: Counter[str] = field(default_factory=Counter)
    """Number of full texts of which excerpts were shown in the end, by why the whole failed."""
    unread: dict[str, UnreadRecord] = field(default_factory=dict)
    """Records without a study that stands, by key, each with the reason."""
    asked: int = 0
    """Number of records that the model was asked to read."""
    _checked: dict[str, CheckedStudy] = field(default_factory=dict)
    _studies: dict[str, MatchedStudy] = field(default_factory=dict)
    _views: dict[str, list[Reading]] = field(default_factory=dict)

    def take(
        self, drafts: Sequence[StudyDraft], batch: Sequence[ToRead], version: str, *, is_mended: bool = False
    ) -> list[tuple[StudyDraft, str]]:
        """Add the studies of an answer that stand; return those refused, in whole or in part, with reasons.

        With `is_mended` it answers a refusal: what it mends joins the study of its record.
        """
        question = self.question
        by_key = {to_be_read.record.key: to_be_read for to_be_read in batch}
        refused: list[tuple[StudyDraft, str]] = []
        for draft in drafts:
            item = by_key.get(draft.evidence_key)
            if item is None:
                refused.append((draft, "names a record that was not shown"))
                continue
            former = self._checked.get(item.record.key)
            if former is not None and not is_mended:
                self.note(LEFT_OUT, "a record is read twice", draft)
                continue
            try:
                checked = check_study(draft, item, version)
            except Refused as problem:
                refused.append((draft, str(problem)))
                continue
            checked = checked if former is None else join_studies(former, checked)
            if checked is not former:
                self._checked[item.record.key] = checked
                matched = match_by_words(checked.study, question, item.condition)
                self._studies[item.record.key] = matched
                self._views[item.record.key] = make_readings(matched, item.page.whole)
            if checked.problems:
                refused.append((draft, "; ".join(checked.problems)))
        self.done |= {to_be_read.fingerprint for to_be_read in batch}
        return refused

    def note_omitted(self, batch: Sequence[ToRead]) -> None:
        """Note which records of an answered prompt have no study that stands, and why."""
        refused: dict[str, str] = {}
        for (what, reason), keys in self.refused.items():
            if what == ABSENT:
                refused |= dict.fromkeys(keys, reason)
        for item in batch:
            key = item.record.key
            if key not in self._checked:
                self.unread[key] = UnreadRecord(key=key, reason=refused.get(key[:60], OMITTED), is_absent=True)

    def note_unanswered(self, batch: Sequence[ToRead], reason: str) -> None:
        """Note that a model gave no answer to a prompt."""
        self.failures[reason] += len(batch)
        for item in batch:
            self.unread[item.record.key] = UnreadRecord(key=item.record.key, reason=reason)

    @property
    def counts(self) -> ReadingCounts:
        """How much was read."""
        return ReadingCounts(
            asked=self.asked,
            read=len(self._checked),
            refused=sum(record.is_absent for record in self.unread.values()),
            parts=sum(checked.parts for checked in self._checked.values()),
            disputed=sum(len(checked.disputed) for checked in self._checked.values()),
        )

    @property
    def studies(self) -> list[MatchedStudy]:
        """The studies that stand, in the order in which they were read."""
        return list(self._studies.values())

    @property
    def readings(self) -> list[Reading]:
        """What the studies say of each drug, for the condition that they were read for."""
        return list(chain.from_iterable(self._views.values()))

    def has_settled(self, item: ToRead) -> bool:
        """Whether a record has a study that stands, or a reason for having none."""
        return item.fingerprint in self.done or item.record.key in self.unread

    def has(self, draft: StudyDraft) -> bool:
        """Whether a draft's record has a study that stands."""
        return draft.evidence_key in self._checked

    def note_left_out(self, drafts: Iterable[StudyDraft]) -> None:
        """Note of each draft's record what does not stand: the whole study, or parts of it."""
        for draft in drafts:
            checked = self._checked.get(draft.evidence_key)
            for problem in checked.problems if checked else []:
                self.note(LEFT_OUT, problem, draft)

    def note(self, what: str, reason: str, draft: StudyDraft) -> None:
        """Note that a draft was rejected, in whole or in parts."""
        self.refused.setdefault((what, reason), []).append(draft.evidence_key[:60])

    def add_whole(
        self, *, prompts: int = 0, usage: RequestUsage | None = None, batch_usage: RequestUsage | None = None
    ) -> None:
        """Count prompts with whole full texts, and the tokens that they took."""
        self.whole = self.whole.model_copy(
            update={
                "prompts": self.whole.prompts + prompts,
                "tokens": _add_tokens(self.whole.tokens, usage),
                "batch_tokens": _add_tokens(self.whole.batch_tokens, batch_usage),
            }
        )

    @property
    def notes(self) -> list[str]:
        """Notes on the reading for the report, a line for each reason.

        In the order of their words: answers of prompts that were under way together come in any order.
        """
        unread = (
            f"{counted(number, 'record')} not read by the model: {why}" for why, number in sorted(self.failures.items())
        )
        shortened = (
            f"{counted(number, 'full text')} read in excerpts, as the model did not take the whole: {why}"
            for why, number in sorted(self.shortened.items())
        )
        refused = (
            f"Of the model's {what.format(len(which))} ({reason}): {listed(sorted(which), most=5)}"
            for (what, reason), which in sorted(self.refused.items())
        )
        return [*self.batch_notes, *unread, *shortened, *refused]


def _add_tokens(tokens: tuple[int, int], usage: RequestUsage | None) -> tuple[int, int]:
    """Add a call's prompt and completion tokens."""
    if usage is None:
        return tokens
    return tokens[0] + usage.prompt_tokens, tokens[1] + usage.completion_tokens


def list_unreadable(pool: Iterable[Evidence], question: Question) -> list[UnreadRecord]:
    """List the publications and trials that hold nothing to read, each with the reason."""
    readable_keys = {item.record.key for item in prepare_reading(pool, question)}
    unreadable: list[UnreadRecord] = []
    for record in pool:
        if kind_of(record) in STUDIES and record.key not in readable_keys:
            reason = "no results posted" if record.trial else "no abstract"
            unreadable.append(UnreadRecord(key=record.key, reason=reason))
    return unreadable


def prepare_reading(pool: Iterable[Evidence], question: Question, *, in_short: bool = False) -> list[ToRead]:
    """Select what may report on drugs: publications, and trials that stopped or posted results.

    No word of the question decides: a model says later what is on topic. Only errata, letters and other publications
    without an abstract whose titles name no drug, and trials without a result, are left aside.
    """
    usual_name = get_condition(question)
    condition = next(
        (mention.text for mention in find_conditions(question.text) if mention.name == usual_name), usual_name
    )
    selected = []
    for record in map(readable, pool):
        drugs = list_wanted_drugs(record, question)
        trial = record.trial
        is_publication = kind_of(record) == "publication"
        tells = record.has_abstract if is_publication else trial and (trial.results or trial.why_stopped)
        if tells or (drugs and is_publication):
            selected.append(
                ToRead(
                    record,
                    tuple(drugs),
                    condition,
                    in_short and is_publication,
                    is_whole=bool(get_whole_reason(record)),
                )
            )
    return selected


@dataclass(frozen=True)
class _Stage:
    """Reading of one turn's records: what its prompts share."""

    client: ChatCompletionClient
    marker: str
    token: CancellationToken
    gathered: Gathered | None
    """Collects the prompts for the provider's batch API; None to ask directly."""
    misread: Mapping[str, str] = field(default_factory=dict)
    """Why records are read again, by key."""
    found: ReadingResults = field(default_factory=ReadingResults)
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def read(self, batch: Sequence[ToRead], *, is_first: bool = True) -> None:
        """Read a batch; what is refused is asked for once more, and a batch too long for an answer in halves."""
        results = self.found
        version = f"{name_analyst(self.client)}, prompts {PROMPTS_VERSION}"
        if self.gathered is not None and is_first:
            with self.gathered.place() as place:
                answer = await self._ask(batch)
            add_usage(results.batched, place.usage)
            if batch[0].is_whole:
                results.add_whole(batch_usage=place.usage)
        else:
            async with self.free:
                answer = await self._ask(batch)
        is_answered = answer.given is not None
        if answer.given is None and answer.was_too_long and len(batch) > 1:
            halves = batch[: len(batch) // 2], batch[len(batch) // 2 :]
            await asyncio.gather(*(self.read(half, is_first=False) for half in halves))
        elif answer.given is None and batch[0].is_whole:  # often longer than what a small model takes
            results.shortened[answer.failures[-1]] += len(batch)
            await self.read([replace(record, is_whole=False) for record in batch], is_first=False)
        elif answer.given is None:
            results.note_unanswered(batch, answer.failures[-1])
        elif refused := results.take(answer.given.studies, batch, version):
            keys = {draft.evidence_key for draft, _ in refused}
            again = [item for item in batch if item.record.key in keys]
            if len(again) < len(keys):  # a key that no record has may stand for any of them
                again = list(batch)
            async with self.free:
                answer = await self._ask(again, ask_to_mend("studies or parts of them", refused))
            if answer.given is not None:
                results.take(answer.given.studies[: len(refused)], batch, version, is_mended=True)
            for draft, reason in refused:
                if not results.has(draft):
                    results.note(ABSENT, reason, draft)
            results.note_left_out(draft for draft, _ in refused)
        if is_answered:
            results.note_omitted(batch)

    async def _ask(self, batch: Sequence[ToRead], further: str = "") -> ModelAnswer[StudiesDraft]:
        lines = enclose_lines([item.line for item in batch], self.marker)
        why = [
            f"- {each.record.key}: {unmarked(self.misread[each.record.key])}"
            for each in batch
            if each.record.key in self.misread
        ]
        again = "\n".join([MISREAD, *why]) if why else ""
        messages = make_messages(
            read_prompt("reader.md"), "\n".join(filter(None, [lines, again, further])), source="reader"
        )
        answer = await ask([self.client], messages, StudiesDraft, self.token)
        add_usage(self.found.usage, answer.usage)
        if batch[0].is_whole:
            self.found.add_whole(prompts=1, usage=answer.usage)
        return answer


async def read(
    client: ChatCompletionClient,
    question: str,
    records: Sequence[ToRead],
    marker: str,
    cancellation_token: CancellationToken,
    timeout_s: float | None = None,
    *,
    in_batch: bool = False,
    misread: Mapping[str, str] | None = None,
) -> ReadingResults:
    """Have a model read records in concurrent batches.

    Args:
        client: the model.
        question: as it was asked; by its words studies are matched, and no prompt holds it.
        records: to be read, without duplicates.
        marker: marks the blocks of records.
        cancellation_token: stops the reading.
        timeout_s: seconds for all of them; unread records are counted. None, or a provider's batch API, has no limit.
        in_batch: whether to use that API.
        misread: why records that were read before are read again, by key.
    """
    whole = [record for record in records if record.is_whole]
    batches = [
        *_cut_evenly([record for record in records if not record.is_whole], BATCH_CHARACTERS),
        *_cut_evenly(whole, WHOLE_CHARACTERS),
    ]
    gathered = Gathered(len(batches)) if in_batch else None
    stage = _Stage(client, marker, cancellation_token, gathered, misread or {})
    stage.found.question = parse_question(question)
    stage.found.asked = len(records)
    stage.found.whole = WholeTexts(publications=len(whole), characters=sum(record.characters for record in whole))
    tasks = [asyncio.ensure_future(stage.read(batch)) for batch in batches]
    for task in tasks:
        cancellation_token.link_future(task)
    results = stage.found
    late = set[asyncio.Task[None]]()
    try:
        if tasks:
            ended, late = await asyncio.wait(tasks, timeout=None if in_batch else timeout_s)
            for task in ended:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
    results.batch_notes = gathered.notes if gathered else []
    if late:
        results.note_unanswered([record for record in records if not results.has_settled(record)], TIME_UP)
    return results


def _cut_evenly(records: Sequence[ToRead], most: int) -> list[Sequence[ToRead]]:
    """Cut records into batches of even sizes, of `most` characters on average; empty without records."""
    size = sum(record.characters if record.is_whole else len(record.page.whole) for record in records)
    number = max(-(-len(records) // BATCH), min(len(records), -(-size // most)))
    return [records[at::number] for at in range(number)]
