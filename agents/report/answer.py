"""The first sentences of a summary: which drugs help, and how sure that is; those asked about by name or class first.

Certainty is put as GRADE has it: a drug does, probably does or may help, or the evidence is very uncertain
(GRADE guidelines 26, J Clin Epidemiol 2020;119:126-135, https://www.jclinepi.com/article/S0895-4356(19)30416-0/fulltext).
"""

from collections.abc import Iterator, Sequence

from .material import Material
from .model import DrugCandidate
from .wording import capital, counted, listed, short

LEVELS = ("high", "moderate", "low", "very low")


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
    if beside := [f"{short(c.name)} ({c.certainty} certainty)" for c in outside if _is_supported(c)]:
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
            yield f"Nothing found supports {short(each.name)}{what}: {against} against, too little to refute it."
    known = {*(c.name for c in found), *(c.drug for c in material.aside)}
    if unanswered := [short(drug) for drug in material.asked.drugs if drug not in known]:
        yield f"On {listed(unanswered)}, asked about by name, nothing could be verified."


def _by_level(candidates: Sequence[DrugCandidate], what: str) -> Iterator[str]:
    """One sentence a level of certainty, the highest first; only the first says what for."""
    for level in LEVELS:
        if names := [short(c.name) for c in candidates if _is_supported(c) and c.certainty == level]:
            yield _sentence(names, level, what)
            what = ""


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


def _tally(candidate: DrugCandidate) -> str:
    against, support = len(candidate.contradicting_citations), len(candidate.supporting_citations)
    return f"{short(candidate.name)} ({against} against, {support} for)"
