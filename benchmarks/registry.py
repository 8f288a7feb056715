"""Posted registry results, as the product reads them: what they say of each drug, beside a reading by hand.

    python -m benchmarks.registry FILE.jsonl.gz [--part apart] [--show]

FILE holds studies as ClinicalTrials.gov's API gives them, one a line. `labels/registry_results.tsv` says, of the drugs
that were read against the registry's own groups, values and p values, what the trial says of the drug in the condition
that it is on; trials are in one of two parts by the SHA-256 of their number: rules were settled on `open`, and the
figure is that of `apart`.
"""

import argparse
import csv
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Literal

from willowbark.tools.appraisal import Direction, PostedFinding, find_posted_result
from willowbark.tools.reading.outcomes import parse_posted_number
from willowbark.tools.reading.registered import read_registered_trial
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.study import Study
from willowbark.tools.sources.studies.clinicaltrials import parse_study

LABELS = Path(__file__).parent / "labels" / "registry_results.tsv"
Part = Literal["open", "apart"]
SAYS_SOMETHING = ("contradicts", "supports", "missed", "mixed")


def part_of(number: str) -> Part:
    """Return the part that a trial is in."""
    return "open" if int(hashlib.sha256(number.encode()).hexdigest()[0], 16) % 2 == 0 else "apart"


def read_trials(path: Path, part: Part | None) -> Iterator[tuple[Evidence, Study]]:
    """Read the trials of a file, in one part of it or in both."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = parse_study(json.loads(line))
            study = read_registered_trial(record) if record else None
            if record and study and part in (None, part_of(record.record.nct_id or "")):
                yield record, study


def find_word(finding: PostedFinding) -> str:
    """Return what a finding says of a drug, in one word."""
    if finding.missed_primary:
        return "missed"
    if finding.direction is Direction.inconclusive:
        return "mixed" if "primary outcomes disagree" in finding.reason else "nothing"
    return "nothing" if finding.direction is Direction.not_assessed else finding.direction.value


def count_estimates(record: Evidence, study: Study) -> tuple[int, int]:
    """Count the estimates posted for two groups of a primary outcome, and those that the study carries."""
    results = record.trial.results if record.trial else None
    outcomes = results.get("primary_outcomes", ()) if results else ()
    analyses = chain.from_iterable(outcome.get("analyses", ()) for outcome in outcomes)
    pairs = [analysis for analysis in analyses if len(analysis.get("groups", ())) == 2]
    posted = sum(parse_posted_number(analysis.get("effect_value")) is not None for analysis in pairs)
    carried = sum(
        row.versus is not None and row.estimate is not None and row.estimate.value is not None
        for row in study.comparisons
    )
    return posted, carried


def read_labels() -> Mapping[tuple[str, str], str]:
    """Read what a trial says of a drug, by number and drug."""
    with LABELS.open(encoding="utf-8") as lines:
        rows = csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t")
        return {(row["trial"], row["drug"]): row["says"] for row in rows}


def main() -> None:
    """Read, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--part", choices=("open", "apart"))
    parser.add_argument("--show", action="store_true", help="print what each trial says of each drug, and why")
    options = parser.parse_args()
    labels = read_labels()
    verdicts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    unlabelled: Counter[str] = Counter()
    arms = unknown = posted = carried = unread = 0
    for record, study in read_trials(options.file, options.part):
        arms += len(study.arms)
        unknown += sum(arm.role == "unknown" for arm in study.arms)
        own = count_estimates(record, study)
        posted += own[0]
        carried += own[1]
        unread += any(row.favours is None and row.endpoint == "efficacy" for row in study.comparisons)
        for drug in sorted(set(chain.from_iterable(arm.drugs for arm in study.arms))):
            finding = find_posted_result(record, drug)
            word = find_word(finding) if finding else "nothing"
            number = record.record.nct_id or ""
            label = labels.get((number, drug))
            if word in SAYS_SOMETHING:
                verdicts[word] += 1
                wrong[word] += label is not None and label != word
                unlabelled[word] += label is None
            if options.show and finding and (word in SAYS_SOMETHING or label):
                note = "" if label in (None, word) else f"  READ AS {label}"
                print(f"{number}\t{drug}\t{word}\t{finding.reason}{note}")
    for word in SAYS_SOMETHING:
        more = f", {unlabelled[word]} not read by hand" if unlabelled[word] else ""
        print(f"{word}: {verdicts[word]}, of them wrong {wrong[word]}{more}")
    print(f"trials with a primary comparison that could not be read: {unread}")
    print(f"primary estimates carried: {carried} of {posted}")
    print(f"arms unknown: {unknown} of {arms}")


if __name__ == "__main__":
    main()
