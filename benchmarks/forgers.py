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
class ResultSentence:
    """A result sentence of a record that names a drug."""

    record: Evidence
    quote: str
    drug: str
    others: tuple[str, ...]
    """What else is compared in the sentence, as written."""
    condition: str
    aim: str | None
    """A sentence of the record that tells its aim or background; None where there is none."""


Forger = Callable[[ResultSentence, random.Random], Claim | None]


def make_claim(source: ResultSentence, quote: str | None = None, **changes: str) -> Claim | None:
    """A claim on a sentence, quoted as told; None where the forgery left it as it was."""
    if quote is not None and " ".join(quote.split()) == " ".join(source.quote.split()):
        return None
    fields = {
        "drug": source.drug,
        "evidence_key": source.record.key,
        "quote": quote or source.quote,
        "stance": "supports",
    }
    return Claim.model_validate({**fields, **changes})


def _swap_words(kind: str) -> Forger:
    def forge(source: ResultSentence, rng: random.Random) -> Claim | None:
        options = list(_SWAPS[kind])
        rng.shuffle(options)
        for old, new in options:
            if new and new.rstrip("s") in source.record.citation.title.casefold():
                continue  # a title may say so
            pattern = rf"(?<!\w){re.escape(old)}(?!\w)" if old != "%" else "%"
            if re.search(pattern, source.quote):
                return make_claim(source, re.sub(pattern, new, source.quote, count=1))
        return None

    return forge


def _swap_arms(source: ResultSentence, rng: random.Random) -> Claim | None:
    if not source.others:
        return None
    other = rng.choice(source.others)
    between = re.search(rf"{re.escape(source.drug)}(.*?){re.escape(other)}", source.quote, re.I)
    if between and re.fullmatch(r"(?:\W|and|or|\d|[\w-]+,)*", between[1]) and not re.search(r"\d", source.quote):
        return None  # a list says the same in any order
    text = source.quote.replace(source.drug, "\0").replace(other, source.drug).replace("\0", other)
    return make_claim(source, text)


def _swap_numbers(source: ResultSentence, rng: random.Random) -> Claim | None:
    numbers = list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?", source.quote))
    pairs = [(a, b) for a, b in pairwise(numbers) if a.group() != b.group()]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    q = source.quote
    return make_claim(source, q[: a.start()] + b.group() + q[a.end() : b.start()] + a.group() + q[b.end() :])


def _change_number(source: ResultSentence, rng: random.Random) -> Claim | None:
    numbers = list(re.finditer(r"(?<![\w.])\d+", source.quote))
    if not numbers:
        return None
    one = rng.choice(numbers)
    return make_claim(
        source, f"{source.quote[: one.start()]}{int(one.group()) + rng.randint(1, 9)}{source.quote[one.end() :]}"
    )


def _change_outcome(source: ResultSentence, rng: random.Random) -> Claim | None:
    listed = re.search(r"(\w{5,}) (and|but not|or) (\w{5,})(?=.*\d)|(\w{5,}) (but not) (\w{5,})", source.quote)
    if listed and listed.group(5):
        return make_claim(source, source.quote.replace(listed.group(), f"{listed[6]} but not {listed[4]}"))
    outcomes = [condition.text for condition in find_conditions(source.quote)] or re.findall(
        r"(?:reduc\w+|increas\w+|improv\w+|decreas\w+) (?:in |of )?(?:the )?(\w{4,})", source.quote
    )
    return make_claim(source, source.quote.replace(outcomes[0], rng.choice(_OUTCOMES), 1)) if outcomes else None


def _add_words(what: tuple[str, ...], place: str) -> Forger:
    def forge(source: ResultSentence, rng: random.Random) -> Claim | None:
        word = rng.choice(what)
        if place == "front":
            return make_claim(source, f"{word}, {source.quote}")
        if place == "end":
            return make_claim(source, f"{source.quote.rstrip('. ')} {word}.")
        verb = re.search(r"\b(?:\w+ed|\w+es|is|was|were|are)\b", source.quote[source.quote.find(source.drug) :])
        if not verb:
            return None
        at = source.quote.find(source.drug) + verb.start()
        return make_claim(source, f"{source.quote[:at]}{word} {source.quote[at:]}")

    return forge


def _negate(source: ResultSentence, rng: random.Random) -> Claim | None:
    return make_claim(source, re.sub(r"\b(was|were|is|are|can|may|did|has|had)\b", r"\1 not", source.quote, count=1))


def _take_number(source: ResultSentence, rng: random.Random) -> Claim | None:
    """Of two arms with a number each the drug with the number of the other one: what stands between them cut out."""
    number = r"\d[\d.]* ?%?"
    gap = r"[^\d;]{1,40}?"
    then = r" ?(?:vs\.?|versus|and|,) ?"
    drug = re.escape(source.drug)
    for other in map(re.escape, source.others):
        ways = (
            rf"{drug}{gap}(?P<cut>{number}{gap}{other}{gap})(?P<kept>{number})",
            rf"{number}(?P<cut>{gap}{other}{gap}{number})(?P<kept>{gap}{drug})",
            rf"{drug}{gap}(?P<cut>{other}{gap}{number}{then})(?P<kept>{number})",
            rf"(?P<cut>{other}{gap})(?P<kept>{drug}{gap}{number}{then}{number})",
            rf"{other}{gap}{drug}{gap}(?P<cut>{number}{then})(?P<kept>{number})",
        )
        for match in (re.search(way, source.quote, re.I) for way in ways):
            if match and not re.search(r"\bp ?[<=>]", match[0], re.I):
                return make_claim(source, f"{source.quote[: match.start('cut')]}{source.quote[match.start('kept') :]}")
    return None


def _take_direction(source: ResultSentence, rng: random.Random) -> Claim | None:
    """Of two outcomes that went two ways the second with the first one's direction."""
    up = r"\b(?:increas|improv|higher|rais|elevat)\w*"
    down = r"\b(?:reduc|decreas|lower|fell|declin)\w*"
    match = re.search(rf"({up}).*?({down})", source.quote) or re.search(rf"({down}).*?({up})", source.quote)
    return make_claim(source, source.quote[: match.end(1)] + source.quote[match.end(2) :]) if match else None


def _move_negation(source: ResultSentence, rng: random.Random) -> Claim | None:
    """What was negated told as it is, and something else negated instead."""
    negation = re.search(r"\b(?:was|were|did|is|are) (not )", source.quote)
    others = list(re.finditer(r"\b(?:was|were|did|is|are|has|had)\b(?! not)", source.quote))
    if not negation or not others:
        return None
    insertion, (start, end) = rng.choice(others).end(), negation.span(1)
    if insertion < start:
        return make_claim(source, f"{source.quote[:insertion]} not{source.quote[insertion:start]}{source.quote[end:]}")
    return make_claim(source, f"{source.quote[:start]}{source.quote[end:insertion]} not{source.quote[insertion:]}")


def _turn_sign(source: ResultSentence, rng: random.Random) -> Claim | None:
    sign = re.search(r"[<>≤≥]", source.quote)
    turned = {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}
    return make_claim(source, source.quote.replace(sign[0], turned[sign[0]], 1)) if sign else None


def _name_other_drug(source: ResultSentence, rng: random.Random) -> Claim | None:
    drug = rng.choice(_OTHER_DRUGS)
    if drug in source.record.content.casefold():
        return None
    return make_claim(source, source.quote.replace(source.drug, drug), drug=rng.choice([drug, source.drug]))


def _cut(where: str) -> Forger:
    def forge(source: ResultSentence, rng: random.Random) -> Claim | None:
        words = source.quote.split()
        if len(words) < 9:
            return None
        at = rng.randint(2, len(words) - 4)
        remaining = {"end": words[: at + 3], "beginning": words[at:], "both ends": words[2:-2]}[where]
        quote = " ".join(remaining)
        return make_claim(source, quote)

    return forge


def _splice(source: ResultSentence, rng: random.Random) -> Claim | None:
    words = source.quote.split()
    at = rng.randint(2, max(2, len(words) - 5))
    quote = " ".join([*words[:at], *words[at + 3 :]])
    return make_claim(source, quote) if len(words) > 8 else None


def forge_aim(source: ResultSentence, rng: random.Random) -> Claim | None:
    """An aim of the record told as its result."""
    if source.aim is None:
        return None
    drug = find_drugs(source.aim)[0].text
    return make_claim(source, source.aim, drug=drug)


def _invent(source: ResultSentence, rng: random.Random) -> Claim | None:
    return make_claim(source, rng.choice(_LIES).format(drug=source.drug.capitalize(), condition=source.condition))


def _cut_negation(source: ResultSentence, rng: random.Random) -> Claim | None:
    """A negation, and all before it, left out: what was not reached is told as reached."""
    concession = re.search(r"\b(?:but|although|however)\b.*\b(?:not|no)\b (?=\w)", source.quote)
    if not concession:
        return None
    return make_claim(source, f"{source.drug.capitalize()} {source.quote[concession.end() :]}")


FORGERS: dict[str, Forger] = {
    "arms swapped": _swap_arms,
    "another drug": _name_other_drug,
    "numbers swapped": _swap_numbers,
    "a number of another arm": _take_number,
    "a direction of another outcome": _take_direction,
    "signs turned": _turn_sign,
    "a negation of another": _move_negation,
    "a number changed": _change_number,
    "outcomes": _change_outcome,
    **{kind: _swap_words(kind) for kind in _SWAPS},
    "negations added": _negate,
    "negations cut off": _cut_negation,
    "adverbs": _add_words(_ADVERBS, "middle"),
    "a design added": _add_words(_DESIGNS, "front"),
    "a time added": _add_words(_TIMES, "end"),
    "plain lies": _invent,
}
CUTS: dict[str, Forger] = {
    "quotes cut at the end": _cut("end"),
    "quotes cut at the beginning": _cut("beginning"),
    "quotes cut at both ends": _cut("both ends"),
    "quotes with their middle cut out": _splice,
}
