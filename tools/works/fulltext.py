"""Open-access full text from Europe PMC, added to records: results, tables, limitations, with their place and licence.

A record's content stays its title and abstract, on which the rules of the appraisal were set; what was read of the
full text stands beside it, in `metadata["full_text"]`. `fullTextXML` of https://europepmc.org/RestfulWebService; `jats`
reads it.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..enclosure import visible
from ..errors import SearchError, SourceRefused, UnreadableReply
from ..evidence import Evidence, checked_identifier
from ..http.reply import Reply
from ..http.transport import Transport
from ..reading.numbers import EffectSize, effect_sizes
from ..reading.screening import addressed_to_machines, set_aside
from ..reading.text import plain, says, sentences
from ..records.parts import Conflict, Section
from ..records.parts import FullText as ReadText
from .jats import FullText, parse_full_text
from .jats import Section as ArticleSection

FULL_TEXT_LIMIT = 12  # articles a run, 0.1 to 1 MB each: one or two for every candidate that a report shows
DEADLINE_S = 15.0  # for all of them; Europe PMC answers one in about a second
_AT_ONCE = 4  # requests; half of the pace at which Europe PMC is asked
_OPEN = ("CC0", "CC BY")
"""Licences that let a passage be shown with its source: every Creative Commons licence, https://creativecommons.org/licenses/."""


async def full_text(pmcid: str, transport: Transport) -> FullText | None:
    """Read one article; None where Europe PMC has no open full text of it.

    Raises:
        SearchError: no answer, or no readable one.
    """
    number = checked_identifier("pmcid", pmcid)
    if number is None:
        return None

    if (library := transport.endpoints.library) is not None:
        return library.full_text(number)

    def read(reply: Reply) -> FullText | None:
        return None if reply.status == 404 else parse_full_text(reply.xml(), number)

    return await transport.get("europepmc", f"{number}/fullTextXML", read=read, also=(404,))


async def read_full_texts(
    records: Sequence[Evidence], transport: Transport, limit: int = FULL_TEXT_LIMIT, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Add results, tables and limitations from the full text to the first records that have an open one.

    Args:
        records: best first.
        transport: the way out.
        limit: articles to ask for, at most.
        deadline_s: seconds for all of them; the slower ones stay as they are.

    Returns:
        The records in their order. A record that was read has `full_text` in its metadata: source, PMCID, licence, and
        the sections (kind, title, text), without what is addressed to machines, and the figures on which abstract and
        full text disagree. One whose text was not read has
        `full_text_unread`: why; there, an article that was late and one whose source failed are told alike, so that a
        run lived again tells the same.
    """
    wanted = [i for i, record in enumerate(records) if may_be_open(record)][: max(0, limit)]
    turns = asyncio.Semaphore(_AT_ONCE)
    tasks = {i: asyncio.create_task(_extended(records[i], transport, turns)) for i in wanted}
    try:
        if tasks:
            await asyncio.wait(tasks.values(), timeout=deadline_s)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    found = list(records)
    for i, task in tasks.items():
        found[i] = _unread(records[i], _NO_ANSWER) if task.cancelled() else task.result()
    return found


_NO_ANSWER = "Europe PMC gave no answer in time"


def may_be_open(record: Evidence) -> bool:
    """Whether it is worth asking for: not asked for yet, in PubMed Central, not known to be closed or retracted."""
    known = record.paper
    if known is None or known.is_open_access is False or known.retracted or known.full_text_unread:
        return False
    return known.pmcid is not None and known.full_text is None


async def _extended(record: Evidence, transport: Transport, turns: asyncio.Semaphore) -> Evidence:
    async with turns:
        try:
            found = await full_text(record.record.pmcid or "", transport)
        except (SourceRefused, UnreadableReply) as error:
            return _unread(record, f"Europe PMC {error.reason}")
        except SearchError:
            return _unread(record, _NO_ANSWER)
    if found is None:
        return _unread(record, "Europe PMC has no open full text")
    return extended(record, found)


def _unread(record: Evidence, reason: str) -> Evidence:
    return record.noting(full_text_unread=reason)


def extended(record: Evidence, found: FullText) -> Evidence:
    """A record with the sections of its full text, where its licence is open and it has any."""
    licence = found.licence or _named(record.paper.license if record.paper else None)
    if licence is None or not licence.startswith(_OPEN):
        return _unread(record, "its licence is not open" if licence else "it states no licence")
    every = [Section(kind=each.kind, title=_clean(each.title), text=_text(each)) for each in found.sections]
    sections = [each for each in every if each["text"]]
    if not sections:
        return _unread(record, "its results have no section of their own")
    read = ReadText(source="europepmc", pmcid=found.pmcid, licence=licence, sections=sections)
    if disagreed := conflicts(set_aside(visible(record.content.partition("\n\n")[2])), sections):
        read["conflicts"] = disagreed
    if any(addressed_to_machines(text) for each in found.sections for text in (each.title, *each.paragraphs)):
        read["addressed_to_machines"] = True
    return record.noting(full_text=read)


def _text(section: ArticleSection) -> str:
    return "\n".join(filter(None, map(_clean, section.paragraphs)))


def _clean(text: str) -> str:
    """The text without what can't be seen, and without what speaks to machines rather than of the study."""
    return " ".join(set_aside(visible(text)).split())


def _named(licence: str | None) -> str | None:
    """Europe PMC's short form of a licence in ours.

    >>> _named("cc by-nc"), _named(None)
    ('CC BY-NC', None)
    """
    return licence.upper() if licence and licence.strip() else None


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


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text.replace(",", "")))


def _participants(abstract: str, sections: Sequence[Section]) -> Iterator[Conflict]:
    told = _numbers(" ".join(plain(each.get("text", "")) for each in sections))
    own = _numbers(plain(abstract))
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
        if says("part", sentence):
            continue
        for hit in _AT[stage].finditer(sentence):
            after = hit["after"] or hit["then"] or ""
            if not after.lstrip().lower().startswith(("to ", "into ")) or says("arms", after):
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
    primary = [[e for e in each if e.measure == one.measure and says("primary", e.sentence)] for each in (own, found)]
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
