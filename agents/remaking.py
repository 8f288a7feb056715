"""Make a run's report again from what its agents handed over, with what people have said since.

Neither a source nor a model is asked: records and readings come from the run's messages, look-ups from its journal,
and what a model wrote from its former report, marked as stale where people changed what it rests on.
"""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from willowbark.agents.autogen import BaseChatMessage, CancellationToken, ChatCompletionClient
from willowbark.tools.appraisal.appraised import list_conditions
from willowbark.tools.appraisal.judgement import JudgeView, judge_candidates
from willowbark.tools.errors import UsageError
from willowbark.tools.reading.corrections import CorrectionBook

from .approval import Approval, ApprovalMessage
from .asking import read_prompt
from .asking.claims import Verdicts
from .assessment import AssessmentMessage
from .checking.checker import SentenceChecker
from .checking.written import WrittenAnswer
from .context import RunContext
from .findings import Dossier
from .report.answer_request import build_request
from .report.answering import Answering
from .report.answers import answer_question
from .report.assembly import assemble
from .report.content import CHECKING, EvidenceRow, TurnUsage
from .report.corrected import list_stale
from .report.material import Material, find_mechanisms
from .report.model import ResearchReport
from .reporter import ReportAgent, make_answering_outcome

JUDGED = "what the judge made of it"
QUOTES = "which quotes the model chose"


class RewrittenAnswer(BaseModel, frozen=True, extra="forbid"):
    """What a model wrote after people corrected a run."""

    written: WrittenAnswer
    corrected: list[str] = []
    """Corrections of rows that it knew: key of the record, space, what was said."""
    usage: list[TurnUsage] = []
    """What it took."""


async def make_again(
    messages: Sequence[BaseChatMessage],
    former: ResearchReport,
    run: RunContext,
    corrections: CorrectionBook,
    rewritten: RewrittenAnswer | None = None,
) -> ResearchReport:
    """Make a report again; arguments as of `appraise_again`, and what a model wrote since in place of its first."""
    if rewritten is not None:
        usage = [*former.usage, *rewritten.usage]
        former = former.model_copy(update={"written": rewritten.written, "usage": usage})
    material = await appraise_again(messages, former, run, corrections)
    report = assemble(material, find_mechanisms(material))
    rewritten_rows = frozenset(rewritten.corrected) if rewritten is not None else frozenset[str]()
    moved = rewritten_rows.symmetric_difference(list_changed(report.evidence_table))
    outdated = None
    if report.written is not None:
        keys = sorted({line.partition(" ")[0] for line in moved})
        outdated = report.written.model_copy(update={"outdated": keys})
    written = [JUDGED] if material.assessments else []
    written += [QUOTES] if material.by_model and material.verdicts.kept else []
    return report.model_copy(
        update={
            "stale": list_stale(report.evidence_table, written),
            "written": outdated,
            "claims_dropped": former.claims_dropped,
            "unread": former.unread,
            "generated_at": former.generated_at,
        }
    )


def list_changed(rows: Iterable[EvidenceRow]) -> list[str]:
    """List the rows that people changed, with what was said: key of the record, space, words."""
    return [f"{row.key} {row.drug}: {row.word.line}" for row in rows if row.word is not None and row.word.is_changed]


async def write_again(
    messages: Sequence[BaseChatMessage],
    former: ResearchReport,
    run: RunContext,
    corrections: CorrectionBook,
    writer: ChatCompletionClient,
    checker: ChatCompletionClient,
) -> RewrittenAnswer:
    """Have a model answer in its own words from the evidence as people corrected it, each sentence checked.

    Args:
        messages: as of `appraise_again`, like the next three.
        former: the report without what people have said since.
        run: answers from its journal.
        corrections: what people say now.
        writer: the model, left open.
        checker: compares sentences with the passages that they cite, left open.

    Raises:
        UsageError: nothing can be cited, or the model gave no sentence that stands.
    """
    material = await appraise_again(messages, former, run, corrections)
    mechanisms = find_mechanisms(material)
    request, basis = build_request(material, mechanisms, answer_question(material, mechanisms), run.marker)
    if not basis.sources:
        raise UsageError("no record of the run can be cited: there is nothing to write")
    checking = SentenceChecker(checker, CHECKING, marker=lambda: run.marker)
    answering = Answering("report", read_prompt(ReportAgent.PROMPT), request, basis, checker=checking)
    await answering.run(writer, CancellationToken())
    if answering.failure or answering.written is None:
        raise UsageError(f"nothing was written, and the former answer stays: {answering.failure}")
    outcome = make_answering_outcome(answering, "report", max(1, material.dossier.iteration), ())
    report = assemble(material, mechanisms)
    return RewrittenAnswer(
        written=answering.written, corrected=list_changed(report.evidence_table), usage=outcome.turns
    )


async def appraise_again(
    messages: Sequence[BaseChatMessage], former: ResearchReport, run: RunContext, corrections: CorrectionBook
) -> Material:
    """Appraise a run's records again.

    Args:
        messages: of the run, the question first.
        former: the run's report.
        run: its transport answers from the journal; its readings have the corrections that the run itself took.
        corrections: what people say now.
    """
    dossier = Dossier()
    dossier.add(messages)
    dossier.asked_at = messages[0].created_at
    assessments = [message.content for message in messages if isinstance(message, AssessmentMessage)]
    decisions = [message.content for message in messages if isinstance(message, ApprovalMessage)]
    run.readings.replace_given(dossier.readings, dossier.studies, dossier.absent)
    pool, appraised = await run.check_again(dossier.asked, dossier.pool(), corrections)
    view = assessments[-1].view if assessments else JudgeView()
    appraised = judge_candidates(appraised, view, corrections, list_conditions(dossier.asked))
    decision = decisions[-1] if decisions else former.approval or Approval(decided_by="nobody")
    approval = decision.add_set_aside(appraised, dossier.asked, corrections)
    excluded = [candidate for candidate in appraised if candidate.has_verdict and not approval.lets(candidate.drug)]
    return Material(
        dossier=dossier,
        assessments=assessments,
        pool=pool,
        candidates=[candidate for candidate in appraised if candidate not in excluded],
        by_model=bool(former.usage) and not former.model_failed,
        written=former.written,
        verdicts=Verdicts(kept=[claim for candidate in former.candidates for claim in candidate.claims]),
        repaired=former.claims_repaired,
        notes=former.notes,
        tokens_used=former.tokens_used,
        analyst=former.analyst or "unknown",
        model_failed=former.model_failed,
        stop_reason=run.stopped,
        approval=approval,
        aside=excluded,
        usage=former.usage,
        readings=run.readings,
        changes=former.not_understood,
    )
