"""The state of a run, read from its journal: what has been found, judged and spent so far."""

from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any

from pydantic import AwareDatetime, BaseModel, Field

from willowbark.agents.assessment import JudgeAssessment
from willowbark.agents.findings import Findings
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.search import SourceReply

from .ledger import Ledger, Turn, restore


class ResearchState(BaseModel, frozen=True, extra="forbid"):
    """The state of a run."""

    query_id: str
    """The run's id."""
    question: str
    iteration: int = Field(default=0, ge=0)
    """The latest round with a search; 0 before the first."""
    evidence: list[Evidence] = []
    """All records, merged."""
    assessments: list[JudgeAssessment] = []
    """The judge's verdicts, one per round."""
    tokens_used: int = Field(default=0, ge=0)
    """Prompt and completion tokens of all model calls."""
    search_history: list[dict[str, Any]] = []
    """iteration, specialist, source, query, status and number of records of each search."""
    stop_reason: str | None = None
    """Why the run ended; None until then."""
    created_at: AwareDatetime
    updated_at: AwareDatetime


def restore_findings(turns: Iterable[Turn]) -> list[Findings]:
    """Return what the specialists handed over in these turns."""
    return [restore(Findings, turn.message["content"], turn.type) for turn in turns if turn.type == "FindingsMessage"]


def merge_records(findings: Iterable[Findings]) -> list[Evidence]:
    """Return the records of several handovers, each publication once."""
    return merge(chain.from_iterable(handover.records for handover in findings))


def state_of(ledger: Ledger, run_id: str, iteration: int | None = None) -> ResearchState:
    """Read a run's state from the ledger, at the end of a round or with all of them.

    Raises:
        LedgerError: no such run, or damaged content.
    """
    run = ledger.run(run_id)
    turns = [turn for turn in ledger.turns(run_id) if iteration is None or turn.iteration <= iteration]
    findings = restore_findings(turns)
    verdicts = [turn for turn in turns if turn.type == "AssessmentMessage"]
    searches = list[dict[str, Any]]()
    for handover in findings:
        searches += map(partial(_describe_search, handover), handover.replies)
    return ResearchState(
        query_id=run_id,
        question=run.question,
        iteration=max((handover.iteration for handover in findings), default=0),
        evidence=merge_records(findings),
        assessments=[restore(JudgeAssessment, turn.message["content"], turn.type) for turn in verdicts],
        tokens_used=sum(turn.prompt_tokens + turn.completion_tokens for turn in turns),
        search_history=searches,
        stop_reason=run.stop_reason,
        created_at=run.created_at,
        updated_at=run.updated_at,
    )


def _describe_search(handover: Findings, reply: SourceReply) -> dict[str, Any]:
    return {
        "iteration": handover.iteration,
        "specialist": handover.specialist,
        "source": reply.source,
        "query": reply.query,
        "status": reply.status.value,
        "records": len(reply.records),
    }
