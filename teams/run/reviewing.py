"""The rows of a run that are worth a person's minutes, for every face."""

from pydantic import BaseModel

from willowbark.agents.remaking import appraise_again
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.reviewing import MOST_ROWS, ReviewRow, rank_rows
from willowbark.tools.records.enclosure import one_line, visible
from willowbark.tools.records.evidence import Evidence

from ..ledger import Ledger
from .correcting import load_former_report, open_again
from .within import load_words

EXCERPT_LENGTH = 1_500  # characters of an abstract shown where no sentence decides


class RowToReview(BaseModel, frozen=True, extra="forbid"):
    """A row that is worth looking at, the quote first."""

    record: str
    drug: str
    condition: str
    title: str
    quote: str
    """What the readers rested on; the beginning of the record if they rested on nothing."""
    direction: str
    """What the row says."""
    readers: list[str]
    """Each reader with what it reads, those in dispute beside the first."""
    chance: float
    """That the row is wrong, 0 to 1."""
    reason: str
    """Why it is worth looking at."""


async def list_rows(run_id: str, ledger: Ledger, most: int = MOST_ROWS) -> list[RowToReview]:
    """List the rows of a run that are worth looking at, the worthiest first; none that a person has seen.

    Raises:
        LedgerError: no such run, one without a report, or damaged content.
    """
    former = load_former_report(run_id, ledger)
    async with open_again(run_id, ledger, former) as again:
        material = await appraise_again(again.messages, former, again.context, load_words(run_id, ledger))
        rows = rank_rows(material.candidates, most)
        return [_describe(row, material.records[row.record.key]) for row in rows]


def _describe(row: ReviewRow, record: Evidence) -> RowToReview:
    judged_passage = row.record.told.passage
    passages = [passage.text for passage in row.record.reading.passages]
    quote = row.record.sentence or (judged_passage.text if judged_passage else "") or " ".join(passages)
    return RowToReview(
        record=row.record.key,
        drug=row.drug,
        condition=row.record.reading.condition,
        title=one_line(record.citation.title),
        quote=" ".join(visible(quote or record.content[:EXCERPT_LENGTH]).split()),
        direction=row.record.item.direction.value,
        readers=_list_readers(row.record),
        chance=round(row.chance, 2),
        reason=row.reason,
    )


def _list_readers(record: AppraisedRecord) -> list[str]:
    lines = list[str]()
    for reading in record.readings:
        unsure = "" if reading.sure else ", not sure"
        effect = reading.effect.replace("_", " ")
        kind = "" if reading.reader in ("posted", "model") else f" ({reading.probability:.0%}{unsure})"
        lines.append(f"{reading.reader}: {reading.verdict}, {effect} against {reading.comparator}{kind}")
    return list(dict.fromkeys(lines))
