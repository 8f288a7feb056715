"""What the records of the bundled library say of each drug, against a reading by hand (tests/cases/README.md)."""

import json
from pathlib import Path

import pytest

from willowbark.tools.appraisal import Direction, conclusion_of, sample_size
from willowbark.tools.lexicon import drug_synonyms

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "tools" / "sandbox" / "library"
CONDITIONS = {
    "migraine_prevention": "migraine",
    "diabetic_nephropathy": "diabetic nephropathy",
    "smoking_cessation": "smoking cessation",
    "portal_hypertension": "portal hypertension",
}
INTENTS = {"migraine_prevention": "prevention"}
GOLD = [json.loads(line) for line in (ROOT / "tests" / "cases" / "verdicts.jsonl").read_text("utf-8").splitlines()]
RECORDS = {
    row["pmid"]: row
    for topic in CONDITIONS
    for row in map(json.loads, (LIBRARY / f"publications_{topic}.jsonl").read_text("utf-8").splitlines())
}
Pair = tuple[str, str]
FLOORS = {"accuracy": 0.80, "supports": 0.92, "contradicts": 0.83}
MOST_OPPOSITE = 3  # of 335 pairs
JUDGED = [
    json.loads(line) for line in (ROOT / "tests" / "cases" / "verdicts_abstracts.jsonl").read_text("utf-8").splitlines()
]


def pairs(*topics: str) -> list[Pair]:
    """Gold and given verdicts; `unclear` counts as `neutral`."""
    found = []
    for case in GOLD:
        if case["topic"] in topics:
            record, drug = RECORDS[case["pmid"]], case["drug"]
            text = record["abstract"] or ""
            condition, intent = CONDITIONS[case["topic"]], INTENTS.get(case["topic"], "unknown")
            given = conclusion_of(record["title"], text, drug, condition, drug_synonyms(drug), intent=intent)
            found.append(tuple("neutral" if v == "unclear" else v for v in (case["verdict"], given.direction.value)))
    return [(gold, given) for gold, given in found]


def precision(read: list[Pair], label: str) -> float:
    return sum(gold == given == label for gold, given in read) / sum(given == label for _, given in read)


def accuracy(read: list[Pair]) -> float:
    return sum(gold == given for gold, given in read) / len(read)


def test_verdicts_on_the_library_are_mostly_right() -> None:
    read = pairs(*CONDITIONS)
    assert accuracy(read) >= FLOORS["accuracy"]
    assert precision(read, "supports") >= FLOORS["supports"]
    assert precision(read, "contradicts") >= FLOORS["contradicts"]


def test_almost_nothing_is_turned_into_its_opposite() -> None:
    read = pairs(*CONDITIONS)
    opposite = sum({gold, given} == {"supports", "contradicts"} for gold, given in read)
    assert opposite <= MOST_OPPOSITE


@pytest.mark.parametrize(
    ("text", "drug", "verdict"),
    [
        ("Attack frequency fell by 39% on A2 against 22% on placebo (p<0.05).", "A2", "supports"),
        ("Attacks fell by 22% on A2 against 39% on placebo (p<0.05).", "A2", "contradicts"),
        ("Attacks were down by 30% on A2 and 28% on placebo, not significantly different.", "A2", "contradicts"),
        (
            "Propranolol and nadolol both lowered the number of attacks; the drugs did not differ.",
            "nadolol",
            "supports",
        ),
        ("Propranolol lowered the number of attacks more than nadolol (p<0.05).", "nadolol", "neutral"),
        ("Propranolol lowered the number of attacks, but nadolol did not.", "nadolol", "contradicts"),
        ("Pharmacokinetic interaction of nadolol and food; prevention was not tested.", "nadolol", "neutral"),
        ("A review names propranolol as proven, with nadolol still under investigation.", "nadolol", "neutral"),
        ("A review names propranolol as proven, with nadolol still under investigation.", "propranolol", "supports"),
    ],
)
def test_the_clause_that_holds_the_drug_counts(text: str, drug: str, verdict: str) -> None:
    found = conclusion_of("Prevention of migraine", f"{text} Patients had migraine.", drug, "migraine")
    assert found.direction is Direction(verdict)


def test_the_verdicts_on_published_abstracts_hold_no_text_and_no_record_in_both_halves() -> None:
    assert all(set(case) == {"id", "half", "condition", "drug", "verdict", "why"} for case in JUDGED)
    assert len({(case["id"], case["drug"]) for case in JUDGED}) == len(JUDGED)
    assert max(len(case["why"].split()) for case in JUDGED) <= 13
    halves = [{case["id"] for case in JUDGED if case["half"] == half} for half in ("dev", "held")]
    assert all(halves)
    assert not halves[0] & halves[1]


def test_guarded_support_is_marked() -> None:
    found = conclusion_of("Trial in migraine", "Nadolol may reduce migraine attacks.", "nadolol", "migraine")
    assert (found.direction, found.hedged) == (Direction.supports, True)


@pytest.mark.parametrize(
    ("pmid", "size"),
    [("9658386", 27), ("8880046", 3186), ("25657766", 44), ("11141144", 60), ("9314638", 103), ("12163426", 332)],
)
def test_the_size_is_that_of_the_study_and_not_of_those_who_responded(pmid: str, size: int) -> None:
    found = sample_size(RECORDS[pmid]["abstract"])
    assert found
    assert found.value == size
