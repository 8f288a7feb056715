"""What a passage itself holds of a comparison: the drug it compares with, the partners it joins, what it denies."""

import re
from collections.abc import Iterator, Sequence

from ..lexicon import find_drugs
from ..lexicon.drugs import is_class_member
from ..lexicon.matching import cue_regex
from .document import Document
from .numbers import figures, is_of_other_arm
from .reading import QuotedPassage
from .sections import is_full_text
from .text import plain, says

_DOSE = r"(?:\(?\d[\d.,]*\s*(?:m?c?g|iu|ml)(?:/(?:day|d|kg))?\)?\s*)?"
_JOINING = rf"\s*{_DOSE}(?:/|\+|plus|combined with|in combination with|together with)\s*"
_JOIN = re.compile(_JOINING, re.IGNORECASE)
_LISTING = re.compile(rf"{_JOINING}|\s*{_DOSE}(?:,|,? (?:and|or|with))\s*", re.IGNORECASE)
_CLAUSE = re.compile(r";|:|\.\s|,? (?:but|whereas|while|although|though|however)\b", re.IGNORECASE)
_WORDS_BEFORE = 2  # between "than" and a drug: "than with oral"
Named = tuple[str, int, int]
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

    def __init__(self, text: str, drugs: Sequence[Named] | None = None) -> None:
        self.text = plain(text)
        found = [(mention.name, mention.start, mention.end) for mention in find_drugs(self.text)]
        self.drugs = sorted({*found, *(drugs or ())}, key=lambda drug: (drug[1], -drug[2]))

    @classmethod
    def of(cls, passages: Sequence[QuotedPassage], document: Document) -> "PassageContrast":
        """Return the passages of a reading as one text, with the drugs that the record names there."""
        text, drugs = "", list[Named]()
        for passage in passages:
            shift = len(text) - passage.start
            if not is_full_text(passage.section):
                inside = [each for each in document.drugs if passage.start <= each[1] and each[2] <= passage.end]
                drugs += [(name, start + shift, end + shift) for name, start, end in inside]
            text += f"{passage.text} "
        return cls(text.strip(), drugs)

    def names(self, drug: str) -> bool:
        """Whether it names a drug."""
        return any(name == drug for name, _, _ in self.drugs)

    def find_rivals(self, drug: str) -> tuple[str, ...]:
        """Find the drugs right behind "than", "versus" and the like; empty if placebo or nothing is named too."""
        if says("nothing", self.text):
            return ()
        for cue in cue_regex("compared with", __package__).finditer(self.text):
            named = self._take_listed(cue.end())
            if named and drug not in named:
                return tuple(dict.fromkeys(named))
        return ()

    def _take_listed(self, start: int) -> list[str]:
        """Take the drugs from an offset on, as long as only words that join or list drugs stand between them."""
        found = list[str]()
        for name, first, last in self.drugs:
            if first < start:
                continue
            between = self.text[start:first]
            if not (_LISTING.fullmatch(between) if found else len(between.split()) <= _WORDS_BEFORE):
                break
            found.append(name)
            start = last
        return found

    def find_partners(self, drug: str) -> tuple[str, ...]:
        """Find the drugs joined with a drug wherever it is named: "A/B", "A plus B"; empty if it is named alone too."""
        partners = list[str]()
        for at, (name, _, _) in enumerate(self.drugs):
            if name != drug:
                continue
            near = [place for place in (at - 1, at + 1) if 0 <= place < len(self.drugs)]
            joined = [self.drugs[place][0] for place in near if self._is_joined(min(at, place))]
            joined = [other for other in joined if other != drug]
            if not joined:
                return ()
            partners += joined
        return tuple(dict.fromkeys(partners))

    def _is_joined(self, at: int) -> bool:
        between = self.text[self.drugs[at][2] : self.drugs[at + 1][1]]
        return _JOIN.fullmatch(between) is not None

    def is_denied(self, drug: str) -> bool:
        """Whether the clause that names a drug says that it did less than another, or that nothing is reported yet.

        In a passage on this drug alone, also whether anything is said that it did not do.
        """
        for start, end in self._own_clauses(drug):
            clause = self.text[start:end]
            if says("reports nothing yet", clause):
                return True
            less = says("less effective", clause)
            before = [
                name for name, first, last in self.drugs if first >= start and less and last <= start + less.start()
            ]
            if before[-1:] == [drug]:
                return True
        is_alone = {name for name, _, _ in self.drugs} == {drug}
        return is_alone and says("did not work", self.text) is not None

    def _own_clauses(self, drug: str) -> Iterator[tuple[int, int]]:
        """Yield the offsets of the clauses that name a drug; of all if none does."""
        start = 0
        for end in [*(mark.start() for mark in _CLAUSE.finditer(self.text)), len(self.text)]:
            if not self.names(drug) or any(name == drug and start <= first < end for name, first, _ in self.drugs):
                yield start, end
            start = end

    def is_guarded(self, drug: str) -> bool:
        """Whether a clause that names a drug tells its effect in guarded words: "may help", "promising"."""
        clauses = [self.text[start:end] for start, end in self._own_clauses(drug)]
        return any(says("told with a guard", clause) for clause in clauses)

    def is_rival(self, drug: str) -> bool:
        """Whether it names a drug behind "than", "versus" and the like alone: another one is compared with it."""
        behind = list[int]()
        for cue in cue_regex("compared with", __package__).finditer(self.text):
            count = len(self._take_listed(cue.end()))
            places = [at for at, (_, first, _) in enumerate(self.drugs) if first >= cue.end()]
            behind += places[:count]
        own = [at for at, (name, _, _) in enumerate(self.drugs) if name == drug]
        others = [at for at in range(len(self.drugs)) if at not in behind]
        return bool(own) and bool(others) and set(own) <= set(behind)

    def is_on_others(self, drug: str) -> bool:
        """Whether it names other drugs, and neither the drug nor a class that it belongs to."""
        if not self.drugs or self.names(drug):
            return False
        classes = Document.cut("", self.text).classes
        return not any(is_class_member(drug, name) for name, *_ in classes)

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
    kept, start = list[str](), 0
    written = plain(text)
    for figure in figures(written):
        place = re.compile(re.escape(figure).replace(r"\ ", r"\s+")).search(written, start)
        if place is None:
            kept.append(figure)
            continue
        start = place.end()
        if not is_of_other_arm(written, place.start(), place.end(), ()):
            kept.append(figure)
    return kept
