"""A report in Python's hands: looked up by drug, saved by a file's ending, plotted where there is something to plot."""

import sys
from pathlib import Path

import pytest
from exports_sample import empty, sample

from willowbark.agents.exports import FORMATS, render
from willowbark.agents.exports.formats import format_for
from willowbark.agents.report.charts import make_overview
from willowbark.agents.report.content import ReportContent
from willowbark.tools.errors import UsageError
from willowbark.tools.records.study import Arm, Comparison, Estimate, Study

ARMS = (Arm(name="bupropion", role="drug", drugs=("bupropion",)), Arm(name="placebo", role="placebo"))


def study(key: str, *estimates: Estimate, favours: str = "arm") -> Study:
    rows = [
        Comparison(arm="bupropion", versus="placebo", endpoint="efficacy", favours=favours, estimate=estimate)
        for estimate in estimates
    ]
    return Study(key=key, reader="model", version="m", arms=ARMS, comparisons=tuple(rows))


def ratio(value: float, low: float, high: float, measure: str = "odds ratio") -> Estimate:
    return Estimate(measure=measure, value=value, low=low, high=high)


def drawn(report: ReportContent) -> list[tuple[str, str, str, float]]:
    return [(each.drug, each.study, each.direction, each.value) for each in make_overview(report).effects]


def test_a_candidate_is_found_by_any_name_of_the_drug() -> None:
    report = sample()

    assert report["Zyban"] is report["bupropion"] is report.candidates[0]
    assert ("Wellbutrin" in report, "aspirin" in report) == (True, False)
    with pytest.raises(KeyError) as problem:
        report["bupropiom"]
    assert str(problem.value) == "bupropiom: the report has no such candidate (did you mean 'bupropion'?)"
    assert isinstance(problem.value, UsageError)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("answer.docx", "docx"),
        ("Answer.HTML", "html"),
        ("refs.csl.json", "csl"),
        ("comparisons.csv", "comparisons"),
        ("mine.csv", "csv"),
        ("report.v2.json", "json"),
        ("report-appendix.md", "appendix"),
    ],
)
def test_the_ending_of_a_file_tells_the_form(name: str, form: str) -> None:
    assert format_for(Path(name)).name == form


def test_every_form_is_saved_under_the_name_of_its_own_file() -> None:
    assert [known.name for known in FORMATS if format_for(Path(known.file_name)) != known] == []


def test_a_report_is_saved_in_the_form_of_its_ending_or_the_one_named(tmp_path: Path) -> None:
    report = sample()

    assert report.save(tmp_path / "new" / "refs.bib").read_bytes() == render(report, "bib")
    assert report.save(tmp_path / "rows.csv", to="comparisons").read_bytes() == render(report, "comparisons")
    assert report.to_html().encode() == render(report, "html")
    with pytest.raises(UsageError, match=r"^answer\.doc: no format has that ending; there are \.html, \.bib"):
        report.save(tmp_path / "answer.doc")
    with pytest.raises(UsageError, match="there is no format 'word'"):
        report.save(tmp_path / "answer", to="word")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("answer")] == []


def test_a_plot_has_the_panels_that_have_something_to_show(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = sample(studies=[study("pmid:12859700", ratio(2.8, 1.9, 4.3))])
    plot = report.plot()

    assert plot.panels == ("estimates", "certainty", "years")
    assert drawn(report) == [("bupropion", "Tønnesen 2003", "supports", 2.8)]
    assert "odds ratio 2.8 (1.9 to 4.3)" in plot.description
    assert plot.save(tmp_path / "overview.svg").read_bytes() == plot.draw("svg") == report.plot().draw("svg")
    assert plot.save(tmp_path / "overview.png").read_bytes().startswith(b"\x89PNG")
    assert "data:image/svg+xml" in plot._repr_html_()
    assert sample(studies=[], evidence_table=[]).plot().panels == ("certainty",)
    with pytest.raises(UsageError, match="there is nothing to plot"):
        empty().plot()
    with pytest.raises(UsageError, match=r"a picture is saved as \.svg or \.png"):
        plot.save(tmp_path / "overview.gif")


def test_only_ratios_with_intervals_that_are_one_drugs_are_drawn() -> None:
    both = study("pmid:2", ratio(2.0, 1.5, 3.0)).model_copy(
        update={"arms": (ARMS[0].model_copy(update={"drugs": ("bupropion", "nicotine")}), ARMS[1])}
    )
    undrawable = [
        ratio(-1.0, -2.0, 0.5),
        ratio(5.0, 1.0, 2.0),
        ratio(2.0, 1.0, 3.0, "mean difference"),
        Estimate(measure="OR", value=2.0),
    ]
    report = sample(
        studies=[study("pmid:1", *undrawable), both, study("pmid:3", ratio(0.8, 0.7, 0.9), favours="versus")]
    )

    assert drawn(report) == [("bupropion", "PMID 3", "contradicts", 0.8)]


def test_without_matplotlib_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(UsageError, match="a plot needs an extra"):
        sample().plot()
