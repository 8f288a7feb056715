"""`willowbark serve`: pages in a browser, on loopback by default.

What goes on in a run comes as server-sent events, which browsers take up again by themselves where they left off:
https://html.spec.whatwg.org/multipage/server-sent-events.html. Pages load nothing from elsewhere and hold no script of
their own: https://www.w3.org/TR/CSP3/.
"""

import asyncio
import json
import mimetypes
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from willowbark.tools.errors import UsageError
from willowbark.tools.questions.kinds import PLACES, QUESTIONS

from ..exports import format_of, render
from ..faces.export_command import UNFINISHED, WORKSPACE, report_in, rows_of
from ..faces.runs_command import compared
from ..ledger import DEFAULT_PATH, Ledger, Run
from ..run.options import RunOptions
from ..run.workspace import RUN_ID
from . import run_views, tags, views
from .guard import COOKIE, LOOPBACK, Guarded, Tokened, cookie_of, listening_at, tell_token, token_from
from .runs import LiveRun, Runs

TOKEN_VARIABLE = "WILLOWBARK_PAGE_TOKEN"  # noqa: S105  its name, not the token
_LONGEST_FORM = 65_536  # bytes; a question has 2,000 characters
_BEAT_S = 1.0  # between two looks of a page at a run in which nothing happens: its clock goes on
_PAUSE_S = 0.1  # between two updates of a page: people gain nothing from more
_STOP_S = 2  # for requests under way when the server ends
_SETTLE_S = 10.0  # for runs to keep what they found
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
_TO_KEEP = {"Cache-Control": "max-age=31536000, immutable"}  # its address changes with it
_NUMBERS: Mapping[str, Callable[[str], float]] = {
    "max_iterations": int,
    "max_tokens": int,
    "max_seconds": float,
    "max_cost_usd": float,
}


class Pages:
    """The addresses of the pages, and what each answers.

    Args:
        runs: of the server.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def application(self) -> Starlette:
        """The application, open to anybody who reaches it."""
        get = {
            "/": self.question,
            "/runs": self.history,
            "/diff": self.diff,
            "/runs/{run_id}": self.run,
            "/runs/{run_id}/events": self.events,
            "/runs/{run_id}/export/{name}": self.export,
            "/static/{name}": static,
        }
        post = {
            "/runs": self.ask,
            "/runs/{run_id}/cancel": self.cancel,
            "/runs/{run_id}/resume": self.resume,
            "/runs/{run_id}/approval": self.approve,
        }
        routes = [Route(path, answer, methods=["GET"]) for path, answer in get.items()]
        routes += [Route(path, answer, methods=["POST"]) for path, answer in post.items()]
        wrong: dict[Any, Any] = {HTTPException: _refused, UsageError: _unusable, Exception: _fault}
        return Starlette(routes=routes, exception_handlers=wrong, lifespan=self._open)

    @asynccontextmanager
    async def _open(self, _: Starlette) -> AsyncIterator[None]:
        self._runs.make_ready()
        yield
        await self._runs.settled(_SETTLE_S)

    async def question(self, request: Request) -> Response:
        """The form."""
        given = parse_qs(request.url.query)
        return HTMLResponse(views.ask_page(self._runs.settings, given, self._runs.under_way))

    async def ask(self, request: Request) -> Response:
        """Begin a run; what cannot be asked comes back as it was filled in."""
        given = await _form(request)
        try:
            run = await self._runs.ask(self._runs.options_with(choices(given)))
        except UsageError as error:
            form = views.ask_page(self._runs.settings, given, self._runs.under_way, str(error))
            return HTMLResponse(form, 400)
        return _to_run(run.run_id)

    async def history(self, _: Request) -> Response:
        """Every run."""
        rows = await asyncio.to_thread(rows_of, self._runs.root)
        return HTMLResponse(views.history_page(rows, self._runs.under_way))

    async def diff(self, request: Request) -> Response:
        """What changed from one run to another."""
        earlier, later = (request.query_params.get(name, "") for name in ("earlier", "later"))
        rows, lines, wrong = await asyncio.to_thread(rows_of, self._runs.root), list[str](), None
        if earlier:
            try:
                lines = await asyncio.to_thread(compared, earlier, later or None)
            except UsageError as error:
                wrong = str(error)
        return HTMLResponse(views.diff_page(rows, earlier, later, lines, wrong), 400 if wrong else 200)

    async def run(self, request: Request) -> Response:
        """A run: what goes on in it, or its report."""
        run_id = _run_id(request)
        live = self._runs.known.get(run_id)
        if live is not None and live.outcome is None:
            return HTMLResponse(run_views.live_page(live))
        return HTMLResponse(await asyncio.to_thread(_standing, run_id, self._runs.root))

    async def events(self, request: Request) -> Response:
        """What is told of a run, from where the reader left."""
        run_id = _run_id(request)
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        live = self._runs.known.get(run_id)
        stream = told(live, after) if live is not None else _gone(await asyncio.to_thread(_status, run_id))
        return StreamingResponse(stream, media_type="text/event-stream")

    async def cancel(self, request: Request) -> Response:
        """Have a run report what it found until now."""
        run_id = _run_id(request)
        if (live := self._runs.known.get(run_id)) is not None:
            live.cancel()
        return _to_run(run_id)

    async def resume(self, request: Request) -> Response:
        """Go on with a run."""
        return _to_run((await self._runs.resume(_run_id(request))).run_id)

    async def approve(self, request: Request) -> Response:
        """Say which candidates the report should deal with."""
        run_id, given = _run_id(request), await _form(request)
        live = self._runs.known.get(run_id)
        if live is None or live.request is None:
            raise UsageError("nobody is asked any more: the run decided without an answer, or has ended")
        try:
            live.answer(live.request.only(*given.get("accepted", []), reason=_one(given, "reason")))
        except ValueError as error:
            raise UsageError(f"the answer cannot be taken: {error}") from None
        return _to_run(run_id)

    async def export(self, request: Request) -> Response:
        """A run's report in one of its forms, or its material, to keep."""
        run_id, name = _run_id(request), request.path_params["name"]
        make = _material if name == WORKSPACE else _report_as
        content, file_name = await asyncio.to_thread(make, run_id, name, self._runs.root)
        kind = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
        to_keep = {"Content-Disposition": f'attachment; filename="{file_name}"'}
        return Response(content, media_type=kind, headers=to_keep)


async def serve(options: RunOptions, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve the pages until the process is asked to end.

    Args:
        options: of every run, without a question.
        host: the address to listen at; one that is not the loopback's wants a token.
        port: 0 takes a free one.
        say: told the address, and the token where one is wanted.

    Raises:
        UsageError: settings, keys or the token are at fault, or the address can't be had.
    """
    runs, named = Runs(options), token_from(os.environ, TOKEN_VARIABLE)
    is_open = host not in LOOPBACK
    with listening_at(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        say(f"Willowbark at http://{shown}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
        app: ASGIApp = Pages(runs).application()
        if named or is_open:
            token = tell_token(named, TOKEN_VARIABLE, say)
            app = Tokened(app, token, TOKEN_VARIABLE, entry=Entry(token))
        config = uvicorn.Config(
            Guarded(Sealed(app), any_name=is_open),
            log_config=None,
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=_STOP_S,
        )
        await uvicorn.Server(config).serve([listening])


class Sealed:
    """An application whose answers say what a browser may do with them."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._inner(scope, receive, sealed)


class Entry:
    """Asks browsers for the token, and has them keep what stands for it."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of somebody without the token; the style sheet is for everybody."""
        request = Request(scope, receive)
        answer: Response = HTMLResponse(tags.entry(wrong=False), 401, {"WWW-Authenticate": "Bearer"})
        if request.url.path.startswith("/static/"):
            request.scope["path_params"] = {"name": request.url.path.removeprefix("/static/")}
            answer = await static(request)
        elif request.url.path == "/token" and request.method == "POST":
            right = cookie_of(_one(await _form(request), "token").strip()) == cookie_of(self._token)
            answer = RedirectResponse("/", 303) if right else HTMLResponse(tags.entry(wrong=True), 401)
            if right:
                answer.set_cookie(COOKIE, cookie_of(self._token), httponly=True, samesite="strict")
        await answer(scope, receive, send)


async def told(run: LiveRun, after: str) -> AsyncIterator[str]:
    """What is told of a run, as server-sent events, until it ends.

    Args:
        run: under way or ended.
        after: the last event that the reader saw, `LIFE-NUMBER`; of another life, or none, they are told all of it.
    """
    life, _, number = after.partition("-")
    sent = int(number) if life == run.life and number.isdecimal() else 0
    if life and life != run.life:
        yield _event("again")
    asked = False
    while True:
        yield _event("board", html=run_views.board(run))
        if (run.request is not None) is not asked:
            asked = not asked
            yield _event("asked", html=run_views.approval(run.run_id, run.request) or "")
        lines = run.told[sent:]
        for sent, line in enumerate(lines, sent + 1):  # noqa: B020  goes on counting
            yield _event("line", f"{run.life}-{sent}", html=run_views.log_line(line))
        if run.outcome is not None and sent == len(run.told):
            yield _event("end")
            return
        if sent == len(run.told):
            await run.changed(_BEAT_S)
        await asyncio.sleep(_PAUSE_S)


async def _gone(status: str) -> AsyncIterator[str]:
    """Tells a reader that nobody here works on the run, and whether it can be gone on with."""
    yield _event("gone" if status in UNFINISHED else "end", status=status)


def _event(kind: str, number: str | None = None, **data: str) -> str:
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data)}\n\n"


async def static(request: Request) -> Response:
    """A style sheet, or the script: a page that is open needs no server to find that it is gone."""
    name = request.path_params["name"]
    if name not in tags.STATIC:
        raise HTTPException(404)
    return Response(tags.static(name), media_type=mimetypes.guess_type(name)[0], headers=_TO_KEEP)


def choices(given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The form as what `RunOptions` take; what is empty is left out.

    Raises:
        UsageError: a number that is none, or a pattern with a place left empty.
    """
    kind = _one(given, "kind")
    chosen: dict[str, Any] = {"question": _one(given, "question")}
    for known, pattern in QUESTIONS.items():
        if known == kind:
            chosen["question"] = pattern.format(**{place: " ".join(_one(given, place).split()) for place in PLACES})
            if missing := [place for place in PLACES if f"{{{place}}}" in pattern and not _one(given, place).strip()]:
                raise UsageError(f"{missing[0].replace('_', ' ')}: say which one")
    for name in ("depth", "reader", "model"):
        if value := _one(given, name).strip():
            chosen[name] = value
    for name, number in _NUMBERS.items():
        if value := _one(given, name).strip():
            try:
                chosen[name] = number(value)
            except ValueError:
                raise UsageError(f"{name.replace('_', ' ')}: {value[:40]!r} is no such number") from None
    if given.get("sources"):
        chosen["sources"] = tuple(given["sources"])
    return {**chosen, "approve": bool(given.get("approve")) or None, "fresh": bool(given.get("fresh"))}


def _one(given: Mapping[str, Sequence[str]], name: str) -> str:
    return (given.get(name) or ("",))[0]


async def _form(request: Request) -> dict[str, list[str]]:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST_FORM:
            raise HTTPException(413, "that is too long")
    return parse_qs(body.decode(errors="replace"), max_num_fields=200)


def _run_id(request: Request) -> str:
    run_id: str = request.path_params["run_id"]
    if not RUN_ID.fullmatch(run_id):
        raise HTTPException(404)
    return run_id


def _kept(run_id: str) -> Run | None:
    """The run as the ledger has it; None where it does not."""
    if not DEFAULT_PATH.is_file():
        return None
    with Ledger.existing() as ledger:
        return next((run for run in ledger.runs() if run.run_id == run_id), None)


def _status(run_id: str) -> str:
    run = _kept(run_id)
    return run.status if run else "folder only"


def _standing(run_id: str, root: Path) -> str:
    """The page of a run that this server does not work on."""
    run, assessments = _kept(run_id), list[dict[str, Any]]()
    if run is not None:
        with Ledger.existing() as ledger:
            turns = ledger.turns(run_id)
        assessments = [turn.message["content"] for turn in turns if turn.type == "AssessmentMessage"]
        if run.stop_reason is None or run.status == "running":
            return run_views.stopped_page(run_id, run.question, run.status, assessments)
    elif not (root / run_id).is_dir():
        raise HTTPException(404)
    return run_views.report_page(run_id, report_in(root, run_id), run.status if run else None, assessments)


def _report_as(run_id: str, name: str, root: Path) -> tuple[bytes, str]:
    """A report's form and its file's name."""
    file_name = format_of(name).file_name
    return render(report_in(root, run_id), name), f"{run_id}-{file_name}"


def _material(run_id: str, name: str, _: Path) -> tuple[bytes, str]:
    """A run's material as a zip file, and its name."""
    from ..faces.workspace_export import write_workspace  # noqa: PLC0415  agents take most of a second

    with tempfile.TemporaryDirectory() as place, Ledger.existing() as ledger:
        write_workspace(ledger, run_id, Path(place))
        return Path(shutil.make_archive(f"{place}/{name}", "zip", place, name)).read_bytes(), f"{run_id}-{name}.zip"


def _to_run(run_id: str) -> Response:
    return RedirectResponse(f"/runs/{run_id}", 303)


def _refused(_: Request, error: HTTPException) -> Response:
    lines = {404: "There is no such page.", 405: "That cannot be asked of this page."}
    return HTMLResponse(tags.message(lines.get(error.status_code, error.detail)), error.status_code, error.headers)


def _unusable(_: Request, error: UsageError) -> Response:
    return HTMLResponse(tags.message(str(error)), 400)


def _fault(_: Request, error: Exception) -> Response:
    return HTMLResponse(tags.message(f"A fault of Willowbark itself ({type(error).__name__})."), 500)
