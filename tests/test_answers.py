"""The first line of a report answers the question that was asked, whatever its kind."""

from collections import Counter

import pytest
from benchmarks.questions import first_lines
from builders import material
from posted_study import trial

from willowbark.agents.report.answers import Answer, answer_of
from willowbark.agents.report.content import PUBLISHED
from willowbark.agents.report.material import mechanisms_of
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.harms import boxed, harms, warnings
from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Passage, Reading
from willowbark.tools.records import Drug, Label

WRONG = {"fourth": 1, "fifth": 1, "second work": 2, "sixth": 2, "ninth": 4, "tenth": 3, "eleventh": 2, "thirteenth": 1}
"""How many questions on safety of a part are not answered rightly; of the other parts none."""


class Told:
    """A reader that says of each drug what it was told to, whatever the record."""

    name, version = "told", "1"

    def __init__(self, **fields: dict[str, object]) -> None:
        self._fields = fields

    def read_document(self, page: Document, drug: str, condition: str, key: str = "") -> Reading:
        fields = {"role": "mentioned", **self._fields.get(drug, {})}
        return Reading(key=key, drug=drug, condition=condition, reader=self.name, version=self.version, **fields)  # type: ignore[arg-type]


def _paper(text: str, pmid: int = 1) -> Evidence:
    url = f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"
    return Evidence(
        content=text, citation=Citation(source="pubmed", title=text.partition(".")[0], url=url, date="2020")
    )


def _label(drug: str, *sections: str) -> Evidence:
    title = f"{drug}: drug label"
    url = f"https://dailymed.nlm.nih.gov/dailymed/drugInfo.cfm?setid={drug}"
    citation = Citation(source="openfda", title=title, url=url, date="2020")
    return Evidence(content="\n\n".join([title, *sections]), citation=citation, record=Label(drug=drug))


def _first_lines(question: str, *pool: Evidence, **told: dict[str, object]) -> str:
    return " ".join(_answer(question, *pool, **told).sentences)


def _answer(question: str, *pool: Evidence, **told: dict[str, object]) -> Answer:
    found = material(question, pool, Readings(Told(**told)))
    answer = answer_of(found, mechanisms_of(found))
    assert answer is not None
    return answer


def test_harm_is_answered_from_labels_and_harm_readings() -> None:
    label = _label(
        "bupropion", "Boxed warning: Suicidal thoughts.", "Warnings: Seizures, the more the higher the dose."
    )
    paper = _paper("Bupropion for smoking. Bupropion was followed by seizures in two smokers.")

    said = _first_lines("Does bupropion cause seizures in smokers?", label, paper, bupropion={"role": "cause"})

    assert said.startswith("Yes: the United States label of bupropion warns of seizures: “Seizures, the more")
    assert "Bupropion is contraindicated: seizure disorder, bulimia" in said
    assert "1 publication on bupropion mentions seizures: 1 with harm." in said
    assert "Bupropion carries a boxed warning: “Suicidal thoughts.”" in said


def test_safety_is_answered_from_the_contraindications_first() -> None:
    sections = ("Boxed warning: Harm to the unborn.", "Contraindications: Prevention of migraine in pregnancy.")
    label = _label("valproic acid", *sections)

    said = _first_lines("Is valproate safe in pregnancy for migraine prevention?", label)

    assert said.startswith("No: valproic acid is contraindicated: prevention of migraine in pregnancy; US label")
    assert "The United States label of valproic acid lists pregnancy among its contraindications: “Prevention" in said
    assert "carries a boxed warning: “Harm to the unborn.”" in said


def test_a_question_on_harm_that_nothing_bears_on_says_so() -> None:
    said = _first_lines("Does propranolol cause gout?", _paper("Propranolol in migraine. Propranolol helped."))

    assert said == (
        "Not found in 1 publication and 0 drug labels read: nothing on propranolol and gout says so. "
        "That is no proof of safety."
    )


def test_records_that_speak_of_a_harm_undecided_are_no_answer() -> None:
    said = _first_lines("Does propranolol cause gout?", _paper("Propranolol and gout. Gout was rare with propranolol."))

    assert said == (
        "Not found in 1 publication and 0 drug labels read: nothing on propranolol and gout clearly says so. That is "
        "no proof of safety. 1 publication on propranolol mentions gout: 1 inconclusive."
    )


def test_what_nothing_was_read_of_is_not_said_to_have_nothing_against_it() -> None:
    assert _first_lines("Does vitamin D not help in depression?") == (
        "No answer: no record on vitamin D in depression was read. That is no evidence either way."
    )


def test_what_to_avoid_are_drugs_with_which_patients_did_worse_than_without() -> None:
    paper = _paper("Sulindac and aspirin in asthma. More attacks of asthma followed aspirin than placebo.")
    worse = {"role": "tested", "kind": "efficacy", "effect": "worse", "comparator": "placebo"}

    said = _first_lines("Which drugs should be avoided in asthma?", paper, aspirin=worse)
    assert said.startswith("Contraindicated: propranolol, timolol,")
    assert said.endswith(
        "Reported with harm in asthma: aspirin (1 publication). These are single sentences, quoted under “What was "
        "asked”: leads, not conclusions."
    )
    unread = _first_lines("Which drugs should be avoided in psoriasis?", _paper("Sulindac in psoriasis. It was given."))
    assert unread.startswith(
        "Not found in 1 publication and 0 drug labels read: nothing on which drugs to avoid in psor"
    )
    asked = "Which beta blockers should be avoided in gout?"
    undecided = _first_lines(asked, _paper("Propranolol in gout. Gout was as rare with propranolol."))
    assert "nothing on which drugs to avoid in gout" in undecided
    assert undecided.count("That is no proof of safety.") == 1


@pytest.mark.parametrize(
    ("question", "first"),
    [
        (
            "Is rofecoxib safe for osteoarthritis?",
            "No: rofecoxib was withdrawn: worldwide, 2004: heart attack and stroke",
        ),
        ("Is diltiazem safe in heart failure?", "With caution: diltiazem is to be avoided: heart failure with reduced"),
        ("Is metformin safe in renal failure?", "No: metformin is contraindicated: severe renal impairment"),
        ("Are beta-blockers safe in asthma?", "With caution: beta-blockers are to be avoided: bronchospastic"),
    ],
)
def test_a_withdrawal_or_contraindication_is_the_first_thing_said_of_safety(question: str, first: str) -> None:
    assert _first_lines(question, _paper("On rofecoxib. Rofecoxib was given.")).startswith(first)


async def test_questions_on_safety_are_answered_rightly_in_the_first_line() -> None:
    wrong = Counter(row["part"] for row, said in await first_lines() if not said.startswith(row["first"]))

    assert wrong <= Counter(WRONG), wrong


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What are the harms of amiodarone?", "Amiodarone carries a boxed warning: toxicity to lungs and liver"),
        ("Which antidepressants are dangerous after a heart attack?", "Contraindicated: tricyclic antidepressants"),
        ("Is rofecoxib still on the market?", "Rofecoxib was withdrawn: worldwide, 2004"),
        ("tramadol with SSRIs?", "Not found in 0 publications and 0 drug labels read: nothing on tramadol and SSRIs"),
    ],
)
def test_what_a_drug_does_is_told_from_the_tables_where_no_record_was_found(question: str, first: str) -> None:
    assert _first_lines(question).startswith(first)


def test_which_drugs_cause_a_harm_is_told_from_sentences_on_the_one_drug_of_their_record() -> None:
    paper = _paper("Divalproex in headache. Side effects reported were nausea and weight gain, seldom grave.")

    said = _first_lines("Which drugs cause weight gain?", paper)
    assert "Named beside weight gain, inconclusive: valproic acid (1 publication)." in said
    assert "nothing on weight gain clearly says so" in said
    assert "Contraindicated" not in _first_lines("Which drugs cause depression?", paper)


def test_what_speaks_against_a_drug_is_said_too_where_it_is_asked_whether_it_helps() -> None:
    assert _first_lines("Does phenobarbital help in porphyria?").startswith("Phenobarbital is contraindicated: ")
    found = material("Does phenobarbital help in epilepsy?", ())
    assert answer_of(found, mechanisms_of(found)) is None


def test_of_a_list_on_a_label_the_item_that_is_asked_about_is_quoted() -> None:
    label = _label("donepezil", "Warnings: Slow heart beat; seizures; caution in asthma and obstructive lung disease.")

    assert _first_lines("Is donepezil safe in asthma?", label).startswith(
        "With caution: the United States label of donepezil says on asthma: “caution in asthma and obstructive lung"
    )


def test_no_is_said_where_a_label_says_that_a_drug_is_stopped_in_the_people_asked_about() -> None:
    label = _label("losartan", "Boxed warning: When pregnancy is detected, discontinue losartan.")

    assert _first_lines("Is losartan safe in pregnancy?", label).startswith("No: losartan carries a boxed warning")
    assert _first_lines("Is losartan safe in gout?", label).startswith("Not found in")


def test_serious_events_that_trials_posted_stand_by_group_in_the_answer_on_harm() -> None:
    posted = trial()

    assert "Posted by NCT99999901, serious adverse events by group: Topiramate 4 of 120 and Placebo 3 of 118" in (
        _first_lines("What are the side effects of topiramate?", posted)
    )
    assert "Posted by" in _first_lines("Does topiramate cause kidney stones?", posted)
    assert "serious" not in _first_lines("Does gabapentin cause kidney stones?", posted)


def test_drugs_taken_together_are_answered_from_the_interactions_of_a_label() -> None:
    label = _label("tramadol", "Drug interactions: Serotonin syndrome was seen with sertraline and other SSRIs. Beer.")

    said = _first_lines("Is it safe to combine tramadol and SSRIs?", label)
    assert said.startswith(
        "With caution: the United States label of tramadol says: “Serotonin syndrome was seen with ser"
    )
    assert "Beer" not in said


def test_events_reported_more_often_than_expected_are_told_as_no_cause() -> None:
    entry = Evidence(
        content="Amiodarone.",
        citation=Citation(source="opentargets", title="Amiodarone", url="https://platform.opentargets.org/drug/C"),
        record=Drug(drug="amiodarone", signals=[{"term": "hypothyroidism", "count": 900, "log_likelihood": 99.0}]),
    )
    said = _first_lines("What are the side effects of amiodarone?", entry)
    assert (
        "more often than expected with amiodarone, by Open Targets: hypothyroidism; that does not show a cause." in said
    )
    assert "by Open Targets" not in _first_lines("Does amiodarone cause gout?", entry)


def test_a_comparison_counts_trials_of_both_drugs_first() -> None:
    both = _paper("Topiramate against propranolol in migraine. Topiramate prevented more migraine than propranolol.")
    placebo = _paper("Propranolol in migraine. Propranolol was better than placebo in migraine.", 2)
    better = {"role": "tested", "kind": "efficacy", "effect": "better", "comparator": "active"}

    asked = "Is topiramate better than propranolol for migraine?"
    worse = better | {"role": "comparator", "effect": "worse"}
    said = _first_lines(asked, both, topiramate=better, propranolol=worse)
    disputed = _first_lines(asked, both, topiramate=better, propranolol=better)
    alone = _first_lines("Is topiramate better than propranolol for migraine?", placebo)

    assert said.startswith("Head to head in migraine, topiramate and propranolol: 1 study for topiramate.")
    assert "propranolol: 1 study without a clear result." in disputed
    assert _answer(asked, both, topiramate=better, propranolol=worse).confidence == PUBLISHED
    assert _answer(asked, both, topiramate=better, propranolol=better).confidence == 0.0
    assert alone.startswith("No study found compares topiramate and propranolol head to head in migraine.")


def test_mechanisms_and_phases_come_from_the_drug_databases() -> None:
    citation = Citation(source="chembl", title="Erenumab", url="https://www.ebi.ac.uk/chembl/x", date="2020")
    mechanisms = [{"mechanism_of_action": "CGRP receptor antagonist", "gene_symbols": ["CALCRL"]}]
    drug = Drug(drug="erenumab", mechanisms=mechanisms, indications=[{"name": "Migraine Disorders", "max_phase": 4}])  # type: ignore[list-item]
    entry = Evidence(content="Erenumab", citation=citation, record=drug)

    assert _first_lines("How does erenumab work in migraine?", entry).startswith(
        "Erenumab acts as CGRP receptor antagonist (targets CALCRL), according to the drug databases."
    )
    assert _first_lines("Is erenumab approved for migraine?", entry).startswith(
        "Marketed for migraine, according to the drug databases: erenumab."
    )


def test_where_no_database_knows_a_mechanism_that_is_said() -> None:
    sentence = "Allopurinol inhibits xanthine oxidase, the enzyme that turns hypoxanthine into uric acid."
    unknown = "No mechanism of action of allopurinol found in the drug databases."
    assert _first_lines("How does allopurinol act?", _paper(f"On gout. {sentence}")) == unknown


@pytest.mark.parametrize(
    ("effect", "first"), [("no_difference", "Studies that contradict a benefit"), ("better", "No study found")]
)
def test_what_does_not_help_is_told_by_what_speaks_against_it(effect: str, first: str) -> None:
    paper = _paper("Gabapentin in migraine. Gabapentin was compared with placebo in migraine.")
    told = {"role": "tested", "kind": "efficacy", "effect": effect, "comparator": "placebo"}

    assert _first_lines("Does gabapentin not help in migraine?", paper, gabapentin=told).startswith(first)


def test_a_question_of_no_known_kind_is_said_not_to_be_answered() -> None:
    assert _first_lines("What is the prevalence of migraine?").startswith("Willowbark does not answer this")


def test_an_aim_reports_no_harm() -> None:
    paper = _paper(
        "Haloperidol. AIM: The aim was to compare parkinsonism under haloperidol. METHODS: We asked nurses. "
        "RESULTS: Sleep was better."
    )

    said = _first_lines("Does haloperidol cause parkinsonism?", paper, haloperidol={"role": "cause"})

    assert "1 publication on haloperidol mentions parkinsonism: 1 without a result on harm." in said


def test_what_is_told_of_one_of_several_drugs_is_told_under_its_name() -> None:
    paper = _paper("Valproate. Valproate in pregnancy was followed by malformations.")

    told = {"valproic acid": {"role": "cause"}}
    said = _first_lines("Is valproate or topiramate safe in pregnancy?", paper, **told)

    assert "mentions pregnancy: 1 with harm (valproic acid)." in said
    assert "nothing on topiramate and pregnancy" in said

    other = _paper("Topiramate. Topiramate in pregnancy was studied.", 2)
    both = _first_lines("Is valproate or topiramate safe in pregnancy?", paper, other, **told)
    assert "1 with harm (valproic acid) and 1 without a result on harm (topiramate)." in both


def test_a_result_is_found_below_a_title_that_names_the_drug_and_the_harm() -> None:
    text = "Haloperidol and parkinsonism. RESULTS: Parkinsonism occurred in 20 of 40 patients and in 3 on placebo."

    (found,) = harms([_paper(text)], parse_question("Does haloperidol cause parkinsonism?"), Readings(Told()))

    assert found.sentence.endswith("Parkinsonism occurred in 20 of 40 patients and in 3 on placebo.")


def test_a_sentence_that_denies_a_harm_reports_none() -> None:
    text = "Metformin. Dementia was less frequent with metformin, which caused diarrhoea."
    readings = Readings(Told(metformin={"role": "cause"}))

    (found,) = harms([_paper(text)], parse_question("Does metformin cause dementia?"), readings)

    assert found.stance == "undecided"


def test_on_safety_a_record_is_quoted_where_it_tells_how_people_bore_the_drug() -> None:
    bore = _paper(
        "Methotrexate in gout. AIM: To study methotrexate in gout. RESULTS: Methotrexate was well tolerated. "
        "Attacks of gout became rare.",
        1,
    )
    silent = _paper("Genes in gout under methotrexate. AIM: To tell which genes go with methotrexate in gout.", 2)

    found = harms([bore, silent], parse_question("Is methotrexate safe in gout?"), Readings(Told()))

    assert [(each.stance, each.sentence) for each in found] == [
        ("undecided", "RESULTS: Methotrexate was well tolerated."),
        ("silent", ""),
    ]


def test_what_a_drug_causes_is_read_from_sentences_that_name_both_and_speak_of_harm() -> None:
    papers = (
        _paper("Harms of propranolol. Propranolol caused fatigue in 20 patients. It was given for angina.", 1),
        _paper("Propranolol again. Fatigue and insomnia were associated with propranolol.", 2),
        _paper("Propranolol after infarction. Propranolol reduced stroke and other events.", 3),
        _paper("A case. Propranolol caused distress in a patient with asthma during treatment of hypertension.", 4),
    )
    cause = {"role": "cause", "kind": "harm", "design": "rct"}

    said = _first_lines("What are the side effects of propranolol?", *papers, propranolol=cause)

    assert said.startswith("Reported harms of propranolol: fatigue (2 publications) and insomnia (1 publication). ")
    assert not {"stroke", "asthma", "hypertension"} & set(said.split())


def test_what_helped_is_no_harm_of_a_drug() -> None:
    paper = _paper("Propranolol and fatigue. Propranolol was associated with less fatigue than placebo.")
    helped = {"role": "cause", "kind": "harm", "effect": "better"}
    assert "fatigue (" not in _first_lines("What are the side effects of propranolol?", paper, propranolol=helped)


def test_a_drug_alone_is_answered_with_what_it_is_marketed_for_and_studied_in() -> None:
    citation = Citation(source="chembl", title="propranolol", url="https://www.ebi.ac.uk/chembl/x", date="2020")
    indications = [{"name": "Hypertension", "max_phase": 4}, {"name": "Autism", "max_phase": 2}]
    entry = Evidence(content="propranolol", citation=citation, record=Drug(drug="propranolol", indications=indications))

    assert _first_lines("What is propranolol used for?", entry).startswith(
        "The drug databases list propranolol as marketed for: hypertension."
    )
    assert "No entry of a drug database on propranolol" in _first_lines("propranolol")


def test_a_further_part_of_a_question_is_answered_beside_what_helps() -> None:
    assert "no record on a drug in migraine" in _first_lines(
        "Which drugs prevent migraine and which were tried and failed?"
    )
    assert "question of its own" in _first_lines("Which drugs treat gout, and are they safe in pregnancy?")


def test_which_drugs_did_harm_is_answered_beside_what_helps() -> None:
    told = {"role": "tested", "kind": "efficacy", "effect": "worse", "comparator": "placebo"}
    papers, said = list[Evidence](), dict[str, dict[str, object]]()
    for pmid, (drug, what) in enumerate({"clonidine": "Seizures", "timolol": "Bradycardia"}.items(), 1):
        text = f"{what} were more frequent with {drug} than with placebo."
        papers.append(_paper(f"A trial of {drug} against seizures. {text}", pmid))
        passage = Passage(text=text, start=0, end=len(text))
        said[drug] = told | {"kind": "efficacy" if drug == "clonidine" else "harm", "passages": (passage,)}
    answer = _answer("Which drugs treat seizures, and which failed or did harm?", *papers, **said)

    assert "Patients did worse on these than without them or on another drug: clonidine (1 study)." in answer.sentences
    assert "Harm is reported of timolol (1 study); it is not weighed against benefit." in answer.sentences
    nothing = _first_lines("Which drugs treat gout, and what are their side effects?")
    assert "No harm by these drugs is reported in 0 publications read" in nothing


def test_a_withdrawal_is_said_once_however_many_parts_of_a_question_it_answers() -> None:
    said = _answer("Does rofecoxib help migraine, and is it still marketed?").sentences
    assert len(said) == len(set(said))
    assert sum("withdrawn" in sentence for sentence in said) == 1


def test_a_label_without_a_drug_or_a_sentence_in_its_boxed_warning_warns_of_nothing() -> None:
    nameless = _label("x", "Warnings: Liver failure was seen.").model_copy(update={"record": Label()})
    assert warnings([nameless], parse_question("Which drugs cause liver failure?")) == []
    assert boxed([_label("x", "Boxed warning:   ")], ["x"]) == []
