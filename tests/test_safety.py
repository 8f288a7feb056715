"""Safety and regulation: quoted, dated, counted; never a recommendation, and silence is never safety."""

from typing import Any

import pytest
from builders import ScriptedReader, material, record

from willowbark.agents.report.content import ReportSection
from willowbark.agents.report.findings import safety
from willowbark.agents.report.texts import References
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.evidence import Evidence

QUESTION = "Which existing drugs could prevent migraine attacks in pregnancy?"


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
