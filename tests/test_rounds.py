"""Who speaks next, read from the thread alone."""

from collections.abc import Sequence

import pytest
from builders import asked, findings, verdict

from willowbark.agents.approval import Approval, ApprovalMessage
from willowbark.teams.research_team import next_speakers

ALL = ["literature", "trials", "mechanism"]
ROUND = [asked(), *map(findings, ALL)]
MORE = verdict(next_specialists=["mechanism", "trials"])
OVER = [asked(), findings("literature"), verdict("synthesize")]
DECIDED = ApprovalMessage(content=Approval(decided_by="person", via="terminal"), source="approver")


CASES = {
    "a question calls every specialist": ([asked()], ALL),
    "those who are missing in mid-round": ([asked(), findings("trials")], ["literature", "mechanism"]),
    "the last one who is missing": ([asked(), findings("mechanism"), findings("literature")], ["trials"]),
    "a whole round goes to the judge": (ROUND, ["judge"]),
    "a later round calls whom the judge names": ([*ROUND, MORE], ["trials", "mechanism"]),
    "and of these who is missing": ([*ROUND, MORE, findings("mechanism", iteration=2)], ["trials"]),
    "and then the judge": (
        [*ROUND, MORE, findings("mechanism", iteration=2), findings("trials", iteration=2)],
        ["judge"],
    ),
    "synthesize goes to the reporter": (OVER, ["report"]),
    "where the judge names nobody, all search": ([*ROUND, verdict()], ALL),
    "until all have": ([*ROUND, verdict(), findings("trials", iteration=2)], ["literature", "mechanism"]),
    "names that the team lacks are passed over": ([*ROUND, verdict(next_specialists=["chef"])], ALL),
    "a second question starts anew": ([*ROUND, verdict("synthesize"), asked("And for asthma?")], ALL),
}


@pytest.mark.parametrize(("thread", "due"), CASES.values(), ids=CASES)
def test_the_thread_alone_says_who_speaks(thread: Sequence[object], due: list[str]) -> None:
    assert next_speakers(thread, ALL, "judge", "report") == due  # type: ignore[arg-type]


def test_the_approver_comes_between_judge_and_reporter_once() -> None:
    names = (ALL, "judge", "report", "approver")
    assert next_speakers(OVER, *names) == ["approver"]  # type: ignore[arg-type]
    assert next_speakers([*OVER, DECIDED], *names) == ["report"]  # type: ignore[arg-type]
