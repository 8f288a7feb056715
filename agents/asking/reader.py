"""Has a model read records in small concurrent batches, each once, and checks each quote in its record.

A model gives each drug's role and result with quoted sentences; the direction follows from the table that all readers
share. What does not stand is returned once with the reason; then the learned reader's reading counts. Of a comparison
it also gives values in the record's own words, which code finds in the sentence quoted for them.
"""

import asyncio
import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from pydantic import BaseModel

from willowbark.agents.autogen import CancellationToken, ChatCompletionClient, RequestUsage
from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import condition_of
from willowbark.tools.appraisal.candidates import has_background, wanted_drugs
from willowbark.tools.lexicon import canonical_drug, find_conditions, find_drugs
from willowbark.tools.questions import Question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.numbers import drugs_dosed, is_bare, is_of_other_arm, is_of_other_kind, spelled_number
from willowbark.tools.reading.reading import Reading, Value
from willowbark.tools.reading.screening import addressed_to_machines, readable, tells_what_to_do
from willowbark.tools.reading.sections import WHOLE_SHOWN, excerpted, places, section_of, why_whole
from willowbark.tools.records.enclosure import enclose_lines, visible
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import kind_of
from willowbark.tools.wording import counted, listed

from .answers import PROMPTS_VERSION, ModelAnswer, add_usage, analyst_name, ask, ask_to_mend, prompt, to_ask
from .batches import AT_ONCE, Gathered
from .claims import Claim, Stance, drugs_named, locate, passage_of, plain
from .drafts import ReadingDraft, ReadingsDraft, ValueDraft

BATCH = 15  # most records of a prompt, whose answer then is within 8,192 tokens; the instructions are sent once for all
BATCH_CHARACTERS = 40_000  # of the records of one prompt on average
WHOLE_CHARACTERS = 60_000  # of the records of one prompt on average, where their full texts are shown whole
MAX_DRUGS = 10  # of one record asked about by name; a model may add others
AS_GIVEN = {"role", "match", "kind", "comparator", "effect", "primary", "indication", "hedged", "non_inferior"}
TABLE_CHARACTERS = 2_000  # of the rows of a full text's tables in a prompt
REPLACED, LEFT_OUT = "readings {} were rejected and replaced by the trained reader's", "values {} were left out"
_UNCUT = r"(?<!\w)(?<!\d[.,])(?<![<>≤≥±])(?<![<>≤≥±] )(?<![\s(\[=:/]-)"
"""Before a value: no part of a number, and no sign or bound that belongs to it."""
_GAP = re.compile(r"\s*(?:\[…\]|…)\s*")
"""Mark of sentences that were not shown; a quote may go on behind it."""


@dataclass(frozen=True)
class ToRead:
    """A record to be read by a model, with the drugs to ask about."""

    record: Evidence
    drugs: tuple[str, ...]
    """Generic names found in it by the lexicon; may be empty."""
    condition: str
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
        """Hash of the text, so that none is read twice for a condition, but for its full text."""
        whole = "\nwhole" if self.is_whole else ""
        return hashlib.sha256(f"{self.condition}\n{plain(self.page.whole)}{whole}".encode()).hexdigest()[:32]

    @property
    def line(self) -> dict[str, Any]:
        """The record for a model: key, title, the abstract, drugs; an ellipsis for sentences that are not shown."""
        title = [each.quote for each in self.page.sentences if each.headed == "title"]
        text = [each for each in self.page.sentences if each.headed != "title"]
        telling = [each for each in text if not self.in_short or each.zone in "RC"] or text
        shown = [each.quote for each in telling[:1]]
        for before, each in pairwise(telling):
            shown.append(each.quote if each.order == before.order + 1 else f"… {each.quote}")
        line: dict[str, Any] = {"key": self.record.key, "title": " ".join(title), "text": " ".join(shown)}
        for name, texts in self._list_full_text().items():
            if texts:
                line[name] = texts
        return {**line, "drugs": list(self.drugs[:MAX_DRUGS])}

    def _list_full_text(self) -> dict[str, list[str]]:
        """List what is shown of the full text under the names of the prompt, each part below its heading."""
        if self.is_whole:
            parts = places(excerpted(self.record, WHOLE_SHOWN, WHOLE_SHOWN))
        elif self.in_short:
            parts = []
        else:
            parts = places(excerpted(self.record, TABLE_CHARACTERS), "table")
        lines = [(part.kind, f"{part.title}: {part.text}") for part in parts]
        return {
            "results": [line for kind, line in lines if kind == "results"],
            "tables": [line for kind, line in lines if kind == "table"],
        }

    @property
    def characters(self) -> int:
        """Characters of the record in a prompt."""
        return len(self.page.whole) + sum(map(len, chain(*self._list_full_text().values())))


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


@dataclass
class ReadingResults:
    """Results of reading records."""

    readings: list[Reading] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    """Fingerprints of the records that were read."""
    refused: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """What was rejected as `key (drug)`, by what became of it and the reason."""
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

    def take(
        self, drafts: Sequence[ReadingDraft], batch: Sequence[ToRead], version: str, *, is_mended: bool = False
    ) -> list[tuple[ReadingDraft, str]]:
        """Add the valid readings of an answer; return those refused, in whole or in their values, with reasons.

        With `is_mended` it answers a refusal: values of readings held already are added to these.
        """
        by_key = {each.record.key: each for each in batch}
        refused = list[tuple[ReadingDraft, str]]()
        for draft in drafts:
            given, held = by_key.get(draft.evidence_key), self.held(draft)
            reading = "names a record that was not shown" if given is None else checked(draft, given, version)
            if given is None or isinstance(reading, str):
                refused.append((draft, str(reading)))
            elif held is not None and not is_mended:
                self.note(REPLACED, "a record is read twice for one drug", draft)
            else:
                values, unfounded = values_of(draft, given)
                both = dict.fromkeys((*(held.values if held else ()), *values))
                reading = (held or reading).model_copy(update={"values": tuple(both)})
                self.readings = [*(each for each in self.readings if each is not held), reading]
                refused += [(draft, "; ".join(unfounded))] if unfounded else []
        self.done |= {each.fingerprint for each in batch}
        return refused

    def held(self, draft: ReadingDraft) -> Reading | None:
        """Return the reading of a draft's record for its drug; None if there is none."""
        named = draft.evidence_key, _drug_of(draft)
        return next((each for each in self.readings if (each.key, each.drug) == named), None)

    def note(self, what: str, reason: str, draft: ReadingDraft) -> None:
        """Note that a draft was rejected, in whole or in its values."""
        self.refused.setdefault((what, reason), []).append(f"{draft.evidence_key[:60]} ({draft.drug})")

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
        """Notes on the reading for the report, a line for each reason."""
        unread = (f"{counted(number, 'record')} not read by the model: {why}" for why, number in self.failures.items())
        refused = (
            f"Of the model's {what.format(len(which))} ({reason}): {listed(which, most=5)}"
            for (what, reason), which in self.refused.items()
        )
        shortened = (
            f"{counted(number, 'full text')} read in excerpts, as the model did not take the whole: {why}"
            for why, number in self.shortened.items()
        )
        return [*self.batch_notes, *unread, *shortened, *refused]


def _add_tokens(tokens: tuple[int, int], usage: RequestUsage | None) -> tuple[int, int]:
    """Add a call's prompt and completion tokens."""
    if usage is None:
        return tokens
    return tokens[0] + usage.prompt_tokens, tokens[1] + usage.completion_tokens


def to_read(pool: Iterable[Evidence], asked: Question, *, in_short: bool = False) -> list[ToRead]:
    """Select what may report on drugs in the condition: publications, and trials that stopped or posted results.

    The model decides whether one is on the condition, named as in the question.
    """
    known = condition_of(asked)
    condition = next((each.text for each in find_conditions(asked.text) if each.name == known), known)
    found = []
    for record in map(readable, pool):
        drugs = wanted_drugs(record, asked)
        trial, is_publication = record.trial, kind_of(record) == "publication"
        tells = record.has_abstract if is_publication else trial and (trial.results or trial.why_stopped)
        if (tells or (drugs and is_publication)) and has_background(record, asked):
            found.append(
                ToRead(record, tuple(drugs), condition, in_short and is_publication, is_whole=bool(why_whole(record)))
            )
    return found


@dataclass(frozen=True)
class _Stage:
    """Reading of one turn's records: what its prompts share."""

    client: ChatCompletionClient
    question: str
    marker: str
    token: CancellationToken
    gathered: Gathered | None
    """Collects the prompts for the provider's batch API; None to ask directly."""
    found: ReadingResults = field(default_factory=ReadingResults)
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def read(self, batch: Sequence[ToRead], *, is_first: bool = True) -> None:
        """Read a batch; what is refused is asked for once more, and a batch too long for an answer in halves."""
        found, version = self.found, f"{analyst_name(self.client)}, prompts {PROMPTS_VERSION}"
        if self.gathered is not None and is_first:
            with self.gathered.place() as place:
                answer = await self._ask(batch)
            add_usage(found.batched, place.usage)
            if batch[0].is_whole:
                found.add_whole(batch_usage=place.usage)
        else:
            async with self.free:
                answer = await self._ask(batch)
        if answer.given is None and answer.was_too_long and len(batch) > 1:
            halves = batch[: len(batch) // 2], batch[len(batch) // 2 :]
            await asyncio.gather(*(self.read(half, is_first=False) for half in halves))
        elif answer.given is None and batch[0].is_whole:  # often longer than what a small model takes
            found.shortened[answer.failures[-1]] += len(batch)
            await self.read([replace(record, is_whole=False) for record in batch], is_first=False)
        elif answer.given is None:
            found.failures[answer.failures[-1]] += len(batch)
        elif refused := found.take(answer.given.readings, batch, version):
            named = {draft.evidence_key for draft, _ in refused}
            shown = [each for each in batch if each.record.key in named]
            if len(shown) < len(named):  # a key that no record has may stand for any of them
                shown = list(batch)
            async with self.free:
                answer = await self._ask(shown, ask_to_mend("readings or values", refused))
            if answer.given is not None:
                found.take(answer.given.readings[: len(refused)], batch, version, is_mended=True)
            for draft, reason in refused:
                if (held := found.held(draft)) is None:
                    found.note(REPLACED, reason, draft)
                elif not {each.what for each in draft.values} <= {each.what for each in held.values}:
                    found.note(LEFT_OUT, reason, draft)

    async def _ask(self, batch: Sequence[ToRead], further: str = "") -> ModelAnswer[ReadingsDraft]:
        head = f"Question: {' '.join(self.question.split())}\nCondition: {batch[0].condition}\n"
        shown = enclose_lines([each.line for each in batch], self.marker)
        messages = to_ask(prompt("reader.md"), "\n".join(filter(None, [head + shown, further])), source="reader")
        answer = await ask([self.client], messages, ReadingsDraft, self.token)
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
) -> ReadingResults:
    """Have a model read records in concurrent batches.

    Args:
        client: the model.
        question: as it was asked.
        records: to be read, without duplicates.
        marker: marks the blocks of records.
        cancellation_token: stops the reading.
        timeout_s: seconds for all of them; unread records are counted. None, or a provider's batch API, has no limit.
        in_batch: whether to use that API.
    """
    whole = [record for record in records if record.is_whole]
    batches = [
        *_cut_evenly([record for record in records if not record.is_whole], BATCH_CHARACTERS),
        *_cut_evenly(whole, WHOLE_CHARACTERS),
    ]
    gathered = Gathered(len(batches)) if in_batch else None
    stage = _Stage(client, question, marker, cancellation_token, gathered)
    stage.found.whole = WholeTexts(publications=len(whole), characters=sum(record.characters for record in whole))
    tasks = [asyncio.ensure_future(stage.read(batch)) for batch in batches]
    for task in tasks:
        cancellation_token.link_future(task)
    found, late = stage.found, set[asyncio.Task[None]]()
    try:
        if tasks:
            ended, late = await asyncio.wait(tasks, timeout=None if in_batch else timeout_s)
            for task in ended:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
    found.batch_notes = gathered.notes if gathered else []
    if late:
        unread = sum(each.fingerprint not in found.done for each in records) - found.failures.total()
        found.failures["its time was up"] += unread
    return found


def _cut_evenly(records: Sequence[ToRead], most: int) -> list[Sequence[ToRead]]:
    """Cut records into batches of even sizes, of `most` characters on average; empty without records."""
    size = sum(record.characters if record.is_whole else len(record.page.whole) for record in records)
    number = max(-(-len(records) // BATCH), min(len(records), -(-size // most)))
    return [records[at::number] for at in range(number)]


def checked(draft: ReadingDraft, given: ToRead, version: str) -> Reading | str:
    """Check a model's reading and locate its quote; return the reading or why it is rejected.

    A verdict or a harm needs whole sentences of the record, or rows of its full text's tables, as its quote, which may
    leave out what was not shown between them; an inconclusive reading may lack one. A comparator that the record does
    not name is left out.
    """
    drug = _drug_of(draft)
    whole = given.page.whole
    against = draft.against.strip()
    is_named = plain(against) in plain(whole) or canonical_drug(against) in {name for name, _, _ in given.page.drugs}
    if drug not in given.drugs and drug not in plain(whole) and all(drug != name for name, _, _ in given.page.drugs):
        return "names a drug that its record does not name"
    reading = Reading(
        key=given.record.key,
        drug=drug,
        condition=given.condition,
        against=(against if is_named else "") or None,
        alone=draft.alone and draft.role != "combined",
        reader="model",
        version=version,
        **draft.model_dump(include=AS_GIVEN),
    )
    verdict = reading.verdict
    tells_harm = reading.does_harm and reading.match != "other" and bool(draft.quote.strip())
    if verdict == "none" and not tells_harm:
        return reading
    stance: Stance = "contradicts" if verdict == "none" else verdict
    passages = []
    for part in _parts(draft.quote, given):
        claim = Claim(evidence_key=reading.key, quote=part, drug=drug, stance=stance)
        found = passage_of(claim, given.record, Direction.inconclusive, reading.against)
        if not isinstance(found, str):
            passages.append(found)
        elif verdict != "neutral":
            return found
    return reading.model_copy(update={"passages": tuple(passages)})


def values_of(draft: ReadingDraft, given: ToRead) -> tuple[tuple[Value, ...], list[str]]:
    """Check the values of a model's reading; return those that stand, and why the others do not, a line each."""
    found = [(each.what, _value(each, draft, given)) for each in draft.values]
    kept = dict.fromkeys(each for _, each in found if isinstance(each, Value))
    return tuple(kept), [f"{what} {each}" for what, each in found if isinstance(each, str)]


def _value(draft: ValueDraft, reading: ReadingDraft, given: ToRead) -> Value | str:
    """Find a value in the sentences quoted for it; return it, or why it does not stand."""
    parts = _parts(draft.quote.strip() or reading.quote, given)
    passages = [found.passage for part in parts if (found := locate(part, given.record, is_whole=False))]
    written, drug, what = plain(draft.value), _drug_of(reading), draft.what
    cut = re.compile(rf"{_UNCUT}{re.escape(written)}(?!\w|[.,]\d)")
    hits = ((each, [hit.span() for hit in cut.finditer(plain(each.text))]) for each in passages)
    passage, places_of = next(((each, found) for each, found in hits if found), (None, []))
    if passage is None:
        return "does not stand so in the sentence or row quoted for it" if passages else "quotes what no record says"
    if what == "comparator":
        if canonical_drug(draft.value) == drug or not re.search(r"[^\W\d_]{2}", draft.value):
            return "names the drug itself or nothing"
    elif not any(map(str.isdigit, draft.value)) and not any(map(spelled_number, written.split())):
        return "has no figure"
    if is_of_other_kind(what, written):
        return "is a figure of something else"
    if addressed_to_machines(passage.text) or tells_what_to_do(passage.text):
        return "quotes an order"
    named = drugs_named(passage.text, reading.drug, given.record)
    if what not in ("comparator", "participants") and named and drug not in named:
        return "is another drug's"
    text = plain(passage.text)
    mentions = find_drugs(text)
    if what == "dose" and mentions:
        if drug not in set[str]().union(*(drugs_dosed(text, start, end, mentions) for start, end in places_of)):
            return "is another drug's"
    elif is_bare(written):
        others = [each for each in mentions if each.name != drug]
        if all(is_of_other_arm(text, start, end, others) for start, end in places_of):
            return "is of another group"
    around = next((each.text for each in places(given.record) if each.title == passage.section), passage.text)
    at = plain(around).find(outcome := plain(draft.outcome))
    if at < 0:
        return "has an outcome that its quote does not name"
    return Value(
        what=what,
        written=_as_written(passage.text, *places_of[0]),
        outcome=_as_written(around, at, at + len(outcome)),
        quote=passage.text,
        section=passage.section,
    )


def _as_written(text: str, start: int, end: int) -> str:
    """Return the words of a text that stand at these places of it when normalised by `plain`."""
    if start == end:
        return ""
    first, last = (
        bisect_left(range(len(text)), at, key=lambda to: len(plain(text[: to + 1]))) for at in (start + 1, end)
    )
    return " ".join(visible(text[first : last + 1]).split())


def _drug_of(draft: ReadingDraft) -> str:
    return canonical_drug(draft.drug) or draft.drug.strip().casefold()


def _parts(quote: str, given: ToRead) -> list[str]:
    """Cut a quote where it leaves out what the prompt marked as not shown."""
    if section_of(given.record, quote, plain):
        return [quote]
    return [part for part in _GAP.split(quote) if part] or [quote]
