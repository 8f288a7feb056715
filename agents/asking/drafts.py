"""What models are asked for: answers with bounds, whose schemas every provider takes.

A draft holds what a model decides and nothing that rules set; reasons stand before the scores they lead to, quotes
before what they are taken for. Its schema demands all fields and allows no others. Bounds stand in it too, since a
small model that is held to a grammar would write for ever without them; `strict` leaves them out for those who refuse
them. What comes back is cut to the bounds, whoever held the model to them.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from willowbark.tools.reading.reading import Comparator, Effect, Indication, Match, OutcomeKind, Primary, Role

MAX_QUERY = 1900  # characters; llama.cpp refuses grammars that repeat anything 2,000 times, and sources take no more
MAX_QUERIES = 16_000  # characters of all queries of a round; a dozen long ones
MAX_PASSAGE = 1900  # characters of a quote; three sentences have a third of that
MAX_READINGS = 120  # of a batch: ten drugs in each of its records
_BOUNDS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"})
"""What OpenAI's strict mode does not take in all of its models:
https://platform.openai.com/docs/guides/structured-outputs"""


@dataclass(frozen=True, slots=True)
class UpTo:
    """Bounds of a text in characters, or of a list in items: what is longer is cut, what is shorter refused."""

    most: int
    least: int = 0

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The type with both bounds in its schema."""
        bounded = {**handler(source), "max_length": self.most, "min_length": self.least}
        return core_schema.no_info_before_validator_function(self._cut, bounded)

    def _cut(self, given: Any) -> Any:
        return given[: self.most] if isinstance(given, str | list) else given


Line = Annotated[str, UpTo(300, least=1)]
Query = Annotated[str, UpTo(MAX_QUERY, least=1)]
Name = Annotated[str, UpTo(100, least=1)]
Score = Annotated[int, Field(ge=0, le=10)]


class Draft(BaseModel):
    """Base of what models answer with: every field is demanded, what stands beside them is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema as it goes to a model: all fields demanded, no others, no titles."""
        schema = handler.resolve_ref_schema(handler(core))
        for about in ("title", "description"):
            schema.pop(about, None)
        for field in schema["properties"].values():
            field.pop("title", None)
            field.pop("default", None)
        schema["required"] = list(schema["properties"])
        schema["additionalProperties"] = False
        return schema


def strict(schema: Any) -> Any:
    """A schema without its bounds, for providers whose strict mode refuses them."""
    if isinstance(schema, dict):
        fields = schema.get("properties")
        kept = {name: strict(value) for name, value in schema.items() if name not in _BOUNDS}
        return kept if fields is None else {**kept, "properties": {n: strict(value) for n, value in fields.items()}}
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


class NextSearch(Draft):
    """A search that could close a gap."""

    closes: Line = Field(description="The gap.")
    specialist: Name = Field(description="Name of who should run it, as listed.")
    query: Query = Field(description="In the form that the specialist takes; of drugs just the generic name.")


class JudgeDraft(Draft):
    """What a model says of a round; counts, known candidates and the decision are set by rule."""

    mechanism_reasoning: Annotated[str, UpTo(800, least=10)]
    mechanism_score: Score
    clinical_reasoning: Annotated[str, UpTo(800, least=10)]
    clinical_evidence_score: Score
    drug_candidates: Annotated[list[Name], UpTo(40)] = Field(description="Generic names.")
    candidates_score: Score
    key_findings: Annotated[list[Line], UpTo(12)]
    gaps: Annotated[list[Line], UpTo(12)]
    next_searches: Annotated[list[NextSearch], UpTo(40)]
    reasoning: Annotated[str, UpTo(1200, least=20)]
    confidence: float = Field(ge=0.0, le=1.0)

    @property
    def next_search_queries(self) -> list[str]:
        """The queries, each once."""
        return list(dict.fromkeys(search.query for search in self.next_searches))

    @property
    def next_specialists(self) -> list[str]:
        """Who should search, each once."""
        return list(dict.fromkeys(search.specialist for search in self.next_searches))


class ReadingDraft(Draft):
    """What a model reads in one record of one drug; which way that points follows by rule."""

    evidence_key: Annotated[str, UpTo(300)]
    drug: Name = Field(description="Generic name.")
    quote: Annotated[str, UpTo(MAX_PASSAGE)] = Field(
        description="The whole sentences that carry the result, to the letter; empty where the record reports none."
    )
    role: Role
    match: Match
    kind: OutcomeKind
    comparator: Comparator
    against: Annotated[str, UpTo(100)] = Field(description="The active comparator's name; empty where there is none.")
    effect: Effect
    primary: Primary
    indication: Indication
    alone: bool
    hedged: bool
    non_inferior: bool


class ReadingsDraft(Draft):
    """What a model reads in a batch of records."""

    readings: Annotated[list[ReadingDraft], UpTo(MAX_READINGS)]


class ClaimDraft(Draft):
    """One sentence on one drug, and the passage it rests on."""

    evidence_key: Annotated[str, UpTo(300)]
    quote: Annotated[str, UpTo(MAX_PASSAGE)] = Field(description="A passage of the record, to the letter.")
    drug: Name
    topic: Literal["clinical", "mechanism"]
    text: Annotated[str, UpTo(MAX_PASSAGE)] = Field(
        description="The whole sentence of the quote that says it; empty where the quote stands for itself."
    )
    stance: Literal["supports", "contradicts", "neutral"]


class ReportDraft(Draft):
    """What a model writes; everything else in the report is computed."""

    claims: Annotated[list[ClaimDraft], UpTo(120)]
