"""What a passage itself holds of a comparison: the drug it compares with, the partners it joins, what it denies."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..lexicon import find_drugs
from ..lexicon.drugs import is_class_member
from ..lexicon.matching import cue_regex
from ..lexicon.tree import find_relation
from .document import Document, Sentence
from .numbers import is_of_other_arm, list_figures
from .reading import QuotedPassage
from .sections import is_full_text
from .text import plain, says

_DOSE = r"(?:\(?\d[\d.,]*\s*(?:m?c?g|microg|iu|ml)(?:/(?:day|d|kg))?\)?\s*)?"
_SALT = r"(?:\s+(?:acetate|hydrochloride|sodium|sulfate|maleate|besylate|calcium|potassium|valerate))?"
_JOINING = rf"{_SALT}\s*{_DOSE}(?:/|\+|-|plus|combined with|in combination with|together with)\s*{_DOSE}"
_JOIN = re.compile(_JOINING, re.IGNORECASE)
_PAIRED = re.compile(rf"{_SALT}\s*{_DOSE}(?:,|,? and|with(?: \w+){{0,3}})\s*", re.IGNORECASE)
"""Between two drugs that are joined if a combination is named right before them or after."""
_WITH_UNKNOWN = re.compile(r"\s*/\s*(?:\d[\d.]* \w+ )?[A-Z]{2,}")
"""Behind a drug: an abbreviation that it is joined with ("BZA/CE")."""
_DENIED = re.compile(r"\b(?:not|nor|neither)\s+(?:(?:with|by|in|for|of)\s+)?$", re.IGNORECASE)
_COMBINED_BEFORE = re.compile(
    r"\b(?:combinations?|combined) (?:therapy |treatment |use )?(?:of|with)\s+(?:[\w-]+\s+)?$", re.IGNORECASE
)
_COMBINED_AFTER = re.compile(r"\s*(?:(?:[\w-]+\s+){0,2}combinations?|(?:\w+\s+)?together)\b", re.IGNORECASE)
_LISTING = re.compile(rf"{_JOINING}|\s*{_DOSE}(?:,|,? (?:and|or|with))\s*", re.IGNORECASE)
_WITHOUT_COMMA = re.compile(rf"{_JOINING}|\s*{_DOSE}(?:and|or)\s*", re.IGNORECASE)
"""Behind a comma the sentence goes on: "after failure of methotrexate, baricitinib helped"."""
_CLAUSE = re.compile(r";|:|\.\s|,? (?:but|whereas|while|although|though|however)\b", re.IGNORECASE)
_THAN = re.compile(
    r"\b(?:more|less|better|greater|higher|lower|superior|inferior)\b[^.;]*\bthan (?:[\w-]+ ){0,3}$", re.IGNORECASE
)
"""Before the only drug named, which is the one compared with: "more effective than diet or"."""
_WORDS_BEFORE = 2  # between "than" and a drug: "than with oral"
UNNAMED = "another drug"
"""A partner of a combination that is not named."""
DrugSpan = tuple[str, int, int]
"""A drug and its offsets in a passage."""


class PassageContrast:
    """A passage with the drugs that it names.

    Args:
        text: whole sentences.
        drugs: those that it names, also by the record's abbreviations; None looks them up in the text alone.

    >>> passage = PassageContrast("Aspirin prevents migraine less well than metoprolol, but it is better tolerated.")
    >>> passage.find_rivals("aspirin")
    ('metoprolol',)
    >>> passage.is_denied("aspirin"), passage.is_denied("metoprolol")
    (True, False)
    >>> PassageContrast("Norethindrone/ethinyl estradiol kept bone density.").find_partners("norethindrone")
    ('ethinylestradiol',)
    """

    def __init__(self, text: str, drugs: Sequence[DrugSpan] | None = None) -> None:
        self.text = plain(text)
        spans = [(mention.name, mention.start, mention.end) for mention in find_drugs(self.text)]
        self.drugs = sorted({*spans, *(drugs or ())}, key=lambda drug: (drug[1], -drug[2]))

    @classmethod
    def of_passages(cls, passages: Sequence[QuotedPassage], document: Document) -> "PassageContrast":
        """Return the passages of a reading as one text, with the drugs that the record names there."""
        text = ""
        drugs = list[DrugSpan]()
        for passage in passages:
            shift = len(text) - passage.start
            if not is_full_text(passage.section):
                inside = [drug for drug in document.drugs if passage.start <= drug[1] and drug[2] <= passage.end]
                drugs += [(name, start + shift, end + shift) for name, start, end in inside]
            text += f"{passage.text} "
        return cls(text.strip(), drugs)

    @classmethod
    @lru_cache(maxsize=64)  # asked of one record for each drug in turn
    def of_record(cls, document: Document) -> "PassageContrast":
        """Return a whole record, with the drugs that it names."""
        return cls(document.whole, document.drugs)

    @classmethod
    @lru_cache(maxsize=1024)
    def of_sentence(cls, sentence: Sentence) -> "PassageContrast":
        """Return a sentence of a record, with the drugs that the record names there."""
        start = sentence.start
        end = sentence.end
        inside = [drug for drug in sentence.document.drugs if start <= drug[1] and drug[2] <= end]
        return cls(
            sentence.document.whole[start:end], [(name, first - start, last - start) for name, first, last in inside]
        )

    def mentions(self, drug: str) -> bool:
        """Whether it names a drug."""
        return any(name == drug for name, _, _ in self.drugs)

    def mentions_class_of(self, drug: str) -> bool:
        """Whether it names a class that a drug belongs to."""
        return any(is_class_member(drug, name) for name, *_ in Document.cut("", self.text).classes)

    def find_rivals(self, drug: str) -> tuple[str, ...]:
        """Find the drugs right behind "than", "versus" and the like; empty if placebo or nothing is named too."""
        if says("nothing", self.text):
            return ()
        for cue in cue_regex("compared with", __package__).finditer(self.text):
            rivals = self._take_listed(cue.end())
            if rivals and drug not in rivals:
                return tuple(dict.fromkeys(rivals))
        return ()

    def _take_listed(self, start: int, listing: re.Pattern[str] = _LISTING) -> list[str]:
        """Take the drugs from an offset on, as long as only words that join or list drugs stand between them."""
        listed = list[str]()
        for name, first, last in self.drugs:
            if first < start:
                continue
            between = self.text[start:first]
            if not (listing.fullmatch(between) if listed else len(between.split()) <= _WORDS_BEFORE):
                break
            listed.append(name)
            start = last
        return listed

    def find_partners(self, drug: str) -> tuple[str, ...]:
        """Find the drugs joined with a drug wherever it is named: "A/B", "A plus B"; empty if it is named alone too."""
        partners = list[str]()
        for at, (name, _, _) in enumerate(self.drugs):
            if name != drug:
                continue
            if _WITH_UNKNOWN.match(self.text[self.drugs[at][2] :]):
                partners.append(UNNAMED)
                continue
            near = [place for place in (at - 1, at + 1) if 0 <= place < len(self.drugs)]
            joined = [self.drugs[place][0] for place in near if self._is_joined(min(at, place))]
            joined = [other for other in joined if other != drug]
            if not joined:
                return ()
            partners += joined
        return tuple(dict.fromkeys(partners))

    def _is_joined(self, at: int) -> bool:
        (_, start, end), (_, following, last) = self.drugs[at], self.drugs[at + 1]
        between = self.text[end:following]
        if _JOIN.fullmatch(between):
            return True
        is_combined = _COMBINED_BEFORE.search(self.text[:start]) or _COMBINED_AFTER.match(self.text[last:])
        return _PAIRED.fullmatch(between) is not None and is_combined is not None

    def is_denied(self, drug: str) -> bool:
        """Whether the clause that names a drug says that it did less than another or not significantly more.

        Also if nothing is reported yet, or the drug stands behind "but not".

        In a passage on this drug alone, also whether anything is said that it did not do.
        """
        for start, end in self._find_own_clauses(drug):
            clause = self.text[start:end]
            if says("reports nothing yet", clause) or says("not significantly", clause):
                return True
            less = says("less effective", clause)
            before = [
                name for name, first, last in self.drugs if first >= start and less and last <= start + less.start()
            ]
            if before[-1:] == [drug]:
                return True
        if any(name == drug and _DENIED.search(self.text[:first]) for name, first, _ in self.drugs):
            return True
        is_alone = {name for name, _, _ in self.drugs} == {drug}
        return is_alone and says("did not work", self.text) is not None

    def limit_to(self, condition: str) -> "PassageContrast":
        """Return the clauses that are not on other conditions alone; the whole if it names no others."""
        conditions = Document.cut("", self.text).conditions
        clauses = list[str]()
        for start, end in self._split_clauses():
            inside = {name for name, first, _ in conditions if start <= first < end}
            if not inside or condition in inside:
                clauses.append(self.text[start:end])
        return (
            PassageContrast("".join(clauses)) if clauses and {name for name, *_ in conditions} - {condition} else self
        )

    def is_on_other_conditions(self, condition: str) -> bool:
        """Whether it names conditions, and none that is the one asked about, a form of it, or what it is a form of."""
        names = {name for name, *_ in Document.cut("", self.text).conditions}
        return bool(names) and all(find_relation(name, condition) == "other" for name in names)

    def is_denied_for(self, condition: str) -> bool:
        """Whether a clause that names a condition says that the drug did not work there, as others do not.

        >>> passage = PassageContrast("Nifedipine helps in migraine but cannot be recommended for tension headache.")
        >>> passage.is_denied_for("tension-type headache"), passage.is_denied_for("migraine")
        (True, False)
        """
        conditions = Document.cut("", self.text).conditions
        if {name for name, *_ in conditions} <= {condition}:
            return False
        for start, end in self._split_clauses():
            inside = {name for name, first, _ in conditions if start <= first < end}
            if inside == {condition} and says("did not work", self.text[start:end]):
                return True
        return False

    def _find_own_clauses(self, drug: str) -> Iterator[tuple[int, int]]:
        """Yield the offsets of the clauses that name a drug; of all if none does."""
        for start, end in self._split_clauses():
            if not self.mentions(drug) or any(name == drug and start <= first < end for name, first, _ in self.drugs):
                yield start, end

    def _split_clauses(self) -> Iterator[tuple[int, int]]:
        start = 0
        for end in [*(mark.start() for mark in _CLAUSE.finditer(self.text)), len(self.text)]:
            yield start, end
            start = end

    def is_guarded(self, drug: str) -> bool:
        """Whether a clause that names a drug tells its effect in guarded words: "may help", "promising"."""
        clauses = [self.text[start:end] for start, end in self._find_own_clauses(drug)]
        return any(says("told with a guard", clause) for clause in clauses)

    def is_rival(self, drug: str) -> bool:
        """Whether it names a drug behind "than", "versus" and the like, or joined with others, alone.

        Another one, or what was added to it, is compared with it.

        >>> PassageContrast("Combined therapy was more effective than infliximab.").is_rival("infliximab")
        True
        """
        is_lone = {name for name, _, _ in self.drugs} == {drug}
        if is_lone:
            places = [first for _, first, _ in self.drugs]
            return bool(places) and all(_THAN.search(self.text[:place]) for place in places)
        return self._is_behind_cue(drug, "compared with", _LISTING)

    def is_given_before(self, drug: str) -> bool:
        """Whether it names a drug behind "refractory to", "washout of" and the like alone: the result is another's.

        Also behind "interferes with the efficacy of".

        >>> passage = PassageContrast("After failure of methotrexate, baricitinib led to remission.")
        >>> passage.is_given_before("methotrexate"), passage.is_given_before("baricitinib")
        (True, False)
        """
        return self._is_behind_cue(drug, "given before", _WITHOUT_COMMA)

    def _is_behind_cue(self, drug: str, cues: str, listing: re.Pattern[str]) -> bool:
        """Whether a passage that names other drugs too names this one behind such a cue alone."""
        behind = list[int]()
        for cue in cue_regex(cues, __package__).finditer(self.text):
            count = len(self._take_listed(cue.end(), listing))
            places = [at for at, (_, first, _) in enumerate(self.drugs) if first >= cue.end()]
            behind += places[:count]
        own = [at for at, (name, _, _) in enumerate(self.drugs) if name == drug]
        others = [at for at in range(len(self.drugs)) if at not in behind]
        apart = [at for at in own if at not in behind]
        joined = cues == "compared with" and self._are_joined(apart)
        return bool(own) and bool(others) and len(apart) < len(own) and (not apart or joined)

    def _are_joined(self, places: Sequence[int]) -> bool:
        """Whether each of some drugs is joined with the one before or behind it."""
        return all(self._is_joined_there(place) for place in places)

    def _is_joined_there(self, place: int) -> bool:
        """Whether a drug is joined with the one before or behind it; `place` counts the drugs of the passage."""
        last = len(self.drugs) - 1
        return any(0 <= at < last and self._is_joined(at) for at in (place - 1, place))

    def is_on_others(self, drug: str) -> bool:
        """Whether it names other drugs, and neither the drug nor a class that it belongs to."""
        if not self.drugs or self.mentions(drug):
            return False
        return not self.mentions_class_of(drug)

    def list_figures(self, drug: str) -> list[str]:
        """List the figures in the order written; none if it names another drug, and none that is placebo's."""
        if any(name != drug for name, _, _ in self.drugs):
            return []
        return drop_other_arms(self.text)


def drop_other_arms(text: str) -> list[str]:
    """List the figures of a text without those right behind placebo or nothing.

    >>> drop_other_arms("Attacks fell in 44.1% of those on it and in placebo 24.2% (p<0.001).")
    ['44.1%', 'p<0.001']
    """
    own_figures = list[str]()
    start = 0
    written = plain(text)
    for figure in list_figures(written):
        place = re.compile(re.escape(figure).replace(r"\ ", r"\s+")).search(written, start)
        if place is None:
            own_figures.append(figure)
            continue
        start = place.end()
        if not is_of_other_arm(written, place.start(), place.end(), ()):
            own_figures.append(figure)
    return own_figures
