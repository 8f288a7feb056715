"""Safety and regulation: quoted, dated, counted; never a recommendation, and silence is never safety."""

from typing import Any

import pytest
from builders import ScriptedReader, material, record

from willowbark.agents.report.content import ReportSection
from willowbark.agents.report.findings import safety
from willowbark.agents.report.forms.blocks import Section
from willowbark.agents.report.texts import References
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.evidence import Citation, Evidence, SourceName
from willowbark.tools.records import Approval, Drug, Record
from willowbark.tools.sources.labels.openfda import parse_label

QUESTION = "Which existing drugs could prevent migraine attacks in pregnancy?"


def entry(source: SourceName, number: str, said: Record, content: str = "") -> Evidence:
    cited = Citation(source=source, title=number, url=f"https://example.org/{source}/{number}")
    return Evidence(content=content or number, citation=cited, record=said)


def label(drug: str, **sections: list[str]) -> Evidence:
    number = f"{len(drug):08}-0000-0000-0000-000000000000"
    given: dict[str, Any] = {"set_id": number, "openfda": {"generic_name": [drug]}, **sections}
    found = parse_label(given)
    assert found is not None
    return found


def section(*about: Evidence, question: str = QUESTION, **fields: Any) -> ReportSection:
    studies = [
        record("1", "Propranolol in migraine", "Propranolol reduced migraine attacks against placebo."),
        record("2", "Topiramate in migraine", "Topiramate reduced migraine attacks against placebo."),
        record("3", "Rofecoxib in migraine", "Rofecoxib reduced migraine attacks against placebo."),
    ]
    pool, readings = [*studies, *about], Readings(ScriptedReader({"reduced": "better"}, **fields))
    found = material(question, pool, readings)
    vars(found)["shown"] = found.candidates  # whatever was read of their benefit
    return References(found.records).write("Safety", safety(found))


def told(*about: Evidence, question: str = QUESTION, **fields: Any) -> str:
    return section(*about, question=question, **fields).content


def test_an_approval_has_its_day_its_agency_and_its_number() -> None:
    approved = Approval(
        drug="topiramate",
        agency="FDA",
        first_approved="1996-12-24",
        applications=[{"number": "NDA020505", "brand": "TOPAMAX", "approved": "1996-12-24"}],
        is_sold=True,
    )

    assert "first 1996-12-24 by the FDA (NDA020505, TOPAMAX)" in told(entry("drugsfda", "t", approved))
    year = entry("chembl", "p", Drug(drug="propranolol", first_approval=1967))
    assert "first in 1967, by ChEMBL, which names no agency" in told(year)


def test_labels_are_quoted_where_they_meet_the_people_asked_about() -> None:
    said = told(
        label(
            "TOPIRAMATE",
            boxed_warning=["Harm to the unborn child."],
            contraindications=["Do not use for migraine in pregnancy."],
            warnings=["Kidney stones."],
            indications_and_usage=["Epilepsy. Prevention of migraine in adults."],
            drug_interactions=["On and on about other things. " * 60 + "Propranolol levels rise. Lithium levels fall."],
        )
    )

    assert "**Boxed warning:** “Harm to the unborn child.”" in said
    assert "**Warnings on pregnancy or migraine:** “Do not use for migraine in pregnancy.” (Contraindications)" in said
    assert "**Labelled for:** “Prevention of migraine in adults.” (Indications and usage)" in said
    assert "propranolol: “Propranolol levels rise.” (Drug interactions)" in said
    assert not any(words in said for words in ("Kidney stones", "Lithium"))


def test_warnings_of_databases_are_told_with_country_and_year_and_stand_in_the_heading() -> None:
    warning = {"kind": "withdrawn", "about": "cardiotoxicity", "country": "United States", "year": 2004}
    found = section(entry("chembl", "t", Drug.model_validate({"drug": "topiramate", "warnings": [warning]})))

    assert "**Warnings by ChEMBL:** withdrawn (cardiotoxicity; United States; 2004)" in found.content
    assert {each.title: each.note for each in found.blocks if isinstance(each, Section)} == {
        "topiramate": "withdrawn",
        "rofecoxib": "withdrawn",
    }


def test_events_reported_more_than_expected_come_with_their_ratio_and_as_no_cause() -> None:
    signal = {"term": "paraesthesia", "count": 1200, "log_likelihood": 310.5}
    said = told(entry("opentargets", "t", Drug.model_validate({"drug": "topiramate", "signals": [signal]})))

    assert "paraesthesia (1,200 reports, log-likelihood ratio 310.5)" in said
    assert "do not show that the drug caused it" in said


def test_silence_is_no_safety_nothing_is_recommended_and_a_withdrawal_is_said() -> None:
    said = told()

    assert "worldwide, 2004: heart attack and stroke" in said
    assert "No approval, label or reported adverse events were found for propranolol and topiramate;" in said
    assert "Nothing here is a recommendation, and the absence of a report is not evidence of safety." in said


NAUSEA = record(
    "4",
    "Topiramate in migraine",
    "Topiramate reduced attacks. RESULTS: Adverse events were mild. With topiramate adverse events rose to 40% "
    "(placebo 12%, p<0.01). CONCLUSIONS: Topiramate was well tolerated.",
)


def test_what_records_say_of_a_drug_and_harm_is_quoted_its_figures_first_and_without_a_verdict() -> None:
    said = told(NAUSEA)

    quoted = "“With topiramate adverse events rose to 40% (placebo 12%, p<0.01)."
    assert f"**Harm and tolerability:** {quoted}" in said
    assert "reports harm" not in said


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"kind": "harm", "effect": "worse"}, True),
        ({"kind": "harm", "effect": "worse", "harm": 0.59}, False),
        ({"harm": 0.6}, True),
        ({"kind": "harm", "effect": "worse", "design": "animal"}, False),
        ({"kind": "harm", "effect": "no_difference"}, False),
    ],
)
def test_records_that_surely_report_harm_of_patients_are_counted(fields: dict[str, Any], shown: bool) -> None:
    found = material(QUESTION, [NAUSEA], Readings(ScriptedReader(**{"effect": "better"} | fields)))
    assert [each.drug for each in found.candidates] == ["topiramate"]
    vars(found)["shown"] = found.candidates
    said = References(found.records).write("Safety", safety(found))

    assert ("1 study reports harm" in said.content) is shown
