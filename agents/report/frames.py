"""A report's tables as data frames of pandas, or of polars where that alone is installed."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from willowbark.tools.errors import MissingExtra, UsageError

from .content import NOT_REPORTED, ReportContent

FrameName = Literal["evidence", "candidates", "drugs", "studies", "trials"]
FrameLibrary = Literal["pandas", "polars"]
LIBRARIES: tuple[FrameLibrary, ...] = ("pandas", "polars")
"""The first one that is installed makes the frames."""
COLUMNS: Mapping[FrameName, Sequence[str]] = {
    "evidence": (
        "drug direction design date year title sample_size measure value ci_low ci_high p effects "
        "is_preprint retracted concern sentence key"
    ).split(),
    "candidates": (
        "drug certainty evidence_quality clinical_status supporting contradicting inconclusive mechanism "
        "proposed_mechanism current_indications"
    ).split(),
    "drugs": (
        "drug group level certainty supporting contradicting missed inconclusive effect participants "
        "clinical_status cautions mechanism"
    ).split(),
    "studies": (
        "key year title design condition aim people randomised analysed drugs comparisons favours outcome "
        "versus measure value low high p reader passage"
    ).split(),
    "trials": (
        "nct_id title drugs status phases enrollment start_date completion_date why_stopped why_stopped_kind "
        "has_results"
    ).split(),
}
_WHOLE = frozenset(
    "year sample_size enrollment supporting contradicting inconclusive missed effects participants randomised "
    "analysed comparisons".split()
)
_NUMBERS = frozenset("value ci_low ci_high low high p".split())


def make_frame(report: ReportContent, of: FrameName, library: FrameLibrary | None = None) -> Any:
    """Return a frame of one of the report's tables; what is not reported is missing, never 0 or empty.

    Raises:
        UsageError: no such table or library; neither pandas nor polars is installed.
    """
    if of not in COLUMNS:
        raise UsageError(f"there is no frame {of!r}; choose from {', '.join(COLUMNS)}")
    libraries = LIBRARIES if library is None else (library,)
    unknown = [name for name in libraries if name not in LIBRARIES]
    if unknown:
        raise UsageError(f"{unknown[0]}: frames are of {' or '.join(LIBRARIES)}")
    columns = COLUMNS[of]
    rows = []
    for row in _ROWS[of](report):
        rows.append({name: _replace_missing(row.get(name)) for name in columns})
    for name in libraries:
        if find_spec(name) is not None:
            return _FRAMES[name](rows, columns)
    raise MissingExtra("a data frame", "notebook")


def _replace_missing(value: Any) -> Any:
    return None if value == NOT_REPORTED else value


def _make_pandas_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    pandas = import_module("pandas")
    frame = pandas.DataFrame(rows, columns=list(columns))
    types = {name: "Int64" if name in _WHOLE else "float64" for name in columns if name in _WHOLE | _NUMBERS}
    return frame.astype(types)


def _make_polars_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    polars = import_module("polars")
    types = {name: polars.Int64 for name in columns if name in _WHOLE}
    types |= {name: polars.Float64 for name in columns if name in _NUMBERS}
    order = {name: types.get(name) for name in columns}
    return polars.DataFrame(list(rows), schema=order, infer_schema_length=None)


def _list_evidence(report: ReportContent) -> Iterator[dict[str, Any]]:
    for row in report.evidence_table:
        first = row.effects[0].model_dump(exclude={"sentence"}) if row.effects else {}
        yield {**row.model_dump(), **first, "year": _read_year(row.date), "effects": len(row.effects)}


def _list_candidates(report: ReportContent) -> Iterator[dict[str, Any]]:
    for candidate in report.candidates:
        best = candidate.best_estimate
        yield {
            **candidate.model_dump(),
            "drug": candidate.name,
            "level": candidate.level,
            "supporting": len(candidate.supporting_citations),
            "contradicting": len(candidate.contradicting_citations),
            "missed": len(candidate.missed_citations),
            "inconclusive": len(candidate.undecided_citations),
            "effect": best.line if best else None,
            "participants": best.participants if best else None,
        }


def _list_studies(report: ReportContent) -> Iterator[dict[str, Any]]:
    """Yield a row a study, with the figures of its deciding comparison."""
    for study in report.studies:
        reference = report.reference_of(study.key)
        row = {
            **study.model_dump(include={"key", "design", "condition", "aim", "people", "randomised", "analysed"}),
            "year": _read_year(str(reference.get("date") or "")),
            "title": reference.get("title"),
            "drugs": sorted(study.drugs()),
            "comparisons": len(study.comparisons),
            "reader": study.reader,
        }
        if study.comparisons:
            first = study.comparisons[0]
            figures = (
                first.estimate.model_dump(include={"measure", "value", "low", "high", "p"}) if first.estimate else {}
            )
            passage = first.passage.text if first.passage else None
            row |= {"favours": first.favours, "outcome": first.outcome, "versus": first.versus, "passage": passage}
            row |= figures
        yield {name: None if value == "" else value for name, value in row.items()}


def _list_trials(report: ReportContent) -> Iterator[dict[str, Any]]:
    return (trial.model_dump() for trial in report.trials)


def _read_year(date: str) -> int | None:
    return int(date[:4]) if date[:4].isdigit() else None


_ROWS = {
    "evidence": _list_evidence,
    "candidates": _list_candidates,
    "drugs": _list_candidates,
    "studies": _list_studies,
    "trials": _list_trials,
}
_FRAMES = {"pandas": _make_pandas_frame, "polars": _make_polars_frame}
