"""Willowbark as a Model Context Protocol server: the specialists' tools, whole runs, and their reports.

Deep-research clients require `search` and `fetch`. https://modelcontextprotocol.io/specification/2025-06-18
"""

import asyncio
import base64
import inspect
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, aclosing, suppress
from datetime import UTC, date, datetime, timedelta
from itertools import chain, islice, product
from pathlib import Path
from textwrap import TextWrapper
from typing import Any, Literal, NamedTuple, cast

from anyio import AsyncFile, BrokenResourceError, CancelScope, ClosedResourceError
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ImageContent, TextContent, ToolAnnotations
from mcp.types import Tool as ListedTool
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic.json_schema import GenerateJsonSchema

from willowbark import __version__
from willowbark.agents.autogen import CancellationToken, list_tools_of
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.findings import EvidenceDigest
from willowbark.agents.report.charts import count_studies, draw_forest_plots
from willowbark.agents.report.content import DISCLAIMER
from willowbark.agents.report.follow_up import AnswerWithin
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.report.whole import WholeAnswer
from willowbark.agents.specialist import SpecialistAgent
from willowbark.tools.arguments import drop_absent
from willowbark.tools.errors import MissingExtra, SearchError, WillowbarkError
from willowbark.tools.http.transport import Transport
from willowbark.tools.questions import preprocess_query
from willowbark.tools.reading.screening import readable
from willowbark.tools.reading.sections import make_excerpt, places
from willowbark.tools.records.card import STUDIES
from willowbark.tools.records.enclosure import GUIDANCE, new_marker, one_line, visible
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.records.registry import gives, takes_names
from willowbark.tools.search import MAX_PAGE, SourceReply, Status, rank
from willowbark.tools.sources.publications import DatedFilters
from willowbark.tools.sources.studies.europepmc import by_numbers
from willowbark.tools.toolbox import (
    EvidenceTool,
    GetPaper,
    GetTrial,
    PaperArgs,
    SourceTool,
    ToolReply,
    TrialArgs,
    search_args,
)
from willowbark.tools.wording import capital, counted
from willowbark.tools.works.trust import flags_of

from ..config import DEPTHS, Depth, Settings, format_problem
from ..events import AgentEvent
from ..guard import Guarded, Tokened, listen_at, read_token, serve_app, tell_token
from ..ledger import Ledger, LedgerError
from ..ledger.run_ids import make_run_id
from ..research_team import default_participants
from ..run.changes import ChangeRequest
from ..run.correcting import ask_changes
from ..run.history import list_ledger_runs, load_stored_report
from ..run.options import RunOptions
from ..run.research import research_stream, resume_stream
from ..run.within import ask_within
from .mcp_sdk import Prompt, ResourceError, SdkServer, TellProgress, ToolError
from .standard_input import read_lines

HOST = "127.0.0.1"
TOKEN_VARIABLE = "WILLOWBARK_MCP_TOKEN"  # noqa: S105  its name, not the token
MOST_BYTES = 16_000  # of a tool's text, some 4,000 tokens
TEXT_BYTES = 100_000  # of a publication with its full text, some 25,000 tokens: sent to those alone who ask for it
RESEARCH_BYTES = 16_000  # of text and data of `research` together
MOST_SO_FAR = 8  # studies of a run that goes on
FOUND_BYTES = 8_000  # of a search's data, besides its text
ABSTRACTS = (400, 200, 100, 0)
"""Characters of each abstract in a search's data: the first that fits."""
CHART_BYTES = 400_000
CUTS = (4_000, 50), (2_000, 50), (1_000, 50), (500, 50), (500, 25), (500, 12), (500, 6), (500, 3), (500, 1)
"""Characters of each record's text and records of a reply: the first that fits."""
PAGE_CHARACTERS = 4_500  # of a page of a record's text, of up to 3 bytes each
_SETTLE_S = 10.0  # for a run to save what it found after its client has left; it can be resumed
_LAST_S = 2.0  # for the same where the server itself is to end
_CLIENT_LEFT = BrokenResourceError, ClosedResourceError
_RUNS = "willowbark://runs"
_WHEREABOUTS = 300  # bytes of a run's name and its report's address, in text and in data, at the longest name
_WAYS_OUT = {
    Status.UNAVAILABLE: "try again later, or search another source",
    Status.BAD_QUERY: "word the query anew: words, with AND, OR, NOT, quotes and parentheses",
}
INSTRUCTIONS = (
    "Willowbark answers which existing drugs might treat a condition, and how good the evidence is. `research` runs "
    "the whole team and takes from half a minute to several; the other tools look single things up. Begin an answer "
    "with its result in a sentence, then give the drugs, their certainty and the records for and against each by their "
    "identifiers, and what could not be found; add nothing that the tools did not give. "
    f"{GUIDANCE} {DISCLAIMER}"
)
_PAGES = TextWrapper(PAGE_CHARACTERS, expand_tabs=False, replace_whitespace=False, drop_whitespace=False)
_ToolResult = Awaitable[tuple[str, BaseModel | bytes | None]]
"""Text, and all or part of it as data, or a picture as PNG."""
OTHER_NAMES = {"generate_chart": "chart"}
"""Names under which clients of other servers call our tools; `get_paper_details` is one that is listed."""
TITLES = {
    "search": "Search publications and trials",
    "fetch": "Fetch a record, or part of a run",
    "research": "Research which drugs might help",
    "ask_run": "Ask what a run collected",
    "correct": "Correct what a run read",
    "chart": "Draw a run's evidence",
    "get_paper_details": "Get a publication",
}
"""Titles of tools whose names do not tell enough."""
PROMPTS = {
    "repurpose": (
        "Which drugs might help?",
        "Existing drugs for a condition, with the evidence",
        "Which existing drugs might help treat {condition}? Call `research` with this question; while it answers "
        "“Still running”, call it again with its run_id. Pass its answer on whole: drugs with certainty and records, "
        "the cautions with their sources, what is missing, where it comes from, and that it is not medical advice.",
    ),
    "check": (
        "Does this drug help?",
        "One drug in one condition, for and against",
        "What is the evidence that {drug} helps in {condition}? Call `research` with this until it is complete; "
        "give the studies for and against with their quotes and identifiers, then what would change the answer.",
    ),
    "follow_up": (
        "Ask a run further",
        "A follow-up to a run, and what may be wrong with it",
        "In run {run_id}: {question} Call `ask_run`; cite its records. If it does not answer, say so, and offer to "
        "search further with `research`.",
    ),
}
"""Prompts for the three commonest tasks, by name: title, description, text."""
_DAYS = {"d": 1.0, "w": 7.0, "m": 30.4375, "y": 365.25}


class Untitled(GenerateJsonSchema):
    """A schema without its fields' titles, which repeat their names: clients pay for each byte."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave every title out."""
        return False


class Paged(BaseModel, extra="forbid"):
    """How much of what was found is wanted."""

    limit: int = Field(
        default=10,
        ge=1,
        le=50,
        validation_alias=AliasChoices("limit", "max_results"),
        description="Records of a page, of each source",
    )
    page: int = Field(default=1, ge=1, le=MAX_PAGE, description="1 for the first records, 2 for those after them")

    @model_validator(mode="before")
    @classmethod
    def _drop_absent(cls, arguments: object) -> object:
        return drop_absent(cls.model_fields, arguments)


class PagedSince(Paged):
    """How much is wanted, and since when, counted from today."""

    date_range: str | None = Field(
        None, pattern=r"^[1-9][0-9]{0,3}[dwmy]$", description="In place of mindate, the last: 5y, 6m, 2w or 30d"
    )


class FindArgs(Paged):
    """What to search for in all sources of studies."""

    query: str = Field(min_length=1, max_length=2000, description="A question, words, or a boolean query")


class FetchArgs(BaseModel, extra="forbid"):
    """A record by its id."""

    id: str = Field(
        pattern=r"^((pmid:)?[1-9][0-9]{0,8}|(nct:)?NCT[0-9]{8}|doi:10\.[^\s\"]+|pmcid:PMC[0-9]+|run:[a-z0-9_-]{1,64})$",
        description="As `search` gives it: pmid:…, nct:NCT…, doi:…, pmcid:PMC…; or run:ID",
    )
    part: str | None = Field(
        None,
        max_length=200,
        description="Of a run: report, appendix, a heading; of an open paper: full text, a heading",
    )
    page: int = Field(default=1, ge=1, le=MAX_PAGE, description="Of a long text, such as a trial's posted results")


class RunQuestionArgs(BaseModel, extra="forbid"):
    """A question to what a run collected."""

    run_id: str = Field(description="A finished run")
    question: str = Field(min_length=1, max_length=2000, description="Such as: is it safe in pregnancy?")


_UNSAID = frozenset({"file", "error", "seconds", "every_condition"})
"""Parts of a correction that a client cannot say: it names no file of this machine, and measures no person."""
_CORRECT_FIELDS: dict[str, Any] = {
    "run_id": (str, Field(description="A finished run")),
    "by": (str | None, Field(None, description="The person who says so, by name")),
    **{name: (field.annotation, field) for name, field in ChangeRequest.model_fields.items() if name not in _UNSAID},
}
CorrectArgs = create_model("CorrectArgs", __config__=ConfigDict(extra="forbid"), **_CORRECT_FIELDS)
"""What to correct in a run."""


class ResearchArgs(BaseModel, extra="forbid"):
    """A run to begin or to resume."""

    question: str | None = Field(None, max_length=2000, description="Such as: Which drugs could prevent migraine?")
    run_id: str | None = Field(None, description="Resume this run, or give its report, instead")
    depth: Depth | None = Field(None, description=f"About so many records: {DEPTHS}")
    max_iterations: int | None = Field(None, ge=1, le=20, description="Rounds of search")
    again: bool = Field(False, description="Ask anew what was asked here before")


class Hit(BaseModel):
    """A record, as deep-research clients list it."""

    id: str
    title: str
    url: str


class Hits(BaseModel):
    """Result of `search`."""

    results: list[Hit]
    failed: list[str] = []


class FoundPaper(Hit):
    """A publication or trial that a search found."""

    source: str
    date: str
    authors: list[str]
    abstract: str
    """Its beginning, without sentences addressed to machines."""
    marks: list[str] = []
    """retracted, preprint and the like."""


class FoundPapers(BaseModel):
    """Result of a search of one source of studies."""

    query: str
    count: int
    """Papers here."""
    total: int
    """Hits that the source reports."""
    papers: list[FoundPaper]
    truncated: bool = False
    """Whether papers of this page were left out for its size."""


class ChartArgs(BaseModel, extra="forbid"):
    """What to draw of a run."""

    run_id: str = Field(description="A finished run, as `research` and willowbark://runs name it")
    drug: str | None = Field(
        None, description="Its effect estimates; without it, the studies for and against each drug"
    )


class FetchedRecord(Hit):
    """Result of `fetch`."""

    text: str
    metadata: dict[str, str]


class ResearchAnswer(WholeAnswer, frozen=True):
    """Result of `research`: the answer, or what stands while the run goes on."""

    run_id: str
    report: str
    status: Literal["complete", "running"] = "complete"


class Fetched(NamedTuple):
    """What `fetch` gives."""

    hit: Hit
    text: str
    about: dict[str, str]


class ResearchRun:
    """A run that goes on whether its client waits or not.

    Attributes:
        run_id: its id in the ledger.
        token: stops it.
        task: gives its report.
        heard: what it told so far, a line each.
        found: digests of what its specialists found, by specialist.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.token = CancellationToken()
        self.task: asyncio.Task[ResearchReport] | None = None
        self.heard = [f"run {run_id}"]
        self.found = dict[str, EvidenceDigest]()
        self._news = asyncio.Event()

    def hear(self, event: AgentEvent) -> None:
        """Note an event of the run."""
        self.heard.append(one_line(event.message))
        digest = getattr(event.data, "digest", None)
        if isinstance(digest, EvidenceDigest) and event.agent is not None:
            self.found[event.agent] = digest
        self._news.set()
        self._news = asyncio.Event()

    async def wait_for_news(self, seconds: float) -> None:
        """Wait for the next event or the run's end, at most so many seconds."""
        news = asyncio.ensure_future(self._news.wait())
        waiting = {news} if self.task is None else {news, self.task}
        try:
            await asyncio.wait(waiting, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()


class Server(SdkServer):
    """The MCP server, not yet listening; its runs' ledger is created with the first of them.

    Attributes:
        patience_s: seconds after which `research` tells what stands; many clients drop calls at 60.
    """

    patience_s = 45.0

    def __init__(self, settings: Settings, transport: Transport, ledger: Path) -> None:
        self._settings = settings
        self._transport = transport
        self._ledger = ledger
        self._known = dict[str, ResearchRun]()
        self._asked = dict[tuple[object, ...], str]()
        """Ids of the runs of this server by what was asked, so that the same question attaches to its run."""
        self._sources = [
            source for source in settings.searched_sources if gives(source) in STUDIES and not takes_names(source)
        ]
        self._offers: dict[str, tuple[ListedTool, type[BaseModel], Callable[[Any, TellProgress], _ToolResult]]] = {}
        for member in default_participants(BaselineChatCompletionClient(), settings):
            for tool in list_tools_of(member) if isinstance(member, SpecialistAgent) else ():
                if isinstance(tool, EvidenceTool):
                    self._offer_tool(tool)
                if isinstance(tool, GetPaper):
                    self._offer_tool(tool, "get_paper_details")
        if self._sources:
            self._offer(self.search, FindArgs, Hits)
            self._offer(self.fetch, FetchArgs, FetchedRecord)
        self._offer(self.research, ResearchArgs, ResearchAnswer, RESEARCH_BYTES)
        self._offer(self.chart, ChartArgs, most=CHART_BYTES)
        self._offer(self.ask_run, RunQuestionArgs, AnswerWithin)
        self._offer(self.correct, CorrectArgs, ResearchAnswer, RESEARCH_BYTES)
        super().__init__("willowbark", INSTRUCTIONS, __version__)

        @self.resource(_RUNS, name="runs", mime_type="application/json")
        def list_runs() -> str:
            """The runs of this workspace, the latest first."""
            columns = {"run_id", "question", "status", "stop_reason", "created_at", "rounds", "model", "cost_usd"}
            runs = [run.model_dump(mode="json", include=columns) for run in list_ledger_runs(self._ledger)]
            return json.dumps(runs, ensure_ascii=False)

        @self.resource(f"{_RUNS}/{{run_id}}/report.md", name="report.md", mime_type="text/markdown")
        def read_markdown(run_id: str) -> str:
            """A run's report."""
            return self._read_report(run_id).to_markdown()

        @self.resource(f"{_RUNS}/{{run_id}}/report.json", name="report.json", mime_type="application/json")
        def read_json(run_id: str) -> str:
            """A run's report as data."""
            return self._read_report(run_id).to_json()

        for name, (title, description, text) in PROMPTS.items():
            self.add_prompt(Prompt.from_function(make_prompt(text), name, title=title, description=description))

    async def run_stdio_async(self) -> None:
        """Serve standard input and output until the input is closed or the process interrupted."""
        lines = cast("AsyncFile[str]", read_lines())  # it is only iterated over
        try:
            async with stdio_server(lines) as (messages, answers):
                options = self.protocol_server.create_initialization_options()
                await self.protocol_server.run(messages, answers, options)
        finally:
            serving = asyncio.current_task()
            is_interrupted = serving is not None and serving.cancelling() > 0
            await self.settle(_LAST_S if is_interrupted else _SETTLE_S)

    async def settle(self, seconds: float = _SETTLE_S) -> None:
        """Stop the runs that go on, and wait for them to save what they found; they can be resumed."""
        tasks = [run.task for run in self._known.values() if run.task is not None and not run.task.done()]
        for run in self._known.values():
            run.token.cancel()
        if tasks:
            with CancelScope(shield=True):
                await asyncio.wait(tasks, timeout=seconds)

    async def list_tools(self) -> list[ListedTool]:
        """List all tools, with the schemas of their arguments and results."""
        return [listed for listed, *_ in self._offers.values()]

    async def answer_call(self, name: str, arguments: dict[str, Any], tell: TellProgress) -> CallToolResult:
        """Answer a call with text, and with data if the tool gives any; the client is sent the message of an error."""
        own = OTHER_NAMES.get(name, name)
        if own not in self._offers:
            raise ToolError(f"there is no tool {name[:100]!r}; there are {', '.join(self._offers)}")
        _, args, answer = self._offers[own]
        try:
            values = args.model_validate(arguments)
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {format_problem(e)}" for e in error.errors()]
            fields = [f"{field} ({info.description})" for field, info in args.model_fields.items()]
            raise ToolError(f"{'; '.join(wrong)}. The arguments are {', '.join(fields)}.") from None
        try:
            text, data = await answer(values, tell)
        except ToolError:
            raise
        except WillowbarkError as error:
            raise ToolError(str(error)) from error
        except Exception as error:
            raise ToolError(f"a fault of Willowbark itself ({type(error).__name__})") from error
        content: list[Any] = [TextContent(type="text", text=text)]
        if isinstance(data, bytes):
            picture = base64.b64encode(data).decode("ascii")
            return CallToolResult(content=[*content, ImageContent(type="image", data=picture, mimeType="image/png")])
        values_given = None if data is None else data.model_dump(mode="json")
        return CallToolResult(content=content, structuredContent=values_given)

    def _read_report(self, run_id: str) -> ResearchReport:
        """Read a run's report for a client that asks for it as a resource; it is sent the message of an error."""
        try:
            return self._load_report(run_id)
        except WillowbarkError as error:
            raise ResourceError(str(error)) from error

    def _load_report(self, run_id: str) -> ResearchReport:
        report = load_stored_report(run_id, self._ledger)
        if report is None:
            raise LedgerError(f"run {run_id} has no report yet; `research` with this run_id finishes it")
        return report

    def _offer(
        self,
        answer: Callable[[Any, TellProgress], _ToolResult],
        args: type[BaseModel],
        gives: type[BaseModel] | None = None,
        most: int = MOST_BYTES,
    ) -> None:
        """Offer a function as a tool, with its name and docstring."""
        description = f"{answer.__doc__} At most {most // 1000} kB."
        title = TITLES.get(answer.__name__) or capital(answer.__name__.replace("_", " "))
        tool = ListedTool(
            name=answer.__name__,
            title=title,
            description=description.replace("{sources}", ", ".join(self._sources)),
            inputSchema=args.model_json_schema(schema_generator=Untitled),
            outputSchema=None if gives is None else gives.model_json_schema(schema_generator=Untitled),
            annotations=ToolAnnotations(
                readOnlyHint=args not in (ResearchArgs, CorrectArgs), destructiveHint=False, openWorldHint=True
            ),
        )
        self._offers[tool.name] = tool, args, answer

    def _offer_tool(self, tool: EvidenceTool[Any], name: str = "") -> None:
        """Offer a specialist's tool, with sizes and pages if it can return more than one record.

        A search of a source of studies also gives its records as data. `name` is another than the tool's own.
        """
        own = tool.args_type()
        pages = PagedSince if issubclass(own, DatedFilters) else Paged
        args = own if own in (PaperArgs, TrialArgs) else create_model(own.__name__, __base__=(pages, own))
        gives_studies = isinstance(tool, SourceTool) and tool.name.removeprefix("search_") in self._sources

        async def answer(call_args: BaseModel, _: TellProgress) -> tuple[str, FoundPapers | None]:
            values = call_args.model_dump(exclude_unset=True, include=set(own.model_fields))
            if isinstance(call_args, PagedSince) and call_args.date_range is not None:
                if "mindate" in values:
                    raise ToolError("give either mindate or date_range")
                values["mindate"] = find_first_day(call_args.date_range, datetime.now(UTC).date()).isoformat()
            own_args = own(**values)
            asking = tool
            size = call_args.limit if isinstance(call_args, Paged) else 1
            if isinstance(tool, SourceTool) and "page" in own.model_fields:
                asking = SourceTool(tool.dump_component().config["source"], max_results=size)
            replies = await self._ask(asking, own_args)
            _raise_failed(replies)
            if asking is tool and isinstance(call_args, Paged):
                page = slice((call_args.page - 1) * size, call_args.page * size)
                replies = [reply.model_copy(update={"records": reply.records[page]}) for reply in replies]
            is_whole = isinstance(own_args, PaperArgs) and own_args.full_text
            text = bound_reply(ToolReply(replies=replies), TEXT_BYTES if is_whole else MOST_BYTES)
            return text, list_papers(replies[0]) if gives_studies else None

        answer.__name__ = name or tool.name
        answer.__doc__ = tool.description
        most = TEXT_BYTES if own is PaperArgs else MOST_BYTES
        self._offer(answer, args, FoundPapers if gives_studies else None, most)

    async def _ask(self, tool: EvidenceTool[Any], args: BaseModel) -> list[SourceReply]:
        tool.bind(self._transport, new_marker())
        return (await tool.run(args, CancellationToken())).replies

    async def search(self, args: FindArgs, _: TellProgress) -> tuple[str, Hits]:
        """Publications and trials of {sources}: id, title and address of each."""
        query = preprocess_query(args.query)

        async def ask(source: str) -> SourceReply:
            source_args = search_args(source)(query=query, page=args.page)  # type: ignore[call-arg]
            return (await self._ask(SourceTool(source, max_results=args.limit), source_args))[0]

        replies = await asyncio.gather(*map(ask, self._sources))
        _raise_failed(replies)
        records = rank(query, merge(chain.from_iterable(reply.records for reply in replies)))
        failed = [f"{reply.source}: {', '.join(reply.warnings)}" for reply in replies if reply.status in _WAYS_OUT]
        hits = Hits(results=[_hit(record) for record in records], failed=failed)
        while len(text := hits.model_dump_json().encode()) > MOST_BYTES:
            hits = hits.model_copy(update={"results": hits.results[:-1]})
        return text.decode(), hits

    async def fetch(self, args: FetchArgs, _: TellProgress) -> tuple[str, FetchedRecord]:
        """A publication or trial by its id, with its whole text or a section of it; or a part of a run."""
        is_run = args.id.startswith("run:")
        fetched = await (self._fetch_run(args) if is_run else self._fetch_record(args))
        pages = _PAGES.wrap(visible(fetched.text)) or [""]
        if args.page > len(pages):
            raise ToolError(f"{args.id} has {counted(len(pages), 'page')}")
        about = {**fetched.about, "page": f"{args.page} of {len(pages)}"}
        whole = FetchedRecord(**fetched.hit.model_dump(), text=pages[args.page - 1], metadata=about)
        return whole.model_dump_json(), whole

    async def _fetch_record(self, args: FetchArgs) -> Fetched:
        record = await self._look_up_record(args.id, full_text=args.part is not None)
        if record is None:
            raise ToolError(f"there is no record {args.id}; take an id from `search`")
        marks = _list_marks(record)
        about = {
            "source": record.citation.source,
            "date": record.citation.date,
            "authors": ", ".join(record.citation.authors[:10]),
            "identifiers": ", ".join(sorted(record.identifiers)),
            **({"flags": ", ".join(marks)} if marks else {}),
        }
        if args.part is None:
            return Fetched(_hit(record), record.content, about)
        sections = {place.title: place.text for place in places(record)}
        if not sections:
            why = record.paper.full_text_unread if record.paper else None
            raise ToolError(f"{args.id} has no open full text{f' ({why})' if why else ''}; leave part out")
        about["parts"] = "; ".join(sections)
        text = choose_part(args.part, sections, "full text", args.id)
        return Fetched(_hit(record), text, about)

    async def _fetch_run(self, args: FetchArgs) -> Fetched:
        run_id = args.id.removeprefix("run:")
        report = await asyncio.to_thread(self._load_report, run_id)
        markdown = report.to_markdown()
        appendix = report.to_appendix()
        sections = {"report": markdown, "appendix": appendix, **split_parts(markdown)}
        text = choose_part(args.part or "report", sections, "report", args.id)
        hit = Hit(id=args.id, title=report.title, url=f"{_RUNS}/{run_id}/report.md")
        return Fetched(hit, text, {"parts": "; ".join(sections), "date": f"{report.generated_at:%Y-%m-%d}"})

    async def _look_up_record(self, name: str, *, full_text: bool = False) -> Evidence | None:
        """Look up a record by its key, PMID or NCT number, with its open full text if wanted; None if there is none."""
        kind, _, number = name.rpartition(":")
        if kind in ("doi", "pmcid"):
            try:
                return next(iter(await by_numbers([name], self._transport)), None)
            except SearchError as error:
                raise ToolError(f"{error}. What to do: {_WAYS_OUT[Status.UNAVAILABLE]}.") from None
        is_trial = number.startswith("NCT")
        tool: EvidenceTool[Any] = GetTrial() if is_trial else GetPaper()
        args = TrialArgs(nct_id=number) if is_trial else PaperArgs(pmid=number, full_text=full_text)
        replies = await self._ask(tool, args)
        _raise_failed(replies)
        return next(iter(replies[0].records), None)

    async def chart(self, args: ChartArgs, _: TellProgress) -> tuple[str, bytes]:
        """A picture of a run's evidence, as PNG, and the same in words."""
        report = self._load_report(args.run_id)
        try:
            from willowbark.agents.pictures import plots  # noqa: PLC0415  an extra, and slow to load
        except ImportError:
            raise MissingExtra("a chart", "report") from None
        if args.drug is None:
            counts = count_studies(report)
            if counts is None:
                raise ToolError(f"run {args.run_id} found no drug with a result; there is nothing to draw")
            return counts.description, plots.draw_counts(counts)
        pictures = draw_forest_plots(report, args.drug)
        if not pictures:
            names = ", ".join(candidate.name for candidate in report.candidates) or "none"
            raise ToolError(
                f"there are not two effect estimates of one kind on {args.drug[:60]!r} to draw; leave drug out, "
                f"or take another of its drugs: {names}"
            )
        return f"{pictures[0].caption} {pictures[0].description}", plots.draw(pictures[0], "png")

    async def research(self, args: ResearchArgs, tell: TellProgress) -> tuple[str, ResearchAnswer]:
        """A whole run: the answer with its studies; after 45 s what stands so far: call it again with its run_id."""
        if (args.question is None) is (args.run_id is None):
            raise ToolError("give either a question, for a new run, or the run_id of an earlier one")
        run = self._find_run(args) or self._start(args)
        assert run.task is not None
        end = asyncio.get_running_loop().time() + self.patience_s
        reported = 0
        while True:
            while reported < len(run.heard):
                line = run.heard[reported]
                with suppress(*_CLIENT_LEFT):  # the run goes on
                    await tell(reported, line)
                reported += 1
            left = end - asyncio.get_running_loop().time()
            if run.task.done() or left <= 0:
                break
            await run.wait_for_news(left)
        if not run.task.done():
            return self._tell_so_far(run, args)
        return self._tell(await run.task, run.run_id)

    def _find_run(self, args: ResearchArgs) -> ResearchRun | None:
        """Find the run that a call asks for again: the one named, or the one that has the same question."""
        key = _make_question_key(args)
        run_id = args.run_id or (None if args.again else self._asked.get(key))
        run = self._known.get(run_id or "")
        if run is None or run.task is None:
            return None
        has_failed = run.task.done() and (run.task.cancelled() or run.task.exception() is not None)
        return None if has_failed else run

    def _start(self, args: ResearchArgs) -> ResearchRun:
        """Start or resume a run, which goes on without its client."""
        earlier = args.run_id or (None if args.again else self._asked.get(_make_question_key(args)))
        run = ResearchRun(earlier or make_run_id(args.question or ""))
        run.task = asyncio.create_task(self._follow(args, run, is_new=earlier is None))
        run.task.add_done_callback(_note_failure)
        self._known[run.run_id] = run
        if args.question is not None:
            self._asked[_make_question_key(args)] = run.run_id
        return run

    def _tell(self, report: ResearchReport, run_id: str) -> tuple[str, ResearchAnswer]:
        whole = report.to_digest(RESEARCH_BYTES // 2 - _WHEREABOUTS)
        answer = ResearchAnswer(**dict(whole), run_id=run_id, report=f"{_RUNS}/{run_id}/report.md")
        where = f"Run {run_id}. The whole report: `fetch` run:{run_id}, or {answer.report} (report.json as data)."
        return f"{answer.as_text()}\n{where}", answer

    def _tell_so_far(self, run: ResearchRun, args: ResearchArgs) -> tuple[str, ResearchAnswer]:
        """Tell what stands of a run that goes on."""
        lines = islice(chain.from_iterable(digest.lines for digest in run.found.values()), MOST_SO_FAR)
        whole = [line.model_copy(update={"quote": take_whole(line.quote)}) for line in lines]
        summary = (
            f"Still running: call `research` again with run_id {run.run_id}, or the same question. "
            f"Now: {run.heard[-1]}. What follows was found so far and is not the answer."
        )
        answer = ResearchAnswer(
            question=one_line(args.question or "", 200),
            summary=summary,
            lines=[line for line in whole if line.quote],
            disclaimer=DISCLAIMER,
            run_id=run.run_id,
            report=f"{_RUNS}/{run.run_id}/report.md",
            status="running",
        )
        return answer.as_text(), answer

    async def _follow(self, args: ResearchArgs, run: ResearchRun, *, is_new: bool) -> ResearchReport:
        """Follow a run to its report."""
        problem = "it ended without a report"
        choices: dict[str, Any] = {"endpoints": self._transport.endpoints, "cancellation_token": run.token}
        with Ledger(self._ledger) if is_new else Ledger.existing(self._ledger) as ledger:
            if is_new:
                new = RunOptions(settings=self._settings, **args.model_dump(exclude={"run_id", "again"}))
                stream = research_stream(new, ledger=ledger, run_id=run.run_id, **choices)
            elif ledger.run(run.run_id).status == "complete":
                return self._load_report(run.run_id)
            else:
                stream = resume_stream(run.run_id, ledger, **choices)
            async with aclosing(stream):
                async for event in stream:
                    if event.report is not None:
                        return event.report
                    problem = event.message if event.type == "error" else problem
                    run.hear(event)
        raise ToolError(f"run {run.run_id} failed: {problem}; try again with `research` and this run_id")

    async def ask_run(self, args: RunQuestionArgs, _: TellProgress) -> tuple[str, AnswerWithin]:
        """A follow-up, answered from what a run collected, with its own citations; nothing is searched."""
        with Ledger.existing(self._ledger) as ledger:
            answer = await ask_within(args.question, args.run_id, ledger)
        return answer.to_markdown(), answer

    async def correct(self, args: Any, _: TellProgress) -> tuple[str, ResearchAnswer]:
        """Correct what a run read, in a person's name and on their word alone; the report is made again at once."""
        request = ChangeRequest.of(args.model_dump(exclude={"run_id", "by"}))
        with Ledger.existing(self._ledger) as ledger:
            endpoints = self._transport.endpoints
            report = await ask_changes(args.run_id, ledger, [request], by=args.by, endpoints=endpoints)
        return self._tell(report, args.run_id)


def _make_question_key(args: ResearchArgs) -> tuple[object, ...]:
    """Return what makes two calls ask the same: the words of the question, depth and rounds."""
    return " ".join((args.question or "").casefold().split()).rstrip("?. "), args.depth, args.max_iterations


def _note_failure(task: "asyncio.Task[ResearchReport]") -> None:
    """Take a failed run's exception, which the next call tells."""
    if not task.cancelled():
        task.exception()


def take_whole(quote: str) -> str:
    """Return the whole sentences of a quote that was cut; empty if not even the first is whole."""
    if not quote.endswith("…"):
        return quote
    whole = quote[: max(quote.rfind(". "), quote.rfind("? "), quote.rfind("! ")) + 1]
    return f"{whole} […]" if whole else ""


def split_parts(markdown: str) -> dict[str, str]:
    """Split a report's Markdown at its second-level headings; the text of each by its heading."""
    pieces = re.split(r"^## (.+)$", markdown, flags=re.MULTILINE)
    return {title.strip(): text.strip() for title, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def choose_part(part: str, parts: Mapping[str, str], whole: str, name: str) -> str:
    """Return a part by its heading, in any case, or by its beginning; all of them for `whole`.

    Raises:
        ToolError: there is no such part; lists those that there are.
    """
    heading = part.strip().casefold()
    if heading == whole and whole not in parts:
        return "\n\n".join(f"{title}\n{text}" for title, text in parts.items())
    for title, text in parts.items():
        if title.casefold() == heading:
            return text
    for title, text in parts.items():
        if title.casefold().startswith(heading):
            return text
    raise ToolError(f"{name} has no part {part[:60]!r}; there are {'; '.join([whole, *parts][:40])}")


def make_prompt(text: str) -> Callable[..., str]:
    """Return a prompt's function, whose arguments are the slots of its text."""
    slots = re.findall(r"{(\w+)}", text)

    def fill(**values: str) -> str:
        return text.format(**values)

    parameters = [inspect.Parameter(slot, inspect.Parameter.KEYWORD_ONLY, annotation=str) for slot in slots]
    fill.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    fill.__annotations__ = dict.fromkeys(slots, str)
    return fill


def _raise_failed(replies: Sequence[SourceReply]) -> None:
    """Raise `ToolError` if no source answered."""
    failed = [reply for reply in replies if reply.status in _WAYS_OUT]
    if len(failed) == len(replies):
        why = "; ".join(f"{r.source}: {r.status.value.replace('_', ' ')}: {', '.join(r.warnings)}" for r in failed)
        raise ToolError(f"{why}. What to do: {_WAYS_OUT[failed[0].status]}.")


def find_first_day(span: str, today: date) -> date:
    """Return the day with which a span that ends today begins.

    >>> find_first_day("30d", date(2026, 3, 31)), find_first_day("1y", date(2026, 3, 31))
    (datetime.date(2026, 3, 1), datetime.date(2025, 3, 31))
    """
    days = round(int(span[:-1]) * _DAYS[span[-1]])
    try:
        return today - timedelta(days=days)
    except OverflowError:
        return date.min


def list_papers(reply: SourceReply) -> FoundPapers:
    """Return a reply's records as data of at most `FOUND_BYTES`, with as much of the abstracts as fits."""
    answer = FoundPapers(query=reply.query, count=0, total=reply.total, papers=[])
    for length in ABSTRACTS:
        papers = [_make_paper(record, length) for record in reply.records]
        answer = FoundPapers(query=reply.query, count=len(papers), total=reply.total, papers=papers)
        if len(answer.model_dump_json().encode()) <= FOUND_BYTES:
            return answer
    while answer.papers and len(answer.model_dump_json().encode()) > FOUND_BYTES:
        papers = answer.papers[:-1]
        answer = answer.model_copy(update={"papers": papers, "count": len(papers), "truncated": True})
    return answer


def _make_paper(record: Evidence, length: int) -> FoundPaper:
    cited = record.citation
    screened = readable(record)  # this is data, outside the marked blocks
    body = visible(screened.content.removeprefix(screened.citation.title))
    return FoundPaper(
        id=record.key,
        title=one_line(screened.citation.title, 200),
        url=cited.url,
        source=cited.source,
        date=cited.date,
        authors=cited.authors[: cited.MAX_AUTHORS_IN_CITATION],
        abstract=one_line(body, length) if length else "",
        marks=_list_marks(record),
    )


def _list_marks(record: Evidence) -> list[str]:
    marks = [flag.replace("_", " ") for flag in flags_of(record)]
    return [*marks, "preprint"] if record.is_preprint else marks


def _hit(record: Evidence) -> Hit:
    return Hit(id=record.key, title=one_line(record.citation.title, 200), url=record.citation.url)


def bound_reply(tool_reply: ToolReply, most_bytes: int = MOST_BYTES) -> str:
    """Format replies as text of at most so many bytes; those of which something was cut are `truncated`.

    Full texts that do not fit are cut to excerpts before abstracts are.
    """
    marker = new_marker()
    text = tool_reply.as_text(marker)
    if len(text.encode()) <= most_bytes:
        return text
    tool_reply = ToolReply(replies=[_cut_reply(reply) for reply in tool_reply.replies])
    for is_bare, (length, most) in product((False, True), CUTS):  # bare: without metadata, which may be long itself
        replies = []
        for reply in tool_reply.replies:
            records = []
            for record in reply.records[:most]:
                cut = {"content": f"{record.content[:length]}…"} if len(record.content) > length else {}
                records.append(record.model_copy(update={**cut, "metadata": {}} if is_bare else cut))
            is_cut = reply.truncated or records != reply.records
            replies.append(reply.model_copy(update={"records": records, "truncated": is_cut}))
        text = ToolReply(replies=replies).as_text(marker)
        if len(text.encode()) <= most_bytes:
            break
    return text


def _cut_reply(reply: SourceReply) -> SourceReply:
    """Cut the full texts of a reply to excerpts."""
    records = [make_excerpt(record) for record in reply.records]
    return reply.model_copy(update={"records": records, "truncated": records != reply.records})


async def serve(options: RunOptions, ledger: Path, port: int | None, say: Callable[[str], None]) -> None:
    """Serve one client on standard input and output until it closes them, or over HTTP until the process ends.

    A port is one of the loopback, 0 any free one; None serves standard input and output. `say` receives the address,
    and the token if the environment sets none. UsageError for invalid settings, keys or token, or a port that is taken.
    """
    settings = options.chosen()
    own_token = read_token(os.environ, TOKEN_VARIABLE) if port is not None else None
    endpoints = options.open_endpoints(settings, say)
    with ExitStack() as stack:
        listening = None if port is None else stack.enter_context(listen_at(HOST, port))
        async with Transport(endpoints) as transport:
            server = Server(settings, transport, ledger)
            if listening is None:
                await server.run_stdio_async()
            else:
                say(f"MCP at http://{HOST}:{listening.getsockname()[1]}/mcp (Ctrl-C ends it)")
                token = tell_token(own_token, TOKEN_VARIABLE, say)
                app = Tokened(server.streamable_http_app(), token, TOKEN_VARIABLE)
                try:
                    await serve_app(Guarded(app), listening)
                finally:
                    await server.settle(_LAST_S)
