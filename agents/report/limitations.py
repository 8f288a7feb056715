"""What a report cannot say: sources that were silent, records that could not be trusted or read, gaps that remain."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from willowbark.tools.appraisal import is_addressed_to_machines
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.registry import title_of
from willowbark.tools.works.sections import conflicts_of, licence_of
from willowbark.tools.works.trust import retraction_note, trust_summary

from .grounding import shown_prose
from .material import Material
from .wording import counted, listed

_NOT_ABSENCE = (
    "Absence of evidence here is not its absence. Harms and interactions are listed, not weighed; doses were not read."
)
MAX_GAPS = 10  # of a judge


def limitations(material: Material, shown: Sequence[Candidate]) -> list[str]:
    """One line each, what failed first.

    Args:
        material: what the report is made of.
        shown: the candidates of the report.
    """
    lines = [
        *_failed(material),
        *_set_aside(material),
        *_read_in_part(material),
        *_of_records(material),
        *_of_candidates(shown),
        *_of_classes(material),
        *_reading_note(material),
    ]
    return list(dict.fromkeys(line.replace("..", ".") for line in lines if line))


def gaps(material: Material) -> list[str]:
    """What the judge missed, in its own words, as far as a report may show them."""
    said = material.assessments[-1].gaps if material.assessments else []
    return [shown for gap in said[:MAX_GAPS] if (shown := shown_prose(gap, material.pool))]


def _failed(material: Material) -> Iterator[str]:
    yield from (f"Not available: {failure}." for failure in material.dossier.failures)
    yield from (f"{note}." for found in material.dossier.in_order for note in found.reading_notes)
    yield from (f"{note}." for verdict in material.assessments for note in verdict.notes)
    yield from (f"{note}." for note in material.notes)
    if material.sandboxed:
        yield _sandbox_line()
    if dropped := len(material.verdicts.dropped):
        yield f"{counted(dropped, 'claim')} dropped: not borne out by the record it cites."
    if unworded := len(material.verdicts.unworded):
        yield f"{counted(unworded, 'claim')} shown as the record's own sentence alone: the wording went beyond it."
    if turned := [f"{each.claim.drug} ({each.claim.evidence_key})" for each in material.verdicts.turned]:
        told = listed(list(dict.fromkeys(turned)), most=MAX_GAPS)
        yield f"Taken for another verdict by the model than by the reader, and shown without one: {told}."


def _read_in_part(material: Material) -> Iterator[str]:
    """How much of the widest search each source's records are, where that is not all."""
    read, hits = defaultdict[tuple[str, str], set[str]](set), defaultdict[tuple[str, str], int](int)
    for reply in material.dossier.replies:  # a page each
        search = (reply.source, reply.query)
        read[search] |= {record.key for record in reply.records}
        hits[search] = max(hits[search], reply.total)
    unread = sorted((count - len(read[search]), *search) for search, count in hits.items())
    widest = {source: (source, query) for few, source, query in unread if few > 0}
    parts = [f"{title_of(source)} {len(read[search])} of {hits[search]}" for source, search in widest.items()]
    if parts:
        yield f"Of the widest search the most relevant hits alone were read: {'; '.join(sorted(parts))}."


def _of_records(material: Material) -> Iterator[str]:
    pool = material.pool
    if preprints := sum(record.is_preprint for record in pool):
        yield f"{counted(preprints, 'record')} not peer-reviewed (preprint)."
    if bare := sum(not record.has_abstract for record in pool):
        yield f"{counted(bare, 'record')} without an abstract: only the title could be read."
    rested_on = dict.fromkeys(
        r.key for c in material.candidates for r in c.records if c.has_verdict or r.item.retracted
    )
    yield trust_summary([material.records[key] for key in rested_on])
    if retracted := [retraction_note(record) for record in pool if record.paper and record.paper.retracted]:
        yield f"Retracted, therefore left out of the appraisal: {'; '.join(retracted)}."
    for record in pool:
        for each in conflicts_of(record):
            yield (
                f"Abstract and full text of {record.key} disagree on {each.get('what')}: “{each.get('abstract')}” "
                f"against “{each.get('full_text')}” ({each.get('section')})."
            )
    if addressed := [record.key for record in pool if is_addressed_to_machines(record)]:
        yield f"Text addressed to machines, set aside in {counted(len(addressed), 'record')}: {', '.join(addressed)}."


def _set_aside(material: Material) -> Iterator[str]:
    if material.aside:
        names = ", ".join(candidate.drug for candidate in material.aside)
        yield f"Set aside before the report was written, by {material.approval.who}: {names}."


def _of_candidates(shown: Sequence[Candidate]) -> Iterator[str]:
    if uncertain := len({key for c in shown for key in c.appraisal.leaning}):
        yield (
            f"{counted(uncertain, 'record')} read as speaking for or against a drug, but too uncertainly: shown as "
            "uncertain, counted for neither side."
        )
    unsized = [c.drug for c in shown if all(record.item.sample_size is None for record in c.records)]
    if unsized:
        yield f"No record reports a number of participants for {', '.join(unsized)}."


def _of_classes(material: Material) -> Iterator[str]:
    if material.asked.drug_classes:
        yield (
            f"Which drugs are {listed(material.asked.drug_classes)} was told from a list, endings of names and "
            "marketed uses: others may be as well."
        )


def _sandbox_line() -> str:
    from willowbark.tools.sandbox.library import Library  # noqa: PLC0415  only offline reports need it

    return (
        "Answered offline, by Willowbark's sandbox and not the public sources. The library that comes with it holds "
        f"{Library.load().summary()} Its abstracts and full texts are told in Willowbark's own words. Ask again "
        "without --offline to search the public sources."
    )


def _reading_note(material: Material) -> list[str]:
    """What was read of the records, and why not more, for the limitations."""
    read = [record for record in material.pool if licence_of(record)]
    lines = ["Abstracts and registry entries were read, not full texts."]
    if read:
        licences = listed(sorted({str(licence_of(record)) for record in read}))
        lines = [
            f"Of {counted(len(read), 'publication')} results and limitations were read in the open full text "
            f"({licences}); of all others the abstract or the registry entry alone."
        ]
    unread = Counter(r.paper.full_text_unread for r in material.pool if r.paper and r.paper.full_text_unread)
    if unread:
        reasons = "; ".join(f"{reason}: {number}" for reason, number in sorted(unread.items()))
        lines.append(f"Full texts asked for and not read: {unread.total()} ({reasons}).")
    return [*lines, *_versions_note(material), _NOT_ABSENCE]


def _versions_note(material: Material) -> list[str]:
    unknown = sum(bool(r.paper and r.paper.published_version_unknown) for r in material.pool)
    if not unknown:
        return []
    return [f"For {counted(unknown, 'preprint')} it could not be looked up whether it was published since."]
