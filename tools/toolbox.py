"""The sources as AutoGen tools: `search_pubmed` etc., and `get_…` for single papers, trials and drugs.

Arguments are validated; results are blocks of records (see `enclosure`). A tool does not raise if a source fails: it
returns a reply that names the failure. Tools of a team share one transport; a tool used alone opens its own.
"""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar, cast

from autogen_core import CancellationToken, Component
from autogen_core.tools import BaseTool, ToolSchema
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from .arguments import drop_absent, strict_schema
from .errors import SourceRefused, UnreadableReply
from .http.together import MeetingPoint
from .http.transport import Transport
from .lexicon import canonical_drug
from .library import read_environment
from .library.collected import Answer, CollectedEvidence
from .records.enclosure import blocks, enclose, enclose_lines, new_marker, one_line
from .records.evidence import Evidence
from .records.registry import cards, takes_names
from .search import Source, SourceReply, Status, reply_of, source_class
from .sources.drugs.chembl import ChEMBL
from .sources.drugs.mychem import MyChem
from .sources.drugs.opentargets import OpenTargets
from .sources.drugs.reactome import Reactome
from .sources.drugs.uniprot import UniProt
from .sources.labels.drugsfda import DrugsFDA
from .sources.labels.openfda import OpenFDA
from .sources.studies.clinicaltrials import ClinicalTrials
from .sources.studies.europepmc import EuropePMC
from .sources.studies.pubmed import PubMed
from .works.fulltext import fetch_whole_text

SEARCH_TIMEOUT_S = 90.0
_LONGEST_NAME = 100  # characters of a drug name that is not in the lexicon
SHOWN = 5  # passages per answer of `ask_records`
SHOWN_CHARACTERS = 400  # per passage
MAX_DRUGS = 20  # per call: a run looks up that many at most, and their labels fit into one reply
Args = TypeVar("Args", bound=BaseModel)
InputKind = Literal["queries", "conditions", "drugs", "citations", "numbers"]
"""Kinds of tool input: boolean queries, names of conditions, names of drugs, the PMID of a publication whose citations
are wanted, identifiers of single papers and trials."""
Questions = Mapping[str, Callable[[], Awaitable[SourceReply]]]
"""Requests by source name."""


class SearchArgs(BaseModel, extra="forbid"):
    query: str = Field(
        min_length=1, max_length=2000, description="Words, with AND, OR, NOT, quotes and parentheses if needed"
    )


@cache
def search_args(name: str) -> type[SearchArgs]:
    """Create the arguments of a source's tool: a query and the source's own filters."""
    bases: Any = (source_class(name).filters, SearchArgs)
    found: type[SearchArgs] = create_model(f"{name.capitalize()}Args", __base__=bases)
    return found


def find_input_kind(schema: ToolSchema) -> InputKind | None:
    """Classify a tool's input by the fields of its arguments; None if it takes none of these.

    >>> tools = (SourceTool("pubmed"), SourceTool("opentargets"), GetPaper())
    >>> tuple(find_input_kind(tool.schema) for tool in tools)
    ('queries', 'conditions', 'numbers')
    """
    fields = schema.get("parameters", {}).get("properties", {})
    if "drugs" in fields:
        return "drugs"
    if "citations_of" in fields:
        return "citations"
    if "pmid" in fields or "nct_id" in fields:
        return "numbers"
    if "query" in fields:
        return "conditions" if takes_names(schema["name"].removeprefix("search_")) else "queries"
    return None


def _read_pmid(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read_nct(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Pmid = Annotated[
    str,
    BeforeValidator(_read_pmid),
    Field(pattern=r"^[1-9][0-9]{0,8}$", description="PubMed identifier, digits only"),
]


class PaperArgs(BaseModel, extra="forbid"):
    pmid: Pmid
    full_text: bool = Field(default=False, description="Also its whole results and tables, where they are open")

    @model_validator(mode="before")
    @classmethod
    def _drop_absent(cls, arguments: object) -> object:
        return drop_absent(cls.model_fields, arguments)


class CitationsArgs(BaseModel, extra="forbid"):
    citations_of: Pmid


def full_text_query(pmid: str) -> str:
    """Write a judge's query for the open full text of a publication."""
    return f"full text of PMID {pmid}"


def citations_query(pmid: str) -> str:
    """Write a judge's query for the citations and references of a publication."""
    return f"citations of PMID {pmid}"


class TrialArgs(BaseModel, extra="forbid"):
    nct_id: Annotated[str, BeforeValidator(_read_nct)] = Field(
        pattern=r"^NCT[0-9]{8}$", description="ClinicalTrials.gov identifier, NCT and 8 digits"
    )


def _drug_name(name: str) -> str:
    """Validate a drug name for a request: plain words, else its lexicon form, such as `amlodipine/valsartan`."""
    plain = name.isascii() and name[:1].isalnum() and all(each.isalnum() or each in " ,.'()+-" for each in name)
    if plain and 2 <= len(name) <= _LONGEST_NAME:
        return name
    if known := canonical_drug(name):
        return known
    raise ValueError("no drug's name")


DrugName = Annotated[str, AfterValidator(_drug_name)]
_NAMES = "Generic names, such as propranolol"


class DrugArgs(BaseModel, extra="forbid"):
    drugs: list[DrugName] = Field(min_length=1, max_length=MAX_DRUGS, description=f"{_NAMES}; all in one call")


class ToolReply(BaseModel):
    replies: list[SourceReply]

    def as_text(self, marker: str) -> str:
        """Format the records as marked blocks below a summary line."""
        lines = ["; ".join(reply.line for reply in self.replies)]
        for reply in self.replies:
            head = reply.model_dump(mode="json", exclude={"records"})
            lines.append(enclose(reply.records, marker, head=head))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, before it is made."""

    tool: str
    arguments: Mapping[str, Any]
    call_id: str
    """Empty if the caller gives none."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not made."""

    reason: str


class ToolGate(Protocol):
    """Stands before a tool's calls."""

    async def before(self, call: ToolCall) -> Mapping[str, Any] | Refusal:
        """Return the arguments to call with, or why the call is refused."""

    def after(self, call: ToolCall, seconds: float) -> None:
        """Note how long a call took."""


class EvidenceTool(BaseTool[Args, ToolReply]):
    """Base class of tools that return records; has the run's transport and marker."""

    _marker: str
    _transport: Transport | None = None
    _schema: ToolSchema | None = None
    _timeout_s: float = SEARCH_TIMEOUT_S
    """For one call, all its requests and retries included."""
    _after: Callable[[Sequence[Evidence]], None] | None = None
    _gate: ToolGate | None = None
    _meeting: MeetingPoint | None = None

    def bind(
        self,
        transport: Transport,
        marker: str,
        after: Callable[[Sequence[Evidence]], None] | None = None,
        gate: ToolGate | None = None,
    ) -> None:
        """Connect the tool to a run.

        Args:
            transport: HTTP transport; not closed here.
            marker: marker for the blocks of records.
            after: called with the records of each source's reply on arrival; must not raise. None: no callback.
            gate: may refuse calls or change their arguments; None lets all pass.
        """
        self._transport = transport
        self._marker = marker
        self._after = after
        self._gate = gate

    @abstractmethod
    def _questions(self, args: Args, transport: Transport) -> Questions:
        """Return the requests to make, by source name."""

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:
        """Run the tool with JSON arguments; a call that the gate refuses is answered with the reason."""
        if self._meeting is None:
            self._meeting = MeetingPoint()
        async with self._meeting.join():
            return await self._run_past_gate(args, cancellation_token, call_id)

    async def _run_past_gate(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None
    ) -> Any:
        if self._gate is None:
            return await super().run_json(args, cancellation_token, call_id)
        call = ToolCall(self.name, args, call_id or "")
        decision = await self._gate.before(call)
        if isinstance(decision, Refusal):
            return self._refuse(args, decision)
        began = time.monotonic()
        try:
            return await super().run_json(decision, cancellation_token, call_id)
        finally:
            self._gate.after(call, time.monotonic() - began)

    def _refuse(self, args: Mapping[str, Any], refusal: Refusal) -> ToolReply:
        """Answer for each source that was not asked."""
        wanted = cast(Args, self.args_type().model_validate(args))
        assert self._transport is not None  # a gate comes with the run's transport
        shown = self._describe(wanted)
        replies = []
        for name in self._questions(wanted, self._transport):
            error = SourceRefused(name, f"not asked, by a hook: {refusal.reason}")
            reply = SourceReply.failed(name, shown, error)
            replies.append(reply.model_copy(update={"asked": shown, "asked_at": datetime.now(UTC)}))
        return ToolReply(replies=replies)

    async def run(self, args: Args, cancellation_token: CancellationToken) -> ToolReply:
        """Query the sources in parallel; failures are returned as replies that name them."""
        if self._transport is not None:
            return await self._ask(args, self._transport)
        async with Transport(read_environment()) as transport:
            return await self._ask(args, transport)

    @property
    def schema(self) -> ToolSchema:
        """AutoGen's schema as strict providers take it, cached, since it is requested hundreds of times per run."""
        if self._schema is None:
            self._schema = strict_schema(super().schema)
        return self._schema

    async def _ask(self, args: Args, transport: Transport) -> ToolReply:
        asked_at = datetime.now(UTC)
        shown = self._describe(args)
        questions = self._questions(args, transport)
        replies = await asyncio.gather(*(self._answer(name, shown, ask) for name, ask in questions.items()))
        library = transport.endpoints.library
        known = {"library": library.summary if library else "", "asked": shown, "asked_at": asked_at}
        return ToolReply(replies=[reply.model_copy(update=known) for reply in replies])

    def _describe(self, args: Args) -> str:
        given = next(iter(args.model_dump().values()))
        return " OR ".join(given) if isinstance(given, list) else str(given)

    async def _answer(self, name: str, shown: str, ask: Callable[[], Awaitable[SourceReply]]) -> SourceReply:
        reply = await reply_of(name, shown, ask, self._timeout_s)
        if self._after is not None and reply.records:
            self._after(reply.records)
        return reply

    def return_value_as_string(self, value: ToolReply) -> str:
        """Format the records as marked blocks; AutoGen calls this for its log and again for the model."""
        return value.as_text(self._marker)


@lru_cache(maxsize=64)
def replies_in(text: str) -> tuple[SourceReply, ...]:
    """Parse the replies in a tool's result, ignoring unknown fields.

    An unreadable block becomes a failed reply, an unreadable record a warning of its reply. Cached, since
    specialist, analyst and events all read a turn's results.
    """
    found = []
    for block in blocks(text):
        source = "unknown"
        try:
            head, lines = block.read()
            if not {"source", "status"} <= head.keys() or "read" in head:
                continue  # not a source's reply, but written by `embed` or `condense`
            source = str(head["source"])
            records = list[Evidence]()
            lost = 0
            for line in lines:
                line.pop("key", None)
                try:
                    records.append(Evidence.model_validate(line, extra="ignore"))
                except ValidationError:
                    lost += 1
            reply = SourceReply.model_validate({**head, "records": records}, extra="ignore")
        except ValueError:
            error = UnreadableReply(source, "gave records in a form that cannot be read")
            reply = SourceReply.failed(source, "", error)
        else:
            if lost:
                warning = f"{lost} of {len(lines)} records could not be read"
                reply = reply.model_copy(update={"status": Status.PARTIAL, "warnings": [*reply.warnings, warning]})
        found.append(reply)
    return tuple(found)


class SourceToolConfig(BaseModel):
    source: str
    max_results: int = Field(default=50, ge=1, le=200)


class SourceTool(EvidenceTool[SearchArgs | DrugArgs], Component[SourceToolConfig]):
    """Search one source: `search_pubmed` etc. take a query; tools of on-demand sources take drugs.

    Args:
        source: a name in `registry.searchable()`; a UsageError names those there are.
        max_results: records per page, 1 to 200.
    """

    component_config_schema = SourceToolConfig

    def __init__(self, source: str, max_results: int = 50) -> None:
        self._source = source_class(source)
        self._max_results = max_results
        self._marker = new_marker()
        card = cards()[source]
        args: type[SearchArgs | DrugArgs] = DrugArgs if card.use == "on_demand" else search_args(source)
        super().__init__(args, ToolReply, card.tool or f"search_{source}", card.purpose)

    def _questions(self, args: SearchArgs | DrugArgs, transport: Transport) -> Questions:
        source = self._source(transport)
        if isinstance(args, DrugArgs):
            return {source.name: lambda: source.look_up(*args.drugs)}
        filters = args.model_dump(include=set(source.filters.model_fields), exclude_defaults=True)
        return {source.name: lambda: source.find(args.query, self._max_results, filters)}

    def _to_config(self) -> SourceToolConfig:
        return SourceToolConfig(source=self._source.name, max_results=self._max_results)

    @classmethod
    def _from_config(cls, config: SourceToolConfig) -> Self:
        return cls(config.source, config.max_results)


class LookupConfig(BaseModel):
    sources: tuple[str, ...] | None = None


class LookupTool(EvidenceTool[Args], Component[LookupConfig]):
    """Base class of tools that fetch one item by name or identifier; `sources` names which to query, None all."""

    component_config_schema = LookupConfig
    NAME: ClassVar[str]
    DESCRIPTION: ClassVar[str]
    ARGS: ClassVar[type[BaseModel]]

    def __init__(self, sources: Sequence[str] | None = None) -> None:
        self._sources = None if sources is None else tuple(sources)
        self._marker = new_marker()
        super().__init__(cast(type[Args], self.ARGS), ToolReply, self.NAME, self.DESCRIPTION)

    def _to_config(self) -> LookupConfig:
        return LookupConfig(sources=self._sources)

    @classmethod
    def _from_config(cls, config: LookupConfig) -> Self:
        return cls(config.sources)


class GetPaper(LookupTool[PaperArgs]):
    """Fetch one publication from PubMed."""

    NAME = "get_paper"
    DESCRIPTION = "One publication of PubMed by its PMID, with its abstract and, if wanted, its open full text."
    ARGS = PaperArgs

    def _questions(self, args: PaperArgs, transport: Transport) -> Questions:
        async def find() -> SourceReply:
            reply = await PubMed(transport).papers(args.pmid)
            return await _with_whole_texts(reply, transport) if args.full_text else reply

        return {"pubmed": find}

    def _describe(self, args: PaperArgs) -> str:
        return full_text_query(args.pmid) if args.full_text else args.pmid


async def _with_whole_texts(reply: SourceReply, transport: Transport) -> SourceReply:
    """Add open full texts to a reply's publications; a warning names each that has none, with the reason."""
    records = [await fetch_whole_text(record, transport) for record in reply.records]
    missing = [
        f"no full text of {record.key}: {record.paper.full_text_unread}"
        for record in records
        if record.paper and record.paper.full_text_unread
    ]
    return reply.model_copy(update={"records": records, "warnings": [*reply.warnings, *missing]})


class GetCitations(LookupTool[CitationsArgs]):
    """Fetch the citations and references of a PubMed publication."""

    NAME = "get_citations"
    DESCRIPTION = "What cites a publication of PubMed, and what it cites."
    ARGS = CitationsArgs
    SOURCES = ("pubmed", "europepmc")

    def _questions(self, args: CitationsArgs, transport: Transport) -> Questions:
        named = self.SOURCES if self._sources is None else self._sources
        sources = (source(transport) for source in (PubMed, EuropePMC) if source.name in named)
        return {source.name: partial(source.citations, args.citations_of) for source in sources}

    def _describe(self, args: CitationsArgs) -> str:
        return citations_query(args.citations_of)


class GetTrial(LookupTool[TrialArgs]):
    """Fetch one trial from ClinicalTrials.gov."""

    NAME = "get_trial"
    DESCRIPTION = "One registered trial by its NCT number, with its posted results."
    ARGS = TrialArgs

    def _questions(self, args: TrialArgs, transport: Transport) -> Questions:
        return {"clinicaltrials": lambda: ClinicalTrials(transport).trial(args.nct_id)}


class GetMechanisms(LookupTool[DrugArgs]):
    """Fetch database entries on drugs, their target proteins, and the pathways of those."""

    NAME = "get_mechanisms"
    DESCRIPTION = (
        "Mechanisms of action, targets, pathways of the targets and indications of drugs, by their generic names."
    )
    ARGS = DrugArgs

    def _questions(self, args: DrugArgs, transport: Transport) -> Questions:
        sources = (source(transport) for source in DRUG_TOOLS[self.NAME])
        return {source.name: partial(source.look_up, *args.drugs) for source in sources}

    async def _ask(self, args: DrugArgs, transport: Transport) -> ToolReply:
        """Query the sources; if ChEMBL is unavailable, query MyChem.info instead."""
        found = await super()._ask(args, transport)
        for missed in found.replies:
            if missed.source == "chembl" and missed.status is Status.UNAVAILABLE:
                instead = await self._answer("mychem", missed.asked, partial(MyChem(transport).look_up, *args.drugs))
                known = missed.model_dump(include={"library", "asked", "asked_at"})
                return ToolReply(replies=[*found.replies, instead.model_copy(update=known)])
        return found


DRUG_TOOLS: Mapping[str, Sequence[type[Source]]] = {
    "get_mechanisms": (ChEMBL, OpenTargets, UniProt, Reactome),
    "get_label": (OpenFDA,),
    "get_approvals": (DrugsFDA,),
}
"""What the tools that take drugs ask, by the tool's name."""
_LISTED = (ChEMBL, OpenTargets)  # take many names in one request


async def look_up_ahead(
    tools: Collection[str], leading: Sequence[str], further: Sequence[str], transport: Transport
) -> None:
    """Ask what tools will ask of drugs, so that they find it on the transport's shelf; failures are left to them.

    Args:
        tools: names of the tools that there are.
        leading: drugs that will be looked up; the first `MAX_DRUGS` are.
        further: drugs that may be; only databases that take many names in one request are asked, up to `MAX_DRUGS` in
            all.
        transport: of the run.
    """
    sources = [source for name, own in DRUG_TOOLS.items() if name in tools for source in own]
    in_one_request = [*leading, *further][:MAX_DRUGS]
    asks = [source(transport).look_up(*in_one_request) for source in sources if source in _LISTED]
    if leading:
        asks += [source(transport).look_up(*leading[:MAX_DRUGS]) for source in sources if source not in _LISTED]
    await asyncio.gather(*asks, return_exceptions=True)


class AskRecordsArgs(BaseModel):
    """What to look for; strict providers refuse bounds and titles in the schema."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra=lambda schema: schema["properties"]["query"].pop("title")
    )

    query: Annotated[str, Field(description="Words, such as drug, condition, outcome")]


class AskRecords(BaseTool[AskRecordsArgs, Answer]):
    """Ask the collected records; `marker` marks the block of passages."""

    def __init__(self, collected: CollectedEvidence, marker: str) -> None:
        self._collected = collected
        self._marker = marker
        description = "What the collected records say: their best passages on a question."
        super().__init__(AskRecordsArgs, Answer, "ask_records", description, strict=True)

    async def run(self, args: AskRecordsArgs, cancellation_token: CancellationToken) -> Answer:
        """Return the best passages; raises as `CollectedEvidence.passages`."""
        return await self._collected.passages(args.query, SHOWN)

    def return_value_as_string(self, value: Any) -> str:
        """Format the passages as a marked block for the model, with the number of matches at the top."""
        answer = Answer.model_validate(value)
        lines = list[dict[str, Any]]()
        for passage in answer.passages:
            line = passage.model_dump(include={"key", "year", "section", "retracted"}, exclude_defaults=True)
            lines.append(line | {"passage": one_line(passage.text, SHOWN_CHARACTERS)})
        return enclose_lines(lines, self._marker, head=answer.model_dump(include={"matching", "truncated"}))
