"""`JudgeView`: what a judge makes of the evidence, in its own words with the keys that each rests on.

It lowers what code computed and never raises it: a row that the judge strikes counts for nothing, the lower of the
judge's and the computed level of certainty counts, and a drug that is not for the people asked about does not lead.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel

from ..reading.corrections import CorrectionBook
from ..wording import listed
from .candidates import Candidate
from .certainty import AppraisedItem, CertaintyLevel, appraise_candidate, lower_level
from .suitability import NOT_FOR

Domain = Literal["risk_of_bias", "inconsistency", "indirectness", "imprecision", "publication_bias"]
"""GRADE's reasons to lower the certainty of evidence."""


class JudgedReason(BaseModel, frozen=True, extra="forbid"):
    """A sentence of the judge's."""

    text: str
    keys: list[str] = []
    """Records that it rests on, all of which were read."""


class JudgedDomain(BaseModel, frozen=True, extra="forbid"):
    """One of GRADE's domains for a drug."""

    domain: Domain
    lowered: int
    """Levels by which it lowers the certainty, 0 to 2."""
    reason: str
    keys: list[str] = []


class JudgedDrug(BaseModel, frozen=True, extra="forbid"):
    """What the judge says of one drug."""

    drug: str
    level: CertaintyLevel | None = None
    """Certainty that it helps; None: the judge says that it cannot be told."""
    reason: str = ""
    keys: list[str] = []
    domains: list[JudgedDomain] = []
    """Of leading drugs; empty for others."""
    not_for: str = ""
    """Why it is not for the people asked about; empty if it is."""


class StruckRow(BaseModel, frozen=True, extra="forbid"):
    """A reading that the judge does not let count."""

    key: str
    drug: str
    reason: str


class MisreadRecord(BaseModel, frozen=True, extra="forbid"):
    """A record that the judge had read again."""

    key: str
    reason: str
    is_read_again: bool = False
    """Whether the second reading stands in the first one's place."""


class JudgeView(BaseModel, frozen=True, extra="forbid"):
    """What the judge makes of the evidence when it last saw it."""

    by: str = ""
    """The model's name; empty if rules judged, which say nothing in words of their own."""
    decides: list[JudgedReason] = []
    contradicts: list[JudgedReason] = []
    """What speaks against each other, and why: doses, people, times."""
    drugs: list[JudgedDrug] = []
    """The best first."""
    struck: list[StruckRow] = []
    misread: list[MisreadRecord] = []
    dropped: list[str] = []
    """What of its words was left out, a reason each."""

    def find_drug(self, drug: str) -> JudgedDrug | None:
        """Return what it says of a drug; None if nothing."""
        return next((judged for judged in self.drugs if judged.drug == drug), None)


def judge_candidates(
    candidates: Iterable[Candidate],
    view: JudgeView,
    corrections: CorrectionBook | None = None,
    conditions: Sequence[str] = (),
) -> list[Candidate]:
    """Apply a judge's view to candidates: strikes, the lower level, whom a drug is not for, the order.

    The order is the judge's among drugs with a verdict that may lead; the others stay behind these as they were.

    Args:
        candidates: as code appraised them.
        view: the judge's.
        corrections: what people say; a row that they let count is not struck. None: nothing.
        conditions: those of the question, for which they say it.
    """
    if corrections:
        standing = [row for row in view.struck if not corrections.lets_count(row.key, row.drug, conditions)]
        view = view.model_copy(update={"struck": standing})
    judged = [_judge(candidate, view) for candidate in candidates]
    places = {judged_drug.drug: place for place, judged_drug in enumerate(view.drugs)}
    last = len(places)

    def rank(candidate: Candidate) -> tuple[bool, bool, int]:
        leads = candidate.has_verdict and not candidate.does_not_lead and bool(candidate.appraisal.supporting)
        is_off = candidate.in_asked_class is False
        return is_off, not leads, places.get(candidate.drug, last) if leads else last

    return sorted(judged, key=rank) if places else judged


def _judge(candidate: Candidate, view: JudgeView) -> Candidate:
    keys = {record.key for record in candidate.records}
    struck = {row.key: row.reason for row in view.struck if row.drug == candidate.drug and row.key in keys}
    if struck:
        records = []
        for record in candidate.records:
            reason = struck.get(record.key)
            if reason is None:
                records.append(record)
            else:
                records.append(record.model_copy(update={"item": _mark_struck(record.item, reason)}))
        appraisal = appraise_candidate([record.item for record in records])
        candidate = candidate.model_copy(update={"records": records, "appraisal": appraisal})
    judged_drug = view.find_drug(candidate.drug)
    if judged_drug is None:
        return candidate
    changes: dict[str, object] = {}
    if judged_drug.level is not None:
        changes["appraisal"] = lower_level(candidate.appraisal, judged_drug.level, _say_why(judged_drug))
    if judged_drug.not_for:
        caution = f"{NOT_FOR} the people asked about, by the judge: {judged_drug.not_for}"
        changes["cautions"] = (*candidate.cautions, caution)
    return candidate.model_copy(update=changes)


def _mark_struck(item: AppraisedItem, reason: str) -> AppraisedItem:
    return item.model_copy(update={"struck": reason})


def _say_why(judged_drug: JudgedDrug) -> str:
    """Return why the judge has its level: its own reason, or the domains that lower it."""
    lowering = [
        f"{domain.domain.replace('_', ' ')}: {domain.reason}" for domain in judged_drug.domains if domain.lowered
    ]
    return judged_drug.reason or listed(lowering)
