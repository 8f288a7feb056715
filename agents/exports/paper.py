"""A report as it stands on paper: the answer, one picture, the candidates; what only checking needs in the appendix.

Its size follows the reader's locale: Letter in North America and where it is used beside it, A4 elsewhere.
https://en.wikipedia.org/wiki/Letter_(paper_size)
"""

import os
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

from ..pictures.overview import Overview
from ..report.forms.blocks import Figure, ReportTree, Section, Table

PaperSize = Literal["A4", "Letter"]
LETTER_COUNTRIES = frozenset("US CA MX PH CL CO CR GT NI PA PR SV VE DO".split())
MILLIMETRES: dict[PaperSize, tuple[float, float]] = {"A4": (210, 297), "Letter": (215.9, 279.4)}
"""Width and height."""
_IN_APPENDIX = ("comparison", "evidence", "clinical", "disease-in-brief")
"""Sections that only checking needs: on paper they open the appendix."""
_TERRITORY = re.compile(r"^[a-z]{2,3}_(?P<country>[A-Z]{2})")
MOST_ROWS = 12  # of the picture, which shares its page with the candidates
LEAST_EFFECTS = 3  # estimates make a picture; of fewer the levels of certainty say more


def choose_paper_size(environ: Mapping[str, str] = os.environ) -> PaperSize:
    """Return the size of paper by the locale of the environment, as POSIX reads it.

    >>> choose_paper_size({"LANG": "en_US.UTF-8"})
    'Letter'
    >>> choose_paper_size({"LANG": "en_US.UTF-8", "LC_PAPER": "de_DE.UTF-8"})
    'A4'
    """
    locales = (environ.get(name) for name in ("LC_ALL", "LC_PAPER", "LANG"))
    locale = next(filter(None, locales), "")
    country = _TERRITORY.match(locale)
    return "Letter" if country and country["country"] in LETTER_COUNTRIES else "A4"


def arrange_for_paper(tree: ReportTree, overview: Overview) -> ReportTree:
    """Return a report's tree for paper: a picture after the answer, no empty columns, details in the appendix."""
    whole: ReportTree = _drop_empty_columns(tree)
    moved = [section for section in whole.sections if section.id in _IN_APPENDIX]
    first, *rest = [section for section in whole.sections if section.id not in _IN_APPENDIX]
    picture = overview.shortened(MOST_ROWS, LEAST_EFFECTS)
    glance = [Section("At a glance", "overview", (Figure(picture),))] if picture.panels else []
    appendix = whole.appendix
    if appendix is not None:
        opened = tuple(replace(section, look="plain") for section in moved)
        appendix = replace(appendix, blocks=(*opened, *appendix.blocks))
    return replace(whole, sections=(first, *glance, *rest), appendix=appendix)


def _drop_empty_columns(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_drop_empty_columns, part))
    if isinstance(part, Table):
        return part.without_empty_columns() if part.look != "flow" else part
    if not is_dataclass(part) or isinstance(part, Figure | type):
        return part
    inner = {field.name: _drop_empty_columns(getattr(part, field.name)) for field in fields(part)}
    return replace(part, **inner)
