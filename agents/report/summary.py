"""Title, summary and conclusion of a report: the answer, why, what contradicts it, what is not known.

Certainty is put as GRADE has it: a drug does, probably does or may help, or the evidence is very uncertain
(GRADE guidelines 26, J Clin Epidemiol 2020;119:126-135, https://www.jclinepi.com/article/S0895-4356(19)30416-0/fulltext).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from willowbark.tools.appraisal import Level
from willowbark.tools.lexicon import withdrawal_of
from willowbark.tools.questions.question import speaks_of
from willowbark.tools.reading.design import RANDOMISED
from willowbark.tools.registry import title_of
from willowbark.tools.wording import capital, listed, short

from .answers import Answer
from .content import DrugCandidate, SummaryPart
from .material import Material, designs_in_words
from .texts import write_line

SUMMARY_LIMIT = 1000  # characters, by contract
CONFIDENCE = {"high": 0.9, "moderate": 0.7, "low": 0.45, "very_low": 0.2}
"""Confidence in the answer by the best candidate's certainty; our convention, stated in the methodology."""
CONFIDENCE_LOST = 0.1  # for each source that did not answer at all
ROOM = 250  # characters of the summary for what was read and the advice
ADVICE = "This is not medical advice."
LEVELS: tuple[Level, ...] = ("high", "moderate", "low", "very low")


def title(material: Material) -> str:
    """The report's title; the question itself where no condition is known in it."""
    if not material.asked.conditions:
        return f"What the evidence says: {short(material.dossier.question, 300)}"
    if material.asked.kind not in ("treat", "prevent", "other"):
        return short(material.dossier.question, 300)
    classes = short(capital(listed(material.asked.drug_classes)))
    return write_line("summary", "title", m=material, drugs=classes, people=list(material.asked.people))


def executive_summary(
    material: Material, candidates: Sequence[DrugCandidate], answered: Answer | None = None
) -> list[SummaryPart]:
    """The answer first, then why, what contradicts it, what is not known, and what was read; 100 to 1000 characters.

    Args:
        material: what the report is made of.
        candidates: those of the report, best supported first.
        answered: the answer to a question that does not ask what helps; None for one that does.
    """
    helps = answered is None or material.asked.kind == "other"
    parts = list[tuple[str, str]]()
    left = SUMMARY_LIMIT - ROOM
    for sentence in answered.sentences if answered else ():
        left -= len(sentence) + 1
        if left < 0 and parts:
            break
        parts.append(("", short(sentence, SUMMARY_LIMIT - ROOM)))
    if helps:
        parts.append(("", write_line("summary", "answer", a=_answer_data(material, candidates))))
    if helps and candidates:
        parts += [("Why", _best_support(material)), ("Against", _contradicting(candidates))]
        if material.aside:
            parts.append(("", f"{_held_back(material)}."))
    publications = material.counts["peer_reviewed"] + material.counts["preprints"]
    trials, offline = material.counts["clinical_trials"], bool(material.library)
    read = write_line(
        "summary", "read", publications=publications, trials=trials, is_offline=offline, ending=material.ending
    )
    parts += [("Not known", _not_known(material, candidates, helps)), ("Read", read), ("", ADVICE)]
    kept = [SummaryPart(label=label, text=text) for label, text in parts if text]
    while len(" ".join(part.line for part in kept)) > SUMMARY_LIMIT and len(kept) > 2:
        del kept[-2]  # the answer and the advice stay
    if len(" ".join(part.line for part in kept)) > SUMMARY_LIMIT:
        kept[0] = SummaryPart(text=short(kept[0].text, SUMMARY_LIMIT - len(ADVICE) - 1))
    joined: list[SummaryPart] = []
    for part in kept:  # a sentence without a label goes on from the part before
        if joined and not part.label:
            joined[-1] = SummaryPart(label=joined[-1].label, text=f"{joined[-1].text} {part.text}")
        else:
            joined.append(part)
    return joined


def _answer_data(material: Material, candidates: Sequence[DrugCandidate]) -> dict[str, Any]:
    """What the answer's sentences are written from."""
    asked = material.asked
    by_name = [c for c in candidates if c.name in asked.drugs]
    outside = [c for c in candidates if c not in by_name and c.in_asked_class is False]
    others = [c for c in candidates if c not in by_name and c not in outside]
    known = {*(c.name for c in by_name), *(c.drug for c in material.aside)}
    beside = [f"{_display_name(c)} ({c.certainty} certainty)" for c in outside if _is_supported(c)]
    return {
        "purpose": material.purpose,
        "aim": f"{'to prevent' if asked.intent == 'prevention' else 'in'} {short(material.topic)}",
        "none_supported": bool(candidates) and not any(map(_is_supported, candidates)),
        "asked": _by_level(by_name),
        "asked_refuted": _tally_refuted(by_name, 4),
        "unsupported": [
            (short(c.name), len(c.contradicting_citations))
            for c in by_name
            if not c.supporting_citations and c.evidence_quality != "refuted"
        ],
        "unanswered": [short(drug) for drug in asked.drugs if drug not in known],
        "empty": not candidates,
        "aside": len(material.aside),
        "who": material.approval.who,
        "unreachable": not material.dossier.answered and material.reason == "sources_unreachable",
        "ending": material.ending,
        "classes": listed(asked.drug_classes),
        "class_missing": bool(candidates and asked.drug_classes) and not others,
        "others": _by_level(others),
        "refuted": _tally_refuted(others, 3),
        "outside": listed(beside, most=3),
    }


def _by_level(candidates: Sequence[DrugCandidate]) -> list[tuple[Level, list[str]]]:
    levels = [
        (level, [_display_name(c) for c in candidates if _is_supported(c) and c.certainty == level]) for level in LEVELS
    ]
    return [(level, names) for level, names in levels if names]


def _tally_refuted(candidates: Sequence[DrugCandidate], most: int) -> str:
    refuted = [c for c in candidates if c.evidence_quality == "refuted"]
    sides = [(short(c.name), len(c.contradicting_citations), len(c.supporting_citations)) for c in refuted]
    return listed([f"{name} ({against} against, {support} for)" for name, against, support in sides], most=most)


def _display_name(candidate: DrugCandidate) -> str:
    """A drug's name, and that it was withdrawn from a market: nobody should miss that."""
    return f"{short(candidate.name)}{' (withdrawn)' if withdrawal_of(candidate.name) else ''}"


def _is_supported(candidate: DrugCandidate) -> bool:
    return bool(candidate.supporting_citations) and candidate.evidence_quality != "refuted"


def _held_back(material: Material) -> str:
    return write_line("summary", "held_back", number=len(material.aside), who=material.approval.who)


def conclusion(material: Material, candidates: Sequence[DrugCandidate], answered: Answer | None = None) -> str:
    """What follows from it all, in at most three sentences."""
    if answered and material.asked.kind != "other":
        return answered.sentences[0]
    data: dict[str, Any] = {
        "purpose": material.purpose,
        "classes": listed(material.asked.drug_classes),
        "aside": len(material.aside),
        "who": material.approval.who,
        "is_offline": bool(material.library),
    }
    if not candidates:
        case = "all set aside" if material.aside else "nothing"
    else:
        best = candidates[0]
        supported = [c for c in candidates if c.supporting_citations]
        data |= {"against": len(best.contradicting_citations), "support": len(best.supporting_citations)}
        if best.in_asked_class is False:
            case = "class missing"
            data["others"] = listed([_display_name(c) for c in supported], most=3)
        elif not best.supporting_citations:
            case = "unsupported"
        else:
            case = "best"
            others = [c for c in supported[1:] if c.in_asked_class is not False and c.evidence_quality != "refuted"]
            data |= {
                "best": _display_name(best),
                "certainty": best.certainty,
                "status": best.clinical_status[:1].lower() + best.clinical_status[1:],
                "others": listed([_display_name(c) for c in others], most=3),
                "weak": best.evidence_quality not in ("strong", "moderate"),
            }
    return write_line("summary", "conclusion", c={**data, "case": case})


def confidence(material: Material, answered: Answer | None = None) -> float:
    """Confidence in the answer, 0 to 1: the best candidate's certainty, less what silent sources cost.

    Where the question names drugs or a class, others answer it as little as none.
    """
    named = material.asked.drugs
    answering = [c for c in material.shown if c.in_asked_class is not False and (not named or c.drug in named)]
    best = max((CONFIDENCE[c.appraisal.certainty.level.value] for c in answering), default=0.0)
    if answered and answered.confidence is not None:
        best = answered.confidence
    return round(max(0.0, best - CONFIDENCE_LOST * len(material.silent_sources)), 2)


def _best_support(material: Material) -> str:
    """What the best candidate rests on, or the best of those asked about by name."""
    shown = material.shown
    best = next((c for c in shown if c.drug in material.asked.drugs and c.appraisal.supporting), shown[0])
    items = [record.item for record in best.records if record.key in best.appraisal.supporting]
    if not items:
        return ""
    randomised = [item.sample_size for item in items if item.design in RANDOMISED and item.sample_size is not None]
    sizes = randomised or [item.sample_size for item in items if item.sample_size is not None]
    which = "largest randomised trial" if 0 < len(randomised) < len(items) else "largest"
    designs, size = designs_in_words(item.design for item in items), max(sizes, default=0)
    return write_line("summary", "why", drug=best.drug, designs=designs, number=len(items), size=size, which=which)


def _contradicting(candidates: Sequence[DrugCandidate]) -> str:
    opposed = [c for c in candidates if c.contradicting_citations and c.evidence_quality != "refuted"]
    if not opposed and any(c.evidence_quality == "refuted" for c in candidates):
        return ""
    names = listed([f"{short(c.name)} ({len(c.contradicting_citations)})" for c in opposed])
    return write_line("summary", "contradicting", opposed=names)


def _not_known(material: Material, candidates: Sequence[DrugCandidate], helps: bool) -> str:
    named = {c.name for c in candidates}
    others = [c for c in material.candidates if helps and c.drug not in named]
    decided = [c for c in others if c.appraisal.supporting or c.appraisal.contradicting]
    return write_line(
        "summary",
        "unknown",
        silent=listed(list(map(title_of, material.silent_sources))),
        more=len(decided),
        unread=len(others) - len(decided),
        people=list(_people_studied(material, candidates)) if helps else [],
        assessed=helps and bool(candidates),
    )


def _people_studied(material: Material, candidates: Sequence[DrugCandidate]) -> Iterator[str]:
    behind = dict.fromkeys(key for each in candidates for key in each.supporting_citations)
    for who in material.asked.people if behind else ():
        naming = sum(speaks_of(material.records[key].content, who) for key in behind)
        yield write_line("summary", "studied", naming=naming, total=len(behind), who=who)
