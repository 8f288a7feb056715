"""The pictures: when there is one, what it says, and that it is the same every time."""

import re

import pytest
from exports_sample import ONE_YEAR, TRIALS, effect, row, sample

from willowbark.agents.pictures.figures import ForestPlot, Plot, StudyEffect, Timeline, forest_plots
from willowbark.agents.pictures.plots import NARROW, draw
from willowbark.agents.report.candidates import certainty_figure
from willowbark.agents.report.content import EvidenceRow
from willowbark.agents.report.forms.blocks import Block, Figure, Section
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.reading.numbers import EffectSize

GOOD = (effect(2.8, 1.9, 4.3, ONE_YEAR), effect(2.2, 1.3, 3.9, ONE_YEAR))


def words(plot: Plot) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", draw(plot).decode())


def plots_of(*sizes: EffectSize, drug: str = "bupropion") -> list[ForestPlot]:
    return forest_plots(drug, 1, [StudyEffect("Smith 2003", "Bupropion", "supports", size) for size in sizes])


def plots_in(report: ResearchReport) -> dict[str, Plot]:
    """The pictures of a whole report by their names."""
    found: dict[str, Plot] = {}
    whole = report.to_tree()
    blocks: list[Block] = [*whole.sections, *([whole.appendix] if whole.appendix else [])]
    while blocks:
        block = blocks.pop()
        if isinstance(block, Figure):
            found[block.name] = block.plot  # type: ignore[assignment]
        elif isinstance(block, Section):
            blocks += block.blocks
    return found


def test_two_effect_estimates_make_a_picture_and_one_does_not() -> None:
    assert len(plots_of(*GOOD)) == 1
    assert plots_of(GOOD[0]) == []


def test_ratios_share_a_logarithmic_axis_and_differences_do_not_join_them() -> None:
    values = {"OR": 2.0, "RR": 1.5, "MD": -1.0, "RD": 0.1}
    sizes = [EffectSize.model_validate({"measure": m, "value": v, "sentence": ONE_YEAR}) for m, v in values.items()]
    [plot] = plots_of(*sizes)

    assert plot.measures == ("OR", "RR")
    assert plot.is_ratio
    assert "OR/RR (log scale)" in words(plot)


def test_a_sentence_that_compares_drugs_is_left_out_and_counted() -> None:
    mixed = EffectSize(measure="OR", value=1.2, sentence="Abstinence on bupropion and on varenicline (OR 1.2).")
    [plot] = plots_of(*GOOD, mixed)

    assert (len(plot.effects), plot.left_out) == (2, 1)
    assert "1 excluded: their sentences compare several drugs" in plot.caption


@pytest.mark.parametrize(
    ("value", "interval"), [(-1.0, (None, None)), (0.0, (None, None)), (9.0, (1.0, 2.0))],
    ids=["negative ratio", "ratio of zero", "outside its interval"],
)  # fmt: skip
def test_a_value_that_cannot_be_drawn_is_not(value: float, interval: tuple[float | None, float | None]) -> None:
    size = EffectSize(measure="OR", value=value, ci_low=interval[0], ci_high=interval[1], sentence=ONE_YEAR)
    [plot] = plots_of(*GOOD, size)

    assert size not in [each.size for each in plot.effects]


def test_the_forest_plot_names_studies_and_estimates_in_words_too() -> None:
    plot = plots_in(sample())["forest-1-1"]

    assert {"Tønnesen 2003", "OR 2.82 (CI 1.89 to 4.28)", "supports"} <= set(words(plot))
    assert "Tonstad 2003: OR 3.27 (CI 2.24 to 4.84)" in plot.description
    assert "not pooled" in plot.caption


def test_registered_trials_stand_in_the_forest_plot_by_their_numbers_and_retracted_studies_do_not() -> None:
    def plots(**fields: bool) -> dict[str, Plot]:
        rows: list[EvidenceRow] = [row("nct:NCT02188459", "Bupropion", effects=list(GOOD), **fields)]
        return plots_in(sample(evidence_table=rows, trials=[]))

    assert "NCT02188459" in words(plots()["forest-1-1"])
    assert plots(retracted=True) == {}


def test_the_timeline_marks_stopped_trials_by_phase_and_leaves_out_those_without_a_start() -> None:
    undated = TRIALS[0].model_copy(update={"start_date": None, "nct_id": "NCT00000001"})
    plot = plots_in(sample(trials=[*TRIALS, undated]))["trials"]

    assert isinstance(plot, Timeline)
    assert [trial.nct_id for trial in plot.trials] == ["NCT03809897", "NCT02188459"]
    assert "stopped" in words(plot)
    assert "Stopped: NCT03809897." in plot.description
    assert undated.model_copy(update={"phases": ["NA"]}).phase_words == "phase not applicable"


def test_certainty_is_drawn_by_drug_with_what_its_studies_say() -> None:
    one = sample().candidates[0]
    report = sample(candidates=[one, one.model_copy(update={"name": "varenicline", "certainty": "high"})])
    chart = certainty_figure(report)

    assert chart is not None
    assert "varenicline (high): 2 supporting, 1 inconclusive, 1 contradicting" in chart.description
    assert any(line.startswith("varenicline") for line in words(chart.plot))  # type: ignore[arg-type]
    assert certainty_figure(sample()) is None, "one drug is a sentence, not a picture"


def test_the_same_picture_has_the_same_bytes_in_every_form() -> None:
    for plot in plots_in(sample()).values():
        for form, width in (("svg", 7.4), ("svg", NARROW), ("png", 7.4)):
            first = draw(plot, form, width)  # type: ignore[arg-type]
            draw.cache_clear()
            assert draw(plot, form, width) == first  # type: ignore[arg-type]
