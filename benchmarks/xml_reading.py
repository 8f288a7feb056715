"""PubMed's XML read to records: processor time of a page of 200, memory, words lost.

    python -m benchmarks.xml_reading [FOLDER] [--against REV]

Reads every set of articles below FOLDER (the recorded replies, if none is named). A word is lost if it stands in the
title or abstract of the XML, as the plain tree of the standard library has it, and not in the record. `--against` reads
the same with another commit, in turns with this one, and compares every field and the processor time.
"""

import argparse
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree

from willowbark.tools.errors import SearchError
from willowbark.tools.sources.studies.pubmed import parse_articles

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "replies" / "pubmed"
PAGE = 200  # records
ROUNDS = 5
TURNS = 3
_ARTICLE = re.compile(rb"<PubmedArticle>.*?</PubmedArticle>", re.DOTALL)
_WORDS = "Article/ArticleTitle", "Article/Abstract", "ArticleTitle", "Abstract"


class Figures(TypedDict):
    """What one version of the package makes of a folder."""

    records: dict[str, object]
    """By file: its records and the lines on those that are unreadable, or the error."""
    seconds: float
    """Processor time of the page, the least of several readings."""
    peak_mb: float
    """Memory that Python's objects take at most while the page is read."""
    page_mb: float


def read_sets(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file below a folder that holds a set of articles."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".xml", ".gz") or not path.is_file():
            continue
        body = path.read_bytes()
        if path.suffix == ".gz":
            body = gzip.decompress(body)
        if re.search(rb"<Pubmed(Book)?ArticleSet", body):
            yield str(path.relative_to(folder)), body


def compose_page(bodies: Sequence[bytes]) -> bytes:
    """Return one set of 200 articles, repeated where there are fewer."""
    articles: list[bytes] = []
    for body in bodies:
        articles += _ARTICLE.findall(body)
    if not articles:
        raise SystemExit("no PubMed article lies there")
    while len(articles) < PAGE:
        articles += articles
    return b"<PubmedArticleSet>" + b"\n".join(articles[:PAGE]) + b"</PubmedArticleSet>"


def count_lost_words(body: bytes) -> tuple[int, int]:
    """Return the number of records and of those that lack a word of their title or abstract."""
    records = {record.record.pmid: record for record in parse_articles(body).records}
    lossy = 0
    for citation in ElementTree.fromstring(body).iterfind("*/*"):
        record = records.get((citation.findtext("PMID") or "").strip())
        if citation.tag not in ("MedlineCitation", "BookDocument") or record is None:
            continue
        content = _squeeze(record.content)
        for place in _WORDS:
            texts = [_squeeze("".join(node.itertext())) for node in _texts_at(citation, place)]
            if any(text not in content for text in texts if text != _squeeze("[Not Available].")):
                lossy += 1
                break
    return len(records), lossy


def _texts_at(citation: Element, place: str) -> list[Element]:
    return list(citation.iterfind(f"{place}/AbstractText" if place.endswith("Abstract") else place))


def _squeeze(text: str) -> str:
    """Return a text without white space and the signs that stand for superscripts, powers and fractions."""
    return re.sub(r"[\s^/]+", "", text)


def measure(folder: Path) -> Figures:
    """Read all sets, then the page several times."""
    sets = dict(read_sets(folder))
    records: dict[str, object] = {}
    for name, body in sets.items():
        try:
            articles = parse_articles(body)
        except SearchError as error:
            records[name] = str(error)
            continue
        records[name] = [[record.model_dump(mode="json") for record in articles.records], articles.unread]
    page = compose_page(list(sets.values()))
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        parse_articles(page)
        seconds.append(time.process_time() - began)
    tracemalloc.start()
    parse_articles(page)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"records": records, "seconds": min(seconds), "peak_mb": peak / 1e6, "page_mb": len(page) / 1e6}


def _measure_in(tree: Path, folder: Path) -> Figures:
    """Measure with the package of another tree, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, __file__, str(folder.resolve()), "--measure"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment, cwd=tree)  # noqa: S603
    figures: Figures = json.loads(done.stdout)
    return figures


def _unpack(revision: str, folder: Path) -> Path:
    command = ["git", "archive", "--format=tar", revision]
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def compare(revision: str, folder: Path) -> None:
    """Print the processor time beside that of another commit, and the files of which a field differs."""
    with tempfile.TemporaryDirectory() as place:
        other = _unpack(revision, Path(place))
        former = []
        present = []
        for _ in range(TURNS):
            former.append(_measure_in(other, folder))
            present.append(_measure_in(ROOT, folder))
    before = former[0]["records"]
    now = present[0]["records"]
    differing = [name for name in before if before[name] != now.get(name)]
    print(f"files with another field than at {revision}: {len(differing)} of {len(before)} {' '.join(differing[:5])}")
    old_s = min(turn["seconds"] for turn in former)
    new_s = min(turn["seconds"] for turn in present)
    print(
        f"page of {PAGE} records, processor time: {new_s:.3f} s, at {revision} {old_s:.3f} s, ratio {new_s / old_s:.2f}"
    )
    new_mb = present[0]["peak_mb"]
    old_mb = former[0]["peak_mb"]
    print(f"memory at most: {new_mb:.1f} MB, at {revision} {old_mb:.1f} MB, ratio {new_mb / old_mb:.2f}")


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Read PubMed's XML: time, memory, words lost.")
    parser.add_argument("folder", nargs="?", type=Path, default=RECORDED)
    parser.add_argument("--against", metavar="REV", help="a commit to compare with")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.folder)))
        return
    total = lossy = 0
    for _, body in read_sets(options.folder):
        try:
            records, lost = count_lost_words(body)
        except (SearchError, ParseError):
            continue
        total += records
        lossy += lost
    print(f"records that lack a word of title or abstract: {lossy} of {total}")
    if options.against:
        compare(options.against, options.folder)
        return
    figures = measure(options.folder)
    page = f"page of {PAGE} records ({figures['page_mb']:.1f} MB)"
    print(f"{page}: {figures['seconds']:.3f} s of processor time, {figures['peak_mb']:.1f} MB at most")


if __name__ == "__main__":
    main(sys.argv[1:])
