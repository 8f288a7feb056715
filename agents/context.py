"""Context of a run, passed to its agents before the first turn: transport, budgets, and what is looked up once."""

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain
from typing import Any, Literal, Protocol, runtime_checkable

from willowbark.agents.autogen import ChatCompletionClient
from willowbark.tools.appraisal.appraised import Readings, list_conditions
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates, list_wanted_drugs, read_ahead
from willowbark.tools.appraisal.corrected import add_records
from willowbark.tools.appraisal.deciding import find_deciding
from willowbark.tools.contracts.run_contract import find_changes
from willowbark.tools.errors import ReadingStopped
from willowbark.tools.http.transport import Transport
from willowbark.tools.questions import Question
from willowbark.tools.reading.corrections import CorrectionBook
from willowbark.tools.reading.sections import DecidingReason
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.search import SourceReply, rank
from willowbark.tools.toolbox import ToolGate, look_up_ahead
from willowbark.tools.works.fulltext import FULL_TEXT_LIMIT, mark_whole, may_be_open, read_full_texts
from willowbark.tools.works.identity import fetch_published, link, resolve, settle
from willowbark.tools.works.trust import check_trust

from .approval import Approval
from .findings import EvidenceDigest, Findings, make_digest_of_replies
from .report.content import ModelCalls, TurnUsage

READERS = max(1, min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))
"""Records read side by side, each on one core."""
MOST_TEXTS = 6  # full texts of a run that a model reads with the abstracts; those that somebody asks for come on top
TEXTS_PER_CANDIDATE = 2  # full texts of its strongest open records; every candidate's first before any second
Exhausted = Literal["token_budget_exceeded", "timeout"]
"""The budget that is used up except for the reserve."""
Checked = tuple[list[Evidence], list[Candidate]]


@dataclass(eq=False)
class RunContext:
    """A run's state shared by its agents; an agent without a team has an empty one."""

    transport: Transport | None = None
    """Transport to the sources; with None each tool uses its own, and nothing is looked up."""
    _: KW_ONLY
    exhausted: Callable[[int], Exhausted | None] = lambda _: None
    """Returns for a round the budget that is used up except for the reserve; None if none is."""
    account: Callable[[Sequence[TurnUsage]], Sequence[TurnUsage]] | None = None
    """Computes the report's account of tokens and cost from each turn's usage; None for no account."""
    calls: Callable[[], ModelCalls] = ModelCalls
    decided: Approval | None = None
    """Decision made before the run was resumed, which the approver repeats; None asks."""
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    """Context for waiting for a person, which excludes the time from the budget."""
    readings: Readings = field(default_factory=Readings)
    stopped: str | None = None
    """Why the run ended early, for the report; None if the judge gives the reason."""
    looks_ahead: bool = False
    """Whether databases are asked about drugs before a tool asks them; not where hooks may refuse the tool's calls."""
    reads_in_batches: bool = False
    """Whether publications are read through the provider's batch API."""
    reads_in_short: bool = False
    """Whether a model is shown only the results and conclusions of abstracts."""
    gate: Callable[[str, int, Sequence[str]], ToolGate] | None = None
    """Returns for an agent, a round and its tools' names what stands before their calls; None lets all pass."""
    marker: str = field(default_factory=new_marker)
    in_hand: dict[str, Findings] = field(default_factory=dict)
    """Findings of unfinished turns by specialist, counted in the report of a stopped run."""
    asked_model: str = ""
    """Name of the language model that was asked for, where another one writes the report in its place."""
    reader: ChatCompletionClient | None = None
    """The model that reads; None if no specialist has joined."""
    asked: Question | None = None
    tools: set[str] = field(default_factory=set)
    """Names of the tools of all specialists that have joined."""

    def __post_init__(self) -> None:
        self._so_far: list[Evidence] = []
        """Records found by specialists, in finished and unfinished turns."""
        self._ahead: list[asyncio.Future[Any]] = []
        self._texts = set[str]()
        """Keys of the publications whose full texts were asked for before a model read them."""
        self._merging = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._over = threading.Event()
        self._checked: tuple[tuple[object, ...], Checked] | None = None

    def read_ahead(self, records: Sequence[Evidence]) -> None:
        """Start reading records while waiting for other replies; saves the judge time, with the same result."""
        if self.asked and records:
            self._ahead.append(asyncio.ensure_future(self._read(self.asked, records)))

    def look_up_ahead(self, leading: Sequence[str], further: Sequence[str]) -> None:
        """Start looking up candidates while the next round searches: drug databases take three replies in a row.

        Called by the judge alone, so that a run and its replay ask the same.

        Args:
            leading: drugs with a verdict, best first.
            further: other candidates, which the next round may decide.
        """
        if not self.looks_ahead or self.transport is None or self.transport.endpoints.library is not None:
            return
        asking = look_up_ahead(self.tools, leading, further, self.transport)
        self._ahead.append(asyncio.ensure_future(asking))

    async def add_full_texts(self, question: Question, replies: Sequence[SourceReply]) -> list[SourceReply]:
        """Add full texts to the open publications of a turn that decide most, before a model reads them.

        Of those that decide, pivotal trials and trials that disagree, a model is shown the whole results and tables;
        places that are left go to the publications that fit the question best, with excerpts. Of a run at most
        `MOST_TEXTS`; a text that does not come is noted on its record.
        """
        publications = merge(chain.from_iterable(reply.records for reply in replies))
        eligible = [record for record in publications if may_be_open(record) and list_wanted_drugs(record, question)]
        if self.transport is None or not eligible or len(self._texts) >= MOST_TEXTS:
            return list(replies)
        reasons = await self._find_deciding(question, publications)
        best = {record.key: record for record in rank(question.text, eligible) if record.key not in self._texts}
        order = [key for key in dict.fromkeys((*reasons, *best)) if key in best]
        chosen = [best[key] for key in order[: MOST_TEXTS - len(self._texts)]]
        self._texts.update(record.key for record in chosen)
        extended = await read_full_texts(chosen, self.transport)
        by_key = {record.key: mark_whole(record, reasons.get(record.key, "")) for record in extended}

        def extend(record: Evidence) -> Evidence:
            paper = by_key[record.key].paper if record.key in by_key else None
            if paper is None:
                return record
            return record.noting(full_text=paper.full_text, full_text_unread=paper.full_text_unread)

        return [reply.model_copy(update={"records": [*map(extend, reply.records)]}) for reply in replies]

    async def _find_deciding(
        self, question: Question, publications: Sequence[Evidence]
    ) -> Mapping[str, DecidingReason]:
        """Find what decides by the trained reader, which has read what came so far, and by what a model read before."""
        if self.reads_in_short:
            return {}
        await self._read(question, publications)
        try:
            candidates = await self._appraise(question, merge([*self._so_far, *publications]))
        except ReadingStopped:
            raise asyncio.CancelledError from None  # a stopped agent has not failed
        return find_deciding(candidates)

    async def find_changes(self) -> list[str]:
        """Return what was not understood of the sources' replies, by the fields' names, a line for each source."""
        if self.transport is None:
            return []
        is_public = self.transport.endpoints.is_public
        return await asyncio.to_thread(find_changes, self.transport.sample, is_public=is_public)

    async def _read(self, question: Question, records: Sequence[Evidence]) -> None:
        async with self._reading:  # one reply at a time, its records side by side
            parts = [records[place::READERS] for place in range(READERS)]
            reads = [asyncio.to_thread(read_ahead, question, part, self.readings, self._over.is_set) for part in parts]
            await asyncio.gather(*reads)

    async def digest_turn(self, question: Question, findings: Findings) -> EvidenceDigest:
        """Digest the studies of a turn's findings; a model's readings take precedence."""
        replies = findings.replies
        absent = [record.key for record in findings.unread if record.is_absent]
        self.readings.take(findings.readings, findings.studies, absent)
        records = list(chain.from_iterable(reply.records for reply in replies))
        async with self._merging:  # or another specialist's records would be lost meanwhile
            self._so_far = await asyncio.to_thread(merge, [*self._so_far, *records])
        self.readings.begin(self._so_far)
        await self._read(question, records)
        try:
            return await asyncio.to_thread(make_digest_of_replies, question, replies, self.readings)
        except ReadingStopped:
            raise asyncio.CancelledError from None  # a stopped agent has not failed

    async def leave(self) -> None:
        """Cancel pending look-ups and reading: the run is over or was stopped."""
        self._over.set()
        for task in self._ahead:
            task.cancel()
        await asyncio.gather(*self._ahead, return_exceptions=True)
        self._ahead.clear()
        self._over = threading.Event()

    async def check(self, question: Question, pool: Sequence[Evidence]) -> Checked:
        """Check a pool and appraise its candidates: versions, links, retractions, full texts.

        Looked up once through the run's transport, so that approver and report agent see the same pool and a replayed
        run is answered from its journal. A failed look-up is noted on its record and raises nothing.

        Returns:
            The pool with versions merged and linked and, for records that support a verdict, retraction status, full
            texts of the best open ones and published versions of preprints; and the candidates, best supported first.
        """
        pool = add_records(pool, self.readings.corrections, list_conditions(question))
        key = (question, *(record.key for record in pool))
        if self._checked is None or self._checked[0] != key:
            checked_pool = link(settle(pool))
            if self.transport is not None:
                checked_pool = await self._look_up(question, checked_pool, self.transport)
            self._checked = key, (checked_pool, await self._appraise(question, checked_pool))
        return self._checked[1]

    async def check_again(self, question: Question, pool: Sequence[Evidence], corrections: CorrectionBook) -> Checked:
        """Appraise a pool as it was checked by what people say since; nothing more is looked up."""
        checked_pool, _ = await self.check(question, pool)
        self.readings.correct(corrections)
        checked_pool = link(settle(add_records(checked_pool, corrections, list_conditions(question))))
        return checked_pool, await self._appraise(question, checked_pool)

    async def _appraise(self, question: Question, pool: Sequence[Evidence]) -> list[Candidate]:
        leaves_unread = self.stopped is not None
        self.readings.begin(pool)
        return await asyncio.to_thread(appraise_candidates, question, pool, self.readings, leaves_unread=leaves_unread)

    async def _look_up(self, question: Question, pool: Sequence[Evidence], transport: Transport) -> list[Evidence]:
        """Look up the records that candidates rest on, and add what was found to the pool.

        Retraction of those with verdicts and of retracted ones, to name the source; full texts of each candidate's
        strongest open records, in turn; published versions of preprints, which join the pool.
        """
        candidates = await self._appraise(question, pool)
        keys: set[str] = set()
        for candidate in candidates:
            for appraised in candidate.records:
                if candidate.has_verdict or appraised.item.retracted:
                    keys.add(appraised.key)
        cited = sorted((record for record in pool if record.key in keys), key=lambda record: record.key)
        is_open = {record.key: record for record in pool if may_be_open(record)}
        best = []
        for candidate in candidates:
            best.append([r.key for r in candidate.records if r.key in is_open][:TEXTS_PER_CANDIDATE])
        in_turns: list[str] = []
        for turn in range(TEXTS_PER_CANDIDATE):
            in_turns += [keys_of_one[turn] for keys_of_one in best if turn < len(keys_of_one)]
        open_ones = [is_open[key] for key in dict.fromkeys(in_turns)][: FULL_TEXT_LIMIT - len(self._texts)]
        checked, with_texts, preprints = await asyncio.gather(
            check_trust(cited, transport),
            read_full_texts(open_ones, transport),
            resolve([record for record in cited if record.is_preprint], transport),
        )

        before = {record.key: record.metadata for record in pool}
        changed: dict[str, dict[str, Any]] = {}
        for record in (*checked, *with_texts, *preprints):
            old = before[record.key]
            new = {name: value for name, value in record.metadata.items() if name not in old or old[name] != value}
            changed.setdefault(record.key, {}).update(new)
        extended = [record.noting(**changed[record.key]) if changed.get(record.key) else record for record in pool]
        articles = await fetch_published(preprints, extended, transport)
        if articles:
            extended = sorted(
                [*extended, *await check_trust(articles, transport)], key=lambda record: -record.relevance
            )
        return link(settle(extended))


@runtime_checkable
class Joins(Protocol):
    """An agent that takes part in runs."""

    def join(self, run: RunContext) -> None:
        """Join a run."""
