"""Local files that may be anything: what is bent costs itself alone, in little time and room, and is named."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from willowbark.teams.run.following import ExitCode, RunOutcome
from willowbark.teams.run.research import research
from willowbark.tools.errors import UsageError
from willowbark.tools.library import open_library
from willowbark.tools.library.building import build_library
from willowbark.tools.library.rows import LONGEST_TEXT
from willowbark.tools.local_files import MAX_LINE_BYTES, UnusableFile, open_lines, read_json_file

QUESTION = "Which existing drugs could prevent migraine attacks?"
GOOD = {
    "pmid": "1",
    "title": "Propranolol in the prevention of migraine: a randomized placebo-controlled trial",
    "abstract": "200 patients received propranolol or placebo. Propranolol reduced attacks compared with placebo "
    "(p<0.001). Propranolol prevents migraine.",
    "date": "2019",
    "publication_types": ["Randomized Controlled Trial"],
}


def line(**fields: object) -> bytes:
    return json.dumps({"pmid": "2", "title": "Timolol in migraine", **fields}).encode() + b"\n"


def nested(depth: int) -> bytes:
    return b'{"pmid": "2", "title": "T", "crossref": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"


LEFT_OUT = {
    "cut": (b'{"pmid": "2", "ti', "line 1: is not JSON"),
    "a number of a PMID's kind": (line(pmid="x"), "line 1: pmid: "),
    "twice": (line(pmid="3") + line(pmid="3"), "line 2: pmid:3 is already in bad.jsonl, line 1"),
    "no record": (b'{"colour": "red"}\n', "line 1: is not a record that a library knows"),
    "bare": (b"[1]\n", "line 1: is a bare value"),
    "a study without number": (b'{"protocolSection": {}}\n', "line 1: lacks 'identificationModule'"),
    "a study of another form": (b'{"protocolSection": 5}\n', "line 1: "),
    "an entry of no record": (b'{"metadata": {}, "content": "x", "citation": {}}\n', "line 1: citation.source"),
    "not UTF-8": (b'\n{"pmid": "2", "title": "\xff"}\n', "line 2: is not in UTF-8"),
    "NUL bytes": (b"\x00" * 10_000, "line 1: is not JSON"),
    "NaN": (line(x=float("nan")), "line 1: holds NaN"),
    "deep": (nested(200), "line 1: is nested more than 60 deep"),
    "endlessly deep": (nested(100_000), "line 1: is nested too deeply"),
    "a long line": (b" " * (MAX_LINE_BYTES + 10), "line 1: is longer than 32 MB"),
}


def write_folder(folder: Path, content: bytes = b"", name: str = "bad.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "good.jsonl").write_text(json.dumps(GOOD) + "\n", encoding="utf-8")
    if content:
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(("content", "said"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_bent_line_is_named_with_file_and_line_and_costs_no_other(tmp_path: Path, content: bytes, said: str) -> None:
    library = open_library(write_folder(tmp_path, content + b"\n" + line(pmid="4", title="Candesartan in migraine")))

    [problem] = library.contents.unread
    assert problem.startswith("bad.jsonl")
    assert said in problem
    assert "\n" not in problem
    assert problem in library.summary
    others = 3 if "already" in problem else 2
    assert library.contents.publications == others


MENDED = {
    "a DOI with a space": (line(doi="10.1000/a b"), "doi: is no DOI; left off"),
    "a DOI with a quote": (line(doi='10.1000/"a"'), "doi: is no DOI; left off"),
    "a number of PubMed Central that is none": (line(pmcid="12 a"), "pmcid: is no PMCID; left off"),
    "a thirteenth month": (line(date="2019-13"), "date: is no date"),
    "a full text that is none": (line(pmcid="PMC1", full_text="<p>"), "full_text: is not the XML of an article"),
    "half a character": (b'{"pmid": "2", "title": "Timolol \\ud800 in migraine"}\n', "are replaced by ?"),
    "22 MB of abstract": (
        line(abstract="Timolol reduced migraine. " * 850_000),
        f"abstract: cut to {LONGEST_TEXT:,} of 22,100,000 characters",
    ),
}


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


def make_bomb(folder: Path, content: bytes, times: int) -> None:
    with gzip.open(folder / "bad.jsonl.gz", "wb") as file:
        for _ in range(times):
            file.write(content)


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda folder: (folder / "bad.jsonl").mkdir(), "bad.jsonl: is a folder"),
    "a link to nothing": (lambda folder: (folder / "bad.jsonl").symlink_to("nothing"), "is a link to nothing"),
    "a link to itself": (lambda folder: (folder / "bad.jsonl").symlink_to("bad.jsonl"), "leads back to itself"),
    "a pipe": (lambda folder: os.mkfifo(folder / "bad.jsonl"), "is no regular file"),
    "an endless device": (lambda folder: (folder / "bad.jsonl").symlink_to("/dev/zero"), "is no regular file"),
    "no archive": (lambda folder: (folder / "bad.jsonl.gz").write_bytes(b"no"), "is cut or damaged"),
    "half an archive": (
        lambda folder: (folder / "bad.jsonl.gz").write_bytes(gzip.compress(line() * 9)[:-20]),
        "is cut or damaged",
    ),
    "a bomb of one line": (lambda folder: make_bomb(folder, b" " * 1_000_000, 300), "expands to more than 100 times"),
}


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
    lines = [line(pmid=str(number), x=os.urandom(50).hex()) for number in range(2000)]
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


ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID>{}</PMID><Article><ArticleTitle>T</ArticleTitle>{}</Article>"
    "</MedlineCitation></PubmedArticle>"
)
TEXT = "<Abstract><AbstractText>{}</AbstractText></Abstract>"
ARTICLES = {
    "nested": TEXT.format("<i>" * 300_000 + "x" + "</i>" * 300_000),
    "nested less": TEXT.format("<i>" * 20_000 + "x" + "</i>" * 20_000),
    "nested elements": "<a>" * 300_000 + "</a>" * 300_000,
    "unclosed": "<a>" * 200_000,
    "unclosed affiliations": "<AffiliationInfo>" * 200_000,
    "unclosed numbers": "<PMID " * 500_000,
    "very many": "<a/>" * 3_000_000,
}


def write_article_files(folder: Path, name: str, content: bytes | None) -> Path:
    folder.mkdir()
    sound = f"<PubmedArticleSet>{ARTICLE.format(1, '')}</PubmedArticleSet>"
    (folder / "a.xml").write_text(sound, encoding="utf-8")
    if content is not None:
        (folder / name).write_bytes(content)
    return folder


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


ARTICLE_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda folder: (folder / "b.xml").mkdir(), "is a folder"),
    "a link to nothing": (lambda folder: (folder / "b.xml").symlink_to("nothing"), "is a link to nothing"),
    "a link to itself": (lambda folder: (folder / "b.xml").symlink_to("b.xml"), "leads back to itself"),
    "a pipe": (lambda folder: os.mkfifo(folder / "b.xml"), "is no regular file"),
    "an endless device": (lambda folder: (folder / "b.xml").symlink_to("/dev/zero"), "is no regular file"),
    "an endless checksum": (
        lambda folder: [(folder / "b.xml").write_text("<x/>"), (folder / "b.xml.md5").symlink_to("/dev/zero")],
        "is no regular file",
    ),
    "a bomb": (
        lambda folder: (folder / "b.xml.gz").write_bytes(
            gzip.compress(b"<PubmedArticleSet>" + ARTICLE.format(2, " " * 2000).encode() * 30_000)
        ),
        "expands to more than 100 times",
    ),
}


@pytest.mark.parametrize(("make", "said"), ARTICLE_FILES.values(), ids=ARTICLE_FILES)
def test_a_file_of_pubmeds_that_is_none_costs_itself_alone(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    make(write_article_files(tmp_path / "files", "", None))
    manifest = build_library(tmp_path / "library", tmp_path / "files")

    assert manifest.records == 1
    [reason] = manifest.refused.values()
    assert said in reason


MEASURE = r"""
import re, sys
from pathlib import Path
from willowbark.tools.library import open_library
from willowbark.tools.library.building import build_library
if sys.argv[1] == "open":
    open_library(sys.argv[2])
else:
    build_library(Path(sys.argv[2]) / "library", Path(sys.argv[2]) / "files")
print(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def measure_memory(*arguments: object) -> float:
    """Return the peak memory, in MB, of a process of its own."""
    command = [sys.executable, "-c", MEASURE, *map(str, arguments)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_what_means_harm_takes_little_room(tmp_path: Path) -> None:
    make_bomb(write_folder(tmp_path / "bomb"), b" " * 1_000_000, 600)
    write_folder(tmp_path / "long", line(abstract="Timolol reduced migraine. " * 850_000))
    (tmp_path / "build").mkdir()
    content = f"<PubmedArticleSet>{ARTICLE.format(2, ARTICLES['very many'])}</PubmedArticleSet>"
    write_article_files(tmp_path / "build" / "files", "b.xml", content.encode())

    assert measure_memory("open", tmp_path / "bomb") < 300
    assert measure_memory("open", tmp_path / "long") < 300
    assert measure_memory("build", tmp_path / "build") < 300


async def test_no_answer_because_sources_failed_is_another_exit_code_than_no_answer(tmp_path: Path) -> None:
    other = {**GOOD, "title": "Statins in heart failure", "abstract": "Statins did nothing."}
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
    write_folder(tmp_path, line(doi="10.1000/a b") + line(pmid="3", doi='10.1000/"'))
    report = await research(QUESTION, library=tmp_path)

    assert [candidate.name for candidate in report.candidates] == ["propranolol"]
    assert {entry.status for entry in report.search_log} <= {"ok", "empty"}
    assert "bad.jsonl, line 1: doi: is no DOI; left off" in report.to_markdown()
