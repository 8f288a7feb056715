"""`willowbark serve`: pages in a browser, on loopback by default; they load nothing from other sites.

A run's events arrive as server-sent events, which browsers resume automatically:
https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import asyncio
import json
import mimetypes
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from willowbark.tools.errors import UsageError
from willowbark.tools.questions.kinds import PLACES, QUESTIONS

from ..exports import format_of, render
from ..faces.runs import UNFINISHED, compare_runs, list_runs, load_report, runs_in_ledger
from ..ledger import Ledger
from ..run.options import RunOptions
from ..run.workspace import RUN_ID
from . import views
from .guard import COOKIE, LOOPBACK, Guarded, Tokened, cookie_of, listening_at, serve_app, tell_token, token_from
from .live_runs import LiveRun, LiveRuns

if TYPE_CHECKING:
    from willowbark.tools.evidence import Evidence

TOKEN_VARIABLE = "WILLOWBARK_PAGE_TOKEN"  # noqa: S105  its name, not the token
_LONGEST_FORM = 65_536  # bytes; a question has 2,000 characters
_MOST_FIELDS = 200
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


class Pages:
    """The pages' routes and their handlers, of one server's runs."""

    def __init__(self, runs: LiveRuns) -> None:
        self._runs = runs

    def application(self) -> Starlette:
        """Build the application, without access control."""
        routes = [
            Route("/", self.question),
            Route("/runs", self.history),
            Route("/diff", self.diff),
            Route("/runs/{run_id}", self.run),
            Route("/runs/{run_id}/events", self.events),
            Route("/runs/{run_id}/records/{number:int}", self.record),
            Route("/runs/{run_id}/export/{name}", self.export),
            Route("/static/{name}", static),
            Route("/runs", self.ask, methods=["POST"]),
            Route("/runs/{run_id}/cancel", self.cancel, methods=["POST"]),
            Route("/runs/{run_id}/resume", self.resume, methods=["POST"]),
            Route("/runs/{run_id}/approval", self.approve, methods=["POST"]),
        ]

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            loading = asyncio.create_task(asyncio.to_thread(import_module, "willowbark.teams.run.research"))
            yield
            await loading
            await self._runs.settle(_SETTLE_S)

        handlers = {HTTPException: _error_page, UsageError: _error_page, Exception: _error_page}
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)

    async def question(self, request: Request) -> Response:
        """Show the form."""
        return HTMLResponse(views.ask_page(self._runs.settings, request.query_params, self._runs.under_way))

    async def ask(self, request: Request) -> Response:
        """Start a run; invalid input is reported above the form, which keeps its entries."""
        given = await _form(request)
        try:
            run = await self._runs.ask(choices(given))
        except UsageError as error:
            form = views.ask_page(self._runs.settings, given, self._runs.under_way, str(error))
            return HTMLResponse(form, 400)
        return _to_run(run.run_id)

    async def history(self, _: Request) -> Response:
        """List all runs."""
        rows = await asyncio.to_thread(list_runs, self._runs.root)
        return HTMLResponse(views.page("runs.html", title="Runs", here="/runs", rows=rows, live=self._runs.under_way))

    async def diff(self, request: Request) -> Response:
        """Show the changes from one run to another."""
        earlier, later = (request.query_params.get(name, "") for name in ("earlier", "later"))
        rows = [row for row in await asyncio.to_thread(list_runs, self._runs.root) if row.status in ("complete", None)]
        lines, wrong = list[str](), None
        if earlier:
            try:
                lines = await asyncio.to_thread(compare_runs, earlier, later or None)
            except UsageError as error:
                wrong = str(error)
        shown = {"rows": rows, "earlier": earlier, "later": later, "lines": lines, "wrong": wrong}
        return HTMLResponse(views.page("compare.html", title="Compare", here="/diff", **shown), 400 if wrong else 200)

    async def run(self, request: Request) -> Response:
        """Show a run: its progress, or its report."""
        run_id = request.path_params["run_id"]
        live = self._runs.known.get(run_id)
        if live is not None and live.outcome is None:
            return HTMLResponse(views.page("live.html", question=live.question, run=live, offline=live.offline))
        return HTMLResponse(await asyncio.to_thread(_ended_run_page, run_id, self._runs.root))

    async def events(self, request: Request) -> Response:
        """Stream a run's events, from where the browser left off."""
        run_id = request.path_params["run_id"]
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        if (live := self._runs.known.get(run_id)) is not None:
            return StreamingResponse(event_stream(live, after), media_type="text/event-stream")
        runs = await asyncio.to_thread(runs_in_ledger)
        status = next((run.status for run in runs if run.run_id == run_id), "folder only")
        told = _event("gone" if status in UNFINISHED else "end", status=status)
        return Response(told, media_type="text/event-stream")

    async def cancel(self, request: Request) -> Response:
        """Stop a run, which reports what it found so far."""
        run_id = request.path_params["run_id"]
        if (live := self._runs.known.get(run_id)) is not None:
            live.cancel()
        return _to_run(run_id)

    async def resume(self, request: Request) -> Response:
        """Resume a run."""
        return _to_run((await self._runs.resume(request.path_params["run_id"])).run_id)

    async def approve(self, request: Request) -> Response:
        """Pass on which candidates the report should cover."""
        run_id, given = request.path_params["run_id"], await _form(request)
        live = self._runs.known.get(run_id)
        if live is None or live.request is None:
            raise UsageError("the question is closed: the run decided without an answer, or has ended")
        try:
            live.answer(live.request.only(*given.getlist("accepted"), reason=given.get("reason", "")))
        except ValueError as error:
            raise UsageError(f"the answer cannot be used: {error}") from None
        return _to_run(run_id)

    async def record(self, request: Request) -> Response:
        """Show a record that a report cites, with the cited passages marked."""
        run_id, number = request.path_params["run_id"], request.path_params["number"]

        def make() -> str | None:
            report = load_report(self._runs.root, run_id)
            key = next((str(each["key"]) for each in report.references if each["number"] == number), "")
            records = _records_of(run_id, report.generated_at)
            record = records.get(key) or next((r for r in records.values() if key in r.identifiers), None)
            return views.record_page(run_id, report, number, record)

        if (content := await asyncio.to_thread(make)) is None:
            raise HTTPException(404)
        return HTMLResponse(content)

    async def export(self, request: Request) -> Response:
        """Download a run's report in another format."""
        run_id, name = request.path_params["run_id"], request.path_params["name"]
        file_name = format_of(name).file_name
        content = await asyncio.to_thread(lambda: render(load_report(self._runs.root, run_id), name))
        kind = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
        named = {"Content-Disposition": f'attachment; filename="{run_id}-{file_name}"'}
        return Response(content, media_type=kind, headers=named)


async def serve(options: RunOptions, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve the pages until the process is terminated; port 0 picks a free one.

    `say` receives the address, and the token, which hosts beyond the loopback require.

    Raises:
        UsageError: invalid settings, keys or token, or an unavailable address.
    """
    runs, token = LiveRuns(options), token_from(os.environ, TOKEN_VARIABLE)
    is_open = host not in LOOPBACK
    with listening_at(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        say(f"Willowbark at http://{shown}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
        app: ASGIApp = Pages(runs).application()
        if token or is_open:
            token = tell_token(token, TOKEN_VARIABLE, say)
            app = Tokened(app, token, TOKEN_VARIABLE, entry=Starlette(routes=_entry(token)))
        await serve_app(Guarded(app, any_name=is_open, headers=_HEADERS), listening)


def _entry(token: str) -> list[Route]:
    """Return the routes of requests without the token: they ask browsers for it, and set a cookie for it."""

    async def enter(request: Request) -> Response:
        is_entered = request.url.path == "/token" and request.method == "POST"
        if is_entered and cookie_of((await _form(request)).get("token", "").strip()) == cookie_of(token):
            answer: Response = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, cookie_of(token), httponly=True, samesite="strict")
            return answer
        line = "That is not the token." if is_entered else None
        form = views.page("notice.html", title="This server requires its token", token=True, line=line)
        return HTMLResponse(form, 401, {"WWW-Authenticate": "Bearer"})

    return [Route("/static/{name}", static), Route("/{path:path}", enter, methods=["GET", "POST"])]


async def event_stream(run: LiveRun, after: str) -> AsyncIterator[str]:
    """Stream a run as server-sent events until it ends.

    `after` is the id of the last event received, `LIFE-NUMBER`; all are sent again if the life differs.
    """
    life, _, number = after.partition("-")
    sent = int(number) if life == run.life and number.isdecimal() and len(number) < _LONGEST_NUMBER else 0
    if life and life != run.life:
        yield _event("again")
    asked = False
    while True:
        yield _event("board", html=views.part("board", run))
        if (run.request is not None) is not asked:
            asked = not asked
            yield _event("asked", html=views.part("approval", run.run_id, run.request).strip())
        for event in run.events[sent:]:
            sent += 1
            yield _event("line", f"{run.life}-{sent}", html=views.log_line(event))
        if sent == len(run.events):
            if run.outcome is not None:
                yield _event("end")
                return
            await run.changed(_BEAT_S)
        await asyncio.sleep(_PAUSE_S)


def _event(kind: str, number: str | None = None, **data: str) -> str:
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data)}\n\n"


async def static(request: Request) -> Response:
    """Serve a style sheet or the script; browsers may cache it, as its address changes with the content."""
    name = request.path_params["name"]
    if name not in views.STATIC:
        raise HTTPException(404)
    kept = {"Cache-Control": "max-age=31536000, immutable"}
    return Response(views.static_file(name), media_type=mimetypes.guess_type(name)[0], headers=kept)


def choices(given: QueryParams) -> dict[str, Any]:
    """Convert the form to choices for `RunOptions`; empty fields are left out.

    Raises:
        UsageError: a question pattern with an empty slot.
    """
    entered = {name: value for name in given if (value := given[name].strip())}
    chosen: dict[str, Any] = {"question": entered.get("question", "")}
    if pattern := QUESTIONS.get(entered.get("kind", "")):  # type: ignore[call-overload]  # any text may come
        for place in PLACES:
            if f"{{{place}}}" in pattern and place not in entered:
                raise UsageError(f"{place.replace('_', ' ')}: say which one")
        chosen["question"] = pattern.format(**{place: " ".join(entered.get(place, "").split()) for place in PLACES})
    chosen |= {name: entered[name] for name in _TYPED if name in entered}
    if sources := tuple(given.getlist("sources")):
        chosen["sources"] = sources
    return {**chosen, "approve": "approve" in entered or None, "fresh": "fresh" in entered}


async def _form(request: Request) -> QueryParams:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST_FORM:
            raise HTTPException(413, "The form is too long.")
    try:
        return QueryParams(parse_qsl(body.decode(errors="replace"), max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise HTTPException(413, "The form has too many fields.") from None


@lru_cache(maxsize=4)  # readers open many records of a report; a resumed run has a new one, on more records
def _records_of(run_id: str, made: datetime) -> Mapping[str, "Evidence"]:
    """Load the records behind a run's report, by key; none if the ledger lacks the run."""
    from ..state import state_of  # noqa: PLC0415  agents take most of a second

    if all(run.run_id != run_id for run in runs_in_ledger()):
        return {}
    with Ledger.existing() as ledger:
        return {record.key: record for record in state_of(ledger, run_id).evidence}


def _ended_run_page(run_id: str, root: Path) -> str:
    """Render the page of a run that is not in progress on this server."""
    run = next((run for run in runs_in_ledger() if run.run_id == run_id), None)
    if run is None:
        if not RUN_ID.fullmatch(run_id) or not (root / run_id).is_dir():
            raise HTTPException(404)
        return views.ended_page(run_id, "", None, [], load_report(root, run_id))
    with Ledger.existing() as ledger:
        turns = ledger.turns(run_id)
    assessments = [turn.message["content"] for turn in turns if turn.type == "AssessmentMessage"]
    has_report = run.stop_reason is not None and run.status != "running"
    report = load_report(root, run_id) if has_report else None
    return views.ended_page(run_id, run.question, run.status, assessments, report)


def _to_run(run_id: str) -> Response:
    return RedirectResponse(f"/runs/{run_id}", 303)


def _error_page(_: Request, error: Exception) -> Response:
    """Render an error as a one-line page."""
    status, line, headers = 500, f"A fault of Willowbark itself ({type(error).__name__}).", None
    if isinstance(error, UsageError):
        status, line = 400, str(error)
    elif isinstance(error, HTTPException):
        known = {404: "There is no such page.", 405: "This page does not take that request."}
        status, line, headers = error.status_code, known.get(error.status_code, error.detail), error.headers
    return HTMLResponse(views.page("notice.html", title="That did not work", line=line), status, headers)
