"""Title, summary and conclusion of a report: the answer, why, what is against it, what is not known."""

from collections.abc import Iterator, Sequence

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import SOURCE_TITLES

from ..judge import sources_breakdown
from .answer import answer, held_back
from .material import Material
from .model import DrugCandidate
from .wording import capital, counted, designs_in_words, listed, short

SUMMARY_LIMIT = 1000  # characters, by contract
CONFIDENCE = {"high": 0.9, "moderate": 0.7, "low": 0.45, "very_low": 0.2}
"""Confidence in the answer by the best candidate's certainty; our convention, stated in the methodology."""
CONFIDENCE_LOST = 0.1  # for each source that did not answer at all
ADVICE = "This is no medical advice."
LABELS = ("Why", "Against", "Not known", "Read")
"""What the parts of a summary begin with, after the answer."""


def title(material: Material) -> str:
    """The report's title; the question itself where no condition is known in it."""
    if not material.asked.conditions:
        return f"What the evidence says: {short(material.dossier.question, 300)}"
    drugs = capital(listed(material.asked.drug_classes)) or "Existing drugs"
    return f"{short(drugs)} {material.purpose}: what the evidence says"


def executive_summary(material: Material, shown: Sequence[Candidate], candidates: Sequence[DrugCandidate]) -> str:
    """The answer first, then why, what is against, what is not known, and what was read; 100 to 1000 characters.

    Args:
        material: what the report is made of.
        shown: the candidates of the report as they were appraised.
        candidates: the same as the report shows them.
    """
    kept = [*answer(material, candidates)]
    kept += [*_why(material, shown), *_against(candidates)] if candidates else []
    kept += [_aside(material).strip()] if candidates and material.aside else []
    kept += [*_unknown(material, candidates), _read(material), ADVICE]
    while len(" ".join(kept)) > SUMMARY_LIMIT:  # the answer and the advice stay; of the rest the last goes first
        del kept[-2]
    return " ".join(kept)


def conclusion(material: Material, candidates: Sequence[DrugCandidate]) -> str:
    """What follows from it all, in at most three sentences."""
    if not candidates and material.aside:
        return f"No conclusion: {held_back(material)}. The evidence on them was not put together."
    if not candidates:
        retry = " Without --offline the public sources are searched." if material.sandboxed else ""
        return (
            f"The records found hold no verifiable evidence on an existing drug {material.purpose}. That does not show "
            f"that none works.{retry}"
        )
    best = candidates[0]
    classes = listed(material.asked.drug_classes)
    if best.in_asked_class is False:
        return (
            f"The records found hold no verifiable evidence on {short(classes)} {material.purpose}. Other drugs found "
            f"beside them: {listed([c.name for c in candidates if c.supporting_citations], most=3)}.{_aside(material)}"
        )
    if not best.supporting_citations:
        which = "accepted" if material.aside else "found here"
        return f"No drug {which} is supported {material.purpose}; what was tested speaks against it.{_aside(material)}"
    asked = [c for c in candidates[1:] if c.in_asked_class is not False]
    others = [c.name for c in asked if c.evidence_quality != "refuted" and c.supporting_citations]
    then = f" Next: {listed(others, most=3)}." if others else ""
    weak = "" if best.evidence_quality in ("strong", "moderate") else " No drug found here is well supported."
    looked_at = f"the {short(classes) or 'existing drugs'} looked at {material.purpose}"
    return (
        f"Of {looked_at}, {best.name} is best supported: {best.certainty} "
        f"certainty, {counted(len(best.supporting_citations), 'record')} for and {len(best.contradicting_citations)} "
        f"against; status: {_uncapped(best.clinical_status)}.{then}{weak}{_aside(material)}"
    )


def confidence(material: Material, shown: Sequence[Candidate]) -> float:
    """Confidence in the answer, 0 to 1: the best candidate's certainty, less what silent sources cost.

    Drugs outside a class that the question names answer it as little as none.
    """
    levels = [c.appraisal.certainty.level.value for c in shown if c.in_asked_class is not False]
    if not levels:
        return 0.0
    best = max(CONFIDENCE[level] for level in levels)
    silent = {reply.source for reply in material.dossier.replies} - set(material.dossier.answered)
    return round(max(0.0, best - CONFIDENCE_LOST * len(silent)), 2)


def _why(material: Material, shown: Sequence[Candidate]) -> Iterator[str]:
    """What the best candidate rests on, or the best of those asked about by name."""
    best = next((c for c in shown if c.drug in material.asked.drugs and c.appraisal.supporting), shown[0])
    items = [record.item for record in best.records if record.key in best.appraisal.supporting]
    if not items:
        return
    sizes = [item.sample_size for item in items if item.sample_size is not None]
    largest = f", the largest with {max(sizes):,} participants" if len(items) > 1 and sizes else ""
    single = f" with {sizes[0]:,} participants" if len(items) == 1 and sizes else ""
    yield f"Why: {short(best.drug)} rests on {designs_in_words(i.design for i in items)}{largest}{single}."


def _against(candidates: Sequence[DrugCandidate]) -> Iterator[str]:
    opposed = [c for c in candidates if c.contradicting_citations and c.evidence_quality != "refuted"]
    if opposed:
        told = [f"{short(c.name)} ({len(c.contradicting_citations)})" for c in opposed]
        yield f"Against: records on {listed(told)}."
    elif all(c.evidence_quality != "refuted" for c in candidates):
        yield "Against: no record was read as speaking against these drugs."


def _unknown(material: Material, candidates: Sequence[DrugCandidate]) -> Iterator[str]:
    silent = sorted({reply.source for reply in material.dossier.replies} - set(material.dossier.answered))
    parts = [f"{listed([SOURCE_TITLES.get(name, name) for name in silent])} did not answer"] if silent else []
    named = {c.name for c in candidates}
    if others := sum(c.drug not in named for c in material.candidates):
        are = "is" if others == 1 else "are"
        parts.append(f"{counted(others, 'further drug')} {are} named without a result that could be read")
    if candidates:
        parts.append("harms and doses were not weighed")
    if parts:
        yield f"Not known: {'; '.join(parts)}."


def _read(material: Material) -> str:
    counts = sources_breakdown(material.pool)
    publications = counts["peer_reviewed"] + counts["preprints"]
    where = "Willowbark's bundled library" if material.sandboxed else "public sources"
    if not publications and not counts["clinical_trials"]:
        return f"Read: no publication or trial was found in {where}; the search ended because {material.ending}."
    return (
        f"Read: {counted(publications, 'publication')} and {counted(counts['clinical_trials'], 'registered trial')} "
        f"from {where}; the search ended because {material.ending}."
    )


def _aside(material: Material) -> str:
    """A sentence on the candidates that the report does not deal with; empty where there are none."""
    return f" {held_back(material)}." if material.aside else ""


def _uncapped(text: str) -> str:
    return text[:1].lower() + text[1:]
