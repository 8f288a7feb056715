"""Each step that the soundest part of the evidence takes, with the words that give its reason."""

import pytest

from willowbark.tools.appraisal import AppraisedItem, Direction, StudyDesign
from willowbark.tools.appraisal.soundness import Body, describe_left_out, faults, soundest_body


def trial(key: int = 1, size: int | None = 900, design: str = "rct_blinded", **more: object) -> AppraisedItem:
    given = {"key": f"pmid:{key}", "direction": Direction.supports, "sample_size": size, **more}
    return AppraisedItem(design=StudyDesign(design), **given)


def body(*items: AppraisedItem, start: int = 3, randomised: bool = True) -> Body:
    found = soundest_body(items, start, randomised=randomised)
    assert found is not None
    return found


COMPLICATION = "indirect, the trial is on a complication of the condition"
RIVAL = "indirect, the trial is compared with x, not with placebo or no treatment"


@pytest.mark.parametrize(
    ("fault", "step", "reason"),
    [
        ({"design": "rct_open"}, 1, "risk of bias, the trial is open: patients and doctors knew the treatment"),
        ({"design": "rct"}, 1, "risk of bias, the trial is not reported to be blinded"),
        ({"concern": True}, 1, "risk of bias, the trial is under an expression of concern"),
        ({"direct": False}, 1, "indirect, the trial is not in people with the condition asked about"),
        ({"unnamed": "men"}, 1, "indirect, the trial is not said to be on men, who are asked about"),
        ({"complication": True}, 1, f"{COMPLICATION}, not on the condition itself"),
        ({"other_outcome": "a marker"}, 1, "indirect, the trial is measured by a marker"),
        ({"rivals": "x", "rival_works": True}, 1, f"{RIVAL} (that x works is shown by other records here)"),
        ({"rivals": "x", "beats_rival": True}, 1, f"{RIVAL} (read as doing better than x)"),
        ({"rivals": "x"}, 2, f"{RIVAL} (no record here shows that the comparator works)"),
        ({"is_preprint": True}, 2, "not reviewed, the trial is a preprint, not peer-reviewed"),
        ({"disputed": "yes; no"}, 1, "disputed, the trial is read in two ways by its readers"),
    ],
)
def test_each_fault_takes_its_steps_and_gives_its_reason(fault: dict[str, object], step: int, reason: str) -> None:
    found = body(trial(**fault))  # type: ignore[arg-type]
    assert found.steps == ((step, reason),)
    assert found.rank == 3 - step
    assert found.ceiling == 2


def test_a_trial_that_beats_what_works_is_as_direct_as_one_against_placebo() -> None:
    assert body(trial(rivals="x", rival_works=True, beats_rival=True)).steps == ()


def test_what_blinding_and_rivals_say_is_held_against_randomised_trials_alone() -> None:
    for fault in ({"design": "rct_open"}, {"design": "rct"}, {"concern": True}, {"rivals": "x"}):
        assert not faults(trial(**fault), randomised=False)  # type: ignore[arg-type]
    assert body(trial(direct=False), randomised=False).steps[0][1].startswith("indirect, the record is not in people")
    assert body(trial(), randomised=False).ceiling == 3


def test_no_domain_takes_more_than_two_steps_and_bias_only_its_gravest() -> None:
    far = body(trial(direct=False, unnamed="men", complication=True))
    biased = body(trial(design="rct_open", concern=True))
    assert [step for step, _ in far.steps] == [2]
    assert [step for step, _ in biased.steps] == [1]
    assert body(trial(is_preprint=True, rivals="x")).rank == 0


def test_how_many_of_the_records_have_a_fault_is_told() -> None:
    bias = "open: patients and doctors knew the treatment"
    both = body(trial(1, 300, "rct_open"), trial(2, 300, "rct_open"))
    assert (both.steps, both.ceiling) == (((1, f"risk of bias, both trials {bias}"),), 3)
    far = {"direct": False}
    three = body(trial(1, 150, **far), trial(2, 150, **far), trial(3, 150, "rct_open", **far))  # type: ignore[arg-type]
    told = [reason for _, reason in three.steps]
    assert "indirect, all 3 trials not in people with the condition asked about" in told
    assert f"risk of bias, 1 of 3 trials {bias}" in told
    mixed = body(trial(1, 150, **far), trial(4, 300, "systematic_review", **far))  # type: ignore[arg-type]
    assert mixed.steps[0][1] == "indirect, both records not in people with the condition asked about"


@pytest.mark.parametrize(
    ("size", "step", "reason"),
    [
        (400, 0, ""),
        (399, 1, "imprecise, 399 participants were compared, a firm answer takes 400"),
        (200, 1, "imprecise, 200 participants were compared, a firm answer takes 400"),
        (199, 2, "very imprecise, only 199 participants were compared, a firm answer takes 400"),
        (50, 2, "very imprecise, only 50 participants were compared, a firm answer takes 400"),
        (49, 3, "far too few, only 49 participants were compared, a firm answer takes 400"),
        (None, 1, "imprecise, the number of participants is not reported"),
    ],
)
def test_too_few_participants_take_up_to_three_steps(size: int | None, step: int, reason: str) -> None:
    found = body(trial(size=size))
    assert found.steps == (((step, reason),) if step else ())
    assert found.ceiling == (1 if step else 2)


def test_a_size_that_is_not_reported_is_not_guessed() -> None:
    found = body(trial(1, 300), trial(2, None))
    assert found.steps[0][1] == (
        "imprecise, 300 participants were compared (1 of 2 do not report how many), a firm answer takes 400"
    )


@pytest.mark.parametrize(
    ("others", "ceiling"), [((100,), 3), ((99,), 2), ((50, 50), 3), ((50, 49), 2), ((99, None, None), 2)]
)
def test_a_trial_is_repeated_by_a_hundred_participants_of_others(others: tuple[int | None, ...], ceiling: int) -> None:
    assert body(trial(), *(trial(at, size) for at, size in enumerate(others, 2))).ceiling == ceiling


def test_a_review_repeats_by_itself_unless_it_reports_one_trial() -> None:
    assert body(trial(design="systematic_review")).ceiling == 3
    assert body(trial(design="systematic_review", trial="NCT1")).ceiling == 2


def test_records_with_more_faults_are_left_out_where_the_rest_is_sounder() -> None:
    sound, preprint, far = trial(1), trial(2, is_preprint=True), trial(3, direct=False, is_preprint=True)
    items = [sound, preprint, far]
    found = body(*items)
    assert found.items == (sound,)
    assert describe_left_out(items, found, randomised=True) == "2 not peer-reviewed"
    assert describe_left_out([sound], found, randomised=True) == ""


@pytest.mark.parametrize(("rank", "ceiling", "down", "level"), [(3, 3, 0, 3), (3, 2, 0, 2), (3, 2, 2, 1), (1, 3, 2, 0)])
def test_the_level_is_the_rank_after_steps_but_no_higher_than_the_ceiling(
    rank: int, ceiling: int, down: int, level: int
) -> None:
    assert Body(rank, (), (), ceiling).level(down) == level
