"""Exports for other tools: columns for meta-analysis, FHIR, and the brief for repurposing dossiers."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from exports_sample import empty, hostile, sample

from willowbark.agents.exports import render, write
from willowbark.agents.exports.meta import META_COLUMNS, REVMAN_COLUMNS
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.records.study import Arm, ArmCount, Comparison, Estimate, Study

ARMS = (
    Arm(name="bupropion", role="drug", drugs=("bupropion",), n=120, dose="150 mg twice a day"),
    Arm(name="placebo", role="placebo", n=118),
)
COUNTS = (ArmCount(arm="bupropion", events=28, n=120), ArmCount(arm="placebo", events=12, n=118))
KEY = "pmid:12859700"


def report(*estimates: Estimate) -> ResearchReport:
    rows = [
        Comparison(arm="bupropion", versus="placebo", endpoint="efficacy", outcome="abstinence", estimate=estimate)
        for estimate in estimates
    ]
    study = Study(key=KEY, reader="model", version="m", arms=ARMS, comparisons=tuple(rows), condition="smoking")
    return sample(studies=[study])


def table(of: ResearchReport, name: str = "meta") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(of, name).decode("utf-8-sig"))))


def ratio(**changes: Any) -> Estimate:
    return Estimate(**{"measure": "odds ratio", "value": 2.8, "low": 1.9, "high": 4.3, "level": 95, **changes})


def test_a_ratio_stands_as_a_logarithm_with_the_error_of_its_interval() -> None:
    (row,) = table(report(ratio(counts=COUNTS)))

    assert [row[name] for name in ("studlab", "drug", "versus", "outcome", "sm")] == [
        "Tønnesen P 2003",
        "bupropion",
        "placebo",
        "abstinence",
        "OR",
    ]
    assert float(row["TE"]) == pytest.approx(math.log(2.8), rel=1e-4)
    assert float(row["seTE"]) == pytest.approx((math.log(4.3) - math.log(1.9)) / 3.92, rel=1e-3)
    assert [row[name] for name in ("event.e", "n.e", "event.c", "n.c")] == ["28", "120", "12", "118"]


@pytest.mark.parametrize(
    ("estimate", "error"),
    [
        (ratio(level=None), ""),
        (ratio(low=None, high=None), ""),
        (ratio(measure="mean difference", value=-1, low=-3, high=1), "1.02043"),
    ],
    ids=["level not reported", "no interval", "a difference"],
)
def test_no_error_is_assumed(estimate: Estimate, error: str) -> None:
    (row,) = table(report(estimate))
    assert row["seTE"] == error


def test_what_cannot_be_pooled_is_no_row() -> None:
    assert table(report(ratio(value=-1.0), Estimate(written="better"))) == []
    assert table(empty()) == []


def test_means_carry_their_standard_deviations_and_no_other_spread() -> None:
    counts = (
        ArmCount(arm="bupropion", n=60, mean=4.5, dispersion="SD 1.2"),
        ArmCount(arm="placebo", n=58, mean=6.0, dispersion="IQR 2-7"),
    )
    (row,) = table(report(Estimate(counts=counts)))

    assert [row[name] for name in ("mean.e", "sd.e", "mean.c", "sd.c")] == ["4.5", "1.2", "6", ""]


def test_revman_has_the_same_rows_under_its_headings() -> None:
    whole = report(ratio(counts=COUNTS))
    (ours,), (theirs,) = table(whole), table(whole, "revman")

    assert set(REVMAN_COLUMNS) < set(META_COLUMNS)
    assert {heading: theirs[heading] for heading in theirs} == {
        heading: ours[column] for column, heading in REVMAN_COLUMNS.items()
    }


def resources(of: ResearchReport, kind: str) -> list[dict[str, Any]]:
    entries = json.loads(render(of, "fhir"))["entry"]
    return [each["resource"] for each in entries if each["resource"]["resourceType"] == kind]


def test_fhir_has_each_comparison_with_its_figures_and_each_candidates_certainty() -> None:
    whole = report(ratio(p=0.001, p_sign="<"))
    appraisal, comparison = sorted(resources(whole, "Evidence"), key=lambda each: each["id"])
    (study,) = resources(whole, "ResearchStudy")
    (statistic,) = comparison["statistic"]
    interval, p = statistic["attributeEstimate"]

    assert [group["name"] for group in study["comparisonGroup"]] == ["bupropion", "placebo"]
    assert (statistic["quantity"], statistic["sampleSize"]) == ({"value": 2.8}, {"numberOfParticipants": 238})
    assert (interval["level"], interval["range"]["low"]) == (0.95, {"value": 1.9})
    assert p["quantity"] == {"value": 0.001, "comparator": "<"}
    assert appraisal["certainty"][0]["rating"]["text"] == whole.candidates[0].level
    urls = {each["fullUrl"] for each in json.loads(render(whole, "fhir"))["entry"]}
    assert comparison["citeAsReference"]["reference"] in urls
    assert {each["resourceReference"]["reference"] for each in appraisal["relatedArtifact"]} <= urls


@pytest.mark.parametrize("of", [sample(), report(ratio(counts=COUNTS)), empty(), hostile("</x>")])
def test_fhir_holds_nothing_empty_and_is_valid(of: ResearchReport) -> None:
    text = render(of, "fhir").decode()
    assert ": null" not in text
    assert '": ""' not in text
    bundle = pytest.importorskip("fhir.resources.bundle", reason="needs the extra `fhir`")
    assert bundle.Bundle.model_validate_json(text).type == "collection"


def test_the_brief_is_written_as_word_and_markdown_with_what_is_missing(tmp_path: Path) -> None:
    paths = write(sample(), tmp_path, ["brief"])
    text = (tmp_path / "brief.md").read_text(encoding="utf-8")
    word = Document(str(tmp_path / "brief.docx"))

    assert [path.name for path in paths] == ["brief.docx", "brief.md"]
    parts = ["Evidence of effect", "Form, route and dose", "Comparable safety", "Sponsors of trials", "What is missing"]
    assert [part for part in parts if f"### {part}" not in text] == []
    assert "- Not found: the labelled route" in text
    assert "## Records cited" in text
    assert "not reported" not in text
    headings = [p.text for p in word.paragraphs if p.style and p.style.name == "Heading 1"]
    assert headings[0].startswith("bupropion")


def test_a_labelled_route_and_a_sponsor_are_cited() -> None:
    candidate = sample().candidates[0].model_copy(update={"labelled_routes": {"url:agency": ["ORAL"]}})
    trials = [trial.model_copy(update={"sponsor": "A University"}) for trial in sample().trials]
    text = render(sample(candidates=[candidate], trials=trials), "brief-md").decode()

    assert "- Labelled: oral [" in text
    assert "| A University |" in text
    assert "Not found: the labelled route" not in text


def test_a_brief_of_nothing_says_so() -> None:
    assert "No candidate has a study in support" in render(empty(), "brief-md").decode()
