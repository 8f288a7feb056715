"""Figures of a written sentence, looked for in what it cites.

| figure | stands if what is cited has |
|---|---|
| a number | it, or a number that is rounded to it by one digit |
| a number with a unit of mass, time or share | the same amount in that unit or another of its kind |
| a share in percent | it, or "a of b" that comes to it |
| a number in words | the number in digits or words; "three times a day" also tid |
| half, a third, twice … | the word, or shares that come to it |
| a number of trials, studies, drugs … | at most so many cited records, or the number itself |
| a number of doses | at most so many doses of one drug among the arms of a cited study |
| participants of several studies together | sizes of the cited studies, one of each, that add up to it |
| a name with digits (NCT…, SF-36) | the name, to the letter |
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from willowbark.tools.lexicon import find_conditions, find_drugs
from willowbark.tools.lexicon.matching import cue_regex
from willowbark.tools.reading.numbers import NUMBER_WORDS, parse_number
from willowbark.tools.reading.text import plain

from .basis import CitedSource

_NAME = re.compile(r"(?<![\w.])[^\W\d_](?:[\w/]|-(?!-))*\d(?:[\w/]|-(?!-))*")
"""A name that begins with a letter and has digits: NCT00000001, SF-36, CYP2D6; "response--20" is a dash and number."""
_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<rest>\s?per cent|[-\s]?[^\W\d_]+|\s?%)?"
)
_LISTED = re.compile(r"\s*(?:,|\+/-|±|-|/|\bto\b|\band\b|\bor\b|\bvs\.?|\bversus\b|\bagainst\b|\s)+\s*")
"""Between the numbers of a row."""
_TIMES_A_DAY = {"b": "twice daily", "t": "three times daily", "q": "four times daily"}
_DOSING = re.compile(r"\b([btq])\.?i\.?d\b", re.IGNORECASE)
"""How often a dose is taken, as prescriptions shorten it: bid, t.i.d."""
_WORDS = re.compile(r"\b[a-z]+(?:-[a-z]+)?\b")
_OF = re.compile(r"(?<![\d.,])(\d+(?:,\d{3})*)\s*(?:/|of|out of)\s*(?:the )?(\d+(?:,\d{3})*)(?![\d.,]*\d)")
_SIZE = re.compile(r"^(\d+) (?:participants|randomised|analysed)$")
_DOSES = re.compile(r"\s+(?:[a-z]+\s+)?doses\b")
"""Behind a number that counts doses: "two doses", "three different doses"."""
_ARM = re.compile(r"^[^:]+: ([^,:]+), (\d[^,]*)")
"""An arm of a study: its drug and its dose."""
_UNITS: dict[str, tuple[str, float]] = {
    "%": ("share", 1), "percent": ("share", 1), "per cent": ("share", 1),
    "g": ("mass", 1000), "gram": ("mass", 1000), "grams": ("mass", 1000), "mg": ("mass", 1), "mcg": ("mass", 0.001),
    "µg": ("mass", 0.001), "μg": ("mass", 0.001), "ug": ("mass", 0.001), "microgram": ("mass", 0.001),
    "micrograms": ("mass", 0.001), "milligram": ("mass", 1), "milligrams": ("mass", 1),
    "minute": ("time", 1 / 1440), "minutes": ("time", 1 / 1440), "min": ("time", 1 / 1440),
    "hour": ("time", 1 / 24), "hours": ("time", 1 / 24), "h": ("time", 1 / 24), "hr": ("time", 1 / 24),
    "day": ("time", 1), "days": ("time", 1), "week": ("time", 7), "weeks": ("time", 7), "wk": ("time", 7),
    "month": ("time", 30.4), "months": ("time", 30.4), "mo": ("time", 30.4), "year": ("time", 365),
    "years": ("time", 365), "yr": ("time", 365), "yrs": ("time", 365),
}  # fmt: skip
"""Units by kind, each in milligrams, days or percent."""
_SAME = {"mass": 0.001, "time": 0.09, "share": 0.0}
"""Relative difference up to which two amounts are the same: three months are twelve or thirteen weeks."""
_SHARES = {
    "half": 50.0, "halved": 50.0, "third": 33.3, "thirds": 66.7, "quarter": 25.0, "quarters": 75.0,
}  # fmt: skip
_MULTIPLES = {
    "twice": 2, "double": 2, "doubled": 2, "twofold": 2, "two-fold": 2, "triple": 3, "tripled": 3, "threefold": 3,
    "three-fold": 3, "fourfold": 4, "four-fold": 4,
}  # fmt: skip
_FORMS = ({"doubled", "doubling"}, {"tripled", "tripling"}, {"halved", "halving"})
"""Words that say the same of an outcome: "doubled creatinine" is "doubling of creatinine"."""
_NEAR_SHARE = 5.0  # points between "a third" and a share that it stands for
_NEAR_MULTIPLE = 0.2  # between "twice" and the ratio of two shares
LARGE = 100  # from which on whole numbers may be rounded to tens
_NOUN_WITHIN = 30  # characters from a number to the studies that it counts


class WrittenFigure(NamedTuple):
    """A number in a text."""

    written: str
    value: float
    decimals: int
    kind: str
    """mass, time, share; empty without a unit of these."""
    factor: float
    """Its unit in milligrams, days or percent; 1 without a unit."""
    start: int
    """Offset of its digits or words."""
    end: int
    """Offset behind them."""


def missing_figures(sentence: str, sources: Sequence[CitedSource], question: str = "") -> list[str]:
    """List the figures of a sentence that nothing cited bears out, as written; empty if all stand.

    Args:
        sentence: as the model wrote it.
        sources: what it cites.
        question: whose figures may be repeated.
    """
    written = _without_names(plain(sentence))
    text = plain("\n".join([*(source.text for source in sources), *(source.key for source in sources), question]))
    text = _DOSING.sub(lambda dosing: _TIMES_A_DAY[dosing[1].lower()], text)
    known = figures_in(text)
    missing = [name for name in map(re.Match.group, _NAME.finditer(written)) if not _has_word(text, name)]
    studies = sum(source.is_study for source in sources)
    for figure in figures_in(written):
        is_count = _counts_studies(written, figure) and figure.value <= max(studies, 1)
        is_count = is_count or _counts_doses(written, figure, sources)
        if not (is_count or _stands(figure, known, text) or _is_sum(figure, sources)):
            missing.append(figure.written)
    missing += [word for word in _proportions(written) if not _is_proportion(word, known, text)]
    return missing


def _without_names(text: str) -> str:
    """Blank the names of conditions and drugs, whose digits are no figures: type 1 diabetes, omega-3 fatty acids."""
    for name in (*find_conditions(text), *find_drugs(text)):
        text = text[: name.start] + "·" * (name.end - name.start) + text[name.end :]
    return text


def figures_in(text: str) -> list[WrittenFigure]:
    """List the numbers of a text normalised by `plain`, in digits or words; names with digits are left out.

    The word "one" is none: it is a pronoun more often. Of several in a row the last one's unit is all theirs: "10, 20
    or 30 mg".
    """
    figures = sorted(_bare_figures(text), key=lambda figure: figure.start)
    for at in reversed(range(len(figures) - 1)):
        one = figures[at]
        other = figures[at + 1]
        if not one.kind and other.kind and _LISTED.fullmatch(text, one.end, other.start):
            figures[at] = one._replace(kind=other.kind, factor=other.factor)
    return figures


def _bare_figures(text: str) -> Iterator[WrittenFigure]:
    """Yield the numbers of a text, each with its own unit."""
    names = [name.span() for name in _NAME.finditer(text)]
    for match in _NUMBER.finditer(text):
        if any(start <= match.start() < end for start, end in names):
            continue
        digits = match["digits"].replace(",", "")
        decimals = len(digits.partition(".")[2])
        kind, factor = _UNITS.get((match["rest"] or "").strip(" -\n").lower(), ("", 1.0))
        written = text[match.start() : match.end()] if kind else match["digits"]
        yield WrittenFigure(written.strip(), float(digits), decimals, kind, factor, match.start(), match.end("digits"))
    words = list(_WORDS.finditer(text.lower()))
    at = 0
    while at < len(words):
        last = at
        while last < len(words) and words[last].group().partition("-")[0] in NUMBER_WORDS:
            last += 1
        spelt = " ".join(word.group() for word in words[at:last])
        value = parse_number(spelt) if spelt else None
        if value is not None and spelt != "one":
            unit = words[last].group() if last < len(words) else ""
            kind, factor = _UNITS.get(unit, ("", 1.0))
            yield WrittenFigure(spelt, float(value), 0, kind, factor, words[at].start(), words[last - 1].end())
        at = max(last, at + 1)


def _stands(figure: WrittenFigure, known: Sequence[WrittenFigure], text: str) -> bool:
    if any(_is_same(figure, other) for other in known):
        return True
    if figure.kind != "share":
        return False
    shares = (100 * part / whole for part, whole in _pairs(text))
    return any(round(share, figure.decimals) == figure.value for share in shares)


def _is_same(figure: WrittenFigure, other: WrittenFigure) -> bool:
    """Whether one figure says what another does, rounded by a digit at most."""
    if figure.kind and figure.kind != other.kind:
        return False
    if figure.kind and figure.factor != other.factor:
        amount = figure.value * figure.factor
        due = other.value * other.factor
        return abs(amount - due) <= _SAME[figure.kind] * due
    if figure.value == other.value:
        return True
    if figure.kind in ("mass", "time"):
        return False
    if other.decimals:
        return figure.decimals == other.decimals - 1 and _rounded(other.value, figure.decimals) == figure.value
    is_large = other.value >= LARGE and not figure.kind
    return is_large and figure.decimals == 0 and _rounded(other.value, -1) == figure.value


def _rounded(value: float, digits: int) -> float:
    """Round half up, as people do: Python rounds half to even."""
    scale = 10.0**digits
    return float(int(value * scale + 0.5 + 1e-9)) / scale


def _pairs(text: str) -> Iterator[tuple[float, float]]:
    """Yield part and whole of what a text writes as `24 of 60` or `24/60`."""
    for part, whole in _OF.findall(text):
        if float(whole.replace(",", "")) > 0:
            yield float(part.replace(",", "")), float(whole.replace(",", ""))


def _counts_studies(text: str, figure: WrittenFigure) -> bool:
    """Whether a number counts trials, studies or drugs: "two small trials"."""
    if figure.kind or figure.decimals:
        return False
    near = text[figure.end : figure.end + _NOUN_WITHIN]
    return cue_regex("studies", __package__).search(re.split(r"[,;.()\d]", near)[0]) is not None


def _counts_doses(text: str, figure: WrittenFigure, sources: Sequence[CitedSource]) -> bool:
    """Whether a number counts doses of one drug that a cited study compares: "two doses of ondansetron"."""
    if figure.kind or figure.decimals or not _DOSES.match(text, figure.end):
        return False
    arms = [{arm.groups() for arm in map(_ARM.match, source.values) if arm} for source in sources]
    most = [max(Counter(drug for drug, _ in study).values()) for study in arms if study]
    return figure.value <= max(most, default=0)


def _is_sum(figure: WrittenFigure, sources: Sequence[CitedSource]) -> bool:
    """Whether a number is the sum of the participants of two cited studies or more."""
    sizes = [{int(found[1]) for value in source.values if (found := _SIZE.match(value))} for source in sources]
    told = [size for size in sizes if size]
    if len(told) < 2 or figure.kind or figure.decimals:
        return False
    return any(sum(chosen) == figure.value for chosen in product(*told))


def _proportions(text: str) -> list[str]:
    words = [word.group() for word in _WORDS.finditer(text.lower())]
    return [word for word in words if word in _SHARES or word in _MULTIPLES]


def _is_proportion(word: str, known: Sequence[WrittenFigure], text: str) -> bool:
    forms = next((forms for forms in _FORMS if word in forms), {word})
    if any(_has_word(text, form) for form in forms):
        return True
    shares = [figure.value for figure in known if figure.kind == "share"]
    shares += [100 * part / whole for part, whole in _pairs(text)]
    if word in _SHARES:
        return any(abs(share - _SHARES[word]) <= _NEAR_SHARE for share in shares)
    ratios = (high / low for high, low in product(shares, shares) if low)
    return any(abs(ratio - _MULTIPLES[word]) <= _NEAR_MULTIPLE for ratio in ratios)


def _has_word(text: str, word: str) -> bool:
    """Whether a text has a word or name, with blanks or hyphens between its parts."""
    parts = [re.escape(part) for part in word.split("-")]
    return re.search(rf"(?<!\w){'[- ]?'.join(parts)}(?!\w)", text, re.IGNORECASE) is not None
