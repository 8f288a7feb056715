"""Specialists' findings with a digest of the evidence, and the dossier that judge and report agent build from them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

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
from .asking.reader import ReadingCounts, UnreadRecord, WholeTexts

MOST_BYTES = 3_650  # of a digest, both as JSON and as text; 4 kB with the guidance above it
ENOUGH = 12  # studies that should fit: quotes are shortened until they do
TOLD = ("supports", "contradicts")
DIRECTIONS = (*TOLD, "inconclusive")
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
        told = [unmarked(self.summary), *([self.rest] if self.rest else [])]
        if self.lines:
            lines = [line.model_dump() for line in self.lines]
            told.append(enclose_lines(lines, new_marker(), head={"of": "digest"}))
        return "\n".join(told)

    def as_markdown(self) -> str:
        """Format the digest for people."""
        told = [escape(self.summary), ""]
        drug = ""
        for line in self.lines:
            if line.drug != drug:
                drug = line.drug
                rated = "" if line.certainty in (NOT_RATED, "refuted") else f", {line.certainty} certainty"
                told.append(f"- **{escape(drug)}**{rated}")
            told.append(f"  - {line.direction} ({escape(line.study)}; {escape(line.id)}): “{escape(line.quote)}”")
        return "\n".join([*told, *(["", self.rest] if self.rest else [])]).strip()


def order_lines(lines: Iterable[EvidenceLine]) -> list[EvidenceLine]:
    """Order lines: each drug's first, then each drug's second, and so on; inconclusive ones after all others.

    Of a drug come supporting and contradicting lines in turns, the larger group first.
    """
    by_drug = dict[str, dict[str, list[EvidenceLine]]]()
    for line in lines:
        by_drug.setdefault(line.drug, {side: [] for side in DIRECTIONS})[line.direction].append(line)
    queues = list[list[EvidenceLine]]()
    for sides in by_drug.values():
        pairs = zip_longest(*sorted((sides[side] for side in TOLD), key=len, reverse=True))
        queues.append([*(line for pair in pairs for line in pair if line is not None), *sides["inconclusive"]])
    turns = [line for turn in zip_longest(*queues) for line in turn if line is not None]
    return sorted(turns, key=lambda line: line.direction not in TOLD)


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
    given = list(lines)
    turns = order_lines(given)
    drugs = list(dict.fromkeys(line.drug for line in given))

    def digest_of(chosen: Sequence[EvidenceLine]) -> EvidenceDigest:
        shown = {line.drug for line in chosen}
        return EvidenceDigest(
            question=short(question, 200),
            summary=one_line(summary, _MOST_SUMMARY),
            lines=sorted(chosen, key=lambda line: drugs.index(line.drug)),
            left_off=len(given) - len(chosen),
            drugs_left_off=[drug for drug in drugs if drug not in shown][:_MOST_NAMED],
        )

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
    told = [f"{counted(len(pool), 'record')}." if pool else "The searches gave no record."]
    if judged := [candidate for candidate in candidates if candidate.has_verdict]:
        results = sum(len(each.appraisal.telling) for each in judged)
        told.append(f"{counted(results, 'result')} on {counted(len(judged), 'drug')}.")
    if undecided := [candidate.drug for candidate in candidates if not candidate.has_verdict]:
        told.append(f"Studies without a result that decides on {listed(undecided, _MOST_NAMED)}.")
    if entries := {record.record.drug for record in pool if isinstance(record.record, Drug) and record.record.drug}:
        told.append(f"Mechanisms and indications are given for {listed(sorted(entries), 20)}.")
    for reply in replies:
        if reply.status in FAILED:
            told.append(f"{reply.source} gave no answer: {'; '.join(reply.warnings) or 'no reason given'}.")
    dates = {record.key: record.citation.date for record in pool}
    return make_digest(question.text, " ".join(told), lines_of(candidates, dates))


def lines_of(candidates: Iterable[Candidate], dates: Mapping[str, str]) -> Iterator[EvidenceLine]:
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
        return [record for reply in self.replies for record in reply.records]

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Leave out the records, as AutoGen formats every message for its log, even if that is off."""
        yield from (("specialist", self.specialist), ("iteration", self.iteration), ("summary", self.summary))


class FindingsMessage(ModelTextMessage[Findings]):
    """Findings as a message: data for agents, a few lines for models and people."""

    def to_text(self) -> str:
        """Return one line for consoles."""
        found = self.content
        counts = f"{counted(len(found.records), 'record')} from {counted(len(found.replies), 'search')}"
        return f"{found.specialist}, round {found.iteration}: {counts}"

    def to_model_text(self) -> str:
        """Return the digest for other agents' models; the records stay in the data."""
        digest = self.content.digest
        said = unmarked(self.content.reflection)
        told = f"{GUIDANCE}\n{digest.as_text()}" if digest else unmarked(self.content.summary)
        return f"{self.to_text()}\n{told}\n{said}".rstrip()


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
        return sorted(self.findings, key=lambda found: (found.iteration, found.specialist))

    @property
    def specialists(self) -> list[Specialist]:
        """Specialists that have searched and can search again, in alphabetical order."""
        known = {each.specialist: each.declared or Specialist(name=each.specialist) for each in self.in_order}
        return [known[name] for name in sorted(known)]

    @property
    def iteration(self) -> int:
        """The latest round with a search; 0 before the first."""
        return max((finding.iteration for finding in self.findings), default=0)

    @property
    def replies(self) -> list[SourceReply]:
        """Every reply of every source, in the order of the rounds."""
        return [reply for found in self.in_order for reply in found.replies]

    @property
    def reading_counts(self) -> ReadingCounts:
        """How much a model read in all turns."""
        return sum((finding.reading_counts for finding in self.findings), ReadingCounts())

    @property
    def studies(self) -> list[MatchedStudy]:
        """A language model's studies, by round, matched with the question; none if it cannot be relied on."""
        if self.reading_counts.is_unreliable:
            return []
        by_key = {read.study.key: read for found in self.in_order for read in found.studies}
        by_key |= {read.study.key: read for read in self.read_again}
        titles = self._titles if by_key else {}
        return [self._match(read, titles.get(key, "")) for key, read in by_key.items()]

    @property
    def _titles(self) -> dict[str, str]:
        return {record.key: record.citation.title for finding in self.findings for record in finding.records}

    def _match(self, read: MatchedStudy, title: str) -> MatchedStudy:
        fit = self.fits.get(StudyTopic.of(read.study, title).name)
        return read if fit is None else match_by_model(read, fit.condition, fit.people)

    @property
    def readings(self) -> list[Reading]:
        """A language model's readings, by round: what its studies say of each drug, as they are matched."""
        if self.reading_counts.is_unreliable:
            return []
        studies = {read.study.key: read for read in self.studies}
        texts = {record.key: record for finding in self.findings for record in finding.records if record.key in studies}
        given = [reading for found in self.in_order for reading in found.readings if reading.key not in studies]
        for key, read in studies.items():
            given += make_readings(read, Document.of(readable(texts[key])).whole) if key in texts else []
        return given

    @property
    def unread(self) -> list[UnreadRecord]:
        """What was fetched and of which no model read anything that stands, by round, each once."""
        read = {read.study.key for finding in self.findings for read in finding.studies}
        listed = {each.key: each for found in self.in_order for each in found.unread}
        return [each for key, each in listed.items() if key not in read]

    @property
    def absent(self) -> list[str]:
        """Keys of the records for which no reader steps in, since the model was asked and its answer does not stand."""
        if self.reading_counts.is_unreliable:
            return []
        return [each.key for each in self.unread if each.is_absent]

    @property
    def new_topics(self) -> list[StudyTopic]:
        """Topics of studies that no model was asked about yet."""
        if self.reading_counts.is_unreliable:
            return []
        return list_topics([read for found in self.in_order for read in found.studies], self._titles, self.fits)

    def left_for_later(self, iteration: int) -> dict[str, dict[str, InputKind]]:
        """Return the tools that a round left for later, by specialist, each with what it takes."""
        return {each.specialist: each.later for each in self.in_order if each.later and each.iteration == iteration}

    def pool(self) -> list[Evidence]:
        """Return the records, deduplicated and ranked for the question, with the drugs that they name by a code."""
        merged = merge(record for finding in self.findings for record in finding.records)
        return rank(self.question, note_codes(merged))

    @property
    def answered(self) -> list[str]:
        """Names of the sources that answered at least once, in alphabetical order."""
        return sorted({reply.source for reply in self.replies if reply.status not in FAILED})

    @property
    def failures(self) -> list[str]:
        """Failures, one line for each source and reason, and all notes, in alphabetical order."""
        lines = {
            f"{reply.source}: {warning}"
            for reply in self.replies
            if reply.status in (*FAILED, Status.PARTIAL)
            for warning in reply.warnings or ["no reason given"]
        }
        return sorted(lines | {note for finding in self.findings for note in finding.notes})

    def has_news(self, iteration: int) -> bool:
        """Whether a round found a record that shares no identifier with one of earlier rounds."""
        known = set[str]()
        new = list[set[str]]()
        for finding in self.findings:
            names = [{record.key, *record.identifiers} for record in finding.records]
            if finding.iteration < iteration:
                known.update(*names)
            elif finding.iteration == iteration:
                new += names
        return any(known.isdisjoint(each) for each in new)
