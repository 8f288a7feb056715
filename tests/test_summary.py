"""The first screen: the answer in GRADE's words, the leading drugs, what failed, cautions, what is missing."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION, ScriptedReader, asked, findings, material, record, reply
from hypothesis import given
from hypothesis import strategies as st

from willowbark.agents.checking.written import CheckedSentence, WrittenAnswer
from willowbark.agents.findings import Dossier
from willowbark.agents.report.content import BestEstimate, DrugCandidate, SummaryPart
from willowbark.agents.report.material import Material
from willowbark.agents.report.summary import (
    ADVICE,
    SUMMARY_LIMIT,
    rate_confidence,
    shorten_first_screen,
    write_first_screen,
)
from willowbark.tools.appraisal import Level
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.certainty import find_outcome
from willowbark.tools.appraisal.sorting import DrugPlace, SortedDrug, StrongestStudy, TrialTally
from willowbark.tools.appraisal.suitability import is_barred
from willowbark.tools.search import SourceReply, Status

LEVELS: tuple[Level, ...] = ("high", "moderate", "low", "very low")


def asked_of(question: str = QUESTION, *replies: SourceReply, reader: ScriptedReader | None = None) -> Material:
    dossier = Dossier()
    dossier.add([asked(question), findings("literature", *replies)])
    return material(question, dossier.pool(), Readings(reader) if reader else None, dossier)


def place_of(support: int, against: int, quality: str, **fields: Any) -> DrugPlace:
    """Place a drug that a model read, of which each study counts."""
    cautions = fields.get("cautions", ())
    if is_barred(cautions):
        return "withdrawn" if any(caution.startswith("Withdrawn") for caution in cautions) else "unsuited"
    if fields.get("group") == "established":
        return "standard"
    outcome = find_outcome(support, against, 0, is_refuted=quality == "refuted")
    places: dict[str, DrugPlace] = {"failed": "failed", "mixed": "mixed", "supported": "benefit", "missed": "missed"}
    return places.get(outcome, "not_judged")


def candidate(
    name: str, certainty: Level = "high", support: int = 1, against: int = 0, quality: str = "", **fields: Any
) -> DrugCandidate:
    qualities = dict(zip(LEVELS, ("strong", "moderate", "weak", "weak"), strict=True))
    place = place_of(support, against, quality, **fields)
    tally = TrialTally(against_nothing=support + against, benefit=support, missed=against)
    best = BestEstimate(key="pmid:0", result="better", comparator="placebo", participants=500) if support else None
    return DrugCandidate(
        name=name,
        sorting=SortedDrug(place=place, tally=tally, is_read_by_model=True),
        certainty=certainty,
        evidence_quality=quality or qualities[certainty],  # type: ignore[arg-type]
        contradicting_citations=[f"pmid:9{n}" for n in range(against)],
        **{"supporting_citations": [f"pmid:{n}" for n in range(support)], "best_estimate": best, **fields},
    )


def summary(*candidates: DrugCandidate, of: Material | None = None) -> str:
    return " ".join(part.line for part in write_first_screen(of or asked_of(QUESTION, TRIAL), candidates))


BLINDED = record(
    "11111111",
    "Propranolol in migraine prevention: a double-blind trial",
    "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).",
    publication_types=["Randomized Controlled Trial"],
)
TRIAL = reply(BLINDED)


CASES = [
    json.loads(line) for line in (Path(__file__).parent / "cases" / "summary.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[each["case"] for each in CASES])
def test_the_answer_comes_first_in_the_words_that_grade_has_for_its_certainty(case: dict[str, Any]) -> None:
    found = [candidate(**drug) for drug in case["drugs"]]
    told = summary(*found, of=asked_of(case.get("question", QUESTION), TRIAL))

    assert told.startswith(case.get("first", ""))
    assert case.get("said", "") in told
    if all("withdrawn" in each.marks or each.evidence_quality == "refuted" for each in found):
        assert [words for words in ("helps", "may help") if words in told] == []


@pytest.mark.parametrize(
    ("effect", "support", "against", "quality"),
    [("better", 1, 0, ""), ("worse", 0, 1, "weak"), ("worse", 1, 3, "refuted")],
)
def test_drugs_that_only_animals_or_cells_were_given_are_not_said_to_help(
    effect: str, support: int, against: int, quality: str
) -> None:
    found = asked_of(QUESTION, TRIAL, reader=ScriptedReader(effect=effect, design="animal"))
    drug = candidate("propranolol", "very low", support, against, quality)
    told = summary(drug.model_copy(update={"sorting": found.places["propranolol"]}), of=found)

    assert ("Tested with benefit in animals or cells alone: propranolol." in told) is (effect == "better")
    assert "helps" not in told


def test_a_headline_that_rests_on_a_marker_says_so() -> None:
    marker = BestEstimate(key="pmid:0", result="better", comparator="placebo", outcome="a marker of the condition")
    assert summary(candidate("lisinopril", best_estimate=marker)).startswith(
        "Lisinopril (by a marker of the condition) helps"
    )


def test_that_no_study_contradicts_is_said_of_drugs_that_were_judged_alone() -> None:
    judged = candidate("propranolol")
    unjudged = judged.model_copy(update={"sorting": SortedDrug(place="not_judged", cause="one_trial")})

    assert "Failed: no study found contradicts these drugs." in summary(judged)
    assert "no study found contradicts" not in summary(unjudged)


def test_a_source_that_did_not_answer_is_named_and_no_evidence_is_no_answer() -> None:
    down = reply(source="europepmc", status=Status.UNAVAILABLE)
    assert "Missing: Europe PMC did not answer;" in summary(
        candidate("propranolol"), of=asked_of(QUESTION, TRIAL, down)
    )
    told = summary(of=asked_of())
    assert told.startswith("No answer: no existing drug with verifiable evidence to prevent migraine was found")
    assert "Read: no publication or trial was found" in told
    rated = rate_confidence(asked_of("Do gepants prevent migraine attacks?", TRIAL))
    assert rated == (0.0, "nothing read gives an answer")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("timeout", "the time budget was nearly used up"),
        ("token_budget_exceeded", "the token budget was nearly used up"),
    ],
)
def test_a_run_that_ended_before_any_source_answered_does_not_say_that_nothing_was_found(
    reason: str, words: str
) -> None:
    first = summary(of=replace(asked_of(), stop_reason=reason))
    assert first.startswith(f"No answer: {words} before any source answered, so no drug to prevent migraine was")
    assert "was found, so" not in first


def test_twelve_drugs_and_their_estimates_take_two_hundred_words_at_most() -> None:
    drugs = [candidate(f"drug number {n}", support=7, against=2) for n in range(12)]

    parts = write_first_screen(asked_of(QUESTION, TRIAL), drugs)

    assert sum(len(part.line.split()) for part in parts) <= 200
    assert len([part for part in parts if part.label.startswith("Drug")]) >= 3


names = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=200)
candidates = st.lists(
    st.builds(candidate, names, st.sampled_from(LEVELS), st.integers(0, 9), st.integers(0, 9)), max_size=12
)


@given(candidates)
def test_it_keeps_its_bounds_and_ends_in_the_advice(some: list[DrugCandidate]) -> None:
    parts = write_first_screen(asked_of(QUESTION, TRIAL), some)
    told = shorten_first_screen(parts)

    assert 100 <= len(told) <= 1000
    assert told.endswith(ADVICE)
    assert told.startswith(parts[0].text[:100])


def test_what_fits_of_many_long_parts_is_kept_whole_and_failures_before_estimates() -> None:
    estimates = [SummaryPart(label="Propranolol", text=str(number) * 180) for number in range(5)]
    first, failed = SummaryPart(text="b" * 300), SummaryPart(label="Failed", text="c" * 180)
    told = shorten_first_screen([first, *estimates, failed, SummaryPart(text=ADVICE)])

    assert 900 < len(told) <= 1000
    assert failed.line in told
    assert [each.line in told for each in estimates] == [True, True, False, False, False]


REFUSED = SourceReply(source="clinicaltrials", query="migraine", status=Status.UNAVAILABLE, warnings=["refused (403)"])
NONE = SourceReply(source="clinicaltrials", query="migraine", status=Status.EMPTY)


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        (
            [TRIAL, REFUSED],
            "1 publication from public sources; registered trials were not read, as ClinicalTrials.gov did not answer;",
        ),
        ([TRIAL, NONE], "1 publication and 0 registered trials from public sources;"),
        (
            [REFUSED],
            "no publication was found in public sources; registered trials were not read, as ClinicalTrials.gov did",
        ),
        ([NONE], "no publication or trial was found in public sources;"),
    ],
    ids=["refused", "none found", "refused and nothing else", "nothing"],
)
def test_trials_that_were_not_read_are_not_told_as_none_found(replies: list[SourceReply], words: str) -> None:
    assert words in summary(of=asked_of(QUESTION, *replies))


def sorted_drug(name: str, place: DrugPlace, **fields: Any) -> DrugCandidate:
    """A drug as the small reader alone read it."""
    quality = "refuted" if place == "failed" else ""
    found = candidate(name, fields.pop("certainty", "high"), quality=quality)
    return found.model_copy(update={"sorting": SortedDrug(place=place, **fields)})


def test_without_a_model_the_first_screen_sorts_and_words_no_efficacy() -> None:
    quoted = StrongestStudy(
        key="pmid:11111111", against="placebo", quote="Gabapentin halved attacks (P = .008).", participants=143
    )
    found = [
        sorted_drug("gabapentin", "benefit", tally=TrialTally(benefit=3, missed=1), strongest=quoted),
        sorted_drug("flunarizine", "standard", tally=TrialTally(as_comparator=4), certainty="very low"),
        sorted_drug("cyclandelate", "failed"),
        sorted_drug("naproxen", "missed", tally=TrialTally(missed=1), missed_primary=True),
        sorted_drug("timolol", "not_judged", cause="one_trial"),
        sorted_drug("riboflavin", "not_judged", cause="reviews"),
        sorted_drug("atenolol", "not_judged", cause="combinations"),
        sorted_drug("nadolol", "not_judged", cause="no_trial"),
    ]

    told = summary(*found)

    assert [words for words in ("helps", "may help", "probably", "uncertain", " certainty") if words in told] == []
    assert "report benefit of: gabapentin (3 of 4)." in told
    assert "flunarizine (comparator in 4 trials)" in told
    assert (
        "Gabapentin: 3 of 4 trials report benefit; the strongest against placebo, 143 participants: "
        "“Gabapentin halved attacks (P = .008)”." in told
    )
    assert "No benefit shown: naproxen (primary outcome missed in 1 trial)." in told
    assert (
        "Not judged: too little was read. One trial reports benefit: timolol. No trial of it against placebo or "
        "nothing among these records: nadolol. Only in combinations: atenolol. Only reviews name it: riboflavin."
        in told
    )
    assert [told.count(name) for name in ("cyclandelate", "naproxen", "timolol", "riboflavin")] == [1, 1, 1, 1]


def test_a_written_summary_keeps_cautions_and_what_was_not_checked() -> None:
    sentence = CheckedSentence(text="Propranolol reduced attacks. " * 30, citations=["pmid:1"])
    written = WrittenAnswer(answer=[sentence], writer="m", checker="m")
    parts = [
        SummaryPart(text="Propranolol helps."),
        SummaryPart(label="Cautions", text="boxed warning: propranolol."),
        SummaryPart(label="Not checked", text="for pregnancy: propranolol; no label was read."),
        SummaryPart(text="This is not medical advice."),
    ]
    line = shorten_first_screen(parts, written)
    assert "Cautions: boxed warning: propranolol." in line
    assert "Not checked: for pregnancy: propranolol" in line
    assert line.endswith("This is not medical advice.")
    assert len(line) <= SUMMARY_LIMIT
