"""Which kind of question is asked, what it leaves out, and which names it is searched under."""

import csv
from pathlib import Path

import pytest

from willowbark.tools.appraisal.candidates import appraise_candidates, known_drugs
from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.lexicon import canonical_condition, condition_synonyms, find_conditions
from willowbark.tools.lexicon.matching import phrase_key, read_table
from willowbark.tools.questions import parse_question, preprocess_query

TABLE = Path(__file__).parent / "cases" / "questions.tsv"
SMALLEST_SHARE = {"made on": 0.97, "apart": 0.92}
ABBREVIATIONS_THAT_ARE_WORDS = 10
NOT_SEARCHED_FOR = 25  # of a thousand: further spellings of conditions with more than eight names


@pytest.mark.parametrize("part", SMALLEST_SHARE)
def test_the_kind_of_a_question_is_told_in_many_wordings(part: str) -> None:
    lines = (line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    asked = [row for row in csv.DictReader(lines, delimiter="\t") if row["part"] == part]
    right = sum(parse_question(row["question"]).kind == row["kind"] for row in asked)

    assert right / len(asked) >= SMALLEST_SHARE[part]


@pytest.mark.parametrize(
    ("question", "drugs", "classes"),
    [
        ("Which drugs treat acute migraine without triptans?", (), ("triptans",)),
        ("pain relief after surgery, not opioids", (), ("opioids",)),
        ("Which drugs that are not beta blockers prevent migraine?", (), ("beta-blockers",)),
        ("Treatments for ulcerative colitis excluding steroids", (), ("corticosteroids",)),
        ("gout drugs other than allopurinol", ("allopurinol",), ()),
        (
            "What treats depression except SSRIs, lithium or tricyclic antidepressants?",
            ("lithium",),
            ("ssris", "tricyclic antidepressants"),
        ),
        ("asthma treatment avoiding steroids", (), ("corticosteroids",)),
        ("What helps migraine if I can't tolerate propranolol or topiramate?", ("propranolol", "topiramate"), ()),
        ("steroid-free maintenance of ulcerative colitis", (), ("corticosteroids",)),
        ("What can be taken instead of opioids for back pain?", (), ("opioids",)),
        ("migraine NOT (valproate OR topiramate)", ("valproic acid", "topiramate"), ()),
    ],
)
def test_drugs_and_classes_can_be_left_out(question: str, drugs: tuple[str, ...], classes: tuple[str, ...]) -> None:
    parsed = parse_question(question)

    assert (parsed.excluded_drugs, parsed.excluded_classes) == (drugs, classes)
    assert (parsed.drugs, parsed.drug_classes) == ((), ())
    assert " NOT " in f" {preprocess_query(question)}"


@pytest.mark.parametrize(
    ("question", "drugs"),
    [
        ("Does gabapentin not help in migraine?", ("gabapentin",)),
        ("Should people with asthma avoid propranolol?", ("propranolol",)),
        ("Is sumatriptan better than aspirin rather than placebo in migraine?", ("sumatriptan", "aspirin")),
        ("fever NOT ibuprofen OR paracetamol", ("acetaminophen",)),
    ],
)
def test_a_no_to_something_else_leaves_no_drug_out(question: str, drugs: tuple[str, ...]) -> None:
    assert parse_question(question).drugs == drugs


def test_what_is_left_out_is_no_candidate() -> None:
    text = "Topiramate, propranolol and timolol prevented migraine. Propranolol was better than placebo."
    record = Evidence(
        content=text,
        citation=Citation(source="pubmed", title=text[:55], url="https://pubmed.ncbi.nlm.nih.gov/1/", date="2020"),
    )

    named = appraise_candidates("Which drugs other than topiramate prevent migraine, without beta blockers?", [record])

    assert [candidate.drug for candidate in named] == []
    assert known_drugs("Which drugs other than topiramate prevent migraine?", [record]) == []


def _synonyms() -> list[tuple[str, str]]:
    rows = read_table("conditions.tsv")
    return [(row["name"], name) for row in rows for name in condition_synonyms(row["name"])[1:]]


def test_conditions_are_found_under_all_their_names() -> None:
    """In questions and in records; only MeSH's inverted names ("diabetes mellitus, type 2") are not."""
    asked = [name for common, name in _synonyms() if parse_question(f"Drugs for {name}?").conditions != (common,)]
    read = [
        name for common, name in _synonyms() if common not in [found.name for found in find_conditions(f"In {name}.")]
    ]
    lower = [name for _, name in _synonyms() if canonical_condition(name.lower()) is None]

    assert {name for name in (*asked, *read) if ", " not in name} == set()
    assert len(lower) <= ABBREVIATIONS_THAT_ARE_WORDS


def test_a_condition_is_searched_for_under_nearly_all_its_names() -> None:
    def is_searched_for(common: str, name: str) -> bool:
        query = preprocess_query(f"Drugs for {common}").strip("()")
        return any(f" {phrase_key(each)} " in f" {phrase_key(name)} " for each in query.split(" OR "))

    missed = [name for common, name in _synonyms() if not is_searched_for(common, name)]

    assert len(missed) <= NOT_SEARCHED_FOR, missed
