"""Title and first screen of a report: the answer, leading drugs with best estimates, failures, harms, gaps.

Certainty is worded as in GRADE: a drug does, probably does or may help, or the evidence is very uncertain
(GRADE guidelines 26, J Clin Epidemiol 2020;119:126-135, https://www.jclinepi.com/article/S0895-4356(19)30416-0/fulltext).
"""

from collections.abc import Sequence
from typing import NamedTuple

from willowbark.tools.appraisal import Level
from willowbark.tools.appraisal.suitability import NOT_CHECKED, people_of
from willowbark.tools.questions import speaks_of
from willowbark.tools.records import Label
from willowbark.tools.records.registry import title_of
from willowbark.tools.wording import capital, counted, listed, short

from .answers import ReportAnswer
from .content import DrugCandidate, SummaryPart
from .material import Material
from .texts import write_line

SUMMARY_LIMIT = 1000  # characters of the executive summary, by contract
FIRST_SCREEN = 190  # words
LEADERS = 5  # candidates with their best estimates; down to three if space is short
CONFIDENCE = {"high": 0.9, "moderate": 0.7, "low": 0.45, "very_low": 0.2}
"""Confidence in the answer by the best candidate's certainty; our convention, given in the methods."""
CONFIDENCE_LOST = 0.1  # for each source that never answered
ADVICE = "This is not medical advice."
_FAILED = "Failed or harmful"
_KEPT = (_FAILED, "Cautions", "Read", "Missing")
LEVELS: tuple[Level, ...] = ("high", "moderate", "low", "very low")


def first_screen(
    material: Material, candidates: Sequence[DrugCandidate], answered: ReportAnswer | None = None
) -> list[SummaryPart]:
    """Write the first screen: answer, leading drugs, failures, harms, gaps, records read; at most 200 words.

    Args:
        material: the report's input.
        candidates: the report's candidates, best supported first.
        answered: the answer to a question other than what helps; None for what helps.
    """
    helps = answered is None or material.asked.asks_openly
    answer = [short(sentence, 750) for sentence in answered.sentences] if answered else []
    if helps:
        answer.insert(len(answer) if material.asked.kind == "other" else 0, _answer(material, candidates))
    if material.unread and (candidates or answered):
        answer.insert(0, write_line("summary", "stopped", m=material))
    after = [
        SummaryPart(label="Missing", text=_missing(material, candidates, helps)),
        SummaryPart(label="Read", text=write_line("summary", "read", m=material)),
        SummaryPart(text=ADVICE),
    ]
    leaders = list[SummaryPart]()
    if helps:
        leaders = _leaders(material, candidates)
        told_above = {"negative", "harm"} & {*material.asked.also}
        after = [*([] if told_above else _failures(candidates)), *_harms(material, candidates), *after]
    after = [part for part in after if part.text]
    for most in range(LEADERS, -1 if answered else 2, -1):  # what was asked for comes before estimates
        parts = [SummaryPart(text=" ".join(answer)), *leaders[:most], *after]
        if _words(parts) <= FIRST_SCREEN:
            break
    while _words(parts) > FIRST_SCREEN and len(answer) > 1:
        answer.pop()
        parts[0] = SummaryPart(text=" ".join(answer))
    return parts


def in_short(parts: Sequence[SummaryPart]) -> str:
    """Shorten the first screen to 100 to 1000 characters: the answer, as many parts as fit, the advice.

    Failures, harms and gaps take precedence over estimates for single drugs.
    """
    first, *between, last = parts
    kept = [short(first.line, SUMMARY_LIMIT - len(last.line) - 1)]
    room, lines = SUMMARY_LIMIT - len(kept[0]) - len(last.line) - 1, list[str]()
    for part in sorted(between, key=lambda part: _KEPT.index(part.label) if part.label in _KEPT else len(_KEPT)):
        if len(part.line) < room:
            lines.append(part.line)
            room -= len(part.line) + 1
    return " ".join([*kept, *(part.line for part in between if part.line in lines), last.line])


def _words(parts: Sequence[SummaryPart]) -> int:
    return sum(len(part.line.split()) for part in parts)


def _answer(material: Material, candidates: Sequence[DrugCandidate]) -> str:
    """Answer what helps, by certainty: drugs asked about, repurposing candidates, then approved or standard ones."""
    asked = material.asked
    by_name = [c for c in candidates if c.name in asked.drugs]
    outside = [c for c in candidates if c not in by_name and c.in_asked_class is False]
    barred = [c for c in candidates if c not in by_name and c.is_barred and _is_supported(c)]
    withdrawn = [c for c in barred if "withdrawn" in c.marks]
    unsuited = [c for c in barred if c not in withdrawn]
    others = [c for c in candidates if c not in by_name and c not in outside and c not in barred]
    known = {*(c.name for c in by_name), *(c.drug for c in material.aside)}
    established = [c for c in others if c.group == "established"]
    not_in_people = {c.drug for c in material.shown if c.is_preclinical}
    preclinical = [c for c in others if c.name in not_in_people and c not in established and _is_supported(c)]
    beside = [f"{_display_name(c)} ({c.certainty} certainty)" for c in outside if _is_supported(c)]
    data = {
        "m": material,
        "aim": f"{'to prevent' if asked.is_preventive else 'in'} {short(material.topic)}",
        "none_supported": bool(candidates) and not any(map(_is_supported, candidates)),
        "asked": _by_level(by_name),
        "unsupported": [c for c in by_name if not _is_supported(c)],
        "unanswered": [short(drug) for drug in asked.drugs if drug not in known],
        "empty": not candidates,
        "class_missing": bool(candidates and asked.drug_classes) and not others,
        "others": _by_level([c for c in others if c not in established and c not in preclinical]),
        "preclinical": listed(list(map(_display_name, preclinical)), most=4),
        "established": _by_level(established),
        "outside": listed(beside, most=3),
        "unsuited": listed([f"{short(c.name)} ({c.certainty} certainty)" for c in unsuited]),
        "unsuited_for": listed(people_of(asked)),
        "unlabelled": listed(people_of(asked)) if candidates and not _has_labels(material) else "",
        "both": listed(asked.conditions) if asked.is_both else "",
        "withdrawn": listed([f"{short(c.name)} ({c.certainty} certainty)" for c in withdrawn]),
    }
    return write_line("summary", "answer", a=data)


def _has_labels(material: Material) -> bool:
    return any(isinstance(record.record, Label) for record in material.pool)


def _by_level(candidates: Sequence[DrugCandidate]) -> list[tuple[Level, list[str]]]:
    levels = [
        (level, [_display_name(c) for c in candidates if _is_supported(c) and c.certainty == level]) for level in LEVELS
    ]
    return [(level, names) for level, names in levels if names]


def _display_name(candidate: DrugCandidate) -> str:
    """Return a drug's name, marked if it was withdrawn, is contraindicated, or was only studied for prevention."""
    told = [mark for mark in candidate.marks if not mark.startswith(NOT_CHECKED.lower())]
    marks = [*["for prevention"] * candidate.for_prevention, *told]
    return f"{short(candidate.name)}{f' ({listed(marks)})' if marks else ''}"


def _is_supported(candidate: DrugCandidate) -> bool:
    return bool(candidate.supporting_citations) and candidate.evidence_quality != "refuted"


def _leaders(material: Material, candidates: Sequence[DrugCandidate]) -> list[SummaryPart]:
    """Give best estimates of supported drugs: those asked about, repurposing candidates, then approved ones."""
    names = material.asked.drugs
    supported = [c for c in candidates if _is_supported(c) and (c.name in names or not c.is_barred)]
    ordered = sorted(supported, key=lambda c: (c.name not in names, c.group == "established"))
    return [
        SummaryPart(
            label=capital(_display_name(each)), text=f"{each.certainty} certainty; {best.line}.", citations=[best.key]
        )
        for each in ordered
        if (best := each.best_estimate)
    ]


def _failures(candidates: Sequence[DrugCandidate]) -> list[SummaryPart]:
    """Name drugs contradicted by studies, refuted ones first."""
    failed = sorted(
        (c for c in candidates if c.contradicting_citations),
        key=lambda c: (c.evidence_quality != "refuted", len(c.supporting_citations) - len(c.contradicting_citations)),
    )
    tallies = [
        f"{short(c.name)} ({'refuted, ' * (c.evidence_quality == 'refuted')}"
        f"{len(c.contradicting_citations)} contradicting, {len(c.supporting_citations)} supporting)"
        for c in failed
    ]
    none = "no study found contradicts these drugs." if any(map(_is_supported, candidates)) else ""
    text = f"{listed(tallies, most=4)}." if failed else none
    return [SummaryPart(label=_FAILED, text=text, citations=[c.contradicting_citations[0] for c in failed[:4]])]


def _harms(material: Material, candidates: Sequence[DrugCandidate]) -> list[SummaryPart]:
    """Name cautions by kind, each with its drugs, harms in studies last."""
    harmful = {
        c.drug
        for c in material.shown
        for each in c.records
        if each.harm_told or (each.key in c.appraisal.contradicting and each.item.why_stopped_kind == "safety")
    }
    kinds = dict[str, list[str]]()
    for candidate in candidates:
        for mark in (*candidate.marks, *["harm in studies"] * (candidate.name in harmful)):
            kinds.setdefault(mark, []).append(short(candidate.name))
    said = "; ".join(f"{mark}: {listed(names, most=4)}" for mark, names in kinds.items())
    return [SummaryPart(label="Cautions", text=f"{said}." if said else "")]


def _missing(material: Material, candidates: Sequence[DrugCandidate], helps: bool) -> str:
    named = {c.name for c in candidates}
    others = [c for c in material.candidates if helps and c.drug not in named]
    decided = sum(bool(c.appraisal.telling) for c in others)
    behind = dict.fromkeys(key for each in candidates for key in each.supporting_citations)
    studied = list[str]()
    for who in material.asked.people if behind and helps else ():
        naming, of = (
            sum(speaks_of(material.records[key].content, who) for key in behind),
            counted(len(behind), "supporting study"),
        )
        studied.append(f"{naming or 'none'} of {of} {'mentions' if naming < 2 else 'mention'} {who}")
    return write_line(
        "summary",
        "missing",
        m=material,
        silent=listed(list(map(title_of, material.silent_sources))),
        more=decided,
        unread=len(others) - decided,
        people=studied,
        has_candidates=bool(candidates),
        helps=helps,
    )


class Confidence(NamedTuple):
    """The confidence in an answer, 0 to 1, and why it is so."""

    score: float
    reason: str
    """Continues "since"."""


def rate_confidence(material: Material, answered: ReportAnswer | None = None) -> Confidence:
    """Rate the confidence in the answer: the judging model's, or from the best certainty and silent sources.

    If the question names drugs or a class, other drugs do not count.
    """
    named = material.asked.drugs
    answering = [c for c in material.shown if c.in_asked_class is not False and (not named or c.drug in named)]
    if material.by_model and material.assessments and (answering or answered):
        judged = material.assessments[-1]
        return Confidence(judged.confidence, write_line("summary", "judged_confidence", d=judged.details))
    levels = {c.drug: c.appraisal.certainty.level for c in answering}
    best = max((CONFIDENCE[level.value] for level in levels.values()), default=0.0)
    leading = [drug for drug, level in levels.items() if CONFIDENCE[level.value] == best]
    by_source = answered.confidence if answered else None
    if by_source is not None:
        best = by_source
    reason = write_line(
        "summary",
        "confidence",
        best=best,
        by_source=by_source is not None,
        level=levels[leading[0]].said if leading else "",
        leading=listed(leading),
        silent=listed(list(map(title_of, material.silent_sources))),
    )
    return Confidence(round(max(0.0, best - CONFIDENCE_LOST * len(material.silent_sources)), 2), reason)
