"""How well a question finds its records among those collected, and in a library of PubMed's files.

    python -m benchmarks.retrieval QUESTIONS.jsonl.gz [--among FOLDER]

BioASQ's questions (http://bioasq.org; one JSON object a line, gzipped) name the articles that answer them and quote
these in snippets. The files hold no abstracts: an article is here the snippets that any question quotes of it, so the
texts are shorter and more to the point than abstracts are. The pool is every article so quoted; of a question those
count as right whose snippets it quotes itself, though others may answer it as well. Questions are parted by a hash of
their number: how words are chosen and weighed was decided on the first part alone. The order of collected records is
the one that runs have. A library is asked for the same words, any of them: alone and, with `--among`, with the articles
of a folder around (`benchmarks.baseline` makes one, of made-up articles, of which none answers a question).
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import math
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from benchmarks.baseline import write_file

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.lexicon.matching import content_words
from willowbark.tools.library import open_library
from willowbark.tools.library.building import build_library
from willowbark.tools.library.collected import CollectedEvidence
from willowbark.tools.questions.kinds import get_question_words
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.sources.studies.pubmed import PubMed

AT = 10  # records of an answer that count
PARTS = ("development", "kept apart")
Find = Callable[[str], Awaitable[Sequence[str]]]
"""Finds the PMIDs of the best records for a question."""


class Question(NamedTuple):
    """A question, the articles that answer it, and its part."""

    text: str
    right: frozenset[str]
    part: str


def list_questions(entries: Sequence[dict[str, Any]]) -> list[Question]:
    """The questions that have snippets."""
    questions = []
    for entry in entries:
        right = frozenset(pmid for pmid, *_ in _list_snippets(entry))
        if right:
            questions.append(Question(entry["body"], right, PARTS[_draw_half(entry["id"])]))
    return questions


def make_articles(entries: Sequence[dict[str, Any]]) -> list[Evidence]:
    """The articles, each with all that is quoted of it, in the article's order."""
    quoted: dict[str, set[tuple[bool, int, str]]] = {}
    for entry in entries:
        for pmid, section, start, text in _list_snippets(entry):
            quoted.setdefault(pmid, set()).add((section != "title", start, text))
    return [_make_article(pmid, sorted(snippets)) for pmid, snippets in quoted.items()]


def compute_ndcg(keys: Sequence[str], right: frozenset[str]) -> float:
    """Discounted gain of the first ten over the best that could be had."""
    gain = sum(1 / math.log2(place + 2) for place, key in enumerate(keys[:AT]) if key in right)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(AT, len(right))))


def compute_recall(keys: Sequence[str], right: frozenset[str]) -> float:
    """Share of the right ones among the first ten; of more than ten right ones, ten are all."""
    return len(right.intersection(keys[:AT])) / min(AT, len(right))


def _draw_half(number: str) -> int:
    return int(hashlib.sha256(number.encode()).hexdigest(), 16) % 2


def _list_snippets(entry: dict[str, Any]) -> Iterator[tuple[str, str, int, str]]:
    for snippet in entry.get("snippets") or ():
        pmid = snippet["document"].rpartition("/")[2]
        yield pmid, snippet["beginSection"], snippet["offsetInBeginSection"], snippet["text"]


def _make_article(pmid: str, snippets: Sequence[tuple[bool, int, str]]) -> Evidence:
    titles = [text for is_body, _, text in snippets if not is_body]
    body = "\n".join(dict.fromkeys(text for is_body, _, text in snippets if is_body))
    title = titles[0] if titles else pmid
    cited = Citation(source="pubmed", title=title, url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")
    return Evidence(content=f"{title}\n\n{body}", citation=cited, metadata={"pmid": pmid})


def write_articles(articles: Sequence[Evidence], file: Path) -> None:
    """Write articles as a file of PubMed's, that supersedes others."""
    lines = (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{article.metadata["pmid"]}</PMID><Article><ArticleTitle>'
        f"{escape(article.citation.title)}</ArticleTitle><Abstract><AbstractText>"
        f"{escape(article.content.partition(chr(10) * 2)[2])}</AbstractText></Abstract></Article></MedlineCitation>"
        "</PubmedArticle>\n"
        for article in articles
    )
    write_file(file, lines)


def search_library(folder: Path) -> Find:
    """The order of a library, of all records that hold any word of a question."""
    library = open_library(folder)

    async def find(question: str) -> list[str]:
        async with Transport(Endpoints(library=library)) as transport:
            asking = get_question_words("asks the records")
            words = [f'"{word}"' for word in content_words(question) if word not in asking]
            reply = await PubMed(transport).find(" OR ".join(words), AT)
        return [record.key.removeprefix("pmid:") for record in reply.records]

    return find


async def show(name: str, find: Find, questions: Sequence[Question]) -> None:
    """Print how both parts do."""
    for part in PARTS:
        own = [question for question in questions if question.part == part]
        scores = []
        for question in own:
            keys = await find(question.text)
            scores.append((compute_ndcg(keys, question.right), compute_recall(keys, question.right)))
        means = (sum(column) / len(own) for column in zip(*scores, strict=True))
        print(f"{name:32} {part:12} nDCG@{AT} {next(means):.3f}, recall@{AT} {next(means):.3f}", flush=True)


async def main() -> None:
    """Print how each order does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--among", type=Path, help="a folder of PubMed's files")
    options = parser.parse_args()
    entries = [json.loads(line) for line in gzip.decompress(options.questions.read_bytes()).splitlines()]
    question_list = list_questions(entries)
    articles = make_articles(entries)
    right = sum(len(question.right) for question in question_list) / len(question_list)
    print(
        f"{len(articles):,} articles by their snippets; {len(question_list):,} questions, {right:.1f} right ones each"
    )
    collected = CollectedEvidence()
    collected.ingest(articles)

    async def find(question: str) -> list[str]:
        return [record.key.removeprefix("pmid:") for record in await collected.search(question, AT)]

    await show("collected", find, question_list)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        (root / "files").mkdir()
        write_articles(articles, root / "files" / "pubmed26n9999.xml.gz")
        manifest = build_library(root / "library", root / "files")
        await show(f"library of {manifest.records:,}", search_library(root / "library"), question_list)
        if options.among:
            for file in options.among.glob("*.xml.gz"):
                (root / "files" / file.name).symlink_to(file.resolve())
            manifest = build_library(root / "among", root / "files")
            await show(f"library of {manifest.records:,}", search_library(root / "among"), question_list)


if __name__ == "__main__":
    asyncio.run(main())
