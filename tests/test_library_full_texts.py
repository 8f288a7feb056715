"""The sandbox library's full texts: open articles of the library, told in the project's own words, served as JATS."""

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from builders import QUESTION
from test_library_publications import figures, needs_source, runs, spelt_figures

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import research
from willowbark.teams.run.resume import replay
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.sandbox.library import OWN_FULL_TEXT, FullText, Library, Publication
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.sandbox.studies.europepmc import jats
from willowbark.tools.works.jats import parse_full_text
from willowbark.tools.works.sections import is_full_text

SOURCE = Path(__file__).resolve().parents[2] / "shared" / "data" / "library_source" / "abstracts.jsonl.gz"
LIBRARY = Library.load()
PAPERS = {paper.pmcid: paper for paper in LIBRARY.publications if paper.pmcid}

each_text = pytest.mark.parametrize("text", LIBRARY.full_texts, ids=lambda text: text.pmcid)


def test_there_are_full_texts_and_none_twice() -> None:
    numbers = [text.pmcid for text in LIBRARY.full_texts]

    assert numbers
    assert len(numbers) == len(set(numbers))


@each_text
def test_a_full_text_is_of_an_article_of_the_library_and_says_where_it_is_from(text: FullText) -> None:
    paper = PAPERS[text.pmcid]

    assert text.pmcid in text.provenance
    assert f"PMID {paper.pmid}" in text.provenance
    assert text.licence in text.provenance


@each_text
def test_a_full_text_is_a_summary_with_results(text: FullText) -> None:
    assert "Results" in text.sections
    assert sum(len(paragraph) for every in text.sections.values() for paragraph in every) < 1500


@each_text
def test_what_is_served_is_read_back_with_licence_and_sections(text: FullText) -> None:
    found = parse_full_text(jats(text).encode(), text.pmcid)

    assert found is not None
    assert found.licence == text.licence
    assert list(found.titles) == list(text.sections)
    read = {section.title: list(section.paragraphs) for section in found.sections}
    assert read == {title: [" ".join(p.split()) for p in every] for title, every in text.sections.items()}
    assert OWN_FULL_TEXT in jats(text)


@needs_source
@each_text
def test_a_full_text_copies_nothing_of_the_abstract(text: FullText) -> None:
    with gzip.open(SOURCE, "rt", encoding="utf-8") as lines:
        original = next(row for row in map(json.loads, lines) if row["pmid"] == PAPERS[text.pmcid].pmid)
    own = " ".join(paragraph for every in text.sections.values() for paragraph in every)

    assert sorted(" ".join(run) for run in runs(own) & runs(original["abstract"])) == []


@each_text
def test_a_full_text_tells_figures_that_the_summary_of_the_abstract_lacks(text: FullText) -> None:
    own = " ".join(paragraph for every in text.sections.values() for paragraph in every)
    summary = PAPERS[text.pmcid].abstract or ""

    assert figures(own) - figures(summary) - spelt_figures(summary)


async def test_europepmc_says_that_they_are_open() -> None:
    with SandboxServer() as server:
        query = {"query": "EXT_ID:25657766 AND SRC:MED", "format": "json", "resultType": "core"}
        async with httpx.AsyncClient() as client:
            answer = (await client.get(f"{server.url}/europepmc/search", params=query)).json()
            text = await client.get(f"{server.url}/europepmc/PMC4307364/fullTextXML")
    [hit] = answer["resultList"]["result"]

    assert (hit["isOpenAccess"], hit["license"]) == ("Y", "cc by")
    assert text.status_code == 200
    assert "xml" in text.headers["content-type"]


def small(drug: str) -> Library:
    """The library's publications that name a drug."""

    def names(paper: Publication) -> bool:
        return drug in f"{paper.title} {paper.abstract}".lower()

    return LIBRARY.model_copy(update={"publications": tuple(filter(names, LIBRARY.publications)), "trials": ()})


QUICK = Settings().overridden({"research.max_iterations": 1, "research.max_results_per_tool": 50})


async def test_a_report_on_the_library_quotes_a_full_text_with_its_section_and_limits() -> None:
    with SandboxServer(small("topiramate")) as server:
        report = await research(QUESTION, settings=QUICK, endpoints=Endpoints.sandbox(server.url))
    topiramate = next(candidate for candidate in report.candidates if candidate.name == "topiramate")
    quoted = [claim for claim in topiramate.claims if is_full_text(claim.section)]

    assert [(claim.section, claim.evidence_key) for claim in quoted] == [("Results", "pmid:25657766")]
    assert "65%" in quoted[0].quote
    assert [limit.section for limit in topiramate.study_limits] == ["Discussion"]
    assert "no placebo group" in topiramate.study_limits[0].quote


async def test_a_trial_without_a_verdict_is_quoted_on_its_primary_outcome() -> None:
    asked = "Which existing drugs help with smoking cessation?"
    with SandboxServer(small("bupropion")) as server:
        report = await research(asked, settings=QUICK, endpoints=Endpoints.sandbox(server.url))
    [claim] = [c for c in report.candidates[0].claims if c.evidence_key == "pmid:23859696"]

    assert (claim.stance, claim.section) == ("neutral", "Results")
    assert claim.quote.startswith("Counting everybody as randomised")


async def test_a_run_that_read_a_full_text_is_replayed_to_the_same_report(tmp_path: Path) -> None:
    with SandboxServer(small("topiramate")) as server, Ledger(tmp_path / "ledger.db") as ledger:
        endpoints = Endpoints.sandbox(server.url)
        report = await research(QUESTION, settings=QUICK, endpoints=endpoints, ledger=ledger, run_id="read-once")
        asked = [request.path for request in server.requests if "fullTextXML" in request.path]
        again = await replay("read-once", ledger)

        assert [request.path for request in server.requests if "fullTextXML" in request.path] == asked
    assert asked == ["PMC4307364/fullTextXML"]
    assert timeless(again) == timeless(report)


def timeless(report: ResearchReport) -> dict[str, Any]:
    dumped: dict[str, Any] = json.loads(report.to_json())
    return {**dumped, "generated_at": None, "search_log": [{**each, "asked_at": None} for each in dumped["search_log"]]}
