"""The table of checks: what code asks of every sentence that a model wrote for a report.

| check | fails |
|---|---|
| it cites a key that the run holds | dropped |
| it addresses no machine and no reader, and holds no web address | dropped |
| it says nothing of a drug that a person set aside | dropped |
| every figure stands in what it cites (`figures`) | back once, then dropped |
| every drug that it names is one of what it cites, or of the question | back once, then dropped |
| excluded drugs stand as comparators or with what speaks against them, not as options | back once, then dropped |
| what it says is missing was not read (`gaps`) | back once, then dropped |
| certainty of a drug that has none, or "proven" of one that is not rated high | back once, then dropped |
| certainty in words is not above the lower of the judge's and the computed one | worded as that (`lower_certainty`) |
| one level is worded of drugs whose levels differ, above some | back once, then dropped |

What no rule can tell, the `checker` is asked: whether the cited passages bear the sentence out.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from willowbark.tools.appraisal import Level
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.lexicon.matching import Mention, cue_form, cue_regex
from willowbark.tools.reading.screening import list_addressed_to_machines
from willowbark.tools.reading.text import plain
from willowbark.tools.records.enclosure import visible
from willowbark.tools.wording import listed

from ..asking.drafts import SentenceDraft
from .basis import TABLE, CitedSource, WritingBasis
from .figures import find_missing_figures
from .gaps import find_false_gap

LEVELS: tuple[Level, ...] = ("very low", "low", "moderate", "high")
_BRACKETED = re.compile(r"\s*(?:\[[^\]]*\]|\((?:(?:pmid|pmcid|nct|doi|table)\b[^()]*)\))", re.IGNORECASE)
"""Citations that a model wrote into a sentence, whose keys stand beside it."""
_ADDRESS = re.compile(r"https?:|www\.|\b[\w-]+\.(?:com|org|net|io|gov)\b", re.IGNORECASE)
_LEVEL_WORD = re.compile(r"very low|low|moderate|high|very uncertain", re.IGNORECASE)


class SentenceFault(NamedTuple):
    """Why a sentence does not stand as it is."""

    kind: str
    """Which check it fails, in words of the table: a report counts it so."""
    detail: str = ""
    """What fails it, for its writer alone: it may hold the writer's own words."""
    is_final: bool = False
    """Whether it is dropped at once."""


def clean_text(text: str) -> str:
    """Return a sentence on one line, without invisible characters and citations in brackets."""
    line = " ".join(visible(text).split())
    return _BRACKETED.sub("", line).strip()


def find_fault(
    sentence: SentenceDraft, basis: WritingBasis, heading: str = "", *, is_of_missing: bool = False
) -> SentenceFault | None:
    """Return the first check that a sentence fails, by the table above; None if it stands for code.

    Args:
        sentence: its text cleaned by `clean_text`.
        basis: what the report may rest on.
        heading: the drug under which it stands; empty for none.
        is_of_missing: whether it stands under what is missing, so that nothing that it names may have been read.
    """
    sources = basis.cited(sentence.keys, sentence.text)
    mentions = find_drugs(sentence.text)
    if not sources:
        return SentenceFault("cites nothing that was read", is_final=True)
    if list_addressed_to_machines(sentence.text) or cue_regex("told to the reader", __package__).search(sentence.text):
        return SentenceFault("addresses a reader or a machine", is_final=True)
    if _ADDRESS.search(sentence.text):
        return SentenceFault("holds a web address", is_final=True)
    aside = [mention.name for mention in mentions if mention.name in basis.set_aside]
    if aside or heading in basis.set_aside:
        return SentenceFault("is on a drug that was set aside", is_final=True)
    figures = find_missing_figures(sentence.text, sources, basis.question)
    if figures:
        return SentenceFault("a figure stands in nothing cited", listed(list(dict.fromkeys(figures))))
    strangers = _find_strangers(mentions, sources, basis)
    if strangers:
        return SentenceFault("no cited record is on a drug named", listed(strangers))
    if heading and not _is_cited_on(heading, sources, basis):
        return SentenceFault("no cited record is on the drug that it stands under", heading, is_final=True)
    there = find_false_gap(sentence.text, basis.read) if is_of_missing else ""
    if there:
        return SentenceFault("what it calls missing was read", there)
    recommended = _find_recommended(sentence.text, mentions, basis)
    if recommended:
        return SentenceFault("an excluded drug stands as an option", recommended)
    return _find_overstatement(sentence.text, mentions, basis)


def _find_strangers(mentions: Sequence[Mention], sources: Sequence[CitedSource], basis: WritingBasis) -> list[str]:
    """List drugs that a sentence names and none of its records does."""
    text = plain("\n".join(source.text for source in sources)).casefold()
    known = basis.allowed_drugs.union(*(source.drugs for source in sources))
    parts = {part for name in known for part in name.split("/")}
    strangers = [
        mention.text
        for mention in mentions
        if mention.name not in known | parts and plain(mention.text).casefold() not in text
    ]
    return list(dict.fromkeys(strangers))


def _is_cited_on(drug: str, sources: Sequence[CitedSource], basis: WritingBasis) -> bool:
    """Whether one of the records is on a drug, or on a part of it or a combination with it, or names it."""
    known = basis.allowed_drugs.union(*(source.drugs for source in sources))
    on_record = {part for name in known for part in name.split("/")}
    text = plain("\n".join(source.text for source in sources)).casefold()
    return drug in known or any(part in on_record or plain(part).casefold() in text for part in drug.split("/"))


def _find_recommended(text: str, mentions: Sequence[Mention], basis: WritingBasis) -> str:
    """Return which excluded drug a sentence seems to recommend, with the reason; empty if it recommends none."""
    if cue_regex("not an option", __package__).search(text):
        return ""
    for mention in mentions:
        reason = basis.reason_against(mention.name)
        if reason and not _is_comparator(text, mention, mentions, basis):
            return f"{mention.text} ({reason}); say so, or leave it out"
    return ""


def _is_comparator(text: str, mention: Mention, mentions: Sequence[Mention], basis: WritingBasis) -> bool:
    """Whether a drug is what another one, which nothing speaks against, is compared with."""
    before = text[: mention.start]
    last = [match.end() for match in cue_regex("compares", __package__).finditer(before)][-1:]
    others = [each for each in mentions if each.end <= sum(last) and not basis.reason_against(each.name)]
    return bool(last) and bool(others)


def _find_overstatement(text: str, mentions: Sequence[Mention], basis: WritingBasis) -> SentenceFault | None:
    for worded in worded_levels(text, mentions):
        unrated = [mention.text for mention in worded.drugs if mention.name not in basis.levels]
        if unrated and worded.level in ("moderate", "high"):
            return SentenceFault("words a certainty that was not rated", unrated[0])
        above = [drug for drug in worded.drugs if _is_above(worded.level, drug, basis)]
        if above:
            lower = ", ".join(f"{each.text} {basis.levels[each.name]}" for each in above)
            return SentenceFault("words a certainty above that of a drug", lower)
    is_sure = cue_regex("sure", __package__).search(text)
    if is_sure and not cue_regex("unproven", __package__).search(text):
        weaker = [mention.text for mention in mentions if basis.levels.get(mention.name) != "high"]
        if weaker or not mentions:
            about = f", of {weaker[0]}" if weaker else ""
            return SentenceFault("is surer than the certainty allows", f"“{is_sure.group()}”{about}")
    return None


def lower_certainty(text: str, basis: WritingBasis) -> str:
    """Return a sentence whose worded levels of certainty are not above what may be said of its drugs.

    >>> basis = WritingBasis(question="", sources={}, levels={"propranolol": "low"})
    >>> lower_certainty("Propranolol prevents attacks (moderate certainty).", basis)
    'Propranolol prevents attacks (low certainty).'
    """
    for worded in reversed(worded_levels(text, find_drugs(text))):
        rated = {basis.levels[drug.name] for drug in worded.drugs if drug.name in basis.levels}
        is_one = len(rated) == 1 and any(_is_above(worded.level, drug, basis) for drug in worded.drugs)
        if is_one:  # drugs whose levels differ go back to the writer: one word would be false of some
            [most] = rated
            phrase = _LEVEL_WORD.sub(most, text[worded.start : worded.end], count=1)
            text = text[: worded.start] + phrase + text[worded.end :]
    return text


def _is_above(level: Level, drug: Mention, basis: WritingBasis) -> bool:
    return drug.name in basis.levels and LEVELS.index(level) > LEVELS.index(basis.levels[drug.name])


class WordedLevel(NamedTuple):
    """A level of certainty in a sentence, with the drugs of which it is said."""

    level: Level
    start: int
    end: int
    drugs: list[Mention]


def worded_levels(text: str, mentions: Sequence[Mention]) -> list[WordedLevel]:
    """Find levels of certainty in a sentence, in order; where it words one, others need not repeat "certainty"."""
    found = list[tuple[int, int, Level]]()
    for level in LEVELS:
        matches = list(cue_regex(f"certainty {level}", __package__).finditer(text))
        if cue_regex("of certainty", __package__).search(text):
            matches += cue_regex(f"further {level}", __package__).finditer(text)
            matches += cue_form(f"(?<=, ){{listed {level}}}", __package__).finditer(text)  # "moderate for A, low for B"
        for match in matches:
            if not any(start < match.end() and match.start() < end for start, end, _ in found):
                found.append((match.start(), match.end(), level))
    found.sort()
    worded = []
    for at, (start, end, level) in enumerate(found):
        before = found[at - 1][1] if at else 0
        after = found[at + 1][0] if at + 1 < len(found) else len(text)
        worded.append(WordedLevel(level, start, end, _drugs_of(text, start, end, before, after, mentions)))
    return worded


def _drugs_of(text: str, start: int, end: int, before: int, after: int, mentions: Sequence[Mention]) -> list[Mention]:
    """Return the drugs of which a level is said: in "moderate for A" those after it, else those before it, else all.

    Those of the levels before and after it, which end and begin at two other offsets, are theirs.
    """
    following = [mention for mention in mentions if end <= mention.start < after]
    preceding = [mention for mention in mentions if before <= mention.start < start]
    is_of_following = text[start:end].casefold().endswith(" for") or text[end : end + 5].casefold() == " for "
    if is_of_following and following:
        return following
    return preceding or following or list(mentions)


__all__ = ["TABLE", "SentenceFault", "clean_text", "find_fault", "lower_certainty", "worded_levels"]
