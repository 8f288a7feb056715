"""The team as an AutoGen team: side by side, saved in mid-round, dumped and loaded in a fresh process."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_core import CancellationToken
from builders import QUESTION, asked, findings, record, reply, verdict, without_clock
from faults.server import SourceServer
from test_stopping import WAYS, Way, soon

from willowbark.agents.approval import Approval, ApprovalMessage
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.teams.config import Settings
from willowbark.teams.research_team import ResearchTeam, default_participants, next_speakers
from willowbark.tools.errors import UsageError

pytestmark = pytest.mark.whole


@pytest.fixture(autouse=True)
def _offline(sources: SourceServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")


def team(rounds: int) -> ResearchTeam:
    client = BaselineChatCompletionClient()
    settings = Settings().overridden({"research.max_iterations": rounds, "research.max_results_per_tool": 5})
    return ResearchTeam(default_participants(client, settings), client)


async def ran(team: ResearchTeam, task: str | None = QUESTION) -> list[Any]:
    return [message async for message in team.run_stream(task=task)]


def report_of(messages: Sequence[Any]) -> ResearchReport:
    return next(m.content for m in messages if isinstance(m, ReportMessage))


async def test_a_question_ends_in_a_cited_report_the_same_each_time_with_text_for_every_step() -> None:
    messages, again = [await ran(team(2)) for _ in range(2)]
    report = report_of(messages)
    assert without_clock(report) == without_clock(report_of(again))
    shown = {m.source for m in messages if isinstance(m, TextMessage)}
    assert shown == {"user", "literature", "trials", "mechanism", "judge", "report"}
    assert isinstance(messages[-1], TaskResult)
    assert report.drug_candidates
    assert report.references
    cited = {claim.evidence_key for candidate in report.candidates for claim in candidate.claims}
    assert cited - {reference["key"] for reference in report.references} == set()


class Slow(BaseChatAgent):
    """A specialist that notes when it is at work, and waits for the others where it is told to."""

    def __init__(self, name: str, moments: list[tuple[str, str]], others: asyncio.Barrier | None = None) -> None:
        super().__init__(name, "Takes its time.")
        self._moments, self._others = moments, others

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (FindingsMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        self._moments.append((self.name, "began"))
        if self._others is not None:
            await asyncio.wait_for(self._others.wait(), 30)
        self._moments.append((self.name, "ended"))
        found = record("1", "Propranolol in migraine", "Propranolol reduced migraine attacks.")
        return Response(chat_message=findings(self.name, reply(found)))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


async def test_specialists_of_a_round_work_side_by_side() -> None:
    moments: list[tuple[str, str]] = []
    client = BaselineChatCompletionClient()
    together = asyncio.Barrier(3)
    own = [Slow(name, moments, together) for name in ("one", "two", "three")]
    judge = JudgeAgent("judge", client, limits=JudgeLimits(max_iterations=1))
    await ran(ResearchTeam([*own, judge, ReportAgent("report", client)], client))
    assert [what for _, what in moments] == ["began"] * 3 + ["ended"] * 3


async def test_a_team_survives_save_and_load_after_every_message_of_a_round() -> None:
    """Stop after each typed message, load the state into a fresh team, go on: the same report comes out."""
    whole = without_clock(report_of(await ran(team(2))))
    for stop_after in range(1, 7):
        first = team(2)
        token, seen = CancellationToken(), 0
        stream = first.run_stream(task=QUESTION, cancellation_token=token)
        with pytest.raises(asyncio.CancelledError):  # noqa: PT012  which message raises depends on who answers first
            async for message in stream:
                seen += isinstance(message, FindingsMessage | AssessmentMessage)
                if seen == stop_after:
                    token.cancel()
        state = json.loads(json.dumps(await first.save_state()))
        second = team(2)
        await second.load_state(state)
        assert without_clock(report_of(await ran(second, task=None)))["candidates"] == whole["candidates"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_stopped_team_gives_the_same_report_when_it_is_asked_again(way: Way) -> None:
    stopped = team(1)
    for after in (4, 9):  # amid the searches, and amid the reading
        await soon(way(stopped, after))
    await soon(stopped.reset())
    again = without_clock(report_of(await ran(stopped)))
    assert again == without_clock(report_of(await ran(team(1))))


async def test_a_stopped_turn_is_heard_once_by_judge_and_report_agent() -> None:
    client = BaselineChatCompletionClient()
    messages = [asked(), findings("literature", reply(record("1", "Propranolol in migraine", "It helped.")))]
    for agent in (JudgeAgent("judge", client), ReportAgent("report", client)):
        for _ in range(2):  # AutoGen delivers what a stopped turn got once more
            await agent.on_messages(messages, CancellationToken())
        state = await agent.save_state()
        assert len(state["dossier"]["findings"]) == 1
        other = type(agent)("other", client)
        await other.load_state(state)
        await other.on_messages(messages, CancellationToken())
        assert len((await other.save_state())["dossier"]["findings"]) == 1


async def test_a_second_question_gets_its_own_report() -> None:
    both = team(1)
    await ran(both)
    second = report_of(await ran(both, task="Which drugs help people stop smoking?"))
    assert second.research_question == "Which drugs help people stop smoking?"
    assert "propranolol" not in second.drug_candidates


def test_a_team_without_judge_reporter_or_specialist_or_with_two_approvers_is_refused() -> None:
    client = BaselineChatCompletionClient()
    judge, reporter = JudgeAgent("judge", client), ReportAgent("report", client)
    with pytest.raises(UsageError, match="exactly one judge; it has 0"):
        ResearchTeam([reporter], client)
    with pytest.raises(UsageError, match="exactly one report agent; it has 0"):
        ResearchTeam([judge], client)
    with pytest.raises(UsageError, match="no specialist"):
        ResearchTeam([judge, reporter], client)
    with pytest.raises(UsageError, match="exactly one approver; it has 2"):
        ResearchTeam([*default_participants(client, approver=ApproverAgent("one")), ApproverAgent("two")])


def test_settings_say_when_the_judge_ends_the_search() -> None:
    said = {"research.depth": "quick", "research.judge_threshold": 0.5, "research.limits.max_tokens": 900}
    members = default_participants(BaselineChatCompletionClient(), Settings().overridden(said))
    (judge,) = (each for each in members if isinstance(each, JudgeAgent))
    assert judge.limits == JudgeLimits(max_iterations=10, judge_threshold=0.5, max_tokens=900, max_records=60)


# --- who speaks next, read from the thread alone ---

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
def test_the_thread_alone_says_who_speaks(thread: Sequence[Any], due: list[str]) -> None:
    assert next_speakers(thread, ALL, "judge", "report") == due


@pytest.mark.parametrize(("thread", "due"), [(OVER, "approver"), ([*OVER, DECIDED], "report")])
def test_the_approver_comes_between_judge_and_reporter_once(thread: Sequence[Any], due: str) -> None:
    assert next_speakers(thread, ALL, "judge", "report", "approver") == [due]
