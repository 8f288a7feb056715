"""Whether the lines of a first screen are borne out by their own quotes: the five bundled answers, by rules.

    python -m benchmarks.own_quotes [REPORT.json …]

A line is an effect line of the tables, or a drug under *Failed*, *No benefit shown* or *Mixed*. Its quote is the
passage of its record with the sentences that name the other arm or the people (`evidence_table[].sentence`, `setting`).
Denied is a line whose direction the quote denies, or whose comparator, people or figures do not stand in it. Exit code
1 if any is: a release waits for it. Rules find what is written otherwise, not what is meant otherwise; what a reader
found is in `screen_readings.tsv`.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from benchmarks.truth import make_reports

from willowbark.agents.report.content import DrugCandidate, EvidenceRow
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.contrast import PassageContrast
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.participants import list_numbers
from willowbark.tools.reading.passages import denies_effect
from willowbark.tools.reading.text import says

GAIN = "tells of benefit"
LOSS = "tells of failure"
CUES = {"placebo": "inert", "no treatment or usual care": "nothing"}
LOOSE = frozenset({"before treatment", "another treatment"})
"""Comparators that are no names."""
GAINS = frozenset({"better", "called effective", "recommended"})
LOSSES = frozenset({"no difference", "worse", "called ineffective"})
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class ShownLine(NamedTuple):
    """A line with the words that it rests on."""

    drug: str
    result: str
    comparator: str
    participants: int | None
    figures: str
    passage: str
    setting: str

    @property
    def quote(self) -> str:
        """All of the record's words that stand behind the line."""
        return f"{self.passage} {self.setting}"


def list_lines(report: ResearchReport) -> Iterator[ShownLine]:
    """List the lines of a report: each drug's effect, and its first study against it."""
    rows = {(row.key, row.drug): row for row in report.evidence_table}
    for candidate in report.candidates:
        best = candidate.best_estimate
        row = rows.get((best.key, candidate.name)) if best else None
        if best is not None and row is not None and best.result:
            people = best.participants
            yield _make(candidate, row, best.result, best.comparator or "", people, best.figures)
        yield from _list_against(candidate, rows)


def _list_against(candidate: DrugCandidate, rows: dict[tuple[str, str], EvidenceRow]) -> Iterator[ShownLine]:
    if candidate.sorting.place not in ("failed", "missed", "mixed"):
        return
    for key in (*candidate.contradicting_citations, *candidate.missed_citations)[:1]:
        row = rows.get((key, candidate.name))
        if row is not None and row.why_stopped_kind is None and row.pico and row.pico.result:
            yield _make(candidate, row, row.pico.result, row.pico.comparator or "", None, "")


def _make(
    candidate: DrugCandidate, row: EvidenceRow, result: str, comparator: str, people: int | None, figures: str
) -> ShownLine:
    word = result.partition(",")[0]
    counted = None if row.key.startswith("nct:") else people  # the registry gives people in a field, not in words
    return ShownLine(candidate.name, word, comparator, counted, figures, row.sentence, " ".join(row.setting))


def find_denial(line: ShownLine) -> str:
    """Return what of a line its quote denies or does not hold; empty if it bears all of it out."""
    return _deny_direction(line) or _deny_comparator(line) or _deny_numbers(line)


def _deny_direction(line: ShownLine) -> str:
    if not line.passage:
        return "it has no quote"
    passage = PassageContrast(line.passage)
    if line.result in GAINS:
        if passage.mentions(line.drug) and (passage.is_denied(line.drug) or passage.is_rival(line.drug)):
            return "its quote says that it did less, or not more"
        if denies_effect(line.passage) or not says(GAIN, line.passage):
            return "its quote tells of no benefit"
    if line.result in LOSSES and not says(LOSS, line.passage) and not says("not significantly", line.passage):
        return "its quote tells of no failure"
    return ""


def _deny_comparator(line: ShownLine) -> str:
    name = line.comparator.removesuffix(" alone")
    if not name or name in LOOSE:
        return ""
    drugs = {mention.name for mention in find_drugs(name)}
    cue = CUES.get(name)
    if cue:
        return "" if says(cue, line.quote) else f"its quote names no {name}"
    written = {mention.name for mention in find_drugs(line.quote)}
    has_name = not drugs.isdisjoint(written) if drugs else name.lower() in line.quote.lower()
    return "" if has_name else f"its quote does not name {name}"


def _deny_numbers(line: ShownLine) -> str:
    document = Document.cut("", line.quote)
    numbers = chain.from_iterable(list_numbers(document, sentence) for sentence in document.sentences)
    counts = {number.value for number in numbers}
    if line.participants is not None and line.participants not in counts:
        return f"its quote does not count {line.participants:,} people"
    passage = set(NUMBER.findall(line.passage.replace("·", ".")))
    missing = [figure for figure in NUMBER.findall(line.figures) if not _is_written(figure, passage)]
    return f"its quote does not write {missing[0]}" if missing else ""


def _is_written(figure: str, written: set[str]) -> bool:
    return any(parse_figure(figure) == parse_figure(number) for number in written)


def parse_figure(figure: str) -> float:
    """Return a figure as a number; commas before three digits separate thousands."""
    whole = re.sub(r",(?=\d{3}\b)", "", figure).replace(",", ".")
    first, *rest = whole.split(".")
    return float(f"{first}.{''.join(rest)}" if rest else first)


def list_denials(topic: str, report: ResearchReport) -> Iterator[str]:
    """List the denied lines of a report, each with the reason and its quote."""
    for line in list_lines(report):
        denial = find_denial(line)
        if denial:
            values = " ".join(filter(None, (line.result, line.comparator, line.figures, str(line.participants or ""))))
            yield f"{topic}: {line.drug}, {values}: {denial}: “{line.quote.strip()}”"


def main() -> int:
    """Print what is denied; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="*", type=Path, help="saved reports in place of the five bundled answers")
    options = parser.parse_args()
    answers: Sequence[tuple[str, ResearchReport]] = [
        (path.parent.name, ResearchReport.model_validate_json(path.read_bytes())) for path in options.reports
    ] or list(make_reports())
    count = sum(len(list(list_lines(report))) for _, report in answers)
    denials = list(chain.from_iterable(list_denials(topic, report) for topic, report in answers))
    print(
        f"{count} lines of {len(answers)} first screens, {len(denials)} denied by their own quotes", *denials, sep="\n"
    )
    return bool(denials)


if __name__ == "__main__":
    sys.exit(main())
