"""Has a language model read the records of a screening, in place of the trained reader, which stays the second reader.

Each record on a condition is read once, with all drugs that it names, through the provider's batch interface or by
single calls. What was read stays in a table; what failed is asked again by the next call.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from willowbark.agents.asking import PROMPTS_VERSION
from willowbark.agents.asking.batches import AT_ONCE
from willowbark.agents.asking.reader import BATCH, ToRead, prepare_reading, read
from willowbark.agents.autogen import CancellationToken
from willowbark.tools.appraisal.appraised import DocumentReader, Readings
from willowbark.tools.appraisal.views import MatchedStudy, make_readings, match_by_words
from willowbark.tools.errors import UsageError
from willowbark.tools.questions import Question
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.study import Study

from ..budget import BATCH_SHARE, Budget, Prices, find_price
from ..config import Settings
from ..ledger.model_calls import JournaledClient
from ..model_clients import WITH_BATCHES, close, find_context_limit, model_client, preflight
from .engines import ReaderRow, Results, TrainedReader
from .tables import TableFolder

_MOST_BATCHES = 100  # that a provider works on at a time, each with the records on one condition
_MOST_IN_BATCH = 10_000  # records
_MOST_FAILED = 5  # units in a row


class ModelReader(TrainedReader):
    """Reads with the model of `[llm]`: rows of `hash`, `record` and `question`, all of one condition.

    `sent` is the table of the batches that prompts were sent in, so that the next call waits for them.

    Attributes:
        name: of the model, in the settings.
        in_batch: whether it reads through the provider's batch interface.
        tokens: of prompts and answers, of this and earlier calls.
        cost_usd: of them; None if the model's price is unknown.

    Raises:
        UsageError: the model has no batch interface, or the table cannot be read.
    """

    cpus = 0.25  # of a core: a worker mostly waits for the model's server

    def __init__(self, settings: Settings, sent: TableFolder) -> None:
        self.settings = settings
        self.name = settings.llm.model
        self.in_batch = settings.llm.batch
        if self.in_batch and not self.name.startswith(WITH_BATCHES):
            raise UsageError(f"--batch: {self.name} has no batch interface, openai/… and anthropic/… have")
        self.unit = _MOST_IN_BATCH if self.in_batch else BATCH * AT_ONCE
        self.at_once = _MOST_BATCHES if self.in_batch else 1
        self.tokens = 0.0
        self.cost_usd = 0.0 if find_price(self.name, settings.llm.prices) else None
        self._sent = sent
        self._failed = 0
        self.batches = {row["prompt"]: row["batch"] for row in sent.rows()}

    async def check(self) -> None:
        """Ask the model for one word, and whether its server enforces a schema; UsageError if it cannot be asked."""
        client = model_client(self.name, self.settings)
        try:
            if await preflight(client, self.name, probes=self.settings.llm.structured_output is None):
                self.settings = self.settings.overridden({"llm.structured_output": True})
        finally:
            await close(client)

    def list_due(self, records: Sequence[Evidence], question: Question) -> Iterator[ReaderRow]:
        """Yield all that the model reads of a condition's records."""
        for each in prepare_reading(records, question, in_short=self.settings.llm.economy):
            yield {"hash": self._hash(each), "record": each, "question": question.text}

    async def work(self, rows: Sequence[ReaderRow]) -> Results:
        """Return rows of `hash` and `reading`, the latter the JSON of a record's study or null, with what they cost."""
        client = model_client(self.name, self.settings)
        llm = self.settings.llm
        stop = CancellationToken()
        context = find_context_limit(self.name, llm)
        records = [row["record"] for row in rows]
        question = rows[0]["question"]
        asked = JournaledClient(client, self.budget, None, self.name, context_tokens=context, batches=self)
        try:
            found = await read(asked, question, records, new_marker(), stop, in_batch=self.in_batch)
        finally:
            await close(client)
        by_key = {read.study.key: read.model_dump_json() for read in found.studies}
        done = [row for row in rows if row["record"].fingerprint in found.done]
        prices = Prices(find_price(self.name, llm.prices))
        number = max(1, len(done))
        tokens = found.usage.prompt_tokens + found.usage.completion_tokens
        saved = BATCH_SHARE * (prices.cost_usd(found.batched) or 0.0)
        cost = prices.cost_usd(found.usage)
        share: ReaderRow = {"tokens": tokens / number, "model": self.name}
        share["cost_usd"] = None if cost is None else (cost - saved) / number
        told = [{"hash": row["hash"], "reading": by_key.get(row["record"].record.key, "null"), **share} for row in done]
        return told, found.notes

    def note(self, rows: Sequence[ReaderRow], unread: Sequence[str] = ()) -> None:
        """Count what this model read, the table may hold what others did; UsageError after units without an answer."""
        mine = [row for row in rows if (row.get("model") or self.name) == self.name]
        self.tokens += sum(row["tokens"] for row in mine)
        if self.cost_usd is not None:
            self.cost_usd += sum(row["cost_usd"] or 0.0 for row in mine)
        self._failed = self._failed + 1 if unread and not rows else 0
        if self._failed >= _MOST_FAILED:
            raise UsageError(f"{self.name}: {unread[-1]}; the same command goes on from there")

    def check_budget(self) -> None:
        """Raise UsageError if what the settings allow is used up."""
        most_usd = self.settings.research.limits.max_cost_usd
        if self.tokens >= (self._most_tokens or math.inf) or (self.cost_usd or 0) >= (most_usd or math.inf):
            raise UsageError(f"the budget is used up: {self.account}; with more the same command goes on from there")

    @property
    def budget(self) -> Budget:
        """What may still be used, so that a unit ends where the limits do; a batch is sent as a whole."""
        limits = self.settings.research.limits
        prices = Prices(find_price(self.name, self.settings.llm.prices))
        tokens = None if self._most_tokens is None else max(1, self._most_tokens - int(self.tokens))
        money = None if limits.max_cost_usd is None else max(1e-9, limits.max_cost_usd - (self.cost_usd or 0.0))
        return Budget(prices, max_tokens=tokens, max_cost_usd=money)

    @property
    def _most_tokens(self) -> int | None:
        """The limit of tokens that was set; the default is one run's, and a screening reads for many conditions."""
        limits = self.settings.research.limits
        return limits.max_tokens if "max_tokens" in limits.model_fields_set else None

    @property
    def account(self) -> str:
        """What was used, in words."""
        money = "at a price that is not known" if self.cost_usd is None else f"${self.cost_usd:.2f}"
        return f"{self.name}, {self.tokens:,.0f} tokens, {money}"

    def readings(
        self, records: Sequence[Evidence], question: Question, kept: Mapping[str, str], reader: DocumentReader
    ) -> Readings:
        """Return the model's readings of a condition's records before those of a reader."""
        found = Readings(reader)
        for given in prepare_reading(records, question, in_short=self.settings.llm.economy):
            row = json.loads(kept.get(self._hash(given), "null"))
            if row is not None:
                former = MatchedStudy.model_validate(row)
                read = match_by_words(former.study, question, given.condition)
                found.take(make_readings(read, given.page.whole), [read])
        return found

    def find_batch(self, request: str) -> str | None:
        """Return the batch in which a prompt was sent; None if there was none."""
        return self.batches.get(request)

    def keep_batch(self, request: str, batch: str) -> None:
        """Note the batch in which a prompt was sent."""
        self.batches[request] = batch
        rows = [{"prompt": each, "batch": batch} for each, known in self.batches.items() if known == batch]
        self._sent.write(batch, rows)

    def _hash(self, given: ToRead) -> str:
        about = given.fingerprint, self.name, PROMPTS_VERSION, given.in_short, *Study.model_fields
        return sha256(" ".join(map(str, about)).encode()).hexdigest()[:32]
