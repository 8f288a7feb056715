"""`Reading`s of a study: what it says of each of its drugs, for tables and rules that take one drug at a time.

A view adds nothing: its role, comparator, effect, figures and passages are those of the one comparison or statement
that decides by `derive_stance`, and its verdict agrees with that.

| stance on the drug | view |
|---|---|
| supports, contradicts, missed, neutral, by a comparison | tested, with its comparator and effect |
| the same, by a statement | tested; mentioned if it is cited or a recommendation; comparator if it is one |
| combined | combined, with the effect of the combination |
| comparator | comparator, of which no effect is told |
| none, but a comparison or statement tells harm | tested, kind harm |
| none, but another comparison has it in its contrast | tested; other use if that is on another condition |
| none, but it is the control of another drug | comparator, of which no effect is told |
| none | background, or mentioned |
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel

from ..lexicon import condition_synonyms, find_conditions
from ..lexicon.matching import stems
from ..questions import Question
from ..reading.assembler import COMPLICATION
from ..reading.reading import (
    Comparator,
    Effect,
    IndicationKind,
    Match,
    Primary,
    QuotedPassage,
    Reading,
    Role,
    Value,
    Verdict,
)
from ..records.study import Comparison, StatedView, Study, StudyPassage
from .fit import COUNTED, Fit, get_topic, judge_fit
from .stance import INERT_ROLES, Applies, DrugStance, Says, derive_stance, is_against_nothing

GAP = " … "
"""Between the sentences of a passage that leaves some out."""
ON_IT: frozenset[Match] = frozenset({"same", "narrower", "complication"})
_FITS: dict[Match, Fit] = {
    "same": "same",
    "narrower": "narrower",
    "complication": "complication",
    "broader": "wider",
    "other": "other",
}
_SECOND_HAND = frozenset({"cited", "recommendation"})
_TELL_HARM = frozenset({"harms", "avoid"})
_VERDICTS: dict[Says, Verdict] = {
    "supports": "supports",
    "contradicts": "contradicts",
    "missed": "contradicts",
    "neutral": "neutral",
}
_CHANGES: dict[Verdict, tuple[dict[str, object], ...]] = {
    "supports": ({"hedged": False}, {"effect": "no_difference", "non_inferior": True}),
    "contradicts": ({"hedged": False},),
    "neutral": ({"effect": "mixed"},),
    "none": ({"effect": "not_reported"},),
}
"""What of a view gives way, in turn, where its verdict would be another than the stance."""
_STATED_EFFECTS: dict[str, Effect] = {"works": "better", "give": "better", "does_not_work": "no_difference"}
_LOOSE: dict[str, Comparator] = {"baseline": "before_after", "baseline_on_drug": "dose", "unstated": "not_reported"}


Fitting = Literal["yes", "partly", "no"]
"""How the condition or the people of a study are those asked about, as a model tells it. `partly`, of a condition: a
complication of it, or something wider; of people: others, from whom it can be told for them."""
_MATCHES: dict[Fit, Match] = {fit: match for match, fit in _FITS.items()}
_BY_MODEL: dict[Fitting, tuple[Match, ...]] = {
    "yes": ("same", "narrower"),
    "partly": ("complication", "broader"),
    "no": ("other",),
}


class MatchedStudy(BaseModel, frozen=True, extra="forbid"):
    """A study with how its condition relates to the one that it was read for."""

    study: Study
    condition: str
    """The one asked about."""
    match: Match
    """Of the study's condition; a comparison on another one is matched by its words."""
    is_by_words: bool = False
    """Whether words told the match, since no model was asked about it."""
    people: Fitting | None = None
    """Whether its people are those asked about, by a model; None: by words."""

    def make_test(self, names: Sequence[str]) -> Applies:
        """Return whether parts of the study are on the condition asked about, given its names."""
        stems_of_names = [frozenset(stems(name)) for name in names]

        def is_on_condition(part: Comparison | StatedView) -> bool:
            if part.condition is None or part.condition.startswith(COMPLICATION):
                return self.match in ON_IT
            words = frozenset(stems(part.condition))
            return any(name <= words for name in stems_of_names)

        return is_on_condition

    def judge_fit_to(self, question: Question, part: Comparison | StatedView | None = None) -> Fit:
        """Return how the study, or a part of it, fits the question that it was read for.

        The model says whether the study is on the first condition asked about; its words tell whether it is on a
        further one, how it fits where it is on another, and what a part on a condition of its own is on.
        """
        topic = get_topic(self.study, part)
        if self.people == "no":
            return "other"
        if self.is_by_words:
            return judge_fit(topic, question)
        if part is not None and part.condition is not None:
            return judge_fit(topic._replace(aim=part.aim), question)  # the study's aim is on its own condition
        fit = _FITS[self.match]
        if fit in COUNTED:
            return fit
        further = question.conditions[1:]
        if further:
            fit_of_further = judge_fit(topic, replace(question, conditions=further))
            if fit_of_further in COUNTED:
                return fit_of_further
        by_words = judge_fit(topic, question)
        return by_words if fit == "other" and by_words not in COUNTED else fit

    def leave_out(self, drug: str) -> Reading:
        """Return the reading of a drug that the study does not tell of: it is mentioned in the record."""
        return Reading(
            key=self.study.key,
            drug=drug,
            condition=self.condition,
            role="mentioned",
            match=self.match,
            reader=self.study.reader,
            version=self.study.version,
        )


def match_by_words(study: Study, question: Question, condition: str) -> MatchedStudy:
    """Match a study with a question by the study's own words for its condition, people and aim."""
    match = _MATCHES.get(judge_fit(get_topic(study), question), "other")
    return MatchedStudy(study=study, condition=condition, match=match, is_by_words=True)


def match_by_model(matched: MatchedStudy, condition: Fitting, people: Fitting) -> MatchedStudy:
    """Match a study as a model tells it; whether it is a form or something wider, where words tell that, stays."""
    agreeing = _BY_MODEL[condition]
    match = matched.match if matched.match in agreeing else agreeing[0]
    return matched.model_copy(update={"match": match, "is_by_words": False, "people": people})


def list_names_of_condition(condition: str) -> tuple[str, ...]:
    """List a condition's names: as it is written, and with synonyms for each that the lexicon finds in it."""
    names = [condition]
    mentions = [mention.name for mention in find_conditions(condition)]
    names += mentions
    for name in mentions:
        names += condition_synonyms(name)
    return tuple(dict.fromkeys(names))


def make_readings(matched: MatchedStudy, whole: str) -> list[Reading]:
    """Return the readings of a study, one for each of its drugs, whose passages stand in a text."""
    return [_DrugView(matched, drug, whole).reading for drug in sorted(matched.study.drugs())]


class _DrugView:
    """The reading of one drug."""

    def __init__(self, matched: MatchedStudy, drug: str, whole: str) -> None:
        self._study = matched.study
        self._drug = drug
        self._about = matched
        self._whole = whole
        self._applies = matched.make_test(list_names_of_condition(matched.condition))
        self._stance = derive_stance(matched.study, drug, self._applies)

    @property
    def reading(self) -> Reading:
        """The reading."""
        stance = self._stance
        if stance.view is not None:
            return self._agree_with_stance(self._read_view(stance.view, _STATED_EFFECTS.get(stance.view.says, "mixed")))
        if stance.says == "comparator" and stance.comparison is not None:
            return self._read_comparator(stance.comparison)
        if stance.comparison is not None:
            return self._agree_with_stance(self._read_row(stance.comparison, self._get_role(stance)))
        harm = self._find_harm()
        if harm is not None:
            return harm
        rows = [row for row in self._study.comparisons if not row.disputed]
        row = next((row for row in rows if self._drug in self._study.contrast_of(row)), None)
        if row is not None:
            return self._agree_with_stance(self._read_row(row, "tested" if self._applies(row) else "other_use"))
        control = next((row for row in self._study.comparisons if self._is_control_in(row)), None)
        if control is not None:
            return self._read_comparator(control)
        return self._make("background" if self._drug in self._study.background else "mentioned")

    def _is_control_in(self, row: Comparison) -> bool:
        return self._drug in self._study.drugs_of(row.versus) - self._study.drugs_of(row.arm)

    def _get_role(self, stance: DrugStance) -> Role:
        return "combined" if stance.says == "combined" else "tested"

    def _agree_with_stance(self, reading: Reading) -> Reading:
        """Return a reading whose verdict is that of the stance."""
        if self._stance.says == "combined":
            return reading
        verdict = _VERDICTS.get(self._stance.says, "none")
        for changes in ({}, *_CHANGES[verdict]):
            changed = reading.model_copy(update=changes)
            if changed.verdict == verdict:
                return changed
        return reading

    def _read_row(self, row: Comparison, role: Role) -> Reading:
        comparator = self._find_comparator(row)
        return self._make(
            role,
            part=row,
            kind=row.endpoint,
            comparator=comparator,
            against=self._list_rivals(row) if comparator == "active" else None,
            effect=_find_effect(row),
            primary=_find_primary(row),
            alone=self._study.contrast_of(row) == {self._drug},
            hedged=row.hedged,
            non_inferior=row.equivalence == "shown",
            participants=self._study.participants_of(row),
            values=tuple(self._list_values(row)),
        )

    def _read_comparator(self, row: Comparison) -> Reading:
        mine = self._study.drugs_of(row.arm)
        against = " and ".join(sorted(mine)) or None
        return self._make("comparator", part=row, kind=row.endpoint, comparator="active", against=against)

    def _read_view(self, view: StatedView, effect: Effect) -> Reading:
        is_compared = any(self._drug in arm.drugs for arm in self._study.arms)
        role: Role = "tested" if is_compared and view.basis not in _SECOND_HAND else "mentioned"
        return self._make(role, part=view, kind="efficacy", effect=effect)

    def _find_harm(self) -> Reading | None:
        """Return the view of a comparison on harm, or of a statement of it; None if there is neither."""
        for row in self._study.comparisons:
            if row.endpoint == "harm" and not row.disputed and self._drug in self._study.contrast_of(row):
                return self._read_row(row, "tested")
        for view in self._study.statements:
            if view.drug == self._drug and view.says in _TELL_HARM and not view.disputed:
                return self._make("tested", part=view, kind="harm", effect="worse")
        return None

    def _make(self, role: Role, part: Comparison | StatedView | None = None, **fields: Any) -> Reading:
        has_condition = part is not None and part.condition is not None
        is_on_condition = part is None or self._applies(part)
        match: Match = (
            "same" if has_condition and is_on_condition and self._about.match not in ON_IT else self._about.match
        )
        indication: IndicationKind = "other" if has_condition and not is_on_condition else "condition"
        passage = part.passage if part is not None else None
        return Reading(
            key=self._study.key,
            drug=self._drug,
            condition=self._about.condition,
            role=role,
            match=match,
            indication=indication,
            passages=tuple(_locate_quotes(passage, self._whole)) if passage else (),
            reader=self._study.reader,
            version=self._study.version,
            **fields,
        )

    def _find_comparator(self, row: Comparison) -> Comparator:
        if row.versus is None:
            return _LOOSE[row.against]
        if self._study.arm(row.versus).role == "placebo":
            return "placebo"
        if is_against_nothing(self._study, row):
            return "none"
        arm = self._study.drugs_of(row.arm)
        versus = self._study.drugs_of(row.versus)
        return "dose" if arm == versus and arm else "active"

    def _list_rivals(self, row: Comparison) -> str | None:
        return " and ".join(sorted(self._study.drugs_of(row.versus) - self._study.drugs_of(row.arm))) or row.versus

    def _list_values(self, row: Comparison) -> Iterator[Value]:
        """Yield the figures of a comparison and of the drug's arm in it, as the record writes them."""
        arm = self._study.arm(row.arm)
        passage = row.passage
        if row.estimate and row.estimate.written and passage:
            quote = passage.text.replace(GAP, " ")
            section = passage.section
            is_whole = GAP not in passage.text
            location = {"quote": quote, "section": section} if is_whole else {}
            yield Value(what="estimate", written=row.estimate.written, outcome=row.outcome, **location)
        if arm.dose:
            yield Value(what="dose", written=arm.dose)
        if row.versus is not None and self._study.arm(row.versus).role not in INERT_ROLES - {"placebo"}:
            yield Value(what="comparator", written=row.versus)
        people = self._study.participants_of(row)
        if people is not None:
            yield Value(what="participants", written=str(people))
        for harm in arm.harms:
            if harm.written and harm.passage:
                place = {"quote": harm.passage.text, "section": harm.passage.section}
                yield Value(what="tolerability", written=harm.written, outcome=harm.what, **place)


def _find_effect(row: Comparison) -> Effect:
    if row.favours is None:
        return "mixed"
    if row.favours == "neither" or row.significant is False:
        return "no_difference"
    return "better" if row.favours == "arm" else "worse"


def _find_primary(row: Comparison) -> Primary:
    if not row.primary:
        return "not_reported"
    return "met" if _find_effect(row) == "better" or row.equivalence == "shown" else "not_met"


def _locate_quotes(passage: StudyPassage, whole: str) -> Iterator[QuotedPassage]:
    """Yield the sentences of a passage, each run of them by itself."""
    parts = passage.text.split(GAP)
    start = passage.start or 0
    for part in parts:
        place = whole.find(part, start) if len(parts) > 1 else start
        start = max(place, 0)
        yield QuotedPassage(text=part, section=passage.section, start=start, end=start + len(part))
