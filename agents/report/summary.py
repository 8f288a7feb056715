"""Title, summary and conclusion of a report: the answer, why, what is against it, what is not known.

Certainty is put as GRADE has it: a drug does, probably does or may help, or the evidence is very uncertain
(GRADE guidelines 26, J Clin Epidemiol 2020;119:126-135, https://www.jclinepi.com/article/S0895-4356(19)30416-0/fulltext).
"""

from collections.abc import Iterator, Sequence

from willowbark.tools.appraisal import Direction, Level
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.lexicon import withdrawn
from willowbark.tools.questions.question import speaks_of
from willowbark.tools.reading.design import RANDOMISED
from willowbark.tools.registry import title_of
from willowbark.tools.wording import capital, counted, listed, short, tally

from ..assessment import sources_breakdown
from .answers import Answer
from .content import DrugCandidate, SummaryPart
from .material import Material, designs_in_words

SUMMARY_LIMIT = 1000  # characters, by contract
CONFIDENCE = {"high": 0.9, "moderate": 0.7, "low": 0.45, "very_low": 0.2}
"""Confidence in the answer by the best candidate's certainty; our convention, stated in the methodology."""
CONFIDENCE_LOST = 0.1  # for each source that did not answer at all
ROOM = 250  # of these for what was read and the advice
_UNSURE = "what was read of it is too uncertain to count"
ADVICE = "This is no medical advice."
LEVELS: tuple[Level, ...] = ("high", "moderate", "low", "very low")


def title(material: Material) -> str:
    """The report's title; the question itself where no condition is known in it."""
    if not material.asked.conditions:
        return f"What the evidence says: {short(material.dossier.question, 300)}"
    if material.asked.kind not in ("treat", "prevent", "other"):
        return short(material.dossier.question, 300)
    drugs = capital(listed(material.asked.drug_classes)) or "Existing drugs"
    who = listed(list(material.asked.people))
    return f"{short(drugs)} {material.purpose}{f' in {who}' if who else ''}: what the evidence says"


def executive_summary(
    material: Material,
    shown: Sequence[Candidate],
    candidates: Sequence[DrugCandidate],
    answered: Answer | None = None,
) -> list[SummaryPart]:
    """The answer first, then why, what is against, what is not known, and what was read; 100 to 1000 characters.

    Args:
        material: what the report is made of.
        shown: the candidates of the report as they were appraised.
        candidates: the same as the report shows them.
        answered: the answer to a question that does not ask what helps; None for one that does.
    """
    helps = answered is None or material.asked.kind == "other"
    told = [("", sentence) for sentence in _fitting(answered)]
    if helps:
        told += [("", sentence) for sentence in answer(material, candidates)]
    if candidates and helps:
        told += [
            *(("Why", why) for why in _why(material, shown)),
            *(("Against", line) for line in _against(material, candidates)),
        ]
        told += [("", _aside(material).strip())] if material.aside else []
    told += [
        *(("Not known", line) for line in _unknown(material, candidates, helps)),
        ("Read", _read(material)),
        ("", ADVICE),
    ]
    kept = [SummaryPart(label=label, text=text) for label, text in told]
    while len(" ".join(part.line for part in kept)) > SUMMARY_LIMIT:  # the answer and the advice stay; the last goes
        del kept[-2]
    return _joined(kept)


def _fitting(answered: Answer | None) -> Iterator[str]:
    """The sentences of an answer that the summary has room for: the first always, the others while they fit."""
    left = SUMMARY_LIMIT - ROOM
    for place, sentence in enumerate(answered.sentences if answered else ()):
        left -= len(sentence) + 1
        if left < 0 and place:
            return
        yield short(sentence, SUMMARY_LIMIT - ROOM)


def _joined(parts: Sequence[SummaryPart]) -> list[SummaryPart]:
    """Sentences without a label go on from the part before, as the answer's do."""
    found: list[SummaryPart] = []
    for part in parts:
        if found and not part.label:
            found[-1] = SummaryPart(label=found[-1].label, text=f"{found[-1].text} {part.text}")
        else:
            found.append(part)
    return found


def answer(material: Material, candidates: Sequence[DrugCandidate]) -> Iterator[str]:
    """The answer, a sentence each.

    Args:
        material: what the report is made of.
        candidates: those of the report, best supported first.
    """
    by_name = [c for c in candidates if c.name in material.asked.drugs]
    outside = [c for c in candidates if c not in by_name and c.in_asked_class is False]
    others = [c for c in candidates if c not in by_name and c not in outside]
    aim = "to prevent" if material.asked.intent == "prevention" else "in"
    sentences = [*_asked_by_name(by_name, material, f" {aim} {short(material.topic)}")]
    if not candidates:
        yield from [*sentences, _nothing(material)]
        return
    classes = listed(material.asked.drug_classes)
    if material.asked.drug_classes and not others:
        sentences.append(f"On {short(classes)}, asked about as a class, nothing could be verified.")
    if not any(map(_is_supported, candidates)):
        sentences.insert(0, f"No existing drug is supported {short(material.purpose)}.")
    named = any(map(_is_supported, by_name))
    sentences += _by_level(others, "" if named else f" {aim} {short(material.topic)}")
    if refuted := [c for c in others if c.evidence_quality == "refuted"]:
        sentences.append(f"The evidence speaks against {listed([_tally(c) for c in refuted], most=3)}.")
    if beside := [f"{_named(c)} ({c.certainty} certainty)" for c in outside if _is_supported(c)]:
        sentences.append(f"Also found, not known to be {short(classes)}: {listed(beside, most=3)}.")
    yield from sentences


def held_back(material: Material) -> str:
    """How many candidates the report does not deal with by decision, and whose decision that was."""
    were = "was" if len(material.aside) == 1 else "were"
    number = counted(len(material.aside), "candidate")
    return f"{number} {were} set aside by {material.approval.who} before the report was written"


def _nothing(material: Material) -> str:
    if material.aside:
        return f"No answer: {held_back(material)}, so it names no candidate {short(material.purpose)}."
    if not material.dossier.answered and material.reason == "sources_unreachable":
        return f"No answer: {material.ending}, so nothing was looked up on drugs {short(material.purpose)}."
    return (
        f"No answer: no existing drug was found with verifiable evidence {short(material.purpose)}, so the report "
        "names no candidate. That is no evidence that none works."
    )


def _asked_by_name(found: Sequence[DrugCandidate], material: Material, what: str) -> Iterator[str]:
    yield from _by_level(found, what)
    if refuted := [c for c in found if c.evidence_quality == "refuted"]:
        yield f"The evidence speaks against {listed([_tally(c) for c in refuted])}."
    for each in found:
        if not each.supporting_citations and each.evidence_quality != "refuted":
            against = counted(len(each.contradicting_citations), "record")
            why = f"{against} against, too little to refute it" if each.contradicting_citations else _UNSURE
            yield f"Nothing found supports {short(each.name)}{what}: {why}."
    known = {*(c.name for c in found), *(c.drug for c in material.aside)}
    if unanswered := [short(drug) for drug in material.asked.drugs if drug not in known]:
        yield f"On {listed(unanswered)}, asked about by name, nothing could be verified."


def _by_level(candidates: Sequence[DrugCandidate], what: str) -> Iterator[str]:
    """One sentence a level of certainty, the highest first; only the first says what for."""
    for level in LEVELS:
        if names := [_named(c) for c in candidates if _is_supported(c) and c.certainty == level]:
            yield _sentence(names, level, what)
            what = ""


def _tally(candidate: DrugCandidate) -> str:
    return tally(candidate.name, candidate.supporting_citations, candidate.contradicting_citations)


def _named(candidate: DrugCandidate) -> str:
    """A drug's name, and that it was taken off a market: nobody should miss that."""
    return f"{short(candidate.name)}{' (withdrawn)' if withdrawn(candidate.name) else ''}"


def _is_supported(candidate: DrugCandidate) -> bool:
    return bool(candidate.supporting_citations) and candidate.evidence_quality != "refuted"


def _sentence(names: Sequence[str], level: str, what: str) -> str:
    drugs, help_ = listed(names), "help" if len(names) > 1 else "helps"
    said = {
        "high": f"{drugs} {help_}{what}",
        "moderate": f"{drugs} probably {help_}{what}",
        "low": f"{drugs} may help{what}",
        "very low": f"Whether {drugs} {help_}{what} is very uncertain",
    }[level]
    return f"{capital(said)} ({level} certainty)."


def conclusion(material: Material, candidates: Sequence[DrugCandidate], answered: Answer | None = None) -> str:
    """What follows from it all, in at most three sentences."""
    if answered and material.asked.kind != "other":
        return answered.sentences[0]
    if not candidates and material.aside:
        return f"No conclusion: {held_back(material)}. The evidence on them was not put together."
    if not candidates:
        retry = " Without --offline or --library the public sources are searched." if material.library else ""
        return (
            f"The records found hold no verifiable evidence on an existing drug {material.purpose}. That does not show "
            f"that none works.{retry}"
        )
    best = candidates[0]
    classes = listed(material.asked.drug_classes)
    if best.in_asked_class is False:
        found = listed([_named(c) for c in candidates if c.supporting_citations], most=3)
        return (
            f"The records found hold no verifiable evidence on {short(classes)} {material.purpose}. Other drugs found "
            f"beside them: {found}.{_aside(material)}"
        )
    if not best.supporting_citations:
        which = "accepted" if material.aside else "found here"
        rest = "what was tested speaks against it" if best.contradicting_citations else _UNSURE
        return f"No drug {which} is supported {material.purpose}; {rest}.{_aside(material)}"
    asked = [c for c in candidates[1:] if c.in_asked_class is not False]
    others = [_named(c) for c in asked if c.evidence_quality != "refuted" and c.supporting_citations]
    then = f" Next: {listed(others, most=3)}." if others else ""
    weak = "" if best.evidence_quality in ("strong", "moderate") else " No drug found here is well supported."
    looked_at = f"the {short(classes) or 'existing drugs'} looked at {material.purpose}"
    return (
        f"Of {looked_at}, {_named(best)} is best supported: {best.certainty} "
        f"certainty, {counted(len(best.supporting_citations), 'record')} for and {len(best.contradicting_citations)} "
        f"against; status: {_uncapped(best.clinical_status)}.{then}{weak}{_aside(material)}"
    )


def confidence(material: Material, shown: Sequence[Candidate], answered: Answer | None = None) -> float:
    """Confidence in the answer, 0 to 1: the best candidate's certainty, less what silent sources cost.

    Where the question names drugs or a class, others answer it as little as none.
    """
    named = material.asked.drugs
    answering = [c for c in shown if c.in_asked_class is not False and (not named or c.drug in named)]
    levels = [c.appraisal.certainty.level.value for c in answering]
    best = max((CONFIDENCE[level] for level in levels), default=0.0)
    if answered and answered.confidence is not None:
        best = answered.confidence
    silent = {reply.source for reply in material.dossier.replies} - set(material.dossier.answered)
    return round(max(0.0, best - CONFIDENCE_LOST * len(silent)), 2)


def _why(material: Material, shown: Sequence[Candidate]) -> Iterator[str]:
    """What the best candidate rests on, or the best of those asked about by name."""
    best = next((c for c in shown if c.drug in material.asked.drugs and c.appraisal.supporting), shown[0])
    items = [record.item for record in best.records if record.key in best.appraisal.supporting]
    if not items:
        return
    randomised = [item.sample_size for item in items if item.design in RANDOMISED and item.sample_size is not None]
    sizes = randomised or [item.sample_size for item in items if item.sample_size is not None]
    which = "largest randomised trial" if 0 < len(randomised) < len(items) else "largest"
    largest = f", the {which} with {max(sizes):,} participants" if len(items) > 1 and sizes else ""
    single = f" with {sizes[0]:,} participants" if len(items) == 1 and sizes else ""
    yield f"{short(best.drug)} rests on {designs_in_words(i.design for i in items)}{largest}{single}."


def _against(material: Material, candidates: Sequence[DrugCandidate]) -> Iterator[str]:
    opposed = [c for c in candidates if c.contradicting_citations and c.evidence_quality != "refuted"]
    if opposed:
        told = [f"{short(c.name)} ({len(c.contradicting_citations)})" for c in opposed]
        yield f"records on {listed(told)}."
    elif all(c.evidence_quality != "refuted" for c in candidates):
        shown = {c.name for c in candidates}
        sides = [c.appraisal.leaning.values() for c in material.candidates if c.drug in shown]
        if doubted := sum(Direction.contradicts in each for each in sides):
            yield f"none surely; what may speak against {counted(doubted, 'drug')} is too unsure to count."
        else:
            yield "no record was read as speaking against these drugs."


def _unknown(material: Material, candidates: Sequence[DrugCandidate], helps: bool) -> Iterator[str]:
    silent = sorted({reply.source for reply in material.dossier.replies} - set(material.dossier.answered))
    parts = [f"{listed(list(map(title_of, silent)))} did not answer"] if silent else []
    named = {c.name for c in candidates}
    others = [c for c in material.candidates if helps and c.drug not in named]
    decided = [c for c in others if c.appraisal.supporting or c.appraisal.contradicting]
    others = [c for c in others if c not in decided]
    if beyond := len(decided):
        parts.append(f"{counted(beyond, 'further drug')} with a verdict {_are(beyond)} named further below")
    if uncertain := sum(bool(c.appraisal.leaning) for c in others):
        parts.append(f"{counted(uncertain, 'further drug')} {_are(uncertain)} spoken of too uncertainly to count")
    if unread := len(others) - uncertain:
        parts.append(f"{counted(unread, 'further drug')} {_are(unread)} named without a result that could be read")
    behind = dict.fromkeys(key for each in candidates if helps for key in each.supporting_citations)
    for who in material.asked.people if behind else ():
        naming = sum(speaks_of(material.records[key].content, who) for key in behind)
        parts.append(f"{naming or 'none'} of {counted(len(behind), 'record')} in support {_speak(naming)} of {who}")
    if helps and candidates:
        parts.append("harms and doses were not weighed")
    if parts:
        yield f"{'; '.join(parts)}."


def _speak(number: int) -> str:
    return "speaks" if number < 2 else "speak"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _read(material: Material) -> str:
    counts = sources_breakdown(material.pool)
    publications = counts["peer_reviewed"] + counts["preprints"]
    where = "a local library" if material.library else "public sources"
    if not publications and not counts["clinical_trials"]:
        return f"no publication or trial was found in {where}; the search ended because {material.ending}."
    return (
        f"{counted(publications, 'publication')} and {counted(counts['clinical_trials'], 'registered trial')} "
        f"from {where}{', not from public sources' if material.library else ''}; "
        f"the search ended because {material.ending}."
    )


def _aside(material: Material) -> str:
    """A sentence on the candidates that the report does not deal with; empty where there are none."""
    return f" {held_back(material)}." if material.aside else ""


def _uncapped(text: str) -> str:
    return text[:1].lower() + text[1:]
