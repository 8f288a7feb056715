"""The pictures: when there is one, what it says, and that it is the same every time."""

import re

import pytest
from exports_sample import ONE_YEAR, effect, row, sample

from willowbark.agents.pictures import ForestPlot, StudyEffect, make_forest_plots
from willowbark.agents.pictures.plots import NARROW, draw
from willowbark.agents.report.content import EvidenceRow
from willowbark.agents.report.forms.blocks import Block, Figure, Section
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.reading.numbers import EffectSize

GOOD = (effect(2.8, 1.9, 4.3, ONE_YEAR), effect(2.2, 1.3, 3.9, ONE_YEAR))


def words(plot: ForestPlot) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", draw(plot).decode())


def plots_of(*sizes: EffectSize, drug: str = "bupropion") -> list[ForestPlot]:
    return make_forest_plots(drug, 1, [StudyEffect("Smith 2003", "Bupropion", "supports", size) for size in sizes])


def plots_in(report: ResearchReport) -> dict[str, ForestPlot]:
    """The pictures of a whole report by their names."""
    found: dict[str, ForestPlot] = {}
    whole = report.to_tree()
    blocks: list[Block] = [*whole.sections, *([whole.appendix] if whole.appendix else [])]
    while blocks:
        block = blocks.pop()
        if isinstance(block, Figure):
            found[block.plot.name] = block.plot
        elif isinstance(block, Section):
            blocks += block.blocks
    return found


def test_a_picture_has_two_estimates_at_least_and_ratios_share_an_axis_that_differences_do_not_join() -> None:
    values = {"OR": 2.0, "RR": 1.5, "MD": -1.0, "RD": 0.1}
    sizes = [EffectSize.model_validate({"measure": m, "value": v, "sentence": ONE_YEAR}) for m, v in values.items()]
    [plot] = plots_of(*sizes)

    assert (plot.measures, plot.is_ratio) == ("OR/RR", True)
    assert "OR/RR (log scale)" in words(plot)
    [plot] = plots_of(sizes[2], sizes[2].model_copy(update={"value": 3.0}))
    assert (plot.measures, plot.is_ratio, "line of no effect at 0" in plot.description) == ("MD", False, True)
    assert plots_of(GOOD[0]) == []
    narrow = [each.model_copy(update={"value": 1.3, "ci_low": 1.1, "ci_high": 1.4}) for each in GOOD]
    assert {"1.2", "1.5"} <= set(words(plots_of(*narrow)[0])), "marks stand close where values do"


def test_a_sentence_that_compares_drugs_is_left_out_and_counted() -> None:
    mixed = EffectSize(measure="OR", value=1.2, sentence="Abstinence on bupropion and on varenicline (OR 1.2).")
    [plot] = plots_of(*GOOD, mixed)

    assert (len(plot.effects), plot.left_out) == (2, 1)
    assert "1 excluded: their sentences compare several drugs" in plot.caption


@pytest.mark.parametrize(
    ("value", "interval"),
    [(-1.0, (None, None)), (0.0, (None, None)), (9.0, (1.0, 2.0)), (0.5, (1.0, 2.0)), (1.0, (-1.0, 2.0))],
    ids=["negative ratio", "ratio of zero", "above its interval", "below it", "interval beyond zero"],
)
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
    def plots(**fields: bool) -> dict[str, ForestPlot]:
        rows: list[EvidenceRow] = [row("nct:NCT02188459", "Bupropion", effects=list(GOOD), **fields)]
        return plots_in(sample(evidence_table=rows, trials=[]))

    assert "NCT02188459" in words(plots()["forest-1-1"])
    assert plots(retracted=True) == {}


def test_the_same_picture_has_the_same_bytes_in_every_form() -> None:
    for plot in plots_in(sample()).values():
        for form, width in (("svg", 7.4), ("svg", NARROW), ("png", 7.4)):
            first = draw(plot, form, width)  # type: ignore[arg-type]
            draw.cache_clear()
            assert draw(plot, form, width) == first  # type: ignore[arg-type]
