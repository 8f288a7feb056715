"""Safety and regulation: quoted, dated, counted; never a recommendation, and silence is never safety."""

from typing import Any

import pytest
from builders import ScriptedReader, material, record

from willowbark.agents.report.findings import describe_safety
from willowbark.agents.report.texts import References
from willowbark.tools.appraisal.appraised import Readings

QUESTION = "Which existing drugs could prevent migraine attacks in pregnancy?"


NAUSEA = record(
    "4",
    "Topiramate in migraine",
    "Topiramate reduced attacks. RESULTS: Adverse events were mild. With topiramate adverse events rose to 40% "
    "(placebo 12%, p<0.01). CONCLUSIONS: Topiramate was well tolerated.",
)


def told(**fields: Any) -> str:
    """What is told of the harms of topiramate, whatever was read of its benefit."""
    found = material(QUESTION, [NAUSEA], Readings(ScriptedReader(**{"effect": "better"} | fields)))
    assert [each.drug for each in found.candidates] == ["topiramate"]
    vars(found)["detailed"] = found.candidates
    return References(found.records).write("Safety", describe_safety(found)).content


def test_what_records_say_of_a_drug_and_harm_is_quoted_its_figures_first_and_without_a_verdict() -> None:
    assert "**Harm and tolerability:** “With topiramate adverse events rose to 40% (placebo 12%, p<0.01)." in told()
    assert "reports harm" not in told()


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
    assert ("1 study reports harm" in told(**fields)) is shown
