"""Ways to forge a claim on a result sentence; each gives None where the sentence does not lend itself to it."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from willowbark.agents.asking.claims import Claim
from willowbark.tools.lexicon import find_conditions, find_drugs
from willowbark.tools.records.evidence import Evidence

_SWAPS = {
    "units": [("mg", "g"), ("%", " mg"), ("weeks", "months"), ("months", "weeks"), ("days", "weeks"), ("h", "days"),
              ("mm hg", "cm hg"), ("years", "weeks"), ("kg", "g"), ("ml", "l"), ("week", "year"), ("hours", "days")],
    "populations": [("women", "men"), ("men", "women"), ("children", "adults"), ("adults", "children"),
                    ("patients", "healthy children"), ("elderly", "young"), ("rats", "patients"), ("mice", "women"),
                    ("postmenopausal", "pregnant"), ("subjects", "pregnant women"), ("infants", "elderly people")],
    "designs": [("study", "randomised trial"), ("trial", "meta-analysis"), ("open", "double-blind"),
                ("retrospective", "randomised"), ("case", "cohort"), ("in vitro", "in patients"),
                ("pilot", "definitive"), ("uncontrolled", "controlled"), ("results", "trials"), ("data", "trials")],
    "verbs of direction": [("reduced", "increased"), ("reduces", "increases"), ("increased", "decreased"),
                           ("improved", "worsened"), ("improves", "worsens"), ("decreased", "increased"),
                           ("lower", "higher"), ("higher", "lower"), ("better", "worse"), ("superior", "inferior"),
                           ("effective", "ineffective"), ("prevented", "provoked"), ("fewer", "more"), ("less", "more"),
                           ("greater", "smaller"), ("reduction", "rise"), ("improvement", "worsening"),
                           ("relieved", "aggravated"), ("reduce", "increase"), ("improve", "worsen")],
    "hedges dropped": [("may be", "is"), ("may", ""), ("might", ""), ("could", ""), ("appears to be", "is"),
                       ("appeared to be", "was"), ("seems to be", "is"), ("possibly", ""), ("slightly", ""),
                       ("modest", ""), ("tended to", ""), ("appears", "is"), ("partially", ""),
                       ("associated with", "caused")],
    "quantifiers": [("some", "all"), ("most", "all"), ("many", "all"), ("several", "all"), ("few", "most"),
                    ("patients", "all patients"), ("one", "every"), ("the", "every"), ("in", "in nearly all cases in")],
    "negations dropped": [("did not", "did"), ("was not", "was"), ("were not", "were"),
                          ("no significant", "a significant"), ("not", ""), ("no", "a"),
                          ("without", "with"), ("neither", "both")],
}  # fmt: skip
_ADVERBS = ("markedly", "dramatically", "completely", "rapidly", "permanently", "slightly", "consistently", "always")
_TIMES = ("within 2 days", "after 10 years", "at 6 months", "for life", "overnight", "after a single dose")
_OUTCOMES = ("mortality", "quality of life", "seizures", "blood pressure", "pain", "relapse", "depression", "stroke")
_DESIGNS = ("In a randomised double-blind trial", "In a meta-analysis of 12 trials", "In a large cohort study")
_OTHER_DRUGS = ("warfarin", "metformin", "lithium", "ibuprofen", "omeprazole", "sertraline", "digoxin")
_LIES = (
    "{drug} cures {condition}.",
    "{drug} is the best drug for {condition}.",
    "{drug} abolished {condition} in every patient.",
    "{drug} is safe in pregnant women with {condition}.",
    "{drug} halved the risk of death.",
    "{drug} was superior to placebo in {condition}.",
    "{drug} is recommended first-line in {condition}.",
    "{drug} reduced mortality by 90%.",
)


@dataclass(frozen=True)
class Told:
    """A result sentence of a record that names a drug."""

    record: Evidence
    quote: str
    drug: str
    others: tuple[str, ...]
    """What else is compared in the sentence, as written."""
    condition: str
    aim: str | None
    """A sentence of the record that tells its aim or background; None where there is none."""


Forger = Callable[[Told, random.Random], Claim | None]


def claim(told: Told, quote: str | None = None, **changes: str) -> Claim | None:
    """A claim on a sentence, quoted as told; None where the forgery left it as it was."""
    if quote is not None and " ".join(quote.split()) == " ".join(told.quote.split()):
        return None
    made = {"drug": told.drug, "evidence_key": told.record.key, "quote": quote or told.quote, "stance": "supports"}
    return Claim.model_validate({**made, **changes})


def _swapped(kind: str) -> Forger:
    def forge(told: Told, rng: random.Random) -> Claim | None:
        options = list(_SWAPS[kind])
        rng.shuffle(options)
        for old, new in options:
            if new and new.rstrip("s") in told.record.citation.title.casefold():
                continue  # a title may say so
            pattern = rf"(?<!\w){re.escape(old)}(?!\w)" if old != "%" else "%"
            if re.search(pattern, told.quote):
                return claim(told, re.sub(pattern, new, told.quote, count=1))
        return None

    return forge


def _arms(told: Told, rng: random.Random) -> Claim | None:
    if not told.others:
        return None
    other = rng.choice(told.others)
    between = re.search(rf"{re.escape(told.drug)}(.*?){re.escape(other)}", told.quote, re.I)
    if between and re.fullmatch(r"(?:\W|and|or|\d|[\w-]+,)*", between[1]) and not re.search(r"\d", told.quote):
        return None  # a list says the same in any order
    text = told.quote.replace(told.drug, "\0").replace(other, told.drug).replace("\0", other)
    return claim(told, text)


def _numbers(told: Told, rng: random.Random) -> Claim | None:
    numbers = list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?", told.quote))
    pairs = [(a, b) for a, b in pairwise(numbers) if a.group() != b.group()]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    q = told.quote
    return claim(told, q[: a.start()] + b.group() + q[a.end() : b.start()] + a.group() + q[b.end() :])


def _changed_number(told: Told, rng: random.Random) -> Claim | None:
    numbers = list(re.finditer(r"(?<![\w.])\d+", told.quote))
    if not numbers:
        return None
    one = rng.choice(numbers)
    return claim(told, f"{told.quote[: one.start()]}{int(one.group()) + rng.randint(1, 9)}{told.quote[one.end() :]}")


def _outcomes(told: Told, rng: random.Random) -> Claim | None:
    listed = re.search(r"(\w{5,}) (and|but not|or) (\w{5,})(?=.*\d)|(\w{5,}) (but not) (\w{5,})", told.quote)
    if listed and listed.group(5):
        return claim(told, told.quote.replace(listed.group(), f"{listed[6]} but not {listed[4]}"))
    found = [condition.text for condition in find_conditions(told.quote)] or re.findall(
        r"(?:reduc\w+|increas\w+|improv\w+|decreas\w+) (?:in |of )?(?:the )?(\w{4,})", told.quote
    )
    return claim(told, told.quote.replace(found[0], rng.choice(_OUTCOMES), 1)) if found else None


def _added(what: tuple[str, ...], place: str) -> Forger:
    def forge(told: Told, rng: random.Random) -> Claim | None:
        word = rng.choice(what)
        if place == "front":
            return claim(told, f"{word}, {told.quote}")
        if place == "end":
            return claim(told, f"{told.quote.rstrip('. ')} {word}.")
        verb = re.search(r"\b(?:\w+ed|\w+es|is|was|were|are)\b", told.quote[told.quote.find(told.drug) :])
        if not verb:
            return None
        at = told.quote.find(told.drug) + verb.start()
        return claim(told, f"{told.quote[:at]}{word} {told.quote[at:]}")

    return forge


def _negated(told: Told, rng: random.Random) -> Claim | None:
    return claim(told, re.sub(r"\b(was|were|is|are|can|may|did|has|had)\b", r"\1 not", told.quote, count=1))


def _number_of_another(told: Told, rng: random.Random) -> Claim | None:
    """Of two arms with a number each the drug with the number of the other one: what stands between them cut out."""
    number = r"\d[\d.]* ?%?"
    gap = r"[^\d;]{1,40}?"
    then = r" ?(?:vs\.?|versus|and|,) ?"
    drug = re.escape(told.drug)
    for other in map(re.escape, told.others):
        ways = (
            rf"{drug}{gap}(?P<cut>{number}{gap}{other}{gap})(?P<kept>{number})",
            rf"{number}(?P<cut>{gap}{other}{gap}{number})(?P<kept>{gap}{drug})",
            rf"{drug}{gap}(?P<cut>{other}{gap}{number}{then})(?P<kept>{number})",
            rf"(?P<cut>{other}{gap})(?P<kept>{drug}{gap}{number}{then}{number})",
            rf"{other}{gap}{drug}{gap}(?P<cut>{number}{then})(?P<kept>{number})",
        )
        for found in (re.search(way, told.quote, re.I) for way in ways):
            if found and not re.search(r"\bp ?[<=>]", found[0], re.I):
                return claim(told, f"{told.quote[: found.start('cut')]}{told.quote[found.start('kept') :]}")
    return None


def _direction_of_another(told: Told, rng: random.Random) -> Claim | None:
    """Of two outcomes that went two ways the second with the first one's direction."""
    up = r"\b(?:increas|improv|higher|rais|elevat)\w*"
    down = r"\b(?:reduc|decreas|lower|fell|declin)\w*"
    found = re.search(rf"({up}).*?({down})", told.quote) or re.search(rf"({down}).*?({up})", told.quote)
    return claim(told, told.quote[: found.end(1)] + told.quote[found.end(2) :]) if found else None


def _negation_of_another(told: Told, rng: random.Random) -> Claim | None:
    """What was negated told as it is, and something else negated instead."""
    found = re.search(r"\b(?:was|were|did|is|are) (not )", told.quote)
    others = list(re.finditer(r"\b(?:was|were|did|is|are|has|had)\b(?! not)", told.quote))
    if not found or not others:
        return None
    place, (start, end) = rng.choice(others).end(), found.span(1)
    if place < start:
        return claim(told, f"{told.quote[:place]} not{told.quote[place:start]}{told.quote[end:]}")
    return claim(told, f"{told.quote[:start]}{told.quote[end:place]} not{told.quote[place:]}")


def _sign(told: Told, rng: random.Random) -> Claim | None:
    found = re.search(r"[<>≤≥]", told.quote)
    turned = {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}
    return claim(told, told.quote.replace(found[0], turned[found[0]], 1)) if found else None


def _other_drug(told: Told, rng: random.Random) -> Claim | None:
    drug = rng.choice(_OTHER_DRUGS)
    if drug in told.record.content.casefold():
        return None
    return claim(told, told.quote.replace(told.drug, drug), drug=rng.choice([drug, told.drug]))


def _cut(where: str) -> Forger:
    def forge(told: Told, rng: random.Random) -> Claim | None:
        words = told.quote.split()
        if len(words) < 9:
            return None
        at = rng.randint(2, len(words) - 4)
        kept = {"end": words[: at + 3], "beginning": words[at:], "both ends": words[2:-2]}[where]
        quote = " ".join(kept)
        return claim(told, quote)

    return forge


def _spliced(told: Told, rng: random.Random) -> Claim | None:
    words = told.quote.split()
    at = rng.randint(2, max(2, len(words) - 5))
    quote = " ".join([*words[:at], *words[at + 3 :]])
    return claim(told, quote) if len(words) > 8 else None


def aim(told: Told, rng: random.Random) -> Claim | None:
    """An aim of the record told as its result."""
    if told.aim is None:
        return None
    drug = find_drugs(told.aim)[0].text
    return claim(told, told.aim, drug=drug)


def _lie(told: Told, rng: random.Random) -> Claim | None:
    return claim(told, rng.choice(_LIES).format(drug=told.drug.capitalize(), condition=told.condition))


def _half(told: Told, rng: random.Random) -> Claim | None:
    """A negation, and all before it, left out: what was not reached is told as reached."""
    found = re.search(r"\b(?:but|although|however)\b.*\b(?:not|no)\b (?=\w)", told.quote)
    if not found:
        return None
    return claim(told, f"{told.drug.capitalize()} {told.quote[found.end() :]}")


FORGERS: dict[str, Forger] = {
    "arms swapped": _arms,
    "another drug": _other_drug,
    "numbers swapped": _numbers,
    "a number of another arm": _number_of_another,
    "a direction of another outcome": _direction_of_another,
    "signs turned": _sign,
    "a negation of another": _negation_of_another,
    "a number changed": _changed_number,
    "outcomes": _outcomes,
    **{kind: _swapped(kind) for kind in _SWAPS},
    "negations added": _negated,
    "negations cut off": _half,
    "adverbs": _added(_ADVERBS, "middle"),
    "a design added": _added(_DESIGNS, "front"),
    "a time added": _added(_TIMES, "end"),
    "plain lies": _lie,
}
CUTS: dict[str, Forger] = {
    "quotes cut at the end": _cut("end"),
    "quotes cut at the beginning": _cut("beginning"),
    "quotes cut at both ends": _cut("both ends"),
    "quotes with their middle cut out": _spliced,
}
