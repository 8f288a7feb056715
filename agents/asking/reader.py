"""Has a model read records in small concurrent batches, each once, and checks each quote in its record.

For each drug a model gives its role and result in the record with quoted sentences; the direction follows from the
table that all readers share. Quotes that are not in the record are returned once with the reason; if that fails, it is
noted, and the learned reader's reading counts. Otherwise the model's verdict counts, and its `match` tells whether
the record is on the condition.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from willowbark.agents.autogen import (
    CancellationToken,
    ChatCompletionClient,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import condition_of
from willowbark.tools.appraisal.candidates import has_background, wanted_drugs
from willowbark.tools.enclosure import GUIDANCE, enclose_lines
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug, find_conditions
from willowbark.tools.questions import Question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Passage, Reading
from willowbark.tools.reading.screening import readable
from willowbark.tools.registry import kind_of
from willowbark.tools.wording import counted, listed
from willowbark.tools.works.sections import TITLE, own_part

from . import PROMPTS_VERSION, add_usage, analyst_name, ask, ask_to_mend, prompt
from .batches import Gathered
from .claims import Claim, objection, plain, quoted_sentences, spans_of
from .drafts import ReadingDraft, ReadingsDraft

BATCH = 12  # most records of a prompt: limits the loss if an answer is cut; the instructions are sent once for all
AT_ONCE = 4  # concurrent prompts; providers limit rates
BATCH_CHARACTERS = 40_000  # of the records of one prompt on average
MAX_DRUGS = 10  # of one record asked about by name; a model may add others


@dataclass(frozen=True)
class ToRead:
    """A record to be read by a model, with the drugs to ask about."""

    record: Evidence
    """Record as returned by `readable`."""
    drugs: tuple[str, ...]
    """Generic names found in it by the lexicon; may be empty."""
    condition: str
    in_short: bool = False
    """Whether its results and conclusions are shown without the other sentences."""

    @cached_property
    def page(self) -> Document:
        """The record split into sentences as all readers do."""
        return Document.of(self.record)

    @property
    def fingerprint(self) -> str:
        """Hash of the text, so that none is read twice for a condition."""
        return hashlib.sha256(f"{self.condition}\n{plain(self.page.whole)}".encode()).hexdigest()[:32]

    @property
    def line(self) -> dict[str, Any]:
        """The record for a model: key, title, the abstract, drugs; an ellipsis for sentences that are not shown."""
        title = [each.quote for each in self.page.sentences if each.headed == "title"]
        text = [each for each in self.page.sentences if each.headed != "title"]
        telling = [each for each in text if not self.in_short or each.zone in "RC"] or text
        shown = [each.quote for each in telling[:1]]
        for before, each in pairwise(telling):
            shown.append(each.quote if each.order == before.order + 1 else f"… {each.quote}")
        told = {"key": self.record.key, "title": " ".join(title), "text": " ".join(shown)}
        return {**told, "drugs": list(self.drugs[:MAX_DRUGS])}


@dataclass
class Read:
    """Results of reading records."""

    readings: list[Reading] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    """Fingerprints of the records that were read."""
    refused: dict[str, list[str]] = field(default_factory=dict)
    """Rejected readings as `key (drug)`, by reason."""
    failures: Counter[str] = field(default_factory=Counter)
    """Number of records a model did not read, by reason."""
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    batched: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    """Part of `usage` at a batch's price."""
    batch_notes: list[str] = field(default_factory=list)

    def take(
        self, drafts: Sequence[ReadingDraft], batch: Sequence[ToRead], version: str
    ) -> list[tuple[ReadingDraft, str]]:
        """Add the valid readings of an answer; return the others with reasons."""
        by_key = {each.record.key: each for each in batch}
        refused = list[tuple[ReadingDraft, str]]()
        for draft in drafts:
            given = by_key.get(draft.evidence_key)
            reading = "names a record that was not shown" if given is None else checked(draft, given, version)
            if isinstance(reading, Reading) and self.holds(reading.key, reading.drug):
                twice = f"{draft.evidence_key[:60]} ({draft.drug})"
                self.refused.setdefault("a record is read twice for one drug", []).append(twice)
            elif isinstance(reading, Reading):
                self.readings.append(reading)
            else:
                refused.append((draft, reading))
        self.done |= {each.fingerprint for each in batch}
        return refused

    def holds(self, key: str, drug: str) -> bool:
        """Whether a record was read for a drug."""
        return any((each.key, each.drug) == (key, drug) for each in self.readings)

    @property
    def notes(self) -> list[str]:
        """Notes on the reading for the report, a line for each reason."""
        refused = (
            f"Of the model's readings {len(which)} were rejected and replaced by the trained reader's ({reason}): "
            f"{listed(which, most=5)}"
            for reason, which in self.refused.items()
        )
        return [
            *self.batch_notes,
            *(
                f"{counted(number, 'record')} not read by the model: {reason}"
                for reason, number in self.failures.items()
            ),
            *refused,
        ]


def to_read(pool: Iterable[Evidence], asked: Question, *, in_short: bool = False) -> list[ToRead]:
    """Select what may report on drugs in the condition: publications, and trials that stopped or posted results.

    The model decides whether one is on the condition, named as in the question.

    Args:
        pool: records found.
        asked: the question.
        in_short: whether their results and conclusions are shown without the other sentences.
    """
    known = condition_of(asked)
    condition = next((each.text for each in find_conditions(asked.text) if each.name == known), known)
    found = []
    for record in map(readable, pool):
        drugs = wanted_drugs(record, asked)
        trial, is_publication = record.trial, kind_of(record) == "publication"
        tells = record.has_abstract if is_publication else trial and (trial.results or trial.why_stopped)
        if (tells or (drugs and is_publication)) and has_background(record, asked):
            found.append(ToRead(record, tuple(drugs), condition, in_short and is_publication))
    return found


def prompts_for(records: int) -> int:
    """Return the number of prompts for these records: full waves of `AT_ONCE` if one wave is not enough.

    A half-empty wave takes as long as a full one, whose answers are shorter; all prompts share their beginning,
    which is cheap if the provider caches it.

    >>> [prompts_for(records) for records in (1, 30, 60)]
    [1, 3, 8]
    """
    number = -(-records // BATCH)
    return number if number <= AT_ONCE else -(-number // AT_ONCE) * AT_ONCE


async def read(
    client: ChatCompletionClient,
    question: str,
    records: Sequence[ToRead],
    marker: str,
    cancellation_token: CancellationToken,
    timeout_s: float | None = None,
    *,
    in_batch: bool = False,
) -> Read:
    """Have a model read records in concurrent batches.

    Args:
        client: the model.
        question: as it was asked.
        records: to be read, without duplicates.
        marker: marks the blocks of records.
        cancellation_token: stops the reading.
        timeout_s: seconds for all of them; unread records are counted. None for no limit.
        in_batch: whether to use the provider's batch API, however long that takes.
    """
    found, free = Read(), asyncio.Semaphore(AT_ONCE)
    size = sum(len(each.page.whole) for each in records)
    number = max(prompts_for(len(records)), min(len(records), -(-size // BATCH_CHARACTERS)))
    batches = [records[at::number] for at in range(number)]  # no batch has just a record or two

    gathered = Gathered(len(batches)) if in_batch else None

    async def read_batch(batch: Sequence[ToRead], gathered: Gathered | None = None) -> None:
        head = f"Question: {' '.join(question.split())}\nCondition: {batch[0].condition}\n"
        asked: list[LLMMessage] = [
            SystemMessage(content=f"{prompt('reader.md')}\n\n{GUIDANCE}"),
            UserMessage(content=head + enclose_lines([each.line for each in batch], marker), source="reader"),
        ]
        if gathered is None:
            async with free:
                answer = await ask([client], asked, ReadingsDraft, cancellation_token)
        else:
            with gathered.place() as place:
                answer = await ask([client], asked, ReadingsDraft, cancellation_token)
            add_usage(found.batched, place.usage)
        add_usage(found.usage, answer.usage)
        if answer.was_too_long and len(batch) > 1:
            await asyncio.gather(read_batch(batch[: len(batch) // 2]), read_batch(batch[len(batch) // 2 :]))
        elif answer.given is None:
            found.failures[answer.failures[-1]] += len(batch)
        else:
            version = f"{analyst_name(client)}, prompts {PROMPTS_VERSION}"
            refused = found.take(answer.given.readings, batch, version)
            if not refused:
                return
            further = ask_to_mend("readings", ((reason, draft) for draft, reason in refused), "reader")
            async with free:
                again = await ask([client], [*asked, further], ReadingsDraft, cancellation_token)
            add_usage(found.usage, again.usage)
            if again.given is not None:
                found.take(again.given.readings[: len(refused)], batch, version)
            for draft, reason in refused:
                if not found.holds(draft.evidence_key, canonical_drug(draft.drug) or draft.drug.strip().casefold()):
                    found.refused.setdefault(reason, []).append(f"{draft.evidence_key[:60]} ({draft.drug})")

    tasks = [asyncio.ensure_future(read_batch(batch, gathered)) for batch in batches]
    for task in tasks:
        cancellation_token.link_future(task)
    try:
        ended, late = await asyncio.wait(tasks, timeout=None if in_batch else timeout_s) if tasks else (set(), set())
    finally:
        for task in tasks:
            task.cancel()
    for task in ended:
        task.result()
    found.batch_notes = gathered.notes if gathered else []
    if late:
        unread = sum(each.fingerprint not in found.done for each in records) - found.failures.total()
        found.failures["its time was up"] += unread
    return found


def checked(draft: ReadingDraft, given: ToRead, version: str) -> Reading | str:
    """Check a model's reading and locate its quote; return the reading or why it is rejected.

    A verdict needs whole sentences of the record as its quote; an inconclusive reading may lack one. A comparator that
    the record does not name is left out.
    """
    drug = canonical_drug(draft.drug) or draft.drug.strip().casefold()
    whole = given.page.whole
    against = draft.against.strip()
    is_named = plain(against) in plain(whole) or canonical_drug(against) in {name for name, _, _ in given.page.drugs}
    if drug not in given.drugs and drug not in plain(whole) and all(drug != name for name, _, _ in given.page.drugs):
        return "names a drug that its record does not name"
    reading = Reading(
        key=given.record.key,
        drug=drug,
        condition=given.condition,
        role=draft.role,
        match=draft.match,
        kind=draft.kind,
        comparator=draft.comparator,
        against=(against if is_named else "") or None,
        effect=draft.effect,
        primary=draft.primary,
        indication=draft.indication,
        alone=draft.alone and draft.role != "combined",
        hedged=draft.hedged,
        non_inferior=draft.non_inferior,
        reader="model",
        version=version,
    )
    verdict = reading.verdict
    if verdict == "none":
        return reading
    claim = Claim(
        evidence_key=reading.key,
        quote=draft.quote,
        drug=drug,
        topic="clinical",
        text=draft.quote or "-",
        stance=verdict,
    )
    problem = objection(claim, given.record, Direction.inconclusive)
    passages = _passages(draft.quote, given) if problem is None else ()
    if verdict != "neutral" and not passages:
        return problem or "quotes across a gap"
    return reading.model_copy(update={"passages": passages})


def _passages(quote: str, given: ToRead) -> tuple[Passage, ...]:
    """Locate a quote as whole sentences of title or text; empty if it runs from one into the other."""
    page, spans = given.page, spans_of(given.page)
    found = quoted_sentences(plain(quote), [page.whole[start:end] for start, end, _ in spans])
    if found is None:
        return ()
    chosen = spans[found]
    if len({each.headed == "title" for _, _, each in chosen}) > 1:
        return ()
    start, end = chosen[0][0], chosen[-1][1]
    section = TITLE if chosen[0][2].headed == "title" else own_part(given.record)
    return (Passage(text=page.whole[start:end], section=section, start=start, end=end),)
