"""Sample size, follow-up, arms, phase and primary outcome, each with the sentence that reports it.

None means that the text does not report it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from .numbers import Number, Phrase
from .sentences import sentences

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
_SMALL = {word: i for i, word in enumerate(_UNITS)}
_NUMBER_WORD = rf"(?:{'|'.join([*_SMALL, *_TENS, 'hundred', 'thousand'])})"
_SPELLED = rf"{_NUMBER_WORD}(?:[\s-]+(?:and[\s-]+)?{_NUMBER_WORD})*"
_COUNT = rf"(?<![Tt]ype )(?<!\d-)(?<!\d to )(?<!aged )(?P<count>\d{{1,3}}(?:[, ]\d{{3}})+|\d+|{_SPELLED})"
_PEOPLE = (
    r"(?:patients?|participants?|subjects?|adults?|women|men|children|adolescents|volunteers?|individuals|"
    r"people|persons|infants|neonates|smokers|"
    r"outpatients|inpatients|cases|migraineurs|veterans|males|females|pregnant women|students|workers|"
    r"employees|nurses|physicians|users|residents|eyes|hips|knees|rats|mice)"
)
_KIND = (
    r"(?:type (?:[12]|I{1,2}),?\s+|(?!\d+\b|(?:screened|and|or|with|of|in|to|mg)\b|weeks?\b|months?\b|days?\b|"
    r"years?\b)[\w-]+,?\s+){0,6}?"
)
_ENROLLED = (
    r"(?:randomi[sz]ed|enrol+ed|recruited|included|assigned|allocated|analy[sz]ed|studied|participated|"
    r"completed|treated|screened|evaluated|entered|underwent|received|identified)"
)
_SIZES = (
    (10, rf"\b(?:total|sample|cohort|population) of (?:n\s*=\s*)?{_COUNT}\b"),
    (
        10,
        rf"\b{_COUNT} {_KIND}{_PEOPLE}\b(?:(?!\d+ (?:\w+ )?(?:were|was)|screened)[^.;]){{0,80}}?\b(?:were|was|"
        r"underwent|are) (?:\w+ )?(?:randomi[sz]ed|randomly|assigned|allocated)",
    ),
    (9, rf"\b{_COUNT} (?:were|was) (?:randomi[sz]ed|randomly)"),
    (9, rf"\brandomi[sz]ed,? (?:a total of )?{_COUNT} {_KIND}{_PEOPLE}\b"),
    (8, rf"\b{_COUNT} {_KIND}{_PEOPLE}\b[^.;]{{0,80}}?\b{_ENROLLED}\b"),
    (8, rf"\b{_ENROLLED} (?:a total of )?{_COUNT} {_KIND}{_PEOPLE}\b"),
    (
        7,
        r"\b(?:trials?|studies|RCTs|articles)\b[^.;]{0,60}?\b(?:with|involving|including|comprising|of|"
        rf"enrolling|totall?ing) (?:a total of )?{_COUNT} {_KIND}{_PEOPLE}\b",
    ),
    (8, rf"\b{_COUNT} in all\b"),
    (6, r"\((?:total )?(?-i:N)\s*=\s*(?P<count>\d{1,3}(?:,\d{3})+|\d+)\)"),
    (5, rf"\b(?:in|of|among|from|with|on) {_COUNT} {_KIND}{_PEOPLE}\b"),
    (4, rf"\b{_COUNT} {_KIND}{_PEOPLE}\b"),
)
_SIZE_PATTERNS = tuple((rank, re.compile(pattern, re.IGNORECASE)) for rank, pattern in _SIZES)
_CAPITAL_N = re.compile(r"\bN\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)")
_ARM_N = re.compile(r"\bn\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)", re.IGNORECASE)
_BOTH_SEXES = re.compile(
    rf"\b{_COUNT} (?:men|women|males|females|boys|girls)(?:,| and) {_COUNT.replace('<count>', '<rest>')} (?:men|"
    rf"women|males|females|boys|girls)\b"
)
_AFFECTED = re.compile(
    r"\b(?:seen|occurr\w+|came up|halved|recorded|noted|reached|develop\w+|affect\w+|reported|arose|experienced|"
    r"observed|found|improved|"
    r"stopped|responded|withdrew|led|missed)\b[^.;]{0,40}$",
    re.IGNORECASE,
)
_PER_GROUP = re.compile(r"^,? (?:to (?:a|each) group|each|per (?:group|arm)|in each)\b", re.IGNORECASE)
_NOT_PEOPLE = re.compile(r"\b(?:years?|months?|weeks?|days?|%|percent|mg|ml)\b", re.IGNORECASE)
_MONTHS = {
    "day": 1 / 30.4375,
    "week": 7 / 30.4375,
    "month": 1.0,
    "year": 12.0,
    "yr": 12.0,
    "wk": 7 / 30.4375,
    "mo": 1.0,
}
"""Months in each unit; a month is a twelfth of 365.25 days."""
_UNIT = r"(?P<unit>day|week|month|year|yr|wk)s?"
_SPAN = rf"(?P<count>\d+(?:\.\d+)?|{_SPELLED})[\s-]*(?:full\s+)?{_UNIT}\b"
_FOLLOW_UPS = (
    re.compile(
        r"\bfollow(?:ed)?(?:[- ]?up)?(?: (?:period|time|duration|was|of|for|over|lasted|"
        rf"up))*[^.;\d]{{0,40}}?\b{_SPAN}",
        re.IGNORECASE,
    ),
    re.compile(rf"\b{_SPAN}(?:\s+of)?[\s-]+(?:mean |median |post-?treatment )?follow[- ]?up", re.IGNORECASE),
    re.compile(
        r"\b(?:for|over|during|lasting|after|within|at) (?:a |an |the |up to |at least |a period of |"
        r"a total of |mean of |median of |average of )*(?:(?:double-blind|treatment|maintenance|study|"
        rf"trial) )*{_SPAN}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_SPAN}[\s,-]+(?:[\w-]+,? ){{0,6}}?(?:trial|study|treatment|period|phase|intervention|course)\b",
        re.IGNORECASE,
    ),
)
_AGE = re.compile(r"\b(?:aged?|old|ago|history of)\b", re.IGNORECASE)
_ARMS = (
    re.compile(
        r"\b(?:randomi[sz]\w+|divided|assigned|allocated|split|separated)\b[^.;]{0,60}?\b(?:in|to|into|"
        rf"between|among) (?:one of )?(?P<count>\d|{_NUMBER_WORD}) (?:(?!weeks?|months?|days?|years?|"
        r"mg)[\w-]+ ){0,3}?(?:groups?|arms?|treatments?|regimens?|interventions?)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<count>\d|{_NUMBER_WORD})[- ](?:parallel[- ])?(?:arm|armed|group|treatment[- ]arm)s?\b", re.IGNORECASE
    ),
    re.compile(rf"\b(?P<count>\d|{_NUMBER_WORD}) (?:treatment |study |parallel )?(?:arms|groups)\b", re.IGNORECASE),
)
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4"}
_PHASE = re.compile(
    r"\bphase[\s-]*(?P<first>iv|i{1,3}|[0-4])(?P<letter>[ab])?(?:\s*(?:/|-|and|"
    r"to)\s*(?:phase\s*)?(?P<second>iv|i{2,3}|[1-4])[ab]?)?\b",
    re.IGNORECASE,
)
_PRIMARY = (
    re.compile(
        r"\b(?:co-)?primary (?:(?:efficacy|study|clinical|safety|composite) )*(?:outcomes?|"
        r"end-?\s?points?)(?: (?:measures?|variables?|parameters?|criteri\w+))?(?: of (?:the|this) (?:study|"
        r"trial))?\s*(?:was|were|is|are|:|,|included|comprised|\(|=)+\s*(?:defined as |considered |"
        r"to be )?(?P<what>[^.;]{4,220})",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?P<what>[A-Z][^.;]{4,120}?) (?:was|were) the (?:co-)?primary (?:(?:efficacy|"
        r"study) )*(?:outcomes?|end-?points?)\b"
    ),
    re.compile(r"\bmain outcome measures?\s*(?:was|were|:|included)*\s*(?P<what>[^.;]{4,220})", re.IGNORECASE),
)


@lru_cache(maxsize=4096)  # every round reads the records of the earlier ones again
def sample_size(text: str) -> Number | None:
    """Find how many took part: the number randomised before the number named otherwise.

    >>> sample_size("Of 180 patients screened, 120 women were randomised to A or placebo.").value
    120.0
    """
    best: tuple[int, float, int, Number] | None = None
    for order, sentence in enumerate(sentences(text)):
        for rank, count in _sizes(sentence):
            if best is None or (rank, -order) > (best[0], -best[2]):
                best = (rank, count, order, Number(value=count, sentence=sentence))
    return best[3] if best else _summed_arms(text)


def _sizes(sentence: str) -> Iterator[tuple[int, float]]:
    for rank, pattern in _SIZE_PATTERNS:
        for match in pattern.finditer(sentence):
            count = spelled_number(match["count"])
            screened = re.search(r"\bscreened\b", match.group()) and not re.search(r"random", match.group())
            part = rank <= 5 and (
                _AFFECTED.search(sentence[: match.start()]) or _PER_GROUP.match(sentence[match.end() :])
            )
            if count and count > 1 and not part and not _NOT_PEOPLE.search(match.group()[: 4 + len(match["count"])]):
                yield (3 if screened else rank), float(count)
    if pairs := list(_BOTH_SEXES.finditer(sentence)):
        yield 8, float(sum((spelled_number(m["count"]) or 0) + (spelled_number(m["rest"]) or 0) for m in pairs))
    arm_sizes = [int(n.replace(",", "")) for n in _ARM_N.findall(sentence)]
    if len(arm_sizes) > 1:
        yield 5, float(sum(arm_sizes))
    elif total := _CAPITAL_N.search(sentence):
        yield 5, float(total[1].replace(",", ""))


def _summed_arms(text: str) -> Number | None:
    for sentence in sentences(text):
        counts = [int(n.replace(",", "")) for n in _ARM_N.findall(sentence)]
        if counts:
            return Number(value=float(sum(counts)), sentence=sentence)
    return None


def spelled_number(text: str) -> int | None:
    """Read a whole number in digits or words; None where it is neither.

    >>> [spelled_number(t) for t in ("1,099", "Forty-two", "one hundred and twenty", "many")]
    [1099, 42, 120, None]
    """
    digits = re.sub(r"[, ]", "", text.strip())
    if digits.isdigit():
        return int(digits)
    total = current = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _SMALL:
            current += _SMALL[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word == "hundred":
            current = max(1, current) * 100
        elif word == "thousand":
            total, current = total + max(1, current) * 1000, 0
        elif word != "and":
            return None
    return total + current or None


def followup_months(text: str) -> Number | None:
    """Find how long people were followed, in months: a follow-up named as such, else the longest treatment period.

    >>> followup_months("Median follow-up was 2.6 years.").value
    31.2
    """
    for i, pattern in enumerate(_FOLLOW_UPS):
        spans = [
            Number(value=months, sentence=sentence)
            for sentence in sentences(text)
            for match in pattern.finditer(sentence)
            if not _AGE.search(sentence[max(0, match.start() - 12) : match.end() + 6]) and (months := _months(match))
        ]
        if spans:
            return spans[0] if i < 2 else max(spans, key=lambda span: span.value)
    return None


def _months(match: re.Match[str]) -> float | None:
    text = match["count"]
    count = float(text) if re.fullmatch(r"[\d.]+", text) else float(spelled_number(text) or 0)
    return round(count * _MONTHS[match["unit"].lower()], 1) or None


def arms(text: str) -> Number | None:
    """Find into how many groups people were divided."""
    for pattern in _ARMS:
        for sentence in sentences(text):
            for match in pattern.finditer(sentence):
                count = spelled_number(match["count"])
                if count and 1 <= count <= 12:
                    return Number(value=float(count), sentence=sentence)
    return None


def phase(text: str) -> Phrase | None:
    """Find the phase of a trial, written `1` to `4` or `2/3`.

    >>> phase("A phase IIb/III trial").value
    '2/3'
    """
    for sentence in sentences(text):
        if match := _PHASE.search(sentence):
            found = [_ROMAN.get(part.lower(), part) for part in (match["first"], match["second"]) if part]
            return Phrase(value="/".join(found), sentence=sentence)
    return None


def primary_outcome(text: str) -> Phrase | None:
    """Find what the trial set out to change, in its own words."""
    for pattern in _PRIMARY:
        for sentence in sentences(text):
            if match := pattern.search(sentence):
                return Phrase(value=match["what"].strip(" ,:()"), sentence=sentence)
    return None
