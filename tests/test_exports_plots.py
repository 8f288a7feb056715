"""The pictures: when there is one, what it says, and that it is the same every time."""

import re

import pytest
from exports_sample import ONE_YEAR, TRIALS, effect, empty, row, sample

from willowbark.agents.pictures.canvas import Picture, cleaned
from willowbark.agents.pictures.figures import (
    Path,
    Step,
    drawn_trials,
    effect_families,
    forests,
    phase_words,
    publications_by_year,
    trial_timeline,
    year_counts,
)
from willowbark.agents.pictures.plots import drawn
from willowbark.tools.appraisal import EffectSize


def words(picture: Picture) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.wide)


def test_two_effect_sizes_make_a_picture_and_one_does_not() -> None:
    two = [row("pmid:1", "Bupropion", effects=[effect(2.8, 1.9, 4.3, ONE_YEAR), effect(2.2, 1.3, 3.9, ONE_YEAR)])]
    one = [row("pmid:1", "Bupropion", effects=[effect(2.8, 1.9, 4.3, ONE_YEAR)])]
    assert len(effect_families("bupropion", two)) == 1
    assert effect_families("bupropion", one) == []


def test_ratios_share_a_logarithmic_axis_and_differences_do_not_join_them() -> None:
    sizes = [
        EffectSize(measure="OR", value=2.0, sentence="Bupropion helped."),
        EffectSize(measure="RR", value=1.5, sentence="Bupropion helped."),
        EffectSize(measure="MD", value=-1.0, sentence="Bupropion helped."),
        EffectSize(measure="RD", value=0.1, sentence="Bupropion helped."),
    ]
    (family,) = effect_families("bupropion", [row("pmid:1", "Bupropion", effects=sizes)])
    assert family.measures == ("OR", "RR")
    assert family.is_ratio


def test_a_sentence_that_compares_drugs_is_left_out_and_counted() -> None:
    mixed = EffectSize(measure="OR", value=1.2, sentence="Abstinence on bupropion and on varenicline (OR 1.2).")
    good = [effect(2.8, 1.9, 4.3, ONE_YEAR), effect(2.2, 1.3, 3.9, ONE_YEAR)]
    (family,) = effect_families("bupropion", [row("pmid:1", "Bupropion", effects=[*good, mixed])])
    assert len(family.effects) == 2
    assert family.left_out == 1


@pytest.mark.parametrize(
    "size",
    [
        EffectSize(measure="OR", value=-1.0, sentence=ONE_YEAR),
        EffectSize(measure="OR", value=0.0, sentence=ONE_YEAR),
        EffectSize(measure="OR", value=9.0, ci_low=1.0, ci_high=2.0, sentence=ONE_YEAR),
    ],
    ids=["negative ratio", "ratio of zero", "outside its interval"],
)
def test_a_value_that_cannot_be_drawn_is_not(size: EffectSize) -> None:
    good = [effect(2.8, 1.9, 4.3, ONE_YEAR), effect(2.2, 1.3, 3.9, ONE_YEAR)]
    (family,) = effect_families("bupropion", [row("pmid:1", "Bupropion", effects=[*good, size])])
    assert size not in [each.size for each in family.effects]


def test_the_forest_names_studies_and_estimates_in_words_too() -> None:
    (picture,) = map(drawn, forests(sample(), "bupropion"))
    assert "Tønnesen 2003" in words(picture)
    assert "OR 2.82 [1.89, 4.28]" in words(picture)
    assert "Tonstad 2003: OR 3.27 [2.24, 4.84]" in picture.description
    assert "not pooled" in picture.caption


def test_the_timeline_marks_stopped_trials() -> None:
    picture = drawn(trial_timeline(sample()))
    assert "stopped" in words(picture)
    assert "Stopped: NCT03809897." in picture.description


def test_trials_stand_by_phase_and_those_without_a_start_are_not_drawn() -> None:
    undated = TRIALS[0].model_copy(update={"start_date": None})
    assert [trial.nct_id for trial in drawn_trials([*TRIALS, undated])] == ["NCT03809897", "NCT02188459"]
    assert phase_words(TRIALS[0].model_copy(update={"phases": ["EARLY_PHASE1"]})) == "phase early 1"
    assert phase_words(TRIALS[0].model_copy(update={"phases": ["NA"]})) == "phase not applicable"


def test_a_publication_counts_once_though_it_names_two_drugs() -> None:
    rows = [
        row("pmid:1", "A"),
        row("pmid:1", "A", drug="nicotine"),
        row("nct:NCT02188459", "B"),
        row("pmid:2", "C", date="Unknown"),
    ]
    counts = year_counts(sample(evidence_table=rows))
    assert {year: dict(groups) for year, groups in counts.items()} == {2003: {"RCT": 1}}


def test_nothing_to_draw_is_no_picture() -> None:
    assert forests(empty(), "bupropion") == []
    assert trial_timeline(empty()) is None
    assert publications_by_year(empty()) is None


def test_the_path_shows_what_is_missing() -> None:
    steps = (Step("drug", "bupropion"), Step("target", "not reported"), Step("disease", "smoking cessation"))
    picture = drawn(Path("path-1", steps))
    assert picture.wide.count("stroke-dasharray") == 1
    assert "target: not reported" in picture.description
    assert words(picture)[:2] == ["drug", "bupropion"]


def test_pictures_are_the_same_every_time() -> None:
    two = sample(), sample()
    told = ([trial_timeline(report), *forests(report, "bupropion"), publications_by_year(report)] for report in two)
    for plots in zip(*told, strict=True):
        first, second = map(drawn, plots)
        assert (first.wide, first.narrow, first.description) == (second.wide, second.narrow, second.description)


def test_a_picture_keeps_no_style_script_or_foreign_address() -> None:
    made = cleaned(
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink" viewBox="0 0 1 1" onload="a()">'
        '<style>*{}</style><script>a()</script><use x:href="https://evil.example/#a"/><use x:href="#b"/>'
        '<path id="b" style="fill: #16181d; background: url(https://evil.example/)" onclick="a()"/></svg>',
        "p",
        'says "all"',
    )
    assert "evil" not in made
    assert "script" not in made
    assert "style" not in made
    assert "onload" not in made
    assert "onclick" not in made
    assert 'href="#p-b"' in made
    assert 'id="p-b"' in made
    assert 'class="f-ink"' in made


def test_jupyter_is_handed_a_picture_that_stands_alone() -> None:
    picture = drawn(trial_timeline(sample()))
    assert picture._repr_svg_().startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_registered_trials_stand_in_the_forest_by_their_numbers() -> None:
    sizes = [effect(0.87, 0.76, 0.98, ONE_YEAR), effect(0.83, 0.73, 0.93, ONE_YEAR)]
    report = sample(evidence_table=[row("nct:NCT02188459", "Bupropion", effects=sizes)])

    assert "NCT02188459" in words(drawn(forests(report, "bupropion")[0]))


def test_a_short_ratio_axis_has_marks_on_both_sides_of_no_effect() -> None:
    sizes = [effect(0.87, 0.76, 1.2, ONE_YEAR), effect(0.83, 0.73, 0.93, ONE_YEAR)]
    report = sample(evidence_table=[row("pmid:12859700", "Bupropion", effects=sizes)])

    assert {"0.8", "1", "1.2"} <= set(words(drawn(forests(report, "bupropion")[0])))


def test_documents_get_the_same_picture_as_png_every_time() -> None:
    path = Path("path", [Step("drug", "bupropion"), Step("target", "not reported", "inhibitor")])

    for plot in (path, *forests(sample(), "bupropion"), publications_by_year(sample())):
        assert drawn(plot).png.startswith(b"\x89PNG")
        assert drawn(plot).png == drawn(plot).png
