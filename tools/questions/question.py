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
    find_conditions,
    find_deeds,
    find_drug_classes,
    find_drugs,
    find_people,
    list_class_synonyms,
)
from ..lexicon.conditions import find_known_conditions, known_names
from ..lexicon.drugs import load_drug_names
from ..lexicon.matching import Mention, compile_cues, cue_regex, merge_mentions, read_table, split_tokens, stem
from .kinds import (
    ON_HARM,
    QUESTIONS,
    Guess,
    NamedEntity,
    QuestionKind,
    classify_question,
    get_question_words,
    has_role,
)
from .query import (
    PREVENTION_WORD,
    QueryUnit,
    drop_repeats,
    is_noise,
    normalise_text,
    parse_units,
    strip_syntax,
    tells_kinds_apart,
    write_boolean,
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
_REMARK = re.compile(r"\s*\([^()]*\)\W*$")
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
        return write_boolean(self.searched)

    @cached_property
    def needs_english(self) -> bool:
        foreign = set(get_question_words("other languages"))
        words = [word.casefold() for word in strip_syntax(normalise_text(self.text).replace("'", " "))]
        others = sum(word in foreign or _LATIN.isdisjoint(word) for word in words)
        return others > sum(is_noise(word) for word in words)

    @cached_property
    def objection(self) -> str | None:
        """One-line request for clarification before any search; None if it is understood."""
        if _SYNTAX.search(self.text):
            return None
        if self.needs_english:
            return "the rules read English alone: ask in English, or choose a language model (--model)"
        has_names = bool(self.conditions or self.drugs or self.drug_classes)
        misspelling = self._ask_about_spelling()
        if misspelling:
            return misspelling
        if has_names and not self.is_sure:
            return self._ask_about_kind()
        unknown_class = self._ask_about_class()
        if unknown_class:
            return unknown_class
        if self.kind == "compare" and len(self.drugs) + len(self.drug_classes) < 2 and has_names and self.unread:
            return f"“{self.unread[0]}” is not known as a drug; which two drugs are to be compared?"
        is_looked_for = self.kind == "mechanism" or any(map(_is_code, self.unread))
        if has_names or (is_looked_for and self.unread):
            return None
        what = f"“{self.unread[0]}” is not known as a condition or a drug" if self.unread else "no condition is named"
        return f"{what}; which condition? For example: {QUESTIONS['treat'].format(condition='migraine')}"

    def _ask_about_spelling(self) -> str | None:
        """Ask back for the first word that is close to a name, and no name itself."""
        unknown_conditions = [name for name in self.conditions if canonical_condition(name) is None]
        words = " ".join(unknown_conditions).split()
        # Where a condition is known already, the word that nobody knows is most likely a drug.
        is_drug = bool(self.conditions) and not words
        for word in (*self.unread, *words):
            name = find_nearest_name(word, is_drug=is_drug)
            if name:
                return f"“{word}” is not known; did you mean {name}? In quotes it is searched for as typed"
        return None

    def _ask_about_kind(self) -> str:
        """Ask back which of its two likeliest kinds is meant."""
        questions = [self._write_plainest(kind) for kind in (self.kind, self.or_kind)]
        choice = " or ".join(f"“{question}”" for question in questions if question)
        example = f"ask, for example: {QUESTIONS['treat'].format(condition='migraine')}"
        return f"it is not clear what is asked; {f'do you mean {choice}?' if choice else example}"

    def _ask_about_class(self) -> str | None:
        """Ask back for the first unknown property of drugs: "non-sedating drugs", "water pills"."""
        names = list(get_question_words("drugs in general"))
        for drug_class in self.drug_classes:
            names += map(re.escape, list_class_synonyms(drug_class))
        general = "|".join(names)
        property_of_drugs = rf"(?:{_WITHOUT.pattern})(?=\s+(?:{general})\b)|\b\w+(?=\s+(?:pills?|tablets?)\b)"
        for match in re.finditer(property_of_drugs, normalise_text(self.text), re.IGNORECASE):
            if match[0] in self.unread:
                return f"“{match[0]}” is not a known drug class or route of administration; name what to exclude"
        return None

    def _write_plainest(self, kind: QuestionKind) -> str:
        """The plainest question of a kind on the names in this one; empty if it lacks one that is needed."""
        drugs = (*self.drugs, *self.drug_classes)
        condition = " and ".join(self.conditions) or self.population or ""
        plainest = (_ON_DRUGS.get(kind) if drugs else None) or QUESTIONS.get(kind, "")
        names = {"drug": "".join(drugs[:1]), "other_drug": "".join(drugs[1:2]), "condition": condition}
        if not all(names[place] for place in names if f"{{{place}}}" in plainest):
            return ""
        question = plainest.format(**names)
        return f"{question.rstrip('?')} without {' or '.join(self.left_out)}?" if self.left_out else question

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
    question = text.strip()
    if not question:
        raise QuestionError("the question is empty; ask, for example, which existing drugs might prevent migraine")
    if len(question) > LONGEST_QUESTION:
        raise QuestionError(f"the question has {len(question):,} characters; at most {LONGEST_QUESTION:,} are read")
    unreadable = {letter for letter in question if unicodedata.category(letter) in _UNREADABLE}
    if unreadable - set("\t\n\r") or "\ufffd" in question:
        raise QuestionError("the question holds control characters or unreadable bytes; send plain text")
    if not any(map(str.isalpha, " ".join(strip_syntax(normalise_text(question))))):
        raise QuestionError("the question has no words; name a condition or a drug")
    return question


def check_question(text: str) -> str:
    """Return a question stripped; a QuestionError asks for clarification if it is not understood."""
    question = validate_question(text)
    objection = parse_question(question).objection
    if objection:
        raise QuestionError(objection)
    return question


def _is_code(word: str) -> bool:
    """Whether letters and digits stand in a word, as in the codes of trial drugs: "BAY94"."""
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


@lru_cache(maxsize=256)  # also for source queries: several specialists ask the same
def parse_question(question: str) -> Question:
    """Parse a question, or a query in boolean syntax.

    Words that are neither known names nor question words are searched for if it names no condition.

    >>> parse_question("Which diabetes drugs show promise for cancer?").conditions
    ('cancer',)
    >>> question = parse_question("Which non-hormonal pills prevent stroke in people with atrial fibrillation?")
    >>> question.conditions, question.background, question.excluded_classes
    (('stroke',), ('atrial fibrillation',), ('hormone therapy',))
    """
    text = normalise_question(question)
    names = find_named_entities(text)
    parts = list(_classify_parts(text, names))
    guess = parts[0][0]
    kind, *further = [part_guess.kind for part_guess, _ in parts]
    if kind == "uses":  # an object of its verb that is no known condition is none: "what do people take that for"
        names = [name for name in names if name.kind != "condition" or canonical_condition(name.name)]
        kind = "treat" if any(name.kind == "condition" for name in names) else kind
    remark = _REMARK.search(text)
    if kind == "treat" and remark and PREVENTION_WORD.search(remark[0]):
        kind = "prevent"
    left_out = _find_excluded(text, names) if is_query(text) else has_role("left out", text, names, kind)
    included = [name for name in names if name not in left_out and name.kind != "route"]
    population = find_population(text)
    of_harm = [start for part_guess, start in parts[1:] if part_guess.kind == "harm" and kind not in ON_HARM]
    before_harm = min(of_harm, default=len(text))
    conditions = [name for name in included if name.kind == "condition" and name.start < before_harm]
    of_people = [name for name in has_role("of people", text, names, kind) if name in conditions]
    is_all = {person.name for person in of_people} == {condition.name for condition in conditions}
    if is_all or kind in ON_HARM or is_query(text):
        of_people = []
    comedication = _find_comedication(text, included) if kind in _ON_TAKERS else []
    included = [name for name in included if name not in comedication]
    drugs = drop_repeats(name.name for name in included if name.kind == "drug")
    classes = drop_repeats(name.name for name in included if name.kind == "class")

    unread = _list_unread(text, names)
    is_search = not (drugs or classes or guess.sure >= SURE) and len(split_tokens(text)) <= LONGEST_SEARCH
    if is_search and conditions:  # "psoriasis elderly"
        kind = "treat"
    is_open = kind in ("treat", "prevent", "other") or (guess.sure < SURE and lacks_question(text, names))
    is_alone = is_open and (drugs or classes) and not (conditions or unread or population or parts[1:])
    kind = "uses" if is_alone else kind
    searched = text if _SYNTAX.search(text) else _choose_words(text, kind, names, left_out, population is not None)
    words: list[str] = []
    for unit in parse_units(searched):
        words += unit.words if unit.operator != "NOT" else []
    is_preventive = kind == "prevent" or PREVENTION_WORD.search(text) is not None
    sexes = [name for name in SEXES if speaks_of(text, name)]
    one_sex = sexes if len(sexes) == 1 and population not in _OF_WOMEN else []
    parsed = Question(
        text=question,
        kind=kind,
        is_sure=bool(guess.sure >= SURE or is_search or is_alone or kind != guess.kind),
        or_kind=guess.next,
        also=tuple(other for other in dict.fromkeys(further) if other not in (kind, "other")),
        conditions=drop_repeats(name.name for name in conditions if name not in of_people),
        background=drop_repeats(name.name for name in of_people),
        drugs=drugs,
        drug_classes=classes,
        excluded_drugs=drop_repeats(name.name for name in left_out if name.kind == "drug"),
        excluded_classes=drop_repeats(name.name for name in left_out if name.kind == "class"),
        excluded_routes=drop_repeats(name.name for name in left_out if name.kind == "route"),
        population=population,
        people=(*filter(None, [population]), *one_sex),
        is_preventive=is_preventive,
        is_acute=not is_preventive and cue_regex("acute", __package__).search(text) is not None,
        terms=drop_repeats(words),
        unread=tuple(unread),
        words=" ".join(drop_repeats(strip_syntax(" ".join(words)) or strip_syntax(searched))),
        searched=searched,
        taking=drop_repeats(name.name for name in comedication),
        is_both=_asks_for_both(text, [name for name in conditions if name not in of_people]),
    )
    is_whole = parsed.is_sure or is_query(text) or parsed.left_out or population or parts[1:] or not (drugs or classes)
    if is_whole:
        return parsed
    rest = _list_uncovered(text, [name[1:3] for name in names])
    return _complete(parsed, [word.lower() for word in strip_syntax(" ".join(rest))])


def _list_unread(text: str, names: Sequence[NamedEntity]) -> list[str]:
    """List the words of a question that are neither known names nor question words."""
    unread: list[str] = []
    for word in _list_uncovered(text, [*_find_phrases(text), *(name[1:3] for name in names)]):
        plain_words = [plain for plain in strip_syntax(word) if not is_noise(plain)]
        unread += [plain for plain in plain_words if plain.lower() not in get_question_words("asks")]
    return unread


def _list_uncovered(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    """List the words of which no letter lies in a span."""
    covered = _mask_spans(text, spans)
    return [word[0] for word in re.finditer(r"\S+", text) if True not in covered[slice(*word.span())]]


def _complete(parsed: Question, words: Sequence[str]) -> Question:
    """Return bare words as the question for which they stand, or as they are if that is not clear.

    A drug with a word for repurposing asks what it is studied for, or whether it helps in the condition beside it; with
    the field of a disease ("cardiovascular") whether it helps there.

    Args:
        parsed: the words as a question.
        words: those that belong to no name.
    """
    rest = [word for word in words if word not in get_question_words("repurposing")]
    conditions = parsed.conditions
    if rest:
        disease = canonical_condition(f"{' '.join(rest)} disease")
        if conditions or disease is None:
            return parsed
        conditions = (disease,)
    kind: QuestionKind = "treat" if conditions else "uses"
    whole = replace(parsed, kind=kind, is_sure=True, conditions=conditions, unread=())
    return replace(whole, understood=whole._write_plainest(kind))


def find_nearest_name(word: str, *, is_drug: bool = False) -> str | None:
    """Return the known word closest in spelling, or None; with `is_drug` of drugs only."""
    word = word.lower()
    near = [name for name in _group_words(is_drug).get(word[:1], ()) if abs(len(name) - len(word)) <= 2]
    if len(word) < SHORTEST or any(stem(name) == stem(word) for name in near):
        return None
    return next(iter(get_close_matches(word, near, 1, ALIKE)), None)


@cache
def _group_words(is_drug: bool) -> Mapping[str, list[str]]:
    """Return known words by first letter: each word of a condition's names, and the single-word drug names."""
    names = set(load_drug_names().synonyms)
    if not is_drug:
        names.update(word.lower() for word in " ".join(known_names()).split())
    words = sorted(name for name in names if name.isalpha() and len(name) >= SHORTEST - 1)
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(word)
    return by_letter


def complete_follow_up(question: str, earlier: str) -> str:
    """Complete a follow-up from the previous question; return others unchanged.

    One that says nothing but names asks the question before of these; one that asks something gets what it lacks in
    brackets.

    >>> complete_follow_up("What about topiramate?", "Which drugs prevent migraine?")
    'Does topiramate prevent migraine?'
    """
    parsed = parse_question(question)
    before = parse_question(earlier)
    if parsed.needs_english or not (before.conditions or before.drugs):
        return question
    text = normalise_question(question)
    names = find_named_entities(text)
    takers = _find_comedication(text, names) if before.kind in _ON_TAKERS else []
    taking = drop_repeats(name.name for name in takers)
    own = tuple(name for name in (*parsed.drugs, *parsed.drug_classes) if name not in taking)
    drugs = (*before.drugs, *before.drug_classes)
    people = [name.name for name in has_role("of people", text, names, "treat")]
    people = people or [name.name for name in names if _OF_PEOPLE.search(text[: name.start])]
    is_background = bool(people) and set(people) == set(parsed.conditions) and not own
    has_own = parsed.conditions and not is_background
    if not (names or parsed.people) and (parsed.kind == "other" or not parsed.is_sure):
        return question  # "thanks" asks nothing
    may_ask_the_same = not parsed.is_sure and {parsed.kind, parsed.or_kind} & {"treat", before.kind}
    if may_ask_the_same or lacks_question(_hide_takers(text, takers), names):
        others = tuple(name for name in parsed.drugs if name not in taking)
        return _restate(before, replace(parsed, drugs=others, taking=taking), people if is_background else [])
    stem_of_question = question.strip().rstrip("?!. ")
    if has_own or (parsed.kind == "harm" and (own or drugs)):  # about a drug, in any context
        keys = {token.key for token in split_tokens(question)}
        refers_back = not keys.isdisjoint(get_question_words("drugs named before"))
        is_whole = own or not drugs or (has_own and not refers_back)
        return question if is_whole else f"{stem_of_question} ({' and '.join(drugs)})?"
    is_new = bool(own) and (parsed.kind != "compare" or len(own) > 1)
    context = [
        ("", () if is_new else drugs),
        ("to prevent" if before.is_preventive else "for", before.conditions),
        ("in people with", before.background),
        ("in people taking", () if taking else before.taking),
        ("in", () if parsed.people else before.people),
        ("without", before.left_out),
    ]
    phrases = [f"{how} {' and '.join(earlier_names)}".strip() for how, earlier_names in context if earlier_names]
    return f"{stem_of_question} ({', '.join(phrases)})?" if phrases else question


def lacks_question(text: str, names: Iterable[NamedEntity]) -> bool:
    """Whether a question says nothing but names and populations: "and in children?"."""
    covered = _mask_spans(text, [*_find_phrases(text), *(name[1:3] for name in names)])
    words = "".join(" " if is_covered else letter for letter, is_covered in zip(text, covered, strict=True))
    return {token.key for token in split_tokens(words)} <= {*get_question_words("says nothing")}


def _restate(before: Question, follow_up: Question, people: Sequence[str]) -> str:
    """Ask the question before anew, of the names in a follow-up that does not say what it asks."""
    own = (*follow_up.drugs, *follow_up.drug_classes)
    earlier = (*before.drugs, *before.drug_classes)
    kind: QuestionKind = before.kind if before.kind in QUESTIONS else "treat"
    if before.kind == "avoid" and own:
        kind = "safety"
    drugs = own or earlier
    if kind == "compare" and own:
        drugs = (*earlier[:1], *own)[-2:]
    conditions = follow_up.conditions if follow_up.conditions and not people else before.conditions
    of_harm: tuple[str, ...] = ()
    if kind in ON_HARM:
        of_harm = follow_up.conditions or follow_up.people or before.conditions or before.people
        conditions = of_harm or conditions
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
    start = plainest.format(
        drug=drugs[0] if kind == "compare" and drugs else " and ".join(drugs) or "any drug",
        other_drug=drugs[1] if drugs[1:] else "another drug",
        condition=" and ".join(conditions),
    )
    left_out = [name for name in (*before.left_out, *follow_up.left_out) if name not in own]
    who = () if of_harm else follow_up.people or before.people
    background = people or before.background
    comedication = follow_up.taking or before.taking
    phrases = [start.rstrip("?")]
    phrases += [f"in {' and '.join(who)}"] if who else []
    phrases += [f"in people with {' and '.join(background)}"] if background else []
    phrases += [f"in people taking {' and '.join(comedication)}"] if comedication else []
    phrases += [f"without {' or '.join(left_out)}"] if left_out else []
    return " ".join(phrases) + "?"


def follow_up(questions: Iterable[str]) -> str:
    """Complete the last question of a conversation with context from earlier ones; empty if there is none."""
    return reduce(lambda before, question: complete_follow_up(question, before) if before else question, questions, "")


def preprocess_query(question: str) -> str:
    """Convert a question to a boolean query: remove noise, add synonyms, keep the user's query syntax.

    >>> preprocess_query("What drugs might help prevent erectile dysfunction?")
    '(prevent OR prevention OR prophylaxis OR prophylactic) AND ("erectile dysfunction" OR impotence)'
    """
    return parse_question(question).query


def parse_query(source: str, query: str) -> Question:
    """Parse a boolean query for a source that is searched by names; exclusions are not among the names.

    Commas in inverted MeSH names do not split the name.

    Raises:
        SourceRefused: the query has no words.

    >>> parse_query("chembl", '("portal hypertension" OR "hypertension, portal") NOT propranolol').conditions
    ('portal hypertension',)
    """
    parsed = parse_question(query.replace(", ", " "))
    if not any(map(str.isalnum, parsed.words)):
        raise SourceRefused(source, "the query holds no words to search for")
    return parsed


def widen_query(query: str) -> Iterator[str]:
    """Yield ever broader queries, dropping one by one the parts that name neither a condition nor a drug.

    >>> list(widen_query("acromegaly AND flares AND children"))
    ['acromegaly AND flares', 'acromegaly']
    """
    units = parse_units(normalise_text(query))
    if any(unit.operator == "OR" for unit in units) or "[" in query:
        return
    spare = [unit for unit in units if unit.operator != "NOT"]
    essential = list[QueryUnit]()
    for unit in spare:
        words = " ".join(word for word in unit.words if not PREVENTION_WORD.search(word))
        essential += [unit] if find_conditions(words) or find_drugs(words) or find_drug_classes(words) else []
    for dropped in reversed([unit for unit in spare if unit not in essential] if essential else []):
        units.remove(dropped)
        yield write_query(units)


def find_population(text: str) -> str | None:
    """Find the first population that a text names, other than men and women; None if it names none.

    An age below 18 years tells children, one from 65 on older people (ICH E7, https://www.fda.gov/media/78220/download).

    >>> find_population("Can pregnant women take sumatriptan?"), find_population("Is it safe at 3 years old?")
    ('pregnancy', 'children')
    """
    for name in _load_patterns("populations.tsv"):
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
    return _load_patterns("populations.tsv")[population].search(text) is not None


def find_routes(text: str) -> tuple[str, ...]:
    """List the routes of administration in a text, as named in `routes.tsv`, each once."""
    return tuple(dict.fromkeys(route.name for route in _find_routes(text)))


def _find_routes(text: str) -> list[Mention]:
    """List the routes of administration in a text in its order."""
    routes: list[Mention] = []
    for name, pattern in _load_patterns("routes.tsv").items():
        routes += [Mention(name, *match.span(), match[0]) for match in pattern.finditer(text)]
    return sorted(routes, key=lambda route: route.start)


@cache
def _load_patterns(file: str) -> Mapping[str, re.Pattern[str]]:
    return {row["name"]: compile_cues(row["words"]) for row in read_table(file, __package__)}


def _say_without(match: re.Match[str]) -> str:
    """Rewrite words that exclude a class (non-hormonal, opioid-free) as "without …"."""
    word = (match[1] or match[2]).lower()
    forms = (word, f"{word}s", word.removesuffix("al"), f"{word.removesuffix('al')}es")
    classes_or_drugs = (canonical_class(form) or canonical_drug(form) for form in forms)
    name = next(filter(None, [*classes_or_drugs, *find_routes(word)]), None)
    within = [*find_known_conditions(match.string), *find_drug_classes(match.string)]
    is_a_name = any(mention.start <= match.start() < match.end() < mention.end for mention in within)
    return match[0] if name is None or is_a_name else f"without {name}"


def normalise_question(question: str) -> str:
    """Normalise a question, with "not" as a word of its own: can't, non-hormonal, steroid-free."""
    text = normalise_text(question).replace("cannot", "can not").replace("an't ", "an not ").replace("n't ", " not ")
    return _WITHOUT.sub(_say_without, text)


def find_named_entities(text: str) -> list[NamedEntity]:
    """Find the drugs, classes, conditions and routes in a question, in order, without overlaps.

    A goal ("quit smoking") counts as its condition; words for patients count if no other condition is named.
    A condition before a word for drugs is a class ("gout drugs") if another condition is asked about.
    """
    known_conditions = find_known_conditions(text)
    drugs = [drug for drug in find_drugs(text) if not _is_part(drug, known_conditions)]
    classes = [class_ for class_ in find_drug_classes(text) if not _is_part(class_, [*known_conditions, *drugs])]
    conditions = _find_question_conditions(text, known_conditions, [*drugs, *classes], classes)

    use = re.compile(rf" ({'|'.join(get_question_words('drugs by use'))})\b", re.IGNORECASE)
    by_use = [condition for condition in conditions if use.match(text, condition.end)]
    if len({condition.name for condition in conditions}) > len({condition.name for condition in by_use}):
        conditions = [condition for condition in conditions if condition not in by_use]
        classes += [condition._replace(name=f"{condition.name} drugs") for condition in by_use]
    medicines = merge_mentions(classes, drugs)
    mentions = merge_mentions(medicines, conditions)
    names = [NamedEntity(*class_, "class") for class_ in classes]
    names += [NamedEntity(*medicine, "drug") for medicine in medicines if medicine not in classes]
    names += [NamedEntity(*mention, "condition") for mention in mentions if mention in conditions]
    covered = _mask_spans(text, [name[1:3] for name in names])
    names += [NamedEntity(*route, "route") for route in _find_routes(text) if not covered[route.start]]
    return sorted(names, key=lambda name: name.start)


def _find_question_conditions(
    text: str, known_conditions: Sequence[Mention], medicines: Sequence[Mention], classes: Sequence[Mention]
) -> list[Mention]:
    """List the conditions in a question by their usual names: named or described, goals, or else words for patients."""
    goals = [goal for goal in find_deeds(text) if not _is_whole_of_any(goal, known_conditions)]
    general = text  # "drug for sciatica" reveals a condition, "gabapentin for" would not
    for medicine in medicines:
        size = len(medicine.text)
        general = general[: medicine.start] + "drug".ljust(size)[:size] + general[medicine.end :]
    mentions = merge_mentions(goals, find_conditions(general)) or find_people(text)
    conditions: list[Mention] = []
    for mention in merge_mentions(classes, mentions):
        singular = canonical_condition(mention.name.removesuffix("s")) or mention.name
        if mention not in classes and not all(map(is_noise, strip_syntax(mention.text))):
            conditions.append(mention._replace(name=singular))
    return conditions


def _is_whole_of_any(goal: Mention, mentions: Iterable[Mention]) -> bool:
    """Whether a goal ("quit smoking") holds a condition that is named in it."""
    return any(_is_part(mention, [goal]) for mention in mentions)


def _is_part(mention: Mention, wholes: Iterable[Mention]) -> bool:
    """Whether a mention lies in a longer one: "cocaine" in "cocaine-related disorders"."""
    for whole in wholes:
        is_longer = whole.end - whole.start > mention.end - mention.start
        if is_longer and whole.start <= mention.start and mention.end <= whole.end:
            return True
    return False


def _find_comedication(text: str, names: Sequence[NamedEntity]) -> list[NamedEntity]:
    """List drugs that people are said to take already: "patients on warfarin and aspirin", "while taking lithium"."""
    comedication = list[NamedEntity]()
    for name in names:
        is_joined = bool(comedication) and text[comedication[-1].end : name.start].strip().lower() == "and"
        if name.kind == "drug" and (is_joined or _TAKES.search(text[: name.start])):
            comedication.append(name)
    return comedication


def _hide_takers(text: str, comedication: Sequence[NamedEntity]) -> str:
    """Blank the words before the drugs that people take, which ask nothing: "people taking"."""
    matches = [_TAKES.search(text[: name.start]) for name in comedication]
    covered = _mask_spans(text, [match.span() for match in matches if match])
    return "".join(" " if is_covered else letter for letter, is_covered in zip(text, covered, strict=True))


def _asks_for_both(text: str, conditions: Sequence[NamedEntity]) -> bool:
    """Whether a question asks for what helps in each of two conditions or more, not in any of them."""
    return len({name.name for name in conditions}) > 1 and _BOTH.search(text[: conditions[0].start]) is not None


def _find_excluded(text: str, names: Sequence[NamedEntity]) -> list[NamedEntity]:
    """List the names that the operator NOT excludes: those of the group or name that follows it."""
    excluded = list[NamedEntity]()
    for match in _NOT.finditer(text):
        start = end = match.end()
        depth = 0
        while end < len(text) and text[start] == "(" and (depth or end == start):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        excluded += [name for name in names if start <= name.start < max(end, start + 2)]
    return excluded


def is_query(text: str) -> bool:
    """Whether a text is a boolean query, not a question with words in capitals."""
    is_question = text.rstrip().endswith("?") or text.partition(" ")[0].lower() in get_question_words("opening")
    return bool(_OPERATOR.search(text)) and not is_question


def split_parts(text: str) -> Iterator[str]:
    """Yield the parts of a question, each in place, the rest blank: "…, and which of them failed?" is a second part."""
    opening = "|".join(get_question_words("opening"))
    joint = rf"(?:[,;.?!]|\band|\bbut)\s+(?:(?:and|but|also)\s+)?(?=(?:{opening})\b)"
    asks = rf"^\W*(?:{opening})\b|\b(?:{'|'.join(get_question_words('interrogatives'))})\b"
    starts = [match.end() for match in re.finditer(joint, text, re.IGNORECASE)]
    while starts and not re.search(asks, text[: starts[0]], re.IGNORECASE):
        starts.pop(0)
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        yield " " * start + text[start:end] + " " * (len(text) - end)


def _classify_parts(text: str, names: Sequence[NamedEntity]) -> Iterator[tuple[Guess, int]]:
    """Classify the parts of a question; yield each with where it starts."""
    if is_query(text):
        yield Guess("prevent" if PREVENTION_WORD.search(text) else "treat", 1.0, "other"), 0
        return
    for part in split_parts(_REMARK.sub("?", text)):
        own = [name for name in names if part[name.start : name.end].strip()]
        yield classify_question(part, own), len(part) - len(part.lstrip())


def _mask_spans(text: str, spans: Iterable[tuple[int, int]]) -> list[bool]:
    """Return for each character whether a span covers it; faster than comparing every word with every span."""
    covered = [False] * len(text)
    for start, end in spans:
        covered[start:end] = [True] * (min(end, len(text)) - start)
    return covered


def _find_phrases(text: str) -> list[tuple[int, int]]:
    """Find spans of known words other than drugs and conditions: populations, to prevent, gene therapy."""
    bound = "|".join(rf"\b{re.escape(word)}\b" for word in get_question_words("bound"))
    acute = cue_regex("acute", __package__)
    patterns = [PREVENTION_WORD, acute, re.compile(bound, re.IGNORECASE), *_load_patterns("populations.tsv").values()]
    spans: list[tuple[int, int]] = []
    for pattern in patterns:
        spans += [match.span() for match in pattern.finditer(text)]
    return spans


def _choose_words(
    text: str, kind: QuestionKind, names: Sequence[NamedEntity], excluded: Sequence[NamedEntity], is_on_population: bool
) -> str:
    """Select the words of a plain question to search for.

    Leaves out words that few relevant records contain: the use in questions on safety in a population, the people in
    questions on harm. Drugs to compare become alternatives, since placebo-controlled trials name only one.
    """
    conditions = [name[1:3] for name in names if name.kind == "condition"]
    arms = [name for name in names if name.is_drug] if kind == "compare" and not excluded else []
    if len({arm.name for arm in arms}) < 2:
        arms = []
    hidden = {name[1:3] for name in excluded}
    visible = {name[1:3] for name in names if name not in excluded and name.kind != "route"}
    visible |= {span for span in _find_phrases(text) if span not in hidden}
    if kind == "safety" and is_on_population:
        hidden.update(conditions)
        hidden.update(match.span() for match in PREVENTION_WORD.finditer(text))
    if kind == "harm":
        hidden.update(person[1:3] for person in find_people(text) if person[1:3] not in conditions)
    hidden.update(arm[1:3] for arm in arms)
    has_condition = kind != "harm" and not (visible - hidden).isdisjoint(conditions)

    words: list[str] = [" or ".join(arm.text for arm in arms)] if arms else []
    follows = False  # after a name, "or" may lead to another
    in_hidden = _mask_spans(text, hidden)
    in_visible = _mask_spans(text, visible)
    for word in re.finditer(r"\S+", text):
        place = slice(*word.span())
        if True in in_hidden[place]:
            continue
        plain = word[0].strip(",;:?!.") if has_condition else word[0]
        is_name = True in in_visible[place] or (bool(words) and follows and tells_kinds_apart(plain))
        if is_name or (plain == "or" and follows):
            words.append(plain)
        elif not has_condition and plain.strip("?.,!").lower() not in get_question_words("asks"):
            words.append(word[0])
        follows = is_name or (follows and is_noise(plain) and plain != "or")
    if all(map(is_noise, strip_syntax(" ".join(words)))):
        words = [text]
    return " ".join([*words, *(f"NOT {name.text}" for name in excluded if name.kind != "route")])
