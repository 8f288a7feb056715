"""The first screen: the answer in GRADE's words, the leading drugs, what failed, cautions, what is missing."""

import pytest
from builders import QUESTION, ScriptedReader, asked, findings, material, record, reply
from hypothesis import given
from hypothesis import strategies as st

from willowbark.agents.findings import Dossier
from willowbark.agents.report.content import BestEstimate, DrugCandidate
from willowbark.agents.report.material import Material
from willowbark.agents.report.summary import ADVICE, confidence, first_screen, in_short, title
from willowbark.tools.appraisal import Level
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.search import SourceReply, Status

LEVELS: tuple[Level, ...] = ("high", "moderate", "low", "very low")


def asked_of(question: str = QUESTION, *replies: SourceReply, reader: ScriptedReader | None = None) -> Material:
    dossier = Dossier()
    dossier.add([asked(question), findings("literature", *replies)])
    return material(question, dossier.pool(), Readings(reader) if reader else None, dossier)


def candidate(
    name: str, certainty: Level = "high", support: int = 1, against: int = 0, quality: str = ""
) -> DrugCandidate:
    qualities = dict(zip(LEVELS, ("strong", "moderate", "weak", "weak"), strict=True))
    return DrugCandidate(
        name=name,
        certainty=certainty,
        evidence_quality=quality or qualities[certainty],  # type: ignore[arg-type]
        supporting_citations=[f"pmid:{n}" for n in range(support)],
        contradicting_citations=[f"pmid:9{n}" for n in range(against)],
        best_estimate=BestEstimate(key="pmid:0", result="better", comparator="placebo", participants=500)
        if support
        else None,
    )


def summary(*candidates: DrugCandidate, of: Material | None = None) -> str:
    found = of or asked_of(QUESTION, TRIAL)
    return " ".join(part.line for part in first_screen(found, candidates))


BLINDED = record(
    "11111111",
    "Propranolol in migraine prevention: a double-blind trial",
    "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).",
    publication_types=["Randomized Controlled Trial"],
)
TRIAL = reply(BLINDED)


@pytest.mark.parametrize(
    ("certainty", "said"),
    [
        ("high", "Propranolol helps to prevent migraine (high certainty)."),
        ("moderate", "Propranolol probably helps to prevent migraine (moderate certainty)."),
        ("low", "Propranolol may help to prevent migraine (low certainty)."),
        ("very low", "Whether propranolol helps to prevent migraine is very uncertain (very low certainty)."),
    ],
)
def test_the_answer_comes_first_in_the_words_that_grade_has_for_its_certainty(certainty: str, said: str) -> None:
    assert summary(candidate("propranolol", certainty)).startswith(said)


def test_drugs_of_one_certainty_share_a_sentence_and_the_topic_is_named_once() -> None:
    told = summary(candidate("propranolol"), candidate("timolol"), candidate("riboflavin", "low"))

    assert told.startswith(
        "Propranolol and timolol help to prevent migraine (high certainty). Riboflavin may help (low"
    )


def test_drugs_that_only_animals_or_cells_were_given_are_not_said_to_help() -> None:
    reader = ScriptedReader(effect="better", design="animal")

    told = summary(candidate("propranolol", "very low"), of=asked_of(QUESTION, TRIAL, reader=reader))

    assert told.startswith("Tested with benefit in animals or cells alone: propranolol.")


@pytest.mark.parametrize(("support", "against", "quality"), [(0, 1, "weak"), (1, 3, "refuted")])
def test_a_drug_without_benefit_in_animals_or_cells_is_not_said_to_have_one(
    support: int, against: int, quality: str
) -> None:
    reader = ScriptedReader(effect="worse", design="animal")
    found = candidate("propranolol", "very low", support, against, quality)

    assert "with benefit in animals" not in summary(found, of=asked_of(QUESTION, TRIAL, reader=reader))


def test_each_leading_drug_has_its_best_estimate_with_comparator_participants_and_certainty() -> None:
    parts = first_screen(asked_of(QUESTION, TRIAL), [candidate("propranolol"), candidate("timolol", "low")])

    assert [(part.label, part.text) for part in parts[1:3]] == [
        ("Propranolol", "high certainty; better than placebo, 500 participants."),
        ("Timolol", "low certainty; better than placebo, 500 participants."),
    ]
    assert parts[1].citations == ["pmid:0"]


def test_repurposing_candidates_lead_and_drugs_already_approved_follow() -> None:
    known = candidate("propranolol").model_copy(update={"group": "established"})
    new = candidate("lisinopril", "low").model_copy(update={"group": "repurposing"})

    parts = first_screen(asked_of(QUESTION, TRIAL), [known, new])

    assert parts[0].text == (
        "Lisinopril may help to prevent migraine (low certainty). Of drugs already approved or standard for migraine, "
        "propranolol helps (high certainty)."
    )
    assert [part.label for part in parts[1:3]] == ["Lisinopril", "Propranolol"]


def test_where_all_is_approved_the_answer_says_that_no_repurposing_candidate_is_supported() -> None:
    known = candidate("propranolol").model_copy(update={"group": "established"})

    assert summary(known).startswith(
        "Of drugs already approved or standard for migraine, propranolol helps (high certainty). No repurposing "
    )


def test_a_withdrawn_drug_is_no_candidate_and_its_support_is_told() -> None:
    withdrawn = candidate("rofecoxib").model_copy(update={"cautions": ["Withdrawn: worldwide, 2004"]})

    told = summary(withdrawn, of=asked_of(QUESTION, TRIAL))

    assert told.startswith("Withdrawn from a market, and so no candidates: rofecoxib (high certainty).")
    assert "helps" not in told
    assert "Cautions: withdrawn: rofecoxib." in told


def test_a_caution_is_marked_wherever_its_drug_is_said_to_help() -> None:
    boxed = candidate("valproic acid").model_copy(update={"cautions": ["Boxed warning: liver failure"]})

    told = summary(boxed, of=asked_of(QUESTION, TRIAL))

    assert told.startswith("Valproic acid (boxed warning) helps to prevent migraine")
    assert "Cautions: boxed warning: valproic acid." in told


def test_what_is_against_is_counted_and_its_absence_said() -> None:
    told = summary(candidate("propranolol", against=2))
    assert "Failed or harmful: propranolol (2 contradicting, 1 supporting)." in told
    assert "Failed or harmful: no study found contradicts these drugs." in summary(candidate("propranolol"))


def test_a_refuted_drug_is_never_said_to_help() -> None:
    told = summary(candidate("cyclandelate", "very low", 1, 5, "refuted"))

    assert told.startswith("No existing drug has supporting evidence to prevent migraine.")
    assert "Failed or harmful: cyclandelate (refuted, 5 contradicting, 1 supporting)." in told
    assert "helps" not in told
    assert "may help" not in told


def test_a_drug_asked_about_by_name_is_answered_for() -> None:
    found = asked_of("Does timolol prevent migraine?", TRIAL)

    told = summary(candidate("propranolol"), of=found)
    assert told.startswith("We found no verifiable evidence on timolol, which you asked about. Propranolol helps to ")


def test_a_drug_asked_about_by_name_comes_before_better_ones() -> None:
    found = asked_of("Does timolol or nadolol prevent migraine?", TRIAL)
    told = summary(
        candidate("propranolol"), candidate("timolol", "low"), candidate("nadolol", "very low", 0, 2), of=found
    )

    assert told.startswith(
        "Timolol may help to prevent migraine (low certainty). No study found supports nadolol to prevent migraine: "
        "2 contradicting studies, too few to refute it. Propranolol helps (high certainty)."
    )


def test_a_source_that_did_not_answer_is_named() -> None:
    down = reply(source="europepmc", status=Status.UNAVAILABLE)
    found = asked_of(QUESTION, TRIAL, down)

    assert "Missing: Europe PMC did not answer;" in summary(candidate("propranolol"), of=found)


def test_without_evidence_it_says_that_there_is_no_answer() -> None:
    told = summary(of=asked_of())

    assert told.startswith("No answer: no existing drug with verifiable evidence to prevent migraine was found")
    assert "Read: no publication or trial was found" in told


def test_twelve_drugs_and_their_estimates_take_two_hundred_words_at_most() -> None:
    drugs = [candidate(f"drug number {n}", against=2) for n in range(12)]

    parts = first_screen(asked_of(QUESTION, TRIAL), drugs)

    assert sum(len(part.line.split()) for part in parts) <= 200
    assert len([part for part in parts if part.label.startswith("Drug")]) >= 3


names = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=200)
candidates = st.lists(
    st.builds(candidate, names, st.sampled_from(LEVELS), st.integers(0, 9), st.integers(0, 9)), max_size=12
)


@given(candidates)
def test_it_keeps_its_bounds_and_ends_in_the_advice(some: list[DrugCandidate]) -> None:
    parts = first_screen(asked_of(QUESTION, TRIAL), some)
    told = in_short(parts)

    assert 100 <= len(told) <= 1000
    assert told.endswith(ADVICE)
    assert told.startswith(parts[0].text[:100])


def test_its_parts_stand_in_their_order() -> None:
    found = asked_of(QUESTION, TRIAL)
    told = first_screen(found, [candidate("propranolol")])

    assert [part.label for part in told] == ["", "Propranolol", "Failed or harmful", "Missing", "Read", ""]


def test_a_title_without_a_known_condition_is_the_question() -> None:
    assert title(asked_of("Does aspirin help?")).endswith("says: Does aspirin help?")


def test_a_class_asked_about_is_answered_first_and_the_others_are_named_beside_it() -> None:
    found = asked_of("Do beta-blockers prevent migraine attacks?", TRIAL)
    inside = candidate("propranolol").model_copy(update={"in_asked_class": True})
    outside = candidate("topiramate").model_copy(update={"in_asked_class": False})

    told = summary(inside, outside, of=found)

    assert told.startswith("Propranolol helps to prevent migraine (high certainty). Also found, not known to be beta-")
    assert title(found) == "Beta-blockers to prevent migraine: what the evidence says"


def test_a_class_without_evidence_is_said_to_have_none() -> None:
    found = asked_of("Do gepants prevent migraine attacks?", TRIAL)
    outside = candidate("propranolol").model_copy(update={"in_asked_class": False})

    assert summary(outside, of=found).startswith(
        "We found no verifiable evidence on gepants, the class you asked about. "
    )
    assert confidence(found) == 0.0


def test_the_conditions_capitals_are_the_questions() -> None:
    assert title(asked_of("What drugs could be repurposed for long COVID?")) == (
        "Existing drugs for long COVID: what the evidence says"
    )


def test_a_question_on_men_or_children_is_told_how_many_records_in_support_speak_of_them() -> None:
    found = asked_of("Which existing drugs could prevent migraine attacks in boys and other male patients?", TRIAL)
    drug = candidate("propranolol").model_copy(update={"supporting_citations": ["pmid:11111111"]})
    assert "none of 1 supporting study mentions men" in summary(drug, of=found)
    assert "mentions men" not in summary(drug, of=asked_of("Which drugs prevent migraine?", TRIAL))
