"""One draft of a report: asked for, verified claim by claim, mended once, its wording asked about once more."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, LLMMessage, RequestUsage, SystemMessage, UserMessage
from pydantic import BaseModel, Field

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.enclosure import GUIDANCE, enclose_lines, new_marker
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug, find_drugs
from willowbark.tools.reading.text import sentences
from willowbark.tools.registry import kind_of
from willowbark.tools.works.sections import excerpted, places

from ..approval import Approval
from ..asking import Aids, add_usage, analyst_name, ask, prompt, reads_requests
from ..asking.claims import Claim, DroppedClaim, Verdicts, heard_from, plain, quoted, verify, wording_objection
from ..asking.drafts import BorneOut, ReportDraft
from ..asking.grounding import prose
from ..assessment import SHOWN_CANDIDATES, SHOWN_LINE, SHOWN_READINGS, shown_records

PART = 11  # readings of a draft on several candidates
MAX_DRAFTED = 12  # candidates that a model writes on; the report shows no more
AT_ONCE = 4  # drafts side by side; providers refuse floods
SHOWN_ENTRY = 400  # characters of a drug database's entry
SHOWN_RESULTS = 500  # characters of a full text's results


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
    """What became of the draft on some candidates."""

    request: DraftRequest
    by: ChatCompletionClient | None = None
    """Whose draft it is; None where nobody gave one."""
    failures: list[str] = field(default_factory=list)
    """Why those who were asked before gave none."""
    draft: ReportDraft = field(default_factory=lambda: ReportDraft(claims=[], candidates=[]))
    verdicts: Verdicts = field(default_factory=Verdicts)
    repaired: int = 0


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
        """Have a draft written on each candidate, side by side: by the first client that gives one that stands."""
        groups = [self._request] if reads_requests(clients[0]) else self._groups()
        parts = list(await asyncio.gather(*(self._draft_on(group, clients, token) for group in groups)))
        if parts and all(part.by is not clients[0] for part in parts):
            self.failure = parts[0].failures[0]
        for reason in dict.fromkeys(failure for part in parts for failure in part.failures):
            alike = [part for part in parts if reason in part.failures]
            drugs = [candidate.drug for part in alike for candidate in part.request.candidates]
            instead = dict.fromkeys(f"; {analyst_name(part.by)} answered instead" for part in alike if part.by)
            on = "" if len(alike) == len(parts) else f", on {', '.join(drugs)}"
            self.notes.append(f"{self._name}: {reason}{on}{''.join(instead)}")
        told = {claim.drug for part in parts for claim in part.verdicts.kept}
        silent = [
            each for part in parts for each in part.request.candidates if each.has_verdict and each.drug not in told
        ]
        if told and silent and clients[1:]:
            parts.append(await self._draft_on(self._about(silent), clients[1:], token))
        for part in parts:
            self.draft = ReportDraft(
                claims=[*self.draft.claims, *part.draft.claims],
                candidates=[*self.draft.candidates, *part.draft.candidates],
            )
            self.summaries += [part.draft.summary] if part.draft.summary.strip() else []
            self.repaired += part.repaired
            self.verdicts.dropped += part.verdicts.dropped
            self.verdicts.kept += [claim for claim in part.verdicts.kept if claim not in self.verdicts.kept]
            self.verdicts.unworded += part.verdicts.unworded
            self.verdicts.turned += part.verdicts.turned

    def _groups(self) -> list[DraftRequest]:
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

    async def _draft_on(
        self, request: DraftRequest, clients: Sequence[ChatCompletionClient], token: CancellationToken
    ) -> _Part:
        """One draft, verified, with what did not stand sent back once; by the next client where nothing stands."""
        decided = [candidate.drug for candidate in request.candidates if candidate.has_verdict]

        def find_silence(draft: ReportDraft) -> str | None:
            if draft.claims or not decided:
                return None
            return f"claims: empty, though records speak for or against {', '.join(decided[:5])}"

        messages: list[LLMMessage] = [
            SystemMessage(content=self._system_message),
            UserMessage(content=request.text, source=self._name),
        ]
        async with self._free:
            answer = await ask(
                clients, messages, ReportDraft, token, request=request, check=find_silence, aids=self.aids
            )
        add_usage(self.usage, answer.usage)
        part = _Part(request, answer.by, answer.failures)
        if answer.given is None or answer.by is None:
            return part
        part.draft = self._readable(answer.given)
        part.verdicts = verify(part.draft.claims, self._pool, self._heard)
        if part.verdicts.dropped:
            await self._mend(part, answer.by, messages, token)
        if part.verdicts.dropped and not part.verdicts.kept:
            left = clients[list(clients).index(answer.by) + 1 :]
            later = await self._draft_on(request, left, token)
            later.failures = [*part.failures, "none of the claims that the model gave stood", *later.failures]
            later.verdicts.dropped = [*part.verdicts.dropped, *later.verdicts.dropped]
            return later
        return part

    def _readable(self, draft: ReportDraft) -> ReportDraft:
        """A draft without claims on what was set aside, whose claims without a wording are worded by their quotes."""
        wanted = (
            claim for claim in draft.claims if not self._approval.holds_back(canonical_drug(claim.drug) or claim.drug)
        )
        worded = [claim if claim.text.strip() else claim.model_copy(update={"text": claim.quote}) for claim in wanted]
        return draft.model_copy(update={"claims": worded})

    async def _mend(
        self, part: _Part, client: ChatCompletionClient, messages: Sequence[LLMMessage], token: CancellationToken
    ) -> None:
        """Have the dropped claims mended once, with the reasons; what still fails stays dropped."""
        dropped = part.verdicts.dropped
        lines = [f"- {each.reason}: {each.claim.model_dump_json()}" for each in dropped]
        asked = "These claims don't stand. Mend them from their records or leave them out; give only these:"
        further = UserMessage(content="\n".join([asked, *lines]), source=self._name)
        answer = await ask([client], [*messages, further], ReportDraft, token, request=part.request)
        add_usage(self.usage, answer.usage)
        self.notes += [f"{self._name}: {failure}" for failure in answer.failures]
        mended = self._readable(answer.given).claims if answer.given is not None else []
        again = verify(mended[: len(dropped)], self._pool, self._heard)
        new = [claim for claim in again.kept if claim not in part.verdicts.kept]
        part.repaired = len(new)
        part.verdicts = Verdicts(
            kept=[*part.verdicts.kept, *new],
            dropped=dropped[: max(0, len(dropped) - len(new))],
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
        told = list(self._claims_in_own_words(findings))
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
        answer = await ask([client], asked, BorneOut, cancellation_token)
        add_usage(self.usage, answer.usage)
        failed = f"{self._name}: the second look at claims failed, their quotes stand alone"
        self.notes += [f"{failed}: {failure}" for failure in answer.failures]
        said = answer.given.borne_out if answer.given is not None else []
        return {pair for number, pair in enumerate(pairs, 1) if number in said}

    def _claims_in_own_words(self, findings: Sequence[str]) -> Iterator[Claim]:
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
