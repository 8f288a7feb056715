"""Whole runs on conditions that no rule was made on: what leads each report, what is missing, what should not be there.

    python -m benchmarks.conditions FOLDER --library DIR [--unlearnt] [--keep DIR]

Runs ask a library of abstracts. The conditions are drawn by seed from those that it, repoDB and PharmacotherapyDB know
well enough. Drugs in use are those that any of these tables has for the condition, as far as FOLDER holds them:

- `repodb*.tsv`: repoDB, approved (Brown and Patel, Sci Data 2017; CC BY 4.0; https://github.com/adam-sam-brown/repoDB);
- `pharmacotherapydb*.tsv`: PharmacotherapyDB, disease-modifying or symptomatic (Himmelstein 2016; CC0;
  https://github.com/dhimmel/indications);
- `indications*.tsv`: Every Cure's curated indications (https://github.com/everycure-org/matrix-indication-list, no
  licence stated), with columns `disease` and `drug`; `contraindications*.tsv` likewise: drugs that must not be used.

The reader learnt from labelled records (`labels/`); how many of the rows shown are of such records is printed, for a
library that holds them flatters it, and `--unlearnt` leaves them out (of the conditions those are drawn that are still
known well enough). No table is complete, so every share is a lower bound. Leading drugs that no table
has were read as a pharmacologist would, by a language model: `leading_drugs.tsv` says which of them are used, were
withdrawn, only studied, or are nonsense (no treatment of the condition), and what nobody has read yet is printed. For
literature systems no figures are published.
"""

import argparse
import asyncio
import csv
import gzip
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.labels import labels, read_lines
from benchmarks.report_length import Length, count_words
from faults.bundled import bundled_publications

from willowbark.agents.report.content import DrugCandidate
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.research import research
from willowbark.tools.lexicon import find_drugs, find_withdrawal
from willowbark.tools.lexicon.conditions import find_known_conditions, is_generic
from willowbark.tools.reading.reading import StudyDesign

READ_BY_HAND = Path(__file__).with_name("leading_drugs.tsv")
LEADING = 10
"""Candidates of a report that are looked at."""
CONDITIONS = 22
SEED = 1
TITLES = 12
FAMILIAR_DRUGS = 8
"""Titles that have to name a condition, and drugs in use that the tables have to know, or there is too little."""
MOST_FAMILIAR = 5
ESTABLISHED = 5
"""Trials that count from which on a drug in use should be rated above low."""
TRIALS = frozenset(design.label for design in StudyDesign if design.tier <= 2)

DrugsOf = dict[str, set[str]]
"""Drugs by condition, both under their names in the lexicon."""


class Tables(NamedTuple):
    """What public tables say of drugs in conditions."""

    drawn: DrugsOf
    """In use by repoDB and PharmacotherapyDB: what conditions are drawn by."""
    curated: DrugsOf
    """Every Cure's indications."""
    forbidden: DrugsOf
    """Its contraindications."""

    @property
    def used(self) -> DrugsOf:
        """In use by any table."""
        return {
            name: self.drawn.get(name, set()) | self.curated.get(name, set()) for name in {*self.drawn, *self.curated}
        }


def read_tables(folder: Path) -> tuple[Tables, list[str]]:
    """The tables of a folder, and the patterns of those that it does not hold."""
    missing: list[str] = []

    def read_pairs(pattern: str, condition: str, drug: str, **fields: Collection[str]) -> Iterator[tuple[str, str]]:
        file = next(iter(sorted(folder.glob(pattern))), None)
        if file is None:
            missing.append(pattern)
            return
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as opened:
            for row in csv.DictReader(opened, delimiter="\t"):
                if all(row[name] in values for name, values in fields.items()):
                    yield row[condition], row[drug]

    drawn = (
        *read_pairs("repodb*.tsv*", "ind_name", "drug_name", TrialStatus=["Approved"]),
        *read_pairs("pharmacotherapydb*.tsv*", "disease", "drug", category=["DM", "SYM"]),
    )
    curated, forbidden = (
        read_pairs(f"{name}*.tsv*", "disease", "drug") for name in ("indications", "contraindications")
    )
    return Tables(*map(_group_by_condition, (drawn, curated, forbidden))), missing


def _group_by_condition(pairs: Iterable[tuple[str, str]]) -> DrugsOf:
    drugs_of = defaultdict[str, set[str]](set)
    for condition, drug in pairs:
        drugs = {mention.name for mention in find_drugs(drug)}
        for name, *_ in find_known_conditions(condition):
            drugs_of[name] |= drugs
    return dict(drugs_of)


class Titles(NamedTuple):
    """Which conditions and drugs the titles of a library name."""

    conditions: Counter[str]
    drugs: Mapping[str, Counter[str]]
    """By condition, from titles that name both."""

    @classmethod
    def of(cls, library: Path) -> "Titles":
        """Count them."""
        conditions = Counter[str]()
        drugs = defaultdict[str, Counter[str]](Counter)
        for title in (publication.title for publication in bundled_publications(library)):
            drugs_in_title = {mention.name for mention in find_drugs(title)}
            for condition in {name for name, *_ in find_known_conditions(title)}:
                conditions[condition] += 1
                drugs[condition].update(drugs_in_title)
        return cls(conditions, drugs)


def draw_conditions(
    titles: Titles, used: DrugsOf, number: int, seed: int, least_titles: int = TITLES, least_drugs: int = FAMILIAR_DRUGS
) -> list[str]:
    """Conditions that so many of a library's titles name, and for which tables know so many drugs."""
    familiar = (
        name
        for name, drugs_of_condition in used.items()
        if len(drugs_of_condition) >= least_drugs and titles.conditions[name] >= least_titles
    )
    fit = sorted(name for name in familiar if not is_generic(name))
    return random.Random(seed).sample(fit, min(number, len(fit)))


@cache
def read_by_hand() -> dict[tuple[str, str], str]:
    """What leading drugs that no table has are by condition and drug: `used`, `withdrawn`, `studied` or `nonsense`."""
    with READ_BY_HAND.open(encoding="utf-8") as file:
        return {(row["condition"], row["drug"]): row["is"] for row in csv.DictReader(file, delimiter="\t")}


@cache
def list_learnt_keys() -> frozenset[str]:
    """The keys of records that the reader learnt from."""
    return frozenset(f"pmid:{label.pmid}" for label in labels())


def list_leading(report: ResearchReport) -> list[DrugCandidate]:
    """The candidates that lead a report."""
    return [c for c in report.candidates if c.supporting_citations and c.evidence_quality != "refuted"][:LEADING]


class ConditionFigures(NamedTuple):
    """What a report tells that can be held against tables."""

    used: Counter[str]
    """Leading drugs in use by the tables, by certainty."""
    used_by_hand: Counter[str]
    """Leading drugs in use as read by hand, that no table has."""
    leading: Counter[str]
    """All leading drugs."""
    read: Counter[str]
    """Leading drugs that no table has, by what they were read as."""
    curated: tuple[int, int, int] | None
    """Leading drugs that are curated indications, leading drugs, and those of the curated that titles name, ten at
    most; None where none is curated."""
    forbidden: Sequence[str]
    """Contraindicated and withdrawn drugs that lead without a mark."""
    familiar_shown: tuple[int, int]
    """The best-known drugs in use: shown as supported, all."""
    established: int
    """Drugs in use on which enough trials count."""
    low: Sequence[str]
    """Those of them that are rated low or very low."""
    stances: Counter[str]
    """Rows of evidence that are shown as supporting and as contradicting; of them `learnt` are of records that the
    reader learnt from."""
    length: Length


def hold_against_tables(condition: str, report: ResearchReport, tables: Tables, titles: Titles) -> ConditionFigures:
    """Hold a report against the tables."""
    by_hand = read_by_hand()
    used = tables.used.get(condition, set())
    leading = list_leading(report)
    by_tables = Counter[str](drug.certainty for drug in leading if drug.name in used)
    hand = Counter[str](
        c.certainty for c in leading if c.name not in used and by_hand.get((condition, c.name)) == "used"
    )
    by_reading = Counter(by_hand.get((condition, drug.name), "unread") for drug in leading if drug.name not in used)
    curated = tables.curated.get(condition, set())
    findable = {drug for drug in curated if titles.drugs.get(condition, Counter())[drug]}
    hits = sum(drug.name in curated for drug in leading)
    forbidden = tables.forbidden.get(condition, set()) - used
    unmarked = [c.name for c in leading if (c.name in forbidden or find_withdrawal(c.name)) and not c.cautions]
    familiar = [drug for drug, _ in titles.drugs.get(condition, Counter()).most_common() if drug in used][
        :MOST_FAMILIAR
    ]
    supported = {candidate.name for candidate in report.candidates if candidate.supporting_citations}
    trials = Counter[str]()
    stances = Counter[str]()
    for candidate in report.candidates:
        for row in report.evidence_table:
            if row.drug != candidate.name:
                continue
            stance = candidate.stance_of(row)
            stances[stance] += 1
            if stance in ("supports", "contradicts"):
                stances["learnt"] += row.key in list_learnt_keys()
                trials[candidate.name] += row.design in TRIALS
    established = [
        candidate for candidate in report.candidates if candidate.name in used and trials[candidate.name] >= ESTABLISHED
    ]
    low_rated = [drug for drug in established if drug.certainty in ("low", "very low")]
    return ConditionFigures(
        used=by_tables,
        used_by_hand=hand,
        leading=Counter[str](drug.certainty for drug in leading),
        read=by_reading,
        curated=(hits, len(leading), min(LEADING, len(findable))) if curated else None,
        forbidden=unmarked,
        familiar_shown=(sum(drug in supported for drug in familiar), len(familiar)),
        established=len(established),
        low=[f"{c.name} ({c.certainty}, {trials[c.name]} trials)" for c in low_rated],
        stances=stances,
        length=count_words(report),
    )


def describe_condition(
    condition: str, report: ResearchReport, figures: ConditionFigures, used: Collection[str]
) -> Iterator[str]:
    """A run in a few lines."""
    leading = list_leading(report)
    yield (
        f"    {condition}: {report.total_papers_reviewed} records, {figures.used.total()} of {len(leading)} leading "
        f"drugs in use by tables; shown {figures.stances['supports']} supports, "
        f"{figures.stances['contradicts']} contradictions; {figures.length.whole:,} words"
    )
    for name, is_used in (("in use", True), ("in no table", False)):
        phrases = []
        for candidate in leading:
            if (candidate.name in used) is is_used:
                reading = "" if is_used else f"; {read_by_hand().get((condition, candidate.name), 'unread')}"
                phrases.append(f"{candidate.name} ({candidate.certainty}{reading})")
        if phrases:
            yield f"        {name}: {', '.join(phrases)}"
    if figures.forbidden:
        yield f"        contraindicated or withdrawn, and no mark: {', '.join(figures.forbidden)}"
    if figures.low:
        yield f"        in use, {ESTABLISHED} trials or more, yet low: {', '.join(figures.low)}"


def _format_share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none"


def measure(
    library: Path, tables: Tables, number: int = CONDITIONS, seed: int = SEED, keep: Path | None = None
) -> Iterator[str]:
    """Ask of conditions one after another, and add up.

    Args:
        library: asked.
        tables: of drugs in use and contraindicated.
        number: of conditions.
        seed: they are drawn by.
        keep: a folder of reports, which are taken from it where they are there; None keeps none.
    """
    titles = Titles.of(library)
    used = tables.used
    measured: list[ConditionFigures] = []
    for condition in draw_conditions(titles, tables.drawn, number, seed):
        report = _make_report(condition, library, keep)
        measured.append(hold_against_tables(condition, report, tables, titles))
        yield from describe_condition(condition, report, measured[-1], used.get(condition, set()))
    by_tables = sum((figures.used for figures in measured), Counter[str]())
    by_hand = sum((figures.used_by_hand for figures in measured), Counter[str]())
    leading = sum((figures.leading for figures in measured), Counter[str]())
    by_reading = sum((figures.read for figures in measured), Counter[str]())
    stances = sum((figures.stances for figures in measured), Counter[str]())
    total = leading.total()
    in_use = by_tables.total() + by_hand.total()
    yield f"    {len(measured)} conditions, leading drugs in use by tables: {_format_share(by_tables.total(), total)}"
    yield (
        f"    … or as read by hand: {_format_share(in_use, total)}; withdrawn {by_reading['withdrawn']}, studied only "
        f"{by_reading['studied']}, nonsense {by_reading['nonsense']}, not read yet {by_reading['unread']}"
    )
    for level in ("high", "moderate", "low", "very low"):
        with_hand = _format_share(by_tables[level] + by_hand[level], leading[level])
        yield f"    {level}: {by_tables[level]} in use by tables, with those read by hand {with_hand}"
    curated = [figures.curated for figures in measured if figures.curated]
    if curated:
        precision = sum(hits / LEADING for hits, _, _ in curated) / len(curated)
        recalls = [min(1.0, hits / findable) for hits, _, findable in curated if findable]
        all_hits = sum(hits for hits, _, _ in curated)
        all_leading = sum(number for _, number, _ in curated)
        yield (
            f"    curated indications, {len(curated)} conditions: P@{LEADING} {precision:.2f} "
            f"({_format_share(all_hits, all_leading)} of those that lead), "
            f"R@{LEADING} {sum(recalls) / max(1, len(recalls)):.2f} of the curated that titles name"
        )
    unmarked = sum(len(figures.forbidden) for figures in measured)
    yield f"    contraindicated or withdrawn drugs that lead without a mark: {unmarked}"
    familiar_shown = sum(figures.familiar_shown[0] for figures in measured)
    familiar = sum(figures.familiar_shown[1] for figures in measured)
    yield f"    the {MOST_FAMILIAR} best-known drugs shown as supported: {_format_share(familiar_shown, familiar)}"
    low = sum(len(figures.low) for figures in measured)
    established = sum(figures.established for figures in measured)
    low_share = _format_share(low, established)
    yield f"    in use with {ESTABLISHED} counted trials or more, rated low or very low: {low_share}"
    shown = stances["supports"] + stances["contradicts"]
    yield (
        f"    shown: {stances['supports']} supports, {stances['contradicts']} contradictions; "
        f"{_format_share(stances['learnt'], shown)} of records that the reader learnt from"
    )
    screens = [figures.length.first_screen for figures in measured]
    wholes = [figures.length.whole for figures in measured]
    yield f"    words of a report {min(wholes):,} to {max(wholes):,}; first screen {min(screens)} to {max(screens)}"


def _make_report(condition: str, library: Path, keep: Path | None) -> ResearchReport:
    file = keep / f"{condition.replace(' ', '_').replace('/', '_')}.json" if keep else None
    if file and file.exists():
        return ResearchReport.model_validate_json(file.read_bytes())
    report = ask_about(condition, library)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(report.model_dump_json(), encoding="utf-8")
    return report


def ask_about(condition: str, library: Path) -> ResearchReport:
    """A run on what treats a condition."""
    return asyncio.run(research(f"Which existing drugs treat {condition}?", library=library))


@contextmanager
def open_unlearnt_library(library: Path | None, packed: Path | None, unlearnt: bool = False) -> Iterator[Path]:
    """A library for as long as it is needed.

    Args:
        library: a folder; None takes the packed publications.
        packed: a gzipped file of publications; None where there is a folder.
        unlearnt: whether to leave out the publications that the reader learnt from, and with them all other records.
    """
    if library and not unlearnt:
        yield library
        return
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / (library or packed or Path(home)).name.partition(".")[0]  # reports name it
        folder.mkdir(exist_ok=True)
        with (folder / "publications.jsonl").open("w", encoding="utf-8") as target:
            files = sorted(library.glob("publications*.jsonl")) if library else [packed] if packed else []
            for row in (row for file in files for row in read_lines(file)):
                if not unlearnt or f"pmid:{row['pmid']}" not in list_learnt_keys():
                    target.write(json.dumps(row) + "\n")
        yield folder


def main() -> None:
    """Ask of conditions, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="holds the tables")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--number", type=int, default=CONDITIONS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--unlearnt", action="store_true", help="leave out the records that the reader learnt from")
    parser.add_argument("--keep", type=Path, help="keep the reports there, and take them from there")
    options = parser.parse_args()
    tables, missing = read_tables(options.folder)
    for pattern in missing:
        print(f"without {pattern}")
    with open_unlearnt_library(options.library, None, options.unlearnt) as library:
        for line in measure(library, tables, options.number, options.seed, options.keep):
            print(line, flush=True)


if __name__ == "__main__":
    main()
