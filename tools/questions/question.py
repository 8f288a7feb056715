"""Parse a question once: the names in it, exclusions, population, and kind of answer wanted."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache, reduce

from ..errors import SourceRefused, UsageError
from ..lexicon import (
    canonical_class,
    canonical_condition,
    canonical_drug,
    class_synonyms,
    find_conditions,
    find_deeds,
    find_drug_classes,
    find_drugs,
    find_people,
)
from ..lexicon.conditions import find_known_conditions, known_names
from ..lexicon.drugs import drug_names
from ..lexicon.matching import Mention, compile_cues, cue_regex, merge_mentions, read_table, stem, tokens
from .kinds import ON_HARM, QUESTIONS, Guess, NamedEntity, QuestionKind, has_role, kind_of, question_words
from .query import (
    PREVENTION_WORD,
    QueryUnit,
    as_boolean,
    bare_words,
    distinct_words,
    is_noise,
    normalise_text,
    read_units,
    tells_kinds_apart,
    write_query,
)

SURE = 0.6
"""From this probability on a kind is taken; below, the question is asked back. Chosen on the sets up to the seventh in
`benchmarks/labels/questions.tsv`."""
LONGEST_SEARCH = 3  # words that are typed to search for, not to ask
LONGEST_QUESTION = 2000  # characters; a question, not a document
SEXES = ("men", "women")
ALIKE = 0.84
SHORTEST = 6  # difflib ratio and letters of misspelt words: "schizofrenia" has 0.88
ADULT = 18
OLD = 65  # years

_UNREADABLE = frozenset(("Cc", "Cs"))  # control characters, surrogates
_OF_WOMEN = ("pregnancy", "breastfeeding")
_LATIN = frozenset(map(chr, range(0x250)))
_ON_DRUGS: Mapping[QuestionKind, str] = {
    "treat": "Does {drug} help in {condition}?",
    "prevent": "Does {drug} prevent {condition}?",
    "negative": "Was {drug} shown not to help in {condition}?",
}
_AGE = re.compile(
    r"\b(\d{1,2})[- ]?(?:(y(?:ea)?r|month|week|day)s?[- ]?olds?|yo|y/o)\b"
    r"|\baged[- ](\d{1,2})\b|\b(?:under|over)[- ](\d{1,2})s\b",
    re.IGNORECASE,
)
_OF_PEOPLE = re.compile(r"\b(?:with|has|have|had|got)\s+$", re.IGNORECASE)
_TAKES = re.compile(
    r"\b(?:(?:patients?|people|persons?|adults?|children|women|men|those|users|someone|anyone|who(?:'s)?|while|already|"
    r"is|are|am)\s+(?:already\s+)?(?:on|under|taking|receiving|using|treated with|given)|under|while on)\s+$",
    re.IGNORECASE,
)
_ON_TAKERS = frozenset({"treat", "prevent", "compare", "negative", "other"})
"""Kinds of questions in which a drug that people take is not asked about; where harm is, it may interact."""
_BOTH = re.compile(r"\b(?:both|at once|at the same time|simultaneously)\s+(?:[\w'-]+\s+){0,2}$", re.IGNORECASE)
_ASIDE = re.compile(r"\s*\([^()]*\)\W*$")
_OPERATOR = re.compile(r"\b(?:AND|OR|NOT)\b")
_NOT = re.compile(r"\bNOT\b[\s,]*")
_SYNTAX = re.compile(r'["\[]|\b(?:AND|OR|NOT)\b|\b[A-Z][A-Z_]+:(?=\S)|\([^)]*\b(?:AND|OR|NOT)\b')
_WITHOUT = re.compile(r"\bnon[- ]?([a-z]{4,})\b|\b([a-z]{4,})-(?:free|sparing)\b", re.IGNORECASE)


class QuestionError(UsageError, ValueError): ...


@dataclass(frozen=True)
class Question:
    text: str
    kind: QuestionKind
    is_sure: bool
    """Whether its kind is likely enough to answer without asking back."""
    or_kind: QuestionKind
    also: tuple[QuestionKind, ...]
    """Kinds of its other parts: "… and which were tried and failed?"."""
    conditions: tuple[str, ...]
    """Common names of the conditions to be treated or prevented, in its order."""
    background: tuple[str, ...]
    """Other conditions that the people have: "stroke in people with atrial fibrillation"."""
    drugs: tuple[str, ...]
    """Generic names of the drugs it names, in its order."""
    drug_classes: tuple[str, ...]
    """Drug classes it names, in its order; by use if it asks about another condition: `gout drugs`."""
    excluded_drugs: tuple[str, ...]
    """Drugs to exclude: "but not propranolol"."""
    excluded_classes: tuple[str, ...]
    """Classes to exclude: "without triptans"."""
    excluded_routes: tuple[str, ...]
    """Routes of administration to exclude, as in `routes.tsv`: "without injections"."""
    population: str | None
    """Population beyond those with a disease: pregnancy, children, …; None if it names none."""
    people: tuple[str, ...]
    """Its population; `men` or `women` if it asks about them only."""
    is_preventive: bool
    is_acute: bool
    """Whether it asks for acute treatment: "acute migraine"."""
    terms: tuple[str, ...]
    """Its meaningful words, unchanged; names in one piece."""
    unread: tuple[str, ...]
    """Its words that are neither known names nor question words."""
    words: str
    """The terms as plain text, without query syntax."""
    searched: str
    """The text to build the query from, without words that would miss relevant records."""
    taking: tuple[str, ...] = ()
    """Drugs that the people asked about take already, which are not asked about: "in people on warfarin"."""
    is_both: bool = False
    """Whether it asks for what helps in each of its conditions at once: "both depression and chronic pain"."""
    understood: str = ""
    """The whole question for which a few bare words stand ("aspirin repurposing"); empty if it is asked in full."""

    @cached_property
    def query(self) -> str:
        return as_boolean(self.searched)

    @cached_property
    def needs_english(self) -> bool:
        foreign = set(question_words("other languages"))
        words = [word.casefold() for word in bare_words(normalise_text(self.text).replace("'", " "))]
        others = sum(word in foreign or not any(each in _LATIN for each in word) for word in words)
        return others > sum(is_noise(word) for word in words)

    @cached_property
    def objection(self) -> str | None:
        """One-line request for clarification before any search; None if it is understood."""
        if _SYNTAX.search(self.text):
            return None
        if self.needs_english:
            return "the rules read English alone: ask in English, or choose a language model (--model)"
        known = self.conditions or self.drugs or self.drug_classes
        slots = [word for name in self.conditions if canonical_condition(name) is None for word in name.split()]
        for word in (*self.unread, *slots):
            if meant := nearest_name(word, is_drug=bool(self.conditions) and not slots):
                return f"“{word}” is not known; did you mean {meant}? In quotes it is searched for as typed"
        if known and not self.is_sure:
            meant = " or ".join(f"“{asked}”" for kind in (self.kind, self.or_kind) if (asked := self._ask(kind)))
            example = f"ask, for example: {QUESTIONS['treat'].format(condition='migraine')}"
            return f"it is not clear what is asked; {f'do you mean {meant}?' if meant else example}"
        named = (re.escape(synonym) for name in self.drug_classes for synonym in class_synonyms(name))
        general = "|".join([*question_words("drugs in general"), *named])
        property_of_drugs = rf"(?:{_WITHOUT.pattern})(?=\s+(?:{general})\b)|\b\w+(?=\s+(?:pills?|tablets?)\b)"
        for match in re.finditer(property_of_drugs, normalise_text(self.text), re.IGNORECASE):
            if match[0] in self.unread:  # "non-sedating drugs", "water pills"
                return f"“{match[0]}” is not a known drug class or route of administration; name what to exclude"
        if self.kind == "compare" and len(self.drugs) + len(self.drug_classes) < 2 and known and self.unread:
            return f"“{self.unread[0]}” is not known as a drug; which two drugs are to be compared?"
        is_code = any(any(map(str.isdigit, word)) and any(map(str.isalpha, word)) for word in self.unread)
        is_looked_for = self.kind == "mechanism" or is_code
        if known or (is_looked_for and self.unread):
            return None
        what = f"“{self.unread[0]}” is not known as a condition or a drug" if self.unread else "no condition is named"
        return f"{what}; which condition? For example: {QUESTIONS['treat'].format(condition='migraine')}"

    def _ask(self, kind: QuestionKind) -> str:
        """The plainest question of a kind on the names in this one; empty if it lacks one that is needed."""
        drugs = (*self.drugs, *self.drug_classes)
        met = " and ".join(self.conditions) or self.population or ""
        plainest = (_ON_DRUGS.get(kind) if drugs else None) or QUESTIONS.get(kind, "")
        names = {"drug": drugs[:1], "other_drug": drugs[1:2], "condition": [met] if met else []}
        if not all(names[place] for place in names if f"{{{place}}}" in plainest):
            return ""
        asked = plainest.format(**{place: " and ".join(each) for place, each in names.items()})
        return f"{asked.rstrip('?')} without {' or '.join(self.left_out)}?" if self.left_out else asked

    @property
    def left_out(self) -> tuple[str, ...]:
        """All exclusions: drugs, classes, routes of administration."""
        return (*self.excluded_drugs, *self.excluded_classes, *self.excluded_routes)

    @property
    def asks_what_helps(self) -> bool:
        """Whether the answer weighs evidence of benefit; False for questions on harm or on how a drug works."""
        return self.kind not in (*ON_HARM, "uses") and bool(self.kind != "mechanism" or self.conditions)

    @property
    def asks_openly(self) -> bool:
        """Whether its first part is answered by a list of drugs that help."""
        return self.kind in ("treat", "prevent", "other")

    @property
    def names_all(self) -> bool:
        """Whether it is only about the drugs and classes it names: "is valproate safe in pregnancy?"."""
        return self.kind != "avoid" and not self.asks_openly and bool(self.drugs or self.drug_classes)


def validate_question(text: str) -> str:
    """Return a question stripped; a QuestionError says why in one line if it cannot be searched for."""
    if not isinstance(text, str):
        raise QuestionError(f"the question must be text, not {type(text).__name__}")
    asked = text.strip()
    if not asked:
        raise QuestionError("the question is empty; ask, for example, which existing drugs might prevent migraine")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(f"the question has {len(asked):,} characters; at most {LONGEST_QUESTION:,} are read")
    if any(unicodedata.category(each) in _UNREADABLE and each not in "\t\n\r" for each in asked) or "\ufffd" in asked:
        raise QuestionError("the question holds control characters or unreadable bytes; send plain text")
    if not any(map(str.isalpha, " ".join(bare_words(normalise_text(asked))))):
        raise QuestionError("the question has no words; name a condition or a drug")
    return asked


def understood_question(text: str) -> str:
    """Return a question stripped; a QuestionError asks for clarification if it is not understood."""
    question = validate_question(text)
    if objection := parse_question(question).objection:
        raise QuestionError(objection)
    return question


@lru_cache(maxsize=256)  # also for source queries: several specialists ask the same
def parse_question(question: str) -> Question:
    """Parse a question, or a query in boolean syntax.

    Words that are neither known names nor question words are searched for if it names no condition.

    >>> parse_question("Which diabetes drugs show promise for cancer?").conditions
    ('cancer',)
    >>> asked = parse_question("Which non-hormonal pills prevent stroke in people with atrial fibrillation?")
    >>> asked.conditions, asked.background, asked.excluded_classes
    (('stroke',), ('atrial fibrillation',), ('hormone therapy',))
    """
    text = plain_text(question)
    names = names_of(text)
    parts = list(_parts(text, names))
    guess, (kind, *further) = parts[0][0], [each.kind for each, _ in parts]
    if kind == "uses":  # an object of its verb that is no known condition is none: "what do people take that for"
        names = [name for name in names if name.kind != "condition" or canonical_condition(name.name)]
        kind = "treat" if any(name.kind == "condition" for name in names) else kind
    if kind == "treat" and (aside := _ASIDE.search(text)) and PREVENTION_WORD.search(aside[0]):
        kind = "prevent"
    left_out = _after_not(text, names) if is_query(text) else has_role("left out", text, names, kind)
    kept = [name for name in names if name not in left_out and name.kind != "route"]
    population = find_population(text)
    of_harm = [start for each, start in parts[1:] if each.kind == "harm" and kind not in ON_HARM]
    conditions = [name for name in kept if name.kind == "condition" and name.start < min(of_harm, default=len(text))]
    of_people = [name for name in has_role("of people", text, names, kind) if name in conditions]
    is_all = {person.name for person in of_people} == {condition.name for condition in conditions}
    if is_all or kind in ON_HARM or is_query(text):
        of_people = []
    taken = _find_taken(text, kept) if kind in _ON_TAKERS else []
    kept = [name for name in kept if name not in taken]
    drugs = distinct_words(name.name for name in kept if name.kind == "drug")
    classes = distinct_words(name.name for name in kept if name.kind == "class")

    told = _mask_spans(text, [*_known_phrases(text), *(name[1:3] for name in names)])
    unread = [
        plain
        for word in re.finditer(r"\S+", text)
        if True not in told[slice(*word.span())]
        for plain in bare_words(word[0])
        if not is_noise(plain) and plain.lower() not in question_words("asks")
    ]
    is_search = not (drugs or classes or guess.sure >= SURE) and len(tokens(text)) <= LONGEST_SEARCH
    if is_search and conditions:  # "psoriasis elderly"
        kind = "treat"
    is_open = kind in ("treat", "prevent", "other") or (guess.sure < SURE and says_nothing(text, names))
    is_alone = is_open and (drugs or classes) and not (conditions or unread or population or parts[1:])
    kind = "uses" if is_alone else kind
    searched = text if _SYNTAX.search(text) else _choose_words(text, kind, names, left_out, population is not None)
    units = [word for unit in read_units(searched) if unit.operator != "NOT" for word in unit.words]
    is_preventive = kind == "prevent" or PREVENTION_WORD.search(text) is not None
    sexes = [name for name in SEXES if speaks_of(text, name)]
    one_sex = sexes if len(sexes) == 1 and population not in _OF_WOMEN else []
    asked = Question(
        text=question,
        kind=kind,
        is_sure=bool(guess.sure >= SURE or is_search or is_alone or kind != guess.kind),
        or_kind=guess.next,
        also=tuple(each for each in dict.fromkeys(further) if each not in (kind, "other")),
        conditions=distinct_words(name.name for name in conditions if name not in of_people),
        background=distinct_words(name.name for name in of_people),
        drugs=drugs,
        drug_classes=classes,
        excluded_drugs=distinct_words(name.name for name in left_out if name.kind == "drug"),
        excluded_classes=distinct_words(name.name for name in left_out if name.kind == "class"),
        excluded_routes=distinct_words(name.name for name in left_out if name.kind == "route"),
        population=population,
        people=(*filter(None, [population]), *one_sex),
        is_preventive=is_preventive,
        is_acute=not is_preventive and cue_regex("acute", __package__).search(text) is not None,
        terms=distinct_words(units),
        unread=tuple(unread),
        words=" ".join(distinct_words(bare_words(" ".join(units)) or bare_words(searched))),
        searched=searched,
        taking=distinct_words(name.name for name in taken),
        is_both=_asks_for_both(text, [name for name in conditions if name not in of_people]),
    )
    is_whole = asked.is_sure or is_query(text) or asked.left_out or population or parts[1:] or not (drugs or classes)
    if is_whole:
        return asked
    covered = _mask_spans(text, [name[1:3] for name in names])
    words = [word[0] for word in re.finditer(r"\S+", text) if True not in covered[slice(*word.span())]]
    return _complete(asked, [word.lower() for word in bare_words(" ".join(words))])


def _complete(asked: Question, words: Sequence[str]) -> Question:
    """Return bare words as the question for which they stand, or as they are if that is not clear.

    A drug with a word for repurposing asks what it is studied for, or whether it helps in the condition beside it; with
    the field of a disease ("cardiovascular") whether it helps there.

    Args:
        asked: the words as a question.
        words: those that belong to no name.
    """
    rest = [word for word in words if word not in question_words("repurposing")]
    conditions = asked.conditions
    if rest:
        disease = canonical_condition(f"{' '.join(rest)} disease")
        if conditions or disease is None:
            return asked
        conditions = (disease,)
    meant = replace(asked, kind="treat" if conditions else "uses", is_sure=True, conditions=conditions, unread=())
    return replace(meant, understood=meant._ask(meant.kind))


def nearest_name(word: str, *, is_drug: bool = False) -> str | None:
    """Return the known word closest in spelling, or None; with `is_drug` of drugs only."""
    word = word.lower()
    near = [each for each in _known_words(is_drug).get(word[:1], ()) if abs(len(each) - len(word)) <= 2]
    if len(word) < SHORTEST or any(stem(each) == stem(word) for each in near):
        return None
    return next(iter(get_close_matches(word, near, 1, ALIKE)), None)


@cache
def _known_words(is_drug: bool) -> Mapping[str, list[str]]:
    """Return known words by first letter: each word of a condition's names, and the single-word drug names."""
    words = {name for name in drug_names().synonyms if name.isalpha()}
    if not is_drug:
        words |= {word.lower() for name in known_names() for word in name.split() if word.isalpha()}
    found: dict[str, list[str]] = {}
    for each in sorted(word for word in words if len(word) >= SHORTEST - 1):
        found.setdefault(each[0], []).append(each)
    return found


def stand_alone(question: str, earlier: str) -> str:
    """Complete a follow-up from the previous question; return others unchanged.

    One that says nothing but names asks the question before of these; one that asks something gets what it lacks in
    brackets.

    >>> stand_alone("What about topiramate?", "Which drugs prevent migraine?")
    'Does topiramate prevent migraine?'
    """
    asked = parse_question(question)
    before = parse_question(earlier)
    if asked.needs_english or not (before.conditions or before.drugs):
        return question
    text = plain_text(question)
    names = names_of(text)
    takers = _find_taken(text, names) if before.kind in _ON_TAKERS else []
    taking = distinct_words(name.name for name in takers)
    own = tuple(name for name in (*asked.drugs, *asked.drug_classes) if name not in taking)
    drugs = (*before.drugs, *before.drug_classes)
    people = [name.name for name in has_role("of people", text, names, "treat")]
    people = people or [name.name for name in names if _OF_PEOPLE.search(text[: name.start])]
    is_background = bool(people) and set(people) == set(asked.conditions) and not own
    has_own = asked.conditions and not is_background
    if not (names or asked.people) and (asked.kind == "other" or not asked.is_sure):
        return question  # "thanks" asks nothing
    may_ask_the_same = not asked.is_sure and {asked.kind, asked.or_kind} & {"treat", before.kind}
    if may_ask_the_same or says_nothing(_blank_takers(text, takers), names):
        meant = replace(asked, drugs=tuple(name for name in asked.drugs if name not in taking), taking=taking)
        return _restate(before, meant, people if is_background else [])
    names_them = not set(question_words("drugs named before")).isdisjoint(each.key for each in tokens(question))
    if has_own or (asked.kind == "harm" and (own or drugs)):  # about a drug, in any context
        is_whole = own or not drugs or (has_own and not names_them)
        return question if is_whole else f"{question.strip().rstrip('?!. ')} ({' and '.join(drugs)})?"
    aim = "to prevent" if before.is_preventive else "for"
    is_new = bool(own) and (asked.kind != "compare" or len(own) > 1)
    taken = [("", () if is_new else drugs), (aim, before.conditions), ("in people with", before.background)]
    taken += [("in people taking", () if taking else before.taking)]
    taken += [("in", () if asked.people else before.people), ("without", before.left_out)]
    said = [f"{how} {' and '.join(names)}".strip() for how, names in taken if names]
    return f"{question.strip().rstrip('?!. ')} ({', '.join(said)})?" if said else question


def says_nothing(text: str, names: Iterable[NamedEntity]) -> bool:
    """Whether a question says nothing but names and populations: "and in children?"."""
    told = _mask_spans(text, [*_known_phrases(text), *(name[1:3] for name in names)])
    words = "".join(" " if is_told else each for each, is_told in zip(text, told, strict=True))
    return {each.key for each in tokens(words)} <= {*question_words("says nothing")}


def _restate(before: Question, asked: Question, people: Sequence[str]) -> str:
    """Ask the question before anew, of the names in a follow-up that does not say what it asks."""
    own = (*asked.drugs, *asked.drug_classes)
    earlier = (*before.drugs, *before.drug_classes)
    kind = "safety" if before.kind == "avoid" and own else before.kind if before.kind in QUESTIONS else "treat"
    drugs = own or earlier
    if kind == "compare" and own:
        drugs = (*earlier[:1], *own)[-2:]
    of_harm = kind in ON_HARM and (asked.conditions or asked.people or before.conditions or before.people)
    conditions = of_harm or (asked.conditions if asked.conditions and not people else before.conditions)
    plainest = (_ON_DRUGS.get(kind) if drugs else None) or QUESTIONS[kind]
    if not conditions:
        together = f"Is {{drug}} safe with {earlier[-1]}?" if own and earlier[1:] else "Can {drug} cause side effects?"
        alone: Mapping[QuestionKind, str] = {
            "mechanism": "How does {drug} work?",
            "status": "Is {drug} approved?",
            "harm": "Can {drug} cause side effects?",
            "safety": together,
        }
        plainest = alone.get(kind, QUESTIONS["uses"])
    said = plainest.format(
        drug=drugs[0] if kind == "compare" and drugs else " and ".join(drugs) or "any drug",
        other_drug=drugs[1] if drugs[1:] else "another drug",
        condition=" and ".join(conditions),
    ).rstrip("?")
    left_out = [name for name in (*before.left_out, *asked.left_out) if name not in own]
    who = () if of_harm else asked.people or before.people
    ends = [f"in {' and '.join(who)}"] if who else []
    ends += [f"in people with {' and '.join(people or before.background)}"] if people or before.background else []
    takes = asked.taking or before.taking
    ends += [f"in people taking {' and '.join(takes)}"] if takes else []
    ends += [f"without {' or '.join(left_out)}"] if left_out else []
    return " ".join([said, *ends]) + "?"


def follow_up(questions: Iterable[str]) -> str:
    """Complete the last question of a conversation with context from earlier ones; empty if there is none."""
    return reduce(lambda before, question: stand_alone(question, before) if before else question, questions, "")


def preprocess_query(question: str) -> str:
    """Convert a question to a boolean query: remove noise, add synonyms, keep the user's query syntax.

    >>> preprocess_query("What drugs might help prevent erectile dysfunction?")
    '(prevent OR prevention OR prophylaxis OR prophylactic) AND ("erectile dysfunction" OR impotence)'
    """
    return parse_question(question).query


def read_query(source: str, query: str) -> Question:
    """Parse a boolean query for a source that is searched by names; exclusions are not among the names.

    Commas in inverted MeSH names do not split the name.

    Raises:
        SourceRefused: the query has no words.

    >>> read_query("chembl", '("portal hypertension" OR "hypertension, portal") NOT propranolol').conditions
    ('portal hypertension',)
    """
    asked = parse_question(query.replace(", ", " "))
    if not any(map(str.isalnum, asked.words)):
        raise SourceRefused(source, "the query holds no words to search for")
    return asked


def wider_queries(query: str) -> Iterator[str]:
    """Yield ever broader queries, dropping one by one the parts that name neither a condition nor a drug.

    >>> list(wider_queries("acromegaly AND flares AND children"))
    ['acromegaly AND flares', 'acromegaly']
    """
    units = read_units(normalise_text(query))
    if any(unit.operator == "OR" for unit in units) or "[" in query:
        return
    spare = [unit for unit in units if unit.operator != "NOT"]
    named = list[QueryUnit]()
    for unit in spare:
        words = " ".join(word for word in unit.words if not PREVENTION_WORD.search(word))
        named += [unit] if find_conditions(words) or find_drugs(words) or find_drug_classes(words) else []
    for dropped in reversed([unit for unit in spare if unit not in named] if named else []):
        units.remove(dropped)
        yield write_query(units)


def find_population(text: str) -> str | None:
    """Find the first population that a text names, other than men and women; None if it names none.

    An age below 18 years tells children, one from 65 on older people (ICH E7, https://www.fda.gov/media/78220/download).

    >>> find_population("Can pregnant women take sumatriptan?"), find_population("Is it safe at 3 years old?")
    ('pregnancy', 'children')
    """
    for name in _words_of("populations.tsv"):
        if name not in SEXES and speaks_of(text, name):
            return name
    for match in _AGE.finditer(text):
        years = int(match[1] or match[3] or match[4])
        if (match[2] or "y").lower() in ("month", "week", "day") or years < ADULT:
            return "children"
        if years >= OLD:
            return "older people"
    return None


def speaks_of(text: str, population: str) -> bool:
    return _words_of("populations.tsv")[population].search(text) is not None


def routes_in(text: str) -> tuple[str, ...]:
    """List the routes of administration in a text, as named in `routes.tsv`, each once."""
    return tuple(dict.fromkeys(route.name for route in _find_routes(text)))


def _find_routes(text: str) -> list[Mention]:
    known = _words_of("routes.tsv").items()
    found = [Mention(name, *match.span(), match[0]) for name, words in known for match in words.finditer(text)]
    return sorted(found, key=lambda each: each.start)


@cache
def _words_of(file: str) -> Mapping[str, re.Pattern[str]]:
    return {row["name"]: compile_cues(row["words"]) for row in read_table(file, __package__)}


def _say_without(found: re.Match[str]) -> str:
    """Rewrite words that exclude a class (non-hormonal, opioid-free) as "without …"."""
    word = (found[1] or found[2]).lower()
    forms = (word, f"{word}s", word.removesuffix("al"), f"{word.removesuffix('al')}es")
    known = (canonical_class(form) or canonical_drug(form) for form in forms)
    name = next(filter(None, [*known, *routes_in(word)]), None)
    within = [*find_known_conditions(found.string), *find_drug_classes(found.string)]
    is_a_name = any(each.start <= found.start() < found.end() < each.end for each in within)
    return found[0] if name is None or is_a_name else f"without {name}"


def plain_text(question: str) -> str:
    """Normalise a question, with "not" as a word of its own: can't, non-hormonal, steroid-free."""
    text = normalise_text(question).replace("cannot", "can not").replace("an't ", "an not ").replace("n't ", " not ")
    return _WITHOUT.sub(_say_without, text)


def names_of(text: str) -> list[NamedEntity]:
    """Find the drugs, classes, conditions and routes in a question, in order, without overlaps.

    A goal ("quit smoking") counts as its condition; words for patients count if no other condition is named.
    A condition before a word for drugs is a class ("gout drugs") if another condition is asked about.
    """
    known = find_known_conditions(text)

    def is_part(one: Mention, of: Iterable[Mention]) -> bool:  # "cocaine" of "cocaine-related disorders"
        return any(
            each.start <= one.start and one.end <= each.end and one.end - one.start < each.end - each.start
            for each in of
        )

    drugs = [drug for drug in find_drugs(text) if not is_part(drug, known)]
    classes = [class_ for class_ in find_drug_classes(text) if not is_part(class_, [*known, *drugs])]
    deeds = [deed for deed in find_deeds(text) if not any(is_part(each, [deed]) for each in known)]
    general = text  # "drug for sciatica" reveals a condition, "gabapentin for" would not
    for each in (*drugs, *classes):
        general = general[: each.start] + "drug".ljust(len(each.text))[: len(each.text)] + general[each.end :]
    found = merge_mentions(classes, merge_mentions(deeds, find_conditions(general)) or find_people(text))
    singular = {each.name: canonical_condition(each.name.removesuffix("s")) or each.name for each in found}
    conditions = [each._replace(name=singular[each.name]) for each in found if each not in classes]
    conditions = [condition for condition in conditions if not all(map(is_noise, bare_words(condition.text)))]

    use = re.compile(rf" ({'|'.join(question_words('drugs by use'))})\b", re.IGNORECASE)
    by_use = [condition for condition in conditions if use.match(text, condition.end)]
    if len({condition.name for condition in conditions}) > len({each.name for each in by_use}):
        conditions = [condition for condition in conditions if condition not in by_use]
        classes += [each._replace(name=f"{each.name} drugs") for each in by_use]
    medicines = merge_mentions(classes, drugs)
    kinds = [
        *(NamedEntity(*class_, "class") for class_ in classes),
        *(NamedEntity(*medicine, "drug") for medicine in medicines if medicine not in classes),
        *(
            NamedEntity(*mention, "condition")
            for mention in merge_mentions(medicines, conditions)
            if mention in conditions
        ),
    ]
    taken = _mask_spans(text, [name[1:3] for name in kinds])
    kinds += (NamedEntity(*route, "route") for route in _find_routes(text) if not taken[route.start])
    return sorted(kinds, key=lambda name: name.start)


def _find_taken(text: str, names: Sequence[NamedEntity]) -> list[NamedEntity]:
    """List drugs that people are said to take already: "patients on warfarin and aspirin", "while taking lithium"."""
    found = list[NamedEntity]()
    for name in names:
        is_joined = bool(found) and text[found[-1].end : name.start].strip().lower() == "and"
        if name.kind == "drug" and (is_joined or _TAKES.search(text[: name.start])):
            found.append(name)
    return found


def _blank_takers(text: str, taken: Sequence[NamedEntity]) -> str:
    """Blank the words before the drugs that people take, which ask nothing: "people taking"."""
    spans = [found.span() for name in taken if (found := _TAKES.search(text[: name.start]))]
    covered = _mask_spans(text, spans)
    return "".join(" " if is_covered else each for each, is_covered in zip(text, covered, strict=True))


def _asks_for_both(text: str, conditions: Sequence[NamedEntity]) -> bool:
    """Whether a question asks for what helps in each of two conditions or more, not in any of them."""
    return len({name.name for name in conditions}) > 1 and _BOTH.search(text[: conditions[0].start]) is not None


def _after_not(text: str, names: Sequence[NamedEntity]) -> list[NamedEntity]:
    """List the names that the operator NOT excludes: those of the group or name that follows it."""
    found = list[NamedEntity]()
    for match in _NOT.finditer(text):
        start = end = match.end()
        depth = 0
        while end < len(text) and text[start] == "(" and (depth or end == start):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        found += [name for name in names if start <= name.start < max(end, start + 2)]
    return found


def is_query(text: str) -> bool:
    """Whether a text is a boolean query, not a question with words in capitals."""
    is_asked = text.rstrip().endswith("?") or text.partition(" ")[0].lower() in question_words("opening")
    return bool(_OPERATOR.search(text)) and not is_asked


def parts_of(text: str) -> Iterator[str]:
    """Yield the parts of a question, each in place, the rest blank: "…, and which of them failed?" is a second part."""
    opening = "|".join(question_words("opening"))
    joint = rf"(?:[,;.?!]|\band|\bbut)\s+(?:(?:and|but|also)\s+)?(?=(?:{opening})\b)"
    asks = rf"^\W*(?:{opening})\b|\b(?:{'|'.join(question_words('interrogatives'))})\b"
    starts = [match.end() for match in re.finditer(joint, text, re.IGNORECASE)]
    while starts and not re.search(asks, text[: starts[0]], re.IGNORECASE):
        starts.pop(0)
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        yield " " * start + text[start:end] + " " * (len(text) - end)


def _parts(text: str, names: Sequence[NamedEntity]) -> Iterator[tuple[Guess, int]]:
    """Classify the parts of a question; yield each with where it starts."""
    if is_query(text):
        yield Guess("prevent" if PREVENTION_WORD.search(text) else "treat", 1.0, "other"), 0
        return
    for part in parts_of(_ASIDE.sub("?", text)):
        own = [name for name in names if part[name.start : name.end].strip()]
        yield kind_of(part, own), len(part) - len(part.lstrip())


def _mask_spans(text: str, spans: Iterable[tuple[int, int]]) -> list[bool]:
    """Return for each character whether a span covers it; faster than comparing every word with every span."""
    covered = [False] * len(text)
    for start, end in spans:
        covered[start:end] = [True] * (min(end, len(text)) - start)
    return covered


def _known_phrases(text: str) -> list[tuple[int, int]]:
    """Find spans of known words other than drugs and conditions: populations, to prevent, gene therapy."""
    bound = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in question_words("bound")), re.IGNORECASE)
    acute = cue_regex("acute", __package__)
    patterns = [PREVENTION_WORD, acute, bound, *_words_of("populations.tsv").values()]
    return [match.span() for pattern in patterns for match in pattern.finditer(text)]


def _choose_words(
    text: str, kind: QuestionKind, names: Sequence[NamedEntity], excluded: Sequence[NamedEntity], is_on_population: bool
) -> str:
    """Select the words of a plain question to search for.

    Leaves out words that few relevant records contain: the use in questions on safety in a population, the people in
    questions on harm. Drugs to compare become alternatives, since placebo-controlled trials name only one.
    """
    conditions = [name for name in names if name.kind == "condition"]
    arms = [name for name in names if name.is_drug] if kind == "compare" and not excluded else []
    hidden = {(each.start, each.end) for each in excluded}
    shown = {(name.start, name.end) for name in names if name not in excluded and name.kind != "route"}
    shown |= {span for span in _known_phrases(text) if span not in hidden}
    if kind == "safety" and is_on_population:
        hidden |= {(name.start, name.end) for name in conditions}
        hidden |= {match.span() for match in PREVENTION_WORD.finditer(text)}
    if kind == "harm":
        named = {(name.start, name.end) for name in conditions}
        hidden |= {
            (person.start, person.end) for person in find_people(text) if (person.start, person.end) not in named
        }
    if len({arm.name for arm in arms}) > 1:
        hidden |= {(arm.start, arm.end) for arm in arms}
    else:
        arms = []
    has_condition = kind != "harm" and any((name.start, name.end) in shown - hidden for name in conditions)

    kept: list[str] = [" or ".join(arm.text for arm in arms)] if arms else []
    follows = False  # after a name, "or" may lead to another
    covers = [_mask_spans(text, spans) for spans in (hidden, shown)]
    for word in re.finditer(r"\S+", text):
        is_in = [True in covered[slice(*word.span())] for covered in covers]
        plain = word[0].strip(",;:?!.") if has_condition else word[0]
        is_in[1] = is_in[1] or (bool(kept) and follows and tells_kinds_apart(plain))
        if is_in[0]:
            continue
        if is_in[1] or (plain == "or" and follows):
            kept.append(plain)
        elif not has_condition and plain.strip("?.,!").lower() not in question_words("asks"):
            kept.append(word[0])
        follows = is_in[1] or (follows and is_noise(plain) and plain != "or")
    if all(map(is_noise, bare_words(" ".join(kept)))):
        kept = [text]
    return " ".join([*kept, *(f"NOT {each.text}" for each in excluded if each.kind != "route")])
