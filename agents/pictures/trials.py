"""Registered trials in words: how they ended, which phase, which of them can stand on a timeline."""

import re
from collections.abc import Sequence
from typing import Literal

from ..report.model import TrialRow

Outcome = Literal["completed", "running", "stopped", "not reported"]

MAX_DRAWN = 24  # trials on a timeline; all of them stand in the table beside it
STOPPED = frozenset({"TERMINATED", "WITHDRAWN", "SUSPENDED"})
RUNNING = frozenset({"RECRUITING", "NOT_YET_RECRUITING", "ENROLLING_BY_INVITATION", "ACTIVE_NOT_RECRUITING"})
"""Statuses as ClinicalTrials.gov defines them: https://clinicaltrials.gov/data-api/about-api/study-data-structure."""


def outcome_of(trial: TrialRow) -> Outcome:
    """How a trial ended, as far as the registry says."""
    if trial.status in STOPPED:
        return "stopped"
    if trial.status in RUNNING:
        return "running"
    return "completed" if trial.status == "COMPLETED" else "not reported"


def status_words(trial: TrialRow) -> str:
    """A trial's status as people write it.

    >>> status_words(TrialRow(key="nct:NCT02188459", nct_id="NCT02188459", title="", status="NOT_YET_RECRUITING"))
    'not yet recruiting'
    """
    return trial.status.replace("_", " ").lower() if trial.status else "not reported"


def phase_words(trial: TrialRow) -> str:
    """A trial's phase as people write it.

    >>> phase_words(TrialRow(key="nct:NCT02188459", nct_id="NCT02188459", title="A trial", phases=["PHASE2", "PHASE3"]))
    'phase 2/3'
    """
    numbers = [re.sub(r"^PHASE", "", phase) for phase in trial.phases if phase != "NA"]
    if not numbers:
        return "phase not applicable" if trial.phases else "phase not reported"
    return f"phase {'/'.join(numbers)}".replace("EARLY_PHASE", "early ")


def drawn_trials(trials: Sequence[TrialRow]) -> list[TrialRow]:
    """The trials with a start, the latest if there are too many; by phase, then start."""
    dated = [trial for trial in trials if re.match(r"\d{4}", trial.start_date or "")]
    latest = sorted(dated, key=lambda trial: (trial.start_date or "", trial.nct_id), reverse=True)[:MAX_DRAWN]
    return sorted(latest, key=lambda trial: (_highest(trial), trial.start_date or "", trial.nct_id))


def _highest(trial: TrialRow) -> float:
    """Sort key: phase 4 first, phases not applicable or not reported last."""
    numbers = [int(digits) for phase in trial.phases for digits in re.findall(r"\d", phase)]
    return -max(numbers, default=-1)
