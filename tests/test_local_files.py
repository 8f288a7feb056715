"""Local files that may be anything: what is bent costs itself alone, in little time and room, and is named."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.local_files import (
    ARTICLE,
    ARTICLE_FILES,
    ARTICLES,
    FILES,
    LEFT_OUT,
    MENDED,
    SOUND_RECORD,
    make_bomb,
    measure,
    write_article_files,
    write_folder,
    write_line,
)

from willowbark.teams.run.following import ExitCode, RunOutcome
from willowbark.teams.run.research import research
from willowbark.tools.errors import UsageError
from willowbark.tools.library import open_library
from willowbark.tools.library.building import build_library
from willowbark.tools.library.rows import LONGEST_TEXT
from willowbark.tools.local_files import UnusableFile, open_lines, read_json_file

QUESTION = "Which existing drugs could prevent migraine attacks?"


@pytest.mark.parametrize(("content", "said"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_bent_line_is_named_with_file_and_line_and_costs_no_other(tmp_path: Path, content: bytes, said: str) -> None:
    library = open_library(
        write_folder(tmp_path, content + b"\n" + write_line(pmid="4", title="Candesartan in migraine"))
    )

    [problem] = library.contents.unread
    assert problem.startswith("bad.jsonl")
    assert said in problem
    assert "\n" not in problem
    assert problem in library.summary
    others = 3 if "already" in problem else 2
    assert library.contents.publications == others


@pytest.mark.parametrize(("content", "said"), MENDED.values(), ids=MENDED)
def test_a_bent_field_costs_itself_alone(tmp_path: Path, content: bytes, said: str) -> None:
    library = open_library(write_folder(tmp_path, content))
    [problem] = library.contents.unread

    assert problem.startswith("bad.jsonl, line 1: ")
    assert said in problem
    for source in ("pubmed", "europepmc"):
        records = library.by_numbers(["pmid:1", "pmid:2"], source)
        assert len(records) == 2
        assert max(len(record.content) for record in records) <= LONGEST_TEXT + 100


@pytest.mark.parametrize(("make", "said"), FILES.values(), ids=FILES)
def test_a_file_that_is_none_costs_itself_alone(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    make(write_folder(tmp_path))
    library = open_library(tmp_path)

    assert library.contents.publications == 1
    assert said in library.contents.unread[-1]
    assert open_library(tmp_path) is library


def test_a_folder_without_a_sound_record_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b"{\n" * 30)
    with pytest.raises(UsageError, match=r"holds no record that can be read; bad\.jsonl, line 1: is not") as caught:
        open_library(tmp_path)

    assert "\n" not in str(caught.value)
    assert open_library(write_folder(tmp_path)).contents.unread[-1] == "and 10 more"


def test_lines_are_handed_over_up_to_the_place_where_an_archive_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl.gz"
    lines = [write_line(pmid=str(number), x=os.urandom(50).hex()) for number in range(2000)]
    file.write_bytes(gzip.compress(b"".join(lines))[:-100])
    read: list[bytes | None] = []

    def read_all() -> None:
        with open_lines(file) as content:
            read.extend(text for _, text in content)

    with pytest.raises(UnusableFile, match="cut or damaged"):
        read_all()
    assert len(read) > 1000
    assert read == lines[: len(read)]


def test_a_json_file_is_named_with_the_line_that_is_bent(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for content, said in ((b'{"a":\n1,\n}', "a.json, line 3: is not JSON"), (b"NaN", "holds NaN"), (b"\xff", "UTF-8")):
        file.write_bytes(content)
        with pytest.raises(UsageError, match=said):
            read_json_file(file, 1000)
    file.write_bytes(b" " * 2000)
    with pytest.raises(UsageError, match="larger than"):
        read_json_file(file, 1000)


@pytest.mark.parametrize("inner", ARTICLES.values(), ids=ARTICLES)
def test_an_article_that_means_harm_costs_itself_alone(tmp_path: Path, inner: str) -> None:
    content = f"<PubmedArticleSet>{ARTICLE.format(2, inner)}{ARTICLE.format(3, '')}</PubmedArticleSet>"
    manifest = build_library(tmp_path / "library", write_article_files(tmp_path / "files", "b.xml", content.encode()))

    assert manifest.records == 2
    assert manifest.files["b.xml"]["unread_first"][0].startswith("PMID 2 is unreadable")


@pytest.mark.parametrize("opening", ["<DeleteCitation>", "<PubmedArticle>"])
def test_elements_that_are_never_closed_take_no_time(tmp_path: Path, opening: str) -> None:
    content = f"<PubmedArticleSet>{opening * 600_000}</PubmedArticleSet>"
    manifest = build_library(tmp_path / "library", write_article_files(tmp_path / "files", "b.xml", content.encode()))

    assert manifest.records == 1


@pytest.mark.parametrize(("make", "said"), ARTICLE_FILES.values(), ids=ARTICLE_FILES)
def test_a_file_of_pubmeds_that_is_none_costs_itself_alone(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    make(write_article_files(tmp_path / "files", "", None))
    manifest = build_library(tmp_path / "library", tmp_path / "files")

    assert manifest.records == 1
    [reason] = manifest.refused.values()
    assert said in reason


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_what_means_harm_takes_little_room(tmp_path: Path) -> None:
    make_bomb(write_folder(tmp_path / "bomb"), b" " * 1_000_000, 600)
    write_folder(tmp_path / "long", write_line(abstract="Timolol reduced migraine. " * 850_000))
    (tmp_path / "build").mkdir()
    content = f"<PubmedArticleSet>{ARTICLE.format(2, ARTICLES['very many'])}</PubmedArticleSet>"
    write_article_files(tmp_path / "build" / "files", "b.xml", content.encode())

    assert measure("open", tmp_path / "bomb")[2] < 300
    assert measure("open", tmp_path / "long")[2] < 300
    assert measure("build", tmp_path / "build")[2] < 300


async def test_no_answer_because_sources_failed_is_another_exit_code_than_no_answer(tmp_path: Path) -> None:
    other = {**SOUND_RECORD, "title": "Statins in heart failure", "abstract": "Statins did nothing."}
    (tmp_path / "good.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    report = await research(QUESTION, library=tmp_path)
    log = [
        entry.model_copy(update={"status": "unavailable"}) if entry.source == "pubmed" else entry
        for entry in report.search_log
    ]
    searched = [name for name in report.sources_searched if name != "pubmed"]
    failed = report.model_copy(update={"search_log": log, "sources_searched": searched})

    assert not report.candidates
    assert RunOutcome(report=report).exit_code is ExitCode.REPORT
    assert RunOutcome(report=failed).silent_sources == ["pubmed"]
    assert RunOutcome(report=failed).exit_code is ExitCode.UNREACHABLE


async def test_one_bent_doi_costs_neither_source_of_studies(tmp_path: Path) -> None:
    write_folder(tmp_path, write_line(doi="10.1000/a b") + write_line(pmid="3", doi='10.1000/"'))
    report = await research(QUESTION, library=tmp_path)

    assert [candidate.name for candidate in report.candidates] == ["propranolol"]
    assert {entry.status for entry in report.search_log} <= {"ok", "empty"}
    assert "bad.jsonl, line 1: doi: is no DOI; left off" in report.to_markdown()
