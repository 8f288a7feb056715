"""The bundled library holds real publications and trials, summarised in the project's own words."""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "tools" / "library" / "bundled"
SHARED = ROOT.parent / "shared" / "data"
SOURCE = SHARED / "library_source" / "abstracts.jsonl.gz"
COLLECTION = SHARED / "benchmarks" / "world_half.jsonl.gz"
"""Holds the abstracts on Alzheimer disease, and landmark trials."""
FURTHER = SHARED / "benchmarks"
"""Sets that each hold the abstracts of a few landmark trials."""
SUMMARIES = SHARED / "replies/entrez_misc/mahmood726-cyber__rapidmeta-finerenone/outputs___pubmed_cache.json.gz"
"""PubMed's summaries: title, authors, journal, no abstract."""
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
TRIALS = SHARED / "benchmarks" / "evidence_inference_train.jsonl.gz"
"""Tells numbers of PubMed Central."""

FIGURE_WORDS = {"p", "n", "ci", "vs", "mg", "kg", "g", "d", "h", "percent"}  # what stands between figures in a list
RUN = 8  # words in a row that would make a summary a copy

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
ONES += "seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SPELT = {word: value for value, word in enumerate(ONES)} | {word: 10 * value for value, word in enumerate(TENS, 2)}
SPELT["fourty"] = 40  # as one source writes it


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


FILES = sorted(
    path
    for path in LIBRARY.glob("publications_*.jsonl")
    if path.stem not in ("publications_preprints", "publications_without_abstract", "publications_retracted")
)
RECORDS = [record for path in FILES for record in read(path)]

needs_source = pytest.mark.skipif(not SOURCE.exists(), reason="../shared/data/library_source is not beside this clone")


def words(text: str) -> list[str]:
    """Return the words of a text, without its figures and the words that only join figures."""
    found = re.findall(r"[^\W_]+", text.lower())
    return [word for word in found if not word[0].isdigit() and word not in FIGURE_WORDS]


def runs(text: str) -> set[tuple[str, ...]]:
    """Return every run of `RUN` consecutive words."""
    found = words(text)
    return {tuple(found[at : at + RUN]) for at in range(len(found) - RUN + 1)}


def figures(text: str) -> set[float]:
    """Return every number written in figures, mending what the sources break."""
    joined = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text.replace("·", "."))
    found = re.findall(r"\d+(?:\.\d+)?|(?<!\d)\.\d+", joined)
    broken = ["".join(parts) for parts in re.findall(r"((?:\b\d+|[=<>] ?)\.) (\d+)", joined)]
    return {float(number.lstrip("=<> ")) for number in found + broken}


def spelt_figures(text: str) -> set[float]:
    """Return every number written in words."""
    found: set[float] = set()
    total, last = 0, ""
    for word in [*re.findall(r"[a-z]+", text.lower()), ""]:
        after_hundred = last == "hundred"
        if word == "hundred" and last in SPELT:
            total *= 100
        elif word == "and" and after_hundred:
            continue
        elif word in SPELT and (after_hundred or (last in TENS and SPELT[word] < 10)):
            total += SPELT[word]
        else:
            found |= {float(total)} if last else set()
            total = SPELT.get(word, 0)
        last = word if word in SPELT or word == "hundred" else ""
    return found


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def written_date(parts: Iterable[str]) -> str:
    """Return `2016-Feb-N/A` or `2018 May 15`, as its parts, as `2016-02` or `2018-05-15`."""
    year, *rest = [part for part in parts if part != "N/A"]
    numbers = [MONTHS.index(rest[0]) + 1, *map(int, rest[1:])] if rest else []
    return "-".join([year, *(f"{number:02}" for number in numbers)])


def further_abstracts() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of the further sets by PMID: what they tell of authors, year and trial, and the rest empty."""
    empty = {"authors": "", "year": None}
    with gzip.open(FURTHER / "CDR_TrainingSet.PubTator.txt.gz", "rt", encoding="utf-8") as lines:
        for pmid, title, abstract in re.findall(r"^(\d+)\|t\|(.*)\n\d+\|a\|(.*)", lines.read(), re.M):
            yield pmid, {**empty, "title": title, "abstract": abstract}
    for question in lines_of(FURTHER / "medevidence_half.jsonl.gz"):
        for pmid, study in question["sources"].items():
            yield pmid, {**empty, "title": study["title"], "abstract": study["content"], "year": study["date"]}
    for paper in lines_of(FURTHER / "clinifact_half.jsonl.gz"):
        year = written_date(paper["published"].split("-"))
        trial = paper["nct"] if paper["label"] in "01" else ""
        abstract = f"{paper['text']} {trial}"
        yield paper["pmid"], {**empty, "title": paper["title"], "abstract": abstract, "year": year}
    passages: dict[str, set[tuple[str, str]]] = {}
    for question in lines_of(FURTHER / "bioasq_7b_9b.jsonl.gz"):
        for snippet in question.get("snippets", ()):
            pmid = snippet["document"].rpartition("/")[2]
            passages.setdefault(pmid, set()).add((snippet["beginSection"], snippet["text"]))
    for pmid, parts in passages.items():
        titles = [text for section, text in parts if section == "title"]
        yield pmid, {**empty, "title": max(titles, default=""), "abstract": " ".join(text for _, text in sorted(parts))}


def summaries() -> dict[str, dict[str, Any]]:
    with gzip.open(SUMMARIES, "rt", encoding="utf-8") as file:
        entries = json.load(file)
    return {name.removeprefix("esummary_"): entry["v"] for name, entry in entries.items() if "esummary_" in name}


@pytest.fixture(scope="module")
def source() -> dict[str, dict[str, Any]]:
    own = {record["pmid"] for record in RECORDS}
    found = {pmid: record for pmid, record in further_abstracts() if pmid in own}
    for record in lines_of(COLLECTION):
        if record["pmid"] in own:
            found[record["pmid"]] = {**record, "year": record["date"], "authors": ";".join(record["authors"])}
    for pmid, summary in summaries().items():
        if pmid in found:
            authors = ";".join(author["name"] for author in summary["authors"])
            found[pmid] |= {"authors": authors, "year": written_date(summary["pubdate"].split())}
    return found | {record["pmid"]: record for record in lines_of(SOURCE)}


@needs_source
def test_records_without_abstract_match_their_summary() -> None:
    listed = summaries()
    for record in read(LIBRARY / "publications_without_abstract.jsonl"):
        if "PubMed summary" in record["provenance"]:
            original = listed[record["pmid"]]
            dois = [number["value"] for number in original["articleids"] if number["idtype"] == "doi"]
            assert (record["title"], record["journal"]) == (original["title"], original["fulljournalname"])
            assert record["authors"] == [author["name"] for author in original["authors"]]
            assert record["date"] == written_date(original["pubdate"].split())
            assert ([record["doi"]], record["pages"]) == (dois, original["pages"])
            assert record["abstract"] is None


@needs_source
def test_records_match_their_source(source: dict[str, dict[str, Any]]) -> None:
    for record in RECORDS:
        pmid, original = record["pmid"], source[record["pmid"]]
        names = [name for name in (original["authors"] or "").split(";") if name.strip()]
        assert " ".join(original["title"].split()).startswith(record["title"]), pmid
        assert len(record["title"]) == len(original["title"]) or "title cut" in record["provenance"], pmid
        assert record["date"] == original["year"], pmid
        assert record["topic"].lower() in {path.stem.removeprefix("publications_") for path in FILES}, pmid
        assert len(record["authors"]) == len(names), pmid
        assert [
            (author, name)
            for author, name in zip(record["authors"], names, strict=True)
            if author.split(" ")[0].lower() not in name.replace(" '", "'").replace("' ", "'").lower()
        ] == [], pmid
        assert (record["abstract"] is None) == (not original["abstract"]), pmid


@needs_source
def test_identifiers_stand_in_the_source(source: dict[str, dict[str, Any]]) -> None:
    with gzip.open(TRIALS, "rt", encoding="utf-8") as lines:
        in_pubmed_central = {f"PMC{json.loads(line)['pmcid']}" for line in lines}
    for record in RECORDS:
        original = source[record["pmid"]]
        if "sources" in original:
            named = re.findall(r"(PMC\d+)\.nxml", " ".join(original["sources"]))
            assert record["pmcid"] == (named[0] if named else None), record["pmid"]
        else:
            assert record["pmcid"] is None or record["pmcid"] in in_pubmed_central, record["pmid"]
        assert [nct_id for nct_id in record["nct_ids"] if nct_id not in (original["abstract"] or "")] == [], record[
            "pmid"
        ]


@needs_source
def test_summaries_are_in_our_own_words_and_their_numbers_stand_in_the_source(
    source: dict[str, dict[str, Any]],
) -> None:
    """Figures must; so must numbers in words above ten (a smaller one may count the drugs it has just named)."""
    for record in RECORDS:
        summary, abstract = record["abstract"] or "", source[record["pmid"]]["abstract"] or ""
        assert sorted(" ".join(run) for run in runs(summary) & runs(abstract)) == [], record["pmid"]
        original = f"{source[record['pmid']]['title']} {abstract}"
        told = figures(summary) | {number for number in spelt_figures(summary) if number > 10}
        assert told - figures(original) - spelt_figures(original) == set(), record["pmid"]


CONFIRMED_ON_A_REGISTRY_PAGE = {
    "NCT00006398",
    "NCT00549757",
    "NCT00772057",
    "NCT00884663",
    "NCT01581281",
    "NCT02630719",
}
"""Trials of which the shared data holds nothing; each record's provenance says where its facts were read."""


def nct_id(trial: dict[str, Any]) -> str:
    return str(trial["protocolSection"]["identificationModule"]["nctId"])


REGISTERED = read(LIBRARY / "trials.jsonl")
RETRACTED = read(LIBRARY / "publications_retracted.jsonl")


def shared_texts(folder: Path) -> Iterator[str]:
    """Yield the text of every file below a folder, compressed ones unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", errors="ignore")


@needs_source
def test_every_trial_is_in_the_shared_data_or_named_as_read_elsewhere() -> None:
    wanted = {nct_id(trial) for trial in REGISTERED} - CONFIRMED_ON_A_REGISTRY_PAGE
    for text in shared_texts(SHARED):
        wanted -= {found for found in wanted if found in text}

    assert wanted == set()


@needs_source
def test_no_summary_repeats_eight_words_of_the_registry() -> None:
    ours = {nct_id(trial): runs(trial["protocolSection"]["descriptionModule"]["briefSummary"]) for trial in REGISTERED}
    copied = set()
    with gzip.open(SHARED / "library_source" / "trials.jsonl.gz", "rt", encoding="utf-8") as lines:
        for study in map(json.loads, lines):
            theirs = study["protocolSection"]["descriptionModule"]["briefSummary"]
            copied |= {nct_id(study)} if ours[nct_id(study)] & runs(theirs) else set()

    assert copied == set()


def test_a_retracted_article_says_so_as_pubmed_does_and_names_where_that_was_read() -> None:
    for record in RETRACTED:
        assert "Retracted Publication" in record["publication_types"]
        assert record["pmid"] in record["provenance"]
