"""From a question to search queries: what is asked, in the words that sources index."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple

from willowbark.tools.errors import UsageError
from willowbark.tools.lexicon import (
    asked_condition,
    canonical_class,
    canonical_condition,
    canonical_drug,
    class_synonyms,
    common_drug_names,
    condition_synonyms,
    find_conditions,
    find_deeds,
    find_drug_classes,
    find_drugs,
    find_people,
)
from willowbark.tools.lexicon.conditions import find_known_conditions
from willowbark.tools.lexicon.matching import Match, apart, phrase_key

from .kinds import CONDITION, DRUG, ON_HARM, Kind, Name, kind_of, without_asking
from .query_syntax import Token, bare_words, lex, normalised
from .scope import find_excluded, find_population, find_sex, without_them

LONGEST_QUESTION = 2000  # characters; a question, not a document
LONGEST_NAME = 8  # words of a known name
MOST_SYNONYMS = 8  # per concept: PubMed and Europe PMC take queries by GET

MOST_PASSES = 10  # stray punctuation reads differently once it is gone; any sane question settles in one

Intent = Literal["treatment", "prevention", "unknown"]

_PREVENTION = ("prevent", "prevention", "prophylaxis", "prophylactic")
_PREVENTION_WORD = re.compile(r"prevent\w*|prophyla\w*", re.IGNORECASE)
_TREATMENT_WORD = re.compile(
    r"\b(?:treat\w*|therap\w*|help\w*|cures?|reliev\w*|manag\w*|drugs?|medicines?|medications?|repurpos\w*|"
    r"useful|effective\w*|benefit\w*|works?)\b",
    re.IGNORECASE,
)
# Words of asking and of intent. They carry no meaning for a source; `prevent` does.
_NOISE = frozenset(
    """
    a about actually against agent agents all already also am an and any anyone anything approved are as at
    available avoid avoided avoiding be been being benefit benefits best better between both but by can candidate
    candidates cause caused causes causing compare compared compares comparing comparison contraindicated
    contraindications could current currently dangerous did do does doing drug drug's drugs each effective
    effectively effectiveness efficacy ever evidence exist existing exists fail failed fails find for from give
    given good got had harmful has have having help helped helpful helping helps here how i if improve improves
    improving in ineffective instead into is it its just know known licensed like look looking manage management
    managing may me mechanism mechanisms medication medications medicine medicines might more most must my new no
    nor not of off-label ok okay on one only option options or other our out patient patients people please plus
    possible possibly potential potentially promise promising rather recommended relevant repurpose repurposed
    repurposing research safe safely safety seem seems should show showing shown shows so some such suggest suggested
    suitable
    superior take taken tell than that the their them then therapeutic therapeutics therapies therapy there these
    they this those to today treat treated treating treatment treatments treats try unsafe us use used useful
    useless uses using versus vs was we well were what what's whats when where whether which who whose why will with
    without work worked working works would yet you your
    """.split()
)
_BOUND = frozenset(
    """
    gene therapy;cell therapy;stem cell therapy;hormone therapy;hormone replacement therapy;radiation therapy;
    combination therapy;light therapy;speech therapy;exercise therapy;tumor necrosis factor;tumour necrosis factor;
    tumor necrosis factor alpha;tumour necrosis factor alpha;tumor necrosis factor-alpha;tumour necrosis factor-alpha;
    cell death;programmed cell death
    """.strip()
    .replace("\n    ", "")
    .split(";")
)
"""What means something else than its words do one by one."""
_UNREADABLE = frozenset(("Cc", "Cs"))  # control characters, surrogates
_NAMES_THAT_ARE_WORDS = frozenset(("WHO", "US", "IT"))
_DRUGS = frozenset("drug drugs medicine medicines medication medications pill pills".split())
"""A condition before these words names a class of drugs by its use."""


class QuestionError(UsageError, ValueError):
    """The question cannot be searched for; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question asks."""

    text: str
    """The question as given."""
    kind: Kind
    """What is asked: treatment, harm, a comparison, …"""
    conditions: tuple[str, ...]
    """Common names of the conditions it names, in its order."""
    drugs: tuple[str, ...]
    """Generic names of the drugs it names, in its order."""
    drug_classes: tuple[str, ...]
    """Classes of drugs it names, in its order; by their use where it asks about another condition: `gout drugs`."""
    excluded_drugs: tuple[str, ...]
    """Drugs that are asked to be left out: "but not propranolol"."""
    excluded_classes: tuple[str, ...]
    """Classes that are asked to be left out: "without triptans"."""
    population: str | None
    """Who it asks about beyond those with a disease: pregnancy, children, …; None where it names none."""
    sex: str | None
    """`men` or `women`, where it asks about them alone; None where it does not."""
    intent: Intent
    """Prevention when it asks to prevent; unknown when it asks for neither."""
    terms: tuple[str, ...]
    """Its words that carry meaning, names in one piece, as they stand."""

    @property
    def people(self) -> tuple[str, ...]:
        """Its population and its sex, as far as it names them."""
        return tuple(filter(None, (self.population, self.sex)))

    @property
    def asks_what_helps(self) -> bool:
        """Whether an answer takes weighing what speaks for a drug; not where harm is asked about, or how one acts."""
        return self.kind not in ON_HARM and bool(self.kind != "mechanism" or self.conditions)

    @property
    def names_all(self) -> bool:
        """Whether it is about the drugs and classes that it names, and no others: "is valproate safe in pregnancy?"."""
        open_ended = self.kind in ("treat", "prevent", "avoid", "other")
        return not open_ended and bool(self.drugs or self.drug_classes)


@dataclass(slots=True)
class _Unit:
    """A piece of a query between operators: a known concept, a word, or something to be left as it stands."""

    words: list[str]
    """The user's own words, without query syntax; names in one piece."""
    spelled: list[str]
    """What to search for, the user's own words first; one alone when it is to be left as it stands."""
    concept: str = ""
    """What the words are known to name; empty when that is not known."""
    operator: str = ""
    """What stands before it: AND, OR, NOT; "or" in lower case within a sentence; empty for nothing."""

    def render(self) -> str:
        """The unit in query syntax."""
        return self.spelled[0] if len(self.spelled) == 1 else f"({' OR '.join(self.spelled)})"


def validate_question(text: str) -> str:
    """A question that can be searched for, without the white space around it.

    Raises:
        QuestionError: it is empty, too long, without letters, or holds control characters as binary data do.
    """
    if not isinstance(text, str):
        raise QuestionError(f"the question must be text, not {type(text).__name__}")
    asked = text.strip()
    if not asked:
        raise QuestionError("the question is empty; ask, for example, which existing drugs might prevent migraine")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(f"the question has {len(asked):,} characters; at most {LONGEST_QUESTION:,} are read")
    if any(unicodedata.category(each) in _UNREADABLE and each not in "\t\n\r" for each in asked) or "\ufffd" in asked:
        raise QuestionError("the question holds control characters or unreadable bytes; send plain text")
    if not any(map(str.isalpha, " ".join(bare_words(normalised(asked))))):
        raise QuestionError("the question has no words; name a condition or a drug")
    return asked


@lru_cache(maxsize=256)  # several specialists ask the same, and the judge before them
def preprocess_query(question: str) -> str:
    """A question as a boolean query: noise taken out, synonyms added, what the user wrote in query syntax kept.

    >>> preprocess_query("What drugs might help prevent erectile dysfunction?")
    '(prevent OR prevention OR prophylaxis OR prophylactic) AND ("erectile dysfunction" OR impotence)'
    """
    query = _boolean(_excluding(_searched(_focused(_plain(question)))))
    for _ in range(MOST_PASSES):
        former, query = query, _boolean(query)
        if query == former:
            break
    return query


def _boolean(text: str) -> str:
    parts: list[str] = []
    for unit in _units(text):
        if parts or unit.operator == "NOT":
            parts.append(unit.operator or "AND")
        parts.append(unit.render())
    return " ".join(parts or bare_words(text))


def plain_query(question: str) -> str:
    """The words of a question that carry meaning, without any query syntax.

    >>> plain_query("Which existing drugs could treat migraine AND aura[tiab]?")
    'migraine aura'
    """
    text = _excluding(_searched(_plain(question)))
    own = " ".join(words for unit in _units(text) if unit.operator != "NOT" for words in unit.words)
    return " ".join(_distinct(bare_words(own) or bare_words(text)))


@lru_cache(maxsize=256)
def parse_question(question: str) -> ParsedQuestion:
    """What a question names and what it wants.

    >>> parse_question("Which diabetes drugs show promise for cancer?").conditions
    ('cancer',)
    """
    text = _plain(question)
    names = _names(text)
    excluded = find_excluded(text, names.all, names.is_drug)
    left_out = {each.match for each in excluded}
    wanted = text
    for each in excluded:
        wanted = wanted[: each.start] + " " * (each.end - each.start) + wanted[each.end :]
    asked = _units(_excluding(_searched(text)))
    return ParsedQuestion(
        text=question,
        kind=kind_of(wanted, names.masks),
        conditions=_distinct(each.value for each in names.conditions if each not in left_out),
        drugs=_distinct(each.value for each in names.drugs if each not in left_out),
        drug_classes=_distinct(each.value for each in names.classes if each not in left_out),
        excluded_drugs=_distinct(each.value for each in names.drugs if each in left_out),
        excluded_classes=_distinct(each.value for each in names.classes if each in left_out),
        population=find_population(text),
        sex=find_sex(text),
        intent=_intent(text),
        terms=_distinct(words for unit in asked if unit.operator != "NOT" for words in unit.words),
    )


class _Names(NamedTuple):
    """What a question names, each in its order."""

    conditions: list[Match[str]]
    drugs: list[Match[str]]
    classes: list[Match[str]]

    @property
    def all(self) -> list[Match[str]]:
        """Names that overlap none of those before it."""
        return apart(apart(self.classes, self.drugs), self.conditions)

    @property
    def masks(self) -> list[Name]:
        """What hides them where the kind of a question is told."""
        return [Name(DRUG if self.is_drug(each) else CONDITION, each.start, each.end) for each in self.all]

    def is_drug(self, name: Match[str]) -> bool:
        """Whether a name is a drug's or a class's."""
        return name not in self.conditions


def _plain(question: str) -> str:
    """A question in one spelling, with what is not there said in one word."""
    return normalised(question).replace("cannot", "can not").replace("an't ", "an not ").replace("n't ", " not ")


@lru_cache(maxsize=256)
def _names(text: str) -> _Names:
    """What a question names.

    What is to be done ("quit smoking") names a condition as its name does; who has it does where nothing else is named.
    """
    classes = [Match(found.name, found.start, found.end) for found in find_drug_classes(text)]
    drugs = [Match(found.name, found.start, found.end) for found in find_drugs(text)]
    named = [Match(found.name, found.start, found.end) for found in find_conditions(text)]
    known = [Match(*each) for each in find_known_conditions(text)]
    classes = [each for each in classes if not any(_lies_in(each, condition) for condition in known)]
    deeds = [deed for deed in find_deeds(text) if not any(_lies_in(condition, deed) for condition in known)]
    found = apart(classes, apart(deeds, named) or find_people(text))
    conditions = [match for match in found if match not in classes]
    by_use = [match for match in conditions if _speaks_of_drugs(text[match.end :])]
    if len({match.value for match in conditions}) > len({match.value for match in by_use}):
        conditions = [match for match in conditions if match not in by_use]
        classes += [Match(f"{match.value} drugs", match.start, match.end) for match in by_use]
    return _Names(conditions, drugs, sorted(classes, key=lambda match: match.start))


def _speaks_of_drugs(rest: str) -> bool:
    """Whether a text goes on with a word for drugs: " drugs", "-lowering medicines"."""
    rest = rest.lower().removeprefix(" lowering").removeprefix("-lowering")
    return rest[:1].isspace() and bool(words := bare_words(rest[:40])) and words[0] in _DRUGS


def _lies_in(one: Match[str], other: Match[str]) -> bool:
    """Whether a name is a part of another, longer one: "opioid" of "opioid use disorder"."""
    return other.start <= one.start and one.end <= other.end and one.end - one.start < other.end - other.start


def _intent(text: str) -> Intent:
    if _PREVENTION_WORD.search(text):
        return "prevention"
    return "treatment" if _TREATMENT_WORD.search(text) else "unknown"


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    """Each word once, blind to case and hyphens, in the order of first use."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(phrase_key(word) or word, word)
    return tuple(first.values())


def _quoted(words: str) -> str:
    return words if all(each.isalnum() or each in "_*$+%-" for each in words) else f'"{words}"'


def _is_noise(word: str) -> bool:
    return word.lower() in _NOISE and word not in _NAMES_THAT_ARE_WORDS


def _units(text: str) -> list[_Unit]:
    """The units of a normalised question, with the names of one concept drawn together."""
    units: list[_Unit] = []
    known: dict[str, _Unit] = {}
    for unit in _single_units(lex(text, _is_noise)):
        same = known.get(unit.concept)
        if unit.operator in ("", "or") and same:
            same.words += unit.words
            same.spelled = list(_distinct([same.spelled[0], unit.spelled[0], *same.spelled[1:]]))
        elif unit.operator == "or" and units:
            units[-1].words += unit.words
            units[-1].spelled = list(_distinct([*units[-1].spelled, *unit.spelled]))
            if known.get(units[-1].concept) is units[-1]:
                del known[units[-1].concept]
            units[-1].concept = ""
        else:
            unit.operator = unit.operator.upper() if units or unit.operator == "NOT" else ""
            units.append(unit)
            if unit.concept:
                known.setdefault(unit.concept, unit)
    return units


@lru_cache(maxsize=256)
def _searched(text: str) -> str:
    """A question without the words by which its kind is told, where others are left to search for."""
    masks = _names(text).masks
    found = without_asking(text, kind_of(text, masks), masks)
    return text if all(map(_is_noise, bare_words(found))) else found


def _focused(text: str) -> str:
    """A question on safety without the use, one on harm without those whom it may befall, and drugs that are to
    be compared as alternatives.

    Records on valproate in pregnancy seldom are on migraine too; and two drugs are compared by trials of each against
    placebo, too, which name no other.
    """
    names, safe = _names(text), find_population(text) is not None
    kind = kind_of(text, names.masks)
    beside: list[Match[str]] = []
    if kind == "safety" and safe:
        prevention = [Match("", found.start(), found.end()) for found in _PREVENTION_WORD.finditer(text)]
        beside = [*names.conditions, *prevention]
    elif kind == "harm" and names.conditions:
        beside = [each for each in find_people(text) if each not in names.conditions]
    elif kind == "compare":
        return _as_alternatives(text, names)
    for each in sorted(beside, key=lambda match: -match.start):
        text = text[: each.start] + text[each.end :]
    return text


def _as_alternatives(text: str, names: _Names) -> str:
    """A question with one drug or another; as it is where it leaves some out, or has brackets or quotes of its own."""
    arms = [each for each in names.all if names.is_drug(each)]
    is_own = not set('()"').isdisjoint(text) or find_excluded(text, names.all, names.is_drug)
    if is_own or len({each.value for each in arms}) < 2:
        return text
    spelled = " or ".join(text[each.start : each.end] for each in arms)
    first = min(arms, key=lambda arm: arm.start)
    for each in sorted(arms, key=lambda arm: -arm.start):
        before = text[: each.start]
        text = (
            before + spelled + text[each.end :]
            if each is first
            else before.rstrip().removesuffix(" or") + text[each.end :]
        )
    return text


def _excluding(text: str) -> str:
    """A question whose "without" and "but not" are the operator that they mean."""
    names = _names(text)
    return without_them(text, find_excluded(text, names.all, names.is_drug))


def _single_units(tokens: list[Token]) -> Iterator[_Unit]:
    """One unit after the other; of several operators in a row NOT counts, else the last."""
    operator, at = "", 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "operator":
            operator = "NOT" if "NOT" in (operator, token.text) else token.text
            at += 1
        elif token.kind == "fixed":
            yield _Unit([" ".join(bare_words(token.text))], [token.text], operator=operator)
            operator, at = "", at + 1
        else:
            words = [each.text for each in takewhile(lambda each: each.kind == "word", tokens[at : at + LONGEST_NAME])]
            unit, size = _next_unit(words)
            if unit:
                unit.operator = operator
                yield unit
                operator = ""
            elif words[0] == "or" and not operator:
                operator = "or"
            at += size


def _next_unit(words: list[str]) -> tuple[_Unit | None, int]:
    """The unit that the first words make, None for a word without meaning, and how many words that took."""
    for size in range(len(words), 1, -1):
        phrase = " ".join(words[:size])
        if known := _concept(phrase):
            return _known_unit(phrase, *known), size
        if phrase.lower() in _BOUND:
            return _Unit([phrase], [_quoted(phrase)]), size
    if _is_noise(words[0]):
        return None, 1
    if len(words) > 1 and _is_letter_or_number(words[1]):
        pair = " ".join(words[:2])
        return _Unit([pair], [_quoted(pair)]), 2
    if known := _concept(words[0]):
        return _known_unit(words[0], *known), 1
    return _Unit([words[0]], [_quoted(words[0])]), 1


def _is_letter_or_number(word: str) -> bool:
    """Whether a word tells kinds of one thing apart: "hepatitis A", "type 2"; I is mostly the asker."""
    if len(word) == 1 and word.isascii() and word.isupper():
        return word != "I"
    return len(word) <= 3 and (word.isdecimal() or (len(word) > 1 and set(word) <= set("IVX")))


def _known_unit(words: str, concept: str, synonyms: tuple[str, ...]) -> _Unit:
    return _Unit([words], [_quoted(each) for each in _worth_asking(words, synonyms)], concept)


def _worth_asking(words: str, synonyms: tuple[str, ...]) -> Iterator[str]:
    """The words with the synonyms to search for beside them, in their order.

    Where there are too many, those give way that hold another ("migraine attacks"), since they are found with it. Two
    capitals mostly mean something else.
    """
    others = [each for each in synonyms if phrase_key(each) != phrase_key(words)]
    told = [f" {phrase_key(words)} "]
    held = []
    for each in others:
        key = f" {phrase_key(each)} "
        if any(name in key for name in told):
            held.append(each)
        else:
            told.append(key)
    most = [*(each for each in others if each not in held), *held][:MOST_SYNONYMS]
    yield words
    yield from (each for each in others if each in most and not (len(each) == 2 and each.isupper()))


def _concept(words: str) -> tuple[str, tuple[str, ...]] | None:
    """What words name, and its names: a class before a condition before a drug."""
    if _PREVENTION_WORD.fullmatch(words):
        return "prevention", _PREVENTION
    for canonical, names in (
        (canonical_class, class_synonyms),
        (canonical_condition, condition_synonyms),
        (canonical_drug, common_drug_names),
    ):
        if name := canonical(words):
            return f"{canonical.__name__} {name}", names(name)
    name = asked_condition(words)
    if name and all(known == name for known, _, _ in find_known_conditions(words)):
        return f"{canonical_condition.__name__} {name}", condition_synonyms(name)
    return None
