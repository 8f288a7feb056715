"""Which real records justify each word and name that the reader's and the lexicon's tables hold.

    python benchmarks/justify.py ABSTRACTS.jsonl.gz … writes `justified.tsv`: table, entry, what justifies it
    python benchmarks/justify.py                      checks that every entry stands in it, and exits with 1 where not

A word of a rule (`signs.tsv` and the like) is justified by PMIDs of records that hold it alone; one that stands in none
is dropped from its table. A row of names is one entry: records justify it by any of its names, and where none at hand
does, its identifier in MeSH or DrugBank does, or that the dictionary of drugs holds the record that it strikes. Cues of
questions (`kinds.tsv`, `asked_as.tsv`) are justified by the questions in `tests/cases` and `labels/question_kinds.tsv`,
withdrawals by the sources that their table names.
"""

import argparse
import csv
import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from willowbark.tools.lexicon.drugs import chemical_names, drug_names
from willowbark.tools.lexicon.matching import split_names
from willowbark.tools.reading.text import plain

TOOLS = Path(__file__).resolve().parents[1] / "tools"
JUSTIFIED = Path(__file__).parent / "justified.tsv"
MOST = 2
"""PMIDs named for an entry."""
WORDS = ("reading/signs.tsv", "reading/facts_signs.tsv", "questions/populations.tsv")
"""Tables of words that decide by standing in a record."""
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


def parts(text: str) -> list[str]:
    """Words and numbers in lower case, parted at hyphens and stops."""
    return re.findall(r"[a-z0-9]+", plain(text).lower())


def search(records: Iterable[Mapping[str, str]], wanted: Mapping[Key, Entry]) -> dict[Key, list[str]]:
    """The first few PMIDs of records that hold each entry; a star at the end of a name ends a beginning of words."""
    whole: dict[tuple[str, ...], list[Key]] = {}
    begun: dict[tuple[str, ...], list[Key]] = {}
    for key, entry in wanted.items():
        for name in entry.names:
            kind = begun if name.endswith("*") else whole
            kind.setdefault(tuple(parts(name.removesuffix("*"))), []).append(key)
    lengths: dict[str, set[int]] = {}
    for words in whole:
        lengths.setdefault(words[0], set()).add(len(words))
    found: dict[Key, list[str]] = {key: [] for key in wanted}
    for record in records:
        words = parts(f"{record['title']} {record.get('abstract') or record.get('text') or ''}")
        held = {
            key
            for at, word in enumerate(words)
            for length in lengths.get(word, ())
            for key in whole.get(tuple(words[at : at + length]), ())
        }
        text = f" {' '.join(words)} "
        held |= {key for start, keys in begun.items() if f" {' '.join(start)}" in text for key in keys}
        for key in held:
            if len(found[key]) < MOST and record["pmid"] not in found[key]:
                found[key].append(record["pmid"])
    return found


def read(paths: Sequence[Path]) -> Iterator[dict[str, str]]:
    """The records of packed files with one JSON object a line; what has no PMID stands under another identifier."""
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def unjustified(stored: str) -> list[Key]:
    """The entries of the tables that no line justifies, in order.

    Args:
        stored: what `justified.tsv` holds.
    """
    lines = (line.split("\t") for line in stored.splitlines()[1:])
    return sorted(entries().keys() - {(table, entry) for table, entry, by in lines if by})


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("abstracts", type=Path, nargs="*")
    if given := parser.parse_args().abstracts:
        wanted = entries()
        by = {
            key: ", ".join(f"PMID {each}" if each.isdigit() else each for each in found) or wanted[key].otherwise
            for key, found in search(read(given), wanted).items()
        }
        lines = ["\t".join((*key, by[key])) for key in sorted(by) if by[key]]
        JUSTIFIED.write_text("\n".join(["table\tentry\tby", *lines]) + "\n", encoding="utf-8")
        print(f"{sum('PMID' in each for each in by.values())} of {len(by)} entries justified by records")
    missing = unjustified(JUSTIFIED.read_text(encoding="utf-8"))
    for table, entry in missing:
        print(f"{table}: nothing justifies “{entry}”")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
