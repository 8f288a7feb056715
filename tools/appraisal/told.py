"""What is told of a study for one drug: all of it from the one comparison, or statement, that decides.

| decides | result | comparator | participants, figures |
|---|---|---|---|
| a comparison | better, no difference, worse, no worse | the other arm | of its arms; of its passage |
| of a combination | the same, and with which drugs | the same | the same |
| of another drug, whose comparator it is | none | the other drug's arm | none |
| a statement, or a review's result without a comparator | called effective, called ineffective | none | none |
| nothing | none | none | none |

What its passage does not hold is not printed, and no figure that stands right behind placebo or beside another drug.
The other arm and the number of people may stand in a sentence of the methods instead, which is then quoted with it.
"""

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from ..reading.assembler import PLACEBO, UNKNOWN, UNTREATED
from ..reading.contrast import UNNAMED, PassageContrast
from ..reading.document import Document, Sentence
from ..reading.numbers import EffectSize, find_effect_sizes
from ..reading.participants import list_numbers
from ..reading.reading import Comparator, Primary
from ..reading.sections import is_full_text
from ..reading.text import says
from ..records.study import Comparison, Favours, Stated, Study, StudyPassage
from .stance import DrugStance

_RESULTS: Mapping[Favours, str] = {"arm": "better", "neither": "no difference", "versus": "worse"}
_STATED: Mapping[Stated, str] = {
    "works": "called effective",
    "give": "recommended",
    "does_not_work": "called ineffective",
    "not_shown": "efficacy not shown",
}
_CALLED: Mapping[Favours, str] = {"arm": "called effective", "neither": "called ineffective"}
_WITHOUT_DATA = frozenset({"review", "narrative_review", "guideline"})
"""Designs whose result without a comparator is what their authors say of earlier work."""
_OF_REVIEWS = frozenset({*_WITHOUT_DATA, "systematic_review", "meta_analysis"})
"""Designs that have no primary outcome of their own."""
_KINDS: Mapping[str, Comparator] = {"placebo": "placebo", "none": "none", "usual_care": "none"}
_ARM_CUES: Mapping[Comparator, str] = {"placebo": "inert", "none": "nothing"}
_BEFORE = "before treatment"
_TITLES = frozenset({PLACEBO, UNTREATED, UNKNOWN})


class ToldResult(BaseModel, frozen=True, extra="forbid"):
    """The result that is shown of a study for one drug."""

    result: str | None = None
    """In words; None if the comparison does not tell which side it favours, or is another drug's."""
    comparator: str | None = None
    """In words; None if it is not told."""
    kind: Comparator = "not_reported"
    """What the comparator is."""
    against: str | None = None
    """The active comparator by name; None if there is none or it is not named."""
    participants: int | None = None
    """People of both arms; None if they are not told for this comparison alone."""
    quoted_participants: int | None = None
    """The same, where the passage or the setting writes the number; else None."""
    setting: tuple[StudyPassage, ...] = ()
    """Sentences that name the other arm or the number of people, where the passage does not."""
    primary: Primary = "not_reported"
    """Whether it is the primary outcome's result, and favours the drug."""
    passage: StudyPassage | None = None
    """Its quote; None if it has none."""
    effects: tuple[EffectSize, ...] = ()
    """Effect sizes of the passage for the drug, those with an interval or p value if there are such."""
    figures: tuple[str, ...] = ()
    """Other figures of the passage, as written."""


def tell_result(study: Study, stance: DrugStance, document: Document | None = None) -> ToldResult:
    """Tell what a study says of a drug, from the part that decides.

    Args:
        study: as it was read.
        stance: what follows from it.
        document: the record, whose abbreviations tell which drugs a passage names; None looks at the passage alone.
    """
    if stance.view is not None:
        return ToldResult(result=_STATED.get(stance.view.says), passage=stance.view.passage)
    row = stance.comparison
    if row is None:
        return ToldResult()
    kind = find_kind(study, row, stance)
    against = _list_rivals(study, row)
    if stance.says == "comparator":
        return ToldResult(kind="active", comparator=row.arm, against=row.arm, passage=row.passage)
    people = study.participants_of(row)
    is_without_data = study.design in _WITHOUT_DATA
    if row.versus is None and (is_without_data or (row.against == "unstated" and not row.estimate)):
        called = _CALLED.get(row.favours) if row.favours else None
        return ToldResult(result=called, participants=None if is_without_data else people, passage=row.passage)
    effects, figures = _read_figures(row.passage, stance.drug, document)
    setting = _Setting(document, row.passage)
    comparator = _write_comparator(study, row, kind, against)
    return ToldResult(
        result=_write_result(study, row, stance),
        comparator=comparator if setting.mentions_arm(kind, study.drugs_of(row.versus)) else None,
        kind=kind,
        against=against,
        participants=people,
        quoted_participants=people if people is not None and setting.writes_number(people) else None,
        setting=setting.passages,
        primary=_find_primary(study, row, document),
        passage=row.passage,
        effects=effects,
        figures=figures,
    )


class _Setting:
    """The sentences that tell what a passage leaves out of its comparison.

    Args:
        document: the record; None holds the passage to nothing, for want of other sentences.
        passage: of the comparison; None if it has none.

    Attributes:
        passages: those needed so far.
    """

    def __init__(self, document: Document | None, passage: StudyPassage | None) -> None:
        self._document = document
        self._passage = passage
        self.passages: tuple[StudyPassage, ...] = ()

    def mentions_arm(self, kind: Comparator, drugs: frozenset[str]) -> bool:
        """Whether the passage or another sentence names an arm: placebo, nothing, or its drugs."""
        cue = _ARM_CUES.get(kind)
        if cue:
            return self._find(lambda sentence: says(cue, sentence.text) is not None)
        if kind != "active" or not drugs:
            return True
        return self._find(lambda sentence: not drugs.isdisjoint(sentence.drugs))

    def writes_number(self, people: int) -> bool:
        """Whether the passage or another sentence writes a number of people."""
        document = self._document
        if document is None:
            return True

        def writes(sentence: Sentence) -> bool:
            return people in {number.value for number in list_numbers(document, sentence)}

        return self._find(writes)

    def _find(self, tells: Callable[[Sentence], bool]) -> bool:
        """Look for a sentence in the passage, then in the setting, then in the rest of the record."""
        document = self._document
        passage = self._passage
        if document is None or passage is None or is_full_text(passage.section):
            return True
        quoted = {passage_read.text for passage_read in (passage, *self.passages)}
        within = []
        for sentence in document.sentences:
            if any(sentence.quote in text for text in quoted):
                within.append(sentence)
        if not within or any(map(tells, within)):
            return True  # a passage of the registry's is no sentence of the text
        sentence_found = next(filter(tells, document.sentences), None)
        if sentence_found is None:
            return False
        section = "Title" if sentence_found.headed == "title" else "Abstract"
        place = {"start": sentence_found.start, "end": sentence_found.start + len(sentence_found.quote)}
        self.passages = (*self.passages, StudyPassage(text=sentence_found.quote, section=section, **place))
        return True


def find_kind(study: Study, row: Comparison, stance: DrugStance) -> Comparator:
    """Return what a comparison is with; what the drug's own arm takes beside it counts as nothing."""
    if row.versus is None:
        return "before_after" if row.against == "baseline" else "not_reported"
    kind = _KINDS.get(study.arm(row.versus).role)
    return kind or ("none" if stance.is_against_nothing else "active")


def _list_rivals(study: Study, row: Comparison) -> str | None:
    if row.versus is None:
        return None
    arm = study.arm(row.versus)
    if arm.role in _KINDS or arm.name in _TITLES:
        return None
    rivals = sorted(study.drugs_of(row.versus) - study.drugs_of(row.arm))
    return " and ".join(rivals) or (None if arm.drugs else arm.name)


def _write_comparator(study: Study, row: Comparison, kind: Comparator, against: str | None) -> str | None:
    shared = sorted(study.drugs_of(row.versus)) if kind == "none" else []
    if shared:
        return f"{' and '.join(shared)} alone"
    if kind == "before_after":
        return _BEFORE
    if kind == "active":
        return against or UNKNOWN
    return {"placebo": PLACEBO, "none": UNTREATED}.get(kind)


def _write_result(study: Study, row: Comparison, stance: DrugStance) -> str | None:
    if row.favours is None:
        return None
    word = _RESULTS[row.favours]
    if row.equivalence == "shown" and row.favours != "arm":
        word = "no worse"
    if row.hedged:
        word += ", hedged"
    partners = sorted(study.contrast_of(row) - {stance.drug}) if stance.says == "combined" else []
    return f"{word}, with {' and '.join(partners or [UNNAMED])}" if stance.says == "combined" else word


def _find_primary(study: Study, row: Comparison, document: Document | None) -> Primary:
    """Find what became of the primary outcome; not told by the small reader alone of a record that names none."""
    if row.primary is not True or row.favours is None or study.design in _OF_REVIEWS:
        return "not_reported"
    if study.reader == "small_reader" and document is not None and not document.names_primary_outcome:
        return "not_reported"
    is_better = row.favours == "arm" and row.significant is not False
    return "met" if is_better or row.equivalence == "shown" else "not_met"


def _read_figures(
    passage: StudyPassage | None, drug: str, document: Document | None
) -> tuple[tuple[EffectSize, ...], tuple[str, ...]]:
    if passage is None:
        return (), ()
    sizes = find_effect_sizes(Document.cut("", passage.text).lines, drug)
    sure = [size for size in sizes if size.ci_low is not None or size.p is not None]
    start = passage.start
    mentions = document.drugs if document and start is not None and passage.end is not None else ()
    inside = [
        (name, first - start, last - start)
        for name, first, last in mentions
        if start is not None and passage.end is not None and start <= first and last <= passage.end
    ]
    figures = [] if sizes else PassageContrast(passage.text, inside).list_figures(drug)
    return tuple(sure or sizes), tuple(figures)
