"""How often real records have the fields that are read of them: `python -m benchmarks.field_shares [--write]`.

Counts in the replies of public interfaces that lie beside this clone (`shared/data/replies`), as they were collected
from public repositories: of the entries that could have a field, how many do. A run takes a field that hardly any
record lacks, and none of its own has, for one that the source renamed. Written into `tools/contracts/shares.tsv`.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from willowbark.tools.contracts.documents import read_document
from willowbark.tools.contracts.fields import count_places, fields_of
from willowbark.tools.errors import UnreadableReply
from willowbark.tools.http.reply import Reply

REPLIES = Path(__file__).resolve().parents[2] / "shared" / "data" / "replies"
TABLE = Path(__file__).parents[1] / "tools" / "contracts" / "shares.tsv"
LEAST = 5  # entries; a share of fewer says nothing
FILES: Mapping[tuple[str, str], Sequence[str]] = {
    ("clinicaltrials", "studies"): ("clinicaltrials_v2/*",),
    ("europepmc", "search"): ("europepmc/*core*", "biomcp_europepmc/*"),
    ("pubmed", "efetch.fcgi"): ("pubmed_efetch/*", "biomcp_pubmed/*"),
    ("pubmed", "esearch.fcgi"): ("pubmed_esearch/*",),
    ("chembl", "mechanism.json"): ("biomcp_chembl/*mechanisms*",),
    ("chembl", "target.json"): ("biomcp_chembl/*target_*",),
    ("openfda", "drug/label.json"): ("biomcp_openfda/*label*",),
    ("drugsfda", "drug/drugsfda.json"): ("biomcp_openfda/*drugsfda*",),
    ("uniprot", "uniprotkb/search"): ("biomcp_uniprot/*",),
    ("openalex", "works/*"): ("openalex/*",),
    ("crossref", "works"): ("crossref/*",),
    ("mychem", "query"): ("biomcp_mychem/*",),
}
"""Where replies to each request lie, as globs below the folder."""
_LISTS = {"clinicaltrials": "studies", "chembl target.json": "targets", "uniprot": "results"}
"""Where single entries stand in a list of replies to searches."""


def read_replies(source: str, request: str, globs: Sequence[str]) -> Iterator[Any]:
    """Yield the replies to a request as plain data; single entries stand in a list, as in replies to searches."""
    files = [path for path in sorted(REPLIES.rglob("*")) if path.is_file()]
    name = _LISTS.get(f"{source} {request}") or _LISTS.get(source)
    for path in files:
        if not any(fnmatchcase(str(path.relative_to(REPLIES)), glob) for glob in globs):
            continue
        try:
            data = read_document(Reply(source, 200, {}, path.read_bytes()))
        except UnreadableReply:
            continue
        if name and isinstance(data, list):
            data = {name: data}
        elif name and isinstance(data, dict) and name not in data:
            data = {name: [data]}
        if isinstance(data, dict):
            yield data


def count() -> Iterator[tuple[str, str, str, int, int]]:
    """Yield source, request and place of each field, how many entries have it, and how many could."""
    for (source, request), globs in FILES.items():
        fields = [field for field in fields_of(source) if field.reply == request]
        documents = list(read_replies(source, request, globs))
        for place, (having, of) in count_places(fields, documents).items():
            yield source, request, place, having, of


def main() -> None:
    """Count and print, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    rows = [row for row in count() if row[-1] >= LEAST]
    lines = ["# Of the entries that could have a field, how many do, in replies collected from public repositories."]
    lines += ["# Written by `python -m benchmarks.field_shares --write`.", "source\treply\tplace\thaving\tof"]
    lines += ["\t".join(map(str, row)) for row in rows]
    if parser.parse_args().write:
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
