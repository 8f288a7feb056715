"""The reference list: records numbered as they are first cited, each as its source gives it."""

from collections.abc import Iterable, Mapping

from willowbark.tools.appraisal import is_addressed_to_machines
from willowbark.tools.evidence import Evidence
from willowbark.tools.works.sections import conflicts_of, licence_of, places
from willowbark.tools.works.trust import is_unchecked
from willowbark.tools.works.trust_lookup import flags_of

from .forms.blocks import Cite

_WHERE = ("journal", "journal_abbreviation", "volume", "issue", "pages")


class References:
    """Numbers records in the order in which they are first cited.

    Args:
        records: what can be cited, by key.
    """

    def __init__(self, records: Mapping[str, Evidence]) -> None:
        self._records = records
        self._numbers: dict[str, int] = {}

    def cite(self, keys: Iterable[str]) -> Cite | str:
        """Number records where they are cited; those outside the pool can't be cited, and none gives an empty text."""
        known = [key for key in dict.fromkeys(keys) if key in self._records]
        numbers = [self._numbers.setdefault(key, len(self._numbers) + 1) for key in known]
        return Cite(tuple(sorted(numbers))) if numbers else ""

    @property
    def cited(self) -> list[str]:
        """Keys of the records cited so far, in their order."""
        return list(self._numbers)

    def listed(self) -> list[dict[str, object]]:
        """The list as a report holds it: number, key, title, authors, source, date, url, journal with volume, issue
        and pages, identifiers, flags, other versions and what was read of the full text."""
        return [_entry(number, self._records[key]) for key, number in self._numbers.items()]


def _entry(number: int, record: Evidence) -> dict[str, object]:
    citation, said = record.citation, record.record
    numbers = {"doi": said.doi, "pmid": said.pmid, "pmcid": said.pmcid, "nct_id": said.nct_id}
    paper = record.paper
    where = {name: getattr(paper, name) for name in _WHERE} if paper else {}
    return {
        "number": number,
        "key": record.key,
        "title": citation.title,
        "authors": list(citation.authors),
        "source": citation.source,
        "date": citation.date,
        "url": citation.url,
        **{name: value for name, value in {**where, **numbers}.items() if value},
        "flags": _flags(record),
        **_origin(record),
    }


def _origin(record: Evidence) -> dict[str, object]:
    """What a reference says of the way to its record, of other versions, and of the full text that was read."""
    found, paper = dict[str, object](), record.paper
    if record.record.found_by:
        found["found_by"] = record.record.found_by
    if paper and (paper.preprint_versions or paper.earlier_versions):
        preprints = [{"relation": "preprint", **each} for each in paper.preprint_versions]
        found["versions"] = [*preprints, *({"relation": "earlier version", **each} for each in paper.earlier_versions)]
    if paper and record.is_preprint and paper.published_version:
        found["published_version"] = paper.published_version
    if licence := licence_of(record):
        titles = list(dict.fromkeys(place.title for place in places(record)))
        disagreed = {"conflicts": [dict(each) for each in conflicts_of(record)]} if conflicts_of(record) else {}
        found["full_text"] = {"pmcid": record.record.pmcid, "licence": licence, "sections": titles, **disagreed}
    return found


def _flags(record: Evidence) -> list[str]:
    """What a reader must know before trusting a record."""
    raised = flags_of(record)
    marks = {
        "preprint": record.is_preprint,
        "retracted": "retracted" in raised,
        "expression of concern": "expression_of_concern" in raised,
        "corrected": "corrected" in raised,
        "could not check for retraction": is_unchecked(record),
        "title only": not record.has_abstract,
        "holds text addressed to machines": is_addressed_to_machines(record),
    }
    return [name for name, is_set in marks.items() if is_set]
