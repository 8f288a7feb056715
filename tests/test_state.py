"""The state of a run, as its journal tells it."""

from builders import QUESTION, short_run
from faults.server import SourceServer

from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import research
from willowbark.teams.state import ResearchState, state_of
from willowbark.tools.http.endpoints import Endpoints


async def test_a_state_holds_what_the_report_was_made_of() -> None:
    chosen = short_run(research__judge_threshold=1.0)
    with SourceServer() as server, Ledger(None) as ledger:
        endpoints = Endpoints.at(server.url)
        report = await research(QUESTION, settings=chosen, endpoints=endpoints, ledger=ledger, run_id="one")
        state, earlier = state_of(ledger, "one"), state_of(ledger, "one", iteration=1)

    assert (state.query_id, state.question, state.iteration) == ("one", QUESTION, report.search_iterations)
    assert len(state.evidence) == report.flow.screened
    assert len(state.search_history) == len(report.search_log)
    assert (state.tokens_used, state.stop_reason) == (report.tokens_used, report.stop_reason)
    assert state.created_at <= state.updated_at
    assert [verdict.iteration for verdict in state.assessments] == list(range(1, report.search_iterations + 1))
    assert (earlier.iteration, len(earlier.assessments)) == (1, 1)
    assert ResearchState.model_validate_json(state.model_dump_json()) == state
