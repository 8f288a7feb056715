"""True quotes put to a wrong use: how many are disputed, of the comparisons that a strong model read.

    python -m benchmarks.wrong_use [NAME …]

Takes each comparison that the model of a recorded run (`recorded.py`) read in a publication, with the sentences that it
names for it. A result told as better and so meant should stand; one without a difference, or in which the drug
did worse, is told as better here, and should be disputed by its own sentences.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.recorded import FOLDER, find_replayable, list_studies, read_recorded

from willowbark.agents.asking.drafts import ComparisonDraft, StudyDraft
from willowbark.agents.asking.studies import find_drug_name
from willowbark.tools.reading.passages import find_wrong_use


class TestedUse(NamedTuple):
    """A comparison whose sentences are asked whether the tested drug did better."""

    kind: str
    """better, as the model read it; none or worse: told as better here alone."""
    key: str
    drug: str
    passage: str
    why: str
    """Why its sentences do not bear a better result out; empty if they may."""


def uses_of(draft: StudyDraft) -> Iterator[TestedUse]:
    """The comparisons of a study that test a drug and tell who did better, each told as better."""
    arms = {arm.name.casefold(): arm for arm in draft.arms}
    for row in draft.comparisons:
        arm = arms.get(row.arm.casefold())
        kind = _find_kind(row)
        if arm is None or not arm.drugs or not kind:
            continue
        drug = find_drug_name(arm.drugs[0])
        why = find_wrong_use(row.quote, drug, row.condition or draft.condition)
        yield TestedUse(kind, draft.evidence_key, drug, row.quote, why)


def _find_kind(row: ComparisonDraft) -> str:
    """What the model read in a comparison; empty where it is neither told nor sure."""
    if row.equivalence != "none" or row.favours == "untold":
        return ""
    if row.favours == "neither" or row.significant == "no":
        return "none"
    return "better" if row.favours == "arm" else "worse"


def collect(names: list[str]) -> list[TestedUse]:
    """The comparisons of recorded runs, those of collections that are not at hand left out."""
    uses = list[TestedUse]()
    for name, where in find_replayable(names):
        head, answers = read_recorded(name, where)
        for draft, _ in list_studies(answers, head["question"], where):
            uses += uses_of(draft)
    return list(dict.fromkeys(uses))


def print_counts(uses: list[TestedUse], *, verbose: bool) -> None:
    """Print how many are disputed, by what the model read."""
    numbers = Counter(use.kind for use in uses)
    disputed = Counter(use.kind for use in uses if use.why)
    titles = {
        "better": "told as better, and so meant",
        "none": "without a difference",
        "worse": "in which it did worse",
    }
    print(f"{len(uses)} comparisons; disputed, if told as better:")
    for kind, title in titles.items():
        share = disputed[kind] / numbers[kind] if numbers[kind] else 0.0
        print(f"  {disputed[kind]:4} of {numbers[kind]:4} {title} ({share:.1%})")
    for use in uses if verbose else ():
        if bool(use.why) == (use.kind == "better"):
            print(f"  {use.kind}, {use.key}, {use.drug}: {use.why or 'stands'}: {use.passage}")


def main() -> None:
    """Replay and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="recorded runs; all by default")
    parser.add_argument("--verbose", action="store_true", help="print what is disputed or stands against its kind")
    arguments = parser.parse_args()
    names = arguments.names or sorted(path.stem for path in FOLDER.glob("*.jsonl"))
    print_counts(collect(names), verbose=arguments.verbose)


if __name__ == "__main__":
    main()
