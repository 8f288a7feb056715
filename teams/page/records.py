"""A record of a report with its cited passages marked, and the form in which a person corrects what was read of it."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from ..ledger import Ledger
from ..run.history import list_ledger_runs, load_report
from .rendering import render_page

if TYPE_CHECKING:
    from willowbark.agents.report.content import EvidenceRow
    from willowbark.agents.report.model import ResearchReport
    from willowbark.tools.records.evidence import Evidence

_EDITABLE = {
    "participants": "Participants compared",
    "measure": "Measure, such as HR",
    "value": "Estimate",
    "low": "Interval from",
    "high": "Interval to",
}
"""Those that a person types, with their labels."""


def render_record(run_id: str, number: int, root: Path) -> str:
    """Render the text of a reference's record with the cited passages marked, and what can be corrected."""
    report = load_report(root, run_id)
    reference = next((cited for cited in report.references if cited["number"] == number), None)
    if reference is None:
        raise HTTPException(404)
    return _render_record_page(run_id, report, str(reference["key"]), reference)


def render_row(run_id: str, key: str, root: Path) -> str:
    """Render a record of the evidence by its key, whether the report cites it or not."""
    report = load_report(root, run_id)
    row = next((row for row in report.evidence_table if row.key == key), None)
    if row is None:
        raise HTTPException(404)
    return _render_record_page(run_id, report, key, report.reference_of(key) or {"title": row.title})


def _render_record_page(run_id: str, report: "ResearchReport", key: str, reference: Mapping[str, Any]) -> str:
    from willowbark.agents.report.forms import find_url, record_name  # noqa: PLC0415  agents take most of a second
    from willowbark.tools.reading.corrections import EXCLUSION_REASONS  # noqa: PLC0415
    from willowbark.tools.reading.reading import StudyDesign  # noqa: PLC0415
    from willowbark.tools.reading.sections import name_own_part, places  # noqa: PLC0415

    claims = list[dict[str, Any]]()
    for row in (row for row in report.evidence_table if row.key == key):
        own = [candidate for candidate in report.candidates if candidate.name == row.drug]
        claims_of_drug = chain.from_iterable(candidate.claims for candidate in own)
        claim_quotes = [claim.quote for claim in claims_of_drug if claim.evidence_key == key]
        quotes = dict.fromkeys(filter(None, (row.sentence, row.in_figures, *claim_quotes)))
        stance = own[0].stance_of(row) if own else row.direction
        is_struck = any((strike.key, strike.drug) == (key, row.drug) for strike in report.judge_view.struck)
        claim = {"drug": row.drug, "stance": stance, "quotes": list(quotes), "row": row, "struck": is_struck}
        claims.append({**claim, "fields": _list_fields(row)})
    quotes = dict.fromkeys(chain.from_iterable(claim["quotes"] for claim in claims))
    texts = list[tuple[str, list[tuple[str, bool]]]]()
    records = _load_records(run_id, report.generated_at, len(report.corrections))
    record = records.get(key) or next((other for other in records.values() if key in other.identifiers), None)
    if record is not None:
        body = record.content.removeprefix(record.citation.title).strip() or record.content
        texts = [(name_own_part(record), mark_passages(body, quotes))]
        for place in places(record):  # of a full text, the parts with a cited passage
            pieces = mark_passages(place.text, quotes)
            if any(is_marked for _, is_marked in pieces):
                texts.append((place.title, pieces))
    name = record_name(key)
    url = find_url(key, str(reference.get("url") or ""))
    content: dict[str, Any] = {"reference": reference, "name": name, "url": url, "claims": claims, "texts": texts}
    content |= {"run_id": run_id, "key": key, "can_correct": bool(records), "reasons": EXCLUSION_REASONS}
    content["editable"] = _EDITABLE
    content["designs"] = [design.label for design in StudyDesign]
    return render_page("record.html", title=str(reference["title"]), **content)


def _list_fields(row: "EvidenceRow") -> dict[str, str]:
    """Return what a row says in the fields that a person can type; empty for what is not reported."""
    size = row.effects[0] if row.effects else None
    figures = (None, None, None) if size is None else (size.value, size.ci_low, size.ci_high)
    numbers = dict(zip(("value", "low", "high"), figures, strict=True))
    fields = {name: "" if number is None else f"{number:g}" for name, number in numbers.items()}
    fields["measure"] = "" if size is None else size.measure
    fields["participants"] = "" if row.sample_size is None else str(row.sample_size)
    return fields


@lru_cache(maxsize=4)  # readers open many records of a report; a resumed run has a new one, on more records
def _load_records(run_id: str, made_at: datetime, corrections: int) -> Mapping[str, "Evidence"]:
    """Load the records behind a run's report, by key, with those that people added; none if the ledger lacks the run.

    A report that was made at another time, or with other corrections, is on other records.
    """
    from willowbark.tools.appraisal.appraised import list_conditions  # noqa: PLC0415
    from willowbark.tools.appraisal.corrected import add_records  # noqa: PLC0415
    from willowbark.tools.questions import parse_question  # noqa: PLC0415

    from ..run.within import load_words  # noqa: PLC0415
    from ..state import state_of  # noqa: PLC0415  agents take most of a second

    if all(run.run_id != run_id for run in list_ledger_runs()):
        return {}
    with Ledger.existing() as ledger:
        state = state_of(ledger, run_id)
        conditions = list_conditions(parse_question(state.question))
        pool = add_records(state.evidence, load_words(run_id, ledger), conditions)
        return {record.key: record for record in pool}


def mark_passages(text: str, passages: Iterable[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it belongs to a passage; white space may differ.

    >>> mark_passages("Pain fell. It  rose.", ["It rose."])
    [('Pain fell. ', False), ('It  rose.', True)]
    """
    patterns = [r"\s+".join(map(re.escape, passage.split())) for passage in sorted(passages, key=len, reverse=True)]
    if not patterns:
        return [(text, False)]
    pieces = re.split(f"({'|'.join(patterns)})", text)
    return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]
