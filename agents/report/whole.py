"""A report's answer as one object that every face passes on as it is: nothing in it is cut within a sentence.

It holds the answer, where it comes from, cautions with their labels, gaps, quotes with their records, what people
corrected, and that it is not medical advice. Where bytes are short, whole quotes are left off and counted.
"""

import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from willowbark.tools.reading.text import sentences
from willowbark.tools.records.enclosure import enclose_lines, escape, new_marker, unmarked, visible
from willowbark.tools.records.registry import title_of
from willowbark.tools.wording import listed

from ..findings import DIRECTIONS, NOT_RATED, EvidenceDigest, EvidenceLine, describe_study, sort_lines
from .content import NOT_REPORTED, ReportContent
from .forms import find_url, record_name

MOST_QUOTE = 700  # characters of a study's passage; whole sentences, the first at least
MOST_CAUTIONS = 8
MOST_GAPS = 6
MOST_CORRECTIONS = 5
_MOST_NAMED = 8
_KEYS = ("url:", "pmid:", "doi:", "nct:", "pmcid:")
_BY_RECORD = re.compile(r"(?P<text>.+); PMID (?P<number>\d+)")
"""A caution of a curated table that names the publication where it was read."""
_CUT = re.compile("“([^“”]*)…”")


class Caution(BaseModel, frozen=True, extra="forbid"):
    """A caution on a drug, with what says so."""

    drug: str
    text: str
    """Its kind, then the words of label or table."""
    source: str = ""
    """Key of the label or record; empty for an entry of a curated table."""
    url: str = ""


class WholeAnswer(EvidenceDigest, frozen=True, extra="forbid"):
    """The answer of a report, to be passed on as it is."""

    provenance: str = ""
    """Where it was searched, and who read."""
    cautions: list[Caution] = Field(default_factory=list)
    gaps: list[str] = Field(default_factory=list)
    """What is missing, and what was not looked at."""
    corrected: list[str] = Field(default_factory=list)
    """What people corrected, and what was written before."""
    disclaimer: str = ""

    def as_text(self) -> str:
        """Format the answer for a model: prose, then the quotes as a block, then the rest."""
        parts = [unmarked(self.summary)]
        parts += [f"Caution, {caution.drug}: {unmarked(caution.text)}{_cite(caution)}" for caution in self.cautions]
        parts += [f"Corrected by people: {unmarked(line)}" for line in self.corrected]
        if self.lines:
            parts.append(enclose_lines([line.model_dump() for line in self.lines], new_marker(), head={"of": "digest"}))
        parts += [self.rest] if self.rest else []
        parts += [f"Gap: {unmarked(gap)}" for gap in self.gaps]
        return "\n".join([*parts, *filter(None, (unmarked(self.provenance), self.disclaimer))])

    def as_markdown(self) -> str:
        """Format the answer for people."""
        lines = [super().as_markdown()]
        lines += [
            f"- Caution, **{escape(caution.drug)}**: {escape(caution.text)}{_cite(caution)}"
            for caution in self.cautions
        ]
        lines += [f"- Corrected by people: {escape(line)}" for line in self.corrected]
        lines += [f"- Gap: {escape(gap)}" for gap in self.gaps]
        return "\n".join([*lines, "", *filter(None, (escape(self.provenance), self.disclaimer))])


def _cite(caution: Caution) -> str:
    name = record_name(caution.source) if caution.source else ""
    return f" ({name}{f', {caution.url}' if caution.url and caution.url not in name else ''})" if name else ""


def take_sentences(text: str, most: int) -> str:
    """Return as many whole sentences of a text as fit, the first at least; `[…]` where others follow.

    >>> take_sentences("Pain fell. Nausea rose. Sleep was good.", 24)
    'Pain fell. Nausea rose. […]'
    """
    line = " ".join(visible(text).split())
    if len(line) <= most:
        return line
    fitting = ""
    for sentence in sentences(line):
        longer = f"{fitting} {sentence}".strip()
        if fitting and len(longer) > most:
            break
        fitting = longer
    return f"{fitting} […]" if len(fitting) < len(line) else fitting


def whole_answer(report: ReportContent, most_bytes: int) -> WholeAnswer:
    """Build the answer of a report, with as many whole quotes as fit.

    Args:
        report: with or without candidates.
        most_bytes: of the answer as JSON, and as text; what is not a quote is kept even beyond.
    """
    parts = [_make_whole(part.line, report) for part in report.summary_parts[:-1]] or [report.executive_summary]
    corrected = [line.line if not line.drug else f"{line.drug}: {line.line}" for line in report.corrections]
    if len(corrected) > MOST_CORRECTIONS:
        corrected = [*corrected[:MOST_CORRECTIONS], f"{len(corrected) - MOST_CORRECTIONS} more"]
    bare = WholeAnswer(
        question=" ".join(report.research_question.split()),
        summary=" ".join(" ".join(visible(part).split()) for part in (*_list_written(report), *parts)),
        provenance=_tell_provenance(report),
        cautions=list(_list_cautions(report))[:MOST_CAUTIONS],
        gaps=[*report.gaps, *(f"not looked at: {each}" for each in report.not_looked_at)][:MOST_GAPS],
        corrected=[*corrected, *(f"stale: {each}" for each in report.stale)],
        disclaimer=report.disclaimer,
    )
    lines = list(_list_lines(report))
    drugs = list(dict.fromkeys(line.drug for line in lines))
    chosen = list[EvidenceLine]()
    for line in sort_lines(lines):
        larger = _with_lines(bare, [*chosen, line], lines, drugs)
        if max(len(larger.model_dump_json().encode()), len(larger.as_text().encode())) <= most_bytes:
            chosen.append(line)
    return _with_lines(bare, chosen, lines, drugs)


def _list_written(report: ReportContent) -> list[str]:
    """Return the answer in a model's words, with what a reader has to know and who wrote; empty where none wrote."""
    written = report.written
    if written is None or not written.answer:
        return []
    warning = [written.warning] if written.warning else []
    return [*warning, *written.lines(), f"({written.provenance})"]


def _make_whole(text: str, report: ReportContent) -> str:
    """Return a part of the first screen with its quotes whole, which are cut there for want of room."""
    strongest = [candidate.sorting.strongest for candidate in report.candidates if candidate.sorting.strongest]
    quotes = [" ".join(study.quote.split()) for study in strongest]
    quotes += [" ".join(row.sentence.split()) for row in report.evidence_table if row.sentence]

    def complete(cut: re.Match[str]) -> str:
        beginning = cut.group(1).rstrip()
        return next((f"“{quote}”" for quote in quotes if quote.startswith(beginning)), cut.group())

    return _CUT.sub(complete, " ".join(text.split()))


def _with_lines(
    bare: WholeAnswer, chosen: Sequence[EvidenceLine], every: Sequence[EvidenceLine], drugs: Sequence[str]
) -> WholeAnswer:
    drugs_chosen = {line.drug for line in chosen}
    return bare.model_copy(
        update={
            "lines": sorted(chosen, key=lambda line: drugs.index(line.drug)),
            "left_off": len(every) - len(chosen),
            "drugs_left_off": [drug for drug in drugs if drug not in drugs_chosen][:_MOST_NAMED],
        }
    )


def _tell_provenance(report: ReportContent) -> str:
    sources = listed([title_of(name) for name in report.sources_searched], most=len(report.sources_searched))
    where = report.library or (sources if sources else "no source, since none answered")
    day = f"{report.generated_at:%Y-%m-%d}"
    by = f"; read by {report.analyst}" if report.analyst else ""
    return f"From {where}, {day}{by}."


def _list_cautions(report: ReportContent) -> Iterator[Caution]:
    """List the cautions of the drugs that the report names, those that lead first, each with what says so."""
    for candidate in report.candidates:
        for caution in candidate.cautions:
            text, key = _split_source(caution)
            url = find_url(key, str(report.reference_of(key).get("url") or "")) or "" if key else ""
            yield Caution(drug=candidate.name, text=text, source=key, url=url)


def _split_source(caution: str) -> tuple[str, str]:
    """Split a caution into its words and the key of what says so, empty for an entry that names a table alone."""
    by_record = _BY_RECORD.fullmatch(caution)
    if by_record:
        return by_record["text"], f"pmid:{by_record['number']}"
    text, opening, tail = caution.rpartition(" (")
    key = tail.removesuffix(")")
    is_cited = bool(opening) and tail.endswith(")") and key.startswith(_KEYS)
    return (text, key) if is_cited else (caution, "")


def _list_lines(report: ReportContent) -> Iterator[EvidenceLine]:
    for candidate in report.candidates:
        rows = [row for row in report.evidence_table if row.drug == candidate.name]
        for row in rows:
            if row.sentence and not row.retracted and row.direction in DIRECTIONS:
                yield EvidenceLine(
                    drug=candidate.name,
                    direction=row.direction,
                    certainty=NOT_RATED if candidate.certainty == NOT_REPORTED else candidate.certainty,
                    study=describe_study(row.design, row.date, row.sample_size),
                    id=row.key,
                    quote=take_sentences(row.sentence, MOST_QUOTE),
                )
