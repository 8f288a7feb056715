"""Whether a drug suits the people whom a question names: pregnancy, children, people with renal failure, on warfarin.

| told of the drug for these people | where | the drug |
|---|---|---|
| contraindicated, to be avoided | the curated tables | does not lead |
| boxed warning | the curated tables, for pregnancy, breastfeeding and children | does not lead |
| a sentence that names them | a label's contraindications | does not lead |
| a sentence that names them | a label's boxed warning, for pregnancy, breastfeeding and children | does not lead |
| a contraindication | a drug database | does not lead |
| not to be given with what they take | the curated table, a label's contraindications | does not lead |
| nothing, and of the labels that were read none is its own | | is marked as not checked |

A condition that the people have is met by its names and by those of what it is a form of: chronic kidney disease by
"renal failure". A withdrawal, which a study that was read may tell too, bars a drug for everybody.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from willowbark.tools.records.registry import kind_of

from ..lexicon import canonical_drug, list_contraindications
from ..lexicon.conditions import canonical_condition
from ..lexicon.drugs import list_tabled_conditions, list_unsuited
from ..lexicon.matching import compile_cues
from ..lexicon.tree import find_relation
from ..questions import Question, speaks_of
from ..questions.question import SEXES
from ..reading.document import Document, Sentence
from ..records import Drug, Label
from ..records.evidence import Evidence
from .fit import COUNTED

NOT_FOR = "Not for"
NOT_CHECKED = "Not checked for"
WITHDRAWN = "Withdrawn"
"""What a caution begins with."""
BARRING = (NOT_FOR, WITHDRAWN)
"""Beginnings of cautions by which a drug never leads."""
_FRAIL = frozenset({"pregnancy", "breastfeeding", "children"})
"""People whom a boxed warning that names them bars from a drug."""
_BARS = frozenset({"contraindicated", "avoid"})
_GONE = "withdrawn/withdrew/removed/recalled/taken/withdrawal/removal"
_OFF_THE_MARKET = compile_cues(f"{_GONE} _ from/off _ market/markets")
_STAYS = compile_cues(f"not/never/before/without/until/if/should/could _ {_GONE}")
"""A withdrawal that is denied, or of which only the chance is told."""


def list_people(question: Question) -> tuple[str, ...]:
    """List whom a question names: a population, conditions that people have, drugs that they take.

    Men and women are left out: labels name them for other reasons.
    """
    groups = [name for name in question.people if name not in SEXES]
    return tuple(dict.fromkeys([*groups, *question.background, *question.taking]))


def list_bars(
    drug: str, question: Question, entries: Sequence[Evidence], *, has_labels: bool = True
) -> tuple[str, ...]:
    """List why a drug is not for the people whom a question names, or that it was not checked; by the table above.

    Args:
        drug: generic name in lower case.
        question: the question.
        entries: the drug's database entries and labels among the records.
        has_labels: whether any drug's label is among the records; if none is, that is no news of one drug.

    Returns:
        Cautions, each with its source; empty if the question names nobody, or nothing speaks against the drug.
    """
    is_looked_up = any(isinstance(entry.record, Label) for entry in entries)
    bars = list[str]()
    for group in list_people(question):
        who = f"people taking {group}" if group in question.taking else group
        reasons = dict.fromkeys([*_find_in_table(drug, group), *_find_in_entries(group, entries)])
        bars += [f"{NOT_FOR} {who}: {reason}" for reason in list(reasons)[:1]]  # the others stand among its cautions
        if has_labels and not (reasons or is_looked_up):
            bars.append(f"{NOT_CHECKED} {who}: no label of it is among the records")
    return tuple(bars)


def _find_in_table(drug: str, group: str) -> Iterator[str]:
    for contraindication in (*list_contraindications(drug, _names_alike(group)), *list_unsuited(drug, group)):
        if contraindication.kind in _BARS or group in _FRAIL:
            yield f"{contraindication.kind}: {contraindication}"


@cache
def _names_alike(group: str) -> tuple[str, ...]:
    """Return the table's names for a group: its own, and those of what it is a form of."""
    if canonical_condition(group) is None:
        return (group,)
    akin = (name for name in list_tabled_conditions() if canonical_condition(name) and _includes_group(name, group))
    return (group, *akin)


def _includes_group(name: str, group: str) -> bool:
    return find_relation(group, name) in COUNTED


def _find_in_entries(group: str, entries: Iterable[Evidence]) -> Iterator[str]:
    names_it = _find_namer(group)
    for entry in entries:
        record = entry.record
        if isinstance(record, Drug):
            names = [name for name in record.contraindications if any(map(names_it, _list_sentences(name)))]
            yield from (f"contraindicated: {name}, by DrugCentral ({entry.key})" for name in names[:1])
        elif isinstance(record, Label):
            sections = dict(part.split(": ", 1) for part in entry.content.split("\n\n")[1:] if ": " in part)
            for heading in ("Contraindications", *["Boxed warning"] * (group in _FRAIL)):
                texts = [sentence.text for sentence in _list_sentences(sections.get(heading, "")) if names_it(sentence)]
                yield from (f"{heading.lower()}: “{text}” ({entry.key})" for text in texts[:1])


def _list_sentences(text: str) -> Sequence[Sentence]:
    return Document.cut("", text).sentences


def _find_namer(group: str) -> Callable[[Sentence], bool]:
    """Return a test for whether a sentence names a group: a condition, a drug that people take, a population."""
    if canonical_condition(group):
        return lambda sentence: any(_includes_group(name, group) for name, _, _ in sentence.conditions)
    if canonical_drug(group):
        return lambda sentence: group in sentence.drugs
    return lambda sentence: speaks_of(sentence.text, group)


def find_withdrawals(pool: Iterable[Evidence]) -> dict[str, str]:
    """Find drugs that a publication says were taken off a market, each with a caution that quotes the first to say so.

    Only sentences that name one drug count.
    """
    cautions: dict[str, str] = {}
    for record in pool:
        if kind_of(record) != "publication" or not _OFF_THE_MARKET.search(record.content):
            continue
        for sentence in Document.of(record).sentences:
            if len(sentence.drugs) == 1 and _OFF_THE_MARKET.search(sentence.text) and not _STAYS.search(sentence.text):
                [drug] = sentence.drugs
                cautions.setdefault(drug, f"{WITHDRAWN}: “{sentence.text}” ({record.key})")
    return cautions


def is_barred(cautions: Iterable[str]) -> bool:
    """Whether one of a drug's cautions keeps it from leading."""
    return any(caution.startswith(BARRING) for caution in cautions)
