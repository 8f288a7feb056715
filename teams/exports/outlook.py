"""What would change the conclusion: what holds certainty down, which trials have yet to report, what is missing."""

from collections.abc import Iterator

from willowbark.agents.pictures.trials import RUNNING, phase_words, status_words
from willowbark.agents.report.model import DrugCandidate, ResearchReport
from willowbark.agents.report.wording import listed

_CANDIDATES = 5  # whose certainty is looked at; the conclusion names no more
_TRIALS = 8  # that have yet to report; all of them stand in the trial table


def what_would_change(report: ResearchReport) -> list[str]:
    """One line each, none of them a guess: every one restates what the report holds."""
    return [*_held_down(report), *_held_up(report), *_yet_to_report(report), *_missing(report)]


def _held_down(report: ResearchReport) -> Iterator[str]:
    held = [(c, _steps_down(c)) for c in report.candidates[:_CANDIDATES]]
    told = [f"{c.name} is at {c.certainty} ({'; '.join(reasons)})" for c, reasons in held if reasons]
    if told:
        yield f"Studies without the faults that hold certainty down could raise it, or turn it: {'; '.join(told)}."


def _held_up(report: ResearchReport) -> Iterator[str]:
    """What nothing holds down can only fall: the appraisal never rises by evidence against a drug."""
    firm = [c.name for c in report.candidates[:_CANDIDATES] if c.supporting_citations and not _steps_down(c)]
    if firm:
        yield f"Well-made trials without an effect, or stopped for harm, would lower the certainty for {listed(firm)}."


def _steps_down(candidate: DrugCandidate) -> list[str]:
    """Reasons for which certainty was lowered, without the count of steps."""
    steps = [step.rstrip(".") for step in candidate.certainty_reasons if step.startswith("Down ")]
    return [step.partition(": ")[2] or step for step in steps]


def _yet_to_report(report: ResearchReport) -> Iterator[str]:
    shown = set(report.drug_candidates)
    waiting = [t for t in report.trials if t.status in RUNNING and not t.has_results and shown & set(t.drugs)]
    for trial in waiting[:_TRIALS]:
        drugs = ", ".join(drug for drug in trial.drugs if drug in shown)
        size = f", {trial.enrollment} participants planned" if trial.enrollment is not None else ""
        yield f"{trial.nct_id} on {drugs} ({phase_words(trial)}, {status_words(trial)}{size}) has yet to report."


def _missing(report: ResearchReport) -> Iterator[str]:
    for gap in report.gaps:
        yield f"Found missing by the judge: {gap.rstrip('.')}."
