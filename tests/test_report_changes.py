"""What a watch tells: what moved, in words, and nothing else."""

from typing import Any

import pytest

from willowbark.teams.run.report_changes import LONGEST, find_missing_keys, tell_changes


def row(key: str, drug: str, design: str = "blinded RCT", comparator: str = "placebo", **more: Any) -> dict[str, Any]:
    return {"key": key, "drug": drug, "design": design, "pico": {"comparator": comparator}, "title": "T", **more}


def candidate(name: str, certainty: str = "low", evidence: str = "moderate", **sides: list[str]) -> dict[str, Any]:
    names = {"supports": "supporting", "contradicts": "contradicting", "undecided": "undecided", "missed": "missed"}
    cited = {f"{names[side]}_citations": keys for side, keys in sides.items()}
    return {"name": name, "certainty": certainty, "evidence_quality": evidence, **cited}


def report(*candidates: dict[str, Any], rows: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return {"candidates": list(candidates), "evidence_table": rows or [], "trials": [], **more}


BEFORE = report(candidate("zonisamide", contradicts=["pmid:1"]), rows=[row("pmid:1", "zonisamide")])


def test_a_verdict_that_moved_is_told_with_the_study_that_moved_it() -> None:
    after = report(
        candidate("zonisamide", certainty="very low", contradicts=["pmid:1", "pmid:2"]),
        rows=[row("pmid:1", "zonisamide"), row("pmid:2", "zonisamide")],
    )
    assert tell_changes(BEFORE, after) == [
        "zonisamide: a second trial against placebo found no benefit (pmid:2); certainty low → very low"
    ]


def test_another_wording_order_or_figure_is_no_change() -> None:
    rows = [row("pmid:1", "zonisamide", title="Another", sentence="Another.", effects=[1], number=7)]
    after = report(candidate("zonisamide", contradicts=["pmid:1"]), rows=rows, confidence_score=0.3)
    assert tell_changes(BEFORE, after) == []


def test_a_study_that_is_there_and_was_not_read_this_time_is_not_gone() -> None:
    after = report(candidate("zonisamide"))
    assert find_missing_keys(BEFORE, after) == ["pmid:1"]
    assert tell_changes(BEFORE, after, present={"pmid:1"}) == []
    assert tell_changes(BEFORE, after) == ["zonisamide: pmid:1 is gone, which found no benefit"]
    assert tell_changes(BEFORE, report(), present={"pmid:1"}) == []


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        ({"supports": ["pmid:1"]}, "pmid:1 now found benefit (before: found no benefit)"),
        (
            {"contradicts": ["pmid:1"], "missed": ["pmid:2"]},
            "a trial against placebo missed its primary outcome (pmid:2)",
        ),
        ({"contradicts": ["pmid:1"], "undecided": ["pmid:3"]}, "a review decides nothing (pmid:3)"),
        (
            {"contradicts": ["pmid:1"], "undecided": ["pmid:2"], "missed": ["pmid:2"]},
            "a trial against placebo missed its primary outcome (pmid:2)",
        ),
        (
            {"contradicts": ["pmid:1"], "supports": ["pmid:2", "pmid:3"]},
            "2 further studies found benefit (pmid:2, pmid:3)",
        ),
    ],
)
def test_studies_are_told_by_what_they_found(sides: dict[str, list[str]], told: str) -> None:
    rows = [row("pmid:1", "zonisamide"), row("pmid:2", "zonisamide")]
    rows.append(row("pmid:3", "zonisamide", design="systematic review", comparator="not_reported"))
    assert tell_changes(BEFORE, report(candidate("zonisamide", **sides), rows=rows)) == [f"zonisamide: {told}"]


def test_a_certainty_that_moved_without_a_study_says_so() -> None:
    after = report(candidate("zonisamide", certainty="very low", contradicts=["pmid:1"]))
    assert tell_changes(BEFORE, after) == ["zonisamide: certainty low → very low (other studies were read)"]


def test_trials_that_stopped_or_posted_results_are_told() -> None:
    trial = {"key": "nct:1", "nct_id": "NCT00000001", "drugs": ["zonisamide"], "status": "RECRUITING"}
    stopped = {**trial, "status": "TERMINATED", "why_stopped": "Futility", "has_results": True}
    assert tell_changes({**BEFORE, "trials": [trial]}, {**BEFORE, "trials": [stopped]}) == [
        "NCT00000001 (zonisamide) was terminated: “Futility”",
        "NCT00000001 (zonisamide) posted results",
    ]


def test_many_changes_are_cut_and_counted() -> None:
    names = [f"drug{number:03}" for number in range(200)]
    told = tell_changes(report(), report(*(candidate(name, supports=[f"pmid:{name[4:]}1"]) for name in names)))
    assert len("\n".join(told)) < LONGEST + 100
    assert told[-1] == f"and {201 - len(told)} further changes, which the report holds"
