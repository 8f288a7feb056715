"""The study design of a record: from its publication types, then its MeSH terms, then its words.

Publication types as PubMed assigns them: https://www.nlm.nih.gov/mesh/pubtypes.html. MeSH headings for designs:
https://meshb.nlm.nih.gov (tree V03, E05.318). Tiers follow the Oxford levels of evidence for treatment questions
(https://www.cebm.ox.ac.uk/resources/levels-of-evidence/ocebm-levels-of-evidence). A preprint is a flag of a record, not
a design.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from . import design_words as say
from .sentences import plain


class StudyDesign(StrEnum):
    """How a study came by its result."""

    systematic_review = "systematic_review"
    """Systematic review or meta-analysis."""
    rct_blinded = "rct_blinded"
    rct_open = "rct_open"
    rct = "rct"
    """Randomised, blinding not reported."""
    controlled_cohort = "controlled_cohort"
    cohort = "cohort"
    """Observation or treatment of one group without a comparison group, or of people at one time."""
    case_control = "case_control"
    case_series = "case_series"
    case_report = "case_report"
    narrative_review = "narrative_review"
    guideline = "guideline"
    editorial = "editorial"
    in_vivo = "in_vivo"
    """In animals."""
    in_vitro = "in_vitro"
    in_silico = "in_silico"
    registry_entry = "registry_entry"
    """A registered or planned trial: a plan, whether or not results are posted."""
    unknown = "unknown"

    @property
    def tier(self) -> int:
        """Rank by the Oxford levels: 1 (strongest) to 5, and 6 for records without data of their own."""
        return _TIERS[self]

    @property
    def label(self) -> str:
        """The design in words."""
        return self.value.replace("_", " ").replace("rct", "RCT")


_TIERS = {
    StudyDesign.systematic_review: 1,
    StudyDesign.rct_blinded: 2,
    StudyDesign.rct_open: 2,
    StudyDesign.rct: 2,
    StudyDesign.controlled_cohort: 3,
    StudyDesign.case_control: 4,
    StudyDesign.cohort: 4,
    StudyDesign.case_series: 4,
    StudyDesign.case_report: 5,
    StudyDesign.in_vivo: 5,
    StudyDesign.in_vitro: 5,
    StudyDesign.in_silico: 5,
    StudyDesign.narrative_review: 6,
    StudyDesign.guideline: 6,
    StudyDesign.editorial: 6,
    StudyDesign.registry_entry: 6,
    StudyDesign.unknown: 6,
}
RANDOMISED: frozenset[StudyDesign] = frozenset({StudyDesign.rct_blinded, StudyDesign.rct_open, StudyDesign.rct})


class DesignFinding(BaseModel):
    """A design with the type, heading or words it was read from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    design: StudyDesign
    reason: str


def classify_design(
    title: str, text: str, publication_types: Sequence[str] = (), mesh_terms: Sequence[str] = ()
) -> DesignFinding:
    """Tell how a study was done, and from what that is known.

    Args:
        title: the record's title.
        text: the abstract, or the full text.
        publication_types: as PubMed gives them; empty where there are none.
        mesh_terms: descriptor names, with or without qualifiers (`Migraine/drug therapy`).

    >>> classify_design("Topiramate", "Patients were randomised, double blind.", ["Randomized Controlled Trial"]).design
    <StudyDesign.rct_blinded: 'rct_blinded'>
    """
    title, text = plain(title), plain(text)
    types = {t.lower().strip() for t in publication_types}
    headings = {m.split("/")[0].lower().strip("* ") for m in mesh_terms}
    return (
        _from_types(title, text, types, headings)
        or _from_mesh(title, text, headings)
        or _from_words(title, text)
        or DesignFinding(design=StudyDesign.unknown, reason="nothing names the design")
    )


def _found(design: StudyDesign, reason: str) -> DesignFinding:
    return DesignFinding(design=design, reason=reason)


def _from_types(title: str, text: str, types: set[str], headings: set[str]) -> DesignFinding | None:
    def named(*names: str) -> str | None:
        return next((f"publication type {name!r}" for name in names if name in types), None)

    if reason := named("clinical trial protocol"):
        return _found(StudyDesign.registry_entry, reason)
    if reason := named("meta-analysis", "systematic review", "network meta-analysis"):
        return _found(StudyDesign.systematic_review, reason)
    if reason := named(
        "randomized controlled trial, veterinary", "clinical trial, veterinary", "observational study, veterinary"
    ):
        return _found(StudyDesign.in_vivo, reason)
    if reason := named("randomized controlled trial", "equivalence trial", "pragmatic clinical trial"):
        return _blinding(title, text, headings, reason)
    if reason := named(
        "practice guideline", "guideline", "consensus development conference", "consensus development conference, nih"
    ):
        return _found(StudyDesign.guideline, reason)
    if reason := named("case reports"):
        several = say.CASE_SERIES.search(f"{title}. {text}")
        return _found(StudyDesign.case_series if several else StudyDesign.case_report, reason)
    if reason := named("review", "scoping review"):
        systematic = say.META_TITLE.search(title) or say.REVIEWED.search(text)
        if systematic:
            return _found(StudyDesign.systematic_review, f"{reason} with {systematic.group()!r}")
        return _found(StudyDesign.narrative_review, reason)
    if reason := named("editorial", "comment", "news", "newspaper article"):
        return _found(StudyDesign.editorial, reason)
    if reason := named("letter") if len(text) < 400 else None:
        return _found(StudyDesign.editorial, reason)
    if any(t.startswith(("clinical trial", "controlled clinical trial", "adaptive clinical trial")) for t in types):
        return _trial(title, text, headings)
    if reason := named(
        "observational study", "comparative study", "multicenter study", "evaluation study", "twin study"
    ):
        return (
            _from_mesh(title, text, headings)
            or _from_words(title, text)
            or (_found(StudyDesign.cohort, reason) if "observational study" in types else None)
        )
    return None


def _trial(title: str, text: str, headings: set[str]) -> DesignFinding:
    reason = "publication type of a clinical trial"
    if (random := _randomised(title, text)) or headings & {"random allocation", "double-blind method"}:
        return _blinding(title, text, headings, f"{reason}, {random or 'MeSH'}")
    compared = not say.SINGLE.search(text) and say.COMPARED.search(f"{title}. {text}")
    return _found(StudyDesign.controlled_cohort if compared else StudyDesign.cohort, f"{reason}, not randomised")


def _blinding(title: str, text: str, headings: set[str], reason: str) -> DesignFinding:
    whole = f"{title}. {text}"
    if blinded := headings & {"double-blind method", "single-blind method"}:
        return _found(StudyDesign.rct_blinded, f"{reason}, MeSH {min(blinded)!r}")
    opened, blind = say.OPEN.search(whole), say.BLINDED.search(whole)
    if opened and (not blind or opened.start() < blind.start()):
        return _found(StudyDesign.rct_open, f"{reason}, {opened.group()!r}")
    if blind:
        return _found(StudyDesign.rct_blinded, f"{reason}, {blind.group()!r}")
    return _found(StudyDesign.rct, reason)


def _from_mesh(title: str, text: str, headings: set[str]) -> DesignFinding | None:
    if say.META_TITLE.search(title):
        return _found(StudyDesign.systematic_review, "title")
    if "animals" in headings and "humans" not in headings:
        return _found(StudyDesign.in_vivo, "MeSH 'animals' without 'humans'")
    for names, design in (
        ({"double-blind method", "single-blind method"}, StudyDesign.rct_blinded),
        ({"case-control studies"}, StudyDesign.case_control),
        (
            {
                "molecular docking simulation",
                "molecular dynamics simulation",
                "computer simulation",
                "network pharmacology",
            },
            StudyDesign.in_silico,
        ),
    ):
        if hit := headings & names:
            return _found(design, f"MeSH {min(hit)!r}")
    if hit := headings & {"random allocation"}:
        return _blinding(title, text, headings, f"MeSH {min(hit)!r}")
    if hit := headings & {
        "cohort studies",
        "prospective studies",
        "retrospective studies",
        "longitudinal studies",
        "cross-sectional studies",
        "follow-up studies",
        "registries",
    }:
        if random := _randomised(title, text):
            return _blinding(title, text, headings, random)
        if series := say.CASE_SERIES.search(title):
            return _found(StudyDesign.case_series, series.group())
        compared = not say.SINGLE.search(text) and say.COMPARED.search(f"{title}. {text}")
        return _found(StudyDesign.controlled_cohort if compared else StudyDesign.cohort, f"MeSH {min(hit)!r}")
    if any(
        h.startswith(("cell line", "cells, cultured", "tumor cells, cultured", "in vitro techniques", "hela cells"))
        for h in headings
    ) and not say.HUMANS.search(text):
        return _found(StudyDesign.in_vitro, "MeSH heading for cells")
    return None


def _randomised(title: str, text: str) -> str | None:
    whole = say.NOT_RANDOM.sub(" ", f"{title}. {text}")
    match = say.RANDOM.search(whole) or say.TRIAL_BLIND.search(whole)
    return match.group() if match else None


def _from_words(title: str, text: str) -> DesignFinding | None:
    whole = f"{title}. {text}"
    for pattern, place, design in (
        (say.PROTOCOL, title, StudyDesign.registry_entry),
        (say.META_TITLE, title, StudyDesign.systematic_review),
        (say.EDITORIAL, title, StudyDesign.editorial),
        (say.GUIDE, title, StudyDesign.guideline),
        (say.CASE_SERIES, title, StudyDesign.case_series),
        (say.CASE_REPORT, title, StudyDesign.case_report),
        (say.REVIEWED, text, StudyDesign.systematic_review),
    ):
        if match := pattern.search(place):
            return _found(design, match.group())
    return _preclinical(title, text) or _clinical(title, text, whole)


def _preclinical(title: str, text: str) -> DesignFinding | None:
    whole = f"{title}. {text}"
    animals, people, cells = say.ANIMALS.findall(whole), say.HUMANS.findall(whole), say.CELLS.findall(whole)
    computed = say.COMPUTED.search(title) or (
        say.COMPUTED.search(text) if len(say.COMPUTED.findall(text)) > 1 else None
    )
    if computed and len(animals) + len(cells) < 4:
        return _found(StudyDesign.in_silico, computed.group())
    if animals and len(animals) > len(people) and (len(animals) >= len(cells) or say.ANIMALS.search(title)):
        return _found(StudyDesign.in_vivo, animals[0])
    if cells and len(cells) > len(people):
        return _found(StudyDesign.in_vitro, cells[0])
    return None


def _clinical(title: str, text: str, whole: str) -> DesignFinding | None:
    reviewing = say.REVIEW_TITLE.search(title) or say.REVIEW_TEXT.search(text)
    random = _randomised(title, text)
    if (
        reviewing
        and not (random and say.RANDOM.search(title))
        and not re.search(r"\b(?:we|were|was) (?:enrolled|recruited|randomi[sz]ed|randomly)", text)
    ):
        return _found(StudyDesign.narrative_review, reviewing.group())
    if random:
        return _blinding(title, text, set(), random)
    for pattern, design in (
        (say.CASE_CONTROL, StudyDesign.case_control),
        (say.CASE_SERIES, StudyDesign.case_series),
        (say.CASE_REPORT, StudyDesign.case_report),
    ):
        if match := pattern.search(whole):
            return _found(design, match.group())
    if observed := say.OBSERVED.search(whole):
        compared = not say.SINGLE.search(whole) and say.COMPARED.search(whole)
        return _found(StudyDesign.controlled_cohort if compared else StudyDesign.cohort, observed.group())
    return None
