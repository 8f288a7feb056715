"""ClinicalTrials.gov's API, version 2: `studies` with its filters and page tokens, `studies/{nct_id}`.

https://clinicaltrials.gov/data-api/api. A refusal is 400 with one line of plain text. `fields` takes paths through a
study (`protocolSection.designModule`); piece names (`DesignAllocation`) are taken by the public registry alone.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from willowbark.tools.evidence import checked_identifier

from ..library import Library, Trial
from ..matching import Document, Index
from ..syntax import Combined, Node, QueryError, parse

_DEFAULT_PAGE, _LARGEST_PAGE = 10, 1000
_QUERIES: Mapping[str, str | None] = {
    "query.term": None,
    "query.cond": "condition",
    "query.intr": "intervention",
    "query.titles": "title",
    "query.outc": "outcome",
    "query.spons": "sponsor",
    "query.lead": "sponsor",
    "query.id": "nctid",
    "query.patient": None,
}
"""What each searches; None for the default fields."""
_KNOWN = frozenset(
    "filter.overallStatus filter.ids filter.advanced fields sort countTotal pageSize pageToken format"
    " markupFormat".split()
)
_STATUSES = frozenset(
    "ACTIVE_NOT_RECRUITING COMPLETED ENROLLING_BY_INVITATION NOT_YET_RECRUITING RECRUITING SUSPENDED TERMINATED"
    " WITHDRAWN UNKNOWN AVAILABLE NO_LONGER_AVAILABLE TEMPORARILY_NOT_AVAILABLE APPROVED_FOR_MARKETING WITHHELD".split()
)
_DEFAULT = ("title", "summary", "condition", "intervention", "keyword", "mesh", "outcome", "sponsor", "arm", "nctid")
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "basicsearch": _DEFAULT,
    "conditionsearch": ("condition", "title", "mesh", "keyword"),
    "condition": ("condition", "title", "mesh", "keyword"),
    "conditionmeshterm": ("mesh",),
    "interventionsearch": ("intervention", "title", "arm", "mesh"),
    "intervention": ("intervention", "title", "arm", "mesh"),
    "interventionname": ("intervention",),
    "interventiontype": ("interventiontype",),
    "brieftitle": ("title",),
    "officialtitle": ("title",),
    "briefsummary": ("summary",),
    "primaryoutcomemeasure": ("outcome",),
    "leadsponsorname": ("sponsor",),
    "nctid": ("nctid",),
    "phase": ("phase",),
    "studytype": ("studytype",),
    "overallstatus": ("status",),
    "hasresults": ("hasresults",),
    "designallocation": ("allocation",),
    "startdate": ("startdate",),
    "primarycompletiondate": ("primarycompletiondate",),
    "completiondate": ("completiondate",),
}
_FIELD = re.compile(
    r"hasResults|protocolSection(\.[a-z][A-Za-z]*Module(\.[a-z][A-Za-z]*)*)?"
    r"|(derived|results|document|annotation)Section(\.[a-z][A-Za-z]*(\.[a-z][A-Za-z]*)*)?"
)
_SORTS = frozenset({"@relevance", "StartDate", "LastUpdatePostDate", "EnrollmentCount", "NCTId"})


class _Refused(Exception):
    """The request is at fault; the message is the reply."""


class Trials:
    """All trials and their index.

    Args:
        library: holds them.
    """

    def __init__(self, library: Library) -> None:
        self.by_id: dict[str, Trial] = {trial.nct_id: trial for trial in library.trials}
        self.index = Index(map(_document, library.trials), default=_DEFAULT, aliases=_ALIASES)


def routes(library: Library) -> list[Route]:
    """The two resources below `/clinicaltrials`."""
    trials = Trials(library)

    async def studies(request: Request) -> Response:
        try:
            return JSONResponse(_page(trials, request.query_params))
        except _Refused as refused:
            return PlainTextResponse(str(refused), status_code=400)

    async def study(request: Request) -> Response:
        nct_id = request.path_params["nct_id"].upper()
        if checked_identifier("nct_id", nct_id) != nct_id:
            return PlainTextResponse(f"Incorrect format of NCT number: {nct_id}", status_code=400)
        if nct_id not in trials.by_id:
            return PlainTextResponse(f"NCT number {nct_id} not found", status_code=404)
        try:
            return JSONResponse(_selected(trials.by_id[nct_id].study, _fields(request.query_params)))
        except _Refused as refused:
            return PlainTextResponse(str(refused), status_code=400)

    return [
        Route("/clinicaltrials/studies", studies, methods=["GET"]),
        Route("/clinicaltrials/studies/{nct_id}", study, methods=["GET"]),
    ]


def _page(trials: Trials, asked: Mapping[str, str]) -> dict[str, Any]:
    if unknown := [name for name in asked if name not in _KNOWN and name not in _QUERIES and name != "query.locn"]:
        raise _Refused(f"Unknown parameter: `{unknown[0]}`")
    found = _found(trials, asked)
    size = _size(asked.get("pageSize", ""))
    token = asked.get("pageToken", "")
    start = _start(token) if token else 0
    page: dict[str, Any] = {}
    if asked.get("countTotal") == "true" and not token:
        page["totalCount"] = len(found)
    fields = _fields(asked)
    page["studies"] = [_selected(trials.by_id[nct_id].study, fields) for nct_id in found[start : start + size]]
    if start + size < len(found):
        page["nextPageToken"] = _token(start + size)
    return page


def _fields(asked: Mapping[str, str]) -> list[list[str]]:
    """The paths of the fields that are asked for; none for whole studies."""
    paths = _listed(asked.get("fields", ""))
    if unknown := [path for path in paths if not _FIELD.fullmatch(path)]:
        raise _Refused(f"Parameter `fields` contains invalid field name: `{unknown[0]}`")
    return [path.split(".") for path in paths]


def _selected(study: Mapping[str, Any], fields: list[list[str]]) -> dict[str, Any]:
    """A study with what stands at the paths; the whole of it without any."""
    if not fields:
        return dict(study)
    found: dict[str, Any] = {}
    for *above, last in fields:
        source: Any = study
        for name in above:
            source = source.get(name, {})
        if last in source:
            place = found
            for name in above:
                place = place.setdefault(name, {})
            place[last] = source[last]
    return found


def _found(trials: Trials, asked: Mapping[str, str]) -> list[str]:
    """The numbers of the studies that all queries and filters let through, in the order asked for."""
    node: Node | None = None
    for name, scope in _QUERIES.items():
        if asked.get(name, "").strip():
            part = _parsed(asked[name], name, trials.index, scope)
            node = part if node is None or part is None else Combined("AND", node, part)
    found = trials.index.search(node) if node is not None else sorted(trials.by_id)
    if asked.get("filter.advanced", "").strip():
        allowed = set(trials.index.search(_parsed(asked["filter.advanced"], "filter.advanced", trials.index, None)))
        found = [nct_id for nct_id in found if nct_id in allowed]
    if statuses := _listed(asked.get("filter.overallStatus", "")):
        if unknown := [status for status in statuses if status not in _STATUSES]:
            raise _Refused(f"`filter.overallStatus` parameter has incorrect value: {unknown[0]}")
        found = [nct_id for nct_id in found if _at(trials.by_id[nct_id].study, "status", "overallStatus") in statuses]
    if ids := _listed(asked.get("filter.ids", "")):
        if unknown := [each for each in ids if each.upper() not in trials.by_id]:
            raise _Refused(f"`filter.ids` parameter has incorrect value: {unknown[0]}")
        found = [nct_id for nct_id in found if nct_id in {each.upper() for each in ids}]
    return _sorted(trials, found, asked.get("sort", ""))


def _parsed(query: str, name: str, index: Index, scope: str | None) -> Node | None:
    """Read a query within a field.

    Raises:
        _Refused: it is not well formed, or names an area that there is not.
    """
    areas = (part.partition("]")[0] for part in query.split("AREA[")[1:])
    if unknown := [area for area in areas if not index.knows_field(area.lower())]:
        raise _Refused(f"Unknown area name: `{unknown[0]}`")
    try:
        return parse(f"AREA[{scope}]({query})" if scope else query, strict=True)
    except QueryError as error:
        raise _Refused(f"Error parsing query in `{name}`: {error}") from error


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.replace("|", ",").split(",") if each.strip()]


def _size(text: str) -> int:
    if text and not (text.isascii() and text.isdecimal()):
        raise _Refused("`pageSize` parameter has incorrect value")
    return max(1, min(int(text), _LARGEST_PAGE)) if text else _DEFAULT_PAGE


def _token(start: int) -> str:
    return base64.urlsafe_b64encode(f"from {start}".encode()).decode().rstrip("=")


def _start(token: str) -> int:
    try:
        said = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode()
        return int(said.removeprefix("from "))
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise _Refused("`pageToken` parameter has incorrect value") from None


def _sorted(trials: Trials, found: list[str], sort: str) -> list[str]:
    for order in reversed(_listed(sort)):
        name, _, direction = order.partition(":")
        if name not in _SORTS:
            raise _Refused(f"`sort` parameter contains invalid field name: {name}")
        if name != "@relevance":
            keys = {nct_id: _sort_key(trials.by_id[nct_id].study, name) for nct_id in found}
            found = sorted(found, key=keys.__getitem__, reverse=direction == "desc")
    return found


def _sort_key(study: Mapping[str, Any], name: str) -> str:
    if name == "StartDate":
        return str((_at(study, "status", "startDateStruct") or {}).get("date", ""))
    if name == "EnrollmentCount":
        return str((_at(study, "design", "enrollmentInfo") or {}).get("count", "")).zfill(9)
    return str(_at(study, "identification", "nctId"))


def _at(study: Mapping[str, Any], module: str, field: str) -> Any:
    """A field of a protocol module; None where either is absent."""
    return study["protocolSection"].get(f"{module}Module", {}).get(field)


def _document(trial: Trial) -> Document:
    study = trial.study
    arms = study["protocolSection"].get("armsInterventionsModule", {})
    interventions = arms.get("interventions", [])
    names = [name for each in interventions for name in (each.get("name"), *each.get("otherNames", []))]
    derived = study.get("derivedSection", {})
    meshes = (mesh["term"] for module in derived.values() for mesh in module.get("meshes", []))
    outcomes = _at(study, "outcomes", "primaryOutcomes") or []
    dates = {
        name.lower(): struct["date"]
        for name in ("startDate", "primaryCompletionDate", "completionDate")
        if (struct := _at(study, "status", f"{name}Struct")) and struct.get("date")
    }
    identity = [_at(study, "identification", name) for name in ("briefTitle", "officialTitle", "acronym")]
    return Document(
        id=trial.nct_id,
        fields={
            "title": _text(identity),
            "summary": _text([_at(study, "description", "briefSummary")]),
            "condition": _text(_at(study, "conditions", "conditions")),
            "keyword": _text(_at(study, "conditions", "keywords")),
            "intervention": _text(names),
            "interventiontype": _text(each.get("type") for each in interventions),
            "arm": _text(each.get("label") for each in arms.get("armGroups", [])),
            "mesh": _text(meshes),
            "outcome": _text(each.get("measure") for each in outcomes),
            "sponsor": _text([(_at(study, "sponsorCollaborators", "leadSponsor") or {}).get("name")]),
            "nctid": trial.nct_id,
            "phase": _text(_at(study, "design", "phases")),
            "studytype": _text([_at(study, "design", "studyType")]),
            "status": _text([_at(study, "status", "overallStatus")]),
            "allocation": _text([(_at(study, "design", "designInfo") or {}).get("allocation")]),
            "hasresults": str(study.get("hasResults", False)).lower(),
        },
        dates=dates,
    )


def _text(parts: Iterable[str | None] | None) -> str:
    return " | ".join(part for part in parts or () if part)
