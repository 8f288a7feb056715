"""`python -m faults.bent`: replies bent in the ways that public interfaces change, and the share that the doctor names.

Six ways: a field renamed, a list for one value, a code more, a permanent redirect to a new path, a 400 with a reason,
and a web page. Fields are bent where that changes what the parser gives, one at a time, wherever they occur.
"""

import argparse
import asyncio
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import httpx
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from willowbark.tools.contracts.contact import Contact, contact_sources
from willowbark.tools.contracts.known_items import asked_sources, known_item
from willowbark.tools.errors import SearchError
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.transport import Transport

from .replies import answer, asked_by
from .server import SourceServer

BendKind = Literal["renamed", "list for one", "code more", "moved", "refused", "web page"]
KINDS: tuple[BendKind, ...] = ("renamed", "list for one", "code more", "moved", "refused", "web page")
DUE = 0.95
CODED: Mapping[str, Sequence[str]] = {
    "clinicaltrials": (
        "overallStatus studyType phases allocation masking primaryPurpose armGroups.type interventions.type"
        " references.type outcomeMeasures.type nonInferiorityType"
    ).split(),
    "pubmed": ("ValidYN", "IdType"),
    "europepmc": ("result.source",),
    "opentargets": ("entity", "maxClinicalStage", "maximumClinicalStage", "actionType"),
    "chembl": ("action_type", "molecule_type", "target_component_synonyms.syn_type"),
    "uniprot": ("commentType", "uniProtKBCrossReferences.database", "scientificName"),
    "reactome": ("speciesName",),
    "mychem": ("action_type", "molecule_type"),
    "drugsfda": ("marketing_status", "submission_type", "submission_status", "reference_drug"),
    "crossref": ("updated-by.type", "updated-by.source"),
    "biorxiv": ("messages.status",),
}
"""Fields that hold a code, by the end of their path; openFDA's labels and OpenAlex's look-ups have none."""
_REASON = "the parameter 'format' is no longer supported"
_ATTRIBUTE = re.compile(r'\b([A-Za-z]+)="([^"]*)"')
_TAG = re.compile(r"<([A-Za-z]+)[\s>]")
_LISTED_TAGS = frozenset({"Author", "AbstractText", "PublicationType", "PubmedArticle", "ArticleId"})
"""Elements of which there may be several, so that two in place of one are no change."""
Change = Callable[[bytes], bytes]
Path = tuple[str, ...]
"""Names of fields from the top; lists count as their entries."""


@dataclass(frozen=True, slots=True)
class Bend:
    """One way in which the replies to one request are bent."""

    source: str
    kind: BendKind
    request: str
    """What is asked, as `_key_of` says."""
    field: str = ""
    """Path of the field; empty where a whole reply is bent."""
    change: Change | None = None

    def is_named_by(self, contact: Contact) -> bool:
        """Whether the doctor's line names the source and what was bent."""
        told = " ".join(contact.details)
        place = self.request.split()[0]
        if self.kind == "moved":
            return place in told and "permanent redirect" in told
        if self.kind == "refused":
            return contact.outcome == "refused" and _REASON in told and "400" in told
        if self.kind == "web page":
            return contact.outcome == "not understood" and place in told and "web page" in told
        return contact.outcome == "not understood" and re.search(rf"\b{re.escape(self.field)}\b", told) is not None


class BendingServer(SourceServer):
    """Recorded replies, of which those to one request of each source are bent."""

    def __init__(self) -> None:
        super().__init__(around=self._bend)
        self.bends = dict[str, Bend]()

    def _bend(self, app: ASGIApp) -> ASGIApp:
        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            path = scope["path"].replace("/v9/", "/")
            body = await Request(scope, receive).body()

            async def resend() -> dict[str, object]:
                return {"type": "http.request", "body": body, "more_body": False}

            bend = self.bends.get(path.lstrip("/").partition("/")[0])
            if bend is None or bend.request != _key_of(path, body):
                await app(scope, resend, send)
            elif bend.kind == "moved" and scope["path"] != path:
                await app({**scope, "path": path}, resend, send)
            elif bend.change is not None:
                await _answer_changed(app, scope, resend, send, bend.change)
            else:
                await _bend_whole(bend, scope)(scope, resend, send)

        return respond


def _bend_whole(bend: Bend, scope: Scope) -> Response:
    if bend.kind == "moved":
        source, _, rest = scope["path"].lstrip("/").partition("/")
        query = scope["query_string"].decode("latin-1")
        return RedirectResponse(f"/{source}/v9/{rest}?{query}", status_code=301)
    if bend.kind == "refused":
        return PlainTextResponse(_REASON, 400)
    return HTMLResponse("<!DOCTYPE html><html><head><title>New portal</title></head><body>Welcome</body></html>")


async def _answer_changed(app: ASGIApp, scope: Scope, receive: Receive, send: Send, change: Change) -> None:
    """Answer with the recorded reply changed."""
    started: dict[str, Any] = {}
    parts = list[bytes]()

    async def keep(message: Any) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
        else:
            parts.append(message.get("body", b""))

    plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
    await app({**scope, "headers": plain}, receive, keep)
    kind = MutableHeaders(raw=list(started["headers"])).get("content-type")
    await Response(change(b"".join(parts)), started["status"], media_type=kind)(scope, receive, send)


def _key_of(path: str, body: bytes) -> str:
    """Name what is asked: the path, and the name of a GraphQL query."""
    query = re.search(rb"query (\w+)", body)
    path = path.replace("/pubs/biorxiv/", "/pubs/medrxiv/")  # its two servers change alike
    return f"{path} {query[1].decode()}" if query else path


def list_bends(source: str) -> Iterator[Bend]:
    """Yield every bend of a source's replies to the doctor's question that changes what comes of them."""
    bodies = dict[str, bytes]()
    expected = _ask(source, {}, bodies)
    for request, body in bodies.items():
        for kind in ("moved", "refused", "web page"):
            yield Bend(source, kind, request)
        is_json = body.lstrip()[:1] in (b"{", b"[")
        makers = _json_changes(json.loads(body)) if is_json else _xml_changes(body.decode())
        for kind, field, change in makers:
            if kind == "code more":
                is_meant = any(_ends_with(field, end) for end in CODED.get(source, ()))
            else:
                is_meant = _ask(source, {request: change}) != expected
            if is_meant:
                yield Bend(source, kind, request, field.rpartition(".")[2], change)


def _ends_with(field: str, end: str) -> bool:
    return f".{field}".endswith(f".{end}")


def _ask(source: str, changes: Mapping[str, Change], bodies: dict[str, bytes] | None = None) -> str:
    """Return what comes of a source's question, in words, with some replies changed; `bodies` gets the replies."""

    def respond(request: httpx.Request) -> httpx.Response:
        kind = request.headers.get("content-type", "")
        path = request.url.path
        reply = answer(asked_by(request.method, path, request.url.query.decode(), request.content, kind))
        key = _key_of(path, request.content)
        # the first reply stands for all to the same request: ChEMBL's second one, by synonym, is empty
        body = reply.body
        if bodies is not None:
            bodies.setdefault(key, body)
        if key in changes:
            body = changes[key](body)
        return httpx.Response(reply.status, headers={"content-type": reply.kind}, content=body)

    async def ask() -> str:
        options: Any = {"limiter": RateLimiter(None), "policy": RetryPolicy(attempts=1)}
        endpoints = Endpoints.at("http://127.0.0.1:1")
        async with Transport(endpoints, network=httpx.MockTransport(respond), **options) as transport:
            return repr(await known_item(source).ask(transport))

    try:
        return asyncio.run(ask())
    except SearchError as error:
        return error.reason
    except Exception as error:  # noqa: BLE001  what no parser foresaw differs too
        return type(error).__name__


def _json_changes(data: Any) -> Iterator[tuple[BendKind, str, Change]]:
    for path, value in _list_paths(data):
        field = ".".join(path)
        yield (
            "renamed",
            field,
            _in_json(path, lambda holder, name: {_new_name(key, name): holder[key] for key in holder}),
        )
        if not isinstance(value, list):
            yield "list for one", field, _in_json(path, lambda holder, name: {**holder, name: [holder[name]]})
        if isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            yield "code more", field, _in_json(path, lambda holder, name: {**holder, name: _new_code(holder[name])})


def _new_name(key: str, name: str) -> str:
    return f"{key}V2" if key == name else key


def _new_code(value: Any) -> Any:
    return [_new_code(each) for each in value] if isinstance(value, list) else f"{value}_NEW"


def _list_paths(data: Any) -> list[tuple[Path, Any]]:
    """Return the path of each field, once, with a value it holds."""
    found = dict[Path, Any]()

    def visit(node: Any, path: Path) -> None:
        if isinstance(node, list):
            for each in node:
                visit(each, path)
        if isinstance(node, dict):
            for name, value in node.items():
                found.setdefault((*path, name), value)
                visit(value, (*path, name))

    visit(data, ())
    return list(found.items())


def _in_json(path: Path, change: Callable[[dict[str, Any], str], dict[str, Any]]) -> Change:
    """Return a change of a reply that changes the object that holds a field, wherever there is one."""

    def visit(node: Any, rest: Path) -> Any:
        if isinstance(node, list):
            return [visit(each, rest) for each in node]
        if not isinstance(node, dict) or rest[0] not in node:
            return node
        if len(rest) == 1:
            return change(node, rest[0])
        return {**node, rest[0]: visit(node[rest[0]], rest[1:])}

    return lambda body: json.dumps(visit(json.loads(body), path)).encode()


def _xml_changes(text: str) -> Iterator[tuple[BendKind, str, Change]]:
    for tag in dict.fromkeys(_TAG.findall(text)):
        if tag.endswith("Set"):
            continue
        element = rf"(?s)(<{tag}\b[^>]*>.*?</{tag}>)".encode()
        yield "renamed", tag, _replace(rf"(</?){tag}\b".encode(), rb"\g<1>" + tag.encode() + b"V2")
        if tag not in _LISTED_TAGS:
            yield "list for one", tag, _replace(element, rb"\1\1")
    for name, _ in dict.fromkeys(_ATTRIBUTE.findall(text.partition("<PubmedArticleSet>")[2])):
        yield "code more", name, _replace(rf'\b{name}="([^"]*)"'.encode(), name.encode() + rb'="\g<1>_NEW"')


def _replace(pattern: bytes, replacement: bytes) -> Change:
    return lambda body: re.sub(pattern, replacement, body)


def sample_bends(bends: Sequence[Bend], share: float, seed: int) -> list[Bend]:
    """Choose a share of each source's bends of each kind, at least one."""
    groups = defaultdict[tuple[str, str], list[Bend]](list)
    for bend in bends:
        groups[bend.source, bend.kind].append(bend)
    choice = random.Random(seed)
    return [bend for group in groups.values() for bend in choice.sample(group, max(1, round(share * len(group))))]


def measure(bends: Sequence[Bend]) -> list[tuple[Bend, Contact]]:
    """Have the doctor ask the sources over loopback, with one bend of each source at a time."""
    by_source = defaultdict[str, list[Bend]](list)
    for bend in bends:
        by_source[bend.source].append(bend)
    results = list[tuple[Bend, Contact]]()
    with BendingServer() as server:
        endpoints = Endpoints.at(server.url)
        for row in zip_longest(*by_source.values()):
            server.bends = {bend.source: bend for bend in row if bend is not None}
            contacts = asyncio.run(contact_sources(server.bends, endpoints))
            results += [(server.bends[contact.source], contact) for contact in contacts]
    return results


def main(arguments: list[str] | None = None) -> int:
    """Bend, measure and print; 1 if the share named falls short."""
    parser = argparse.ArgumentParser(prog="python -m faults.bent", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="SOURCE", choices=asked_sources(), default=asked_sources())
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="share of the bends, such as 0.1")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--unnamed", action="store_true", help="print each that is not named, with what was said")
    options = parser.parse_args(arguments)
    bends = [bend for source in options.only for bend in list_bends(source)]
    results = measure(sample_bends(bends, options.scale, options.seed))
    totals, named = Counter[str](), Counter[str]()
    for bend, contact in results:
        is_named = bend.is_named_by(contact)
        for group in (bend.kind, bend.source):
            totals[group] += 1
            named[group] += is_named
        if options.unnamed and not is_named:
            print(f"unnamed: {bend.source} {bend.kind} {bend.request} {bend.field}: {contact.line}")
    for group in (*KINDS, *options.only):
        print(f"{group:16} {named[group]:4} of {totals[group]:4}")
    share = sum(named[kind] for kind in KINDS) / len(results)
    print(f"named with source and field: {share:.1%} of {len(results)} (due {DUE:.0%})")
    return int(share < DUE)


if __name__ == "__main__":
    sys.exit(main())
