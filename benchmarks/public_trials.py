"""CliniFact: does a paper bear out its trial's own primary outcome, by the trial's registered p value?

Zhang and others, Sci Data 2025, https://doi.org/10.1038/s41597-025-04417-x; data under the MIT licence at
https://github.com/ds4dh/CliniFact. The labels come from the registry: nobody read them. 1 is a significant primary
outcome, 0 one that is not, 2 another paper that only cites the trial. Published on the test part, three classes:
BioBERT, trained on the training part, 80.2 % right; Llama3-70B without training 53.6 %.

Title and abstract are read for a drug and a condition: the drug of the group (else of the title) that its comparator
does not have, the first condition of the title (else of the outcome). What names no such drug or condition is not
told. A paper says that its outcome was met where the reading says so, else where its verdict is that the drug helps;
likewise that it was not.

A file is one of the source's tables (`test_set.csv`), or gzipped JSON with one paper a line, under the names of
`COLUMNS`.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labels import read_lines

from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.lexicon import find_conditions, find_drugs
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading

COLUMNS = {
    "title": "article_title",
    "text": "article_abstract",
    "label": "label",
    "outcome": "outcome_title",
    "group": "intervention_group_title",
    "comparator": "comparator_group_title",
}
"""Our names of the source's columns."""
OUTCOME_MET = "1"
OUTCOME_NOT_MET = "0"
ANOTHER = "2"
_PLACEBO = re.compile(r"\b(?:placebos?|sham|vehicle|dummy)\b", re.IGNORECASE)
_PARTS = re.compile(r"[+&;]|\b(?:plus|and|with)\b", re.IGNORECASE)
_NOTHING = re.compile(
    r"\b(?:no (?:treatment|intervention|drug|therapy|prophylaxis)|control|usual care|observation|untreated|"
    r"(?:standard|best supportive|supportive) (?:of )?(?:care|therapy|treatment)|wait(?:ing)?[- ]?list|alone)\b",
    re.IGNORECASE,
)
_CANCER = re.compile(
    r"cancer|carcino|lympho(?:ma|blastic)|leuk[a]?emi|myelo(?:ma|dysplas)|sarcoma|melanoma|gliom|glioblast|"
    r"neoplas|malignan|tumou?rs?\b|metasta|blastoma|mesotheliom",
    re.IGNORECASE,
)


class Trial(NamedTuple):
    """A paper with its trial's result, and what is asked of it."""

    label: str
    title: str
    text: str
    drug: str | None
    """None where neither group nor title names one that the comparator has not."""
    condition: str | None
    against_nothing: bool
    """Whether the comparator is placebo or nothing; False where it is another drug or cannot be told."""
    oncology: bool


def read_trials(file: Path) -> list[Trial]:
    """The papers of a file."""
    if file.suffix != ".csv":
        return [_make_trial(row) for row in read_lines(file)]
    with file.open(encoding="utf-8", newline="") as opened:
        return list(map(_make_trial, map(_rename_columns, csv.DictReader(opened))))


def _rename_columns(row: Mapping[str, str]) -> dict[str, str]:
    return {ours: row[theirs] for ours, theirs in COLUMNS.items()}


def _make_trial(row: Mapping[str, Any]) -> Trial:
    group = row["group"]
    comparator = row["comparator"]
    if _PLACEBO.search(group) and not _PLACEBO.search(comparator):
        group, comparator = comparator, group  # registered the other way round
    active_comparator = " ; ".join(part for part in _PARTS.split(comparator) if not _PLACEBO.search(part))
    comparator_drugs = {mention.name for mention in find_drugs(active_comparator)}
    drugs = [mention.name for mention in (*find_drugs(group), *find_drugs(row["title"]))]
    conditions = [mention.name for mention in (*find_conditions(row["title"]), *find_conditions(row["outcome"]))]
    drug = next((name for name in drugs if name not in comparator_drugs), None)
    condition = next(iter(conditions), None)
    own = {mention.name for mention in find_drugs(group)}
    inert = bool(_PLACEBO.search(comparator) or _NOTHING.search(comparator))
    oncology = bool(_CANCER.search(condition or "") or _CANCER.search(row["title"]))
    against_nothing = drug is not None and inert and comparator_drugs <= own | {drug}
    return Trial(row["label"], row["title"], row["text"], drug, condition, against_nothing, oncology)


def read_trial(trial: Trial) -> Reading | None:
    """What the default reader says of a trial's paper; None where drug or condition is not known."""
    if not trial.drug or not trial.condition:
        return None
    return load_reader().read_document(Document(trial.title, trial.text), trial.drug, trial.condition)


def classify_outcome(reading: Reading | None) -> str:
    """The class that a reading amounts to: met, not met, or neither, which stands for another paper."""
    if reading is None:
        return ANOTHER
    if reading.primary != "not_reported":
        return OUTCOME_MET if reading.primary == "met" else OUTCOME_NOT_MET
    return {"supports": OUTCOME_MET, "contradicts": OUTCOME_NOT_MET}.get(reading.verdict, ANOTHER)


def find_shown_verdict(reading: Reading | None) -> str:
    """The verdict that a report would show: one that is not sure is none."""
    return reading.verdict if reading is not None and reading.sure else "none"


Pairs = Sequence[tuple[Trial, Reading | None]]


def measure_trials(file: Path) -> Iterator[str]:
    """Figures of all papers, and of the failed trials against placebo or nothing."""
    readings = [(trial, read_trial(trial)) for trial in read_trials(file)]
    own = [(trial, classify_outcome(reading)) for trial, reading in readings if trial.label != ANOTHER]
    every = [(trial, classify_outcome(reading)) for trial, reading in readings]
    right = sum(trial.label == outcome for trial, outcome in own)
    right_of_all = sum(trial.label == outcome for trial, outcome in every)
    unclassified = sum(outcome == ANOTHER for _, outcome in own)
    unread = sum(reading is None for trial, reading in readings if trial.label != ANOTHER)
    put = len(own) - unread
    yield (
        f"    primary outcome significant or not: {right} of {len(own)} right ({right / len(own):.1%}); {unread} name "
        f"no known drug or condition, of the others {right / put:.1%}; not told {unclassified}, of those told "
        f"{right / max(1, len(own) - unclassified):.1%}"
    )
    yield (
        f"    three classes, what is not told as another paper: {right_of_all} of {len(every)} "
        f"({right_of_all / len(every):.1%}); "
        "published, other papers of the same set: BioBERT 80.2 %, Llama3-70B 53.6 %"
    )
    against_nothing = [(trial, reading) for trial, reading in readings if trial.against_nothing]
    yield from _measure_failures(against_nothing, "trials against placebo or nothing")


def measure_oncology_trials(file: Path) -> Iterator[str]:
    """The same for CliniFact's trials in cancer.

    The published set on the success of oncology trials, where GPT-4o decides 93.5 % (Windisch and others), is not read
    here: these are the rows of CliniFact whose condition or title names a cancer, whatever they were compared with.
    """
    readings = [(trial, read_trial(trial)) for trial in read_trials(file) if trial.oncology and trial.label != ANOTHER]
    yield from _measure_failures(readings, "trials in cancer, against anything")


def _measure_failures(readings: Pairs, what: str) -> Iterator[str]:
    """How failed trials are told, and how many of those told as failed did fail; shown, and as the reader leans."""
    named_trials = [(trial, reading) for trial, reading in readings if trial.drug and trial.label != ANOTHER]
    for as_shown in (True, False):
        verdicts = [(t, find_shown_verdict(r) if as_shown or r is None else r.verdict) for t, r in named_trials]
        failed = Counter(verdict for trial, verdict in verdicts if trial.label == OUTCOME_NOT_MET)
        against = [trial.label for trial, verdict in verdicts if verdict == "contradicts"]
        successes = Counter(verdict for trial, verdict in verdicts if trial.label == OUTCOME_MET)
        yield (
            f"    {what}, {'as shown' if as_shown else 'at any probability'}: {failed.total()} failed, told as failed "
            f"{failed['contradicts']}, as supporting {failed['supports']}; told as failed, rightly "
            f"{against.count(OUTCOME_NOT_MET)} of {len(against)}; {successes.total()} met, told as supporting "
            f"{successes['supports']}"
        )
