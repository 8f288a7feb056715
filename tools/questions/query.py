"""From a question to search queries: what is asked, in the words that sources index."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

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
from willowbark.tools.lexicon.matching import Match, apart, phrase_key

from .query_syntax import Token, bare_words, lex, normalised

LONGEST_QUESTION = 2000  # characters; a question, not a document
LONGEST_NAME = 7  # words of a known name
MOST_SYNONYMS = 6  # per concept: PubMed and Europe PMC take queries by GET

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
    available be been being benefit benefits best better between both but by can candidate candidates cause could
    current currently did do does doing drug drug's drugs each effective effectively effectiveness efficacy evidence
    exist existing exists find for from give given good got had has have having help helped helpful helping helps
    here how i if improve improves improving in into is it its just know known licensed like look looking manage
    management managing may me medication medications medicine medicines might more most my new of off-label on one
    only option options or other our out patient patients people please possible possibly potential potentially
    promise promising recommended relevant repurpose repurposed repurposing research seem seems should show showing
    shown shows so some such suggest suggested suitable take tell than that the their them then therapeutic
    therapeutics therapies therapy there these they this those to today treat treated treating treatment treatments
    treats try us use used useful uses using was we well were what what's whats when where whether which who whose
    why will with work worked working works would yet you your
    """.split()
)
# What excludes in plain words, outside quotes and brackets.
_EXCLUDING = re.compile(
    r'"[^"]*"|\([^()]*\)|\[[^\[\]]*\]|(?P<plain>\b(?:(?:[Bb]ut|and) not|except(?: for)?|other than|apart from)\b)'
)
_BOUND = re.compile(
    r"(?:gene|cell|stem cell|hormone|hormone replacement|radiation|combination|light|speech|exercise) therapy|"
    r"tumou?r necrosis factor(?:[ -]alpha)?|(?:programmed )?cell death",
    re.IGNORECASE,
)
_UNREADABLE = frozenset(("Cc", "Cs"))  # control characters, surrogates
_LETTER_OR_NUMBER = re.compile(r"[A-HJ-Z]|[IVX]{2,3}|\d{1,3}")  # "hepatitis A", "type 2"; I is mostly the asker
_NAMES_THAT_ARE_WORDS = frozenset(("WHO", "US", "IT"))
# A condition before these words names a class of drugs by its use.
_OF_DRUGS = re.compile(r"(?:[ -]lowering)?\s+(?:drugs?|medicines?|medications?|pills?)\b", re.IGNORECASE)
_NEEDS_QUOTES = re.compile(r"[^\w*$+%-]")


class QuestionError(UsageError, ValueError):
    """The question cannot be searched for; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question asks."""

    text: str
    """The question as given."""
    conditions: tuple[str, ...]
    """Common names of the conditions it names, in its order."""
    drugs: tuple[str, ...]
    """Generic names of the drugs it names, in its order."""
    drug_classes: tuple[str, ...]
    """Classes of drugs it names, in its order; by their use where it asks about another condition: `gout drugs`."""
    intent: Intent
    """Prevention when it asks to prevent; unknown when it asks for neither."""
    terms: tuple[str, ...]
    """Its words that carry meaning, names in one piece, as they stand."""


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


def preprocess_query(question: str) -> str:
    """A question as a boolean query: noise taken out, synonyms added, what the user wrote in query syntax kept.

    >>> preprocess_query("What drugs might help prevent erectile dysfunction?")
    '(prevent OR prevention OR prophylaxis OR prophylactic) AND ("erectile dysfunction" OR impotence)'
    """
    query = _boolean(normalised(question))
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
    text = normalised(question)
    own = " ".join(words for unit in _units(text) for words in unit.words)
    return " ".join(_distinct(bare_words(own) or bare_words(text)))


def parse_question(question: str) -> ParsedQuestion:
    """What a question names and what it wants.

    >>> parse_question("Which diabetes drugs show promise for cancer?").conditions
    ('cancer',)
    """
    text = normalised(question)
    conditions, classes = _conditions_and_classes(text)
    return ParsedQuestion(
        text=question,
        conditions=_distinct(conditions),
        drugs=_distinct(found.name for found in find_drugs(text)),
        drug_classes=_distinct(classes),
        intent=_intent(text),
        terms=_distinct(words for unit in _units(text) for words in unit.words),
    )


def _conditions_and_classes(text: str) -> tuple[list[str], list[str]]:
    """Names of the conditions asked about and of the classes of drugs, each in the question's order.

    What is to be done ("quit smoking") names a condition as its name does; who has it does where nothing else is named.
    """
    classes = [Match(found.name, found.start, found.end) for found in find_drug_classes(text)]
    named = [Match(found.name, found.start, found.end) for found in find_conditions(text)]
    found = apart(classes, apart(find_deeds(text), named) or find_people(text))
    conditions = [match for match in found if match not in classes]
    by_use = [match for match in conditions if _OF_DRUGS.match(text, match.end)]
    if len({match.value for match in conditions}) > len({match.value for match in by_use}):
        conditions = [match for match in conditions if match not in by_use]
        classes += [Match(f"{match.value} drugs", match.start, match.end) for match in by_use]
    ordered = sorted(classes, key=lambda match: match.start)
    return [match.value for match in conditions], [match.value for match in ordered]


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
    return f'"{words}"' if _NEEDS_QUOTES.search(words) else words


def _is_noise(word: str) -> bool:
    return word.lower() in _NOISE and word not in _NAMES_THAT_ARE_WORDS


def _units(text: str) -> list[_Unit]:
    """The units of a normalised question, with the names of one concept drawn together."""
    units: list[_Unit] = []
    for unit in _single_units(lex(_excluded(text), _is_noise)):
        same = next((each for each in units if each.concept and each.concept == unit.concept), None)
        if unit.operator in ("", "or") and same:
            same.words += unit.words
            same.spelled = list(_distinct([same.spelled[0], unit.spelled[0], *same.spelled[1:]]))
        elif unit.operator == "or" and units:
            units[-1].words += unit.words
            units[-1].spelled = list(_distinct([*units[-1].spelled, *unit.spelled]))
            units[-1].concept = ""
        else:
            unit.operator = unit.operator.upper() if units or unit.operator == "NOT" else ""
            units.append(unit)
    return units


def _excluded(text: str) -> str:
    """A question whose "but not" is the operator that it means."""
    return _EXCLUDING.sub(lambda found: " NOT " if found["plain"] else found.group(), text)


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
        if _BOUND.fullmatch(phrase):
            return _Unit([phrase], [_quoted(phrase)]), size
    if _is_noise(words[0]):
        return None, 1
    if len(words) > 1 and _LETTER_OR_NUMBER.fullmatch(words[1]):
        pair = " ".join(words[:2])
        return _Unit([pair], [_quoted(pair)]), 2
    if known := _concept(words[0]):
        return _known_unit(words[0], *known), 1
    return _Unit([words[0]], [_quoted(words[0])]), 1


def _known_unit(words: str, concept: str, synonyms: tuple[str, ...]) -> _Unit:
    spelled = _distinct((words, *synonyms))[: MOST_SYNONYMS + 1]
    return _Unit([words], [_quoted(each) for each in spelled], concept)


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
    if name := asked_condition(words):
        return f"{canonical_condition.__name__} {name}", condition_synonyms(name)
    return None
