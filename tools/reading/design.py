"""Study designs that the report distinguishes, and whether a record uses a drug for prevention or relief."""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from ..lexicon.matching import cue_regex
from .document import Document
from .reading import Design
from .text import plain, says


class StudyDesign(StrEnum):
    """Design of a study; a preprint is a flag of a record, not a design."""

    systematic_review = "systematic_review"
    """Systematic review or meta-analysis."""
    rct_blinded = "rct_blinded"
    rct_open = "rct_open"
    rct = "rct"
    """Randomised, blinding not reported."""
    cohort = "cohort"
    """With or without a comparison group, or a cross-sectional study."""
    case_control = "case_control"
    case_series = "case_series"
    case_report = "case_report"
    narrative_review = "narrative_review"
    guideline = "guideline"
    in_vivo = "in_vivo"
    """In animals."""
    in_vitro = "in_vitro"
    registry_entry = "registry_entry"
    """A registered or planned trial: a plan, whether or not results are posted."""
    unknown = "unknown"

    @property
    def tier(self) -> int:
        """Rank by the Oxford levels of evidence: 1 (strongest) to 5, and 6 for records without data of their own.

        https://www.cebm.ox.ac.uk/resources/levels-of-evidence/ocebm-levels-of-evidence
        """
        return next(tier for tier, names in _TIERS.items() if self.value in names)

    @property
    def is_preclinical(self) -> bool:
        """Whether it is done in animals or cells."""
        return self.value in ("in_vivo", "in_vitro")

    @property
    def label(self) -> str:
        """The design in words."""
        named = {"rct_blinded": "blinded RCT", "rct_open": "open-label RCT", "unknown": "design not reported"}
        return named.get(self.value) or self.value.replace("_", " ").replace("rct", "RCT")


_TIERS = {
    1: ("systematic_review",),
    2: ("rct_blinded", "rct_open", "rct"),
    4: ("case_control", "cohort", "case_series"),
    5: ("case_report", "in_vivo", "in_vitro"),
    6: ("narrative_review", "guideline", "registry_entry", "unknown"),
}
RANDOMISED: frozenset[StudyDesign] = frozenset({StudyDesign.rct_blinded, StudyDesign.rct_open, StudyDesign.rct})
_OTHERWISE = {
    "meta_analysis": "systematic_review",
    "review": "narrative_review",
    "cross_sectional": "cohort",
    "protocol": "registry_entry",
    "animal": "in_vivo",
    "other": "unknown",
}
"""Designs of readings that the report names otherwise."""
_BLIND_METHODS = frozenset({"double-blind method", "single-blind method"})


def study_design(
    design: Design, text: str = "", mesh_terms: Iterable[str] = (), participants: int | None = None
) -> StudyDesign:
    """Convert a reading's design to the report's; randomised trials also get their blinding.

    Args:
        design: the design in the reading.
        text: title and abstract; the first mention of open or blinded decides.
        participants: more than one makes a case report a series; None: not reported.
        mesh_terms: descriptor names, with or without qualifiers (`Migraine/drug therapy`).

    >>> study_design("rct", "A randomised, double-blind trial")
    <StudyDesign.rct_blinded: 'rct_blinded'>
    """
    if design == "case_report" and (participants or 1) > 1:
        return StudyDesign.case_series
    if design != "rct":
        return StudyDesign(_OTHERWISE.get(design, design))
    if _BLIND_METHODS & {term.split("/")[0].lower().strip("* ") for term in mesh_terms}:
        return StudyDesign.rct_blinded
    whole = plain(text)
    opened, blinded = says("open", whole), says("blinded", whole)
    if opened and (not blinded or opened.start() < blinded.start()):
        return StudyDesign.rct_open
    return StudyDesign.rct_blinded if blinded else StudyDesign.rct


Purpose = Literal["prevention", "relief", "unknown"]


def purpose_at(document: Document, quote: str) -> Purpose:
    """Classify the purpose of a quoted sentence: from its own words, else the title, else most of the record.

    Reviews cover treating attacks and then preventing them: where neither purpose prevails, the one mentioned last
    before the quote applies. A sentence that mentions both decides nothing on its own.

    >>> review = Document("Migraine", "In the acute attack all help. Triptans are effective. Prophylaxis is rare.")
    >>> purpose_at(review, "Triptans are effective.")
    'relief'
    """
    at = next((each.order for each in document.sentences if quote and quote in each.quote), 0)
    told = [(_used_for("prevention", text), _used_for("relief", text)) for text in document.lines]
    prevents, relieves = (sum(each) for each in zip(*told, strict=True)) if told else (0, 0)
    whole = (prevents >= 2 * relieves, relieves >= 2 * prevents)
    for prevention, relief in (*told[at : at + 1], *told[:1], whole, *reversed(told[:at])):
        if prevention != relief:
            return "prevention" if prevention else "relief"
    return "prevention" if told and told[at][0] else "unknown"


@lru_cache(maxsize=4096)
def _used_for(use: str, text: str) -> bool:
    return says(use, cue_regex(f"not {use}", __package__).sub(" ", text)) is not None
