"""Whole runs on conditions that no rule was made on: how many of the leading drugs are really used.

Runs ask a library of abstracts; the conditions are drawn by seed from those that it knows well enough,
and the drugs in use are those of repoDB (approved; Brown and Patel, Sci Data 2017) and PharmacotherapyDB (disease
modifying or symptomatic; Himmelstein 2016). Neither is complete, so the share is a lower bound; the drugs that they do
not hold are printed, for a pharmacologist to read. `python -m benchmarks.conditions --library DIR --repodb FILE
--pharmacotherapydb FILE` (both `.tsv`, packed or not); `--careful` reads with the encoder too.

`--sizes 1000 5000 10000 --condition schizophrenia` asks of one condition instead, in libraries of so many records: all
that name it, and others drawn by seed. A drug that leads in a small library should not vanish in a large one.
"""

import argparse
import asyncio
import csv
import gzip
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from faults.bundled import bundled_publications

from willowbark.agents.report.content import DrugCandidate
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.run.research import research
from willowbark.tools.appraisal.certainty import CertaintyLevel
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.lexicon.conditions import find_known_conditions, is_generic
from willowbark.tools.library.rows import PublicationRow, record_files
from willowbark.tools.reading.design import StudyDesign

LEADING = 10
"""Candidates of a report that are looked at."""
TITLES = 12
"""Titles that have to name a condition, or there is too little to read."""
KNOWN_DRUGS = 8
ESTABLISHED = 5
"""Records in support from which a drug in use should not come out as very low, trials more so than others."""
TRIALS = frozenset(design.label for design in StudyDesign if design.tier <= 2)


def lines(file: Path) -> Iterator[Mapping[str, str]]:
    """The rows of a table, packed or not."""
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as opened:
        yield from csv.DictReader(opened, delimiter="\t")


def in_use(repodb: Path | None, pharmacotherapydb: Path | None) -> dict[str, set[str]]:
    """The drugs in use by condition, both under their names in the dictionary."""
    pairs = (
        [(row["ind_name"], row["drug_name"]) for row in lines(repodb) if row["TrialStatus"] == "Approved"]
        if repodb
        else []
    )
    if pharmacotherapydb:
        rows = lines(pharmacotherapydb)
        pairs += [(row["disease"], row["drug"]) for row in rows if row["category"] in ("DM", "SYM")]
    found = defaultdict[str, set[str]](set)
    for condition, drug in pairs:
        for name in {name for name, *_ in find_known_conditions(condition)}:
            found[name] |= {mention.name for mention in find_drugs(drug)}
    return found


def drawn(library: Path, used: Mapping[str, set[str]], number: int, seed: int) -> list[str]:
    """Conditions that the library and the tables know well enough."""
    titles = Counter(
        name for p in bundled_publications(library) for name in {name for name, *_ in find_known_conditions(p.title)}
    )
    known = (name for name, drugs in used.items() if len(drugs) >= KNOWN_DRUGS and titles[name] >= TITLES)
    fit = sorted(name for name in known if not is_generic(name))
    return random.Random(seed).sample(fit, min(number, len(fit)))


def lost(candidate: DrugCandidate, report: ResearchReport) -> str:
    """What supports a drug that is called very uncertain in spite of much support; nothing else has any words."""
    support = len(candidate.supporting_citations)
    if support < ESTABLISHED or candidate.certainty != CertaintyLevel.very_low.said:
        return ""
    designs = {row.key: row.design for row in report.evidence_table if row.drug == candidate.name}
    trials = sum(designs.get(key) in TRIALS for key in candidate.supporting_citations)
    return f"{candidate.name} ({support} records, {trials} of them trials or reviews of such)"


def leading_in(report: ResearchReport) -> list[DrugCandidate]:
    """The candidates that lead a report."""
    return [c for c in report.candidates if c.supporting_citations and c.evidence_quality != "refuted"][:LEADING]


def told(condition: str, report: ResearchReport, used: set[str]) -> tuple[Counter[str], Counter[str], list[str]]:
    """Print a run; the leading drugs in use and all that lead, by certainty, and those lost among them."""
    leading = leading_in(report)
    known, others = ([c for c in leading if (c.name in used) is is_used] for is_used in (True, False))
    very_low = [said for each in report.candidates if each.name in used and (said := lost(each, report))]
    print(f"{condition}: {report.total_papers_reviewed} records, {len(known)} of {len(leading)} in use", flush=True)
    for name, drugs in (("in use", known), ("not in the tables", others)):
        if drugs:
            print(f"    {name}: {', '.join(f'{each.name} ({each.certainty})' for each in drugs)}")
    if very_low:
        print(f"    in use, yet very low: {', '.join(very_low)}")
    return Counter(c.certainty for c in known), Counter(c.certainty for c in leading), very_low


def grown(library: Path, condition: str, size: int, seed: int, folder: Path) -> Path:
    """A library of so many publications: those that name a condition, and others; its other records stay."""
    papers = bundled_publications(library)
    naming = [p for p in papers if condition in {n for n, *_ in find_known_conditions(_text(p))}]
    others = [p for p in papers if p not in naming]
    chosen = random.Random(seed).sample(others, max(0, min(size - len(naming), len(others))))
    print(f"{len(naming) + len(chosen):,} records, {len(naming)} of which name {condition}", flush=True)
    for file in record_files(library):
        if not file.name.startswith("publications"):
            (folder / file.name).symlink_to(file.resolve())
    lines = (each.model_dump_json() + "\n" for each in (*naming, *chosen))
    (folder / "publications.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def _text(publication: PublicationRow) -> str:
    return f"{publication.title}. {publication.abstract or ''}"


def leaders_of(library: Path, condition: str, size: int, seed: int) -> set[str]:
    """The drugs that lead a report over a library of so many publications."""
    with tempfile.TemporaryDirectory() as folder:
        report = asked_of(condition, grown(library, condition, size, seed, Path(folder)))
    names = [each.name for each in leading_in(report)]
    print(f"    {report.total_papers_reviewed} read: {', '.join(names)}", flush=True)
    return set(names)


def asked_of(condition: str, library: Path, reader: str = "learned") -> ResearchReport:
    """A run on what treats a condition."""
    settings = Settings().overridden({"research.reader": reader})
    question = f"Which existing drugs treat {condition}?"
    return asyncio.run(research(question, settings=settings, library=library))


def main() -> None:
    """Run the conditions one after another, and add up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--repodb", type=Path)
    parser.add_argument("--pharmacotherapydb", type=Path)
    parser.add_argument("--number", type=int, default=22)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--careful", action="store_true", help="read with the encoder too")
    parser.add_argument("--sizes", type=int, nargs="+", help="ask of one condition, in libraries of so many records")
    parser.add_argument("--condition", default="schizophrenia", help="to ask of with --sizes")
    asked = parser.parse_args()
    library, used = asked.library, in_use(asked.repodb, asked.pharmacotherapydb)
    if asked.sizes:
        lists = [leaders_of(library, asked.condition, size, asked.seed) for size in asked.sizes]
        print(f"leading everywhere: {len(set.intersection(*lists))}; anywhere: {len(set.union(*lists))}")
        return
    reader = "careful" if asked.careful else "learned"
    found = [
        told(name, asked_of(name, library, reader), used[name])
        for name in drawn(library, used, asked.number, asked.seed)
    ]
    known = sum((each[0] for each in found), Counter[str]())
    leading = sum((each[1] for each in found), Counter[str]())
    very_low = sum(len(each[2]) for each in found)
    for level in ("all", *leading):
        used_now, lead = (each.total() if level == "all" else each[level] for each in (known, leading))
        print(f"{len(found)} conditions, {level}: {used_now} of {lead} leading drugs in use ({used_now / lead:.0%})")
    print(f"in use with {ESTABLISHED} or more records in support, yet very low: {very_low}")


if __name__ == "__main__":
    main()
