"""`willowbark serve`: pages in a browser, on loopback by default; they load nothing from other sites.

The pages are made from jinja2 templates (`*.html` beside this file) that escape every text. A run's events arrive as
server-sent events, which browsers resume automatically:
https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import asyncio
import json
import mimetypes
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from willowbark.agents.exports import FORMATS, format_of, render
from willowbark.tools.errors import UsageError
from willowbark.tools.questions.kinds import PLACES, QUESTIONS
from willowbark.tools.records.registry import searchable

from ..config import DEPTHS
from ..guard import COOKIE, LOOPBACK, Guarded, Tokened, derive_cookie, listen_at, read_token, serve_app, tell_token
from ..ledger import Ledger
from ..ledger.run_ids import RUN_ID
from ..run.history import UNFINISHED, compare_runs, list_ledger_runs, list_runs, load_report
from ..run.options import RunOptions
from .corrections import change_run, parse_requests, take_files, write_run_again
from .live_runs import LiveRun, LiveRuns
from .records import render_record, render_row
from .rendering import STATIC, log_line, read_static_file, render_page, render_part
from .uploads import MOST_BYTES, keep_files, read_form
from .workbench import render_workbench_page

if TYPE_CHECKING:
    from willowbark.agents.report.follow_up import AnswerWithin

    from ..run.reviewing import RowToReview

TOKEN_VARIABLE = "WILLOWBARK_PAGE_TOKEN"  # noqa: S105  its name, not the token
EXAMPLES = (  # which the bundled library can answer too
    "Which existing drugs could prevent migraine attacks?",
    "Which existing drugs could help people quit smoking?",
    "Is propranolol better than flunarizine for migraine?",
    "Which drugs should be avoided in migraine?",
)
_BACK = {"review": "/review", "workbench": "/workbench"}
"""Where a correction was made, and its page."""
_MOST_MOVED = 50  # runs
_LONGEST_NUMBER = 10  # digits
_BEAT_S = 1.0  # between updates of a page while nothing happens, for its clock
_PAUSE_S = 0.1  # minimum between updates of a page
_SETTLE_S = 10.0  # for runs to save what they found
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPED = ("depth", "model", "max_iterations", "max_tokens", "max_seconds", "max_cost_usd")


async def serve(options: RunOptions, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve the pages until the process is terminated; port 0 picks a free one.

    `say` receives the address, and the token, which hosts beyond the loopback require.

    Raises:
        UsageError: invalid settings, keys or token, or an unavailable address.
    """
    runs = LiveRuns(options, say)
    token = read_token(os.environ, TOKEN_VARIABLE)
    is_open = host not in LOOPBACK
    with listen_at(host, port) as listening:
        address = f"[{host}]" if ":" in host else host
        say(f"Willowbark at http://{address}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
        app: ASGIApp = Pages(runs).application()
        if token or is_open:
            token = tell_token(token, TOKEN_VARIABLE, say)
            app = Tokened(app, token, TOKEN_VARIABLE, entry=Starlette(routes=_build_entry_routes(token)))
        await serve_app(Guarded(app, any_name=is_open, headers=_HEADERS, most_upload=MOST_BYTES), listening)


class Pages:
    """The pages' routes and their handlers, of one server's runs."""

    def __init__(self, runs: LiveRuns) -> None:
        self._runs = runs
        self._moved: dict[str, list[str]] = {}
        """What the latest correction moved, by run."""

    def application(self) -> Starlette:
        """Build the application, without access control."""
        routes = [
            Route("/", self.question),
            Route("/runs", self.history),
            Route("/diff", self.diff),
            Route("/runs/{run_id}", self.run),
            Route("/runs/{run_id}/events", self.events),
            Route("/runs/{run_id}/records/{number:int}", self.record),
            Route("/runs/{run_id}/records/row", self.row),
            Route("/runs/{run_id}/workbench", self.workbench),
            Route("/runs/{run_id}/review", self.review),
            Route("/runs/{run_id}/ask", self.ask_within),
            Route("/runs/{run_id}/export/{name}", self.export),
            Route("/static/{name}", static),
            Route("/runs", self.ask, methods=["POST"]),
            Route("/runs/{run_id}/cancel", self.cancel, methods=["POST"]),
            Route("/runs/{run_id}/resume", self.resume, methods=["POST"]),
            Route("/runs/{run_id}/approval", self.approve, methods=["POST"]),
            Route("/runs/{run_id}/corrections", self.correct, methods=["POST"]),
            Route("/runs/{run_id}/rewrite", self.rewrite, methods=["POST"]),
        ]

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            loading = asyncio.create_task(asyncio.to_thread(import_module, "willowbark.teams.run.research"))
            yield
            await loading
            await self._runs.settle(_SETTLE_S)

        handlers = {HTTPException: _render_error, UsageError: _render_error, Exception: _render_error}
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)

    async def question(self, request: Request) -> Response:
        """Show the form."""
        return self._form_page(request.query_params)

    def _form_page(self, entries: QueryParams, wrong: str | None = None) -> Response:
        """Show the form with entries and an error; `kind` selects a pattern of a question."""
        settings = self._runs.settings
        pattern, places = _find_pattern(entries)
        content = render_page(
            "ask.html",
            title="Ask",
            here="/",
            wrong=wrong,
            live=self._runs.under_way,
            offline=settings.library.path is not None,
            given=defaultdict(str, entries),
            kinds=list(QUESTIONS),
            pattern=pattern.format(**dict.fromkeys(places, "…")),
            places=places,
            place_notes=PLACES,
            examples=EXAMPLES,
            depths=DEPTHS,
            settings=settings,
            sources=searchable(),
            chosen_sources=entries.getlist("sources") or settings.searched_sources,
        )
        return HTMLResponse(content, 400 if wrong else 200)

    async def ask(self, request: Request) -> Response:
        """Start a run; invalid input is reported above the form, which keeps its entries."""
        form = await read_form(request)
        try:
            chosen = choices(form.fields)
            if form.files:
                chosen["library"] = await asyncio.to_thread(keep_files, form.files)
            run = await self._runs.ask(chosen)
        except UsageError as error:
            return self._form_page(form.fields, str(error))
        return _redirect_to_run(run.run_id)

    async def history(self, _: Request) -> Response:
        """List all runs."""
        rows = await asyncio.to_thread(list_runs, self._runs.root)
        return HTMLResponse(render_page("runs.html", title="Runs", here="/runs", rows=rows, live=self._runs.under_way))

    async def diff(self, request: Request) -> Response:
        """Show the changes from one run to another."""
        earlier, later = (request.query_params.get(name, "") for name in ("earlier", "later"))
        rows = [row for row in await asyncio.to_thread(list_runs, self._runs.root) if row.status in ("complete", None)]
        lines = list[str]()
        wrong = None
        if earlier:
            try:
                lines = await asyncio.to_thread(compare_runs, earlier, later or None)
            except UsageError as error:
                wrong = str(error)
        content = {"rows": rows, "earlier": earlier, "later": later, "lines": lines, "wrong": wrong}
        return HTMLResponse(
            render_page("compare.html", title="Compare", here="/diff", **content), 400 if wrong else 200
        )

    async def run(self, request: Request) -> Response:
        """Show a run: its progress, or its report."""
        run_id = request.path_params["run_id"]
        live = self._runs.known.get(run_id)
        if live is not None and live.outcome is None:
            return HTMLResponse(render_page("live.html", question=live.question, run=live, offline=live.offline))
        return HTMLResponse(await asyncio.to_thread(_render_ended_run, run_id, self._runs.root))

    async def events(self, request: Request) -> Response:
        """Stream a run's events, from where the browser left off."""
        run_id = request.path_params["run_id"]
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        if (live := self._runs.known.get(run_id)) is not None:
            return StreamingResponse(stream_events(live, after), media_type="text/event-stream")
        runs = await asyncio.to_thread(list_ledger_runs)
        status = next((run.status for run in runs if run.run_id == run_id), "folder only")
        event = _format_event("gone" if status in UNFINISHED else "end", status=status)
        return Response(event, media_type="text/event-stream")

    async def cancel(self, request: Request) -> Response:
        """Stop a run, which reports what it found so far."""
        run_id = request.path_params["run_id"]
        if (live := self._runs.known.get(run_id)) is not None:
            live.cancel()
        return _redirect_to_run(run_id)

    async def resume(self, request: Request) -> Response:
        """Resume a run."""
        return _redirect_to_run((await self._runs.resume(request.path_params["run_id"])).run_id)

    async def approve(self, request: Request) -> Response:
        """Pass on which candidates the report should cover."""
        run_id = request.path_params["run_id"]
        fields = (await read_form(request)).fields
        live = self._runs.known.get(run_id)
        if live is None or live.request is None:
            raise UsageError("the question is closed: the run decided without an answer, or has ended")
        try:
            live.answer(live.request.only(*fields.getlist("accepted"), reason=fields.get("reason", "")))
        except ValueError as error:
            raise UsageError(f"the answer cannot be used: {error}") from None
        return _redirect_to_run(run_id)

    async def record(self, request: Request) -> Response:
        """Show a record that a report cites, with the cited passages marked."""
        run_id = request.path_params["run_id"]
        number = request.path_params["number"]
        return HTMLResponse(await asyncio.to_thread(render_record, run_id, number, self._runs.root))

    async def row(self, request: Request) -> Response:
        """Show a record of the evidence by its key."""
        run_id = request.path_params["run_id"]
        key = request.query_params.get("key", "")
        return HTMLResponse(await asyncio.to_thread(render_row, run_id, key, self._runs.root))

    async def correct(self, request: Request) -> Response:
        """Correct what a run read, and show its report, made again."""
        run_id = request.path_params["run_id"]
        form = await read_form(request)
        fields = form.fields
        by = fields.get("by", "").strip() or None
        if form.files:
            lines = await asyncio.to_thread(take_files, run_id, form, by, self._runs.root)
        else:
            requests = parse_requests(fields)
            lines = await asyncio.to_thread(change_run, run_id, requests, by, self._runs.root)
        self._moved.pop(run_id, None)
        self._moved[run_id] = lines
        for oldest in list(self._moved)[:-_MOST_MOVED]:
            del self._moved[oldest]
        return RedirectResponse(f"/runs/{run_id}{_BACK.get(fields.get('back', ''), '#corrections')}", 303)

    async def rewrite(self, request: Request) -> Response:
        """Have a run's model write its answer again, and show the report."""
        run_id = request.path_params["run_id"]
        await asyncio.to_thread(write_run_again, run_id, self._runs.root)
        return _redirect_to_run(run_id)

    async def workbench(self, request: Request) -> Response:
        """Show a run's drugs and studies to work on."""
        run_id = request.path_params["run_id"]
        moved = self._moved.get(run_id, [])
        return HTMLResponse(await asyncio.to_thread(render_workbench_page, run_id, self._runs.root, moved))

    async def review(self, request: Request) -> Response:
        """Show the rows that are worth a person's minutes."""
        run_id = request.path_params["run_id"]
        is_blind = "blind" in request.query_params
        rows = await asyncio.to_thread(_list_rows_to_review, run_id)
        content = {"run_id": run_id, "rows": rows, "blind": is_blind}
        return HTMLResponse(render_page("review.html", title="Rows worth your minutes", **content))

    async def ask_within(self, request: Request) -> Response:
        """Answer a follow-up from what the run collected."""
        run_id = request.path_params["run_id"]
        question = request.query_params.get("question", "")
        answer = await asyncio.to_thread(_answer_within, run_id, question)
        return HTMLResponse(render_page("within.html", title=answer.question, run_id=run_id, answer=answer))

    async def export(self, request: Request) -> Response:
        """Download a run's report in another format."""
        run_id = request.path_params["run_id"]
        name = request.path_params["name"]
        file_name = format_of(name).file_name
        content = await asyncio.to_thread(lambda: render(load_report(self._runs.root, run_id), name))
        kind = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
        headers = {"Content-Disposition": f'attachment; filename="{run_id}-{file_name}"'}
        return Response(content, media_type=kind, headers=headers)


def _build_entry_routes(token: str) -> list[Route]:
    """Return the routes of requests without the token: they ask browsers for it, and set a cookie for it."""

    async def enter(request: Request) -> Response:
        is_entered = request.url.path == "/token" and request.method == "POST"
        if is_entered and derive_cookie((await read_form(request)).fields.get("token", "").strip()) == derive_cookie(
            token
        ):
            answer: Response = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, derive_cookie(token), httponly=True, samesite="strict")
            return answer
        line = "That is not the token." if is_entered else None
        form = render_page("notice.html", title="This server requires its token", token=True, line=line)
        return HTMLResponse(form, 401, {"WWW-Authenticate": "Bearer"})

    return [Route("/static/{name}", static), Route("/{path:path}", enter, methods=["GET", "POST"])]


async def stream_events(run: LiveRun, after: str) -> AsyncIterator[str]:
    """Stream a run as server-sent events until it ends.

    `after` is the id of the last event received, `LIFE-NUMBER`; all are sent again if the life differs.
    """
    life, _, number = after.partition("-")
    sent = int(number) if life == run.life and number.isdecimal() and len(number) < _LONGEST_NUMBER else 0
    if life and life != run.life:
        yield _format_event("again")
    is_asking = False
    while True:
        yield _format_event("board", html=render_part("board", run))
        if (run.request is not None) is not is_asking:
            is_asking = not is_asking
            yield _format_event("asked", html=render_part("approval", run.run_id, run.request).strip())
        for event in run.events[sent:]:
            sent += 1
            yield _format_event("line", f"{run.life}-{sent}", html=log_line(event))
        if sent == len(run.events):
            if run.outcome is not None:
                yield _format_event("end")
                return
            await run.wait_for_change(_BEAT_S)
        await asyncio.sleep(_PAUSE_S)


def _format_event(kind: str, number: str | None = None, **data: str) -> str:
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data)}\n\n"


def choices(form: QueryParams) -> dict[str, Any]:
    """Convert the form to choices for `RunOptions`; empty fields are left out.

    Raises:
        UsageError: a question pattern with an empty slot.
    """
    entered = {name: form[name].strip() for name in form if form[name].strip()}
    chosen: dict[str, Any] = {name: entered[name] for name in _TYPED if name in entered}
    pattern, places = _find_pattern(form)
    missing = [place for place in places if place not in entered]
    if missing:
        raise UsageError(f"{missing[0].replace('_', ' ')}: say which one")
    slots = {place: " ".join(entered[place].split()) for place in places}
    chosen["question"] = pattern.format(**slots) or entered.get("question", "")
    sources = tuple(form.getlist("sources"))
    if sources:
        chosen["sources"] = sources
    return {**chosen, "approve": "approve" in entered or None, "fresh": "fresh" in entered}


def _find_pattern(form: QueryParams) -> tuple[str, list[str]]:
    """Return the pattern of the kind of question that was picked, and its slots; empty if none was."""
    patterns = {str(kind): text for kind, text in QUESTIONS.items()}
    pattern = patterns.get(form.get("kind", ""), "")
    return pattern, [place for _, place, _, _ in Formatter().parse(pattern) if place]


def _redirect_to_run(run_id: str) -> Response:
    return RedirectResponse(f"/runs/{run_id}", 303)


def _render_error(_: Request, error: Exception) -> Response:
    """Render an error as a one-line page."""
    status = 500
    line = f"A fault of Willowbark itself ({type(error).__name__})."
    headers = None
    if isinstance(error, UsageError):
        status = 400
        line = str(error)
    elif isinstance(error, HTTPException):
        notices = {404: "There is no such page.", 405: "This page does not take that request."}
        status = error.status_code
        line = notices.get(error.status_code, error.detail)
        headers = error.headers
    return HTMLResponse(render_page("notice.html", title="That did not work", line=line), status, headers)


async def static(request: Request) -> Response:
    """Serve a style sheet or the script; browsers may cache it, as its address changes with the content."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    headers = {"Cache-Control": "max-age=31536000, immutable"}
    return Response(read_static_file(name), media_type=mimetypes.guess_type(name)[0], headers=headers)


def _render_ended_run(run_id: str, root: Path) -> str:
    """Render a run that is not in progress on this server: its report with all actions, or how far it got."""
    run = next((run for run in list_ledger_runs() if run.run_id == run_id), None)
    content: dict[str, Any] = {"run_id": run_id, "status": None, "can_resume": False, "assessments": []}
    if run is not None:
        with Ledger.existing() as ledger:
            turns = ledger.turns(run_id)
        content |= {"question": run.question, "status": run.status, "can_resume": run.status in UNFINISHED}
        content["assessments"] = [turn.message["content"] for turn in turns if turn.type == "AssessmentMessage"]
        if run.stop_reason is None or run.status == "running":
            return render_page("stopped.html", **content)
    elif not RUN_ID.fullmatch(run_id) or not (root / run_id).is_dir():
        raise HTTPException(404)
    report = load_report(root, run_id)
    markup, first = render_report(run_id, report.to_json())
    content |= {"title": report.title, "question": report.research_question, "main": first}
    content["corrected"] = bool(report.corrections)
    content["outdated"] = report.written is not None and bool(report.written.outdated)
    content["report"] = Markup(markup)  # noqa: S704  the report's own page, with every text escaped
    return render_page("report.html", **content, formats=[export_format.name for export_format in FORMATS])


@lru_cache(maxsize=8)  # readers switch between a few reports, whose pictures take seconds to draw
def render_report(run_id: str, content: str) -> tuple[str, str]:
    """Render a report's JSON as markup with citations linked to records; also return the id of its first section."""
    from willowbark.agents.report.forms.html import render_page  # noqa: PLC0415  agents take most of a second
    from willowbark.agents.report.model import ResearchReport  # noqa: PLC0415

    document = ResearchReport.model_validate_json(content).to_tree()
    return render_page(document, f"/runs/{run_id}/records/"), document.sections[0].id


def _list_rows_to_review(run_id: str) -> list["RowToReview"]:
    from ..run.reviewing import list_rows  # noqa: PLC0415  the whole team

    with Ledger.existing() as ledger:
        return asyncio.run(list_rows(run_id, ledger))


def _answer_within(run_id: str, question: str) -> "AnswerWithin":
    from ..run.within import ask_within  # noqa: PLC0415  the whole team

    with Ledger.existing() as ledger:
        return asyncio.run(ask_within(question, run_id, ledger))
