"""The workbench: what it draws and lists stands in the report; pictures, their words and the rows agree."""

import re

import pytest
from exports_sample import empty, hostile, sample

from willowbark.agents.pictures.panels import ComparedEffect
from willowbark.agents.pictures.strip import StripAxis, draw_axis, draw_level, draw_strip
from willowbark.agents.report.content import ReportContent
from willowbark.agents.report.tree import build_candidates
from willowbark.agents.report.workbench import Workbench, make_workbench
from willowbark.teams.page.workbench import count_stances, render_workbench
from willowbark.tools.records.study import Arm, Comparison, Estimate, Study

ARMS = (Arm(name="bupropion", role="drug", drugs=("bupropion",)), Arm(name="placebo", role="placebo"))
HOSTILE = "<img src=x onerror=alert(1)>\"'&</svg></template></script>"


def effect(value: float, low: float, high: float, direction: str = "supports") -> ComparedEffect:
    return ComparedEffect("bupropion", "Hurt 1997", "OR", value, low, high, direction)


def study(key: str, *values: tuple[float, float, float]) -> Study:
    rows = [
        Comparison(
            arm="bupropion",
            versus="placebo",
            outcome="abstinence",
            endpoint="efficacy",
            favours="arm",
            estimate=Estimate(measure="odds ratio", value=value, low=low, high=high),
        )
        for value, low, high in values
    ]
    return Study(key=key, reader="model", version="m", arms=ARMS, comparisons=tuple(rows))


def bench_of(**changes: object) -> Workbench:
    return make_workbench(sample(**changes))


def shown(report: ReportContent, *moved: str) -> str:
    return render_workbench("run", report, moved, moved_by="Moved", can_correct=True)  # type: ignore[arg-type]


def test_drugs_are_those_of_the_reports_own_tables_and_studies_those_of_its_evidence() -> None:
    report = sample()
    bench = make_workbench(report)

    captions = [block.caption for block in build_candidates(report).blocks if hasattr(block, "caption")]
    assert {line.caption for line in bench.drugs} <= set(captions)
    assert [line.candidate.name for line in bench.drugs] == [each.name for each in report.candidates if each.in_detail]
    rows = [(line.row.key, line.row.drug) for line in bench.studies]
    assert rows == [(row.key, row.drug) for row in report.evidence_table]


def test_a_row_draws_the_ratio_that_it_tells() -> None:
    first = next(row for row in sample().evidence_table if row.effects)
    told = first.effects[0]
    assert told.ci_low is not None
    assert told.ci_high is not None
    other = (told.value * 3, told.value * 2, told.value * 4)
    read = study(first.key, other, (told.value, told.ci_low, told.ci_high))
    line = next(line for line in bench_of(studies=[read]).studies if line.row.key == first.key)

    assert line.drawn is not None
    assert line.drawn.value == told.value
    assert f"{told.value:g}" in line.estimate


def test_a_ratio_that_a_row_does_not_tell_is_not_drawn_beside_its_words() -> None:
    first = next(row for row in sample().evidence_table if row.effects)
    bench = bench_of(studies=[study(first.key, (77.5, 60.0, 90.0))])

    assert [line.drawn for line in bench.studies if line.row.key == first.key] == [None]
    assert not bench.is_drawn


def test_columns_without_content_are_left_out() -> None:
    rows = [row.model_copy(update={"values": [], "effects": [], "figures": []}) for row in sample().evidence_table]
    bench = bench_of(evidence_table=rows)

    assert "dose" not in bench.columns
    assert "estimate" not in bench.columns
    assert 'data-label="dose"' not in shown(sample(evidence_table=rows))


def test_a_report_without_candidates_has_an_answer_and_no_tables() -> None:
    page = shown(empty())

    assert "<table" not in page
    assert "No study of a drug was read." in page


@pytest.mark.parametrize(("level", "filled"), [("high", 4), ("moderate", 3), ("low", 2), ("very low", 1)])
def test_a_level_is_drawn_as_so_many_bars(level: str, filled: int) -> None:
    picture = draw_level(level)

    assert (picture.count('class="full"'), picture.count('class="hollow"')) == (filled, 4 - filled)


def test_what_is_no_level_is_not_drawn_as_one() -> None:
    assert [draw_level(name) for name in ("refuted", "unsupported", "standard", "not reported")] == [""] * 4


def test_an_axis_holds_no_effect_and_every_ratio_in_order() -> None:
    effects = [effect(0.3, 0.1, 0.9), effect(4.0, 2.0, 8.0)]
    axis = StripAxis.of(effects)
    places = [axis.place(ratio) for ratio in (0.1, 0.3, 1.0, 4.0, 8.0)]

    assert places == sorted(places)
    assert 1.0 in axis.ticks
    assert 'text-anchor="middle">1</text>' in draw_axis(axis)


def test_an_interval_beyond_the_axis_ends_in_an_arrow_and_its_figures_are_whole() -> None:
    wide = effect(3.0, 0.001, 900.0)
    picture = draw_strip([wide], StripAxis.of([wide]))

    assert picture.count('class="head"') == 2
    assert "3 (0.001 to 900)" in picture


def test_sides_differ_in_shape_and_words_and_not_in_colour_alone() -> None:
    sides = ("supports", "contradicts", "inconclusive")
    effects = [effect(0.5, 0.2, 0.9, side) for side in sides]
    picture = draw_strip(effects, StripAxis.of(effects))

    assert re.findall(r"<(rect|polygon|circle) class=\"at\"", picture) == ["rect", "polygon", "circle"]
    words = ("favours the drug", "favours the other side", "no clear difference")
    assert [word for word in words if word not in picture] == []


def test_studies_of_a_drug_are_counted_by_what_they_say() -> None:
    line = bench_of().drugs[0]
    drug = line.candidate

    assert count_stances(line).startswith(f"{len(drug.supporting_citations)} supporting")


def test_texts_of_others_are_escaped_wherever_they_stand() -> None:
    page = shown(hostile(HOSTILE), HOSTILE)

    assert "<img" not in page
    assert "onerror=alert" in page, "it is shown"
