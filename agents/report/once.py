"""Says once what a model's answer and the computed lines below it would both say."""

from collections.abc import Collection, Sequence
from itertools import chain

from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.text import sentences

from ..checking.table import worded_levels
from ..checking.written import WrittenAnswer
from .content import SummaryPart


def leave_out_told(parts: Sequence[SummaryPart], written: WrittenAnswer | None) -> list[SummaryPart]:
    """Return the first screen's parts without what a model's answer above them says already.

    That is the certainty of drugs of which the answer words one, and the lines on single drugs that it names. Failures,
    cautions, what was not judged, what is missing and what was read stay.
    """
    if written is None or not written.answer:
        return list(parts)
    answer_drugs: set[str] = set()
    rated: set[str] = set()
    for sentence in written.answer:
        answer_drugs |= {mention.name for mention in find_drugs(sentence.text)}
        rated |= _list_rated(sentence.text)
    remaining = list[SummaryPart]()
    for part in parts:
        drugs = {mention.name for mention in find_drugs(part.label)}
        text = part.text
        if not part.label:
            text = " ".join(line for line in sentences(part.text) if not _is_certainty_told(line, rated))
        if text and not (drugs and drugs <= answer_drugs):
            remaining.append(part.model_copy(update={"text": text}))
    return remaining


def _is_certainty_told(sentence: str, rated: Collection[str]) -> bool:
    """Whether a sentence tells the certainty of drugs, each of which is rated elsewhere."""
    drugs = _list_rated(sentence)
    return bool(drugs) and drugs <= set(rated)


def _list_rated(sentence: str) -> set[str]:
    """List the drugs of which a sentence words a level of certainty."""
    levels = worded_levels(sentence, find_drugs(sentence))
    return {mention.name for mention in chain.from_iterable(level.drugs for level in levels)}
