"""Types of models' answers, with schemas that every provider accepts: all fields required, no others, all bounded.

Reasons come before scores, and quotes before their interpretation. A small model constrained by a grammar might never
stop without bounds; `make_strict` removes them for providers that refuse them, and answers are cut to them in either
case.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from willowbark.tools.appraisal.judgement import Domain
from willowbark.tools.questions.kinds import QUESTIONS
from willowbark.tools.records.study import Aim, ArmRole, OutcomeClass, ResultBasis, Stated

MAX_QUERY = 1900  # characters; llama.cpp refuses grammars with 2,000 repetitions, and sources accept no more
MAX_QUERIES = 16_000  # characters of all queries of a round; a dozen long ones
MAX_PASSAGE = 1900  # characters of a quote, three times the length of three sentences
MAX_STUDIES = 40  # of a batch, whose records are fewer
MAX_ARMS = 12
MAX_DRUGS = 12  # of an arm
MAX_COMPARISONS = 16  # of a review
MAX_STATEMENTS = 12
MAX_HARMS = 8
MAX_SENTENCE = 600  # characters of a written sentence
MAX_KEYS = 8  # records that one sentence rests on
MAX_CHECKED = 120  # sentences of a report
_BOUNDS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"})
"""Keywords that some OpenAI models refuse in strict mode:
https://platform.openai.com/docs/guides/structured-outputs"""


@dataclass(frozen=True, slots=True)
class UpTo:
    """Length of a text in characters or a list in items: longer values are cut, shorter ones refused."""

    most: int
    least: int = 0

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the type's schema with both bounds."""
        bounded = {**handler(source), "max_length": self.most, **({"min_length": self.least} if self.least else {})}
        return core_schema.no_info_before_validator_function(self._cut_to_bounds, bounded)

    def _cut_to_bounds(self, data: Any) -> Any:
        return data[: self.most] if isinstance(data, str | list) else data


Line = Annotated[str, UpTo(300, least=1)]
Query = Annotated[str, UpTo(MAX_QUERY, least=1)]
ShortName = Annotated[str, UpTo(100, least=1)]
RecordKey = Annotated[str, UpTo(300, least=1)]
Score = Annotated[int, Field(ge=0, le=10)]
Count = Annotated[int, Field(ge=0)]
"""People; 0 where they are not told, since small models write a number rather than null."""
Told = Literal["yes", "no", "untold"]
AnswerPart = Literal["bottom_line", "works", "failed", "makes_worse", "harms", "how_sure", "missing"]
"""A part of a written answer."""
ANSWER_PARTS: tuple[AnswerPart, ...] = get_args(AnswerPart)
BorneOut = Literal["yes", "partly", "no"]
"""Whether passages say what a sentence says."""


class Draft(BaseModel):
    """Base class of models' answers: all fields are required, extra ones are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema for a model: all fields required, no others, no titles."""
        schema = handler.resolve_ref_schema(handler(core))
        for about in ("title", "description"):
            schema.pop(about, None)
        for field in schema["properties"].values():
            field.pop("title", None)
            field.pop("default", None)
        schema["required"] = list(schema["properties"])
        schema["additionalProperties"] = False
        return schema


def make_strict(schema: Any) -> Any:
    """Remove the bounds from a schema, for providers whose strict mode refuses them."""
    if isinstance(schema, dict):
        fields = schema.get("properties")
        own = {name: make_strict(value) for name, value in schema.items() if name not in _BOUNDS}
        return own if fields is None else {**own, "properties": {n: make_strict(value) for n, value in fields.items()}}
    return [make_strict(item) for item in schema] if isinstance(schema, list) else schema


class NextSearch(Draft):
    """A search that could close a gap."""

    closes: Line = Field(description="The gap.")
    specialist: ShortName = Field(description="Name of who should run it, as listed.")
    query: Query = Field(description="In the form that the specialist takes; of drugs just the generic name.")


Keys = Annotated[list[Annotated[str, UpTo(300)]], UpTo(8)]
"""Of records, as they stand in the prompt."""
Words = Annotated[str, UpTo(400)]
"""A model's own sentence or two."""


class ReasonDraft(Draft):
    """A sentence of the judge's with the records that it rests on."""

    text: Words
    keys: Keys


class DomainDraft(Draft):
    """One of GRADE's domains for a drug."""

    domain: Domain
    lowered: Annotated[int, Field(ge=0, le=2)]
    reason: Words
    keys: Keys


class DrugDraft(Draft):
    """What the judge says of a drug."""

    drug: ShortName
    reason: Words
    keys: Keys
    domains: Annotated[list[DomainDraft], UpTo(5)]
    level: Literal["high", "moderate", "low", "very_low", "cannot_tell"]
    not_for: Words


class StrikeDraft(Draft):
    """A reading that should not count."""

    evidence_key: Annotated[str, UpTo(300)]
    drug: ShortName
    reason: Words


class MisreadDraft(Draft):
    """A record that should be read again."""

    evidence_key: Annotated[str, UpTo(300)]
    reason: Words


class JudgeDraft(Draft):
    """A model's assessment of a round; counts, known candidates and the decision are set by rule."""

    misread: Annotated[list[MisreadDraft], UpTo(6)]
    strikes: Annotated[list[StrikeDraft], UpTo(20)]
    decides: Annotated[list[ReasonDraft], UpTo(12)]
    contradicts: Annotated[list[ReasonDraft], UpTo(8)]
    drugs: Annotated[list[DrugDraft], UpTo(40)]
    mechanism_reasoning: Words
    mechanism_score: Score
    clinical_reasoning: Words
    clinical_evidence_score: Score
    candidates_score: Score
    gaps: Annotated[list[Words], UpTo(12)]
    next_searches: Annotated[list[NextSearch], UpTo(40)]
    reasoning: Annotated[str, UpTo(1200, least=20)] = Field(description="For the other agents.")
    confidence: float = Field(ge=0.0, le=1.0)
    is_enough: bool

    @property
    def drug_candidates(self) -> list[str]:
        """The drugs that it speaks of, the best first."""
        return [drug.drug for drug in self.drugs]

    @property
    def next_search_queries(self) -> list[str]:
        """The queries, each once."""
        return list(dict.fromkeys(search.query for search in self.next_searches))

    @property
    def next_specialists(self) -> list[str]:
        """Specialists that should search, each once."""
        return list(dict.fromkeys(search.specialist for search in self.next_searches))


class ArmDraft(Draft):
    """A group of a study; its prompt explains the fields of this and the following drafts."""

    name: ShortName
    role: ArmRole
    drugs: Annotated[list[ShortName], UpTo(MAX_DRUGS)]
    dose: Annotated[str, UpTo(100)]
    n: Count


class ComparisonDraft(Draft):
    """One arm against another on one outcome."""

    arm: ShortName
    versus: ShortName
    quote: Annotated[str, UpTo(MAX_PASSAGE)]
    outcome: Annotated[str, UpTo(200)]
    endpoint: OutcomeClass
    primary: Told
    condition: Annotated[str, UpTo(100)]
    subgroup: Annotated[str, UpTo(100)]
    favours: Literal["arm", "versus", "neither", "untold"]
    significant: Told
    equivalence: Literal["shown", "claimed", "not_shown", "none"]
    basis: ResultBasis
    hedged: bool
    estimate: Annotated[str, UpTo(200)]


class HarmDraft(Draft):
    """An adverse effect in an arm."""

    arm: ShortName
    what: Annotated[str, UpTo(100, least=1)]
    value: Annotated[str, UpTo(100, least=1)]
    quote: Annotated[str, UpTo(MAX_PASSAGE)]


class StatementDraft(Draft):
    """What the authors say of a drug beside their comparisons."""

    drug: ShortName
    quote: Annotated[str, UpTo(MAX_PASSAGE)]
    says: Stated
    basis: ResultBasis
    condition: Annotated[str, UpTo(100)]
    reason: Annotated[str, UpTo(200)]


class StudyDraft(Draft):
    """A model's reading of one record; what it says of each drug follows by rule."""

    evidence_key: Annotated[str, UpTo(300)]
    aim: Aim
    condition: Annotated[str, UpTo(200)]
    people: Annotated[str, UpTo(200)]
    randomised: Count
    background: Annotated[list[ShortName], UpTo(MAX_DRUGS)]
    arms: Annotated[list[ArmDraft], UpTo(MAX_ARMS)]
    comparisons: Annotated[list[ComparisonDraft], UpTo(MAX_COMPARISONS)]
    harms: Annotated[list[HarmDraft], UpTo(MAX_HARMS)]
    statements: Annotated[list[StatementDraft], UpTo(MAX_STATEMENTS)]


class StudiesDraft(Draft):
    """A model's readings of a batch of records, a study each."""

    studies: Annotated[list[StudyDraft], UpTo(MAX_STUDIES)]


class ClaimDraft(Draft):
    """A passage of one record on one drug."""

    evidence_key: Annotated[str, UpTo(300)]
    quote: Annotated[str, UpTo(MAX_PASSAGE)] = Field(description="A passage of the record, to the letter.")
    drug: ShortName
    stance: Literal["supports", "contradicts", "neutral"]


class ReportDraft(Draft):
    """A model's part of a report; everything else in it is computed."""

    claims: Annotated[list[ClaimDraft], UpTo(120)]


class SentenceDraft(Draft):
    """A sentence of a report in a model's words, with the keys of what it rests on."""

    text: Annotated[str, UpTo(MAX_SENTENCE, least=1)]
    keys: Annotated[list[RecordKey], UpTo(MAX_KEYS)]


class DrugParagraphDraft(Draft):
    """A paragraph on one drug."""

    drug: ShortName
    sentences: Annotated[list[SentenceDraft], UpTo(8)]


class AnswerDraft(Draft):
    """An answer in headed parts, in the order of a report; one on which nothing was read is empty."""

    bottom_line: Annotated[list[SentenceDraft], UpTo(3)] = []
    works: Annotated[list[SentenceDraft], UpTo(16)] = []
    failed: Annotated[list[SentenceDraft], UpTo(10)] = []
    makes_worse: Annotated[list[SentenceDraft], UpTo(10)] = []
    harms: Annotated[list[SentenceDraft], UpTo(10)] = []
    how_sure: Annotated[list[SentenceDraft], UpTo(4)] = []
    missing: Annotated[list[SentenceDraft], UpTo(6)] = []

    def by_part(self) -> Iterator[tuple[AnswerPart, SentenceDraft]]:
        """Yield the sentences, each with its part."""
        for part in ANSWER_PARTS:
            sentences: list[SentenceDraft] = getattr(self, part)
            for sentence in sentences:
                yield part, sentence


class WrittenDraft(Draft):
    """A model's answer in its own words; a report shows the sentences that stand."""

    answer: AnswerDraft
    drugs: Annotated[list[DrugParagraphDraft], UpTo(16)]
    mechanism: Annotated[list[SentenceDraft], UpTo(12)]
    would_change: Annotated[list[SentenceDraft], UpTo(8)]


class MendedSentenceDraft(SentenceDraft):
    """A sentence written again."""

    number: Count


class MendedDraft(Draft):
    """Sentences that did not stand, written again; those left out are given up."""

    sentences: Annotated[list[MendedSentenceDraft], UpTo(MAX_CHECKED)]


class SentenceVerdictDraft(Draft):
    """What a checker says of one sentence."""

    number: Count
    words: Annotated[str, UpTo(300)] = Field(description="Words that the passages do not bear out; else empty.")
    borne_out: BorneOut
    advises: bool


class CheckDraft(Draft):
    """A checker's verdicts, one a sentence."""

    verdicts: Annotated[list[SentenceVerdictDraft], UpTo(MAX_CHECKED)]


class QuestionDraft(BaseModel, extra="forbid"):
    """A question as a model reads it."""

    kind: Literal["treat", "prevent", "harm", "avoid", "safety", "mechanism", "status", "negative", "uses", "none"]
    condition: str
    people: str
    """People asked about: children, pregnancy, people with another condition."""
    drug: str
    without: str

    @property
    def in_words(self) -> str:
        """The question in words that the rules can parse."""
        template = ("" if self.kind == "none" else QUESTIONS[self.kind]).rstrip("?")
        if self.drug and self.kind in ("treat", "prevent"):
            template = "Does {drug} " + ("help in {condition}" if self.kind == "treat" else "prevent {condition}")
        question = template.format(drug=self.drug or "a drug", condition=self.condition or "people")
        question += f" in {self.people}" if self.people else ""
        return f"{question} without {self.without}?" if self.without else f"{question}?"
