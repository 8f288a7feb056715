"""One draft of a report: asked for, verified claim by claim, mended once, its wording asked about once more."""

import json
import logging
from collections.abc import Callable, Sequence

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, LLMMessage, RequestUsage, SystemMessage, UserMessage
from pydantic import BaseModel, ConfigDict

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.enclosure import GUIDANCE, enclose, new_marker
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.works.excerpts import excerpted

from ..approval import Approval
from ..asking import ModelFailure, add_usage, ask, prompt, reads_requests
from ..drafts import BorneOut, ClaimDraft, ReportDraft
from ..judge import SHOWN_CHARACTERS, shown_records
from .claims import DroppedClaim, Verdicts, heard_from, quoted, verify

_log = logging.getLogger(EVENT_LOGGER_NAME)


class DraftRequest(BaseModel):
    """What a report agent asks a model: data, and the words in which a language model gets them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    candidates: list[Candidate]
    """What the report deals with, best supported first."""
    set_aside: list[str]
    """Drugs on which, by decision, no claim is to be made."""
    pool: int
    """Records found."""
    records: list[Evidence]
    """The best of the pool, which are shown; best first, with excerpts of their full texts."""

    @property
    def text(self) -> str:
        """The request in words."""
        appraised = [f"- {candidate.line}" for candidate in self.candidates[:20]]
        aside = f"Set aside by decision, make no claim on: {', '.join(self.set_aside)}"
        return "\n".join(
            [
                f"Question: {self.question}",
                "Appraisal by rule (drug: records for and against, certainty):",
                *(appraised or ["- no drug with evidence on the condition"]),
                *([aside] if self.set_aside else []),
                enclose(self.records, new_marker(), head={"pool": self.pool}, text_limit=SHOWN_CHARACTERS),
            ]
        )


class Writing:
    """One draft: asked for, verified, mended once.

    Args:
        name: of the agent that writes.
        system_message: its prompt.
        question: as asked.
        pool: the records that claims may quote.
        candidates: what the report deals with.
        approval: names the drugs on which nothing is written.

    Attributes:
        draft: what the model wrote.
        verdicts: which of its claims stand.
        failure: why the draft is not by the first client; None where it is, or none was asked.
        repaired: claims that stand since they were mended.
        notes: what went wrong, for the report's limitations.
        usage: tokens of all attempts.
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
        self._messages: list[LLMMessage] = [
            SystemMessage(content=f"{system_message}\n\n{GUIDANCE}"),
            UserMessage(content=self._request.text, source=name),
        ]
        self.draft = ReportDraft(claims=[], candidates=[])
        self.verdicts = Verdicts()
        self.failure: str | None = None
        self.repaired = 0
        self.notes: list[str] = []
        self.usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    async def run(self, clients: Sequence[ChatCompletionClient], cancellation_token: CancellationToken) -> None:
        """Ask one client after another until a draft stands."""
        for client in clients:
            try:
                self.draft = await self._ask(client, self._messages, cancellation_token, self._silence)
            except ModelFailure as failure:
                _log.warning("%s: %s", self._name, failure)
                self.notes.append(f"{self._name}: {failure}")
                self.failure = self.failure or f"{failure}"
                add_usage(self.usage, failure.usage)
                continue
            before = self.verdicts.dropped
            self.verdicts = verify(self.draft.claims, self._pool, self._heard)
            if self.verdicts.dropped:
                await self._repair(client, cancellation_token)
            stood = bool(self.verdicts.kept) or not self.verdicts.dropped
            self.verdicts.dropped[:0] = before
            if stood:
                await self._ask_about_wording(client, cancellation_token)
                return
            self.failure = self.failure or "none of the claims that the model gave stood"
            self.notes.append(f"{self._name}: {self.failure}")

    async def _ask(
        self,
        client: ChatCompletionClient,
        messages: list[LLMMessage],
        cancellation_token: CancellationToken,
        objection: Callable[[ReportDraft], str | None] = lambda _: None,
    ) -> ReportDraft:
        draft, usage = await ask(
            client, messages, ReportDraft, cancellation_token, request=self._request, objection=objection
        )
        add_usage(self.usage, usage)
        return draft.model_copy(update={"claims": [claim for claim in draft.claims if not self._held_back(claim)]})

    def _silence(self, draft: ReportDraft) -> str | None:
        """What is wrong with a draft that claims nothing though records were read for or against a drug."""
        decided = [candidate.drug for candidate in self._request.candidates if candidate.has_verdict]
        if draft.claims or not decided:
            return None
        return f"claims: empty, though records speak for or against {', '.join(decided[:5])}"

    def _held_back(self, claim: ClaimDraft) -> bool:
        return self._approval.holds_back(canonical_drug(claim.drug) or claim.drug)

    async def _repair(self, client: ChatCompletionClient, cancellation_token: CancellationToken) -> None:
        """Have the dropped claims mended once, with the reasons; what still fails stays dropped."""
        lines = [f"- {dropped.reason}: {dropped.claim.model_dump_json()}" for dropped in self.verdicts.dropped]
        asked = "These claims don't stand. Mend them from their records or leave them out; give only these:"
        try:
            mended = await self._ask(
                client,
                [*self._messages, UserMessage(content="\n".join([asked, *lines]), source=self._name)],
                cancellation_token,
            )
        except ModelFailure as failure:
            self.notes.append(f"{self._name}: {failure}")
            add_usage(self.usage, failure.usage)
            return
        again = verify(mended.claims[: len(lines)], self._pool, self._heard)
        new = [claim for claim in again.kept if claim not in self.verdicts.kept]
        self.repaired = len(new)
        self.verdicts = Verdicts(
            kept=[*self.verdicts.kept, *new],
            dropped=self.verdicts.dropped[: max(0, len(lines) - len(new))],
            unworded=[*self.verdicts.unworded, *again.unworded],
            turned=[*self.verdicts.turned, *again.turned],
        )

    async def _ask_about_wording(self, client: ChatCompletionClient, cancellation_token: CancellationToken) -> None:
        """Show a language model each quote alone with what was made of it: what it doesn't find there is left out."""
        worded = [claim for claim in self.verdicts.kept if claim.text != quoted(claim).text]
        if not worded or reads_requests(client):
            return
        pairs = [
            {"number": number, "passage": claim.quote, "sentence": claim.text} for number, claim in enumerate(worded, 1)
        ]
        asked: list[LLMMessage] = [
            SystemMessage(content=prompt("entailment.md")),
            UserMessage(content=json.dumps(pairs, ensure_ascii=False), source=self._name),
        ]
        said: list[int] = []
        try:
            answer, usage = await ask(client, asked, BorneOut, cancellation_token)
            said = answer.borne_out
        except ModelFailure as failure:
            usage = failure.usage
            self.notes.append(f"{self._name}: the second look at claims failed, their quotes stand alone: {failure}")
        add_usage(self.usage, usage)
        bare = [claim for number, claim in enumerate(worded, 1) if number not in said]
        reason = "was not found in its quote by the model that was shown the quote alone"
        self.verdicts.unworded += [DroppedClaim(claim=claim, reason=reason) for claim in bare]
        kept = [quoted(claim) if claim in bare else claim for claim in self.verdicts.kept]
        self.verdicts.kept = [claim for order, claim in enumerate(kept) if claim not in kept[:order]]
