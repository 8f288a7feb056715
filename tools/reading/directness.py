"""How directly a record bears on the question: who took part, what was measured, what the drug was compared with.

GRADE takes a step for indirectness where people, intervention, comparison or outcome are not those asked about (GRADE
guidelines 8, J Clin Epidemiol 2011;64:1303-10, https://doi.org/10.1016/j.jclinepi.2011.04.014). That two drugs did
alike shows that one works only as far as the other does (ICH E10, section 1.5, on assay sensitivity). Only what a
record says is used: a group, outcome or comparison that it does not name takes no step.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from .reporting import arms, sample_size
from .sentences import stems

_ADULTS = re.compile(r"\b(?:adults?|all ages)\b", re.IGNORECASE)
_GROUPS = (
    ("children or adolescents", r"children|childhood|pa?ediatric\w*|adolescen\w+|infants?|neonat\w+|teenage\w*"),
    ("the days around menstruation", r"(?:peri)?menstrua\w+|menses|catamenial"),
    ("pregnant women", r"pregnan\w+"),
    ("old people", r"elderly|older (?:adults|people|patients|persons)"),
)
_GROUP_PATTERNS = tuple((name, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for name, words in _GROUPS)
_FIELDS: tuple[tuple[str, str], ...] = (
    (
        "the kidney",
        r"kidney|renal|nephro|\bu?acr\b|creatinin|nephrit|glomerul|\begfr\b|\bgfr\b|albumin(?:uria|-)|urinary|urine|proteinuri",
    ),
    (
        "the heart and circulation",
        r"cardiovascular|cardiac|myocardial|infarct|\bstroke|heart|coronary|angina|arrhythm|atrial",
    ),
    ("the liver", r"liver|hepat|portal|varic|varix|cirrho|ascites|re-?bleed|\bbleed|haemorrhag|hemorrhag|\bhvpg\b"),
    ("headache", r"migraine|headache|\baura\b"),
    ("smoking", r"smok|abstinen|abstain|nicotine|cigarette|tobacco|\bquit"),
    ("blood sugar", r"glyc[ae]+m|glucose|\bhba1c\b|insulin|\bdiabetes\b"),
    ("mood", r"depress(?:ion|ive)|\bmood\b|anxiety"),
    ("the lungs", r"pulmonary|lung|asthma|\bfev"),
    ("cancer", r"cancer|tumou?r|carcinoma|neoplas|leuk[ae]+mia|lymphoma|melanoma"),
    ("cognition", r"cognit|dementia|alzheimer"),
    ("seizures", r"seizure|epilep"),
    ("the joints", r"arthrit|\bjoints?\b"),
    ("body weight", r"body weight|weight loss|obes|\bbmi\b"),
)
"""Parts of medicine whose outcomes are told apart, with the words of each."""
_FIELD_PATTERNS = tuple((name, re.compile(words, re.IGNORECASE)) for name, words in _FIELDS)
_OF_ANY_CONDITION = re.compile(
    r"\b(?:death|died|mortality|survival|quality of life|respon\w+|remission|relapse|recurrence|symptom\w*|severity|"
    r"disability|global impression|function\w*|progression|attacks?|pain)\b",
    re.IGNORECASE,
)
_BEATS = re.compile(
    r"\b(?:superior to|better than|more effective than)\b|"
    r"\b(?:fewer|less|lower|higher|greater|more|shorter|longer|exceeded|beat)\b[^.;]{0,80}\b(?:than|the)\b",
    re.IGNORECASE,
)
_NO_BETTER = re.compile(
    r"\bnon-?inferior|\bnot (?:\w+ ){0,3}(?:inferior|superior|better|differ)|\bas (?:effective|good)|\bsimilar|"
    r"\bcomparable|\bequal|\beither (?:drug|treatment)|\bboth\b",
    re.IGNORECASE,
)
_CROSSOVER = re.compile(r"\bcross-?over\b", re.IGNORECASE)
_TWO = 2  # arms of one comparison


@lru_cache(maxsize=4096)
def narrower_group(title: str, text: str, asked: str) -> str | None:
    """The part of those asked about that a study is confined to, in words; None where it names none.

    The title and the sentence that gives the number of participants tell it; what the question itself asks for is not
    narrower.

    >>> narrower_group("Drug A in 40 children with migraine", "", "Which drugs prevent migraine?")
    'children or adolescents'
    >>> narrower_group("Drug A in children", "", "Which drugs prevent migraine in children?")
    """
    size = sample_size(text)
    said = f"{title} {size.sentence if size else ''}"
    for name, pattern in _GROUP_PATTERNS:
        if pattern.search(said) and not pattern.search(asked):
            mixed = name in ("children or adolescents", "old people") and _ADULTS.search(pattern.sub(" ", said))
            return None if mixed else name
    return None


def other_outcome(outcome: str, conditions: Iterable[str], *, registered: bool = False) -> str | None:
    """What an outcome is about where it is not the condition asked about, in words; None where it may be.

    Args:
        outcome: title of an outcome, or the sentence that gives its result.
        conditions: names of the condition asked about.
        registered: whether it is the title of an outcome: one that shares nothing with the condition then counts as
            one of which it cannot be told.

    >>> other_outcome("First cardiovascular death or stroke", ["diabetic nephropathy"])
    'the heart and circulation'
    >>> other_outcome("Kidney failure or renal death", ["diabetic nephropathy"])
    """
    return _other_outcome(outcome, tuple(conditions), registered)


@lru_cache(maxsize=4096)
def _other_outcome(outcome: str, conditions: tuple[str, ...], registered: bool) -> str | None:
    names = " ; ".join(conditions)
    asked, measured = _fields(names), _fields(outcome)
    if not conditions or set(asked) & set(measured):
        return None
    if asked and measured:
        return " and ".join(measured)
    if not registered or stems(names) & stems(outcome) or _OF_ANY_CONDITION.search(outcome):
        return None
    return "something of which it cannot be told whether it belongs to the condition"


def _fields(text: str) -> list[str]:
    return [name for name, pattern in _FIELD_PATTERNS if pattern.search(text)]


def beats(sentence: str) -> bool:
    """Whether a sentence says that one treatment did better than another, not merely as well."""
    return bool(_BEATS.search(sentence)) and not _NO_BETTER.search(sentence)


def compared(text: str, size: int | None, rivals: int, *, has_inert: bool | None) -> int | None:
    """How many participants stand in the comparison of a drug with its control; None where the size is not reported.

    In a trial of several treatments that is two arms' share. Doses of one drug are one treatment; in a crossover
    everybody takes every treatment.

    Args:
        text: title and abstract.
        size: participants of the study.
        rivals: how many other drugs it tests.
        has_inert: whether it has a placebo or an untreated group.

    >>> compared("259 patients in four groups: A, B, A plus B, or placebo", 259, 1, has_inert=True)
    129
    """
    if size is None or not rivals or _CROSSOVER.search(text):
        return size
    reported = arms(text)
    groups = max(int(reported.value) if reported else 0, 1 + rivals + bool(has_inert))
    return size * _TWO // groups if groups > _TWO else size
