"""Checks a judge's own words: what they rest on was read, and their figures and drugs stand in it.

What code cannot check it does not forbid: whether a record bears a sentence out is the reader's to see by its keys.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.appraisal.certainty import CertaintyLevel
from willowbark.tools.appraisal.judgement import (
    JudgedDomain,
    JudgedDrug,
    JudgedReason,
    JudgeView,
    MisreadRecord,
    StruckRow,
)
from willowbark.tools.lexicon import canonical_drug, find_drugs
from willowbark.tools.reading.screening import list_addressed_to_machines
from willowbark.tools.records.enclosure import visible

from .drafts import JudgeDraft

SMALL = 12
"""Up to which a whole number may be a count of studies or levels, which stands in no record."""
UNSAID = "for a reason that is not shown"
"""Why a drug is not for the people asked about, where the words do not stand: that it is not is still the judge's."""
_MARKUP = re.compile(r"https?:|www\.|\w@\w|[<>`|]\S|\]\(|\b[\w-]+\.(?:com|org|net|invalid|example|io)\b", re.IGNORECASE)
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def generic_name(name: str) -> str:
    """Return a drug's generic name, or the name in lower case if nobody knows it."""
    return canonical_drug(name) or name.lower()


class CheckedWords:
    """Keeps those of a judge's sentences that rest on what was read of the candidates."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._told: dict[str, list[str]] = {}
        self._drugs: dict[str, set[str]] = {}
        for candidate in candidates:
            for record in candidate.records:
                study = record.study
                texts = [row.passage.text for row in study.comparisons if row.passage]
                texts += [view.passage.text for view in study.statements]
                texts += [record.sentence, record.harm_told, study.condition, study.people]
                texts += [f"{arm.dose} {arm.n or ''}" for arm in study.arms]
                texts.append(f"{record.item.sample_size or ''} {study.randomised or ''} {study.analysed or ''}")
                self._told.setdefault(record.key, []).extend(texts)
                self._drugs.setdefault(record.key, {candidate.drug}).update({candidate.drug, *study.drugs()})
        self._known = {candidate.drug for candidate in candidates}
        self.dropped: list[str] = []

    def view(self, draft: JudgeDraft, by: str) -> JudgeView:
        """Return what stands of a judge's draft."""
        struck = list[StruckRow]()
        for row in draft.strikes:
            drug = generic_name(row.drug)
            reason = self.keep(row.reason) if drug in self._drugs.get(row.evidence_key, ()) else ""
            if reason:  # a row that counts for nothing says why
                struck.append(StruckRow(key=row.evidence_key, drug=drug, reason=reason))
        misread = [
            MisreadRecord(key=row.evidence_key, reason=self.keep(row.reason))
            for row in draft.misread
            if row.evidence_key in self._told
        ]
        drugs = list[JudgedDrug]()
        for drug_draft in draft.drugs:
            drug = generic_name(drug_draft.drug)
            if drug in self._known and drug not in {kept_drug.drug for kept_drug in drugs}:
                domains = [
                    JudgedDomain(
                        domain=domain.domain,
                        lowered=domain.lowered,
                        reason=self.keep(domain.reason, domain.keys),
                        keys=self._read(domain.keys),
                    )
                    for domain in drug_draft.domains
                ]
                drugs.append(
                    JudgedDrug(
                        drug=drug,
                        level=None if drug_draft.level == "cannot_tell" else CertaintyLevel(drug_draft.level),
                        reason=self.keep(drug_draft.reason, drug_draft.keys),
                        keys=self._read(drug_draft.keys),
                        domains=domains,
                        not_for=self.keep(drug_draft.not_for) or (UNSAID if drug_draft.not_for.strip() else ""),
                    )
                )
        decides = [self._reason(decide.text, decide.keys) for decide in draft.decides]
        contradicts = [self._reason(contradict.text, contradict.keys) for contradict in draft.contradicts]
        return JudgeView(
            by=by,
            decides=[decide for decide in decides if decide.text],
            contradicts=[contradict for contradict in contradicts if contradict.text],
            drugs=drugs,
            struck=struck,
            misread=misread,
            dropped=self.dropped,
        )

    def keep_gaps(self, texts: Iterable[str]) -> list[str]:
        """Return those of several gaps that stand; a drug of which nothing was read is what a gap may name."""
        return list(filter(None, (self.keep(text, names_unread=True) for text in texts)))

    def keep(self, text: str, keys: Sequence[str] = (), *, names_unread: bool = False) -> str:
        """Return a text on one line if its figures and drugs stand in the records named, else in any; else nothing."""
        sentence = " ".join(visible(text).split())
        if _MARKUP.search(sentence) or list_addressed_to_machines(sentence):
            self.dropped.append("holds an address, markup or an order")
            return ""
        among = self._read(keys) or list(self._told)
        records_text = " ".join(chain.from_iterable(self._told[key] for key in among))
        figures = {_FIGURE.sub(_simplify_figure, figure_text) for figure_text in _FIGURE.findall(records_text)}
        # A reason may name another record, "hangs on PMID 123": its number is a name, and no figure of a study.
        figures.update(*(_FIGURE.findall(key) for key in self._told))
        for figure in _FIGURE.findall(sentence):
            is_count = figure.isdecimal() and int(figure) <= SMALL
            if not is_count and _FIGURE.sub(_simplify_figure, figure) not in figures:
                self.dropped.append("a figure stands in none of its records")
                return ""
        drugs = self._known.union(*(self._drugs[key] for key in among)) if among else self._known
        for mention in find_drugs(sentence):
            if mention.name not in drugs and not names_unread:
                self.dropped.append(f"{mention.name} is in none of its records")
                return ""
        return sentence

    def _reason(self, text: str, keys: Sequence[str]) -> JudgedReason:
        records = self._read(keys)
        if not records:
            self.dropped.append("rests on no record that was read")
            return JudgedReason(text="")
        return JudgedReason(text=self.keep(text, records), keys=records)

    def _read(self, keys: Sequence[str]) -> list[str]:
        """Return the keys of records that were read."""
        return list(dict.fromkeys(key for key in keys if key in self._told))


def _simplify_figure(figure: re.Match[str]) -> str:
    """Return a figure without separators of thousands and closing zeros."""
    text = figure.group()
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        return text.replace(",", "")
    return text.rstrip("0").rstrip(".") if "." in text else text
