"""Running AutoGen Studio with Willowbark in it: on loopback, in an app folder of its own.

Studio has no password of its own, and whoever reaches it can load any component: it listens on the loopback alone.
Studio 0.4.2.2 also takes a WebSocket from any page that the user's browser has open, and a run's team may hold code: it
is served closed to other web sites.
"""

import importlib
import importlib.metadata
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from willowbark.tools.errors import UsageError, WillowbarkError
from willowbark.tools.library import BUNDLED, VARIABLE

from ..model_clients import BASELINE
from ..page.guard import Guarded
from ..run.options import RunOptions
from . import studio as files

STUDIO_VERSION = "0.4.2.2"
"""The one release of Studio that runs on AutoGen 0.7.5."""
USER = "guestuser@gmail.com"  # Studio's name for whoever uses it without a login
HOST = "127.0.0.1"
PORT = 8081  # Studio's own
START_S = 90.0  # from starting the process to its first answer; 8 s where nothing else runs
REQUEST_S = 30.0
_HEAD_ENDS = b"</head>"
STYLE = b"""<style>
.flex-1{min-width:0}
.break-all{word-break:normal;overflow-wrap:break-word}
.break-all :is(th,td){padding-right:.75rem;text-align:left}
.space-y-2>.relative.pl-3.rounded{display:flex;gap:.75rem;padding-top:.1rem;padding-bottom:.1rem}
.space-y-2>.relative.pl-3.rounded>.font-medium{flex:none;padding-top:.2rem}
.space-y-2>.relative.pl-3.rounded>.relative{flex:1;min-width:0;display:flex;align-items:start}
.space-y-2>.relative.pl-3.rounded>.relative>div:first-child{flex:1;min-width:0;margin:0;padding:.2rem .5rem;border:0}
.space-y-2>.relative.pl-3.rounded>.relative>.mt-2{margin:0}
.space-y-2>.relative.pl-3.rounded>.relative button{padding:.2rem}
.space-y-2>.relative.pl-3.rounded>.relative:not(:has([aria-label="Show less"]))>div:first-child *{
white-space:nowrap;overflow:hidden;text-overflow:ellipsis;margin:0}
.space-y-2>.relative.pl-3.rounded .bg-gradient-to-t{display:none}
</style>"""
"""Studio grows its page to the longest address in a message, so that buttons stand outside the window, and breaks words
at any letter; a tool's call or result takes a screen where one line will do, until it is opened."""
_SAME_CLASS = b"function r(e,t){return e.provider===t}"
_OUR_CLASSES = b"""function r(e,t){return e.provider===t||"autogen_agentchat.agents.AssistantAgent"===t&&\
/^willowbark\\.agents\\.(specialist|judge|reporter)\\./.test(e.provider)&&"agent"===e.component_type}"""
"""Builder draws model and tools of what it takes for an assistant; of a class that it does not know, only the name."""
_CHANGES = {
    "text/html": (_HEAD_ENDS, STYLE + _HEAD_ENDS),
    "text/javascript": (_SAME_CLASS, _OUR_CLASSES),
    "application/javascript": (_SAME_CLASS, _OUR_CLASSES),
}
_IMPORTED = "willowbark-imported.json"  # in the app folder: later starts leave what the user made of it


class StudioFailed(WillowbarkError):
    """Studio did not start, or did not take the gallery or the team."""


def installed_version() -> str | None:
    """The version of AutoGen Studio here; None where there is none."""
    try:
        return importlib.metadata.version("autogenstudio")
    except importlib.metadata.PackageNotFoundError:
        return None


def check_version(found: str | None) -> None:
    """Pass the one version that works.

    Raises:
        UsageError: another version, or none.
    """
    if found == STUDIO_VERSION:
        return
    if found is None:
        raise UsageError("AutoGen Studio is not installed here; `make studio` sets it up in an environment of its own")
    why = "it has an endpoint that runs anybody's commands" if found.startswith("0.4.3") else "it needs another AutoGen"
    raise UsageError(f"AutoGen Studio {found} is refused: {why}; `make studio` sets up {STUDIO_VERSION}")


def start(
    folder: Path,
    *,
    port: int = PORT,
    model: str = BASELINE,
    live: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Run Studio until it is interrupted.

    Args:
        folder: Studio's app folder; its database and the exported files are put there.
        port: of the loopback; 0 takes a free one.
        model: of the teams that are imported at the first start.
        live: search the public sources; else the library that `WILLOWBARK_LIBRARY__PATH` names, or the bundled one.
        say: takes lines for the user.

    Raises:
        UsageError: another version of Studio, a port that is taken, no such model.
        StudioFailed: Studio does not answer, or refuses the import.
    """
    check_version(installed_version())
    exports = files.export(folder / "willowbark", RunOptions(model=model))
    with ExitStack() as stack:
        stack.enter_context(_until_terminated())
        environ = _environment(live)
        url = stack.enter_context(_studio(folder, _free_port(port), environ))
        bring_in(url, folder, exports[0], exports[-1])
        say(f"AutoGen Studio at {url} (Ctrl-C ends it)")
        say(f"Sources: {'the public ones' if live else f'the library {environ[VARIABLE]}'}")
        say(f"Files for other Studios: {exports[0].parent}")
        sys.stdout.flush()
        signal.pause()


def bring_in(url: str, folder: Path, team_file: Path, gallery_file: Path) -> None:
    """Import gallery and team through Studio's API, at the first start of an app folder.

    Raises:
        StudioFailed: Studio refuses one of them.
    """
    note = folder / _IMPORTED
    if note.exists():
        return
    team = json.loads(team_file.read_text(encoding="utf-8"))
    gallery = json.loads(gallery_file.read_text(encoding="utf-8"))
    with httpx.Client(base_url=f"{url}/api", timeout=REQUEST_S, trust_env=False) as client:
        _get(client, "/gallery/")  # Studio puts its own gallery in where there is none
        _post(client, "/gallery/", {"user_id": USER, "config": gallery})
        taken = [_post(client, "/teams/", {"user_id": USER, "component": made}) for made in (files.stock_team(), team)]
    note.write_text(json.dumps({"teams": [made.get("id") for made in taken]}) + "\n", encoding="utf-8")


def _get(client: httpx.Client, path: str) -> None:
    _answer(client.get(path, params={"user_id": USER}), path)


def _post(client: httpx.Client, path: str, content: files.Json) -> files.Json:
    data = _answer(client.post(path, json=content), path)
    return data if isinstance(data, dict) else {}


def _answer(response: httpx.Response, path: str) -> object:
    if response.status_code != httpx.codes.OK or not response.json().get("status"):
        raise StudioFailed(f"Studio refused {path} ({response.status_code}): {response.text[:200]}")
    return response.json().get("data")


def _environment(live: bool) -> dict[str, str]:
    """Studio's environment; it names the library that is searched."""
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return environ if live else {**environ, VARIABLE: os.environ.get(VARIABLE, "").strip() or BUNDLED}


@contextmanager
def _studio(folder: Path, port: int, environ: Mapping[str, str]) -> Iterator[str]:
    """Studio in a process of its own; gives its address when it answers, stops it at the end."""
    url, log = f"http://{HOST}:{port}", folder / "studio.log"
    own = {
        "AUTOGENSTUDIO_APPDIR": str(folder.resolve()),
        "AUTOGENSTUDIO_HOST": HOST,
        "AUTOGENSTUDIO_PORT": str(port),
        "AUTOGENSTUDIO_API_DOCS": "false",
    }
    # Studio's own command writes these settings into the home folder, where a second Studio would read them; uvicorn's
    # would look for us in the app folder, where the exported files stand under our name
    served = f"import uvicorn; uvicorn.run('{__name__}:page', factory=True, host='{HOST}', port={port})"
    command = [sys.executable, "-P", "-c", served]
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(  # noqa: S603  our own interpreter, no shell
            command, cwd=folder, env={**environ, **own}, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait(url, process, log)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_S
    with httpx.Client(timeout=REQUEST_S, trust_env=False) as client:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                client.get(f"{url}/api/version").raise_for_status()
                return
            except httpx.HTTPError:
                time.sleep(0.2)
    raise StudioFailed(f"AutoGen Studio did not start; {log} tells why")


def _free_port(port: int) -> int:
    """The port, or a free one for 0.

    Raises:
        UsageError: it is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UsageError(f"port {port} can't be had ({error.strerror}); name another with --port") from None
        return int(probe.getsockname()[1])


@contextmanager
def _until_terminated() -> Iterator[None]:
    """Let a termination end the program as an interrupt does, so that what it started is stopped."""

    def interrupted(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Restyled:
    """An application whose pages carry `STYLE` at the end of their head, and whose Builder knows our agents."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; only pages and scripts differ from the inner application's."""
        if scope["type"] == "http":
            await self._inner(scope, receive, _Whole(send))
        else:
            await self._inner(scope, receive, send)


class _Whole:
    """A response on its way: a page or script is held back until it is whole, anything else passes."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200 and _kind(message) in _CHANGES:
            self._start = message
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)
        else:
            await self._send(message)

    async def _finish(self, start: Message) -> None:
        changed = self._body.replace(*_CHANGES[_kind(start)], 1)
        MutableHeaders(scope=start)["content-length"] = str(len(changed))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": changed})


def _kind(start: Message) -> str:
    return MutableHeaders(scope=start).get("content-type", "").partition(";")[0]


def page() -> ASGIApp:
    """Studio with guard, style and our agents in Builder; for `uvicorn --factory`.

    Raises:
        ImportError: AutoGen Studio is not installed.
    """
    studio: Any = importlib.import_module("autogenstudio.web.app")
    return Guarded(Restyled(studio.app))
