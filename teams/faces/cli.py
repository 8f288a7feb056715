"""The command line: `willowbark ask`, `runs`, `show`, `resume`, `replay`, `diff`, `export`, `read`, `doctor`, ….

Reports go to stdout, everything else to stderr. Each command imports its modules when called, so that `--help` answers
at once.
"""

import asyncio
import gc
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from willowbark import __version__
from willowbark.teams import faces
from willowbark.tools.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from willowbark.tools.library.looking_up import LookedUp

    from ..run.options import RunOptions

EXIT_CODES = (
    "Exit codes: 0 a report (also one that found no answer); 1 a fault of Willowbark itself (WILLOWBARK_DEBUG=1 shows "
    "where); 2 bad input: question, option, configuration, model, key or folder; 3 the sources can't be reached, or "
    "one did not answer and there is no answer; 4 run or model failed, a partial report was saved; 130 stopped with "
    "Ctrl-C, a partial report was saved where possible."
)
_DOCTOR_CODES = (
    "Exit codes: 0 all is right; 2 bad input: configuration, key or library; 3 no source that is searched gave an "
    "answer; 4 something is wrong: a source refused, was silent or was not understood, or a folder, the library or the "
    "weights are not as they should be."
)
_LEFT_OUT = 4  # exit code: a library lacks files or is damaged, a screening's model could read no record, a try failed
_SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    name="willowbark",
    help="Which existing drugs might treat a condition, and how good is the evidence?",
    epilog=EXIT_CODES,
    **_SETTINGS,
)
studio = typer.Typer(help="AutoGen Studio: export the team.", no_args_is_help=True)
app.add_typer(studio, name="studio")
library = typer.Typer(help="PubMed on this machine: build, update and check a library.", no_args_is_help=True)
app.add_typer(library, name="library")
watch = typer.Typer(help="Living reviews: repeat questions, report changes.", no_args_is_help=True)
app.add_typer(watch, name="watch")


def _run_ids() -> list[str]:
    """List run ids for shell completion; none if folder or settings are invalid."""
    from ..run import history  # noqa: PLC0415  loads the ledger

    with suppress(Exception):  # completion must not print errors while the user types
        return [history.LATEST, *history.find_all_runs(_choose_runs_folder(None, None))]
    return []


_RUN = Annotated[
    str,
    Argument(
        help='A run listed by `willowbark runs`: its id, the start of its id, or "last".',
        metavar="RUN",
        autocompletion=_run_ids,
    ),
]


_DEPTH = Literal["quick", "standard", "exhaustive"]
_MODELS = "baseline, openai/MODEL, anthropic/MODEL, ollama/MODEL or azure/DEPLOYMENT."
_FORMATS = (
    "Of html, bib, ris, csl, pdf, docx, brief, brief-md, csv, xlsx, comparisons, meta, revman, fhir, parquet, md, "
    "appendix, json, schema."
)
_DIR = {"metavar": "DIR"}
_FILE = {"metavar": "FILE"}


def _declare(kind: Any, help_text: str, *names: str, default: Any = None, **more: Any) -> tuple[Any, Any]:
    """Declare an option's default and annotation; untyped options are None, untyped flags False."""
    if kind is bool:
        default = False
    return default, Annotated[kind if default is not None else kind | None, Option(*names, help=help_text, **more)]


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "offline": _declare(bool, "Search the bundled library, without network.", "--offline"),
    "library": _declare(str, "Search a folder or file of records, without network; or `bundled`.", metavar="PATH"),
    "model": _declare(str, _MODELS, metavar="NAME"),
    "in_place": _declare(bool, "Check folders, library and weights alone; ask no source.", "--offline"),
    "settings": _declare(Path, "Settings, instead of ./willowbark.toml.", "--config", **_FILE),
    "batch": _declare(
        bool, "Read through the provider's batch interface: half the price, minutes to a day.", "--batch"
    ),
    "economy": _declare(bool, "Show a model only results and conclusions of abstracts: fewer tokens.", "--economy"),
    "fallback": _declare(
        bool, "Exit 0 even if the model failed and the rule-based analyst wrote the report.", "--fallback"
    ),
    "max_iterations": _declare(int, "Rounds of search and judgement, 1 to 20.", metavar="N"),
    "depth": _declare(_DEPTH, "Read about 60, 300 or 2,000 records: quick, standard or exhaustive."),
    "max_results": _declare(int, "Records per page of a search, 1 to 50.", metavar="N"),
    "approve": _declare(bool, "Ask which candidates the report should cover before it is written.", "--approve"),
    "fresh": _declare(bool, "Ignore cached replies and query the sources again.", "--fresh"),
    "as_json": _declare(bool, "Print JSON, and nothing else.", "--json"),
    "full": _declare(bool, "Print the full report, not just the summary.", "--full"),
    "out": _declare(Path, "Folder for run folders.", **_DIR),
    "quiet": _declare(bool, "Show no progress.", "--quiet", "-q"),
    "trace": _declare(Path, "Write OpenTelemetry spans to this file.", **_FILE),
    "verbosity": _declare(int, "Log events; -vv logs details.", "--verbose", "-v", default=0, count=True),
    "log_json": _declare(bool, "Log lines of JSON; implies -v.", "--log-json"),
    "no_ledger": _declare(bool, "Keep nothing in .willowbark/; the run cannot be resumed or replayed.", "--no-ledger"),
    "within": _declare(
        str, "Ask the evidence of an earlier run, or `last`.", "--in", metavar="RUN", autocompletion=_run_ids
    ),
    "http": _declare(bool, "Serve over HTTP instead, on the loopback, with a token.", "--http"),
    "port": _declare(int, "Port to listen on; 0 takes a free one.", default=0, min=0, max=65535),
    "host": _declare(
        str, "Address to listen on; non-loopback addresses require a token.", default="127.0.0.1", metavar="ADDRESS"
    ),
    "workspace": _declare(
        Path, "Folder whose ledger stores the runs.", default=Path(), exists=True, file_okay=False, **_DIR
    ),
    "runs": _declare(Path, "Folder that holds the run folders.", **_DIR),
    "to": _declare(str, _FORMATS, "--to", default="html", metavar="FORMATS"),
    "export_out": _declare(Path, "Target folder; by default the run's own.", "--out", **_DIR),
    "condition": _declare(str, "Condition for records that name none.", metavar="NAME"),
    "read_out": _declare(Path, "New file for the output.", "--out", **_FILE),
    "read_to": _declare(
        Literal["jsonl", "csv"],
        "Studies as JSON lines, or their comparisons as CSV; else by the ending of --out.",
        "--to",
    ),
    "team_model": _declare(str, "Model for every agent.", "--model", default="baseline", metavar="NAME"),
    "source": _declare(
        Path,
        "File or folder of records: PubMed's files with their .md5, or of any other form.",
        "--from",
        metavar="PATH",
    ),
    "no_look_up": _declare(bool, "Look nothing up: records of a number alone are counted.", "--offline"),
    "drugs": _declare(Path, "CSV with a column `drug`: screen only these drugs.", **_FILE),
    "engine": _declare(str, "local, ray or ray://HOST:PORT.", default="local", metavar="ENGINE"),
    "screen_out": _declare(Path, "Folder for results.", "--out", default=Path("screening"), **_DIR),
    "drug": _declare(str, "The drug, by its generic name.", metavar="NAME"),
    "says": _declare(
        Literal["supports", "contradicts", "inconclusive", "not assessed"], "What the record says of the drug."
    ),
    "field": _declare(
        str,
        "A field of the study: aim, condition, people, design, arms[NAME].role, deciding.participants, …",
        metavar="FIELD",
    ),
    "value": _declare(str, "Of --field: words, a number, yes, no, `not reported`, or a JSON list.", metavar="VALUE"),
    "exclude": _declare(str, "Leave the record out, for this reason (PRISMA): wrong population, …", metavar="REASON"),
    "add": _declare(bool, "Add the record, by its number or from --file.", "--add"),
    "file": _declare(Path, "File that holds the record to add.", **_FILE),
    "count": _declare(bool, "Let the record count for the drug, though the judge struck it.", "--count"),
    "set_aside": _declare(bool, "Leave the drug out of the report, now and in later runs.", "--set-aside"),
    "undo": _declare(bool, "Take back what you said of the record or drug.", "--undo"),
    "every_condition": _declare(bool, "What the record says holds whatever the condition.", "--every-condition"),
    "quote": _declare(str, "Sentence of the record on which your word rests.", metavar="TEXT"),
    "note": _declare(str, "Why.", metavar="TEXT"),
    "error": _declare(
        Literal["direction", "comparator", "combination", "people", "condition", "figure", "other"],
        "What the readers got wrong.",
    ),
    "by": _declare(str, "Who you are; else WILLOWBARK_PERSON, or your user name.", metavar="NAME"),
    "table": _declare(Path, "A table of `export --to csv` that you edited.", "--from", **_FILE),
    "listed": _declare(bool, "List who said what of this run.", "--list"),
    "labels": _declare(Path, "Write what people said as labels for `make train`.", **_FILE),
    "rewrite": _declare(bool, "Have the run's model, or --model, write the answer again.", "--rewrite"),
    "blind": _declare(bool, "Ask before the reading is shown.", "--blind"),
    "top": _declare(int, "Rows to look at.", default=10, min=1, max=100, metavar="N"),
    "most_records": _declare(int, "Most records per condition and source.", "--records", default=300, min=1),
}
"""All options, by name in `RunOptions`, its `shown`, or the command: default, and type with help."""
_DISPLAY_OPTIONS = ("as_json", "full", "out", "quiet", "trace", "verbosity", "log_json")
_SERVED = ("offline", "library", "model", "settings")
_READING = ("batch", "economy", "fallback", "max_iterations", "depth", "max_results", "approve", "fresh")


def register_command(
    *more: str, group: typer.Typer = app, name: str | None = None, epilog: str | None = None
) -> Callable[[Callable[..., int | None]], Callable[..., None]]:
    """Register a function as a command. Keywords listed in `_OPTIONS`, and `more`, become its options.

    Exceptions become one line on stderr and an exit code; the return value is the exit code, None meaning 0.
    """

    def register(function: Callable[..., int | None]) -> Callable[..., None]:
        @wraps(function)
        def run(**choices: Any) -> None:
            message: object = None
            try:
                code = function(**choices) or 0
                if not sys.stdout.closed:  # it is closed after serving standard input and output
                    sys.stdout.flush()
            except UsageError as error:
                message = error
                code = 2
            except KeyboardInterrupt:
                gc.freeze()  # or the interpreter looks through all objects before it ends: up to a second
                message = "stopped"
                code = 130
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                code = 0
            except Exception as error:
                if os.environ.get("WILLOWBARK_DEBUG"):
                    raise
                fault = f"a fault of Willowbark itself: {type(error).__name__}: {error}"
                message = f"{fault} (WILLOWBARK_DEBUG=1 shows where)"
                code = 1
            if message is not None:
                faces.terminal.complain(message)
            raise typer.Exit(int(code))

        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = dict[str, inspect.Parameter]()
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is keyword:
                default, annotation = _OPTIONS[parameter.name]
                parameter_default = default if parameter.default is parameter.empty else parameter.default
                parameters[parameter.name] = parameter.replace(default=parameter_default, annotation=annotation)
            elif parameter.kind is not parameter.VAR_KEYWORD:
                parameters[parameter.name] = parameter.replace(kind=keyword)
        for option in more:
            default, annotation = _OPTIONS[option]
            parameters[option] = inspect.Parameter(option, keyword, default=default, annotation=annotation)
        run.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]  # read by typer
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters.values()}
        group.command(name=name, epilog=epilog)(run)
        return run

    return register


def _make_run_options(choices: Mapping[str, Any]) -> "RunOptions":
    """Build options from those typed; the settings provide the others."""
    from ..run.options import RunOptions, Shown  # noqa: PLC0415

    typed = {name: value for name, value in choices.items() if value is not None and value is not False}
    display = {name: typed.pop(name) for name in Shown.model_fields if name in typed}
    return RunOptions.of(RunOptions(), {**typed, "shown": Shown(**display)})


def _choose_runs_folder(runs: Path | None, settings: Path | None) -> Path:
    """Return the folder of run folders: as given, otherwise as configured."""
    from ..config import Settings  # noqa: PLC0415

    return runs if runs is not None else Settings.load(settings).output.directory


def _print_err(line: str) -> None:
    typer.echo(line, err=True)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"willowbark {__version__}")
        raise typer.Exit


@app.callback()
def willowbark(
    version: Annotated[
        bool, Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Which existing drugs might treat a condition, and how good is the evidence?"""


@register_command(*_SERVED, *_READING, *_DISPLAY_OPTIONS, epilog=EXIT_CODES)
def ask(
    context: typer.Context,
    question: Annotated[str, Argument(help='For example, "Which existing drugs could prevent migraine attacks?"')],
    *,
    no_ledger: bool,
    within: str | None,
    **choices: Any,
) -> int:
    """Answer a question with a cited report. The report goes to stdout and into a run folder."""
    from ..ledger import DEFAULT_PATH, Ledger  # noqa: PLC0415
    from ..run import history  # noqa: PLC0415  loads the ledger

    if within is None:
        choices["ledger"] = None if no_ledger else DEFAULT_PATH
        return faces.ask.ask(_make_run_options({"question": question, **choices}), context.obj)
    allowed = {"question", "within", "max_results", "as_json", "quiet", "offline"}
    typed = [param for param in context.command.params if param.name is not None and param.name not in allowed]
    others = [
        parameter.opts[0]
        for parameter in typed
        if f"{context.get_parameter_source(parameter.name)}".endswith("COMMANDLINE")
    ]
    if others:
        raise UsageError(f"{', '.join(sorted(others))}: not with --in, which asks only what an earlier run collected")
    from willowbark.tools.records.enclosure import visible  # noqa: PLC0415

    from ..run.within import PASSAGES, ask_within  # noqa: PLC0415

    run_id = history.find_run(within)
    with Ledger.existing() as ledger:
        answer = asyncio.run(
            ask_within(question, run_id, ledger, most=choices["max_results"] or PASSAGES, tell=_print_err)
        )
    text = answer.model_dump_json(indent=2) if choices["as_json"] else answer.to_markdown()
    faces.terminal.write_out(visible(text))
    return 0


@register_command(*_DISPLAY_OPTIONS, epilog=EXIT_CODES)
def example(**choices: Any) -> int:
    """Replay a recorded run of a strong model. The same agents on the bundled library, without key or network."""
    from ..run.example import LABEL, NOTICE, example_stream, read_recording  # noqa: PLC0415  the whole team

    recorded, _ = read_recording()
    faces.terminal.complain(f"{LABEL}: {NOTICE}")
    options = _make_run_options({"question": recorded.question, "offline": True, **choices})
    return faces.ask.ask(options, example_stream)


@register_command()
def init() -> int:
    """Set up a model, its key and an e-mail for NCBI. Asks on the terminal, and tries each once.

    Exit code 4: something that was tried did not work.
    """
    return 0 if faces.first_time.set_up(Path()) else _LEFT_OUT


@register_command(*_SERVED)
def mcp(*, http: bool, port: int = 8766, workspace: Path, **choices: Any) -> None:
    """Serve tools and runs over the Model Context Protocol. It speaks on stdin and stdout, or HTTP with --http."""
    from ..ledger import DEFAULT_PATH  # noqa: PLC0415

    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")
    port_or_none = port if http else None
    asyncio.run(faces.mcp.serve(_make_run_options(choices), workspace / DEFAULT_PATH, port_or_none, _print_err))


@register_command(*_SERVED)
def serve(*, host: str, port: int = 8767, **choices: Any) -> None:
    """Serve pages for a browser. Ask there, watch the agents, read, compare and download."""
    from ..page.app import serve as serve_pages  # noqa: PLC0415

    asyncio.run(serve_pages(_make_run_options(choices), host, port, _print_err))


@register_command(epilog=_DOCTOR_CODES)
def doctor(*, settings: Path | None, in_place: bool) -> int:
    """Check that everything is in place. Packages, settings, keys (never their values), folders, and each source.

    Each source is asked one tiny question, all side by side, in at most 15 seconds.
    """
    diagnosis = faces.doctor.examine(settings, is_offline=in_place)
    if diagnosis.complaint:
        faces.terminal.complain(diagnosis.complaint)
    return diagnosis.code


@register_command()
def runs(*, runs: Path | None, settings: Path | None, as_json: bool) -> None:
    """List earlier runs, newest first.

    A table on a terminal, with tabs between the columns in a pipe.
    """
    faces.runs.print_runs(_choose_runs_folder(runs, settings), as_json=as_json)


@register_command()
def show(run: _RUN, *, as_json: bool, runs: Path | None, settings: Path | None) -> None:
    """Print the report of a run again."""
    from ..run import history  # noqa: PLC0415  loads the ledger

    root = _choose_runs_folder(runs, settings)
    faces.terminal.show_report(history.load_report(root, history.find_run(run, root)), as_json=as_json)


@register_command(*_DISPLAY_OPTIONS, epilog=EXIT_CODES)
def resume(run: _RUN, **choices: Any) -> int:
    """Resume an interrupted run and finish its report. Nothing is asked twice."""
    from ..run import history  # noqa: PLC0415  loads the ledger

    return faces.ask.resume_run(history.find_run(run, unfinished=True), _make_run_options(choices).shown)


@register_command(*_DISPLAY_OPTIONS, epilog=EXIT_CODES)
def replay(run: _RUN, **choices: Any) -> int:
    """Recreate a run's report from the ledger. Needs no network and no model; --out also saves it."""
    from ..run import history  # noqa: PLC0415  loads the ledger

    return faces.ask.replay_run(history.find_run(run), _make_run_options(choices).shown)


@register_command()
def diff(
    earlier: _RUN = "last",
    later: Annotated[
        str | None,
        Argument(
            help="The run to compare with; by default the latest other run of the same question.",
            metavar="RUN",
            autocompletion=_run_ids,
        ),
    ] = None,
) -> None:
    """Show what changed from one run to another.

    Covers each drug's certainty and evidence, and new, removed and changed studies.
    """
    from ..run import history  # noqa: PLC0415  loads the ledger

    faces.terminal.write_lines(history.compare_runs(earlier, later))


@register_command(
    "drug",
    "says",
    "field",
    "value",
    "exclude",
    "add",
    "file",
    "set_aside",
    "count",
    "undo",
    "every_condition",
    "quote",
    "note",
    "error",
)
def correct(
    run: _RUN = "last",
    record: Annotated[
        str | None, Argument(help="PMID, NCT number or DOI of a record.", metavar="RECORD", show_default=False)
    ] = None,
    *,
    by: str | None,
    table: Path | None,
    listed: bool,
    labels: Path | None,
    rewrite: bool,
    model: str | None,
    runs: Path | None,
    settings: Path | None,
    **choices: Any,
) -> None:
    """Correct what a run read. The report is made again at once, and later runs use it.

    Say what a record says of a drug (--says), a field of its study (--field with --value), that it is left out
    (--exclude) or added (--add), that a row counts that the judge struck (--count), that a drug is set aside
    (--set-aside), or all that you edited in the spreadsheet of `export --to csv` or xlsx (--from). Without any of
    these, the report takes what colleagues added to `corrections.jsonl`. --rewrite then has a model write the answer
    again.
    """
    from ..run import history  # noqa: PLC0415  loads the ledger
    from . import correct as face  # noqa: PLC0415  the whole team

    root = _choose_runs_folder(runs, settings)
    run_id = history.find_run(run)
    if listed or labels is not None:
        faces.terminal.write_lines(face.list_words(run_id) if labels is None else face.write_labels(run_id, labels))
        return
    correction = {name: value for name, value in choices.items() if value is not None and value is not False}
    faces.terminal.write_lines(face.correct(run_id, root, record, correction, table, by))
    if rewrite:
        faces.terminal.write_lines(face.rewrite(run_id, root, model))


@register_command()
def review(
    run: _RUN = "last",
    *,
    blind: bool,
    top: int,
    by: str | None,
    as_json: bool,
    runs: Path | None,
    settings: Path | None,
) -> None:
    """Look at the ten rows most worth your minutes.

    Those are the likeliest wrong ones that would move a conclusion.

    The quote comes before the reading. In a pipe the rows are listed.
    """
    from ..run import history  # noqa: PLC0415  loads the ledger
    from . import review as face  # noqa: PLC0415  the whole team

    root = _choose_runs_folder(runs, settings)
    run_id = history.find_run(run)
    rows = face.list_run_rows(run_id, top)
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()) or not rows:
        faces.terminal.write_lines(face.write_lines(rows, as_json=as_json, is_blind=blind))
        return
    say = faces.terminal.write_out
    ask = input
    faces.terminal.write_lines(face.review(run_id, rows, root, by, is_blind=blind, say=say, ask=ask))


@register_command()
def forget(run: _RUN) -> None:
    """Remove a run from the ledger; its run folder stays."""
    from ..ledger import Ledger  # noqa: PLC0415
    from ..run import history  # noqa: PLC0415  loads the ledger

    run_id = history.find_run(run)
    with Ledger.existing() as ledger:
        ledger.forget(run_id)
    typer.echo(f"Removed from the ledger: {run_id}. Its run folder, if there is one, was left as it is.")


@register_command()
def export(run: _RUN, *, to: str, export_out: Path | None, runs: Path | None, settings: Path | None) -> None:
    """Export the report of a run in other formats. For example, `--to html,docx,xlsx,ris`."""
    from willowbark.agents.exports import write  # noqa: PLC0415

    from ..run import history  # noqa: PLC0415  loads the ledger

    root = _choose_runs_folder(runs, settings)
    run_id = history.find_run(run, root)
    formats = [name.strip().lower() for name in to.split(",")]
    report = history.load_report(root, run_id)
    faces.terminal.write_lines(map(str, write(report, export_out or root / run_id, formats)))


@register_command("condition", "quiet", epilog=EXIT_CODES)
def read(
    file: Annotated[
        Path, Argument(help="RIS, NBIB, BibTeX, EndNote, CSV, PubMed XML, JSON lines, PDF, …; - reads standard input.")
    ],
    *,
    read_out: Path | None,
    read_to: Literal["jsonl", "csv"] | None,
    **choices: Any,
) -> None:
    """Extract what each record in a file compared and found. Studies as JSON lines, or their comparisons as CSV."""
    from willowbark.tools.appraisal.appraised import load_reader  # noqa: PLC0415

    faces.read.read_file(file, load_reader(), out=read_out, to=read_to, **choices)


@register_command("model", "settings", "batch")
def screen(
    file: Annotated[Path, Argument(metavar="CONDITIONS", help="CSV with a column `condition`.")],
    *,
    drugs: Path | None,
    library: str | None,
    engine: str,
    screen_out: Path,
    most_records: int,
    quiet: bool,
    **choices: Any,
) -> int:
    """Screen many conditions for drugs.

    Searches a library or the public sources. If interrupted, run it again to continue. With --model, a language
    model reads each record once, and the trained reader stays the second reader. Exit code 4: it could read none.
    """
    from willowbark.tools.library import open_library  # noqa: PLC0415
    from willowbark.tools.reading.corrections import find_corrections_file, read_corrections  # noqa: PLC0415
    from willowbark.tools.reading.store import STORE_FILE, StudyShelf  # noqa: PLC0415

    from ..ledger.database import DEFAULT_PATH  # noqa: PLC0415
    from ..model_clients import BASELINE  # noqa: PLC0415
    from ..screening import read_names, screen  # noqa: PLC0415
    from ..screening.course import CONDITION_COLUMNS, DRUG_COLUMNS  # noqa: PLC0415
    from ..screening.engines import ClusterLimiter, engine_of  # noqa: PLC0415
    from ..screening.tables import TableFolder, has_parquet  # noqa: PLC0415

    complain = faces.terminal.complain
    options = _make_run_options(choices)
    settings = options.chosen()
    names = read_names(file, CONDITION_COLUMNS)
    candidates = read_names(drugs, DRUG_COLUMNS) if drugs else []
    searched = open_library(library, complain) if library else None
    reads = engine_of(engine)
    for line in searched.contents.unread if searched else ():
        complain(f"library {library}: {line}")
    model = None
    if settings.llm.model != BASELINE:
        from ..screening.models import ModelReader  # noqa: PLC0415  AutoGen takes most of a second

        model = ModelReader(settings, TableFolder(screen_out / "batches"))
        asyncio.run(model.check())
    elif options.batch:
        raise UsageError("--batch: name the model that reads: --model openai/… or anthropic/…")
    stores = [searched.folder / STORE_FILE] if searched else []
    with StudyShelf(DEFAULT_PATH.parent / STORE_FILE, stores, complain) as shelf:
        done = screen(
            names,
            searched,
            reads,
            screen_out,
            drugs=candidates,
            most=most_records,
            tell=(lambda _: None) if quiet else complain,
            limiter=None if engine == "local" else ClusterLimiter(),
            model=model,
            shelf=shelf,
            corrections=read_corrections(find_corrections_file(DEFAULT_PATH)),
        )
    for notice in (*(f"{file_name}; skipped" for file_name in done.refused), *dict.fromkeys(done.by_model.unread)):
        complain(notice)
    if done.empty:
        complain(f"no record on {', '.join(done.empty[:10])}{' and others' if done.empty[10:] else ''}")
    if not has_parquet():
        complain(str(MissingExtra("Parquet, which is not written,", "scale")))
    lines = [
        f"{len(done.keys):,} conditions, {done.records:,} records, {done.read.due:,} readings "
        f"({done.read.made:,} read now in {done.read.seconds:.0f} s, {done.read.taken:,} from the store of studies), "
        f"{done.cells:,} drugs with a verdict"
    ]
    if model:
        lines.append(f"{done.by_model.held:,} of {done.by_model.due:,} records read by a model: {model.account}")
    faces.terminal.write_lines([*lines, *map(str, done.files)])
    return _LEFT_OUT if done.by_model.due and not done.by_model.held else 0


@register_command("library", "model", "settings", "depth", "offline", group=watch, name="add")
def watch_add(
    question: Annotated[str, Argument(help="The question to repeat.")], *, workspace: Path, **choices: Any
) -> None:
    """Add a question to repeat, with its options."""
    typer.echo(f"Watched as {faces.runs.add_watch(workspace / faces.runs.WATCHED, question, choices)}.")


@register_command(group=watch, name="run")
def watch_run(*, workspace: Path, as_json: bool, quiet: bool) -> int:
    """Repeat the questions and print what changed. Exit code 10: something changed; 4: a question failed."""
    folder = workspace / faces.runs.WATCHED
    moved, code = faces.runs.run_watches(folder, (lambda _: None) if quiet else _print_err, _print_err)
    text = json.dumps(moved, indent=2, ensure_ascii=False) if as_json else faces.runs.write_markdown(moved)
    if as_json or moved or not code:
        faces.terminal.write_out(text)
    return code


@register_command(group=watch, name="list")
def watch_list(*, workspace: Path) -> None:
    """List the watched questions."""
    faces.terminal.write_lines(faces.runs.list_watches(workspace / faces.runs.WATCHED))


_FOLDER = Annotated[Path, Argument(metavar="FOLDER", help="Folder of the library.")]


def _look_up(names: Sequence[str]) -> "LookedUp":
    """Ask the public sources for records by number."""
    from willowbark.tools.http.endpoints import Endpoints  # noqa: PLC0415
    from willowbark.tools.http.transport import Transport  # noqa: PLC0415
    from willowbark.tools.library.looking_up import look_up_numbers  # noqa: PLC0415

    async def ask() -> "LookedUp":
        async with Transport(Endpoints.public()) as transport:
            return await look_up_numbers(names, transport)

    return asyncio.run(ask())


def _build(folder: Path, source: Path | None, *, must_exist: bool, quiet: bool, no_look_up: bool) -> int:
    """Add files of records to a library; return the exit code."""
    from willowbark.tools.library.building import BuildProgress, build_library  # noqa: PLC0415

    def tell(done: BuildProgress) -> None:
        left = f"{done.left_s / 3600:.1f} h" if done.left_s > 5400 else f"{done.left_s / 60:.0f} min"
        faces.terminal.complain(
            f"{done.file}: {done.said}; file {done.place:,} of {done.files:,}, "
            f"{done.records_per_s:,.0f} records/s, about {left} left"
        )

    if source is None:
        raise UsageError("name the files of records, or their folder: --from PATH")
    look_up = None if no_look_up else _look_up
    manifest = build_library(
        folder, source, (lambda _: None) if quiet else tell, must_exist=must_exist, look_up=look_up
    )
    for name, about in manifest.files.items():
        is_new = source.name == name or (source / name).exists()
        for line in about["unread_first"] if is_new and not quiet else ():
            faces.terminal.complain(f"{name}: {line}")
    for name, why in manifest.refused.items():
        faces.terminal.complain(f"{name}: {why}; skipped" if name not in manifest.files else f"{name}: {why}")
    typer.echo(f"{manifest.records:,} records of {len(manifest.files):,} files in {folder}")
    return _LEFT_OUT if manifest.refused else 0


@register_command(group=library, name="build")
def library_build(folder: _FOLDER, *, source: Path | None, no_look_up: bool, quiet: bool) -> int:
    """Build a library from files of records, or continue an interrupted build. Exit code 4: some files were skipped."""
    return _build(folder, source, must_exist=False, quiet=quiet, no_look_up=no_look_up)


@register_command(group=library, name="update")
def library_update(folder: _FOLDER, *, source: Path | None, no_look_up: bool, quiet: bool) -> int:
    """Add new files to a library. PubMed's revisions replace records, its deletions remove them."""
    return _build(folder, source, must_exist=True, quiet=quiet, no_look_up=no_look_up)


@register_command(group=library, name="read")
def library_read(folder: _FOLDER, *, quiet: bool) -> None:
    """Read a library once, for runs and screenings to take from. If interrupted, run it again to continue."""
    from willowbark.tools.library import open_library  # noqa: PLC0415

    from ..screening.library_reading import read_library  # noqa: PLC0415

    tell = (lambda _: None) if quiet else faces.terminal.complain
    done = read_library(open_library(folder, tell), tell)
    typer.echo(f"{done.seen:,} records, {done.read:,} of them read now ({done.readings:,} readings)")
    if done.table is None:
        faces.terminal.complain(str(MissingExtra("Parquet, which is not written,", "scale")))
    else:
        typer.echo(done.table)


@register_command(group=library, name="info")
def library_info(folder: _FOLDER) -> None:
    """Print what a library holds: records, years, files, size, last update, studies read."""
    from tantivy import Query  # noqa: PLC0415

    from willowbark.tools.library.building import Manifest  # noqa: PLC0415
    from willowbark.tools.library.index import open_index  # noqa: PLC0415

    manifest = Manifest.of(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    ends = {end: {end: {"field": "day"}} for end in ("min", "max")}
    days = open_index(folder).searcher().aggregate(Query.all_query(), ends)
    first, last = (int(days[end]["value"] or 0) // 10000 for end in ends)
    lines = [
        f"records: {manifest.records:,}",
        f"years: {first} to {last}" if last else "years: none",
        f"files: {len(manifest.files):,}, the last of them {max(manifest.files, default='none')}",
        f"taken out: {len(manifest.deleted):,}",
        f"size: {size / 1e9:.2f} GB",
        f"updated: {manifest.updated or 'never'}",
        *(f"studies: {line}" for line in faces.doctor.describe_studies(folder)),
    ]
    faces.terminal.write_lines([*lines, *(f"skipped: {name}: {why}" for name, why in manifest.refused.items())])


@register_command(group=library, name="verify")
def library_verify(folder: _FOLDER, *, source: Path | None) -> int:
    """Check that a library is complete. With --from, also compare the checksums of the files it was built from."""
    from willowbark.tools.library.building import verify_library  # noqa: PLC0415

    problems = list(verify_library(folder, source))
    faces.terminal.write_lines(problems or [f"{folder}: sound"])
    return _LEFT_OUT if problems else 0


@register_command(group=studio, name="export")
def studio_export(
    folder: Annotated[Path, Argument(metavar="DIR", help="Target folder, created if missing.")], *, team_model: str
) -> None:
    """Export the team and a gallery as JSON for AutoGen Studio, without keys."""
    for path in faces.studio.export(folder, team_model):
        typer.echo(path)


def main() -> None:
    """Run the command line; the programs `willowbark` and `python -m willowbark`."""
    import gc  # noqa: PLC0415
    import logging  # noqa: PLC0415
    import warnings  # noqa: PLC0415

    from ..keys import load_keys  # noqa: PLC0415

    gc.set_threshold(50_000)  # imports and runs create many objects and little garbage
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # warnings of model libraries are for developers, not for users
    logging.getLogger().addHandler(logging.NullHandler())  # otherwise logs of libraries would mix with the progress
    for problem in load_keys():
        faces.terminal.complain(problem)
    app()


if __name__ == "__main__":
    main()
