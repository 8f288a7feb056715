"""Which real records justify each word and name that the reader's and the lexicon's tables hold.

    python -m benchmarks.justify RECORDS.jsonl.gz … writes `justified.tsv`: table, entry, what justifies it
    python -m benchmarks.justify                    checks that every entry stands in it, and exits with 1 where not

Records are abstracts, full texts, trials as ClinicalTrials.gov writes them, and repoDB's table, which tells why trials
were stopped; what stands in `justified.tsv` already and in none of them is kept.

A word of a rule (`signs.tsv` and the like) is justified by PMIDs of records that hold it alone; one that stands in none
is dropped from its table. So is each word of a cue (`cues.tsv`), and each cue of several words, by records in which it
stands as its cue asks, or, where it is a form of names, by the dictionary of drugs. A row of names is one entry:
records justify it by any of its names, and where none at hand does, its identifier in MeSH or DrugBank does, or that
the dictionary of drugs holds the record that it strikes. Cues of questions (`kinds.tsv`, `asked_as.tsv`) are justified
by the questions in `tests/cases` and `labels/question_kinds.tsv`, withdrawals by the sources that their table names.
"""

import argparse
import csv
import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from willowbark.tools.lexicon.drugs import chemical_names, drug_names
from willowbark.tools.lexicon.matching import cues, split_names
from willowbark.tools.reading.text import plain, sentences

TOOLS = Path(__file__).resolve().parents[1] / "tools"
JUSTIFIED = Path(__file__).parent / "justified.tsv"
MOST = 2
"""PMIDs named for an entry."""
WORDS = ("reading/signs.tsv", "reading/facts_signs.tsv", "questions/populations.tsv")
"""Tables of words that decide by standing in a record."""
CUES = tuple(f"{room}/cues.tsv" for room in ("reading", "appraisal", "mechanism", "lexicon", "works"))
_NO_WORDS = frozenset(
    "_ .. # ^ a an the of in on at to for with by from and or is are was were be been has have".split()
)
"""Places and grammar: they stand in a cue, and tell nothing without its other words."""
Key = tuple[str, str]


class Entry(NamedTuple):
    """What an entry of a table is found by, and what else vouches for it."""

    names: tuple[str, ...]
    otherwise: str = ""
    """An identifier; empty where records alone can justify it."""


def rows(table: str) -> Iterator[dict[str, str]]:
    """The rows of a table with a header."""
    lines = (TOOLS / table).read_text(encoding="utf-8").splitlines()
    yield from csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t")


def entries() -> dict[Key, Entry]:
    """The entries of all tables."""
    drugs, chemicals = drug_names(), chemical_names()
    found: dict[Key, Entry] = {}
    for table in ("conditions", "drugs", "drug_classes", "not_drugs"):
        for row in rows(f"lexicon/{table}.tsv"):
            name, mesh = row["name"], row.get("mesh_id")
            names = (name, *split_names(row.get("synonyms") or ""))
            numbers = [f"MeSH {mesh}"] if mesh else []
            if table == "drugs" and name in drugs.drugbank_ids:
                numbers.append(f"DrugBank {drugs.drugbank_ids[name]}")
            if table == "not_drugs":
                names = (*names, *chemicals.synonyms.get(name, "").splitlines())
                numbers += ["the dictionary of drugs"] if name in chemicals.synonyms else []
            found[f"lexicon/{table}.tsv", name] = Entry(names, " ".join(numbers))
    for line in (TOOLS / WORDS[0]).read_text(encoding="utf-8").splitlines():
        found |= {(WORDS[0], word): Entry((word,)) for word in line.split("\t")[1].split()}
    for table in WORDS[1:]:
        found |= {(table, word): Entry((word,)) for row in rows(table) for word in row["words"].split("|")}
    return found


def uses() -> dict[Key, list[str]]:
    """The cues that use each word of the tables of cues, narrowed to this word; each cue of several words by itself."""
    found: dict[Key, list[str]] = {}
    for table in CUES:
        for row in rows(table):
            for cue in split_names(row["cues"]):
                asked = cue.split()
                if len(asked) > 1:
                    found[table, f"{row['name']}: {cue}"] = [cue]
                for place, word in enumerate(asked):
                    for each in set(word.rstrip("?").split("/")) - _NO_WORDS:
                        narrowed = " ".join([*asked[:place], each, *asked[place + 1 :]])
                        found.setdefault((table, f"{row['name']}: {each}"), []).append(narrowed)
    return found


def stand(records: Iterable[tuple[str, Sequence[str]]], wanted: Mapping[Key, Sequence[str]]) -> dict[Key, list[str]]:
    """The first few records in whose sentences each word stands as one of its cues asks.

    Args:
        records: number and sentences.
        wanted: cues by key, as `uses` has them.
    """
    found: dict[Key, list[str]] = {key: [] for key in wanted}
    left = {key: (cues("|".join(each)), _letters(key)) for key, each in wanted.items()}
    for number, texts in records:
        whole = "\n".join(texts).lower()
        held = [
            key
            for key, (cue, letters) in left.items()
            if letters in whole and number not in found[key] and any(map(cue.search, texts))
        ]
        for key in held:
            found[key].append(number)
            if len(found[key]) == MOST:
                del left[key]
    return found


def _letters(key: Key) -> str:
    """Letters without which the word of a key stands nowhere; none of a cue of several words."""
    word = key[1].partition(": ")[2]
    return "" if " " in word else max(re.split(r"[-*]", word), key=len).lower()


def texts_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Number and sentences of each record in a file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        if ".tsv" in path.suffixes:
            for row in csv.DictReader(file, delimiter="\t"):
                if (trial := re.search(r"NCT\d{8}", row["TrialStatus"])) and row["DetailedStatus"]:
                    yield trial.group(), [row["DetailedStatus"]]
        elif ".jsonl" in path.suffixes:
            for line in file:
                yield from _recorded(json.loads(line))
        else:
            yield from _recorded(json.load(file))


def _recorded(told: Any) -> Iterator[tuple[str, list[str]]]:
    if isinstance(told, list):
        for each in told:
            yield from _recorded(each)
    elif not isinstance(told, dict):
        return
    elif "protocolSection" in told:
        yield told["protocolSection"]["identificationModule"]["nctId"], list(_texts(told))
    elif number := told.get("pmid") or told.get("pmcid"):
        title, text = told.get("title") or "", told.get("abstract") or told.get("text") or ""
        yield f"PMID {number}" if "pmid" in told else f"PMC{number}", [title, plain(title), text, *sentences(text)]
    else:
        yield from _recorded([*told.values()])


def dictionary() -> Iterator[tuple[str, list[str]]]:
    """The names in the dictionary of drugs, with the DrugBank numbers of what they name."""
    for names in (drug_names(), chemical_names()):
        for phrase, name in names.phrases.items():
            if number := names.drugbank_ids.get(name):
                yield f"DrugBank {number}", [phrase]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def parts(text: str) -> list[str]:
    """Words and numbers in lower case, parted at hyphens and stops."""
    return re.findall(r"[a-z0-9]+", plain(text).lower())


def search(records: Iterable[tuple[str, Sequence[str]]], wanted: Mapping[Key, Entry]) -> dict[Key, list[str]]:
    """The first few records that hold each entry; a star at the end of a name ends a beginning of words."""
    whole: dict[tuple[str, ...], list[Key]] = {}
    begun: dict[tuple[str, ...], list[Key]] = {}
    for key, entry in wanted.items():
        for name in entry.names:
            kind = begun if name.endswith("*") else whole
            kind.setdefault(tuple(parts(name.removesuffix("*"))), []).append(key)
    lengths: dict[str, set[int]] = {}
    for first, *rest in whole:
        lengths.setdefault(first, set()).add(len(rest) + 1)
    found: dict[Key, list[str]] = {key: [] for key in wanted}
    for number, texts in records:
        words = parts(" ".join(texts))
        held = {
            key
            for at, word in enumerate(words)
            for length in lengths.get(word, ())
            for key in whole.get(tuple(words[at : at + length]), ())
        }
        text = f" {' '.join(words)} "
        held |= {key for start, keys in begun.items() if f" {' '.join(start)}" in text for key in keys}
        for key in held:
            if len(found[key]) < MOST and number not in found[key]:
                found[key].append(number)
    return found


def unjustified(stored: str) -> list[Key]:
    """The entries of the tables that no line justifies, in order.

    Args:
        stored: what `justified.tsv` holds.
    """
    lines = (line.split("\t") for line in stored.splitlines()[1:])
    return sorted((entries().keys() | uses().keys()) - {(table, entry) for table, entry, by in lines if by})


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="*")
    if given := parser.parse_args().records:
        before = [line.split("\t") for line in JUSTIFIED.read_text(encoding="utf-8").splitlines()[1:]]
        wanted, used = entries(), uses()
        by = {(table, entry): told for table, entry, told in before if (table, entry) in wanted.keys() | used.keys()}
        records = [record for path in given for record in texts_of(path)]
        weak = {key: each for key, each in wanted.items() if "PM" not in by.get(key, "")}
        found = search(records, weak) | stand(records, {key: each for key, each in used.items() if key not in by})
        names = {key: used[key] for key in found if key[0] == "lexicon/cues.tsv" and not found[key]}
        found |= stand(dictionary(), names)
        by |= {key: ", ".join(each) for key, each in found.items() if each}
        by = {key: entry.otherwise for key, entry in wanted.items() if entry.otherwise} | by
        lines = ["\t".join((*key, by[key])) for key in sorted(by)]
        JUSTIFIED.write_text("\n".join(["table\tentry\tby", *lines]) + "\n", encoding="utf-8")
        print(f"{sum(map(bool, found.values()))} of {len(found)} entries that stood on none were found in records")
    missing = unjustified(JUSTIFIED.read_text(encoding="utf-8"))
    for table, entry in missing:
        print(f"{table}: nothing justifies “{entry}”")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
