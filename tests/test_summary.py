"""The summary: the answer first in GRADE's words, then why, what is against and what is not known."""

import pytest
from builders import QUESTION, ScriptedReader, asked, findings, material, record, reply
from hypothesis import given
from hypothesis import strategies as st

from willowbark.agents.findings import Dossier
from willowbark.agents.report.content import DrugCandidate
from willowbark.agents.report.material import Material
from willowbark.agents.report.summary import ADVICE, conclusion, confidence, executive_summary, title
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
    )


def summary(*candidates: DrugCandidate, of: Material | None = None) -> str:
    found = of or asked_of(QUESTION, TRIAL)
    return " ".join(part.line for part in executive_summary(found, candidates))


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


def test_why_names_designs_and_the_largest_number_of_participants() -> None:
    assert "Why: propranolol is supported by 1 blinded randomised trial with 500 participants." in summary(
        candidate("propranolol")
    )


def test_the_largest_number_is_that_of_a_randomised_trial_where_there_is_one() -> None:
    cohort = record(
        "22222222",
        "Propranolol in migraine: a cohort study",
        "In a prospective cohort of 3,000 patients with migraine those on propranolol had fewer attacks than "
        "those without.",
        publication_types=["Observational Study"],
    )
    found = asked_of(QUESTION, reply(BLINDED, cohort), reader=ScriptedReader(effect="better"))

    assert "the largest randomised trial with 500 participants" in summary(candidate("propranolol"), of=found)


def test_a_drug_that_was_taken_off_a_market_is_marked_wherever_it_is_said_to_help() -> None:
    found = asked_of(QUESTION, TRIAL)

    assert summary(candidate("rofecoxib"), of=found).startswith("Rofecoxib (withdrawn) helps to prevent migraine")
    told = conclusion(found, [candidate("rofecoxib"), candidate("valdecoxib")])
    assert "rofecoxib (withdrawn) is best supported" in told
    assert "Next: valdecoxib (withdrawn)." in told


def test_what_is_against_is_counted_and_its_absence_said() -> None:
    assert "Against: studies contradict a benefit of propranolol (2)." in summary(candidate("propranolol", against=2))
    assert "Against: no study contradicts a benefit of these drugs." in summary(candidate("propranolol"))


def test_a_refuted_drug_is_never_said_to_help() -> None:
    told = summary(candidate("cyclandelate", "very low", 1, 5, "refuted"))

    assert told.startswith("No existing drug has evidence in its favour to prevent migraine.")
    assert "The evidence contradicts a benefit of cyclandelate (5 against, 1 for)." in told
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

    assert "Not known: Europe PMC did not answer;" in summary(candidate("propranolol"), of=found)


def test_without_evidence_it_says_that_there_is_no_answer() -> None:
    told = summary(of=asked_of())

    assert told.startswith("No answer: no existing drug with verifiable evidence to prevent migraine was found")
    assert "Read: no publication or trial was found" in told


names = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=200)
candidates = st.lists(
    st.builds(candidate, names, st.sampled_from(LEVELS), st.integers(0, 9), st.integers(0, 9)), max_size=12
)


@given(candidates)
def test_it_keeps_its_bounds_and_ends_in_the_advice(some: list[DrugCandidate]) -> None:
    told = summary(*some)

    assert 100 <= len(told) <= 1000
    assert told.endswith(ADVICE)


def test_its_parts_stand_in_their_order() -> None:
    found = asked_of(QUESTION, TRIAL)
    told = executive_summary(found, [candidate("propranolol")])

    assert [part.label for part in told] == ["", "Why", "Against", "Not known", "Read"]


def test_a_title_without_a_known_condition_is_the_question() -> None:
    assert title(asked_of("Does aspirin help?")).endswith("says: Does aspirin help?")


def test_a_class_asked_about_is_answered_first_and_the_others_are_named_beside_it() -> None:
    found = asked_of("Do beta-blockers prevent migraine attacks?", TRIAL)
    inside = candidate("propranolol").model_copy(update={"in_asked_class": True})
    outside = candidate("topiramate").model_copy(update={"in_asked_class": False})

    told = summary(inside, outside, of=found)

    assert told.startswith("Propranolol helps to prevent migraine (high certainty). Also found, not known to be beta-")
    assert title(found) == "Beta-blockers to prevent migraine: what the evidence says"
    assert conclusion(found, [inside, outside]).startswith("Of the beta-blockers considered to prevent migraine, pro")


def test_a_class_without_evidence_is_said_to_have_none() -> None:
    found = asked_of("Do gepants prevent migraine attacks?", TRIAL)
    outside = candidate("propranolol").model_copy(update={"in_asked_class": False})

    assert summary(outside, of=found).startswith(
        "We found no verifiable evidence on gepants, the class you asked about. "
    )
    assert conclusion(found, [outside]).startswith("No verifiable evidence on gepants to prevent")
    assert confidence(found) == 0.0


def test_the_conditions_capitals_are_the_questions() -> None:
    assert title(asked_of("What drugs could be repurposed for long COVID?")) == (
        "Existing drugs for long COVID: what the evidence says"
    )


def test_a_weak_best_drug_is_not_sold_as_a_good_one() -> None:
    assert conclusion(asked_of(), [candidate("riboflavin", "low")]).endswith("No drug found here is well supported.")


def test_a_question_on_men_or_children_is_told_how_many_records_in_support_speak_of_them() -> None:
    found = asked_of("Which existing drugs could prevent migraine attacks in boys and other male patients?", TRIAL)
    drug = candidate("propranolol").model_copy(update={"supporting_citations": ["pmid:11111111"]})
    assert "none of 1 supporting study mentions men" in summary(drug, of=found)
    assert "mentions men" not in summary(drug, of=asked_of("Which drugs prevent migraine?", TRIAL))
