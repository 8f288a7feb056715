"""What would change the conclusion: what holds certainty down, which trials have yet to report, what is missing."""

from collections.abc import Iterator

from willowbark.agents.report import ResearchReport

from .trials import RUNNING, phase_words, status_words

_CANDIDATES = 5  # whose certainty is looked at; the conclusion names no more
_TRIALS = 8  # that have yet to report; all of them stand in the trial table


def what_would_change(report: ResearchReport) -> list[str]:
    """One line each, none of them a guess: every one restates what the report holds."""
    return [*_held_down(report), *_yet_to_report(report), *_missing(report)]


def _held_down(report: ResearchReport) -> Iterator[str]:
    for candidate in report.candidates[:_CANDIDATES]:
        steps = [step.rstrip(".") for step in candidate.certainty_reasons if step.startswith("Down ")]
        reasons = [step.partition(": ")[2] or step for step in steps]
        if reasons:
            yield (
                f"{candidate.name}: certainty is {candidate.certainty} because the evidence is {'; '.join(reasons)}. "
                "Studies without these faults could raise it, or turn it."
            )


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
