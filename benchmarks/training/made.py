"""Tiny training data: the bundled library's records, which are our own texts, with their labels by reading."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.labels import FOLDER
from benchmarks.training.cases import Ask, Source

RECORDS = Path(__file__).resolve().parents[2] / "tools" / "library" / "bundled"
MOST = 60
"""Records that are used."""
CONDITIONS = {"migraine_prevention": "migraine", "portal_hypertension": "portal hypertension"}
SETTLED = ("both", "resolved")


def make_sources() -> list[Source]:
    """Make sources of two of the bundled questions; one record in four is kept apart."""
    sources: dict[str, Source] = {}
    for topic in CONDITIONS:
        for record in _read_records(RECORDS / f"publications_{topic}.jsonl"):
            pmid = str(record["pmid"])
            if record["abstract"] and len(sources) < MOST:
                sources.setdefault(pmid, Source(pmid, record["title"], record["abstract"]))
    for row in _read_labels():
        source = sources.get(row["record"])
        condition = CONDITIONS.get(row["topic"])
        if source is not None and condition is not None:
            source.asks.append(Ask(row["drug"], condition, _list_fields(row), None, row["sure"] == "1"))
            source.roles[condition] = "treat_target"
    labelled = [source for source in sources.values() if source.asks]
    for source in labelled[::4]:
        source.is_closing = True
    return labelled


def _read_records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _read_labels() -> Iterator[dict[str, str]]:
    with (FOLDER / "bundled_pairs.tsv").open(encoding="utf-8") as file:
        yield from (row for row in csv.DictReader(file, delimiter="\t") if row["reader"] in SETTLED)


def _list_fields(row: Mapping[str, str]) -> dict[str, str]:
    values = {name: row[name] for name in ("role", "verdict", "primary", "indication")}
    return {**values, "alone": "alone" if row["alone"] == "1" else "not_alone"}
