"""Specialists' findings with a digest of the evidence, and the dossier that judge and report agent build from them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, zip_longest

from pydantic import BaseModel, Field

from willowbark.agents.autogen import BaseChatMessage, ModelTextMessage, TextMessage
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.appraisal.views import MatchedStudy, make_readings, match_by_model
from willowbark.tools.questions import Question, follow_up, parse_question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.screening import readable
from willowbark.tools.records import Drug
from willowbark.tools.records.enclosure import GUIDANCE, enclose_lines, escape, new_marker, one_line, unmarked
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.search import SourceReply, Status, rank
from willowbark.tools.toolbox import InputKind
from willowbark.tools.wording import counted, listed, short
from willowbark.tools.works.drug_names import note_codes

from .asking.fits import StudyTopic, TopicFit, list_topics
from .asking.reader import ReadingCounts, ReadingResults, UnreadRecord, WholeTexts

MOST_BYTES = 3_650  # of a digest, both as JSON and as text; 4 kB with the guidance above it
ENOUGH = 12  # studies that should fit: quotes are shortened until they do
CONCLUSIVE = ("supports", "contradicts")
DIRECTIONS = (*CONCLUSIVE, "inconclusive")
NOT_RATED = "not rated"
_QUOTE_LENGTHS = (400, 240, 160, 110)  # characters
_MOST_NAMED = 8  # drugs listed by name only
_MOST_SUMMARY = 1_000  # characters
FAILED = frozenset({Status.UNAVAILABLE, Status.BAD_QUERY})


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
    """The evidence on a question in a limited number of bytes, for other agents, other programs and consoles."""

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
        parts = [unmarked(self.summary), *([self.rest] if self.rest else [])]
        if self.lines:
            lines = [line.model_dump() for line in self.lines]
            parts.append(enclose_lines(lines, new_marker(), head={"of": "digest"}))
        return "\n".join(parts)

    def as_markdown(self) -> str:
        """Format the digest for people."""
        lines = [escape(self.summary), ""]
        drug = ""
        for line in self.lines:
            if line.drug != drug:
                drug = line.drug
                rated = "" if line.certainty in (NOT_RATED, "refuted") else f", {line.certainty} certainty"
                lines.append(f"- **{escape(drug)}**{rated}")
            lines.append(f"  - {line.direction} ({escape(line.study)}; {escape(line.id)}): “{escape(line.quote)}”")
        return "\n".join([*lines, *(["", self.rest] if self.rest else [])]).strip()


def sort_lines(lines: Iterable[EvidenceLine]) -> list[EvidenceLine]:
    """Order lines: each drug's first, then each drug's second, and so on; inconclusive ones after all others.

    Of a drug come supporting and contradicting lines in turns, the larger group first.
    """
    by_drug = dict[str, dict[str, list[EvidenceLine]]]()
    for line in lines:
        by_drug.setdefault(line.drug, {side: [] for side in DIRECTIONS})[line.direction].append(line)
    queues = list[list[EvidenceLine]]()
    for sides in by_drug.values():
        pairs = zip_longest(*sorted((sides[side] for side in CONCLUSIVE), key=len, reverse=True))
        conclusive = [line for line in chain.from_iterable(pairs) if line is not None]
        queues.append([*conclusive, *sides["inconclusive"]])
    turns = [line for line in chain.from_iterable(zip_longest(*queues)) if line is not None]
    return sorted(turns, key=lambda line: line.direction not in CONCLUSIVE)


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
    all_lines = list(lines)
    turns = sort_lines(all_lines)
    drugs = list(dict.fromkeys(line.drug for line in all_lines))

    def build(chosen: Sequence[EvidenceLine]) -> EvidenceDigest:
        drugs_chosen = {line.drug for line in chosen}
        return EvidenceDigest(
            question=short(question, 200),
            summary=one_line(summary, _MOST_SUMMARY),
            lines=sorted(chosen, key=lambda line: drugs.index(line.drug)),
            left_off=len(all_lines) - len(chosen),
            drugs_left_off=[drug for drug in drugs if drug not in drugs_chosen][:_MOST_NAMED],
        )

    digest = build([])
    # Quotes are cut shorter only while too few studies fit.
    for most in _QUOTE_LENGTHS:
        digest = build([])
        for line in turns:
            larger = build([*digest.lines, line.model_copy(update={"quote": one_line(line.quote, most)})])
            if max(len(larger.model_dump_json().encode()), len(larger.as_text().encode())) > most_bytes:
                break
            digest = larger
        if len(digest.lines) == len(turns) or len({line.id for line in digest.lines}) >= ENOUGH:
            break
    return digest


def make_digest_of_replies(question: Question, replies: Sequence[SourceReply], readings: Readings) -> EvidenceDigest:
    """Digest sources' replies, appraised by the run's readings; failed ones are named in the summary."""
    pool = merge(chain.from_iterable(reply.records for reply in replies))
    candidates = appraise_candidates(question, pool, readings)
    summary = [f"{counted(len(pool), 'record')}." if pool else "The searches gave no record."]
    judged = [candidate for candidate in candidates if candidate.has_verdict]
    undecided = [candidate.drug for candidate in candidates if not candidate.has_verdict]
    entries = {record.record.drug for record in pool if isinstance(record.record, Drug) and record.record.drug}
    if judged:
        results = sum(len(candidate.appraisal.telling) for candidate in judged)
        summary.append(f"{counted(results, 'result')} on {counted(len(judged), 'drug')}.")
    if undecided:
        summary.append(f"Studies without a result that decides on {listed(undecided, _MOST_NAMED)}.")
    if entries:
        summary.append(f"Mechanisms and indications are given for {listed(sorted(entries), 20)}.")
    for reply in replies:
        if reply.status in FAILED:
            summary.append(f"{reply.source} gave no answer: {'; '.join(reply.warnings) or 'no reason given'}.")
    dates = {record.key: record.citation.date for record in pool}
    return make_digest(question.text, " ".join(summary), list_lines_of(candidates, dates))


def list_lines_of(candidates: Iterable[Candidate], dates: Mapping[str, str]) -> Iterator[EvidenceLine]:
    """Yield a line for each study with a quote on a candidate, except retracted ones; `dates` by record's key."""
    for candidate in candidates:
        certainty = candidate.appraisal.certainty.level.said if candidate.has_verdict else NOT_RATED
        for record in candidate.records:
            item = record.item
            if record.sentence and not item.retracted and item.direction in DIRECTIONS:
                yield EvidenceLine(
                    drug=candidate.drug,
                    direction=item.direction.value,
                    certainty="refuted" if candidate.appraisal.quality == "refuted" else certainty,
                    study=describe_study(item.design.label, dates.get(item.key, ""), item.sample_size),
                    id=item.key,
                    quote=record.sentence,
                )


def describe_study(design: str, date: str, participants: int | None) -> str:
    """Describe a study in a few words.

    >>> describe_study("randomised trial", "2003-05-01", 1250)
    'randomised trial, 2003, 1,250 participants'
    """
    size = "" if participants is None else counted(participants, "participant")
    return ", ".join(filter(None, (design, date[:4], size)))


ASKED_AS = "asked_as"
"""In the metadata of a question's message: how it was typed, where a model put it into other words."""


class Specialist(BaseModel, frozen=True, extra="forbid"):
    """An agent that searches, as it declares itself to the others."""

    name: str
    description: str = ""
    takes: tuple[InputKind, ...] = ("queries",)

    @property
    def line(self) -> str:
        """Description for a model that chooses specialists.

        >>> Specialist(name="labels", description="Reads labels.", takes=("drugs",)).line
        'labels (takes drugs): Reads labels.'
        """
        return unmarked(f"{self.name} (takes {', '.join(self.takes) or 'what its tools say'}): {self.description}")


class Findings(BaseModel, extra="forbid"):
    """Findings of one specialist in one round."""

    specialist: str
    declared: Specialist | None = None
    """The specialist; None if the agent does not declare itself: it is then assumed to take queries."""
    iteration: int = Field(ge=1)
    summary: str
    """Result of the searches in a few sentences, or why there was no search."""
    reflection: str = ""
    """A language model's reflection on the titles: found, missing, doubts; empty without a model."""
    digest: EvidenceDigest | None = None
    """Digest of the studies for other agents' models; None if not made."""
    later: dict[str, InputKind] = {}
    """Tools left for later rounds by the kind of the question, each with what it takes."""
    replies: list[SourceReply] = []
    """Every source's reply to each query, including failures."""
    readings: list[Reading] = []
    """A language model's readings of these records with verified quotes; empty without a model."""
    studies: list[MatchedStudy] = []
    """The studies that these readings are views of; empty without a model, and in runs before there were any."""
    unread: list[UnreadRecord] = []
    """Publications and trials that were fetched and of which no model read anything that stands; all that it was not
    asked to read among them. Empty where no model reads."""
    reading_counts: ReadingCounts = ReadingCounts()
    """How much the model read of what it was asked to read in this turn."""
    is_by_model: bool | None = None
    """Whether a language model searched in this turn; None if none was asked to."""
    reading_tokens: tuple[int, int] = (0, 0)
    """Prompt and completion tokens of reading, included in the turn's."""
    batch_tokens: tuple[int, int] = (0, 0)
    whole_texts: WholeTexts = WholeTexts()
    """Full texts that a model was shown whole; their tokens are included in those of reading."""
    notes: list[str] = []
    """Problems, for the report's limitations."""
    reading_notes: list[str] = []
    """Records that a language model did not read or misread, also for the limitations."""

    @property
    def records(self) -> list[Evidence]:
        """All records, duplicates included."""
        return list(chain.from_iterable(reply.records for reply in self.replies))

    def take_readings(self, results: ReadingResults, unreadable: Sequence[UnreadRecord]) -> None:
        """Take what a language model read of these records.

        Args:
            results: of reading.
            unreadable: what it was not asked to read.
        """
        self.readings = results.readings
        self.studies = results.studies
        self.reading_notes = results.notes
        self.unread = [*results.unread.values(), *unreadable]
        self.reading_counts = results.counts
        self.reading_tokens = results.usage.prompt_tokens, results.usage.completion_tokens
        self.batch_tokens = results.batched.prompt_tokens, results.batched.completion_tokens
        self.whole_texts = results.whole

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Leave out the records, as AutoGen formats every message for its log, even if that is off."""
        yield from (("specialist", self.specialist), ("iteration", self.iteration), ("summary", self.summary))


class FindingsMessage(ModelTextMessage[Findings]):
    """Findings as a message: data for agents, a few lines for models and people."""

    def to_text(self) -> str:
        """Return one line for consoles."""
        findings = self.content
        counts = f"{counted(len(findings.records), 'record')} from {counted(len(findings.replies), 'search')}"
        return f"{findings.specialist}, round {findings.iteration}: {counts}"

    def to_model_text(self) -> str:
        """Return the digest for other agents' models; the records stay in the data."""
        digest = self.content.digest
        reflection = unmarked(self.content.reflection)
        body = f"{GUIDANCE}\n{digest.as_text()}" if digest else unmarked(self.content.summary)
        return f"{self.to_text()}\n{body}\n{reflection}".rstrip()


class Dossier(BaseModel, extra="forbid"):
    """The question and all findings so far."""

    question: str = ""
    asked_as: str = ""
    """The question in the words in which it was typed, where a model put it into others; empty if it did not."""
    asked_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    findings: list[Findings] = []
    tokens_used: int = 0
    fits: dict[str, TopicFit] = {}
    """How the studies' topics fit the question, by a model; topics that it was not asked about are matched by words."""
    read_again: list[MatchedStudy] = []
    """Studies of records that the judge had read again; each stands in its first reading's place."""

    def add(self, messages: Sequence[BaseChatMessage]) -> None:
        """Add messages; a user's message starts a new question."""
        for message in messages:
            if isinstance(message, FindingsMessage):
                self.findings.append(message.content)
            elif isinstance(message, TextMessage) and message.source == "user":
                self.question = follow_up([self.question, message.content])
                self.asked_at = message.created_at
                self.findings = []
                self.tokens_used = 0
                self.fits = {}
                self.read_again = []
                self.asked_as = message.metadata.get(ASKED_AS, "")
            if message.models_usage is not None:
                self.tokens_used += message.models_usage.prompt_tokens + message.models_usage.completion_tokens

    @property
    def asked(self) -> Question:
        """The parsed question."""
        return parse_question(self.question)

    @property
    def in_order(self) -> list[Findings]:
        """The findings by round and specialist, regardless of who answered first."""
        return sorted(self.findings, key=lambda findings: (findings.iteration, findings.specialist))

    @property
    def specialists(self) -> list[Specialist]:
        """Specialists that have searched and can search again, in alphabetical order."""
        by_name = {
            findings.specialist: findings.declared or Specialist(name=findings.specialist) for findings in self.in_order
        }
        return [by_name[name] for name in sorted(by_name)]

    @property
    def iteration(self) -> int:
        """The latest round with a search; 0 before the first."""
        return max((finding.iteration for finding in self.findings), default=0)

    @property
    def replies(self) -> list[SourceReply]:
        """Every reply of every source, in the order of the rounds."""
        return list(chain.from_iterable(findings.replies for findings in self.in_order))

    @property
    def reading_counts(self) -> ReadingCounts:
        """How much a model read in all turns."""
        return sum((finding.reading_counts for finding in self.findings), ReadingCounts())

    @property
    def studies(self) -> list[MatchedStudy]:
        """A language model's studies, by round, matched with the question; none if it cannot be relied on."""
        if self.reading_counts.is_unreliable:
            return []
        by_key: dict[str, MatchedStudy] = {}
        for findings in self.in_order:
            by_key |= {matched.study.key: matched for matched in findings.studies}
        by_key |= {matched.study.key: matched for matched in self.read_again}
        titles = self._titles if by_key else {}
        return [self._match(matched, titles.get(key, "")) for key, matched in by_key.items()]

    @property
    def _titles(self) -> dict[str, str]:
        titles: dict[str, str] = {}
        for findings in self.findings:
            titles |= {record.key: record.citation.title for record in findings.records}
        return titles

    def _match(self, matched: MatchedStudy, title: str) -> MatchedStudy:
        fit = self.fits.get(StudyTopic.of(matched.study, title).name)
        return matched if fit is None else match_by_model(matched, fit.condition, fit.people)

    @property
    def readings(self) -> list[Reading]:
        """A language model's readings, by round: what its studies say of each drug, as they are matched."""
        if self.reading_counts.is_unreliable:
            return []
        studies = {matched.study.key: matched for matched in self.studies}
        texts: dict[str, Evidence] = {}
        for findings in self.findings:
            texts |= {record.key: record for record in findings.records if record.key in studies}
        readings: list[Reading] = []
        for findings in self.in_order:
            readings += [reading for reading in findings.readings if reading.key not in studies]
        for key, matched in studies.items():
            readings += make_readings(matched, Document.of(readable(texts[key])).whole) if key in texts else []
        return readings

    @property
    def unread(self) -> list[UnreadRecord]:
        """What was fetched and of which no model read anything that stands, by round, each once."""
        keys: set[str] = set()
        by_key: dict[str, UnreadRecord] = {}
        for findings in self.in_order:
            keys |= {matched.study.key for matched in findings.studies}
            by_key |= {record.key: record for record in findings.unread}
        return [record for key, record in by_key.items() if key not in keys]

    @property
    def absent(self) -> list[str]:
        """Keys of the records for which no reader steps in, since the model was asked and its answer does not stand."""
        if self.reading_counts.is_unreliable:
            return []
        return [record.key for record in self.unread if record.is_absent]

    @property
    def new_topics(self) -> list[StudyTopic]:
        """Topics of studies that no model was asked about yet."""
        if self.reading_counts.is_unreliable:
            return []
        studies = list(chain.from_iterable(findings.studies for findings in self.in_order))
        return list_topics(studies, self._titles, self.fits)

    def list_left(self, iteration: int) -> dict[str, dict[str, InputKind]]:
        """Return the tools that a round left for later, by specialist, each with what it takes."""
        of_round = [findings for findings in self.in_order if findings.iteration == iteration]
        return {findings.specialist: findings.later for findings in of_round if findings.later}

    def pool(self) -> list[Evidence]:
        """Return the records, deduplicated and ranked for the question, with the drugs that they name by a code."""
        merged = merge(chain.from_iterable(findings.records for findings in self.findings))
        return rank(self.question, note_codes(merged))

    @property
    def answered(self) -> list[str]:
        """Names of the sources that answered at least once, in alphabetical order."""
        return sorted({reply.source for reply in self.replies if reply.status not in FAILED})

    @property
    def failures(self) -> list[str]:
        """Failures, one line for each source and reason, and all notes, in alphabetical order."""
        lines: set[str] = set()
        for reply in self.replies:
            if reply.status in (*FAILED, Status.PARTIAL):
                lines |= {f"{reply.source}: {warning}" for warning in reply.warnings or ["no reason given"]}
        for findings in self.findings:
            lines.update(findings.notes)
        return sorted(lines)

    def has_news(self, iteration: int) -> bool:
        """Whether a round found a record that shares no identifier with one of earlier rounds."""
        earlier = set[str]()
        new = list[set[str]]()
        for finding in self.findings:
            names = [{record.key, *record.identifiers} for record in finding.records]
            if finding.iteration < iteration:
                earlier.update(*names)
            elif finding.iteration == iteration:
                new += names
        return any(earlier.isdisjoint(identifiers) for identifiers in new)
