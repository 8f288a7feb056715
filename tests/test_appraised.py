"""What a record is appraised to say follows from readings: their order, their disagreement, and arithmetic."""

from typing import Any

import pytest
from builders import QUESTION, ScriptedReader, reading, record
from posted_study import analysis, outcome, trial

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord, Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates, is_on_condition
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.reading import QuotedPassage, Reading
from willowbark.tools.records import Drug, DrugApproval
from willowbark.tools.records.evidence import Citation, Evidence

TEXT = "450 adults were randomised, double blind, to propranolol or placebo. Propranolol reduced migraine attacks."


def paper(pmid: str = "1", title: str = "Propranolol to prevent migraine", text: str = TEXT, **more: Any) -> Evidence:
    return record(pmid, title, text, publication_types=["Randomized Controlled Trial"], **more)


def candidates(*pool: Evidence, model: Readings | None = None, **fields: Any) -> list[Candidate]:
    return appraise_candidates(parse_question(QUESTION), pool, model or Readings(ScriptedReader(**fields)))


def appraised(*pool: Evidence, **fields: Any) -> AppraisedRecord:
    [found] = [c for c in candidates(*pool, **fields) if c.drug == "propranolol"]
    return found.records[0]


@pytest.mark.parametrize(
    ("fields", "direction"),
    [
        ({"effect": "better"}, "supports"),
        ({"effect": "worse"}, "contradicts"),
        ({"effect": "better", "hedged": True}, "inconclusive"),
        ({"effect": "better", "role": "background"}, "not assessed"),
    ],
)
def test_the_direction_is_the_verdict_of_the_reading(fields: dict[str, Any], direction: str) -> None:
    found = appraised(paper(), **fields)
    assert found.item.direction.value == direction
    told = direction in ("supports", "contradicts")
    assert found.sentence == ("Propranolol reduced migraine attacks." if told else "")


def test_the_item_holds_what_was_read_and_nothing_else() -> None:
    item = appraised(
        paper(text=f"The primary outcome was attacks. {TEXT}"),
        effect="better",
        match="complication",
        kind="surrogate",
        comparator="active",
        against="timolol",
        participants=450,
        primary="met",
    ).item

    assert (item.design.value, item.sample_size, item.tested, item.alone) == ("rct_blinded", 450, True, True)
    assert (item.indication, item.primary, item.surrogate, item.in_title) == ("complication", "met", True, True)
    assert (item.comparator, item.against, item.comparator_works) == ("active", "timolol", False)


@pytest.mark.parametrize(
    "fields",
    [
        {"effect": "better", "alone": False},
        {"effect": "no_difference", "alone": False},
        {"effect": "better", "sure": False, "probability": 0.6},
        {"effect": "worse", "sure": False, "probability": 0.6},
    ],
    ids=str,
)
def test_what_a_study_does_not_say_of_the_drug_alone_on_its_own_outcome_is_inconclusive(fields: dict[str, Any]) -> None:
    [found] = candidates(paper(), **fields)

    assert found.appraisal.inconclusive == ["pmid:1"]
    assert not found.has_verdict
    assert found.records[0].sentence == ""


@pytest.mark.parametrize("effect", ["better", "no_difference"])
def test_a_result_on_something_else_in_these_people_says_nothing_of_the_condition(effect: str) -> None:
    [found] = candidates(paper(), effect=effect, indication="other")
    assert found.appraisal.not_assessed == ["pmid:1"]
    assert found.records[0].stance.says == "none"


def test_a_gain_beside_a_missed_primary_outcome_is_told_as_missed() -> None:
    found = appraised(paper(), effect="better", primary="not_met", comparator="placebo")
    assert (found.item.says, found.item.direction.value) == ("missed", "inconclusive")
    assert found.item.missed_primary


def test_a_combination_credits_no_part_and_names_its_partners() -> None:
    text = "Propranolol with topiramate reduced migraine attacks."
    both = candidates(paper(text=text), effect="better", role="combined", alone=False)

    assert {each.drug: each.combination for each in both} == {
        "propranolol": ("topiramate",),
        "topiramate": ("propranolol",),
    }
    assert [each for each in both if each.has_verdict] == []


def test_the_participants_of_a_review_on_several_drugs_are_no_drugs_own() -> None:
    review = {"effect": "better", "design": "meta_analysis", "participants": 5000}
    alone = appraised(paper(title="Propranolol in migraine: a meta-analysis"), **review)
    several = appraised(paper(title="Propranolol and timolol in migraine: a meta-analysis"), **review)

    assert (alone.item.sample_size, several.item.sample_size) == (5000, None)


@pytest.mark.parametrize(("role", "design"), [("comparator", "rct"), ("mentioned", "review")])
def test_a_study_that_does_not_test_the_drug_supports_it_with_very_low_certainty(role: str, design: str) -> None:
    pool = [paper(str(number)) for number in range(1, 5)]
    scripted = ScriptedReader(effect="better", role=role, design=design, participants=90)
    [found] = appraise_candidates(parse_question(QUESTION), pool, Readings(scripted))

    assert len(found.appraisal.supporting) == 4
    assert found.appraisal.certainty.level == "very_low"


def test_a_trial_that_mentions_another_drug_as_effective_says_nothing_of_it() -> None:
    found = appraised(paper(), effect="better", role="mentioned", design="rct")
    assert (found.item.says, found.item.direction.value) == ("none", "not assessed")


def test_a_primary_outcome_is_told_only_of_a_record_that_names_one() -> None:
    assert appraised(paper(), effect="better", primary="met").item.primary == "not_reported"


def test_a_models_reading_counts_before_the_learned_one_which_stands_beside_it() -> None:
    against = reading("pmid:1", "propranolol", effect="no_difference", reader="model")
    [found] = candidates(paper(), model=Readings(ScriptedReader(effect="better"), [against]))

    assert [each.reader for each in found.records[0].readings] == ["model", "scripted"]
    assert found.appraisal.missed == ["pmid:1"]


def test_posted_results_count_before_a_models_reading_which_stands_beside_them() -> None:
    days = outcome("Change in monthly migraine days", {"Topiramate": "-2.1", "Placebo": "-1.1"}, analysis("0.003"))
    study = trial(days)
    against = reading(study.key, "topiramate", effect="no_difference", reader="model")
    [found] = [c for c in candidates(study, model=Readings(ScriptedReader(), [against])) if c.drug == "topiramate"]

    assert [each.reader for each in found.records[0].readings] == ["posted", "model"]
    assert found.records[0].item.direction is Direction.supports


@pytest.mark.parametrize("role", ["cause", "not_a_drug_here", "outcome"])
def test_a_cause_of_the_condition_is_no_candidate(role: str) -> None:
    assert candidates(paper(), role=role) == []


def test_a_drug_that_ends_attacks_does_not_prevent_them() -> None:
    relief = paper(
        title="Propranolol in acute migraine", text="At 2 hours propranolol gave pain relief of the acute attack."
    )

    assert appraised(relief, effect="better").item.direction is Direction.inconclusive


def test_a_record_is_read_once_in_a_run_and_again_when_its_text_changes() -> None:
    reader = ScriptedReader(effect="better")
    readings = Readings(reader)
    for text in (TEXT, TEXT, f"{TEXT} Sleep was sound."):
        appraise_candidates(parse_question(QUESTION), [paper(text=text)], readings)

    assert len(reader.asked) == 2


def test_the_results_of_the_full_text_are_read_where_the_abstract_gives_none() -> None:
    told = "Propranolol reduced attacks in the open trial."
    sections = [{"kind": "results", "title": "Results", "text": told}]
    full = {"pmcid": "PMC1", "licence": "CC BY 4.0", "sections": sections}
    reader = ScriptedReader(effects={told: "better"})

    [found] = appraise_candidates(parse_question(QUESTION), [paper(full_text=full)], Readings(reader))
    assert found.appraisal.supporting == ["pmid:1"]


@pytest.mark.parametrize(("held", "counts"), [("Attacks fell by 2.1 a month.", True), ("Sleep was sound.", False)])
def test_a_models_quote_from_the_full_text_counts_where_the_record_has_it(held: str, counts: bool) -> None:
    sections = [{"kind": "results", "title": "Results", "text": held}]
    full = {"pmcid": "PMC1", "licence": "CC BY 4.0", "sections": sections}
    quoted = QuotedPassage(text="Attacks fell by 2.1 a month.", section="Results", start=0, end=28)
    given = reading("pmid:1", "propranolol", effect="better", reader="model").model_copy(update={"passages": (quoted,)})

    [found] = candidates(paper(full_text=full), model=Readings(ScriptedReader(), [given]))
    assert (found.records[0].readings[0].reader == "model") is counts


def test_a_drug_that_helped_those_asked_about_leads_before_one_that_helped_a_complication_or_animals() -> None:
    def helped(drug: str, **fields: Any) -> Evidence:
        given.append(reading(f"pmid:{len(given)}", drug, effect="better", **fields))
        return paper(str(len(given) - 1), f"{drug} to prevent migraine", f"{drug} reduced migraine attacks.")

    given: list[Reading] = []
    pool = [helped("atenolol", match="complication"), helped("timolol")]

    found = appraise_candidates(parse_question(QUESTION), pool, Readings(ScriptedReader(), given))

    assert [each.drug for each in found] == ["timolol", "atenolol"]


def test_animals_are_no_participants_and_a_drug_that_only_they_were_given_is_told_apart() -> None:
    readings = Readings(ScriptedReader(effect="better", design="animal", participants=25))

    [found] = appraise_candidates(parse_question(QUESTION), [paper()], readings)

    assert found.is_preclinical
    assert found.records[0].item.sample_size is None


@pytest.mark.parametrize(
    ("question", "text", "speaks"),
    [
        ("Which drugs help in alcohol dependence?", "Perillyl alcohol lowered scores.", False),
        ("Which drugs help in alcohol dependence?", "Disulfiram was given for alcoholism.", True),
        ("Which drugs treat sinusitis?", "Sinus rhythm was restored.", False),
        ("Which drugs treat hypertension?", "Hypertensive patients took enalapril.", True),
        ("Which drugs treat epilepsy?", "Epilepsies of childhood were treated.", True),
        ("Which drugs help in pancreatitis?", "Everolimus in pancreatic cancer.", False),
        ("Which drugs help in pancreatitis?", "Acute pancreatitis was rarer.", True),
        ("Which drugs help in prostatitis?", "Apalutamide in cancer of the prostate.", False),
    ],
)
def test_the_word_that_a_condition_is_named_after_does_not_name_it(question: str, text: str, speaks: bool) -> None:
    assert is_on_condition(paper("1", "A study", text), parse_question(question)) is speaks


def test_a_record_that_does_not_speak_of_those_asked_about_is_indirect() -> None:
    def taken(text: str) -> Candidate:
        question = "Does it treat migraine in women?"
        readings = Readings(ScriptedReader(effect="better", participants=900))
        [found] = appraise_candidates(parse_question(question), [paper("1", "A trial in migraine", text)], readings)
        return found

    named = taken("Propranolol helped 900 women with migraine.")
    unnamed = taken("Propranolol helped 900 with migraine.")

    assert (named.records[0].item.unnamed, unnamed.records[0].item.unnamed) == (None, "women")
    assert [each for each in named.appraisal.certainty.lowered if each.startswith("Indirectness: 0 of 1")] == []
    assert [each for each in unnamed.appraisal.certainty.lowered if each.startswith("Indirectness: 0 of 1")], (
        unnamed.appraisal.certainty.lowered
    )


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Candesartan in type 2 diabetes", True),
        ("Candesartan in patients with type 2 diabetes", True),
        ("Candesartan and albuminuria in patients with type 2 diabetes", False),
        ("Prevention of type 2 diabetes by candesartan in patients with hypertension", True),
        ("Candesartan in patients with type 2 diabetes and hypertension", True),
        ("Candesartan for hypertension and type 2 diabetes", True),
        ("Candesartan for hypertension in patients with type 2 diabetes", False),
        ("Candesartan in diabetic nephropathy", False),
        ("Candesartan in diabetes", False),
        ("Candesartan and its kinetics", False),
    ],
)
def test_a_title_is_on_the_condition_if_it_names_it_and_not_as_the_peoples_alone(title: str, names: bool) -> None:
    asked = parse_question("Which drugs treat type 2 diabetes?")
    told = paper("1", title, "Candesartan helped in type 2 diabetes.")
    [found] = appraise_candidates(asked, [told], Readings(ScriptedReader(effect="better")))

    assert found.records[0].item.in_title is names


@pytest.mark.parametrize(
    ("routes", "cautions"),
    [
        ({"drug": ["parenteral"]}, None),
        ({"drug": ["parenteral"], "approval": ["INTRAVENOUS", "ORAL"]}, ()),
        ({}, ("Route not found: it may be given by injection alone",)),
    ],
)
def test_a_drug_given_only_in_a_way_that_is_left_out_is_no_candidate(
    routes: dict[str, list[str]], cautions: tuple[str, ...] | None
) -> None:
    cited = Citation(source="chembl", title="Propranolol", url="https://www.ebi.ac.uk/chembl/x", date="2020")
    kinds = {"drug": Drug, "approval": DrugApproval}
    entries = [
        Evidence(content="Propranolol.", citation=cited, record=kinds[kind](drug="propranolol", routes=given))
        for kind, given in routes.items()
    ]
    asked = parse_question("Which drugs prevent migraine without injections?")

    found = appraise_candidates(asked, [paper(), *entries], Readings(ScriptedReader(effect="better")))
    assert [each.cautions for each in found] == ([] if cautions is None else [cautions])


@pytest.mark.parametrize(
    ("question", "trials", "group"),
    [
        ("Which drugs treat hypertension?", 3, "established"),
        ("Which drugs treat hypertension?", 2, "not_checked"),
        ("Which drugs prevent hypertension?", 3, "not_checked"),
    ],
)
def test_what_three_trials_compare_with_is_standard_for_the_condition(question: str, trials: int, group: str) -> None:
    papers = [paper(str(each), f"Carvedilol or atenolol in hypertension, trial {each}") for each in range(trials)]
    reader = ScriptedReader(role="comparator", comparator="active", effect="no_difference", design="rct")
    found = appraise_candidates(parse_question(question), papers, Readings(reader))

    assert {each.drug: each.group for each in found}["atenolol"] == group
