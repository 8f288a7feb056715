"""Apply what people say of a record: a person's word on a stance counts before any reader's, and on a field of the
study before that study's own; what does not fit the study is told and left alone."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel, JsonValue, ValidationError

from ..errors import UsageError
from ..reading.corrections import Correction, CorrectionBook, Ruling
from ..reading.numbers import EffectSize, Measure
from ..reading.reading import Direction, StudyDesign
from ..records.evidence import Evidence
from ..records.study import Comparison, Estimate, Study, StudyPassage
from .certainty import DECIDED, AppraisedItem
from .stance import DrugStance, Says
from .told import ToldResult

_SAYS: Mapping[Direction, Says] = {
    Direction.supports: "supports",
    Direction.contradicts: "contradicts",
    Direction.inconclusive: "neutral",
    Direction.not_assessed: "none",
}
_CONFIRMED: Mapping[Direction, frozenset[Says]] = {
    Direction.supports: frozenset({"supports"}),
    Direction.contradicts: frozenset({"contradicts"}),
    Direction.inconclusive: frozenset({"missed", "neutral", "combined", "comparator"}),
    Direction.not_assessed: frozenset({"none"}),
}
"""What a study may say of a drug where people confirm its direction."""
_STEP = re.compile(r"([a-z_]+)(?:\[([^\]]+)\])?")
_OF_STUDY = frozenset(
    {"aim", "condition", "people", "design", "blinded", "randomised", "analysed", "background", "follow_up"}
)
_OF_ARM = frozenset("role drugs dose n route schedule duration dropouts".split())
_OF_COMPARISON = frozenset(
    {"favours", "significant", "primary", "endpoint", "condition", "aim", "subgroup", "equivalence", "hedged"}
    | {"participants", "outcome", "time_point"}
)
_OF_QUESTION = frozenset({"aim", "condition", "people"})
_OF_ESTIMATE = frozenset(set(Estimate.model_fields) - {"counts"})
DECIDING = "deciding"
"""In a field's place: the comparison that decides on the drug."""
FIELDS = (
    "aim, condition, people, design, randomised, analysed, background; arms[NAME].role, .n, .drugs, .dose; "
    "deciding.favours, .significant, .primary, .participants, .estimate.value, .low, .high, .p (of the comparison "
    "that decides), or comparisons[1].…"
)
"""Places in a study that can be corrected, in words."""


class PersonsWord(BaseModel, frozen=True, extra="forbid"):
    """What people said of one record for one drug."""

    line: str
    """In words, with who and when."""
    by: tuple[str, ...] = ()
    on: str = ""
    """Day of the latest word, `YYYY-MM-DD`."""
    is_changed: bool = False
    """Whether the row says something else than the readers did."""
    is_disputed: bool = False
    """Whether people differ, so that the readers' word stands."""
    readers_said: Direction | None = None
    """What the row said without people; None if the drug was not read there."""


def apply_corrections(study: Study, corrections: Iterable[Correction], deciding: int | None = None) -> Study:
    """Return a study with fields as people say; UsageError for a field that it does not have, or a wrong value.

    `deciding` is the place of the comparison that decides on the drug, from 0; None if none does.
    """
    content = study.model_dump(mode="json")
    for correction in corrections:
        _set_field(content, _number_place(correction.field, deciding), correction.value)
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the study"
        raise UsageError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def _number_place(path: str, deciding: int | None) -> str:
    """Return a place with the number of the deciding comparison."""
    head, dot, rest = path.partition(".")
    if head != DECIDING:
        return path
    if deciding is None:
        raise UsageError(f"{path}: no comparison of this study decides on the drug")
    return f"comparisons[{deciding + 1}]{dot}{rest}"


def _set_field(content: dict[str, Any], path: str, value: JsonValue) -> None:
    steps = [_STEP.fullmatch(step) for step in path.split(".")]
    names = [step.group(1) if step else "" for step in steps]
    place: Any = content
    if names[0] == "arms" and len(names) == 2 and names[1] in _OF_ARM:
        place = _find_arm(content, steps[0].group(2) if steps[0] else None, path)
    elif names[0] == "comparisons" and len(names) in (2, 3):
        place = _find_comparison(content, steps[0].group(2) if steps[0] else None, path)
        if names[1] == "estimate" and len(names) == 3 and names[2] in _OF_ESTIMATE:
            place["estimate"] = place["estimate"] or Estimate().model_dump(mode="json")
            place = place["estimate"]
        elif len(names) == 3 or names[1] not in _OF_COMPARISON:
            raise UsageError(f"{path}: is no field that can be corrected; there are {FIELDS}")
    elif len(names) != 1 or names[0] not in _OF_STUDY:
        raise UsageError(f"{path}: is no field that can be corrected; there are {FIELDS}")
    name = names[-1]
    if value is None and isinstance(place[name], str):
        value = ""
    if name == "design" and value not in {design.value for design in StudyDesign}:
        raise UsageError(f"design: {value} is none of {', '.join(design.value for design in StudyDesign)}")
    place[name] = value
    if content.get("not_read") and name in content["not_read"]:
        content["not_read"] = [unread for unread in content["not_read"] if unread != name]


def _find_arm(content: Mapping[str, Any], name: str | None, path: str) -> dict[str, Any]:
    arms: list[dict[str, Any]] = content["arms"]
    for arm in arms:
        if arm["name"] == name:
            return arm
    raise UsageError(f"{path}: the study has the arms {', '.join(arm['name'] for arm in arms) or 'of nobody'}")


def _find_comparison(content: Mapping[str, Any], number: str | None, path: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = content["comparisons"]
    if number is None or not number.isdecimal() or not 1 <= int(number) <= len(rows):
        raise UsageError(f"{path}: the study has {len(rows)} comparisons, counted from 1")
    return rows[int(number) - 1]


def add_records(pool: Sequence[Evidence], book: CorrectionBook, conditions: Sequence[str]) -> list[Evidence]:
    """Return a pool with the records that people added for a question's conditions, those that it lacks."""
    identifiers = set[str]().union(*({record.key, *record.identifiers} for record in pool))
    added = book.list_added(conditions)
    return [*pool, *(record for record in added if identifiers.isdisjoint({record.key, *record.identifiers}))]


class EditedStudy(BaseModel, frozen=True, extra="forbid"):
    """A study with what people say of its fields."""

    study: Study
    applied: tuple[Correction, ...] = ()
    refused: tuple[tuple[Correction, str], ...] = ()
    """Those that do not fit the study, each with the reason."""
    deciding: int | None = None
    """Place of the comparison that decides on the drug before the changes, from 0; None if none does."""

    @property
    def fields(self) -> frozenset[str]:
        """Places that people filled."""
        return frozenset(_number_place(correction.field, self.deciding) for correction in self.applied)

    @property
    def changes_question(self) -> bool:
        """Whether people say that it asked something else: another aim, condition or other people."""
        return any(field.rpartition(".")[2] in _OF_QUESTION for field in self.fields)

    def estimate_of(self, comparison: Comparison | None) -> Estimate | None:
        """Return the estimate of a comparison if people filled part of it; None otherwise."""
        if comparison is None or comparison not in self.study.comparisons:
            return None
        place = f"comparisons[{self.study.comparisons.index(comparison) + 1}].estimate."
        return comparison.estimate if any(field.startswith(place) for field in self.fields) else None


def apply_rulings(study: Study, rulings: Sequence[Ruling], decisive: Comparison | None) -> EditedStudy:
    """Apply people's words on a study's fields, one by one; those in dispute change nothing.

    `decisive` is the comparison that decides on the drug; None if none does.
    """
    deciding = study.comparisons.index(decisive) if decisive in study.comparisons else None
    applied = list[Correction]()
    refused = list[tuple[Correction, str]]()
    for ruling in rulings:
        word = ruling.agreed
        if word is None:
            continue
        # One by one, so that a word that does not fit leaves the others standing.
        try:
            study = apply_corrections(study, [word], deciding)
        except UsageError as error:
            refused.append((word, str(error)))
            continue
        applied.append(word)
    if applied:
        study = study.model_copy(update={"reader": "person", "version": applied[-1].who})
    return EditedStudy(study=study, applied=tuple(applied), refused=tuple(refused), deciding=deciding)


def tell_edited(result: ToldResult, stance: DrugStance, edited: EditedStudy | None) -> ToldResult:
    """Tell people's figures of the deciding comparison in place of those that stand in the passage."""
    estimate = edited.estimate_of(stance.comparison) if edited else None
    if estimate is None:
        return result
    if estimate.value is None:
        return result.model_copy(update={"effects": (), "figures": ()})
    if estimate.measure not in get_args(Measure):
        has_bounds = estimate.low is not None and estimate.high is not None
        bounds = f" ({estimate.low:g} to {estimate.high:g})" if has_bounds else ""
        written = f"{estimate.measure} {estimate.value:g}{bounds}".strip()
        return result.model_copy(update={"effects": (), "figures": (written,)})
    size = EffectSize(
        measure=cast(Measure, estimate.measure),
        value=estimate.value,
        ci_low=estimate.low,
        ci_high=estimate.high,
        p=estimate.p,
        sentence=result.passage.text if result.passage else "",
    )
    return result.model_copy(update={"effects": (size,), "figures": ()})


def decide_item(item: AppraisedItem, direction: Direction) -> AppraisedItem:
    """Give an item the direction that people say, with what it takes to count; one that has it stays as it is."""
    if direction is item.direction:
        return item
    changes: dict[str, Any] = {"direction": direction, "says": _SAYS[direction], "missed_primary": False}
    if direction in DECIDED:
        changes |= {"fit": "same", "tested": True, "alone": True}
    return item.model_copy(update=changes)


def decide_stance(stance: DrugStance, direction: Direction) -> DrugStance:
    """Give a stance the direction that people say; the part it rests on stays."""
    if stance.says in _CONFIRMED[direction]:
        return stance
    return stance.model_copy(update={"says": _SAYS[direction], "of_combination": "none"})


def decide_told(result: ToldResult, word: Correction, former: Direction) -> ToldResult:
    """Leave out the readers' words for a result that people say is another; the figures of the passage stay."""
    passage = StudyPassage(text=word.quote, section="Abstract") if word.quote else result.passage
    if word.says is former:
        return result.model_copy(update={"passage": passage})
    return result.model_copy(update={"result": None, "primary": "not_reported", "passage": passage})


def describe_words(
    stance: Ruling | None, edited: EditedStudy, disputes: Sequence[Ruling], former: Direction | None, now: Direction
) -> PersonsWord | None:
    """Put into words what people said of a record for a drug; None if nobody said anything."""
    lines = list[str]()
    words = list[Correction]()
    is_disputed = bool(disputes)
    if stance is not None:
        words += stance.words
        is_disputed = is_disputed or stance.agreed is None
        lines.append(_describe_stance(stance, former))
    for correction in edited.applied:
        words.append(correction)
        change = f"{_write_value(correction.was)} → {_write_value(correction.value)}"
        lines.append(f"{correction.field}: {change} ({correction.by}{_note(correction)})")
    for correction, why in edited.refused:
        words.append(correction)
        lines.append(
            f"{correction.field} = {_write_value(correction.value)} ({correction.by}) does not fit this study: {why}"
        )
    for ruling in disputes:
        words += ruling.words
        values = "; ".join(f"{word.by}: {_write_value(word.value)}" for word in ruling.words)
        lines.append(f"{ruling.words[0].field} in dispute: {values}")
    if not words:
        return None
    return PersonsWord(
        line="; ".join(lines),
        by=tuple(dict.fromkeys(word.who for word in words)),
        on=max(f"{word.at:%Y-%m-%d}" for word in words),
        is_changed=former is not now or bool(edited.applied),
        is_disputed=is_disputed,
        readers_said=former,
    )


def _describe_stance(ruling: Ruling, former: Direction | None) -> str:
    word = ruling.agreed
    if word is None:
        values = "; ".join(f"{correction.by}: {correction.says}{_note(correction)}" for correction in ruling.words)
        return f"in dispute: {values}"
    names = " and ".join(correction.by for correction in ruling.words)
    if word.says is former:
        return f"seen by {names}: {word.says}{_note(word)}"
    return f"{former or 'not read'} → {word.says} ({names}{_note(word)})"


def _note(word: Correction) -> str:
    return f": “{word.note}”" if word.note else ""


def _write_value(value: JsonValue) -> str:
    if value is None or value == "":
        return "not reported"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
