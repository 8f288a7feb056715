"""Willowbark as a server of the Model Context Protocol: the team's tools, an appraisal, whole runs, and their reports.

The tools are those of the team's own specialists, under the same names; arguments are checked by the same models, and
records come in the same marked blocks. A tool that fails answers with an error that says the way out.
https://modelcontextprotocol.io/specification/2025-06-18/server/tools
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Annotated, Any

from autogen_core import CancellationToken
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ResourceError, ToolError
from mcp.server.fastmcp.prompts import Prompt
from mcp.server.fastmcp.prompts.base import PromptArgument
from mcp.types import ContentBlock, TextContent, ToolAnnotations
from mcp.types import Resource as ListedResource
from mcp.types import Tool as ListedTool
from pydantic import AnyUrl, BaseModel, Field, ValidationError

from willowbark import __version__
from willowbark.agents.autogen import tools_of
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import checked
from willowbark.agents.report.content import DISCLAIMER
from willowbark.agents.report.forms.markdown import as_markdown
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.specialist import SpecialistAgent
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.enclosure import GUIDANCE, enclose, new_marker, one_line
from willowbark.tools.errors import UsageError, WillowbarkError
from willowbark.tools.evidence import Evidence, merge
from willowbark.tools.http.transport import Transport
from willowbark.tools.questions import parse_question
from willowbark.tools.questions.kinds import PLACES, QUESTIONS
from willowbark.tools.reading.reading import ReaderName
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import EvidenceTool, GetPaper, GetTrial, PaperArgs, ToolReply, TrialArgs

from ..config import DEPTHS, Depth, Settings
from ..events import AgentEvent
from ..ledger import Ledger, LedgerError, Run
from ..research_team import participants_of
from ..run.options import LifeChoices, RunOptions
from ..run.research import research_stream
from ..run.resume import resume_stream
from ..run.workspace import new_run_id

MOST_CHARACTERS = 40_000  # of a tool's answer, some 10,000 tokens: common clients cut or refuse above 25,000
MOST_TEXT = 4_000  # characters of a record's text; abstracts are shorter
MOST_APPRAISED = 20  # records of one appraisal
MOST_LISTED = 50  # runs in the list of resources; `willowbark://runs` names every one
_RUNS = "willowbark://runs"
_FORMS = {"md": "text/markdown", "json": "application/json"}
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
their certainty and the records that speak for and against each, by their identifiers. Say what held certainty down, and
what could not be found. Add nothing that the report does not hold."""
Answer = Callable[[Any, Context[Any, Any, Any]], Awaitable[str]]


class AppraiseArgs(BaseModel, extra="forbid"):
    """What is to be appraised."""

    question: Annotated[str, Field(min_length=1, max_length=2000, description="Names the condition, perhaps a drug")]
    records: Annotated[
        list[Annotated[str, Field(pattern=r"^([1-9][0-9]{0,8}|NCT[0-9]{8})$")]],
        Field(min_length=1, max_length=MOST_APPRAISED, description="PMIDs and NCT numbers"),
    ]


class ResearchArgs(BaseModel, extra="forbid"):
    """A run that is to be begun, or gone on with."""

    question: Annotated[
        str | None, Field(max_length=2000, description="Such as: Which existing drugs could prevent migraine?")
    ] = None
    run_id: Annotated[str | None, Field(description="Go on with this run, or give its report, instead")] = None
    depth: Annotated[Depth | None, Field(description=f"About so many records: {DEPTHS}")] = None
    reader: Annotated[ReaderName | None, Field(description="careful: more often right, and minutes more")] = None
    max_iterations: Annotated[int | None, Field(ge=1, le=20, description="Rounds of search")] = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as the server offers it."""

    name: str
    description: str
    args: type[BaseModel]
    answer: Answer
    """Takes the checked arguments and the request's context."""

    @property
    def listed(self) -> ListedTool:
        """The tool as clients list it."""
        hints = ToolAnnotations(readOnlyHint=self.args is not ResearchArgs, destructiveHint=False, openWorldHint=True)
        schema = self.args.model_json_schema()
        return ListedTool(name=self.name, description=self.description, inputSchema=schema, annotations=hints)


class Server(FastMCP[Any]):
    """The server; it listens nowhere yet.

    Args:
        settings: of the tools and the runs.
        transport: the way to the sources; left open.
        ledger: where runs are kept; made with the first.
        options: as `FastMCP` takes them.
    """

    def __init__(self, settings: Settings, transport: Transport, ledger: Path, **options: Any) -> None:
        self._settings, self._transport, self._ledger = settings, transport, ledger
        self._under_way: dict[str, asyncio.Task[str]] = {}
        offers = [
            *(Offer(t.name, t.description, t.args_type(), _asking(t)) for t in _tools(settings, transport)),
            Offer("appraise", "Verdicts of papers and trials on drugs for a condition.", AppraiseArgs, self._appraise),
            Offer("research", "A cited report on a question; takes minutes.", ResearchArgs, self._research),
        ]
        self._offers = {offer.name: offer for offer in offers}
        super().__init__("willowbark", INSTRUCTIONS, log_level="CRITICAL", **options)
        self._mcp_server.version = __version__
        self.resource(_RUNS, name="runs", mime_type="application/json")(self._runs)
        for form, kind in _FORMS.items():
            self.resource(f"{_RUNS}/{{run_id}}/report.{form}", name=f"report.{form}", mime_type=kind)(
                _reader(self, form)
            )
        for name, question in QUESTIONS.items():
            self.add_prompt(_prompt(name, question))

    async def list_tools(self) -> list[ListedTool]:
        """Every tool there is."""
        return [offer.listed for offer in self._offers.values()]

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
            raise ToolError(_mending(error, offer.args)) from None
        except ToolError:
            raise
        except WillowbarkError as error:
            raise ToolError(" ".join(str(error).split())) from None
        except Exception as error:
            raise ToolError(f"a fault of Willowbark itself ({type(error).__name__})") from error
        return [TextContent(type="text", text=text)]

    async def list_resources(self) -> list[ListedResource]:
        """The list of runs, and the latest reports."""
        markdown = _FORMS["md"]
        reports = [
            ListedResource(
                uri=AnyUrl(f"{_RUNS}/{run.run_id}/report.md"), name=run.run_id, title=run.question, mimeType=markdown
            )
            for run in self._known()
            if run.status == "complete"
        ]
        return [*await super().list_resources(), *reports[:MOST_LISTED]]

    def _known(self) -> list[Run]:
        if not self._ledger.is_file():
            return []
        with Ledger.existing(self._ledger) as ledger:
            return ledger.runs()

    def _runs(self) -> str:
        """The runs of this workspace, the latest first."""
        shown = {"run_id", "question", "status", "stop_reason", "created_at", "rounds", "model", "cost_usd"}
        return json.dumps([run.model_dump(mode="json", include=shown) for run in self._known()], ensure_ascii=False)

    def report(self, run_id: str) -> ResearchReport:
        """The report of a run.

        Raises:
            LedgerError: no such run, or one without a report; says how to bring it to one.
        """
        with Ledger.existing(self._ledger) as ledger:
            content = ledger.report(run_id)
        if content is None:
            raise LedgerError(f"run {run_id} has no report yet; `research` with this run_id brings it to one")
        return ResearchReport.model_validate(content)

    async def _appraise(self, args: AppraiseArgs, context: Context[Any, Any, Any]) -> str:
        replies = await asyncio.gather(*(self._fetched(record) for record in args.records))
        pool = merge(record for reply in replies for record in reply.records)
        missing = [f"{r.query}: {'; '.join(r.warnings) or 'not found'}" for r in replies if not r.records]
        if not pool:
            raise ToolError(f"none of the records could be had: {', '.join(missing)}; search for them first")
        pool, candidates = await checked(parse_question(args.question), pool, self._transport)
        told, head = _appraised(candidates, pool), {"question": args.question, "missing": missing}

        def with_drugs(drugs: Sequence[Any]) -> str:
            said = {**head, "drugs": drugs, "truncated": len(drugs) < len(told)}
            return enclose([], new_marker(), head=said)

        return _fitting(told, with_drugs, MOST_CHARACTERS)

    async def _fetched(self, record: str) -> SourceReply:
        """A publication or trial, by its number."""
        token, is_trial = CancellationToken(), record.startswith("NCT")
        tool: EvidenceTool[Any] = GetTrial() if is_trial else GetPaper()
        tool.bind(self._transport, new_marker())
        found = await tool.run(TrialArgs(nct_id=record) if is_trial else PaperArgs(pmid=record), token)
        return found.replies[0]

    async def _research(self, args: ResearchArgs, context: Context[Any, Any, Any]) -> str:
        if (args.question is None) is (args.run_id is None):
            raise ToolError("give either a question, for a new run, or the run_id of an earlier one")
        run_id = args.run_id or new_run_id(args.question or "")
        if earlier := self._under_way.get(run_id):
            await asyncio.wait({earlier})
        token = CancellationToken()
        run = asyncio.create_task(self._lived(args, run_id, token, context))
        self._under_way[run_id] = run
        run.add_done_callback(partial(self._ended, run_id))
        try:
            return await asyncio.shield(run)
        finally:
            token.cancel()  # where the client gave up: what was found until then is kept, and can be gone on with

    def _ended(self, run_id: str, run: "asyncio.Task[str]") -> None:
        del self._under_way[run_id]
        if not run.cancelled():
            run.exception()  # looked at, since whoever should have been told may be gone

    async def settled(self, seconds: float) -> None:
        """Wait for runs whose clients are gone to keep what they found."""
        if self._under_way:
            await asyncio.wait(self._under_way.values(), timeout=seconds)

    async def _lived(
        self, args: ResearchArgs, run_id: str, token: CancellationToken, context: Context[Any, Any, Any]
    ) -> str:
        """Follow a run, telling each event as progress while somebody listens."""
        problem, step = "it ended without a report", 0
        await context.info(f"run {run_id}")
        await context.report_progress(step, message=f"run {run_id}")
        async with aclosing(self._events(args, run_id, token)) as events:
            async for event in events:
                if event.report is not None:
                    return told(run_id, event.report)
                problem, step = event.message if event.type == "error" else problem, step + 1
                if not token.is_cancelled():
                    await context.report_progress(step, message=one_line(event.message))
        raise ToolError(f"run {run_id} failed: {problem}; try again with `research` and this run_id")

    async def _events(
        self, args: ResearchArgs, run_id: str, token: CancellationToken
    ) -> AsyncGenerator[AgentEvent, None]:
        """A new run, one that is gone on with, or the end of one that is complete."""
        given: LifeChoices = {"endpoints": self._transport.endpoints, "cancellation_token": token}
        with Ledger(self._ledger) if args.run_id is None else Ledger.existing(self._ledger) as ledger:
            if args.run_id is None:
                new = RunOptions(settings=self._settings, **args.model_dump(exclude={"run_id"}))
                stream = research_stream(new, ledger=ledger, run_id=run_id, **given)
            elif ledger.run(run_id).status == "complete":
                yield AgentEvent(type="complete", message="as it was", data=self.report(run_id))
                return
            else:
                stream = resume_stream(run_id, ledger, **given)
            async with aclosing(stream):
                async for event in stream:
                    yield event


def _tools(settings: Settings, transport: Transport) -> Iterator[EvidenceTool[Any]]:
    """The tools of the team's specialists, as the settings want them."""
    for member in participants_of(settings, BaselineChatCompletionClient()):
        if isinstance(member, SpecialistAgent):
            for tool in tools_of(member):
                if isinstance(tool, EvidenceTool):
                    tool.bind(transport, new_marker())
                    yield tool


def _asking(tool: EvidenceTool[Any]) -> Answer:
    async def answer(args: BaseModel, _: Context[Any, Any, Any]) -> str:
        found = await tool.run(args, CancellationToken())
        failed = [reply for reply in found.replies if reply.status in _WAYS_OUT]
        if len(failed) == len(found.replies):
            said = "; ".join(f"{r.source}: {r.status.value.replace('_', ' ')}: {', '.join(r.warnings)}" for r in failed)
            raise ToolError(f"{said}. What to do: {_WAYS_OUT[failed[0].status]}.")
        return bounded(found)

    return answer


def bounded(found: ToolReply) -> str:
    """Replies as blocks for a model, at most `MOST_CHARACTERS` long; what is cut is said in a block's first line."""
    marker, share = new_marker(), MOST_CHARACTERS // max(1, len(found.replies))
    return "\n".join(_block(reply, marker, share) for reply in found.replies)


def _block(reply: SourceReply, marker: str, most: int) -> str:
    head = reply.model_dump(mode="json", exclude={"records"})

    def with_records(records: Sequence[Evidence]) -> str:
        cut = len(records) < len(reply.records) or any(len(record.content) > MOST_TEXT for record in records)
        said = {**head, "shown": len(records), "truncated": cut}
        return enclose(records, marker, head=said, text_limit=MOST_TEXT)

    text = _fitting(reply.records, with_records, most)
    if len(text) <= most:
        return text
    bare = [record.model_copy(update={"metadata": {}}) for record in reply.records[:1]]
    return enclose(bare, marker, head={**head, "shown": 1, "truncated": True}, text_limit=MOST_TEXT)


def _appraised(candidates: Sequence[Candidate], pool: Sequence[Evidence]) -> list[dict[str, Any]]:
    """What records amount to for each drug that they speak of."""
    titles = {record.key: record.citation.title for record in pool}
    return [
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


def _fitting(entries: Sequence[Any], text_of: Callable[[Sequence[Any]], str], most: int) -> str:
    """The text of as many entries as fit into so many characters; of the first in any case, where there is one."""
    for shown in range(len(entries), 1, -1):
        if len(text := text_of(entries[:shown])) <= most:
            return text
    return text_of(entries[:1])


def told(run_id: str, report: ResearchReport) -> str:
    """What a run came to, and where its whole report stands."""
    whole = f"Run {run_id}. The whole report: {_RUNS}/{run_id}/report.md (report.json as data)."
    text = as_markdown(report.to_brief())
    most = MOST_CHARACTERS - len(whole) - 100
    cut = "\n\n(truncated)" if len(text) > most else ""
    return f"{text[:most]}{cut}\n{whole}"


def _mending(error: ValidationError, args: type[BaseModel]) -> str:
    """What is wrong with arguments, and what they may be."""
    wrong = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors(include_url=False)]
    known = [f"{name} ({field.description})" for name, field in args.model_fields.items()]
    return f"{'; '.join(wrong)}. The arguments are {', '.join(known)}."


def _reader(server: Server, form: str) -> Callable[[str], str]:
    def read(run_id: str) -> str:
        """A run's report."""
        try:
            report = server.report(run_id)
        except UsageError as error:
            raise ResourceError(str(error)) from None
        return report.to_markdown() if form == "md" else report.to_json()

    return read


def _prompt(name: str, question: str) -> Prompt:
    """A prompt for one kind of question; its arguments are the places in the question."""
    places = [place for _, place, _, _ in Formatter().parse(question) if place]

    def text(**given: str) -> str:
        return _TASK.format(question=question.format(**given))

    arguments = [PromptArgument(name=place, description=PLACES[place], required=True) for place in places]
    shown = question.format(**dict.fromkeys(places, "…"))
    return Prompt(name=name, title=shown, description=shown, arguments=arguments, fn=text, context_kwarg=None)
