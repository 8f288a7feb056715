"""Whether a candidate is a repurposing candidate, and what marks it: approvals, withdrawals, contraindications."""

from typing import Any

import pytest
from builders import QUESTION, ScriptedReader, drug_record, record

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates, list_cautions, select_for_display
from willowbark.tools.questions import parse_question
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.sources.labels.openfda import parse_label

PAPER = record("1", "Propranolol to prevent migraine", "Propranolol reduced migraine attacks.")
DISEASE = Evidence(
    content="Migraine.",
    citation=Citation(source="opentargets", title="Migraine", url="https://platform.opentargets.org/disease/MONDO_1"),
    metadata={"kind": "disease", "disease": "migraine", "drugs": [{"name": "PROPRANOLOL", "max_phase": 4}]},
)


def label(drug: str, **sections: list[str]) -> Evidence:
    number = f"{len(drug):08}-0000-0000-0000-000000000000"
    given: dict[str, Any] = {"set_id": number, "openfda": {"generic_name": [drug]}, **sections}
    found = parse_label(given)
    assert found is not None
    return found


def indicated(name: str, phase: float = 4) -> Evidence:
    entry = drug_record("propranolol", "antagonist", "ADRB1")
    return entry.model_copy(
        update={"metadata": {**entry.metadata, "indications": [{"name": name, "max_phase": phase}]}}
    )


def propranolol(*entries: Evidence, **fields: Any) -> Candidate:
    readings = Readings(ScriptedReader(**{"effect": "better", **fields}))
    [found] = appraise_candidates(parse_question(QUESTION), [PAPER, *entries], readings)
    return found


@pytest.mark.parametrize(
    ("entries", "group"),
    [
        ([], "not_checked"),
        ([indicated("Migraine Disorders")], "established"),
        ([indicated("Migraine Disorders", 3)], "repurposing"),
        ([indicated("Hypertension")], "repurposing"),
        ([DISEASE], "established"),
        ([label("PROPRANOLOL", indications_and_usage=["It is indicated for prophylaxis of migraine."])], "established"),
        ([label("PROPRANOLOL", indications_and_usage=["It is not indicated for migraine."])], "repurposing"),
        (
            [
                DISEASE,
                label("PROPRANOLOL", indications_and_usage=["For acute treatment of migraine with or without aura."]),
            ],
            "repurposing",
        ),
        ([label("TOPIRAMATE", indications_and_usage=["It is indicated for migraine."])], "not_checked"),
    ],
)
def test_the_group_follows_from_approval_data_alone(entries: list[Evidence], group: str) -> None:
    assert propranolol(*entries).group == group


def test_what_a_label_says_against_a_drug_in_the_condition_is_a_caution() -> None:
    warned = label("PROPRANOLOL", contraindications=["Contraindicated in asthma. Do not use in hemiplegic migraine."])
    boxed = label("PROPRANOLOL", boxed_warning=["Deaths in patients with migraine were reported."])

    assert propranolol().cautions == ()
    [caution] = propranolol(warned).cautions
    assert caution.startswith("Contraindicated: “Do not use in hemiplegic migraine.” (")
    assert propranolol(boxed).cautions[0].startswith("Boxed warning: “Deaths in patients with migraine were reported.”")


def test_what_drugcentral_lists_as_contraindicated_is_a_caution_in_that_condition_alone() -> None:
    entry = indicated("Angina")
    told = entry.model_copy(update={"metadata": {**entry.metadata, "contraindications": ["Migraine", "Asthma"]}})

    [caution] = list_cautions("propranolol", ["migraine"], [told])
    assert caution.startswith("Contraindicated: Migraine, by DrugCentral (")
    assert list_cautions("propranolol", ["angina"], [told]) == ()


def test_a_withdrawal_is_a_caution_by_the_list_or_else_by_the_drug_database() -> None:
    entry = indicated("Angina")
    gone = {"kind": "withdrawn", "country": "France", "year": 2001, "about": "hepatotoxicity"}
    told = entry.model_copy(update={"metadata": {**entry.metadata, "warnings": [gone]}})

    assert list_cautions("rofecoxib", ["migraine"], [])[0].startswith("Withdrawn: worldwide, 2004: heart attack")
    [caution] = propranolol(told).cautions
    assert caution.startswith("Withdrawn: France, 2001, hepatotoxicity (")


def test_a_withdrawn_drug_never_leads_and_is_never_cut_off() -> None:
    pool = [
        record(str(at), f"{drug.capitalize()} to prevent migraine", f"{drug.capitalize()} reduced migraine attacks.")
        for at, drug in enumerate(["rofecoxib", "timolol", "atenolol"], 1)
    ]
    readings = Readings(ScriptedReader(effect="better"))
    found = appraise_candidates(parse_question(QUESTION), pool, readings)

    assert [each.drug for each in found] == ["atenolol", "timolol", "rofecoxib"]
    assert [each.drug for each in select_for_display(found, 1)] == ["atenolol", "rofecoxib"]


def test_a_drug_that_failed_is_never_cut_off_and_its_failures_stand_first() -> None:
    texts = {
        "timolol": "Timolol reduced migraine attacks.",
        "atenolol": "Atenolol reduced migraine attacks.",
        "nadolol": "Nadolol did nothing to prevent migraine.",
    }
    pool = [record(str(at), f"{drug} to prevent migraine", text) for at, (drug, text) in enumerate(texts.items(), 1)]
    pool.append(record("9", "Atenolol to prevent migraine again", "Atenolol did nothing to prevent migraine."))
    readings = Readings(ScriptedReader({"did nothing": "no_difference", "reduced": "better"}))
    found = appraise_candidates(parse_question(QUESTION), pool, readings)

    assert [each.drug for each in select_for_display(found, 1)] == ["timolol", "nadolol"]
    [atenolol] = [each for each in found if each.drug == "atenolol"]
    assert [each.item.direction for each in atenolol.records] == ["contradicts", "supports"]


@pytest.mark.parametrize(
    ("drug", "condition", "said"),
    [
        ("diltiazem", "heart failure", "Avoid: heart failure with reduced ejection fraction; AHA/ACC/HFSA"),
        ("naproxen", "heart failure", "Avoid: severe heart failure; US label, Warnings"),
        ("carvedilol", "asthma", "Contraindicated: bronchial asthma; US label, Contraindications"),
        ("metoprolol", "asthma", "Avoid: bronchospastic disease"),
        ("bupropion", "epilepsy", "Contraindicated: seizure disorder"),
        ("rizatriptan", "coronary heart disease", "Contraindicated: coronary artery disease"),
        ("valproic acid", "pregnancy", "Contraindicated: prevention of migraine in pregnancy"),
        ("tacrine", "alzheimer's disease", "Withdrawn: US, 2013: liver injury"),
    ],
)
def test_classical_contraindications_are_cautions_without_any_record(drug: str, condition: str, said: str) -> None:
    [caution] = list_cautions(drug, [condition], [])
    assert caution.startswith(said)
    assert caution.endswith(("not yet compared with its text", "from a curated list, not verified with the regulator"))


@pytest.mark.parametrize(
    ("drug", "condition"), [("aspirin", "heart failure"), ("carvedilol", "heart failure"), ("diltiazem", "angina")]
)
def test_what_the_table_does_not_hold_is_no_caution(drug: str, condition: str) -> None:
    assert list_cautions(drug, [condition], []) == ()
