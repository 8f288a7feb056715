"""ChEMBL's web services: molecules, mechanisms, indications and targets, with filters as Django writes them.

https://chembl.gitbook.io/chembl-interface-documentation/web-services. Phases are text (`"4.0"`), ids of ontologies
stand with a colon. Numbers that ChEMBL gives its own rows (`mec_id`, `drugind_id`) are left out: the library has none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Drug, Library

_DEFAULT_LIMIT, _LARGEST_LIMIT = 20, 1000
_NOT_FILTERS = frozenset({"format", "limit", "offset", "only", "order_by", "q"})

Row = dict[str, Any]
_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "exact": lambda value, wanted: value == wanted,
    "iexact": lambda value, wanted: value.lower() == wanted.lower(),
    "contains": lambda value, wanted: wanted in value,
    "icontains": lambda value, wanted: wanted.lower() in value.lower(),
    "startswith": lambda value, wanted: value.startswith(wanted),
    "istartswith": lambda value, wanted: value.lower().startswith(wanted.lower()),
    "endswith": lambda value, wanted: value.endswith(wanted),
    "iendswith": lambda value, wanted: value.lower().endswith(wanted.lower()),
    "in": lambda value, wanted: value in wanted.split(","),
    "gte": lambda value, wanted: _figure(value) >= _figure(wanted),
    "lte": lambda value, wanted: _figure(value) <= _figure(wanted),
    "gt": lambda value, wanted: _figure(value) > _figure(wanted),
    "lt": lambda value, wanted: _figure(value) < _figure(wanted),
}


class _Refused(Exception):
    """A filter that there is not; the message is the reply."""


class Tables:
    """ChEMBL's tables of the library's drugs; a drug without ChEMBL id has no rows.

    Args:
        library: holds the drugs.
    """

    def __init__(self, library: Library) -> None:
        drugs = [drug for drug in library.drugs if drug.molecule_chembl_id]
        self.molecules = [_molecule(drug) for drug in drugs]
        self.mechanisms = [row for drug in drugs for row in _mechanisms(drug)]
        self.indications = [row for drug in drugs for row in _indications(drug)]
        self.warnings = list(library.others.get("warnings", ()))
        for row in self.molecules:
            own = (each for each in self.warnings if each["parent_molecule_chembl_id"] == row["molecule_chembl_id"])
            kinds = {each["warning_type"] for each in own}
            row |= {"withdrawn_flag": "Withdrawn" in kinds, "black_box_warning": int("Black Box Warning" in kinds)}
        self.targets = list({row["target_chembl_id"]: row for drug in drugs for row in _targets(drug)}.values())


def routes(library: Library) -> list[Route]:
    """The resources below `/chembl`."""
    tables = Tables(library)
    lists: dict[str, tuple[str, list[Row], str]] = {
        "molecule": ("molecules", tables.molecules, "molecule_chembl_id"),
        "mechanism": ("mechanisms", tables.mechanisms, ""),
        "drug_indication": ("drug_indications", tables.indications, ""),
        "target": ("targets", tables.targets, "target_chembl_id"),
        "drug_warning": ("drug_warnings", tables.warnings, ""),
    }
    found: list[Route] = []
    for name, (key, rows, identity) in lists.items():
        found.append(Route(f"/chembl/{name}.json", _list(key, rows), methods=["GET"]))
        if identity:
            found.append(Route(f"/chembl/{name}/{{id}}.json", _one(rows, identity), methods=["GET"]))
    return found


def _list(key: str, rows: Sequence[Row]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        filters = [(name, value) for name, value in request.query_params.multi_items() if name not in _NOT_FILTERS]
        try:
            found = [row for row in rows if all(_passes(row, name, value, rows) for name, value in filters)]
        except _Refused as refused:
            return JSONResponse({"error_message": str(refused)}, status_code=400)
        return _page(request, key, found)

    return answer


def _one(rows: Sequence[Row], identity: str) -> Callable[[Request], Any]:
    by_id = {row[identity]: row for row in rows}

    async def answer(request: Request) -> Response:
        found = by_id.get(request.path_params["id"].upper())
        if found is None:
            return JSONResponse({"error_message": "The requested resource does not exist"}, status_code=404)
        return JSONResponse(found)

    return answer


def _page(request: Request, key: str, rows: Sequence[Row]) -> Response:
    asked = request.query_params
    limit = min(_count(asked.get("limit", ""), _DEFAULT_LIMIT), _LARGEST_LIMIT) or _LARGEST_LIMIT
    offset = _count(asked.get("offset", ""), 0)
    only = [name for name in asked.get("only", "").split(",") if name]
    page = [{name: row.get(name) for name in only} if only else row for row in rows[offset : offset + limit]]
    others = [(name, value) for name, value in asked.multi_items() if name not in ("limit", "offset")]

    def address(start: int) -> str:
        return f"{request.url.path}?{urlencode([*others, ('limit', limit), ('offset', start)])}"

    meta = {
        "limit": limit,
        "next": address(offset + limit) if offset + limit < len(rows) else None,
        "offset": offset,
        "previous": address(max(0, offset - limit)) if offset else None,
        "total_count": len(rows),
    }
    return JSONResponse({key: page, "page_meta": meta})


def _count(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() else otherwise


def _passes(row: Row, name: str, wanted: str, rows: Sequence[Row]) -> bool:
    *path, test = name.split("__")
    if test not in _TESTS and test != "isnull":
        path, test = [*path, test], "exact"
    if not path or not any(path[0] in each for each in rows):
        raise _Refused(f"The '{name}' field does not allow filtering.")
    values = list(_values(row, path))
    if test == "isnull":
        return (not values) is (wanted.lower() in ("true", "1"))
    if test == "exact" and path[-1].startswith("max_phase"):
        return any(_figure(value) == _figure(wanted) for value in values)
    return any(_TESTS[test](value, wanted) for value in values)


def _values(node: Any, path: Sequence[str]) -> Iterator[str]:
    """The texts at a path through objects and lists."""
    if isinstance(node, list):
        for each in node:
            yield from _values(each, path)
    elif path and isinstance(node, dict):
        yield from _values(node.get(path[0]), path[1:])
    elif not path and node is not None:
        yield str(node)


def _figure(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _phase(phase: float | None) -> str | None:
    return None if phase is None else f"{phase:.1f}"


def _molecule(drug: Drug) -> Row:
    own = drug.molecule_chembl_id
    synonyms = ({"molecule_synonym": name, "syn_type": "OTHER", "synonyms": name.upper()} for name in drug.synonyms)
    return {
        "first_approval": drug.first_approval,
        "max_phase": _phase(drug.max_phase),
        "molecule_chembl_id": own,
        "molecule_hierarchy": {"active_chembl_id": own, "molecule_chembl_id": own, "parent_chembl_id": own},
        "molecule_synonyms": list(synonyms),
        "molecule_type": drug.molecule_type,
        "pref_name": drug.name,
    }


def _mechanisms(drug: Drug) -> Iterator[Row]:
    for mechanism in drug.mechanisms:
        yield {
            "action_type": mechanism.action_type,
            "max_phase": None if drug.max_phase is None else int(drug.max_phase),
            "mechanism_comment": None,
            "mechanism_of_action": mechanism.mechanism_of_action,
            "mechanism_refs": [],
            "molecule_chembl_id": drug.molecule_chembl_id,
            "parent_molecule_chembl_id": drug.molecule_chembl_id,
            "target_chembl_id": mechanism.target_chembl_id,
        }


def _indications(drug: Drug) -> Iterator[Row]:
    for indication in drug.indications:
        yield {
            "efo_id": indication.efo_id.replace("_", ":") if indication.efo_id else None,
            "efo_term": indication.efo_term,
            "indication_refs": [],
            "max_phase_for_ind": _phase(indication.max_phase),
            "mesh_heading": indication.mesh_heading,
            "mesh_id": indication.mesh_id,
            "molecule_chembl_id": drug.molecule_chembl_id,
            "parent_molecule_chembl_id": drug.molecule_chembl_id,
        }


def _targets(drug: Drug) -> Iterator[Row]:
    for mechanism in drug.mechanisms:
        if mechanism.target_chembl_id is None:
            continue
        components = [
            {
                "accession": accession,
                "component_type": "PROTEIN",
                "target_component_synonyms": [{"component_synonym": symbol, "syn_type": "GENE_SYMBOL"}],
            }
            for symbol, accession in zip(mechanism.gene_symbols, mechanism.uniprot_ids, strict=False)
        ]
        yield {
            "pref_name": mechanism.target_name,
            "target_chembl_id": mechanism.target_chembl_id,
            "target_components": components,
            "target_type": "SINGLE PROTEIN" if len(components) == 1 else None,
        }
