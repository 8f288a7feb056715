"""A digest of the evidence: each study's result on each drug, with its quote, in a limited number of bytes.

Specialists send it to other agents, MCP's `research` and `appraise` to other programs, and consoles show it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from pydantic import BaseModel

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.enclosure import enclose_lines, escape, new_marker, one_line, unmarked
from willowbark.tools.evidence import merge
from willowbark.tools.questions import Question
from willowbark.tools.records import Drug
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.wording import counted, listed, short

MOST_BYTES = 3_650  # of a digest, both as JSON and as text; 4 kB with the guidance above it
ENOUGH = 12  # studies that should fit: quotes are shortened until they do
_QUOTE_LENGTHS = (400, 240, 160, 110)  # characters
_MOST_NAMED = 8  # drugs listed by name only
_MOST_SUMMARY = 1_000  # characters
TOLD = ("supports", "contradicts")
DIRECTIONS = (*TOLD, "inconclusive")
NOT_RATED = "not rated"


class EvidenceLine(BaseModel, frozen=True, extra="forbid"):
    """One study's result on one drug."""

    drug: str
    direction: str
    certainty: str
    """GRADE level for the drug; `refuted`; `not rated` if no study has a verdict."""
    study: str
    """Design, year and participants, as far as reported."""
    id: str
    """The record's key: `pmid:…`, `nct:…`."""
    quote: str
    """Verbatim passage from which the direction was read; ends in `…` if cut."""


class EvidenceDigest(BaseModel, frozen=True, extra="forbid"):
    """The evidence on a question, as far as there was room."""

    question: str
    summary: str
    """The report's answer, or the result of searches."""
    lines: list[EvidenceLine] = []
    left_off: int = 0
    """Number of studies with a quote that did not fit."""
    drugs_left_off: list[str] = []
    """Drugs with only such studies; eight at most."""

    @property
    def rest(self) -> str:
        """What was left off, in words; empty if nothing.

        >>> EvidenceDigest(question="", summary="", left_off=3, drugs_left_off=["timolol"]).rest
        '3 further results are left off, all on timolol among them.'
        """
        if not self.left_off:
            return ""
        verb = "is" if self.left_off == 1 else "are"
        on = f", all on {listed(self.drugs_left_off, _MOST_NAMED)} among them" if self.drugs_left_off else ""
        return f"{counted(self.left_off, 'further result')} {verb} left off{on}."

    def as_text(self) -> str:
        """Format the digest for a model: the summary, and the lines as a block."""
        told = [unmarked(self.summary), *([self.rest] if self.rest else [])]
        if self.lines:
            lines = [line.model_dump() for line in self.lines]
            told.append(enclose_lines(lines, new_marker(), head={"of": "digest"}))
        return "\n".join(told)

    def as_markdown(self, most: int | None = None, quote: int | None = None) -> str:
        """Format the digest for people, with at most so many lines and characters of each quote; None for all."""
        told, drug = [escape(self.summary), ""], ""
        for line in self.lines[:most]:
            if line.drug != drug:
                drug = line.drug
                rated = "" if line.certainty == NOT_RATED else f", {line.certainty} certainty"
                told.append(f"- **{escape(drug)}**{'' if line.certainty == 'refuted' else rated}")
            said = escape(line.quote if quote is None else short(line.quote, quote))
            told.append(f"  - {line.direction} ({escape(line.study)}; {escape(line.id)}): “{said}”")
        return "\n".join([*told, *(["", self.rest] if self.rest else [])]).strip()


def make_digest(
    question: str, summary: str, lines: Iterable[EvidenceLine], most_bytes: int = MOST_BYTES
) -> EvidenceDigest:
    """Select the strongest lines that fit: first each drug's first, then each drug's second.

    Args:
        question: as it was asked.
        summary: cut to 1,000 characters.
        lines: by drug in order, each drug's strongest studies first.
        most_bytes: of the digest as JSON, and as text.
    """
    known, by_drug = list(lines), dict[str, list[EvidenceLine]]()
    for line in known:
        by_drug.setdefault(line.drug, []).append(line)
    drugs = list(by_drug)

    def in_turns(lines: Sequence[EvidenceLine]) -> list[EvidenceLine]:
        """Order a drug's lines: alternately supporting and contradicting, the larger group first; then inconclusive."""
        sides = sorted(([each for each in lines if each.direction == told] for told in TOLD), key=len, reverse=True)
        decided = [each for turn in zip_longest(*sides) for each in turn if each is not None]
        return [*decided, *(each for each in lines if each.direction not in TOLD)]

    def digest_of(chosen: Sequence[EvidenceLine]) -> EvidenceDigest:
        shown = {line.drug for line in chosen}
        return EvidenceDigest(
            question=short(question, 200),
            summary=one_line(summary, _MOST_SUMMARY),
            lines=sorted(chosen, key=lambda line: drugs.index(line.drug)),
            left_off=len(known) - len(chosen),
            drugs_left_off=[drug for drug in drugs if drug not in shown][:_MOST_NAMED],
        )

    turns = [line for turn in zip_longest(*map(in_turns, by_drug.values())) for line in turn if line is not None]
    turns.sort(key=lambda line: line.direction not in TOLD)
    made = digest_of([])
    for most in _QUOTE_LENGTHS:
        made = digest_of([])
        for line in turns:
            larger = digest_of([*made.lines, line.model_copy(update={"quote": one_line(line.quote, most)})])
            if max(len(larger.model_dump_json().encode()), len(larger.as_text().encode())) > most_bytes:
                break
            made = larger
        if len(made.lines) == len(turns) or len({line.id for line in made.lines}) >= ENOUGH:
            break
    return made


def digest_replies(question: Question, replies: Sequence[SourceReply], readings: Readings) -> EvidenceDigest:
    """Digest sources' replies, appraised by the run's readings; failed ones are named in the summary."""
    pool = merge(record for reply in replies for record in reply.records)
    candidates = appraise_candidates(question, pool, readings)
    dates = {record.key: record.citation.date for record in pool}
    told = [f"{counted(len(pool), 'record')}." if pool else "The searches gave no record."]
    if judged := [each for each in candidates if each.has_verdict]:
        results = sum(len(each.appraisal.supporting) + len(each.appraisal.contradicting) for each in judged)
        told.append(f"{counted(results, 'result')} on {counted(len(judged), 'drug')}.")
    if undecided := [each.drug for each in candidates if not each.has_verdict]:
        told.append(f"Studies without a result that decides on {listed(undecided, _MOST_NAMED)}.")
    entries = {record.record.drug for record in pool if isinstance(record.record, Drug) and record.record.drug}
    if entries:
        told.append(f"Mechanisms and indications are given for {listed(sorted(entries), 20)}.")
    failed = [reply for reply in replies if reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY)]
    for reply in failed:
        told.append(f"{reply.source} gave no answer: {'; '.join(reply.warnings) or 'no reason given'}.")
    return make_digest(question.text, " ".join(told), lines_of(candidates, dates))


def lines_of(candidates: Iterable[Candidate], dates: Mapping[str, str]) -> list[EvidenceLine]:
    """Make a line for each study with a quote on a candidate, except retracted ones, with `dates` by record's key."""
    lines = []
    for each in candidates:
        certainty = each.appraisal.certainty.level.said if each.has_verdict else NOT_RATED
        for record in each.records:
            item = record.item
            if record.sentence and not item.retracted and item.direction in DIRECTIONS:
                study = describe_study(item.design.label, dates.get(item.key, ""), item.sample_size)
                lines.append(
                    EvidenceLine(
                        drug=each.drug,
                        direction=item.direction.value,
                        certainty="refuted" if each.appraisal.quality == "refuted" else certainty,
                        study=study,
                        id=item.key,
                        quote=record.sentence,
                    )
                )
    return lines


def describe_study(design: str, date: str, participants: int | None) -> str:
    """Describe a study in a few words.

    >>> describe_study("randomised trial", "2003-05-01", 1250)
    'randomised trial, 2003, 1,250 participants'
    """
    size = "" if participants is None else f"{participants:,} participant{'' if participants == 1 else 's'}"
    return ", ".join(filter(None, (design, date[:4], size)))
