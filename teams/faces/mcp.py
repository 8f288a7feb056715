"""Willowbark as a server of the Model Context Protocol: the team's tools, an appraisal, whole runs, and their reports.

The tools are those of the team's specialists, with the same names, arguments and replies: records come in marked
blocks that `replies_in` reads. A tool that fails answers with an error that says what to do. It is served on standard
input and output, or over HTTP on the loopback behind a token. https://modelcontextprotocol.io/specification/2025-06-18
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Annotated, Any

import uvicorn
from autogen_core import CancellationToken
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.fastmcp.prompts import Prompt
from mcp.server.fastmcp.prompts.base import PromptArgument
from mcp.types import ContentBlock, TextContent, ToolAnnotations
from mcp.types import Resource as ListedResource
from mcp.types import Tool as ListedTool
from pydantic import AnyUrl, BaseModel, Field, ValidationError

from willowbark import __version__
from willowbark.agents.autogen import tools_of
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.report.content import DISCLAIMER
from willowbark.agents.report.forms.markdown import as_markdown
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.specialist import SpecialistAgent
from willowbark.tools.enclosure import GUIDANCE, enclose, new_marker, one_line
from willowbark.tools.errors import WillowbarkError
from willowbark.tools.evidence import merge
from willowbark.tools.http.transport import Transport
from willowbark.tools.questions import parse_question
from willowbark.tools.questions.kinds import PLACES, QUESTIONS
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import EvidenceTool, GetPaper, GetTrial, PaperArgs, ToolReply, TrialArgs

from ..config import DEPTHS, Depth, Settings
from ..ledger import Ledger, LedgerError, Run
from ..page.guard import Guarded, Tokened, listening_at, tell_token, token_from
from ..research_team import participants_of
from ..run.options import RunOptions
from ..run.research import research_stream
from ..run.resume import resume_stream
from ..run.workspace import new_run_id

HOST = "127.0.0.1"
TOKEN_VARIABLE = "WILLOWBARK_MCP_TOKEN"  # noqa: S105  its name, not the token
MOST_CHARACTERS = 40_000  # of a tool's answer, some 10,000 tokens: common clients cut or refuse above 25,000
MOST_TEXT = 4_000  # characters of a record's text; abstracts are shorter
MOST_APPRAISED = 20  # records of one appraisal
MOST_LISTED = 50  # runs in the list of resources; `willowbark://runs` names every one
_STOP_S = 2  # for requests under way when the server ends
_SETTLE_S = 10.0  # for runs to keep what they found; they can be resumed
_RUNS = "willowbark://runs"
_MARKDOWN, _JSON = "text/markdown", "application/json"
_WAYS_OUT = {
    Status.UNAVAILABLE: "try again later, or search another source",
    Status.BAD_QUERY: "word the query anew: words, with AND, OR, NOT, quotes and parentheses",
}
INSTRUCTIONS = (
    "Willowbark answers which existing drugs might treat a condition, and how good the evidence is. `research` runs "
    "the whole team and takes from half a minute to several; the other tools look single things up. "
    f"{GUIDANCE} {DISCLAIMER}"
)
_TASK = """{question}

Answer with the tool `research`, asked this question. Begin with the answer in a sentence, then give the candidates with
their certainty and the records that support and contradict each, by their identifiers. Say what lowered certainty, and
what could not be found. Add nothing that the report does not hold."""
_Context = Context[Any, Any, Any]


class AppraiseArgs(BaseModel, extra="forbid"):
    """Records to appraise for a question."""

    question: Annotated[str, Field(min_length=1, max_length=2000, description="Names the condition, perhaps a drug")]
    records: Annotated[
        list[Annotated[str, Field(pattern=r"^([1-9][0-9]{0,8}|NCT[0-9]{8})$")]],
        Field(min_length=1, max_length=MOST_APPRAISED, description="PMIDs and NCT numbers"),
    ]


class ResearchArgs(BaseModel, extra="forbid"):
    """A run to begin or to resume."""

    question: Annotated[
        str | None, Field(max_length=2000, description="Such as: Which existing drugs could prevent migraine?")
    ] = None
    run_id: Annotated[str | None, Field(description="Resume this run, or give its report, instead")] = None
    depth: Annotated[Depth | None, Field(description=f"About so many records: {DEPTHS}")] = None
    max_iterations: Annotated[int | None, Field(ge=1, le=20, description="Rounds of search")] = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool of the server."""

    name: str
    description: str
    args: type[BaseModel]
    answer: Callable[[Any, _Context], Awaitable[str]]
    """Takes the checked arguments and the request's context."""


class Server(FastMCP[Any]):
    """The server; it listens nowhere yet.

    Args:
        settings: of the tools and the runs.
        transport: the way to the sources; left open.
        ledger: where runs are kept; made with the first.
    """

    def __init__(self, settings: Settings, transport: Transport, ledger: Path) -> None:
        self._settings, self._transport, self._ledger = settings, transport, ledger
        self._active: dict[str, asyncio.Task[str]] = {}
        offers = [
            Offer("appraise", "Verdicts of papers and trials on drugs for a condition.", AppraiseArgs, self._appraise),
            Offer("research", "A cited report on a question; takes minutes.", ResearchArgs, self._research),
        ]
        for member in participants_of(settings, BaselineChatCompletionClient()):
            for tool in tools_of(member) if isinstance(member, SpecialistAgent) else ():
                if isinstance(tool, EvidenceTool):
                    tool.bind(transport, new_marker())
                    offers.insert(-2, Offer(tool.name, tool.description, tool.args_type(), _answer_with(tool)))
        self._offers = {offer.name: offer for offer in offers}
        super().__init__("willowbark", INSTRUCTIONS, log_level="CRITICAL")
        self._mcp_server.version = __version__

        @self.resource(_RUNS, name="runs", mime_type=_JSON)
        def list_runs() -> str:
            """The runs of this workspace, the latest first."""
            shown = {"run_id", "question", "status", "stop_reason", "created_at", "rounds", "model", "cost_usd"}
            runs = [run.model_dump(mode="json", include=shown) for run in self._known_runs()]
            return json.dumps(runs, ensure_ascii=False)

        @self.resource(f"{_RUNS}/{{run_id}}/report.md", name="report.md", mime_type=_MARKDOWN)
        def read_markdown(run_id: str) -> str:
            """A run's report."""
            return self._report_of(run_id).to_markdown()

        @self.resource(f"{_RUNS}/{{run_id}}/report.json", name="report.json", mime_type=_JSON)
        def read_json(run_id: str) -> str:
            """A run's report as data."""
            return self._report_of(run_id).to_json()

        for name, question in QUESTIONS.items():
            places = [place for _, place, _, _ in Formatter().parse(question) if place]
            arguments = [PromptArgument(name=place, description=PLACES[place], required=True) for place in places]
            shown = question.format(**dict.fromkeys(places, "…"))

            def fill_in(question: str = question, **given: str) -> str:
                return _TASK.format(question=question.format(**given))

            self.add_prompt(
                Prompt(name=name, title=shown, description=shown, arguments=arguments, fn=fill_in, context_kwarg=None)
            )

    async def list_tools(self) -> list[ListedTool]:
        """Every tool, with the schema of its arguments."""
        return [
            ListedTool(
                name=offer.name,
                description=offer.description,
                inputSchema=offer.args.model_json_schema(),
                annotations=ToolAnnotations(
                    readOnlyHint=offer.args is not ResearchArgs, destructiveHint=False, openWorldHint=True
                ),
            )
            for offer in self._offers.values()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Sequence[ContentBlock]:
        """Answer a call.

        Raises:
            ToolError: the client gets its one line as the tool's error.
        """
        if name not in self._offers:
            raise ToolError(f"there is no tool {name[:100]!r}; there are {', '.join(self._offers)}")
        offer = self._offers[name]
        try:
            text = await offer.answer(offer.args.model_validate(arguments), self.get_context())
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()]
            known = [f"{field} ({info.description})" for field, info in offer.args.model_fields.items()]
            raise ToolError(f"{'; '.join(wrong)}. The arguments are {', '.join(known)}.") from None
        except ToolError:
            raise
        except WillowbarkError as error:
            raise ToolError(" ".join(str(error).split())) from None
        except Exception as error:
            raise ToolError(f"a fault of Willowbark itself ({type(error).__name__})") from error
        return [TextContent(type="text", text=text)]

    async def list_resources(self) -> list[ListedResource]:
        """The list of runs, and the latest reports."""
        reports = [
            ListedResource(
                uri=AnyUrl(f"{_RUNS}/{run.run_id}/report.md"),
                name=run.run_id,
                title=run.question,
                mimeType=_MARKDOWN,
            )
            for run in self._known_runs()
            if run.status == "complete"
        ]
        return [*await super().list_resources(), *reports[:MOST_LISTED]]

    def _known_runs(self) -> list[Run]:
        if not self._ledger.is_file():
            return []
        with Ledger.existing(self._ledger) as ledger:
            return ledger.runs()

    def _report_of(self, run_id: str) -> ResearchReport:
        with Ledger.existing(self._ledger) as ledger:
            content = ledger.report(run_id)
        if content is None:
            raise LedgerError(f"run {run_id} has no report yet; `research` with this run_id finishes it")
        return ResearchReport.model_validate(content)

    async def _appraise(self, args: AppraiseArgs, _: _Context) -> str:
        async def fetch(record: str) -> SourceReply:
            is_trial = record.startswith("NCT")
            tool: EvidenceTool[Any] = GetTrial() if is_trial else GetPaper()
            tool.bind(self._transport, new_marker())
            asked = TrialArgs(nct_id=record) if is_trial else PaperArgs(pmid=record)
            return (await tool.run(asked, CancellationToken())).replies[0]

        replies = await asyncio.gather(*map(fetch, args.records))
        pool = merge(record for reply in replies for record in reply.records)
        missing = [f"{r.query}: {'; '.join(r.warnings) or 'not found'}" for r in replies if not r.records]
        if not pool:
            raise ToolError(f"none of the records could be had: {', '.join(missing)}; search for them first")
        pool, candidates = await RunContext(self._transport).checked(parse_question(args.question), pool)
        titles = {record.key: record.citation.title for record in pool}
        drugs = [
            {
                "drug": each.drug,
                "verdict": each.line,
                "certainty": each.appraisal.certainty.level.value,
                "steps": each.appraisal.certainty.steps,
                "notes": each.appraisal.notes,
                "records": [
                    {
                        "key": record.key,
                        "title": titles[record.key],
                        "direction": record.item.direction.value,
                        "design": record.item.design.value,
                        "participants": record.item.sample_size,
                        "retracted": record.item.retracted,
                        "sentence": record.sentence,
                    }
                    for record in each.records
                ],
            }
            for each in candidates
        ]
        head: dict[str, Any] = {"question": args.question, "missing": missing, "drugs": drugs, "truncated": False}
        while len(text := enclose([], new_marker(), head=head)) > MOST_CHARACTERS and len(head["drugs"]) > 1:
            head |= {"drugs": head["drugs"][:-1], "truncated": True}
        return text

    async def _research(self, args: ResearchArgs, context: _Context) -> str:
        if (args.question is None) is (args.run_id is None):
            raise ToolError("give either a question, for a new run, or the run_id of an earlier one")
        run_id = args.run_id or new_run_id(args.question or "")
        if earlier := self._active.get(run_id):
            await asyncio.wait({earlier})
        token = CancellationToken()
        run = asyncio.create_task(self._follow(args, run_id, token, context))
        self._active[run_id] = run

        def end(run: "asyncio.Task[str]") -> None:
            del self._active[run_id]
            if not run.cancelled():
                run.exception()  # retrieved here, as the client may be gone

        run.add_done_callback(end)
        try:
            return await asyncio.shield(run)
        finally:
            token.cancel()  # where the client gave up: what was found until then is kept, and can be resumed

    async def _follow(self, args: ResearchArgs, run_id: str, token: CancellationToken, context: _Context) -> str:
        """Follow a run, reporting each event as progress while the client listens."""
        problem, step = "it ended without a report", 0
        await context.info(f"run {run_id}")
        await context.report_progress(step, message=f"run {run_id}")
        given: dict[str, Any] = {"endpoints": self._transport.endpoints, "cancellation_token": token}
        with Ledger(self._ledger) if args.run_id is None else Ledger.existing(self._ledger) as ledger:
            if args.run_id is None:
                new = RunOptions(settings=self._settings, **args.model_dump(exclude={"run_id"}))
                stream = research_stream(new, ledger=ledger, run_id=run_id, **given)
            elif ledger.run(run_id).status == "complete":
                return summarise(run_id, self._report_of(run_id))
            else:
                stream = resume_stream(run_id, ledger, **given)
            async with aclosing(stream):
                async for event in stream:
                    if event.report is not None:
                        return summarise(run_id, event.report)
                    problem, step = event.message if event.type == "error" else problem, step + 1
                    if not token.is_cancelled():
                        await context.report_progress(step, message=one_line(event.message))
        raise ToolError(f"run {run_id} failed: {problem}; try again with `research` and this run_id")

    async def settle(self, seconds: float) -> None:
        """Wait for runs whose clients are gone to keep what they found."""
        if self._active:
            await asyncio.wait(self._active.values(), timeout=seconds)


def _answer_with(tool: EvidenceTool[Any]) -> Callable[[Any, _Context], Awaitable[str]]:
    async def answer(args: BaseModel, _: _Context) -> str:
        found = await tool.run(args, CancellationToken())
        failed = [reply for reply in found.replies if reply.status in _WAYS_OUT]
        if len(failed) == len(found.replies):
            why = "; ".join(f"{r.source}: {r.status.value.replace('_', ' ')}: {', '.join(r.warnings)}" for r in failed)
            raise ToolError(f"{why}. What to do: {_WAYS_OUT[failed[0].status]}.")
        return bounded(found)

    return answer


def bounded(found: ToolReply) -> str:
    """Replies as text for a model, at most `MOST_CHARACTERS` long; a reply that was cut says `truncated`."""
    marker, replies = new_marker(), []
    for reply in found.replies:
        records = [
            each.model_copy(update={"content": f"{each.content[:MOST_TEXT]}…"})
            if len(each.content) > MOST_TEXT
            else each
            for each in reply.records
        ]
        is_cut = any(short is not record for short, record in zip(records, reply.records, strict=True))
        replies.append(reply.model_copy(update={"records": records, "truncated": is_cut}))
    while len(text := ToolReply(replies=replies).as_text(marker)) > MOST_CHARACTERS:
        at = max(range(len(replies)), key=lambda at: len(replies[at].records))
        records = replies[at].records
        if len(records) > 1:
            records = records[: min(len(records) - 1, max(1, len(records) * MOST_CHARACTERS // len(text)))]
        elif records and records != (bare := [records[0].model_copy(update={"metadata": {}})]):
            records = bare
        else:
            break
        replies[at] = replies[at].model_copy(update={"records": records, "truncated": True})
    return text


def summarise(run_id: str, report: ResearchReport) -> str:
    """What a run found, and where its whole report is."""
    whole = f"Run {run_id}. The whole report: {_RUNS}/{run_id}/report.md (report.json as data)."
    text = as_markdown(report.to_brief())
    most = MOST_CHARACTERS - len(whole) - 100
    cut = "\n\n(truncated)" if len(text) > most else ""
    return f"{text[:most]}{cut}\n{whole}"


async def serve(options: RunOptions, ledger: Path, port: int | None, say: Callable[[str], None]) -> None:
    """Serve one client on standard input and output until it closes them, or over HTTP until the process ends.

    Args:
        options: of every run, without a question.
        ledger: where runs are kept.
        port: of the loopback, for HTTP; 0 takes a free one, None serves standard input and output.
        say: gets the address, and the token where the environment names none.

    Raises:
        UsageError: settings, keys or the token are at fault, or the port is taken.
    """
    settings = options.chosen()
    named = token_from(os.environ, TOKEN_VARIABLE) if port is not None else None
    with options.sources_at(settings) as endpoints, ExitStack() as stack:
        listening = None if port is None else stack.enter_context(listening_at(HOST, port))
        async with Transport(endpoints) as transport:
            server = Server(settings, transport, ledger)
            if listening is None:
                await server.run_stdio_async()
            else:
                say(f"MCP at http://{HOST}:{listening.getsockname()[1]}/mcp (Ctrl-C ends it)")
                token = tell_token(named, TOKEN_VARIABLE, say)
                app = Guarded(Tokened(server.streamable_http_app(), token, TOKEN_VARIABLE))
                config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=_STOP_S)
                await uvicorn.Server(config).serve([listening])
            await server.settle(_SETTLE_S)
