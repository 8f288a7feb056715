"""Checks a model's reading of a record against its text, and makes the `Study` of it.

Every quote has to stand in the record to the letter, and every figure in a quote. Arms get their names by code, and
what a model words itself stays only if each of its words is the record's: no text of a model reaches a report.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.views import GAP
from willowbark.tools.lexicon import canonical_drug, find_drugs
from willowbark.tools.reading.assembler import find_estimate
from willowbark.tools.reading.numbers import find_dosed_drugs, is_bare, is_of_other_arm, is_of_other_kind, parse_number
from willowbark.tools.reading.passages import denies_effect, find_wrong_use
from willowbark.tools.reading.reading import QuotedPassage
from willowbark.tools.reading.screening import addressed_to_machines, tells_what_to_do
from willowbark.tools.reading.sections import find_section, places
from willowbark.tools.reading.text import split_spans
from willowbark.tools.records.enclosure import visible
from willowbark.tools.records.study import (
    Against,
    Arm,
    ArmHarm,
    Comparison,
    DepthRead,
    Equivalence,
    Estimate,
    Favours,
    StatedView,
    Study,
    StudyPart,
    StudyPassage,
)

from .claims import Claim, check_passage, find_named_drugs, locate, plain
from .drafts import ArmDraft, ComparisonDraft, HarmDraft, StatementDraft, StudyDraft
from .numbering import UnknownPassage, words_at

if TYPE_CHECKING:
    from .reader import ToRead

NOT_READ = (
    "design", "blinded", "analysed", "conclusion", "trial", "follow_up", "setting", "country", "funding", "layout",
    "time_point", "analysis_set", "margin",
)  # fmt: skip
_SHOWN_GAP = re.compile(r"\s*(?:\[…\]|…)\s*")
"""Mark of sentences that were not shown; a quote may go on behind it."""
_UNCUT = r"(?<!\w)(?<!\d[.,])(?<![<>≤≥±])(?<![<>≤≥±] )(?<![\s(\[=:/]-)"
"""Before a value: no part of a number, and no sign or bound that belongs to it."""
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+")
MOST_NUMBER_WORDS = 5
"""Of a number in words: "one hundred and twenty two"."""
_INERT = re.compile(
    r"placebo|saline|sham|dummy|vehicle|inert|inactive|control|untreated|lactose|dextrose|glucose|water|intralipid|oil",
    re.IGNORECASE,
)
"""Words by which records name a placebo."""
_LOOSE: dict[str, Against] = {
    "": "unstated",
    "unstated": "unstated",
    "baseline": "baseline",
    "baseline_on_drug": "baseline_on_drug",
}
_YES: dict[str, bool | None] = {"yes": True, "no": False, "untold": None}
_ROLES = {"placebo": "placebo", "none": "no treatment", "usual_care": "usual care"}
_UNKNOWN = "another treatment"
_SECOND_HAND = frozenset({"cited", "recommendation"})
_ADVICE = frozenset({"give", "avoid", "harms"})
"""What authors state in sentences that may say what should be done."""


D = TypeVar("D", ComparisonDraft, HarmDraft, StatementDraft)
P = TypeVar("P")


class Refused(Exception):
    """A study, or a part of it, does not stand; says why."""


@dataclass
class CheckedStudy:
    """A study that stands, and what of the model's reading does not."""

    study: Study
    dropped: list[str] = field(default_factory=list)
    """Comparisons, harms and statements left out, a reason each."""
    emptied: list[str] = field(default_factory=list)
    """Figures and doses left out of parts that stand, a reason each."""

    @property
    def problems(self) -> list[str]:
        """What a model is told to mend."""
        return [*self.dropped, *self.disputed, *self.emptied]

    @property
    def disputed(self) -> list[str]:
        """Comparisons and statements that their own passages do not bear out, a reason each."""
        rows = [("comparison", order, row.disputed) for order, row in enumerate(self.study.comparisons, 1)]
        views = [("statement", order, view.disputed) for order, view in enumerate(self.study.statements, 1)]
        return [f"{what} {order} is not borne out: {why}" for what, order, why in (*rows, *views) if why]

    @property
    def parts(self) -> int:
        """Number of comparisons and statements that it gave, those that were left out among them."""
        parts = len(self.study.comparisons) + len(self.study.statements)
        return parts + sum(not line.startswith("harm") for line in self.dropped)


class _LocatedQuote(NamedTuple):
    """What a quote was found as."""

    parts: tuple[QuotedPassage, ...]

    @property
    def joined(self) -> StudyPassage:
        """The passage of a study."""
        first = self.parts[0]
        last = self.parts[-1]
        text = GAP.join(part.text for part in self.parts)
        return StudyPassage(text=text, section=first.section, start=first.start, end=last.end)


def check_study(draft: StudyDraft, item: "ToRead", version: str) -> CheckedStudy:
    """Check a model's study of a record that it was shown.

    A study stands if its arms do: their drugs are in the record, a placebo is one there, and comparisons name them.

    Raises:
        Refused: the study does not stand.
    """
    return _Check(draft, item).make(version)


def join_studies(former: CheckedStudy, mended: CheckedStudy) -> CheckedStudy:
    """Join a study and what a model gave when asked to mend it: all of the record again, or the mended parts alone."""
    if len(mended.study.arms) < len(former.study.arms) or mended.study.arms != former.study.arms:
        is_whole = len(mended.study.comparisons) >= len(former.study.comparisons)
        return mended if is_whole and len(mended.dropped) <= len(former.dropped) else former
    names = ("comparisons", "statements")
    parts = {name: _unite(getattr(former.study, name), getattr(mended.study, name)) for name in names}
    return CheckedStudy(mended.study.model_copy(update=parts), mended.dropped, mended.emptied)


def _unite(former: Sequence[StudyPart], mended: Sequence[StudyPart]) -> tuple[StudyPart, ...]:
    """Return the mended parts and those that they leave out, which are told by other sentences or on other arms."""
    places = {_find_place(part) for part in mended}
    return (*mended, *(part for part in former if _find_place(part) not in places))


def _find_place(part: StudyPart) -> tuple[object, ...]:
    return tuple(getattr(part, name, None) for name in ("arm", "versus", "drug", "passage"))


def with_words(draft: D, passages: Mapping[str, str]) -> D:
    """Return a part of a study with the words of the passages that it names by number.

    Raises:
        UnknownPassage: it names a passage that its record does not have.
    """
    return draft.model_copy(update={"quote": words_at(draft.quote, passages)})


def find_drug_name(name: str) -> str:
    """Return the generic name of a drug as a model writes it, in lower case."""
    return canonical_drug(name) or " ".join(name.split()).casefold()


class _Check:
    """The check of one study."""

    def __init__(self, draft: StudyDraft, item: "ToRead") -> None:
        self._draft = draft
        self._record = item.record
        self._page = item.page
        self._is_whole = item.is_whole
        self._passages = item.passages
        self._text = plain(" ".join([item.page.whole, *(place.text for place in places(item.record))]))
        self._words = frozenset(_WORD.findall(self._text))
        self._drugs = frozenset({*item.drugs, *(name for name, _, _ in item.page.drugs)})
        self._dropped: list[str] = []
        self._emptied: list[str] = []
        self._arms: dict[str, Arm] = {}
        self._background: tuple[str, ...] = ()

    def make(self, version: str) -> CheckedStudy:
        """Return what stands."""
        draft = self._draft
        self._background = self._find_drugs(draft.background)
        self._arms = self._name_arms(draft.arms)
        self._check_labels()
        comparisons = tuple(self._keep(draft.comparisons, self._compare, "comparison"))
        harms = list(self._keep(draft.harms, self._find_harm, "harm"))
        statements = tuple(self._keep(draft.statements, self._find_view, "statement"))
        arms: list[Arm] = []
        for name, arm in self._arms.items():
            own_harms = tuple(harm for label, harm in harms if label == name)
            arms.append(arm.model_copy(update={"harms": own_harms}))
        study = Study(
            key=self._record.key,
            reader="model",
            version=version,
            depth=self._depth,
            aim=draft.aim,
            condition=self._own_words(draft.condition),
            people=self._own_words(draft.people),
            randomised=self._find_count(draft.randomised, "participants"),
            background=self._background,
            arms=tuple(arms),
            comparisons=comparisons,
            statements=statements,
            not_read=NOT_READ,
        )
        return CheckedStudy(study, self._dropped, self._emptied)

    @property
    def _depth(self) -> DepthRead:
        """How much of its record the model was shown; excerpts of a full text's tables make it none."""
        if self._record.trial:
            return "registry"
        return "full_text" if self._is_whole else "abstract"

    def _check_labels(self) -> None:
        """Refuse a study whose comparisons or harms are of arms that it does not have, or of one arm with itself."""
        rows = self._draft.comparisons
        labels = [*(row.arm for row in rows), *(harm.arm for harm in self._draft.harms)]
        labels += [row.versus for row in rows if _make_label(row.versus) not in _LOOSE]
        unknown = [label for label in labels if _make_label(label) not in self._arms]
        if unknown:
            raise Refused(f"names an arm that the study does not have ({unknown[0][:60]})")
        if any(_make_label(row.arm) == _make_label(row.versus) for row in rows):
            raise Refused("compares an arm with itself")

    def _keep(self, drafts: Iterable[D], make: Callable[[D], P], what: str) -> Iterator[P]:
        """Yield the parts that stand, and note why the others do not."""
        for order, draft in enumerate(drafts, 1):
            try:
                yield make(with_words(draft, self._passages))
            except (Refused, UnknownPassage) as problem:
                self._dropped.append(f"{what} {order} {problem}")

    def _find_drugs(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return drugs by their generic names; Refused if the record does not name one."""
        drugs = tuple(dict.fromkeys(find_drug_name(name) for name in names if name.strip()))
        unnamed = [drug for drug in drugs if not self._is_named(drug)]
        if unnamed:
            raise Refused(f"names a drug that its record does not name ({unnamed[0][:60]})")
        return tuple(drug for drug in drugs if drug != "placebo")

    def _is_named(self, drug: str) -> bool:
        return drug in self._drugs or drug in self._text

    def _own_words(self, text: str) -> str:
        """Return words of a model if the record has each of them, else nothing."""
        words = _WORD.findall(plain(text))
        return " ".join(text.split()) if words and self._words.issuperset(words) else ""

    def _find_count(self, count: int, what: str) -> int | None:
        """Return a number of people that the record names in digits or words; None for 0, or if it does not."""
        if not count:
            return None
        if count in self._numbers:
            return count
        self._emptied.append(f"{what} {count} is no number of its record")
        return None

    @cached_property
    def _numbers(self) -> frozenset[int]:
        """Whole numbers of the record, in digits or words."""
        numbers = {int(re.sub(r"[, ]", "", number)) for number in _NUMBER.findall(self._text)}
        words = re.findall(r"[a-z]+", self._text)
        for start, word in enumerate(words):
            if parse_number(word) is None:
                continue
            for end in range(start + 1, start + MOST_NUMBER_WORDS + 1):
                number = parse_number(" ".join(words[start:end]))
                numbers |= set() if number is None else {number}
        return frozenset(numbers)

    def _name_arms(self, drafts: Sequence[ArmDraft]) -> dict[str, Arm]:
        """Return the arms by the names that the model gives them, each with a name of its own made of its drugs."""
        labels = [_make_label(draft.name) for draft in drafts]
        double = [label for label, times in Counter(labels).items() if times > 1]
        if double:
            raise Refused(f"gives two arms one name ({double[0][:60]})")
        arms: dict[str, Arm] = {}
        used: set[str] = set()
        for label, draft in zip(labels, drafts, strict=True):
            arm = self._check_arm(draft)
            name = _make_unique(arm.name, arm.dose, used)
            used.add(name)
            arms[label] = arm.model_copy(update={"name": name})
        return arms

    def _check_arm(self, draft: ArmDraft) -> Arm:
        drugs = tuple(drug for drug in self._find_drugs(draft.drugs) if drug not in self._background)
        if draft.role == "placebo" and not _INERT.search(self._text):
            raise Refused(f"calls an arm placebo that its record does not ({draft.name[:60]})")
        role = "unknown" if draft.role == "drug" and not drugs and not draft.drugs else draft.role
        label = _ROLES.get(role) or self._own_words(draft.name) or _UNKNOWN
        return Arm(
            name=" and ".join(drugs) or label,
            role=role,
            drugs=drugs,
            dose=self._find_dose(draft.dose, drugs),
            n=self._find_count(draft.n, "participants"),
        )

    def _find_dose(self, dose: str, drugs: Sequence[str]) -> str:
        """Return a dose as its record writes it beside one of these drugs; empty if it does not."""
        dose_text = plain(dose)
        if not dose_text:
            return ""
        if not any(map(str.isdigit, dose_text)) or is_of_other_kind("dose", dose_text):
            self._emptied.append("dose has no figure or is one of something else")
            return ""
        words = r"\s+".join(map(re.escape, dose.split()))
        written = re.compile(rf"{_UNCUT}{words}(?!\w|[.,]\d)", re.IGNORECASE)
        for text in (self._page.whole, *(place.text for place in places(self._record))):
            mentions = find_drugs(text)
            for start, end in split_spans(text):
                near = [mention for mention in mentions if start <= mention.start < end]
                for hit in written.finditer(text, start, end):
                    if not near or set(drugs) & find_dosed_drugs(text, *hit.span(), near):
                        return " ".join(hit.group().split())
        self._emptied.append("dose does not stand so beside its drug")
        return ""

    def _compare(self, draft: ComparisonDraft) -> Comparison:
        arm = self._arms[_make_label(draft.arm)]
        versus = self._arms.get(_make_label(draft.versus))
        passage = self._find_result(draft, arm, versus)
        text = " ".join(part.text for part in passage.parts)
        favours: Favours | None = None if draft.favours == "untold" else draft.favours
        equivalence: Equivalence | None = None if draft.equivalence == "none" else draft.equivalence
        is_gain = favours == "arm" and draft.significant != "no" and equivalence is None and bool(arm.drugs)
        return Comparison(
            arm=arm.name,
            versus=versus.name if versus else None,
            against="arm" if versus else _LOOSE[_make_label(draft.versus)],
            outcome=self._own_words(draft.outcome),
            endpoint=draft.endpoint,
            primary=_YES[draft.primary],
            condition=self._own_words(draft.condition) or None,
            subgroup=(self._own_words(draft.subgroup) or "a subgroup") if draft.subgroup.strip() else None,
            favours=favours,
            significant=_YES[draft.significant],
            equivalence=equivalence,
            basis=draft.basis,
            estimate=self._find_estimate(draft.estimate, text, arm),
            hedged=draft.hedged,
            passage=passage.joined,
            disputed=find_wrong_use(text, arm.drugs[0], draft.condition or self._draft.condition) if is_gain else "",
        )

    def _find_result(self, draft: ComparisonDraft, arm: Arm, versus: Arm | None) -> _LocatedQuote:
        """Find the sentences of a result, which are on a drug of either arm; Refused if they are none."""
        drugs = (*arm.drugs, *(versus.drugs if versus else ()))
        if drugs:
            drugs = (*drugs, *self._background)
        else:  # of a talk or an operation, of which any sentence may tell, whatever drugs it names
            drugs = tuple(mention.name for mention in find_drugs(draft.quote)) or (arm.name,)
        location = locate(draft.quote, self._record)
        is_in_introduction = draft.basis in _SECOND_HAND and location is not None and not location.zones <= {"A"}
        return self._find_passage(draft.quote, drugs, is_result=not is_in_introduction)

    def _find_passage(self, quote: str, drugs: Sequence[str], *, is_result: bool) -> _LocatedQuote:
        parts = [self._find_part(part, drugs, is_result=is_result) for part in self._cut(quote)]
        return _LocatedQuote(tuple(parts))

    def _find_part(self, quote: str, drugs: Sequence[str], *, is_result: bool) -> QuotedPassage:
        problem = "has no quote"
        for drug in drugs:
            stance: Literal["contradicts", "neutral"] = "contradicts" if is_result else "neutral"
            claim = Claim(evidence_key=self._record.key, quote=quote, drug=drug[:100], stance=stance)
            for other in (None, *(name for name in drugs if name != drug)):
                passage = check_passage(claim, self._record, Direction.inconclusive, other)
                if isinstance(passage, QuotedPassage):
                    return passage
                problem = passage
        raise Refused(problem)

    def _cut(self, quote: str) -> list[str]:
        """Cut a quote where it leaves out what the prompt marked as not shown."""
        if find_section(self._record, quote, plain):
            return [quote]
        return [part for part in _SHOWN_GAP.split(quote) if part] or [quote]

    def _find_estimate(self, written: str, text: str, arm: Arm) -> Estimate | None:
        """Return the estimate as a passage writes it; None if there is none, or it does not stand there."""
        estimate = plain(written)
        if not estimate:
            return None
        problem = _explain_missing(estimate, plain(text), arm.drugs, "estimate")
        if problem:
            self._emptied.append(f"estimate {problem}")
            return None
        drug = arm.drugs[0] if arm.drugs else ""
        size = find_estimate(written, drug) or find_estimate(text, drug) or Estimate()
        is_in_it = size.value is None or f"{size.value:g}" in estimate
        return (size if is_in_it else Estimate()).model_copy(update={"written": _find_as_written(text, estimate)})

    def _find_harm(self, draft: HarmDraft) -> tuple[str, ArmHarm]:
        arm = self._arms[_make_label(draft.arm)]
        location = locate(draft.quote, self._record, is_whole=False)
        if location is None or addressed_to_machines(draft.quote) or tells_what_to_do(draft.quote):
            raise Refused("quotes a passage that is not in its record")
        text = location.passage.text
        if plain(draft.what) not in plain(text):
            raise Refused("is one that its quote does not name")
        problem = _explain_missing(plain(draft.value), plain(text), arm.drugs, "tolerability")
        if problem:
            raise Refused(problem)
        passage = _LocatedQuote((location.passage,)).joined
        what = _find_as_written(text, plain(draft.what))
        written = _find_as_written(text, plain(draft.value))
        return _make_label(draft.arm), ArmHarm(what=what, written=written, passage=passage)

    def _find_view(self, draft: StatementDraft) -> StatedView:
        [drug] = self._find_drugs([draft.drug]) or ("",)
        if not drug:
            raise Refused("names no drug")
        is_second_hand = draft.basis in _SECOND_HAND
        if draft.says in _ADVICE:
            passage = self._find_advice(draft.quote, drug)
        else:
            passage = self._find_passage(draft.quote, (drug,), is_result=not is_second_hand)
        sentences = " ".join(part.text for part in passage.parts)
        text = plain(sentences)
        reason = " ".join(draft.reason.split()) if plain(draft.reason) in text else ""
        denial = denies_effect(sentences) if draft.says == "works" else ""
        return StatedView(
            drug=drug,
            says=draft.says,
            basis=draft.basis,
            condition=self._own_words(draft.condition) or None,
            reason=reason,
            passage=passage.joined,
            disputed=f"its sentence says “{denial}”" if denial else "",
        )

    def _find_advice(self, quote: str, drug: str) -> _LocatedQuote:
        """Find whole sentences that advise for or against a drug: "should be avoided with tamoxifen"."""
        location = locate(quote, self._record)
        if location is None or addressed_to_machines(quote):
            raise Refused("quotes a passage that is not in its record")
        drugs = find_named_drugs(quote, drug, self._record)
        if drugs and drug not in drugs:
            raise Refused(f"is on {drug}, which its quote is not")
        return _LocatedQuote((location.passage,))


def _make_label(name: str) -> str:
    return " ".join(name.split()).casefold()


def _make_unique(name: str, dose: str, used: set[str]) -> str:
    """Return a name that no arm has yet: with its dose, or a number."""
    if name not in used:
        return name
    full = f"{name} {dose}".strip()
    order = 2
    while full in used:
        full = f"{name} ({order})"
        order = order + 1
    return full


def _make_finder(figure: str) -> re.Pattern[str]:
    return re.compile(rf"{_UNCUT}{re.escape(figure)}(?!\w|[.,]\d)")


def _explain_missing(figure: str, text: str, drugs: Sequence[str], what: str) -> str:
    """Return why a figure is none of a passage or of an arm of these drugs; empty if it stands."""
    hits = [hit.span() for hit in _make_finder(figure).finditer(text)]
    if not hits:
        return "does not stand so in the sentence or row quoted for it"
    if not any(map(str.isdigit, figure)) and not any(map(parse_number, figure.split())):
        return "has no figure"
    if is_of_other_kind(what, figure):
        return "is a figure of something else"
    if is_bare(figure) and drugs:
        others = [mention for mention in find_drugs(text) if mention.name not in drugs]
        if all(is_of_other_arm(text, start, end, others) for start, end in hits):
            return "is of another group"
    return ""


def _find_as_written(text: str, figure: str) -> str:
    """Return the words of a text that are these when normalised by `plain`."""
    start = plain(text).find(figure)
    if start < 0 or not figure:
        return ""
    ends = (start + 1, start + len(figure))
    first, last = (bisect_left(range(len(text)), at, key=lambda to: len(plain(text[: to + 1]))) for at in ends)
    return " ".join(visible(text[first : last + 1]).split())
