"""Who speaks next, read from the thread alone."""

import itertools

import pytest
from builders import asked, findings, verdict

from willowbark.agents.approval import Approval, ApprovalMessage
from willowbark.teams.research_team import Thread, next_speakers

SPECIALISTS = ["literature", "trials", "mechanism"]


def speakers(*thread: object) -> list[str]:
    return next_speakers(list(thread), SPECIALISTS, "judge", "report")  # type: ignore[arg-type]


def test_a_question_calls_every_specialist() -> None:
    assert speakers(asked()) == SPECIALISTS


def test_a_whole_round_goes_to_the_judge() -> None:
    assert speakers(asked(), *(findings(name) for name in SPECIALISTS)) == ["judge"]


@pytest.mark.parametrize(
    "answered", [list(c) for n in (1, 2) for c in itertools.permutations(SPECIALISTS, n)], ids="-".join
)
def test_a_state_saved_in_mid_round_calls_those_who_are_missing(answered: list[str]) -> None:
    missing = [name for name in SPECIALISTS if name not in answered]
    assert speakers(asked(), *(findings(name) for name in answered)) == missing


def test_a_later_round_calls_only_whom_the_judge_names() -> None:
    first = [asked(), *(findings(name) for name in SPECIALISTS)]
    more = verdict(next_specialists=["mechanism", "trials"])
    assert speakers(*first, more) == ["trials", "mechanism"]
    assert speakers(*first, more, findings("mechanism", iteration=2)) == ["trials"]
    assert speakers(*first, more, findings("mechanism", iteration=2), findings("trials", iteration=2)) == ["judge"]


def test_synthesize_goes_to_the_reporter() -> None:
    assert speakers(asked(), findings("literature"), verdict("synthesize")) == ["report"]


def test_the_approver_comes_between_judge_and_reporter_once() -> None:
    thread: list[object] = [asked(), findings("literature"), verdict("synthesize")]
    names = (SPECIALISTS, "judge", "report", "approver")
    assert next_speakers(thread, *names) == ["approver"]  # type: ignore[arg-type]
    thread.append(ApprovalMessage(content=Approval(decided_by="person", via="terminal"), source="approver"))
    assert next_speakers(thread, *names) == ["report"]  # type: ignore[arg-type]


def test_a_judge_who_names_nobody_leaves_the_choice() -> None:
    thread = [asked(), *(findings(name) for name in SPECIALISTS), verdict()]
    assert speakers(*thread) == []
    assert speakers(*thread, findings("trials", iteration=2)) == ["judge"]


def test_names_the_team_does_not_have_are_passed_over() -> None:
    thread: Thread = [asked(), *(findings(name) for name in SPECIALISTS), verdict(next_specialists=["chef"])]
    assert next_speakers(thread, SPECIALISTS, "judge", "report") == []


def test_a_second_question_starts_anew() -> None:
    first = [asked(), *(findings(name) for name in SPECIALISTS), verdict("synthesize")]
    assert speakers(*first, asked("And for asthma?")) == SPECIALISTS
