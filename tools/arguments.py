"""Arguments of searches and tools: lenient in what clients and models write, strict in what is offered to them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from autogen_core.tools import ParametersSchema, ToolSchema
from pydantic.fields import FieldInfo

_REFUSED_BY_STRICT = frozenset(
    "title default format pattern minLength maxLength minimum maximum minItems maxItems".split()
)
"""Keywords that OpenAI's strict mode refuses: https://platform.openai.com/docs/guides/structured-outputs"""
_BETWEEN = re.compile(r"\s*(?:[,;|/&+]|\bor\b|\band\b)\s*", re.IGNORECASE)
_MARKS = re.compile(r"[^A-Z0-9]+")
_ROMAN = {"I": "1", "II": "2", "III": "3", "IV": "4"}


def is_absent(value: object) -> bool:
    """Whether an argument says nothing: None, a blank text, an empty list or one of blanks."""
    if isinstance(value, list | tuple):
        return all(is_absent(each) for each in value)
    return value is None or (isinstance(value, str) and not value.strip())


def drop_absent(fields: Mapping[str, FieldInfo], arguments: object) -> object:
    """Leave out optional arguments that say nothing: strict schemas have models send null, and clients send blanks."""
    if not isinstance(arguments, dict):
        return arguments
    return {
        name: value
        for name, value in arguments.items()
        if not (is_absent(value) and name in fields and not fields[name].is_required())
    }


def list_entries(value: object) -> list[object]:
    """Return the entries of a list, or one value as a list, without blanks."""
    entries = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    return [entry for entry in entries if not is_absent(entry)]


def as_code(value: object) -> str:
    """Write a value as a registry writes its codes.

    >>> as_code("Active, not recruiting"), as_code("Early Phase 1")
    ('ACTIVE_NOT_RECRUITING', 'EARLY_PHASE_1')
    """
    return _MARKS.sub("_", str(value).upper()).strip("_")


def read_codes(value: object, known: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Return the codes meant by one or several values, in their order; what is unknown is left as a code of its own.

    Args:
        value: a code, its name in words, several of them in one text, or a list of these.
        known: the codes that there are.
        names: other names of codes, written as codes.
    """
    codes = dict.fromkeys(known)

    def find(text: object) -> str | None:
        code = as_code(text)
        return code if code in codes else names.get(code)

    matches = list[str]()
    for entry in list_entries(value):
        whole = find(entry)
        parts = [entry] if whole else _BETWEEN.split(str(entry))
        matches += [find(part) or as_code(part) for part in parts if not is_absent(part)]
    return list(dict.fromkeys(matches))


def read_phases(value: object, codes: Iterable[str]) -> list[str]:
    """Return the phases meant: "Phase 3", "phase II", "PHASE2/PHASE3", "2/3", "Early Phase 1", "N/A".

    >>> read_phases("Phase 2/Phase 3", ["PHASE2", "PHASE3"]), read_phases("phase III", ["PHASE3"])
    (['PHASE2', 'PHASE3'], ['PHASE3'])
    """
    names = {"EARLY_PHASE_1": "EARLY_PHASE1", "PHASE_0": "EARLY_PHASE1", "N_A": "NA", "NOT_APPLICABLE": "NA"}
    for roman, digit in _ROMAN.items():
        for written in (f"PHASE_{roman}", f"PHASE{roman}", roman, f"PHASE_{digit}", digit):
            names[written] = f"PHASE{digit}"
    return read_codes(value, codes, names)


def strict_schema(schema: ToolSchema) -> ToolSchema:
    """Return a tool's schema as strict providers take it: every argument required, optional ones nullable.

    AutoGen's OpenAI client parses answers in a form (`output_content_type`) only where every tool is strict.
    """
    parameters: dict[str, Any] = dict(schema["parameters"])
    required = set(parameters.get("required", ()))
    properties = {
        name: _as_strict(
            _tell_bounds(field, is_optional=False)
            if name in required
            else _or_null(_tell_bounds(field, is_optional=True))
        )
        for name, field in parameters["properties"].items()
    }
    strict: dict[str, Any] = {
        **parameters,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {**schema, "parameters": cast(ParametersSchema, strict), "strict": True}


def _tell_bounds(field: Mapping[str, Any], *, is_optional: bool) -> dict[str, Any]:
    """Say in words what strict schemas cannot hold: how much an argument may be, and what null stands for."""
    sentences = [field["description"]] if "description" in field else []
    if "maxLength" in field:
        sentences.append(f"{field['minLength']} to {field['maxLength']} characters")
    if "maxItems" in field:
        sentences.append(f"{field['minItems']} to {field['maxItems']} of them")
    if "maximum" in field:
        sentences.append(f"{field['minimum']} to {field['maximum']}")
    if is_optional:
        default = field.get("default")
        sentences.append(f"null for {'any' if default in (None, []) else default}")
    return {**field, "description": "; ".join(sentences)} if sentences else dict(field)


def _or_null(field: Mapping[str, Any]) -> dict[str, Any]:
    if "anyOf" in field:
        has_null = {"type": "null"} in field["anyOf"]
        return {**field, "anyOf": [*field["anyOf"], *([] if has_null else [{"type": "null"}])]}
    outer = {name: value for name, value in field.items() if name == "description"}
    inner = {name: value for name, value in field.items() if name != "description"}
    return {**outer, "anyOf": [inner, {"type": "null"}]}


def _as_strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_as_strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {name: _as_strict(value) for name, value in node.items() if name not in _REFUSED_BY_STRICT}
