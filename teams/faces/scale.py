"""`willowbark library` and `willowbark screen`: all of PubMed on this machine, and many conditions at once."""

import asyncio
from pathlib import Path

from tantivy import Query

from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.library import open_library
from willowbark.tools.library.building import Manifest, Progress, build_library, verify_library
from willowbark.tools.library.index import open_index

from ..model_clients import BASELINE
from ..run.options import RunOptions
from ..screening import read_names, screen
from ..screening.course import CONDITION_COLUMNS, DRUG_COLUMNS
from ..screening.engines import ClusterLimiter, engine_of
from ..screening.tables import Table, has_parquet
from .terminal import complain, write_lines

LEFT_OUT = 4  # exit code: a library lacks files or is damaged, or a screening's model could read no record


def build(folder: Path, source: Path | None, *, must_exist: bool = False, quiet: bool = False) -> int:
    """Add files to a library; return the exit code.

    Raises:
        UsageError: no folder of files was given, or a folder cannot be read or written.
    """
    if source is None:
        raise UsageError("name the folder of PubMed's files: --from DIR")

    def tell(done: Progress) -> None:
        left = f"{done.left_s / 3600:.1f} h" if done.left_s > 5400 else f"{done.left_s / 60:.0f} min"
        if not quiet:
            complain(
                f"{done.file}: {done.said}; file {done.place:,} of {done.files:,}, "
                f"{done.records_per_s:,.0f} records/s, about {left} left"
            )

    held = build_library(folder, source, tell, must_exist=must_exist)
    for name, why in held.refused.items():
        complain(f"{source / name}: {why}; skipped")
    write_lines([f"{held.records:,} records of {len(held.files):,} files in {folder}"])
    return LEFT_OUT if held.refused else 0


def show_info(folder: Path) -> None:
    """Print a library's contents.

    Raises:
        UsageError: not a library.
    """
    held = Manifest.of(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    ends = {end: {end: {"field": "day"}} for end in ("min", "max")}
    days = open_index(folder).searcher().aggregate(Query.all_query(), ends)
    first, last = (int(days[end]["value"] or 0) // 10000 for end in ends)
    lines = [
        f"records: {held.records:,}",
        f"years: {first} to {last}" if last else "years: none",
        f"files: {len(held.files):,}, the last of them {max(held.files, default='none')}",
        f"taken out: {len(held.deleted):,}",
        f"size: {size / 1e9:.2f} GB",
        f"updated: {held.updated or 'never'}",
    ]
    write_lines([*lines, *(f"skipped: {name}: {why}" for name, why in held.refused.items())])


def verify(folder: Path, source: Path | None) -> int:
    """Print a library's problems; return the exit code. Raises the same as `show_info`."""
    found = list(verify_library(folder, source))
    write_lines(found or [f"{folder}: sound"])
    return LEFT_OUT if found else 0


def screen_file(
    file: Path,
    drugs: Path | None,
    library: str | None,
    engine: str,
    out: Path,
    most: int,
    options: RunOptions,
    *,
    quiet: bool = False,
) -> int:
    """Screen the conditions of a file; return the exit code: 4 if the model could read none of the records.

    Without `drugs`, all are screened; without a library, the public sources are searched; without a model in the
    options, the trained reader reads alone. `most` counts records per condition and source.

    Raises:
        UsageError: invalid file, library, engine, settings or model.
    """
    settings = options.chosen()
    names = read_names(file, CONDITION_COLUMNS)
    wanted = read_names(drugs, DRUG_COLUMNS) if drugs else []
    tell = (lambda _: None) if quiet else complain
    opened, reads = open_library(library) if library else None, engine_of(engine)
    limiter = None if engine == "local" else ClusterLimiter()
    model = None
    if settings.llm.model != BASELINE:
        from ..screening.models import ModelReader  # noqa: PLC0415  AutoGen takes most of a second

        model = ModelReader(settings, Table(out / "batches"))
        asyncio.run(model.check())
    elif options.batch:
        raise UsageError("--batch: name the model that reads: --model openai/… or anthropic/…")
    done = screen(names, opened, reads, out, drugs=wanted, most=most, tell=tell, limiter=limiter, model=model)
    for said in (*(f"{each}; skipped" for each in done.refused), *dict.fromkeys(done.by_model.unread)):
        complain(said)
    if done.empty:
        complain(f"no record on {', '.join(done.empty[:10])}{' and others' if done.empty[10:] else ''}")
    if not has_parquet():
        complain(str(MissingExtra("Parquet, which is not written,", "scale")))
    lines = [
        f"{len(done.keys):,} conditions, {done.records:,} records, {done.read.due:,} readings "
        f"({done.read.made:,} read now in {done.read.seconds:.0f} s), {done.cells:,} drugs with a verdict"
    ]
    if model:
        lines.append(f"{done.by_model.held:,} of {done.by_model.due:,} records read by a model: {model.account}")
    write_lines([*lines, *map(str, done.files)])
    return LEFT_OUT if done.by_model.due and not done.by_model.held else 0
