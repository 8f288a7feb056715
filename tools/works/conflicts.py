"""Where an abstract and its full text disagree on a figure: how many took part, an effect size.

Only what can hardly be two figures of two things is named: numbers at one stage of one study, effect sizes that agree
in two of value and limits and differ in the third, primary outcomes of one measure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..reading.numbers import EffectSize, effect_sizes
from ..reading.text import plain, sentences
from ..records import Conflict, Section

MAX_CONFLICTS = 3  # named of one record
MAX_QUOTE_CHARS = 300
_NUMBER = r"(?P<n>\d{1,3}(?:,\d{3}){1,2}|\d{1,9})"
_PEOPLE = (
    r"(?:[\w-]+ ){0,3}?(?:patients|participants|subjects|people|persons|individuals|women|men|children|adolescents"
    r"|adults|volunteers|residents|smokers)"
)
_STAGES: Mapping[str, str] = {
    "randomised": r"randomi[sz]ed|randomly (?:assigned|allocated)",
    "enrolled": r"enrol(?:l)?ed|recruited",
    "analysed": r"analy[sz]ed",
    "completing": r"completed",
}
_AT = {
    stage: re.compile(
        rf"(?<![\d.,/-]){_NUMBER}(?: {_PEOPLE})? (?:(?:who )?(?:were|was|had been) )?(?:{said})\b(?P<after>[^.;]*)"
        rf"|\b(?:{said}) {_NUMBER.replace('<n>', '<m>')} {_PEOPLE}(?P<then>[^.;]*)",
        re.IGNORECASE,
    )
    for stage, said in _STAGES.items()
}
_ARM = re.compile(r"\s*(?:to|into)\b", re.IGNORECASE)
_ARMS = re.compile(r"\bor\b|\beither\b|\bone of\b|\b(?:groups|arms)\b", re.IGNORECASE)
_PART = re.compile(
    r"\bsub-?(?:stud|set|group|sample)|\bextension\b|\bsubanalys|\bof whom\b|\bof these\b", re.IGNORECASE
)
_PRIMARY = re.compile(r"\bprimary (?:outcome|end ?-?point|efficacy|measure|analysis)", re.IGNORECASE)


class _Count(NamedTuple):
    number: int
    sentence: str
    section: str


def conflicts(abstract: str, sections: Sequence[Section]) -> list[Conflict]:
    """The figures on which an abstract and the sections of its full text disagree.

    Args:
        abstract: its text, without the title.
        sections: of the full text, as it was read.

    >>> read = Section(kind="results", title="Results", text="In all, 40 patients were randomised.")
    >>> [(each["abstract"], each["full_text"]) for each in conflicts("We randomised 44 patients. Pain fell.", [read])]
    [('We randomised 44 patients.', 'In all, 40 patients were randomised.')]
    """
    return [*_participants(abstract, sections), *_effects(abstract, sections)][:MAX_CONFLICTS]


def _participants(abstract: str, sections: Sequence[Section]) -> Iterator[Conflict]:
    told = set(re.findall(r"\d+", " ".join(plain(each.get("text", "")) for each in sections).replace(",", "")))
    own = set(re.findall(r"\d+", plain(abstract).replace(",", "")))
    for stage in _STAGES:
        said = max(_counts(stage, abstract, "Abstract"), default=None)
        found = max(
            (count for each in sections for count in _counts(stage, each.get("text", ""), each.get("title", ""))),
            default=None,
        )
        if said is None or found is None or str(said.number) in told or str(found.number) in own:
            continue
        if said.number <= 2 * found.number and found.number <= 2 * said.number:
            yield _conflict(f"participants {stage}", said.sentence, found.sentence, found.section)


def _counts(stage: str, text: str, section: str) -> Iterator[_Count]:
    """How many people a text has at a stage; single arms and parts of a study are left out."""
    for sentence in sentences(text):
        if _PART.search(sentence):
            continue
        for hit in _AT[stage].finditer(sentence):
            after = hit["after"] or hit["then"] or ""
            if not _ARM.match(after) or _ARMS.search(after):
                yield _Count(int((hit["n"] or hit["m"]).replace(",", "")), sentence, section)


def _effects(abstract: str, sections: Sequence[Section]) -> Iterator[Conflict]:
    own = effect_sizes(abstract)
    found = [(effect, each.get("title", "")) for each in sections for effect in effect_sizes(each.get("text", ""))]
    for said in own:
        if any(_same(said, effect) for effect, _ in found):
            continue
        for effect, section in found:
            if _is_slip(said, effect) or _is_primary_twice(said, effect, own, [each for each, _ in found]):
                yield _conflict(said.measure, said.sentence, effect.sentence, section)
                break


def _same(one: EffectSize, other: EffectSize) -> bool:
    pairs = ((one.value, other.value), (one.ci_low, other.ci_low), (one.ci_high, other.ci_high))
    return one.measure == other.measure and all(a is None or b is None or _alike(a, b) for a, b in pairs)


def _is_slip(one: EffectSize, other: EffectSize) -> bool:
    """Whether two of value and limits agree and the third does not."""
    if one.measure != other.measure or None in (one.ci_low, other.ci_low):
        return False
    pairs = ((one.value, other.value), (one.ci_low, other.ci_low), (one.ci_high, other.ci_high))
    return sum(_alike(a, b) for a, b in pairs if a is not None and b is not None) == 2


def _is_primary_twice(one: EffectSize, other: EffectSize, own: list[EffectSize], found: list[EffectSize]) -> bool:
    """Whether each text gives one effect size of its primary outcome, of one measure."""
    primary = [[e for e in each if e.measure == one.measure and _PRIMARY.search(e.sentence)] for each in (own, found)]
    return primary == [[one], [other]]


def _alike(one: float, other: float) -> bool:
    """Whether two figures are one, written with more or fewer decimals."""
    places = min(len(repr(each).partition(".")[2]) for each in (one, other))
    return round(one, places) == round(other, places)


def _conflict(what: str, abstract: str, full_text: str, section: str) -> Conflict:
    quoted = [
        each if len(each) <= MAX_QUOTE_CHARS else each[: MAX_QUOTE_CHARS - 1] + "…" for each in (abstract, full_text)
    ]
    return Conflict(what=what, abstract=quoted[0], full_text=quoted[1], section=section)
