"""A small report that has everything an export can show, and the same one with hostile text in every place."""

import json
import os
import shutil
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from willowbark.agents.exports import FORMATS
from willowbark.agents.report.content import EvidenceRow, ReportSection
from willowbark.agents.report.forms.blocks import (
    Details,
    Group,
    Link,
    Quote,
    Row,
    Section,
    Table,
    Text,
    flow,
    paragraph,
    points,
)
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.reading.numbers import EffectSize
from willowbark.tools.records.study import Arm, Comparison, Estimate, Study, StudyPassage

HAS_CHROMIUM = bool(os.environ.get("CHROMIUM") or shutil.which("chromium"))
HAS_PYARROW = find_spec("pyarrow") is not None
WITHOUT_BROWSER = [known for known in FORMATS if known.name not in ("pdf", *([] if HAS_PYARROW else ["parquet"]))]
"""The forms that this machine can make without a browser."""
SAMPLE: dict[str, Any] = json.loads((Path(__file__).parent / "cases" / "report.json").read_text("utf-8"))
"""A report on bupropion for smoking cessation, two randomised trials for it and one against."""
WHEN = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
REFERENCES: list[dict[str, Any]] = SAMPLE["references"]
ROWS = [EvidenceRow.model_validate(each) for each in SAMPLE["evidence_table"]]
ONE_YEAR = ROWS[0].sentence
NO_TEXT = frozenset(
    "kind style look what direction measure evidence_quality certainty group primary stance topic decided_by via "
    "generated_at asked_at number key evidence_key supporting_citations contradicting_citations undecided_citations "
    "citations".split()
)
"""Fields that hold no text of anybody: what is one of a few words, a moment, a key of a record."""


def effect(value: float, low: float, high: float, sentence: str) -> EffectSize:
    """An odds ratio with its interval."""
    return EffectSize(measure="OR", value=value, ci_low=low, ci_high=high, sentence=sentence)


def row(key: str, title: str, direction: str = "supports", **fields: Any) -> EvidenceRow:
    """What a record says of bupropion."""
    given = {"drug": "bupropion", "design": "blinded RCT", "date": "2003", **fields}
    return EvidenceRow(key=key, title=title, direction=direction, **given)


def reference(number: int, key: str, title: str, **fields: Any) -> dict[str, Any]:
    """One entry of the reference list."""
    given = {"authors": [], "source": "pubmed", "date": "2003", "url": "", "flags": []}
    return {"number": number, "key": key, "title": title, **given, **fields}


def sample(**changes: Any) -> ResearchReport:
    """The report, with other values for some of its fields."""
    return ResearchReport.model_validate({**SAMPLE, **changes})


def empty() -> ResearchReport:
    """A report that found nothing."""
    nothing = ReportSection.of("Findings", [paragraph("Nothing.")])
    return ResearchReport(
        title="Existing drugs for an unknown disease",
        executive_summary="No existing drug was found with evidence that could be verified. " * 2,
        research_question="Which drugs help in xyzzy?",
        methodology=nothing,
        mechanistic_findings=nothing,
        clinical_findings=nothing,
        conclusion="No verifiable evidence was found.",
        stop_reason="no_new_evidence",
        confidence_score=0.0,
        generated_at=WHEN,
    )


def _hostile_study(payload: str) -> Study:
    arms = Arm(name=payload, role="drug", drugs=(payload,), dose=payload), Arm(name=f"{payload}2", role="unknown")
    estimate = Estimate(measure=payload, unit=payload, written=payload)
    compared = Comparison(
        arm=payload,
        versus=f"{payload}2",
        outcome=payload,
        endpoint="harm",
        subgroup=payload,
        unread=payload,
        estimate=estimate,
        passage=StudyPassage(text=payload, section=payload),
    )
    return Study(
        key=payload,
        reader="model",
        version=payload,
        condition=payload,
        design=payload,
        background=(payload,),
        arms=arms,
        comparisons=(compared,),
    )


def hostile(payload: str) -> ResearchReport:
    """The report with a payload in every text that a source, a model or a user can write, and in some keys."""

    def poisoned(value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            return {name: poisoned(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [poisoned(each, field) for each in value]
        return payload if isinstance(value, str) and field not in NO_TEXT else value

    item = flow(payload, Text(payload, "code"), Link(payload, payload), Quote(payload, payload), points([payload]))
    listed = Table(payload, (payload,), (Group((Row((item,)),)),))
    nested = [points([item]), listed, Details(payload, (Section(payload, "x", ()),))]
    section = ReportSection.of(payload, nested)
    fields = poisoned({name: value for name, value in SAMPLE.items() if name != "studies"})
    fields["studies"] = [_hostile_study(payload)]
    fields["references"].append({**fields["references"][0], "key": f"url:{payload}", "number": 5})
    fields["evidence_table"].append({**fields["evidence_table"][0], "key": payload, "date": "2001"})
    fields["trials"].append({**fields["trials"][1], "why_stopped": payload, "key": payload, "status": "TERMINATED"})
    fields["candidates"][0] |= {"study_limits": [{"key": payload, "section": payload, "quote": payload}]}
    fields["search_log"] = [{**fields["search_log"][0], "filters": {payload: payload}, "warnings": [payload]}]
    fields |= {"methodology": section, "clinical_findings": section, "disclaimer": payload}
    fields |= {"executive_summary": f"{payload}{'.' * 100}"[:1000], "flow": {"excluded": {payload: 1}}}
    return ResearchReport.model_validate(fields)
