"""A draft of a report: requested from a model, verified claim by claim, corrected once."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from willowbark.agents.autogen import CancellationToken, ChatCompletionClient, RequestUsage
from willowbark.tools.appraisal.candidates import Candidate, select_for_display
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.reading.sections import make_excerpt, places
from willowbark.tools.reading.text import sentences
from willowbark.tools.records.enclosure import enclose_lines, new_marker
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import kind_of

from ..approval import Approval
from ..asking import Aids, add_usage, ask, ask_to_mend, make_messages, name_analyst, reads_requests
from ..asking.batches import AT_ONCE
from ..asking.claims import Verdicts, verify
from ..asking.drafts import ClaimDraft, ReportDraft
from ..assessment import LONGEST_LINE, MOST_CANDIDATES, MOST_READINGS, make_reading_line, select_records

PART = 20  # most readings of a draft on several candidates
MAX_DRAFTED = 12  # candidates for a model to write on, and those that failed; tables alone show the others
SHOWN_ENTRY = 400  # characters of a drug database's entry
SHOWN_RESULTS = 500  # characters of a full text's results


class DraftRequest(BaseModel, frozen=True, extra="forbid"):
    """A report agent's request to a model, as data and as text for a language model."""

    question: str
    candidates: list[Candidate]
    """Candidates to write on, best supported first."""
    set_aside: list[str]
    """Drugs excluded from claims by decision."""
    pool: int
    """Number of records found."""
    records: list[Evidence]
    """Records of the pool that may be quoted, best first, with excerpts of their full texts."""
    marker: str = Field(default_factory=new_marker, exclude=True)
    """Marks the block of readings."""

    @property
    def text(self) -> str:
        """The request as text: readings with their supporting sentences, without abstracts."""
        shown = self.candidates[:MOST_CANDIDATES]
        appraised = [f"- {candidate.line[:LONGEST_LINE]}" for candidate in shown]
        aside = f"Set aside by decision, make no claim on: {', '.join(self.set_aside)}"
        return "\n".join(
            [
                f"Question: {self.question}",
                "Appraisal by rule (drug: records for and against, certainty):",
                *(appraised or ["- no drug with evidence on the condition"]),
                *([aside] if self.set_aside else []),
                "What was read of them, and what databases say:",
                enclose_lines(list(self._lines()), self.marker, head={"pool": self.pool}),
            ]
        )

    def _lines(self) -> Iterator[dict[str, Any]]:
        by_key = {record.key: record for record in self.records}
        for candidate in self.candidates[:MOST_CANDIDATES]:
            told = [record for record in candidate.records if record.sentence and record.key in by_key]
            for each in told[:MOST_READINGS]:
                line = {**make_reading_line(candidate, each), "passage": each.sentence}
                yield {**line, "full_text": more} if (more := _results(by_key[each.key])) else line
            for key in candidate.drug_records:
                if key in by_key:
                    yield {"key": key, "drug": candidate.drug, "content": by_key[key].content[:SHOWN_ENTRY]}


def _results(record: Evidence) -> str:
    """Return the first whole sentences of a full text's results that fit."""
    shown = ""
    for sentence in (each for place in places(record, "results") for each in sentences(place.text)):
        if len(shown) + len(sentence) < SHOWN_RESULTS:
            shown = f"{shown} {sentence}".strip()
    return shown


@dataclass(eq=False)
class _Part:
    """Result of the draft on some candidates."""

    request: DraftRequest
    by: ChatCompletionClient | None = None
    """The client that drafted it; None if none did."""
    failures: list[str] = field(default_factory=list)
    """Why earlier clients gave none."""
    verdicts: Verdicts = field(default_factory=Verdicts)
    repaired: int = 0


@dataclass(eq=False)
class Writing:
    """One draft: requested by candidate, verified, corrected once."""

    name: str
    """Name of the writing agent."""
    system_message: str
    question: str
    pool: list[Evidence]
    """Records that claims may quote."""
    candidates: list[Candidate]
    """The report's candidates."""
    approval: Approval
    """Decision with the drugs to leave out."""
    aids: Aids | None = None
    """Tools that a language model may use before it writes."""
    verdicts: Verdicts = field(default_factory=Verdicts)
    failure: str | None = None
    """Why the draft is not by the first client; None if some of it is, or if none was asked."""
    repaired: int = 0
    """Number of claims accepted after correction."""
    notes: list[str] = field(default_factory=list)
    """Problems, for the report's limitations."""
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    """Tokens of all attempts."""

    def __post_init__(self) -> None:
        self._read = {(record.key, c.drug): record.item for c in self.candidates for record in c.records}
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self, clients: Sequence[ChatCompletionClient], token: CancellationToken) -> None:
        """Draft on all candidates concurrently, each by the first client with an accepted draft."""
        groups = self._groups(at_once=reads_requests(clients[0]))
        parts = list(await asyncio.gather(*(self._draft_on(group, clients, token) for group in groups)))
        if parts and all(part.by is not clients[0] for part in parts):
            self.failure = parts[0].failures[0]
        for reason in dict.fromkeys(failure for part in parts for failure in part.failures):
            alike = [part for part in parts if reason in part.failures]
            drugs = [candidate.drug for part in alike for candidate in part.request.candidates]
            instead = dict.fromkeys(f"; {name_analyst(part.by)} answered instead" for part in alike if part.by)
            on = "" if len(alike) == len(parts) else f", on {', '.join(drugs)}"
            self.notes.append(f"{self.name}: {reason}{on}{''.join(instead)}")
        for part in parts:
            self.repaired += part.repaired
            self.verdicts.dropped += part.verdicts.dropped
            self.verdicts.kept += [claim for claim in part.verdicts.kept if claim not in self.verdicts.kept]

    def _groups(self, *, at_once: bool) -> list[DraftRequest]:
        """Build the requests to be drafted concurrently: one on all candidates, or several on those shown.

        Candidates with few readings share a request, as its instructions are paid for in each.
        """
        whole = DraftRequest(
            question=" ".join(self.question.split()),
            candidates=self.candidates,
            set_aside=[one.name for one in self.approval.set_aside],
            pool=len(self.pool),
            records=[make_excerpt(record) for record in select_records(self.pool, self.candidates)],
        )
        if at_once:
            return [whole]
        groups = list[list[Candidate]]()
        room = 0
        for candidate in select_for_display(self.candidates, MAX_DRAFTED):
            size = min(MOST_READINGS, sum(bool(record.sentence) for record in candidate.records))
            if size > room:
                groups.append([])
                room = PART
            groups[-1].append(candidate)
            room -= size
        requests = []
        for group in groups:
            own = {key for each in group for key in (*(r.key for r in each.records), *each.drug_records)}
            records = [record for record in whole.records if record.key in own or kind_of(record) == "disease"]
            requests.append(whole.model_copy(update={"candidates": group, "records": records}))
        return requests

    async def _draft_on(
        self, request: DraftRequest, clients: Sequence[ChatCompletionClient], token: CancellationToken
    ) -> _Part:
        """Get and verify a draft, returning rejected claims once; use the next client if none is accepted."""
        decided = [candidate.drug for candidate in request.candidates if candidate.has_verdict]

        def find_silence(draft: ReportDraft) -> str | None:
            if draft.claims or not decided:
                return None
            return f"claims: empty, though records speak for or against {', '.join(decided[:5])}"

        asked = partial(make_messages, self.system_message, request.text, source=self.name)
        part = _Part(request)
        left = list(clients)
        while left:
            async with self._free:
                answer = await ask(
                    left, asked(), ReportDraft, token, request=request, check=find_silence, aids=self.aids
                )
            add_usage(self.usage, answer.usage)
            part.failures += answer.failures
            if answer.given is None or answer.by is None:
                break
            found = await asyncio.to_thread(self._verify, answer.given.claims)
            if found.dropped:
                further = ask_to_mend("claims", ((each.claim, each.reason) for each in found.dropped))
                mended = await ask([answer.by], asked(further), ReportDraft, token, request=request)
                add_usage(self.usage, mended.usage)
                self.notes += [f"{self.name}: {failure}" for failure in mended.failures]
                again = self._verify(mended.given.claims[: len(found.dropped)]).kept if mended.given else []
                new = [claim for claim in again if claim not in found.kept]
                part.repaired += len(new)
                found = Verdicts(kept=[*found.kept, *new], dropped=found.dropped[len(new) :])
            part.verdicts = Verdicts(kept=found.kept, dropped=[*part.verdicts.dropped, *found.dropped])
            if found.kept or not found.dropped:
                part.by = answer.by
                break
            part.failures.append("none of the model's claims passed verification")
            left = left[left.index(answer.by) + 1 :]
        return part

    def _verify(self, claims: Sequence[ClaimDraft]) -> Verdicts:
        """Verify claims, leaving out those on drugs set aside."""
        held_back = self.approval.holds_back
        allowed = [claim for claim in claims if not held_back(canonical_drug(claim.drug) or claim.drug)]
        return verify(allowed, self.pool, self._read)
