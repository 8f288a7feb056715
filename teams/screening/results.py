"""Results of a screening: a matrix of conditions by drugs and its evidence, as tables and on one page."""

import csv
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined

from willowbark.agents.exports.cells import safe_cell
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.lexicon import canonical_condition
from willowbark.tools.records import Disease, Drug
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import kind_of
from willowbark.tools.whole_file import write_file

from .origins import Origin
from .tables import TableFolder, has_parquet

MATRIX = (
    "condition", "place", "drug", "certainty", "quality", "group", "supporting", "contradicting", "inconclusive",
    "cautions", "quote", "key", "url", "condition_id", "chembl_id", "chebi_id", "use",
)  # fmt: skip
EVIDENCE = (
    "condition", "drug", "key", "counts_as", "design", "participants", "quote", "title", "date", "url", "read_by",
)  # fmt: skip
KNOWN = {"established": "known", "repurposing": "new", "not_checked": "not checked"}
"""Whether a drug's use in a condition is known: by labels, databases' indications, or as what trials compare with.
`new`: its known uses are others; `not checked`: nothing says what it is used for."""
NO_VERDICT = "no verdict"
"""In place of a certainty, for drugs that records on the condition mention, but neither support nor contradict."""
_MOST_SHOWN = 8  # records per cell of the page; the table has all


class ConditionRows(NamedTuple):
    """What a screening found on a condition."""

    matrix: list[dict[str, Any]]
    """A row for each drug, best first."""
    evidence: list[dict[str, Any]]
    """A row for each record behind the drugs with a verdict."""
    studies: int


def rows_of(condition: str, candidates: Sequence[Candidate], records: Mapping[str, Evidence]) -> ConditionRows:
    """Write what was found on a condition as rows: the candidates, best first, and the records by key."""
    matrix = list[dict[str, Any]]()
    evidence = list[dict[str, Any]]()
    diseases = [held for record in records.values() if isinstance(held := record.record, Disease)]
    same = {canonical_condition(condition), condition.casefold()}
    condition_id = next(
        (disease.disease_id for disease in diseases if canonical_condition(disease.disease or "") in same), None
    )
    for place, each in enumerate(candidates, 1):
        rows = _evidence_of(condition, each, records)
        about = [held for key in each.drug_records if isinstance(held := records[key].record, Drug)]
        first = next((row for row in rows if row["quote"]), rows[0])
        matrix.append(
            {
                "condition": condition,
                "place": place,
                "drug": each.drug,
                "certainty": each.appraisal.certainty.level.said if each.has_verdict else NO_VERDICT,
                "quality": each.appraisal.quality,
                "group": each.group,
                "supporting": len(each.appraisal.supporting),
                "contradicting": len(each.appraisal.contradicting),
                "inconclusive": len(each.appraisal.inconclusive) + len(each.appraisal.not_assessed),
                "cautions": "; ".join(each.cautions),
                **{name: first[name] for name in ("quote", "key", "url")},
                "condition_id": condition_id,
                "chembl_id": next((said.chembl_id for said in about if said.chembl_id), None),
                "chebi_id": next((said.chebi_id for said in about if said.chebi_id), None),
                "use": KNOWN[each.group],
            }
        )
        evidence += rows if each.has_verdict else []
    studies = sum(kind_of(record) in ("publication", "trial") for record in records.values())
    return ConditionRows(matrix, evidence, studies)


def write_results(
    out: Path, found: Mapping[str, ConditionRows], questions: Mapping[str, str], origin: Origin
) -> list[Path]:
    """Write `matrix` and `evidence`, as CSV and, where pyarrow is installed, as Parquet, and `screen.html`.

    Args:
        out: target folder.
        found: by condition, in their order.
        questions: the question asked for each condition.
        origin: of the records.
    """
    matrix = list(chain.from_iterable(rows.matrix for rows in found.values()))
    evidence = list(chain.from_iterable(rows.evidence for rows in found.values()))
    written = list[Path]()
    for name, columns, table in (("matrix", MATRIX, matrix), ("evidence", EVIDENCE, evidence)):
        (out / f"{name}.parquet").unlink(missing_ok=True)
        if has_parquet() and table:
            written.append(TableFolder(out).write(name, table))
        text = io.StringIO(newline="")
        lines = csv.writer(text, lineterminator="\r\n")
        lines.writerow(columns)
        lines.writerows([safe_cell("" if row[column] is None else row[column]) for column in columns] for row in table)
        written.append(write_file(out / f"{name}.csv", text.getvalue().encode("utf-8-sig", errors="replace")))
    page = _page(found, matrix, evidence, questions, origin)
    return [*written, write_file(out / "screen.html", page.encode("utf-8", errors="replace"))]


def _evidence_of(condition: str, candidate: Candidate, records: Mapping[str, Evidence]) -> list[dict[str, Any]]:
    """List the records on a drug, those behind its verdict first."""
    said = candidate.appraisal
    sides = dict.fromkeys(said.supporting, "supports") | dict.fromkeys(said.contradicting, "contradicts")
    rows = [
        {
            "condition": condition,
            "drug": candidate.drug,
            "key": record.key,
            "counts_as": sides.get(record.key, "inconclusive"),
            "design": record.item.design.label,
            "participants": record.item.sample_size,
            "quote": record.sentence,
            "title": records[record.key].citation.title,
            "date": records[record.key].citation.date,
            "url": records[record.key].citation.url,
            "read_by": record.readings[0].reader if record.readings else "",
        }
        for record in candidate.records
    ]
    order = (
        ("contradicts", "supports") if len(said.contradicting) > len(said.supporting) else ("supports", "contradicts")
    )
    return sorted(rows, key=lambda row: (*order, "inconclusive").index(row["counts_as"]))


def _page(
    found: Mapping[str, ConditionRows],
    matrix: Sequence[Mapping[str, Any]],
    evidence: Sequence[Mapping[str, Any]],
    questions: Mapping[str, str],
    origin: Origin,
) -> str:
    """Render the self-contained page, which needs no server and loads nothing."""
    behind: dict[tuple[str, str], list[list[Any]]] = {}
    for row in evidence:
        shown = behind.setdefault((row["condition"], row["drug"]), [])
        if len(shown) < _MOST_SHOWN:
            shown.append(
                [row[name] for name in ("counts_as", "design", "participants", "quote", "title", "date", "url")]
            )
    cells: dict[str, list[list[Any]]] = {condition: [] for condition in found}
    names = ("drug", "certainty", "quality", "use", "supporting", "contradicting", "inconclusive", "cautions")
    for row in (each for each in matrix if each["certainty"] != NO_VERDICT):
        own = behind[row["condition"], row["drug"]]
        cells[row["condition"]].append([*(row[name] for name in names), own])
    asking = ["willowbark", "ask", *(["--library", origin.path] if origin.path else [])]
    shown = [[name, rows.studies, shlex.join([*asking, questions[name]]), cells[name]] for name, rows in found.items()]
    data = json.dumps({"conditions": shown}, ensure_ascii=False)
    source = resources.files(__package__).joinpath("screen.html").read_text(encoding="utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(source)
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return template.render(data=safe, about=origin.about, conditions=len(found))
