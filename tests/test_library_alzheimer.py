"""The seeds' own question, offline: what failed is not told as help, and what labels warn of is shown."""

from pathlib import Path

import pytest
import pytest_asyncio
from test_appraisal_certainty import rebuild

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.run.research import research

BUNDLED = Path(__file__).parent.parent / "tools" / "library" / "bundled"
QUESTION = "Which existing drugs could treat Alzheimer's disease?"
FAILED = {"rofecoxib", "naproxen", "semagacestat", "gantenerumab", "medroxyprogesterone", "estradiol", "scopolamine"}
SETTINGS = Settings().overridden({"research.max_iterations": 3, "research.max_results_per_tool": 50})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def report(tmp_path_factory: pytest.TempPathFactory) -> ResearchReport:
    folder = tmp_path_factory.mktemp("library")
    for file in BUNDLED.glob("*.jsonl"):
        if not file.name.startswith("publications_") or "alzheimer" in file.name:
            (folder / file.name).symlink_to(file)
    return await research(QUESTION, settings=SETTINGS, library=folder)


def test_donepezil_is_told_to_help_and_nothing_is_called_well_supported(report: ResearchReport) -> None:
    [donepezil] = [each for each in report.candidates if each.name == "donepezil"]

    assert donepezil.supporting_citations
    assert [each for each in report.candidates if each.evidence_quality == "strong"] == []


def test_no_drug_that_failed_is_told_to_help(report: ResearchReport) -> None:
    helping = {each.name for each in report.candidates if each.supporting_citations}

    assert helping
    assert helping & FAILED == set()
    [failed] = [each for each in report.candidates if each.name == "rofecoxib"]
    assert failed.contradicting_citations


def test_a_reader_can_redo_each_certainty_from_the_rows_of_the_evidence_table(report: ResearchReport) -> None:
    for drug in report.candidates:
        rows = [row.model_dump() for row in report.evidence_table if row.drug == drug.name]
        rebuilt = rebuild(rows, drug.supporting_citations, drug.contradicting_citations)
        assert rebuilt.replace("_", " ") == drug.certainty


def test_what_the_label_of_the_leading_drug_warns_of_is_shown(report: ResearchReport) -> None:
    assert "Hypersensitivity to donepezil" in report.to_appendix()


def test_registered_trials_are_listed(report: ResearchReport) -> None:
    assert "NCT01224106" in report.to_appendix()
