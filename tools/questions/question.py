"""A question read once, where it comes in: what it names, what it leaves out, whom it is about, what it wants."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Literal, NamedTuple

from ..errors import SourceRefused, UsageError
from ..lexicon import find_conditions, find_deeds, find_drug_classes, find_drugs, find_people
from ..lexicon.conditions import find_known_conditions
from ..lexicon.matching import Mention, Token, compile_cues, cue_regex, merge_mentions, read_table, tokens
from .kinds import ON_HARM, Kind, Name, asking_words, kind_of, question_words
from .query import PREVENTION_WORD, as_boolean, bare_words, distinct_words, is_noise, normalise_text, read_units

LONGEST_QUESTION = 2000  # characters; a question, not a document
SEXES = ("men", "women")

Intent = Literal["treatment", "prevention", "unknown"]

_UNREADABLE = frozenset(("Cc", "Cs"))  # control characters, surrogates
_OF_WOMEN = ("pregnancy", "breastfeeding")
_JOINING = frozenset(("or", "and", "nor"))
_PARTING = frozenset(");:.?!")
_FREE = frozenset(("free", "sparing"))


class QuestionError(UsageError, ValueError):
    """The question cannot be searched for; the message says why in one line."""


@dataclass(frozen=True)
class Question:
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
    words: str
    """Likewise as plain text, without any query syntax."""
    searched: str
    """It as it is turned into a query: without what hides records that would answer it."""

    @cached_property
    def query(self) -> str:
        """It as a boolean query: noise taken out, synonyms added, what the user wrote in query syntax kept."""
        return as_boolean(self.searched)

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
    if not any(map(str.isalpha, " ".join(bare_words(normalise_text(asked))))):
        raise QuestionError("the question has no words; name a condition or a drug")
    return asked


@lru_cache(maxsize=256)  # queries of sources too: several specialists ask the same
def parse_question(question: str) -> Question:
    """Read a question, or a query in boolean syntax.

    >>> parse_question("Which diabetes drugs show promise for cancer?").conditions
    ('cancer',)
    """
    text = normalise_text(question).replace("cannot", "can not").replace("an't ", "an not ").replace("n't ", " not ")
    names = _find_names(text)
    excluded = _find_excluded(text, names)
    left_out = [each.name for each in excluded]
    kept = [name for name in names if name not in left_out]
    asked = _apply(text, [_Edit(each.start, each.end, " " * (each.end - each.start)) for each in excluded])
    kind = kind_of(asked, names)
    population = find_population(text)

    exclusions = _exclusions(text, excluded)
    asking = [
        _Edit(token.start, token.end)
        for token in tokens(text)
        if token.key in asking_words(kind) and not any(name.start <= token.start < name.end for name in names)
    ]
    focus = _focus(text, kind, names, bool(excluded), population is not None)

    def without_asking(edits: Sequence[_Edit]) -> str:
        """The text with edits, and without the words that say what is asked where others are left to search for."""
        says_more = not all(map(is_noise, bare_words(_apply(text, [*edits, *asking]))))
        return " ".join(_apply(text, [*edits, *exclusions, *(asking if says_more else ())]).split())

    plain, searched = without_asking([]), without_asking(focus)
    intent: Intent = "treatment" if cue_regex("treatment", __package__).search(text) else "unknown"
    if PREVENTION_WORD.search(text):
        intent = "prevention"
    words = [word for unit in read_units(plain) if unit.operator != "NOT" for word in unit.words]
    return Question(
        text=question,
        kind=kind,
        conditions=distinct_words(name.name for name in kept if name.kind == "condition"),
        drugs=distinct_words(name.name for name in kept if name.kind == "drug"),
        drug_classes=distinct_words(name.name for name in kept if name.kind == "class"),
        excluded_drugs=distinct_words(name.name for name in left_out if name.kind == "drug"),
        excluded_classes=distinct_words(name.name for name in left_out if name.kind == "class"),
        population=population,
        sex=find_sex(text),
        intent=intent,
        terms=distinct_words(words),
        words=" ".join(distinct_words(bare_words(" ".join(words)) or bare_words(plain))),
        searched=searched,
    )


def preprocess_query(question: str) -> str:
    """A question as a boolean query: noise taken out, synonyms added, what the user wrote in query syntax kept.

    >>> preprocess_query("What drugs might help prevent erectile dysfunction?")
    '(prevent OR prevention OR prophylaxis OR prophylactic) AND ("erectile dysfunction" OR impotence)'
    """
    return parse_question(question).query


def read_query(source: str, query: str) -> Question:
    """What a boolean query asks a source for that takes names, not words; what it excludes is not among them.

    Commas of MeSH's inverted names don't part the name.

    Raises:
        SourceRefused: the query holds no words.

    >>> read_query("chembl", '("portal hypertension" OR "hypertension, portal") NOT propranolol').conditions
    ('portal hypertension',)
    """
    asked = parse_question(query.replace(", ", " "))
    if not any(map(str.isalnum, asked.words)):
        raise SourceRefused(source, "the query holds no words to search for")
    return asked


def find_sex(text: str) -> str | None:
    """Whether a text is on men or on women; None where it names both or neither, or pregnancy, which says as much.

    >>> find_sex("Which drugs treat osteoporosis in men?"), find_sex("Does it work in men and women?")
    ('men', None)
    """
    found = [name for name in SEXES if speaks_of(text, name)]
    return found[0] if len(found) == 1 and find_population(text) not in _OF_WOMEN else None


def find_population(text: str) -> str | None:
    """The first population of the table that a text names, beside men and women; None where it names none.

    >>> find_population("Can pregnant women take sumatriptan?"), find_population("Is it safe in asthma?")
    ('pregnancy', None)
    """
    return next((name for name in _population_words() if name not in SEXES and speaks_of(text, name)), None)


def speaks_of(text: str, population: str) -> bool:
    """Whether a text names a population of the table."""
    return _population_words()[population].search(text) is not None


@cache
def _population_words() -> Mapping[str, re.Pattern[str]]:
    return {row["name"]: compile_cues(row["words"]) for row in read_table("populations.tsv", __package__)}


class _Edit(NamedTuple):
    """What is put in the place of a stretch of the question; `end` exclusive."""

    start: int
    end: int
    text: str = ""


class _Excluded(NamedTuple):
    """A name that is to be left out, and the stretch of the question that says so; `end` exclusive."""

    name: Name
    start: int
    end: int


def _apply(text: str, edits: Iterable[_Edit]) -> str:
    """A text with its edits; one that overlaps another before it is passed over."""
    made: list[_Edit] = []
    for edit in edits:
        if all(edit.end <= other.start or other.end <= edit.start for other in made):
            made.append(edit)
    for start, end, instead in sorted(made, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def _find_names(text: str) -> list[Name]:
    """The drugs, classes and conditions that a question names, in its order, none across another.

    What is to be done ("quit smoking") names a condition as its name does; who has it does where nothing else is named.
    A condition before a word for drugs names a class ("gout drugs") where another condition is asked about.
    """
    known = find_known_conditions(text)

    def is_part(one: Mention, of: Iterable[Mention]) -> bool:  # "cocaine" of "cocaine-related disorders"
        return any(
            each.start <= one.start and one.end <= each.end and one.end - one.start < each.end - each.start
            for each in of
        )

    drugs = [each for each in find_drugs(text) if not is_part(each, known)]
    classes = [each for each in find_drug_classes(text) if not is_part(each, [*known, *drugs])]
    deeds = [deed for deed in find_deeds(text) if not any(is_part(each, [deed]) for each in known)]
    found = merge_mentions(classes, merge_mentions(deeds, find_conditions(text)) or find_people(text))
    conditions = [each for each in found if each not in classes]

    by_use = []
    for each in conditions:
        rest = text[each.end :].lower().removeprefix(" lowering").removeprefix("-lowering")
        following = bare_words(rest[:40])[:1] if rest[:1].isspace() else []
        if set(following) & set(question_words("drugs by use")):
            by_use.append(each)
    if len({each.name for each in conditions}) > len({each.name for each in by_use}):
        conditions = [each for each in conditions if each not in by_use]
        classes += [each._replace(name=f"{each.name} drugs") for each in by_use]
    medicines = merge_mentions(classes, drugs)
    kinds = [
        *(Name(*each, "class") for each in classes),
        *(Name(*each, "drug") for each in medicines if each not in classes),
        *(Name(*each, "condition") for each in merge_mentions(medicines, conditions) if each in conditions),
    ]
    return sorted(kinds, key=lambda name: name.start)


def _find_excluded(text: str, names: Sequence[Name]) -> list[_Excluded]:
    """Those of the names that a question excludes, in its order.

    "without triptans or opioids", "that are not beta blockers", "steroid-free"; from the name back to the word that
    excludes it stand only words that say nothing, or a name excluded before. An operator parts them.
    """
    words, guarded = tokens(text), _guarded(text)
    parted = {word.start for word in words if text[word.start : word.end] in ("AND", "OR")} - guarded
    first = next((name for name in names if name.is_drug), None)
    found: list[_Excluded] = []
    for name in names:
        at = next(place for place, word in enumerate(words) if word.end > name.start)
        kinds = ["anything", "names", *(["drugs"] * name.is_drug), *(["the first drug"] * (name is first))]
        start, end = None, name.end
        for place in range(at - 1, -1, -1):
            word = words[place]
            if _PARTING & set(text[word.end : words[place + 1].start]) or word.start in parted:
                break
            if listed := next((one for one in found if one.name.start <= word.start < one.end), None):
                joined = any(each.key in _JOINING for each in words[place:at])
                start = listed.end if joined or "," in text[listed.end : words[at].start] else None
                break
            if size := _cue_size(text, words[max(0, place - 1) : place + 1], kinds):
                start = words[place - size + 1].start
                break
            begins_anew = word.key == "with" and place and words[place - 1].key in ("and", "or", "but")
            if word.key not in question_words("between") or begins_anew:
                break
        after = next((word for word in words if word.start > name.end), None)
        if name.is_drug and after and after.key in _FREE and text[name.end : after.start] == "-":
            start, end = (name.start if start is None else start), after.end
        if start is not None:
            found.append(_Excluded(name, start, end))
    return found


def _cue_size(text: str, words: Sequence[Token], kinds: Iterable[str]) -> int:
    """How many of the last words are a cue; 0 for none. NOT is query syntax in capitals, in small letters a word."""
    for cue in (cue for kind in kinds for cue in question_words(f"excludes {kind}")):
        size = cue.count(" ") + 1
        last = ("NOT" if text[word.start : word.end] == "NOT" else word.key for word in words[-size:])
        if " ".join(last) == cue:
            return size
    return 0


def _exclusions(text: str, excluded: Sequence[_Excluded]) -> list[_Edit]:
    """What puts the operator NOT before each excluded name, and in place of words that exclude what is not known."""
    guarded, words, edits = _guarded(text), tokens(text), list[_Edit]()
    for name, start, end in excluded:
        if name.start not in guarded and "NOT" not in text[start : name.start]:
            edits.append(_Edit(start, end, f" NOT {name.text} "))
    for at, word in enumerate(words):
        size = _cue_size(text, words[max(0, at - 1) : at + 1], ["anything"])
        if size and word.start not in guarded:
            end = words[at + 1].end if words[at + 1 : at + 2] and words[at + 1].key == "for" else word.end
            edits.append(_Edit(words[at - size + 1].start, end, " NOT "))
    return edits


def _guarded(text: str) -> set[int]:
    """The places of a question within quotes and brackets, where words are the user's own syntax."""
    inside, depth, quoted = set(), 0, False
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]" and depth > 0)
        quoted ^= letter == '"'
        if depth or quoted:
            inside.add(place)
    return inside


def _focus(text: str, kind: Kind, names: Sequence[Name], leaves_out: bool, on_population: bool) -> list[_Edit]:
    """What is not searched for since few records say it beside the rest.

    Records on valproate in pregnancy seldom are on migraine too: of a question on safety the use goes, of one on harm
    those whom it may befall. Drugs to be compared are alternatives, since trials of each against placebo name no other;
    not where a question leaves some out, or has brackets or quotes of its own.
    """
    conditions = [name for name in names if name.kind == "condition"]
    if kind == "safety" and on_population:
        prevention = (_Edit(*found.span()) for found in PREVENTION_WORD.finditer(text))
        return [*(_Edit(name.start, name.end) for name in conditions), *prevention]
    if kind == "harm" and conditions:
        named = {name[:3] for name in conditions}
        return [_Edit(each.start, each.end) for each in find_people(text) if each[:3] not in named]
    arms = [name for name in names if name.is_drug]
    if kind != "compare" or leaves_out or not set('()"').isdisjoint(text) or len({arm.name for arm in arms}) < 2:
        return []
    first, *others = arms
    edits = [_Edit(first.start, first.end, " or ".join(arm.text for arm in arms))]
    for arm in others:
        before = text[: arm.start].rstrip().removesuffix(" or")
        edits.append(_Edit(len(before), arm.end))
    return edits
