"""How well a question finds its records among those collected: `python -m benchmarks.retrieval QUESTIONS.jsonl.gz`.

BioASQ's questions (http://bioasq.org; one JSON object a line, gzipped) name the articles that answer them and quote
these in snippets. The files hold no abstracts: an article is here the snippets that any question quotes of it, so the
texts are shorter and more to the point than abstracts are. The pool is every article so quoted; of a question those
count as right whose snippets it quotes itself, though others may answer it as well. Questions are parted by a hash of
their number: how words are chosen and weighed was decided on the first part alone.
"""

import asyncio
import gzip
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from willowbark.tools.collected import CollectedEvidence
from willowbark.tools.evidence import Citation, Evidence

AT = 10  # records of an answer that count
PARTS = ("development", "kept apart")


class Question(NamedTuple):
    """A question, the articles that answer it, and its part."""

    text: str
    right: frozenset[str]
    part: str


def questions(entries: Sequence[dict[str, Any]]) -> list[Question]:
    """The questions that have snippets."""
    every = (
        Question(entry["body"], frozenset(pmid for pmid, *_ in _snippets(entry)), PARTS[_half(entry["id"])])
        for entry in entries
    )
    return [question for question in every if question.right]


def pool(entries: Sequence[dict[str, Any]]) -> list[Evidence]:
    """The articles, each with all that is quoted of it, in the article's order."""
    quoted: dict[str, set[tuple[bool, int, str]]] = {}
    for entry in entries:
        for pmid, section, start, text in _snippets(entry):
            quoted.setdefault(pmid, set()).add((section != "title", start, text))
    return [_article(pmid, sorted(snippets)) for pmid, snippets in quoted.items()]


def ndcg(found: Sequence[str], right: frozenset[str]) -> float:
    """Discounted gain of the first ten over the best that could be had."""
    gain = sum(1 / math.log2(place + 2) for place, key in enumerate(found[:AT]) if key in right)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(AT, len(right))))


def recall(found: Sequence[str], right: frozenset[str]) -> float:
    """Share of the right ones among the first ten; of more than ten right ones, ten are all."""
    return len(right.intersection(found[:AT])) / min(AT, len(right))


def _half(number: str) -> int:
    return int(hashlib.sha256(number.encode()).hexdigest(), 16) % 2


def _snippets(entry: dict[str, Any]) -> Iterator[tuple[str, str, int, str]]:
    for snippet in entry.get("snippets") or ():
        pmid = snippet["document"].rpartition("/")[2]
        yield pmid, snippet["beginSection"], snippet["offsetInBeginSection"], snippet["text"]


def _article(pmid: str, snippets: Sequence[tuple[bool, int, str]]) -> Evidence:
    titles = [text for is_body, _, text in snippets if not is_body]
    body = "\n".join(dict.fromkeys(text for is_body, _, text in snippets if is_body))
    title = titles[0] if titles else pmid
    cited = Citation(source="pubmed", title=title, url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")
    return Evidence(content=f"{title}\n\n{body}", citation=cited, metadata={"pmid": pmid})


async def main(entries: Sequence[dict[str, Any]]) -> None:
    """Print how both parts do."""
    asked, articles = questions(entries), pool(entries)
    right = sum(len(question.right) for question in asked) / len(asked)
    print(f"{len(articles):,} articles by their snippets; {len(asked):,} questions, {right:.1f} right ones each")
    with CollectedEvidence(max_records=len(articles)) as collected:
        collected.ingest(articles)
        for part in PARTS:
            own = [question for question in asked if question.part == part]
            scores = []
            for question in own:
                found = [record.key.removeprefix("pmid:") for record in await collected.search(question.text, AT)]
                scores.append((ndcg(found, question.right), recall(found, question.right)))
            means = (sum(column) / len(own) for column in zip(*scores, strict=True))
            print(f"{part:12} {len(own):5} questions: nDCG@{AT} {next(means):.3f}, recall@{AT} {next(means):.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} QUESTIONS.jsonl.gz")
    asyncio.run(main([json.loads(line) for line in gzip.decompress(Path(sys.argv[1]).read_bytes()).splitlines()]))
