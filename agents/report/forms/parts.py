"""Leaves parts out of a report's tree: its numbered references, or its methods."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .blocks import Cite, Figure, ReportTree, Section

REFERENCES = ("references", "more-references")
METHODS = ("methods",)


def leave_out(document: ReportTree, *, citations: bool = False, methodology: bool = False) -> ReportTree:
    """Return a report without some of its parts.

    Args:
        document: the whole report.
        citations: whether to leave out the references and the numbers that lead to them; links to records stay.
        methodology: whether to leave out the methods with searches, counts and cost.
    """
    sections = (*(REFERENCES if citations else ()), *(METHODS if methodology else ()))

    def is_left_out(part: object) -> bool:
        if isinstance(part, Section):
            return part.id.startswith(sections) if sections else False
        return citations and isinstance(part, Cite)

    shortened: ReportTree = _drop_parts(document, is_left_out)
    return shortened


def _drop_parts(part: Any, is_left_out: Callable[[object], bool]) -> Any:
    if isinstance(part, tuple):
        return tuple(_drop_parts(inner, is_left_out) for inner in part if not is_left_out(inner))
    if not is_dataclass(part) or isinstance(part, Figure | type):
        return part
    return replace(part, **{field.name: _drop_parts(getattr(part, field.name), is_left_out) for field in fields(part)})
