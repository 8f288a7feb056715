"""One draft of a report: asked for, verified claim by claim, mended once, its wording asked about once more."""

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, LLMMessage, RequestUsage, SystemMessage, UserMessage
from pydantic import BaseModel, Field

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.enclosure import GUIDANCE, enclose_lines, new_marker
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug, find_drugs
from willowbark.tools.reading.text import sentences
from willowbark.tools.registry import kind_of
from willowbark.tools.works.excerpts import excerpted
from willowbark.tools.works.sections import places

from ..approval import Approval
from ..asking import Aids, ModelFailure, add_usage, ask, prompt, reads_requests
from ..asking.claims import Claim, DroppedClaim, Verdicts, heard_from, plain, quoted, verify, wording_objection
from ..asking.drafts import BorneOut, ClaimDraft, ReportDraft
from ..asking.grounding import prose
from ..assessment import SHOWN_CANDIDATES, SHOWN_LINE, SHOWN_READINGS, shown_records

PART = 11  # readings of a draft on several candidates
MAX_DRAFTED = 12  # candidates that a model writes on; the report shows no more
AT_ONCE = 4  # drafts side by side; providers refuse floods
SHOWN_ENTRY = 400  # characters of a drug database's entry
SHOWN_RESULTS = 500  # characters of a full text's results
_log = logging.getLogger(EVENT_LOGGER_NAME)


class DraftRequest(BaseModel, frozen=True, extra="forbid"):
    """What a report agent asks a model: data, and the words in which a language model gets them."""

    question: str
    candidates: list[Candidate]
    """What is to be written on, best supported first."""
    appraised: list[str] = []
    """Lines on all candidates of the report, best first, where it is drafted in parts; else empty."""
    set_aside: list[str]
    """Drugs on which, by decision, no claim is to be made."""
    pool: int
    """Records found."""
    records: list[Evidence]
    """Those of the pool that may be quoted; best first, with excerpts of their full texts."""
    marker: str = Field(default_factory=new_marker, exclude=True)
    """Of the block of readings."""

    @property
    def text(self) -> str:
        """The request in words: readings with the sentences they rest on, and no abstract.

        What drafts side by side have in common stands first, so that a provider need not read it again.
        """
        lines = self.appraised or [candidate.line for candidate in self.candidates]
        appraised = [f"- {line[:SHOWN_LINE]}" for line in lines[:SHOWN_CANDIDATES]]
        aside = f"Set aside by decision, make no claim on: {', '.join(self.set_aside)}"
        return "\n".join(
            [
                f"Question: {self.question}",
                "Appraisal by rule (drug: records for and against, certainty):",
                *(appraised or ["- no drug with evidence on the condition"]),
                *([aside] if self.set_aside else []),
                f"Write on: {', '.join(candidate.drug for candidate in self.candidates[:SHOWN_CANDIDATES])}.",
                "What was read of it, and what databases say:",
                enclose_lines(list(self._lines()), self.marker, head={"pool": self.pool}),
            ]
        )

    def _lines(self) -> Iterator[dict[str, Any]]:
        by_key = {record.key: record for record in self.records}
        for candidate in self.candidates[:SHOWN_CANDIDATES]:
            told = [each for each in candidate.records if each.sentence and each.key in by_key]
            for each in told[:SHOWN_READINGS]:
                yield {
                    "key": each.key,
                    "drug": candidate.drug,
                    "says": str(each.item.direction),
                    "design": str(each.item.design),
                    **({"n": each.item.sample_size} if each.item.sample_size is not None else {}),
                    "passage": each.sentence,
                    **({"full_text": more} if (more := _results(by_key[each.key])) else {}),
                }
            for key in candidate.drug_records:
                if key in by_key:
                    yield {"key": key, "drug": candidate.drug, "content": by_key[key].content[:SHOWN_ENTRY]}


def _results(record: Evidence) -> str:
    """The first sentences of a full text's results, whole, as many as there is room for."""
    shown = ""
    for sentence in (each for place in places(record, "results") for each in sentences(place.text)):
        if len(shown) + len(sentence) < SHOWN_RESULTS:
            shown = f"{shown} {sentence}".strip()
    return shown


@dataclass(eq=False)
class _Part:
    """What became of the draft on one candidate, or on all at once."""

    request: DraftRequest
    draft: ReportDraft
    verdicts: Verdicts
    repaired: int = 0
    failure: str | None = None
    """Why nothing of it stands; None where it does."""
    may_be_shorter: bool = False
    """Whether prompt or answer was too long for the model."""


class Writing:
    """One draft: asked for by candidates, verified, mended once.

    Args:
        name: of the agent that writes.
        system_message: its prompt.
        question: as asked.
        pool: the records that claims may quote.
        candidates: what the report deals with.
        approval: names the drugs on which nothing is written.

    Attributes:
        draft: what the model wrote, but for its summaries.
        summaries: these, one of each part.
        verdicts: which of its claims stand.
        borne_out: sentences of findings, summaries and paragraphs that say what the quote of a claim says, with it.
        failure: why the draft is not by the first client; None where some of it is, or none was asked.
        repaired: claims that stand since they were mended.
        notes: what went wrong, for the report's limitations.
        usage: tokens of all attempts.
        aids: tools that a language model may use before it writes; None offers none.
    """

    def __init__(
        self,
        name: str,
        system_message: str,
        question: str,
        pool: list[Evidence],
        candidates: list[Candidate],
        approval: Approval,
    ) -> None:
        self._name = name
        self._system_message = f"{system_message}\n\n{GUIDANCE}"
        self._approval = approval
        self._pool = pool
        self._heard = heard_from(candidates)
        self._request = DraftRequest(
            question=" ".join(question.split()),
            candidates=candidates,
            set_aside=[one.name for one in approval.set_aside],
            pool=len(pool),
            records=[excerpted(record) for record in shown_records(pool, candidates)],
        )
        self._free = asyncio.Semaphore(AT_ONCE)
        self.draft = ReportDraft(claims=[], candidates=[])
        self.summaries: list[str] = []
        self.verdicts = Verdicts()
        self.borne_out: dict[str, Claim] = {}
        self.failure: str | None = None
        self.repaired = 0
        self.notes: list[str] = []
        self.usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self.aids: Aids | None = None

    async def run(self, clients: Sequence[ChatCompletionClient], token: CancellationToken) -> None:
        """Ask one client after another until there is a draft on each candidate."""
        left, passed, parts = self._apart(), list[DraftRequest](), list[_Part]()
        for client in clients:
            if parts and not (left or passed):
                break
            requests = [self._request] if reads_requests(client) and not self._wrote(parts) else [*left, *passed]
            made = await self._drug_by_drug(client, await self._all(client, requests, token), token)
            failed = [part for part in made if part.failure is not None]
            lost = [part for part in failed if not any(part.request is each for each in passed)]
            self._note(lost, len(made))
            if client is clients[0] and failed and len(failed) == len(made):
                self.failure = failed[0].failure
            parts += made
            left = [part.request for part in lost]
            passed = [] if reads_requests(client) else self._passed_over(made)
        self._unite(parts)

    def _apart(self) -> list[DraftRequest]:
        """Requests on all candidates that have a verdict, to be drafted side by side.

        Those with few readings share one: what all requests have in common is paid for with each.
        """
        groups, room = list[list[Candidate]](), 0
        for candidate in [each for each in self._request.candidates if each.has_verdict][:MAX_DRAFTED]:
            size = min(SHOWN_READINGS, sum(bool(each.sentence) for each in candidate.records))
            if size > room:
                groups.append([])
                room = PART
            groups[-1].append(candidate)
            room -= size
        return [self._about(group) for group in groups]

    def _about(self, group: list[Candidate]) -> DraftRequest:
        own = {key for each in group for key in (*(r.key for r in each.records), *each.drug_records)}
        records = [each for each in self._request.records if each.key in own or kind_of(each) == "disease"]
        lines = [each.line for each in self._request.candidates]
        return self._request.model_copy(update={"candidates": group, "records": records, "appraised": lines})

    def _passed_over(self, parts: Sequence[_Part]) -> list[DraftRequest]:
        """A request for each candidate on which no claim stands in a draft that else does."""
        told = {claim.drug for part in parts for claim in part.verdicts.kept}
        drafted = [each for part in parts if part.failure is None for each in part.request.candidates]
        return [self._about([each]) for each in drafted if told and each.has_verdict and each.drug not in told]

    def _wrote(self, parts: Sequence[_Part]) -> bool:
        return any(part.failure is None for part in parts)

    def _note(self, failed: Sequence[_Part], asked: int) -> None:
        """Say why drafts failed, once for each reason, and on which drugs where others did not."""
        for reason in dict.fromkeys(part.failure for part in failed):
            alike = [part for part in failed if part.failure == reason]
            drugs = [candidate.drug for part in alike for candidate in part.request.candidates]
            on = "" if len(alike) == asked else f", on {', '.join(drugs)}"
            _log.warning("%s: %s%s", self._name, reason, on)
            self.notes.append(f"{self._name}: {reason}{on}")

    def _unite(self, parts: Sequence[_Part]) -> None:
        good = [part for part in parts if part.failure is None]
        self.draft = ReportDraft(
            claims=[claim for part in good for claim in part.draft.claims],
            candidates=[each for part in good for each in part.draft.candidates],
        )
        self.summaries = [part.draft.summary for part in good if part.draft.summary.strip()]
        self.repaired = sum(part.repaired for part in good)
        for part in parts:
            self.verdicts.dropped += part.verdicts.dropped
        for part in good:
            self.verdicts.kept += [claim for claim in part.verdicts.kept if claim not in self.verdicts.kept]
            self.verdicts.unworded += part.verdicts.unworded
            self.verdicts.turned += part.verdicts.turned

    async def _all(
        self, client: ChatCompletionClient, requests: Sequence[DraftRequest], cancellation_token: CancellationToken
    ) -> list[_Part]:
        """All of them side by side."""
        asked = await asyncio.gather(*(self._parts(client, each, cancellation_token) for each in requests))
        return [part for parts in asked for part in parts]

    async def _drug_by_drug(
        self, client: ChatCompletionClient, made: Sequence[_Part], cancellation_token: CancellationToken
    ) -> list[_Part]:
        """The same; where a draft on several drugs failed and others did not, with one on each, so that one is lost."""
        again = [part for part in made if part.failure and len(part.request.candidates) > 1 and self._wrote(made)]
        alone = [self._about([each]) for part in again for each in part.request.candidates]
        return [part for part in made if part not in again] + await self._all(client, alone, cancellation_token)

    async def _parts(
        self, client: ChatCompletionClient, request: DraftRequest, cancellation_token: CancellationToken
    ) -> list[_Part]:
        """One draft, or two on half the candidates each where it was too long for the model."""
        part = await self._part(client, request, cancellation_token)
        half = len(request.candidates) // 2
        if not (part.may_be_shorter and half):
            return [part]
        groups = request.candidates[:half], request.candidates[half:]
        return await self._all(client, [self._about(group) for group in groups], cancellation_token)

    async def _part(
        self, client: ChatCompletionClient, request: DraftRequest, cancellation_token: CancellationToken
    ) -> _Part:
        """One draft, verified and mended once."""
        part = _Part(request, ReportDraft(claims=[], candidates=[]), Verdicts())
        messages: list[LLMMessage] = [
            SystemMessage(content=self._system_message),
            UserMessage(content=request.text, source=self._name),
        ]
        try:
            async with self._free:
                part.draft = await self._ask(client, messages, request, cancellation_token, is_first=True)
        except ModelFailure as failure:
            add_usage(self.usage, failure.usage)
            part.failure, part.may_be_shorter = str(failure), failure.may_be_shorter
            return part
        part.verdicts = verify(part.draft.claims, self._pool, self._heard)
        if part.verdicts.dropped:
            await self._repair(part, client, messages, cancellation_token)
        if part.verdicts.dropped and not part.verdicts.kept:
            part.failure = "none of the claims that the model gave stood"
        return part

    async def _ask(
        self,
        client: ChatCompletionClient,
        messages: list[LLMMessage],
        request: DraftRequest,
        cancellation_token: CancellationToken,
        *,
        is_first: bool = False,
    ) -> ReportDraft:
        decided = [candidate.drug for candidate in request.candidates if candidate.has_verdict]

        def silence(draft: ReportDraft) -> str | None:
            """What is wrong with a draft that claims nothing though records were read for or against a drug."""
            if draft.claims or not decided or not is_first:
                return None
            return f"claims: empty, though records speak for or against {', '.join(decided[:5])}"

        draft, usage = await ask(
            client,
            messages,
            ReportDraft,
            cancellation_token,
            request=request,
            objection=silence,
            aids=self.aids,
            divisible=is_first and len(request.candidates) > 1,
        )
        add_usage(self.usage, usage)
        wanted = (claim for claim in draft.claims if not self._held_back(claim))
        worded = [claim if claim.text.strip() else claim.model_copy(update={"text": claim.quote}) for claim in wanted]
        return draft.model_copy(update={"claims": worded})

    def _held_back(self, claim: ClaimDraft) -> bool:
        return self._approval.holds_back(canonical_drug(claim.drug) or claim.drug)

    async def _repair(
        self, part: _Part, client: ChatCompletionClient, messages: list[LLMMessage], token: CancellationToken
    ) -> None:
        """Have the dropped claims mended once, with the reasons; what still fails stays dropped."""
        dropped = part.verdicts.dropped
        lines = [f"- {each.reason}: {each.claim.model_dump_json()}" for each in dropped]
        asked = "These claims don't stand. Mend them from their records or leave them out; give only these:"
        further = UserMessage(content="\n".join([asked, *lines]), source=self._name)
        try:
            mended = await self._ask(client, [*messages, further], part.request, token)
        except ModelFailure as failure:
            self.notes.append(f"{self._name}: {failure}")
            add_usage(self.usage, failure.usage)
            return
        again = verify(mended.claims[: len(lines)], self._pool, self._heard)
        new = [claim for claim in again.kept if claim not in part.verdicts.kept]
        part.repaired = len(new)
        part.verdicts = Verdicts(
            kept=[*part.verdicts.kept, *new],
            dropped=dropped[: max(0, len(lines) - len(new))],
            unworded=[*part.verdicts.unworded, *again.unworded],
            turned=[*part.verdicts.turned, *again.turned],
        )

    async def look_again(
        self, client: ChatCompletionClient, findings: Sequence[str], cancellation_token: CancellationToken
    ) -> None:
        """Show a language model each quote alone with what was made of it: what it doesn't find there is left out.

        Args:
            client: the one that wrote; nothing is asked of one that gets data instead of words.
            findings: the judge's, in its own words.
            cancellation_token: ends it.
        """
        if self.failure or reads_requests(client):
            return
        worded = [claim for claim in self.verdicts.kept if claim.text != quoted(claim).text]
        told = list(self._told(findings))
        copied = [claim for claim in told if plain(claim.text).rstrip(".") == plain(claim.quote).rstrip(".")]
        pairs = dict.fromkeys((claim.quote, claim.text) for claim in (*worded, *told) if claim not in copied)
        found = await self._borne_out(client, list(pairs), cancellation_token) if pairs else set()
        self.borne_out = {c.text: c for c in told if c in copied or (c.quote, c.text) in found}
        bare = [claim for claim in worded if (claim.quote, claim.text) not in found]
        reason = "was not found in its quote by the model that was shown the quote alone"
        self.verdicts.unworded += [DroppedClaim(claim=claim, reason=reason) for claim in bare]
        kept = [quoted(claim) if claim in bare else claim for claim in self.verdicts.kept]
        self.verdicts.kept = [claim for order, claim in enumerate(kept) if claim not in kept[:order]]

    async def _borne_out(
        self, client: ChatCompletionClient, pairs: Sequence[tuple[str, str]], cancellation_token: CancellationToken
    ) -> set[tuple[str, str]]:
        """Which pairs of a passage and a sentence a language model finds to say the same, each passage shown once."""
        shown = dict[str, dict[int, str]]()
        for number, (passage, sentence) in enumerate(pairs, 1):
            shown.setdefault(passage, {})[number] = sentence
        passages = [{"passage": passage, "sentences": of_it} for passage, of_it in shown.items()]
        asked: list[LLMMessage] = [
            SystemMessage(content=prompt("entailment.md")),
            UserMessage(content=json.dumps(passages, ensure_ascii=False), source=self._name),
        ]
        said: list[int] = []
        try:
            answer, usage = await ask(client, asked, BorneOut, cancellation_token)
            said = answer.borne_out
        except ModelFailure as failure:
            usage = failure.usage
            self.notes.append(f"{self._name}: the second look at claims failed, their quotes stand alone: {failure}")
        add_usage(self.usage, usage)
        return {pair for number, pair in enumerate(pairs, 1) if number in said}

    def _told(self, findings: Sequence[str]) -> Iterator[Claim]:
        """Claims that stand, worded as a sentence of a model's own words that only such a claim may say."""
        records = {record.key: record for record in self._pool}
        held_back = [one for text in (*findings, *self.summaries) for one in prose(text, self._pool).held_back]
        for each in self.draft.candidates:
            name = canonical_drug(each.name) or each.name.casefold()
            quotes = [claim.quote for claim in self.verdicts.kept if claim.drug == name]
            held_back += prose(each.paragraph, self._pool, quotes=quotes).held_back
        for sentence in dict.fromkeys(held_back):
            named = {each.name for each in find_drugs(sentence)}
            worded = (each.model_copy(update={"text": sentence}) for each in self.verdicts.kept if each.drug in named)
            stands = (each for each in worded if wording_objection(each, records[each.evidence_key]) is None)
            yield from islice(stands, 1)
