"""Study designs that the report distinguishes, and whether a record uses a drug for prevention or relief.

Tiers follow the Oxford levels of evidence for treatment questions
(https://www.cebm.ox.ac.uk/resources/levels-of-evidence/ocebm-levels-of-evidence). A preprint is a flag of a record, not
a design.

Purpose matters because a drug that ends attacks does not answer a question about preventing them. It is read where the
result is reported.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from ..lexicon.matching import cue_regex
from .document import Document
from .reading import Design
from .text import plain, says


class StudyDesign(StrEnum):
    """Design of a study."""

    systematic_review = "systematic_review"
    """Systematic review or meta-analysis."""
    rct_blinded = "rct_blinded"
    rct_open = "rct_open"
    rct = "rct"
    """Randomised, blinding not reported."""
    controlled_cohort = "controlled_cohort"
    cohort = "cohort"
    """One group without a comparison group, or a cross-sectional study."""
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
    def is_preclinical(self) -> bool:
        """Whether it is done in animals, cells or a computer."""
        return self.value in ("in_vivo", "in_vitro", "in_silico")

    @property
    def label(self) -> str:
        """The design in words."""
        named = {"rct_blinded": "blinded RCT", "rct_open": "open-label RCT", "unknown": "design not reported"}
        return named.get(self.value) or self.value.replace("_", " ").replace("rct", "RCT")


_TIERS = {
    StudyDesign(name): tier
    for tier, names in enumerate(
        (
            "systematic_review",
            "rct_blinded rct_open rct",
            "controlled_cohort",
            "case_control cohort case_series",
            "case_report in_vivo in_vitro in_silico",
            "narrative_review guideline editorial registry_entry unknown",
        ),
        1,
    )
    for name in names.split()
}
RANDOMISED: frozenset[StudyDesign] = frozenset({StudyDesign.rct_blinded, StudyDesign.rct_open, StudyDesign.rct})
_DESIGNS: Mapping[Design, StudyDesign] = {
    "rct": StudyDesign.rct,
    "systematic_review": StudyDesign.systematic_review,
    "meta_analysis": StudyDesign.systematic_review,
    "review": StudyDesign.narrative_review,
    "cohort": StudyDesign.cohort,
    "case_control": StudyDesign.case_control,
    "cross_sectional": StudyDesign.cohort,
    "case_report": StudyDesign.case_report,
    "protocol": StudyDesign.registry_entry,
    "animal": StudyDesign.in_vivo,
    "in_vitro": StudyDesign.in_vitro,
    "guideline": StudyDesign.guideline,
    "other": StudyDesign.unknown,
}
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
        return _DESIGNS[design]
    if _BLIND_METHODS & {term.split("/")[0].lower().strip("* ") for term in mesh_terms}:
        return StudyDesign.rct_blinded
    whole = plain(text)
    opened, blinded = says("open", whole), says("blinded", whole)
    if opened and (not blinded or opened.start() < blinded.start()):
        return StudyDesign.rct_open
    return StudyDesign.rct_blinded if blinded else StudyDesign.rct


Purpose = Literal["prevention", "relief", "unknown"]
_PREVAILS = 2  # sentences on one purpose for each on the other


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
    whole = (prevents >= _PREVAILS * relieves, relieves >= _PREVAILS * prevents)
    for prevention, relief in (*told[at : at + 1], *told[:1], whole, *reversed(told[:at])):
        if prevention != relief:
            return "prevention" if prevention else "relief"
    return "prevention" if told and told[at][0] else "unknown"


@lru_cache(maxsize=4096)
def _used_for(use: str, text: str) -> bool:
    return says(use, cue_regex(f"not {use}", __package__).sub(" ", text)) is not None
