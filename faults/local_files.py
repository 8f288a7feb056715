"""`python -m faults.local_files`: files that may be anything, each opened in a process of its own: seconds and memory.

Folders of records, as `--library` takes them, and folders of PubMed's files, as `library build` does, each with a sound
record beside what is bent. A file that is not a problem of its own folder alone falls short, and so does one that takes
more than five seconds of processor time or 300 MB. Then abstracts of three lengths are appraised: what takes more time
than the length explains falls short.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.library.rows import LONGEST_TEXT
from willowbark.tools.local_files import MAX_LINE_BYTES
from willowbark.tools.questions import parse_question
from willowbark.tools.records.evidence import Citation, Evidence

MOST_SECONDS = 5.0
MOST_MB = 300.0
LENGTHS = (100_000, 300_000, 1_000_000)
"""Characters of the abstracts that are appraised."""
MOST_GROWTH = 1.5
"""Times the processor time of a character may grow from the shortest abstract to the longest."""
SOUND_RECORD = {
    "pmid": "1",
    "title": "Propranolol in the prevention of migraine: a randomized placebo-controlled trial",
    "abstract": "200 patients received propranolol or placebo. Propranolol reduced attacks compared with placebo "
    "(p<0.001). Propranolol prevents migraine.",
    "date": "2019",
    "publication_types": ["Randomized Controlled Trial"],
}


def write_line(**fields: object) -> bytes:
    return json.dumps({"pmid": "2", "title": "Timolol in migraine", **fields}).encode() + b"\n"


def nest(depth: int) -> bytes:
    return b'{"pmid": "2", "title": "T", "crossref": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"


LEFT_OUT = {
    "cut": (b'{"pmid": "2", "ti', "line 1: is not JSON"),
    "a number of a PMID's kind": (write_line(pmid="x"), "line 1: pmid: "),
    "twice": (write_line(pmid="3") + write_line(pmid="3"), "line 2: pmid:3 is already in bad.jsonl, line 1"),
    "no record": (b'{"colour": "red"}\n', "line 1: is not a record that a library knows"),
    "bare": (b"[1]\n", "line 1: is a bare value"),
    "a study without number": (b'{"protocolSection": {}}\n', "line 1: lacks 'identificationModule'"),
    "a study of another form": (b'{"protocolSection": 5}\n', "line 1: "),
    "an entry of no record": (b'{"metadata": {}, "content": "x", "citation": {}}\n', "line 1: citation.source"),
    "not UTF-8": (b'\n{"pmid": "2", "title": "\xff"}\n', "line 2: is not in UTF-8"),
    "NUL bytes": (b"\x00" * 10_000, "line 1: is not JSON"),
    "NaN": (write_line(x=float("nan")), "line 1: holds NaN"),
    "deep": (nest(200), "line 1: is nested more than 60 deep"),
    "endlessly deep": (nest(100_000), "line 1: is nested too deeply"),
    "a long line": (b" " * (MAX_LINE_BYTES + 10), "line 1: is longer than 32 MB"),
}


def write_folder(folder: Path, content: bytes = b"", name: str = "bad.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "good.jsonl").write_text(json.dumps(SOUND_RECORD) + "\n", encoding="utf-8")
    if content:
        (folder / name).write_bytes(content)
    return folder


MENDED = {
    "a DOI with a space": (write_line(doi="10.1000/a b"), "doi: is no DOI; left off"),
    "a DOI with a quote": (write_line(doi='10.1000/"a"'), "doi: is no DOI; left off"),
    "a number of PubMed Central that is none": (write_line(pmcid="12 a"), "pmcid: is no PMCID; left off"),
    "a thirteenth month": (write_line(date="2019-13"), "date: is no date"),
    "a full text that is none": (write_line(pmcid="PMC1", full_text="<p>"), "full_text: is not the XML of an article"),
    "half a character": (b'{"pmid": "2", "title": "Timolol \\ud800 in migraine"}\n', "are replaced by ?"),
    "22 MB of abstract": (
        write_line(abstract="Timolol reduced migraine. " * 850_000),
        f"abstract: cut to {LONGEST_TEXT:,} of 22,100,000 characters",
    ),
}


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
        lambda folder: (folder / "bad.jsonl.gz").write_bytes(gzip.compress(write_line() * 9)[:-20]),
        "is cut or damaged",
    ),
    "a bomb of one line": (lambda folder: make_bomb(folder, b" " * 1_000_000, 300), "expands to more than 100 times"),
}
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


def make_endless_checksum(folder: Path) -> None:
    (folder / "b.xml").write_text("<x/>", encoding="utf-8")
    (folder / "b.xml.md5").symlink_to("/dev/zero")


ARTICLE_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda folder: (folder / "b.xml").mkdir(), "is a folder"),
    "a link to nothing": (lambda folder: (folder / "b.xml").symlink_to("nothing"), "is a link to nothing"),
    "a link to itself": (lambda folder: (folder / "b.xml").symlink_to("b.xml"), "leads back to itself"),
    "a pipe": (lambda folder: os.mkfifo(folder / "b.xml"), "is no regular file"),
    "an endless device": (lambda folder: (folder / "b.xml").symlink_to("/dev/zero"), "is no regular file"),
    "an endless checksum": (
        make_endless_checksum,
        "is no regular file",
    ),
    "a bomb": (
        lambda folder: (folder / "b.xml.gz").write_bytes(
            gzip.compress(b"<PubmedArticleSet>" + ARTICLE.format(2, " " * 2000).encode() * 30_000)
        ),
        "expands to more than 100 times",
    ),
}


MEASURE = r"""
import json, re, resource, sys
from pathlib import Path
from willowbark.tools.library import open_library
from willowbark.tools.library.building import build_library
before = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
if sys.argv[1] == "open":
    sound = open_library(sys.argv[2]).contents.publications
else:
    sound = build_library(Path(sys.argv[2]) / "library", Path(sys.argv[2]) / "files").records
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps([sound, sum(used[:2]) - before, int(peak[1]) / 1024]))
"""
"""Prints the sound records, the seconds of processor time after the imports, and the peak memory in MB (Linux's /proc:
`ru_maxrss` would be at least that of the process that started it)."""


def measure(action: str, folder: Path) -> tuple[int, float, float]:
    """Open or build in a process of its own; return the sound records, seconds of processor time, and peak MB."""
    command = [sys.executable, "-c", MEASURE, action, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    records, seconds, megabytes = json.loads(done.stdout)
    return records, seconds, megabytes


def list_kinds() -> Iterator[tuple[str, str, Callable[[Path], object]]]:
    """Yield each kind of bad file: its name, what is done with it, and what makes it in a folder."""
    for name, (content, _) in {**LEFT_OUT, **MENDED}.items():
        yield name, "open", partial(write_folder, content=content)
    for name, (make, _) in FILES.items():
        yield name, "open", partial(_make_in_folder, make=make)
    for name, inner in ARTICLES.items():
        articles = f"<PubmedArticleSet>{ARTICLE.format(2, inner)}{ARTICLE.format(3, '')}</PubmedArticleSet>"
        yield f"article: {name}", "build", partial(_write_article, content=articles.encode())
    for name, (make, _) in ARTICLE_FILES.items():
        yield f"PubMed's file: {name}", "build", partial(_make_article_file, make=make)


def _make_in_folder(folder: Path, make: Callable[[Path], object]) -> None:
    make(write_folder(folder))


def _write_article(folder: Path, content: bytes) -> None:
    folder.mkdir()
    write_article_files(folder / "files", "b.xml", content)


def _make_article_file(folder: Path, make: Callable[[Path], object]) -> None:
    folder.mkdir()
    make(write_article_files(folder / "files", "", None))


SENTENCES: Mapping[str, str] = {
    "sentences": "Propranolol reduced attacks compared with placebo (p<0.001). Timolol did not in 60 patients. ",
    "a name again and again": "migraine ",
    "names without an end": "propranolol, timolol and ",
    "figures without an end": "12.5 (95% CI 1.2 to 3.4) ",
    "brackets without an end": "(((propranolol ",
}
"""What long abstracts repeat."""


def appraise(text: str) -> float:
    """Appraise a record with this abstract; return the seconds of processor time."""
    title = "Propranolol in migraine: a randomized trial"
    cited = Citation(source="pubmed", title=title, url="https://pubmed.ncbi.nlm.nih.gov/2/")
    record = Evidence(content=f"{title}\n\n{text}", citation=cited, metadata={"pmid": "2"})
    question = parse_question("Which existing drugs could prevent migraine attacks?")
    before = time.process_time()
    appraise_candidates(question, [record])
    return time.process_time() - before


def main() -> int:
    """Measure each kind and the long abstracts, and print them; 1 where any falls short."""
    short = 0
    for name, action, make in list_kinds():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "folder"
            make(folder)
            records, seconds, megabytes = measure(action, folder)
        holds = bool(records) and seconds <= MOST_SECONDS and megabytes <= MOST_MB
        short += not holds
        verdict = "" if holds else "  <-- falls short"
        print(f"{name:45} {seconds:5.1f} s {megabytes:5.0f} MB, {records} sound{verdict}", flush=True)
    appraise("Propranolol prevents migraine.")  # what is loaded once does not count
    for name, words in SENTENCES.items():
        took = [appraise((words * (length // len(words) + 1))[:length]) for length in LENGTHS]
        growth = took[-1] / LENGTHS[-1] / (took[0] / LENGTHS[0])
        short += growth > MOST_GROWTH
        verdict = "" if growth <= MOST_GROWTH else "  <-- falls short"
        seconds_each = ", ".join(f"{seconds:.1f}" for seconds in took)
        print(f"abstracts of {name:32} {seconds_each} s; {growth:.2f} times a character{verdict}", flush=True)
    print(f"falls short: {short}" if short else "all hold")
    return int(short > 0)


if __name__ == "__main__":
    sys.exit(main())
