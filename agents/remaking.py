"""Make a run's report again from what its agents handed over, with what people have said since.

Neither a source nor a model is asked: records and readings come from the run's messages, look-ups from its journal,
and what a model wrote from its former report, marked as stale where people changed what it rests on.
"""

from collections.abc import Sequence

from willowbark.agents.autogen import BaseChatMessage
from willowbark.tools.appraisal.appraised import conditions_of
from willowbark.tools.appraisal.judgement import JudgeView, judge_candidates
from willowbark.tools.reading.corrections import CorrectionBook

from .approval import Approval, ApprovalMessage
from .asking.claims import Verdicts
from .assessment import AssessmentMessage
from .context import RunContext
from .findings import Dossier
from .report.assembly import assemble
from .report.corrected import list_stale
from .report.material import Material, mechanisms_of
from .report.model import ResearchReport

JUDGED = "what the judge made of it"
QUOTES = "which quotes the model chose"


async def make_again(
    messages: Sequence[BaseChatMessage], former: ResearchReport, run: RunContext, corrections: CorrectionBook
) -> ResearchReport:
    """Make a report again; arguments as of `appraise_again`."""
    material = await appraise_again(messages, former, run, corrections)
    report = assemble(material, mechanisms_of(material))
    changed = [row.key for row in report.evidence_table if row.word is not None and row.word.is_changed]
    outdated = None
    if report.written is not None:
        outdated = report.written.model_copy(update={"outdated": list(dict.fromkeys(changed))})
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
    run.readings.hold(dossier.readings, dossier.studies, dossier.absent)
    pool, appraised = await run.checked_again(dossier.asked, dossier.pool(), corrections)
    view = assessments[-1].view if assessments else JudgeView()
    appraised = judge_candidates(appraised, view, corrections, conditions_of(dossier.asked))
    decision = decisions[-1] if decisions else former.approval or Approval(decided_by="nobody")
    approval = decision.with_aside(appraised, dossier.asked, corrections)
    aside = [candidate for candidate in appraised if candidate.has_verdict and not approval.lets(candidate.drug)]
    return Material(
        dossier=dossier,
        assessments=assessments,
        pool=pool,
        candidates=[candidate for candidate in appraised if candidate not in aside],
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
        aside=aside,
        usage=former.usage,
        readings=run.readings,
        changes=former.not_understood,
    )
