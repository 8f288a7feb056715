"""What a report's pictures show, in data and in words; `plots` draws them.

Effect sizes that can stand in one picture, registered trials on a timeline, publications by year, a drug's way to the
disease.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from willowbark.tools.appraisal import EffectSize
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import date_parts, surname
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.numbers import RATIOS

from ..report.content import NOT_REPORTED, DrugCandidate, EvidenceRow, ReportContent, TrialRow
from ..report.forms.links import named

LEAST_EFFECTS = 2  # one effect size is a sentence, not a picture
MAX_EFFECTS = 20  # rows of a picture
MAX_DRAWN = 24  # trials on a timeline; all of them stand in the table beside it
STOPPED = frozenset({"TERMINATED", "WITHDRAWN", "SUSPENDED"})
RUNNING = frozenset({"RECRUITING", "NOT_YET_RECRUITING", "ENROLLING_BY_INVITATION", "ACTIVE_NOT_RECRUITING"})
"""Statuses as ClinicalTrials.gov defines them: https://clinicaltrials.gov/data-api/about-api/study-data-structure."""
DESIGN_GROUPS = {
    "systematic review": "review",
    "RCT": "supports",
    "observational": "observed",
    "review or opinion": "undecided",
    "laboratory": "experiment",
    "other": "other",
}
"""Groups of designs with the names of their colours, strongest first."""
_GROUP_OF = {
    "systematic review": "systematic review",
    "RCT": "RCT",
    "RCT blinded": "RCT",
    "RCT open": "RCT",
    "controlled cohort": "observational",
    "cohort": "observational",
    "case control": "observational",
    "case series": "observational",
    "case report": "observational",
    "narrative review": "review or opinion",
    "guideline": "review or opinion",
    "editorial": "review or opinion",
    "in vivo": "laboratory",
    "in vitro": "laboratory",
    "in silico": "laboratory",
}
Outcome = Literal["completed", "running", "stopped", "not reported"]


def cut(text: str, length: int) -> str:
    """A text in one line of so many characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


class Effect(NamedTuple):
    """An effect size with the record it stands in."""

    row: EvidenceRow
    size: EffectSize


class EffectFamily(NamedTuple):
    """Effect sizes of one candidate that share an axis."""

    drug: str
    measures: tuple[str, ...]
    """In alphabetical order; several only where all are ratios."""
    effects: tuple[Effect, ...]
    """At least two, the records' order kept."""
    left_out: int
    """Effect sizes whose sentence compares several drugs, or names none that its record's title settles."""

    @property
    def is_ratio(self) -> bool:
        """Whether no effect is 1 (and the axis logarithmic) rather than 0."""
        return self.measures[0] in RATIOS


def effect_families(drug: str, rows: Iterable[EvidenceRow]) -> list[EffectFamily]:
    """Sort a candidate's effect sizes by family; families of fewer than two are left out.

    Ratios (odds ratio, risk ratio, hazard ratio, rate ratio) share an axis, each row naming its measure; differences
    have units of their own and share one only with the same measure.
    """
    found: dict[str, list[Effect]] = {}
    left_out: dict[str, int] = {}
    for row in rows:
        for size in dict.fromkeys(row.effects):
            family = "ratio" if size.measure in RATIOS else size.measure
            if not _plottable(size):
                continue
            if _is_on(drug, row, size):
                found.setdefault(family, []).append(Effect(row, size))
            else:
                left_out[family] = left_out.get(family, 0) + 1
    return [
        EffectFamily(drug, _measures(effects), tuple(effects[:MAX_EFFECTS]), left_out.get(family, 0))
        for family, effects in found.items()
        if len(effects) >= LEAST_EFFECTS
    ]


def _measures(effects: Sequence[Effect]) -> tuple[str, ...]:
    return tuple(sorted({effect.size.measure for effect in effects}))


def _plottable(size: EffectSize) -> bool:
    """Whether a value can stand on its axis, inside its interval: ratios are above 0."""
    values = [value for value in (size.value, size.ci_low, size.ci_high) if value is not None]
    inside = size.ci_low is None or size.ci_high is None or size.ci_low <= size.value <= size.ci_high
    return inside and (size.measure not in RATIOS or min(values) > 0)


def _is_on(drug: str, row: EvidenceRow, size: EffectSize) -> bool:
    """Whether an effect size is this drug's: its sentence names no other, or names none and the title only this."""
    named = {mention.name for mention in find_drugs(size.sentence)}
    return (named or {mention.name for mention in find_drugs(row.title)}) == {drug}


def estimate(size: EffectSize) -> str:
    """An effect size with its interval: `OR 2.82 [1.89, 4.28]`."""
    interval = f" [{size.ci_low:g}, {size.ci_high:g}]" if size.ci_low is not None and size.ci_high is not None else ""
    return f"{size.measure} {size.value:g}{interval}"


@dataclass(frozen=True, slots=True)
class Forest:
    """The effect sizes of one family that one candidate's records report."""

    name: str
    family: EffectFamily
    labels: Mapping[str, str]
    """How the picture names each record, by key."""

    @property
    def caption(self) -> str:
        """What is drawn, and what was left out."""
        left = self.family.left_out
        left_out = f" {left} left out: their sentences compare several drugs." if left else ""
        return (
            f"{self.family.drug}: effect sizes as reported ({'/'.join(self.family.measures)}; line: confidence "
            f"interval where reported). Outcomes and comparators differ, so they are not pooled.{left_out}"
        )

    @property
    def description(self) -> str:
        """The picture in words."""
        told = "; ".join(f"{self.labels[row.key]}: {estimate(size)}" for row, size in self.family.effects)
        none = 1 if self.family.is_ratio else 0
        return f"Effect sizes reported for {self.family.drug}, line of no effect at {none}: {told}."


def forests(report: ReportContent, drug: str) -> list[Forest]:
    """The effect sizes of one candidate, one picture a family of measures; none where fewer than two are reported."""
    rows = [row for row in report.evidence_table if row.drug == drug and not row.retracted]
    labels = _short_names(report, rows)
    place = report.drug_candidates.index(drug) if drug in report.drug_candidates else len(report.drug_candidates)
    families = effect_families(drug, rows)
    return [Forest(f"forest-{place + 1}-{n + 1}", family, labels) for n, family in enumerate(families)]


def _short_names(report: ReportContent, rows: Iterable[EvidenceRow]) -> Mapping[str, str]:
    """`Smith 2001` for each record, as forest plots name them; the identifier where the authors are not known."""
    authors = {str(r["key"]): r.get("authors") or [] for r in report.references}
    names = {}
    for row in rows:
        year = row.date[:4] if row.date[:4].isdigit() else "no date"
        first = next(iter(authors.get(row.key, ())), None)
        author = surname(str(first)) if first else None
        is_paper = author and not row.key.startswith("nct:")
        names[row.key] = f"{cut(str(author), 18)} {year}" if is_paper else named(row.key)
    return names


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
    numbers = [phase.removeprefix("PHASE") for phase in trial.phases if phase != "NA"]
    if not numbers:
        return "phase not applicable" if trial.phases else "phase not reported"
    return f"phase {'/'.join(numbers)}".replace("EARLY_PHASE", "early ")


def drawn_trials(trials: Sequence[TrialRow]) -> list[TrialRow]:
    """The trials with a start, the latest if there are too many; by phase, then start."""
    dated = [trial for trial in trials if _year(trial.start_date) is not None]
    latest = sorted(dated, key=lambda trial: (trial.start_date or "", trial.nct_id), reverse=True)[:MAX_DRAWN]
    return sorted(latest, key=lambda trial: (_highest(trial), trial.start_date or "", trial.nct_id))


def _highest(trial: TrialRow) -> float:
    """Sort key: phase 4 first, phases not applicable or not reported last."""
    numbers = [int(each) for phase in trial.phases for each in phase if each.isdecimal()]
    return -max(numbers, default=-1)


def span_of(trial: TrialRow) -> tuple[float, float | None]:
    """Start and completion in years (2016.5 is July 2016); None for a completion that is not reported."""
    start, end = _year(trial.start_date), _year(trial.completion_date)
    assert start is not None
    return start, end if end is not None and end >= start else None


def _has_year(date: str) -> bool:
    return len(date) >= 4 and date[:4].isdecimal()


def _year(date: str | None) -> float | None:
    parts = date_parts(date or "")
    if not parts:
        return None
    year, month, day = (*parts, 1, 1)[:3]
    return year + (month - 1) / 12 + (day - 1) / 365


@dataclass(frozen=True, slots=True)
class Timeline:
    """Registered trials by phase and time, stopped ones marked."""

    trials: Sequence[TrialRow]
    """All with a start."""
    name: str = "trials"

    @property
    def caption(self) -> str:
        """What is drawn."""
        latest = "; the latest" if len(self.trials) == MAX_DRAWN else ""
        return f"Registered trials by phase, from start to completion{latest}"

    @property
    def description(self) -> str:
        """The picture in words."""
        told = ", ".join(f"{n} {outcome}" for outcome, n in Counter(map(outcome_of, self.trials)).items())
        stopped = [trial.nct_id for trial in self.trials if outcome_of(trial) == "stopped"]
        which = f" Stopped: {', '.join(stopped)}." if stopped else ""
        return f"Timeline of {len(self.trials)} registered trials by phase: {told}.{which}"


def trial_timeline(report: ReportContent) -> Timeline | None:
    """The registered trials; None where no trial has a start."""
    trials = drawn_trials(report.trials)
    return Timeline(trials) if trials else None


@dataclass(frozen=True, slots=True)
class Years:
    """Publications by year and group of designs, at least one."""

    counts: Mapping[int, Counter[str]]
    caption: str = "Appraised publications by year and study design"
    undated: int = 0
    """Publications without a year, which are in no bar."""
    name: str = "years"

    @property
    def description(self) -> str:
        """The picture in words."""
        totals = {year: sum(groups.values()) for year, groups in self.counts.items()}
        without = f" {self.undated} more {'has' if self.undated == 1 else 'have'} no date." if self.undated else ""
        return (
            f"Bar chart of {sum(totals.values())} publications from {min(totals)} to {max(totals)} by design; "
            f"the most, {max(totals.values())}, in {max(totals, key=lambda year: (totals[year], -year))}.{without}"
        )


def publications_by_year(report: ReportContent) -> Years | None:
    """The appraised publications; None where none has a year."""
    counts = year_counts(report)
    undated = len(_publications(report)) - sum(map(Counter.total, counts.values()))
    return Years(counts, undated=undated) if counts else None


def year_counts(report: ReportContent) -> dict[int, Counter[str]]:
    """Publications by year and group of designs, each once; registry entries and undated records are left out."""
    return count_by_year((row.date, row.design) for row in _publications(report).values())


def _publications(report: ReportContent) -> dict[str, EvidenceRow]:
    """The appraised publications by key, each once."""
    return {row.key: row for row in report.evidence_table if not row.key.startswith("nct:")}


def count_by_year(dated: Iterable[tuple[str, str]]) -> dict[int, Counter[str]]:
    """Count by year and group of designs.

    Args:
        dated: dates as sources give them, and designs in words; those without a year are left out.
    """
    found: dict[int, Counter[str]] = {}
    for date, design in dated:
        if _has_year(date):
            found.setdefault(int(date[:4]), Counter())[_GROUP_OF.get(design, "other")] += 1
    return dict(sorted(found.items()))


class Step(NamedTuple):
    """One stop on the way."""

    kind: str
    name: str
    note: str = ""

    @property
    def is_known(self) -> bool:
        """Whether a source names it."""
        return self.name != NOT_REPORTED


@dataclass(frozen=True, slots=True)
class Path:
    """The way from a drug over its target and process to the disease."""

    name: str
    steps: Sequence[Step]
    """Drug, target, process, disease; those not reported are drawn with dashes."""
    relations: Sequence[str] = ()
    """What leads from each step to the next, empty for a step that nothing says; none in older reports."""

    @property
    def boxes(self) -> Sequence[Step]:
        """The steps as they are drawn: each with how it is reached."""
        if not self.relations:
            return self.steps
        reached = [*(each or "nothing says this step" for each in self.relations)]
        notes = [
            step.note if n == 0 else "; ".join(filter(None, (reached[n - 1], step.note)))
            for n, step in enumerate(self.steps)
        ]
        return [step._replace(note=note) for step, note in zip(self.steps, notes, strict=True)]

    @property
    def gaps(self) -> frozenset[int]:
        """The steps, from 1 on, that nothing leads to."""
        return frozenset(n for n, relation in enumerate(self.relations, 1) if not relation)

    @property
    def caption(self) -> str:
        """What is drawn."""
        return "Mechanism path, as databases and sentences of the records give it; dashed: not reported"

    @property
    def description(self) -> str:
        """The picture in words."""
        if not self.relations:
            return f"Mechanism path, {' → '.join(f'{step.kind}: {step.name}' for step in self.steps)}."
        arrows = [f" — {each} → " if each else " ⇢ nothing says this step ⇢ " for each in self.relations]
        told = [f"{step.kind}: {step.name}{f' ({step.note})' if step.note else ''}" for step in self.steps]
        return f"Mechanism path, {''.join(part for pair in zip(told, [*arrows, ''], strict=True) for part in pair)}."


def mechanism_path(report: ReportContent, candidate: DrugCandidate, name: str) -> Path | None:
    """A candidate's way to the disease as the report has it; None where no mechanism was found."""
    if candidate.chain is not None:
        steps = [Step(node.kind, node.name, node.number) for node in candidate.chain.nodes]
        relations = ["" if each.is_missing else each.relation for each in candidate.chain.steps]
        return Path(name, steps, relations) if candidate.chain.node("target") else None
    for tested in report.hypotheses_tested:
        if tested.get("drug") == candidate.name:
            told = {name: str(tested.get(name) or NOT_REPORTED) for name in ("target", "pathway", "effect")}
            effect = "" if told["effect"] == NOT_REPORTED else told["effect"]
            return Path(
                name,
                (
                    Step("drug", candidate.name),
                    Step("target", told["target"], effect),
                    Step("pathway", told["pathway"]),
                    Step("disease", _condition(report.research_question)),
                ),
            )
    return None


def _condition(question: str) -> str:
    """The condition asked about, in the question's words where no condition is known in them."""
    asked = parse_question(question)
    return " and ".join(asked.conditions) or " ".join(asked.terms) or question


Plot = Forest | Timeline | Years | Path
