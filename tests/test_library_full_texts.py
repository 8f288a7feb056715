"""The bundled library's full texts: open articles of it, told in the project's own words, as JATS."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION
from faults.bundled import BUNDLED, bundled_publications
from test_library_publications import SOURCE, needs_source, runs

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import replay, research
from willowbark.tools.library.rows import PublicationRow
from willowbark.tools.reading.sections import is_full_text

TOLD = [paper for paper in bundled_publications() if paper.full_text]
QUICK = Settings().overridden({"research.max_iterations": 1, "research.max_results_per_tool": 50})

each_text = pytest.mark.parametrize("paper", TOLD, ids=lambda paper: paper.pmcid)


def own_words(paper: PublicationRow) -> str:
    found = paper.read_full_text()
    assert found is not None
    return " ".join(section.text for section in found.sections)


@each_text
def test_a_full_text_is_a_summary_with_results_and_an_open_licence(paper: PublicationRow) -> None:
    found = paper.read_full_text()

    assert found is not None
    assert found.licence is not None
    assert found.licence.startswith("CC")
    assert [section for section in found.sections if section.kind == "results"], found.sections
    assert len(own_words(paper)) < 1500


@needs_source
@each_text
def test_a_full_text_copies_nothing_of_the_abstract(paper: PublicationRow) -> None:
    with gzip.open(SOURCE, "rt", encoding="utf-8") as lines:
        original = next(row for row in map(json.loads, lines) if row["pmid"] == paper.pmid)

    assert sorted(" ".join(run) for run in runs(own_words(paper)) & runs(original["abstract"])) == []


def small(folder: Path, drug: str) -> Path:
    """A library of the bundled publications that name a drug, and of what databases say."""
    for file in BUNDLED.glob("entries_*.jsonl"):
        (folder / file.name).symlink_to(file)
    named = [each for each in bundled_publications() if drug in f"{each.title} {each.abstract}".lower()]
    (folder / "publications.jsonl").write_text("".join(each.model_dump_json() + "\n" for each in named))
    return folder


async def test_a_report_on_the_library_quotes_a_full_text_with_its_section_and_limits(tmp_path: Path) -> None:
    report = await research(QUESTION, settings=QUICK, library=small(tmp_path, "topiramate"))
    topiramate = next(candidate for candidate in report.candidates if candidate.name == "topiramate")
    quoted = [claim for claim in topiramate.claims if is_full_text(claim.section)]

    assert [(claim.section, claim.evidence_key) for claim in quoted] == [("Results", "pmid:25657766")]
    assert "65%" in quoted[0].quote
    assert [limit.section for limit in topiramate.study_limits] == ["Discussion"]
    assert "no placebo group" in topiramate.study_limits[0].quote


async def test_a_run_that_read_a_full_text_is_replayed_to_the_same_report(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    with Ledger(tmp_path / "ledger.db") as ledger:
        library = small(tmp_path / "library", "topiramate")
        report = await research(QUESTION, settings=QUICK, library=library, ledger=ledger, run_id="read-once")
        again = await replay("read-once", ledger)

    assert timeless(again) == timeless(report)


def timeless(report: ResearchReport) -> dict[str, Any]:
    dumped: dict[str, Any] = json.loads(report.to_json())
    return {**dumped, "generated_at": None, "search_log": [{**each, "asked_at": None} for each in dumped["search_log"]]}
