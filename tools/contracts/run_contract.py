"""What a run could not understand of the replies that it read, by the names of the fields.

A parser takes what is missing for "not reported", since most fields of most records are. So a run counts: where none
of its own records has a field that most records are known to have, the source has probably renamed it. Fields that
fewer than half of all records have are left to the doctor, who asks for a record that has them.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..errors import UnreadableReply
from ..http.endpoints import Endpoints
from ..http.reply import Reply
from ..http.sample import ReplySample
from ..http.transport import Explainer
from ..lexicon.matching import read_table
from ..records.registry import title_of
from ..wording import counted, listed
from .documents import read_document
from .fields import ReadField, count_places, fields_of, find_breaches

LEAST_SHARE = 0.5
"""Of records that have a field; searches differ in the records that they find, so a rarer one may be in none."""
CHANCE = 1e-4
"""Of no record having a field, if the source had not renamed it; 0.01 % in each of some 200 fields and a run."""
ASSUMED_SHARE = 0.5
"""Of a field that the doctor's record has, where no records were counted."""
MOST_NAMED = 4  # fields of a source in a line


def find_changes(sample: ReplySample, *, is_public: bool) -> list[str]:
    """Return what a run did not understand, a line for each source.

    Args:
        sample: of the replies that it read.
        is_public: whether they are the public sources', whose records are whole.
    """
    lines = []
    for source, replies in sample.by_source().items():
        problems = list[str]()
        documents = [(reply.request, _read(reply.reply)) for reply in replies]
        for glob in dict.fromkeys(field.reply for field in fields_of(source)):
            fields = [field for field in fields_of(source) if field.reply == glob]
            due = [data for request, data in documents if data is not None and fields[0].fits(request)]
            problems += _find_in(source, fields, due, is_public=is_public)
        if problems:
            lines.append(f"{title_of(source)}: {listed(problems, MOST_NAMED)}")
    return lines


def explainer(endpoints: Endpoints) -> Explainer:
    """Return what says which fields of a refused reply are other than they are due, for a run's transport."""

    def explain(source: str, request: str, reply: Reply) -> str:
        data = _read(reply)
        fields = [field for field in fields_of(source) if field.fits(request)]
        if data is None or not fields:
            return ""
        return listed(_find_in(source, fields, [data], is_public=endpoints.is_public), MOST_NAMED)

    return explain


def _read(reply: Reply) -> Any:
    try:
        return read_document(reply)
    except UnreadableReply:
        return None


def _find_in(source: str, fields: Sequence[ReadField], documents: Sequence[Any], *, is_public: bool) -> list[str]:
    """Return what is wrong with replies of one kind: other forms and codes, and fields that no record has."""
    if not documents:
        return []
    expected_fields = [field for field in fields if is_public or field.due != "public"]
    optional = [replace(field, due="no") for field in expected_fields]
    problems = [str(breach) for breach in find_breaches(optional, documents, is_public=False)]
    expected = count_places([field for field in expected_fields if field.due == "yes"], documents)
    missing = list[str]()
    for place, (having, of) in count_places(expected_fields, documents).items():
        share = _shares().get((source, expected_fields[0].reply, place), ASSUMED_SHARE if place in expected else 0.0)
        if having == 0 and share >= LEAST_SHARE and (1 - share) ** of < CHANCE:
            missing.append(f"{place} is in none of {counted(of, 'entry')}")
    return problems + missing


@cache
def _shares() -> dict[tuple[str, str, str], float]:
    """Return the share of entries that have each field; one entry more without it stands for what was not seen."""
    rows = read_table("shares.tsv", __package__)
    return {(row["source"], row["reply"], row["place"]): int(row["having"]) / (int(row["of"]) + 1) for row in rows}
