"""A replay gives the run's own report to the byte, apart from clocks, and asks nobody: however the run went."""

import json
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import CreateResult, RequestUsage
from builders import QUESTION, scripted, without_clock
from builders import short_run as settings
from faults.breakage import FaultyServer
from faults.plan import Fault, FaultPlan
from faults.server import SourceServer

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.ledger import Ledger, LedgerError
from willowbark.teams.run.research import replay, research, research_stream, resume
from willowbark.tools.http.endpoints import Endpoints

pytestmark = pytest.mark.whole


async def run(server: SourceServer, ledger: Ledger, **options: Any) -> ResearchReport:
    return await research(QUESTION, endpoints=Endpoints.at(server.url), ledger=ledger, run_id="one", **options)


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (FaultPlan(), ""),
        (FaultPlan(dead={"europepmc": "hang"}), "europepmc"),
        (FaultPlan(seed=7, faults=(Fault(kind="reset", rate=0.2), Fault(kind="html", rate=0.1))), ""),
    ],
    ids=["nothing-fails", "a-source-times-out", "faults-all-over"],
)
async def test_a_replay_asks_nobody_and_meets_the_same_failures(plan: FaultPlan, told: str, tmp_path: Path) -> None:
    with FaultyServer(faults=plan) as broken, Ledger(tmp_path / "ledger.db") as ledger:
        chosen = settings(**{"research.max_iterations": 1, "research.search_timeout": 5})
        report, before = await run(broken, ledger, settings=chosen), len(broken.requests)
        again = await replay("one", ledger)
        assert len(broken.requests) == before

    assert any(told in line for line in report.limitations)
    assert without_clock(again) == without_clock(report)


@pytest.mark.parametrize("seconds", [0.2, 1, 3], ids=["at-once", "in-a-turn", "in-a-round"])
async def test_a_replay_of_a_run_that_ran_out_of_time_gives_its_report(seconds: float, tmp_path: Path) -> None:
    silent = FaultPlan(dead={"clinicaltrials": "hang"})
    late = settings(**{"research.limits.max_seconds": seconds})
    with FaultyServer(faults=silent) as server, Ledger(tmp_path / "ledger.db") as ledger:
        report = await run(server, ledger, settings=late)
        again = await replay("one", ledger)
        ledger._database.connection.execute("UPDATE run SET status = 'running', report = NULL")  # as after a kill
        with pytest.raises(LedgerError, match="no report yet; `willowbark resume one` finishes it"):
            await replay("one", ledger)

    assert report.stop_reason == "timeout"
    assert without_clock(again) == without_clock(report)


def calling(tool: str, query: str) -> CreateResult:
    call = FunctionCall(id="1", name=tool, arguments=json.dumps({"query": query}))
    usage = RequestUsage(prompt_tokens=900, completion_tokens=20)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)


async def test_a_replay_needs_no_model(sources: SourceServer, tmp_path: Path) -> None:
    searches = [calling("search_pubmed", "propranolol migraine")] * 3
    client = scripted(*searches, "It prevents some attacks.", "Nothing to add.", "junk", "junk")  # then it fails
    with Ledger(tmp_path / "ledger.db") as ledger:
        report = await run(sources, ledger, settings=settings(), model_client=client)
        asked, failed = ledger.run("one").model_calls, "SELECT count(*) FROM failure WHERE source = 'model'"
        again = await replay("one", ledger)
        failures = ledger._database.connection.execute(failed).fetchone()[0]

    assert (asked, failures > 0) == (7, True)  # which agent gets which answer is left to chance
    assert without_clock(again) == without_clock(report)


async def test_a_replay_of_a_resumed_run_gives_its_last_report(sources: SourceServer, tmp_path: Path) -> None:
    token = CancellationToken()
    endpoints = Endpoints.at(sources.url)
    with Ledger(tmp_path / "ledger.db") as ledger:
        asked: Any = {"cancellation_token": token, "ledger": ledger, "run_id": "one"}
        chosen = settings(**{"research.judge_threshold": 1.0})
        async for event in research_stream(QUESTION, settings=chosen, endpoints=endpoints, **asked):
            if event.type == "judge_complete":
                token.cancel()
        partial = event.data
        assert without_clock(await replay("one", ledger)) == without_clock(partial)

        report = await resume("one", ledger, endpoints=endpoints)
        again = await replay("one", ledger)

    assert (partial.stop_reason, report.stop_reason) == ("cancelled", "max_iterations_reached")
    assert without_clock(again) == without_clock(report)
