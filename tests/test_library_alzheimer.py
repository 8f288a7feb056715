"""The seeds' own question, offline: what failed is not told as help, and what labels warn of is shown."""

import pytest_asyncio

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.run.research import research
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.sandbox.library import Library
from willowbark.tools.sandbox.server import SandboxServer

QUESTION = "Which existing drugs could treat Alzheimer's disease?"
FAILED = {"rofecoxib", "naproxen", "semagacestat", "gantenerumab", "medroxyprogesterone", "estradiol", "scopolamine"}
SETTINGS = Settings().overridden({"research.max_iterations": 3, "research.max_results_per_tool": 50})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def report() -> ResearchReport:
    library = Library.load()
    own = [each for each in library.publications if each.topic == "Alzheimer_disease"]
    with SandboxServer(library.model_copy(update={"publications": tuple(own)})) as server:
        return await research(QUESTION, settings=SETTINGS, endpoints=Endpoints.sandbox(server.url))


def test_donepezil_is_told_to_help_and_nothing_is_called_well_supported(report: ResearchReport) -> None:
    [donepezil] = [each for each in report.candidates if each.name == "donepezil"]

    assert donepezil.supporting_citations
    assert all(each.evidence_quality != "strong" for each in report.candidates)


def test_no_drug_that_failed_is_told_to_help(report: ResearchReport) -> None:
    helping = {each.name for each in report.candidates if each.supporting_citations}

    assert helping
    assert helping & FAILED == set()
    for name in ("rofecoxib", "naproxen"):
        [failed] = [each for each in report.candidates if each.name == name]
        assert failed.contradicting_citations


def test_the_boxed_warning_on_dementia_is_shown(report: ResearchReport) -> None:
    assert "increased risk of death" in report.to_markdown()


def test_registered_trials_are_listed(report: ResearchReport) -> None:
    assert "NCT01224106" in report.to_markdown()
