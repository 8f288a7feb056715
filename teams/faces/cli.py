"""The command line: `willowbark ask`, `runs`, `show`, `resume`, `replay`, `diff`, `export`, `read`, `doctor`, ….

Reports go to stdout, everything else to stderr. Heavy modules are imported inside the commands, so that `--help`
answers at once.
"""

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from willowbark import __version__
from willowbark.tools.errors import UsageError

if TYPE_CHECKING:
    from ..run.options import RunOptions

EXIT_CODES = (
    "Exit codes: 0 a report (also one that found no answer); 1 a fault of Willowbark itself (WILLOWBARK_DEBUG=1 shows "
    "where); 2 bad input: question, option, configuration, model, key or folder; 3 the sources can't be reached; 4 run "
    "or model failed, a partial report was saved; 130 stopped with Ctrl-C, a partial report was saved where possible."
)
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
studio = typer.Typer(help="AutoGen Studio: export the team, or run Studio.", no_args_is_help=True)
app.add_typer(studio, name="studio")
library = typer.Typer(help="PubMed on this machine: build, update and check a library.", no_args_is_help=True)
app.add_typer(library, name="library")
watch = typer.Typer(help="Living reviews: repeat questions, report changes.", no_args_is_help=True)
app.add_typer(watch, name="watch")


def _run_ids() -> list[str]:
    """Ids of runs, for shell completion; none where folder or settings are at fault."""
    with suppress(Exception):  # a shell that asks while somebody types has no room for complaints
        from . import runs  # noqa: PLC0415

        return [runs.LATEST, *runs.run_ids(_runs_folder(None, None), [run.run_id for run in runs.runs_in_ledger()])]
    return []


_RUN = Annotated[
    str,
    Argument(
        help='A run listed by `willowbark runs`: its id, the start of its id, or "last".',
        metavar="RUN",
        autocompletion=_run_ids,
    ),
]


def _flag(help_text: str, *names: str) -> tuple[bool, Any]:
    return False, Annotated[bool, Option(*names, help=help_text)]


def _value(kind: Any, metavar: str | None, help_text: str, *names: str, **more: Any) -> tuple[None, Any]:
    return None, Annotated[kind | None, Option(*names, help=help_text, metavar=metavar, **more)]


_DEPTH = Literal["quick", "standard", "exhaustive"]
_MODELS = "baseline, openai/MODEL, anthropic/MODEL, ollama/MODEL or azure/DEPLOYMENT."
_FORMATS = "Of html, bib, ris, csl, pdf, docx, csv, xlsx, md, appendix, json, schema."
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "offline": _flag("Search the bundled library, without network.", "--offline"),
    "library": _value(str, "FOLDER", "Search a folder of records, without network; or `bundled`."),
    "model": _value(str, "NAME", _MODELS),
    "settings": _value(Path, "FILE", "Settings, instead of ./willowbark.toml.", "--config"),
    "batch": _flag("Read through the provider's batch interface: half the price, minutes to a day.", "--batch"),
    "fallback": _flag("Exit 0 even if the model failed and the rule-based analyst wrote the report.", "--fallback"),
    "max_iterations": _value(int, "N", "Rounds of search and judgement, 1 to 20."),
    "depth": _value(_DEPTH, None, "Read about 60, 300 or 2,000 records: quick, standard or exhaustive."),
    "max_results": _value(int, "N", "Records per page of a search, 1 to 50."),
    "approve": _flag("Ask which candidates the report should cover before it is written.", "--approve"),
    "fresh": _flag("Ignore cached replies and query the sources again.", "--fresh"),
    "as_json": _flag("Print JSON, and nothing else.", "--json"),
    "full": _flag("Print the full report, not just the summary.", "--full"),
    "out": _value(Path, "DIR", "Folder for run folders."),
    "quiet": _flag("Show no progress.", "--quiet", "-q"),
    "trace": _value(Path, "FILE", "Write OpenTelemetry spans to this file."),
    "verbosity": (0, Annotated[int, Option("--verbose", "-v", count=True, help="Log events; -vv logs details.")]),
    "log_json": _flag("Log lines of JSON; implies -v.", "--log-json"),
    "no_ledger": _flag("Keep nothing in .willowbark/; the run cannot be resumed or replayed.", "--no-ledger"),
    "within": _value(str, "RUN", "Ask the evidence of an earlier run, or `last`.", "--in", autocompletion=_run_ids),
    "http": _flag("Serve over HTTP instead, on the loopback, with a token.", "--http"),
    "port": (0, Annotated[int, Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)]),
    "host": (
        "127.0.0.1",
        Annotated[str, Option(help="Address to listen on; non-loopback addresses require a token.", metavar="ADDRESS")],
    ),
    "workspace": (
        Path(),
        Annotated[
            Path, Option(help="Folder whose ledger stores the runs.", metavar="DIR", exists=True, file_okay=False)
        ],
    ),
    "live": _flag("Send every source a small query and show its answer.", "--live"),
    "runs": _value(Path, "DIR", "Folder that holds the run folders."),
    "iteration": _value(int, "N", "Print the results and costs of this round instead.", min=1),
    "costs": _flag("Print the costs of each turn and agent instead.", "--costs"),
    "to": ("html", Annotated[str, Option("--to", help=_FORMATS, metavar="FORMATS")]),
    "export_out": _value(Path, "DIR", "Target folder; by default the run's own.", "--out"),
    "form": _value(str, "FORM", "jsonl, xml, nbib, ris or csv; by default from the file extension.", "--format"),
    "condition": _value(str, "NAME", "Condition for records that name none."),
    "read_to": ("jsonl", Annotated[str, Option("--to", help="jsonl or csv.", metavar="FORM")]),
    "read_out": _value(Path, "FILE", "Output file; an interrupted call continues where it stopped.", "--out"),
    "team_model": ("baseline", Annotated[str, Option("--model", help="Model for every agent.", metavar="NAME")]),
    "public": _flag("Search the public sources, not the library.", "--live"),
    "source": _value(Path, "DIR", "Folder of PubMed's baseline and update files, each with its .md5.", "--from"),
    "drugs": _value(Path, "FILE", "CSV with a column `drug`: screen only these drugs."),
    "engine": ("local", Annotated[str, Option(help="local, ray or ray://HOST:PORT.", metavar="ENGINE")]),
    "screen_out": (
        Path("screening"),
        Annotated[Path, Option("--out", metavar="DIR", help="Folder for results.")],
    ),
    "most_records": (300, Annotated[int, Option("--records", min=1, help="Most records per condition and source.")]),
    "app_folder": (
        Path("build/studio"),
        Annotated[Path, Option("--folder", help="Studio's app folder.", metavar="DIR")],
    ),
}
"""Every option by its name in `RunOptions`, its `shown`, or the command: default, and type with help."""
_SHOWN = ("as_json", "full", "out", "quiet", "trace", "verbosity", "log_json")
_SERVED = ("offline", "library", "model", "settings")
_ASKED = (*_SERVED, "batch", "fallback", "max_iterations", "depth", "max_results", "approve", "fresh", *_SHOWN)


def command(
    *more: str, group: typer.Typer = app, name: str | None = None, epilog: str | None = None
) -> Callable[[Callable[..., int | None]], Callable[..., None]]:
    """Make a function a command. Its keywords that `_OPTIONS` names are options, and so are `more`, which it gets too.

    What it raises becomes one line on stderr and an exit code; what it returns is the exit code, None being 0.
    """

    def register(function: Callable[..., int | None]) -> Callable[..., None]:
        @wraps(function)
        def run(**given: Any) -> None:
            with _reporting_errors():
                code = function(**given)
                if not sys.stdout.closed:  # as it is after serving standard input and output
                    sys.stdout.flush()
            raise typer.Exit(int(code or 0))

        keyword, parameters = inspect.Parameter.KEYWORD_ONLY, dict[str, inspect.Parameter]()
        for each in inspect.signature(function).parameters.values():
            if each.kind is keyword:
                default, annotation = _OPTIONS[each.name]
                given_default = default if each.default is each.empty else each.default
                parameters[each.name] = each.replace(default=given_default, annotation=annotation)
            elif each.kind is not each.VAR_KEYWORD:
                parameters[each.name] = each.replace(kind=keyword)
        for each_name in more:
            default, annotation = _OPTIONS[each_name]
            parameters[each_name] = inspect.Parameter(each_name, keyword, default=default, annotation=annotation)
        run.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {each.name: each.annotation for each in parameters.values()}
        group.command(name=name, epilog=epilog)(run)
        return run

    return register


@contextmanager
def _reporting_errors() -> Iterator[None]:
    """Turn what goes wrong into one line on stderr and an exit code."""
    try:
        yield
    except UsageError as error:
        _end(str(error), 2)
    except KeyboardInterrupt:
        _end("stopped", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except Exception as error:
        if os.environ.get("WILLOWBARK_DEBUG"):
            raise
        _end(f"a fault of Willowbark itself: {type(error).__name__}: {error} (WILLOWBARK_DEBUG=1 shows where)", 1)


def _end(message: str, code: int) -> None:
    from .terminal import complain  # noqa: PLC0415

    complain(message)
    raise typer.Exit(code)


def _run_options(given: Mapping[str, Any]) -> "RunOptions":
    """The options that were typed; what was not typed is left to the settings."""
    from ..run.options import RunOptions, Shown  # noqa: PLC0415

    typed = {name: value for name, value in given.items() if value is not None and value is not False}
    shown = {name: typed.pop(name) for name in Shown.model_fields if name in typed}
    return RunOptions.of(RunOptions(), {**typed, "shown": Shown(**shown)})


def _runs_folder(runs: Path | None, settings: Path | None) -> Path:
    """Where run folders are: as named, otherwise as configured."""
    from ..config import Settings  # noqa: PLC0415

    return runs if runs is not None else Settings.load(settings).output.directory


def _print_err(line: str) -> None:
    typer.echo(line, err=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"willowbark {__version__}")
        raise typer.Exit


@app.callback()
def willowbark(
    version: Annotated[
        bool, Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Which existing drugs might treat a condition, and how good is the evidence?"""


@command(*_ASKED, epilog=EXIT_CODES)
def ask(
    context: typer.Context,
    question: Annotated[str, Argument(help='For example, "Which existing drugs could prevent migraine attacks?"')],
    *,
    no_ledger: bool,
    within: str | None,
    **given: Any,
) -> int:
    """Answer a question with a cited report. The report goes to stdout and into a run folder."""
    if within is not None:
        return _ask_within(context, question, within, given["max_results"], given["as_json"])
    from ..ledger import DEFAULT_PATH  # noqa: PLC0415
    from .ask import ask as answer  # noqa: PLC0415

    given["ledger"] = None if no_ledger else DEFAULT_PATH
    return answer(_run_options({"question": question, **given}), context.obj)


def _ask_within(context: typer.Context, question: str, run: str, most: int | None, as_json: bool) -> int:
    """Answer from the evidence of an earlier run: no source and no model is asked, no file written."""
    allowed = {"question", "within", "max_results", "as_json", "quiet", "offline"}
    typed = [each for each in context.command.params if each.name is not None and each.name not in allowed]
    others = [each.opts[0] for each in typed if f"{context.get_parameter_source(each.name)}".endswith("COMMANDLINE")]
    if others:
        raise UsageError(f"{', '.join(sorted(others))}: not with --in, which asks only what an earlier run collected")
    from willowbark.tools.enclosure import visible  # noqa: PLC0415

    from ..ledger import Ledger  # noqa: PLC0415
    from ..run.within import PASSAGES, ask_within  # noqa: PLC0415
    from .runs import find_run  # noqa: PLC0415
    from .terminal import write_out  # noqa: PLC0415

    run_id = find_run(run)
    with Ledger.existing() as ledger:
        answer = asyncio.run(ask_within(question, run_id, ledger, most=most or PASSAGES))
    write_out(visible(answer.model_dump_json(indent=2) if as_json else answer.to_markdown()))
    return 0


@command(*_SERVED)
def mcp(*, http: bool, port: int = 8766, workspace: Path, **given: Any) -> None:
    """Serve tools and runs over the Model Context Protocol. It speaks on stdin and stdout, or HTTP with --http."""
    from ..ledger import DEFAULT_PATH  # noqa: PLC0415

    try:
        from .mcp import serve as serve_mcp  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise UsageError("mcp needs an extra: pip install 'willowbark[mcp]'") from None
    asyncio.run(serve_mcp(_run_options(given), workspace / DEFAULT_PATH, port if http else None, _print_err))


@command(*_SERVED)
def serve(*, host: str, port: int = 8767, **given: Any) -> None:
    """Serve pages for a browser. Ask there, watch the agents, read, compare and download."""
    from ..page.app import serve as serve_pages  # noqa: PLC0415

    asyncio.run(serve_pages(_run_options(given), host, port, _print_err))


@command()
def doctor(*, settings: Path | None, live: bool) -> int:
    """Check that everything is in place. Packages, extras, settings, sources, and keys (never their values)."""
    from .doctor import examine  # noqa: PLC0415
    from .terminal import complain  # noqa: PLC0415

    if (advice := examine(settings, live=live)) is None:
        return 0
    complain(advice)
    return 3


@command()
def runs(*, runs: Path | None, settings: Path | None, as_json: bool) -> None:
    """List earlier runs, newest first.

    A table on a terminal, with tabs between the columns in a pipe.
    """
    from .runs import print_runs  # noqa: PLC0415

    print_runs(_runs_folder(runs, settings), as_json=as_json)


@command()
def show(
    run: _RUN, *, as_json: bool, iteration: int | None, costs: bool, runs: Path | None, settings: Path | None
) -> None:
    """Print the report of a run again, one of its rounds, or its costs."""
    from .export import show_costs, show_round  # noqa: PLC0415
    from .runs import find_report, find_run, load_report  # noqa: PLC0415
    from .terminal import show_report  # noqa: PLC0415

    if as_json + costs + (iteration is not None) > 1:
        raise UsageError("--json, --costs, --iteration: only one of them")
    if iteration is None and not costs:
        root = _runs_folder(runs, settings)
        show_report(load_report(root, find_report(root, run)), as_json=as_json)
    if costs:
        show_costs(find_run(run))
    if iteration is not None:
        show_round(find_run(run), iteration)


@command(*_SHOWN, epilog=EXIT_CODES)
def resume(run: _RUN, **given: Any) -> int:
    """Resume an interrupted run and finish its report. Nothing is asked twice."""
    from .ask import resume_run  # noqa: PLC0415
    from .runs import find_run  # noqa: PLC0415

    return resume_run(find_run(run, unfinished=True), _run_options(given).shown)


@command(*_SHOWN, epilog=EXIT_CODES)
def replay(run: _RUN, **given: Any) -> int:
    """Recreate a run's report from the ledger. Needs no network and no model; --out also saves it."""
    from .ask import replay_run  # noqa: PLC0415
    from .runs import find_run  # noqa: PLC0415

    return replay_run(find_run(run), _run_options(given).shown)


@command()
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
    from .runs import compare_runs  # noqa: PLC0415
    from .terminal import write_lines  # noqa: PLC0415

    write_lines(compare_runs(earlier, later), 2)


@command()
def forget(run: _RUN) -> None:
    """Remove a run from the ledger; its run folder stays."""
    from ..ledger import Ledger  # noqa: PLC0415
    from .runs import find_run  # noqa: PLC0415

    run_id = find_run(run)
    with Ledger.existing() as ledger:
        ledger.forget(run_id)
    typer.echo(f"Removed from the ledger: {run_id}. Its run folder, if there is one, was left as it is.")


@command()
def export(run: _RUN, *, to: str, export_out: Path | None, runs: Path | None, settings: Path | None) -> None:
    """Export the report of a run in other formats. For example, `--to html,docx,xlsx,ris`."""
    from .export import export_run  # noqa: PLC0415

    export_run(_runs_folder(runs, settings), run, to, export_out)


@command(epilog=EXIT_CODES)
def read(
    file: Annotated[
        Path, Argument(help="JSON lines, PubMed XML, MEDLINE (.nbib), RIS or CSV; - reads standard input.")
    ],
    *,
    form: str | None,
    condition: str | None,
    read_to: str,
    read_out: Path | None,
    quiet: bool,
) -> None:
    """Extract what each record in a file reports about each drug. One line each: role, verdict, design, quote."""
    from willowbark.tools.appraisal.appraised import load_reader  # noqa: PLC0415

    from .read import read_file  # noqa: PLC0415

    read_file(file, load_reader(), form=form, condition=condition, to=read_to, out=read_out, quiet=quiet)


@command()
def screen(
    file: Annotated[Path, Argument(metavar="CONDITIONS", help="CSV with a column `condition`.")],
    *,
    drugs: Path | None,
    library: str | None,
    engine: str,
    screen_out: Path,
    most_records: int,
    quiet: bool,
) -> None:
    """Screen many conditions for drugs in a library or the public sources. If interrupted, run it again to continue."""
    from .scale import screen_file  # noqa: PLC0415

    screen_file(file, drugs, library, engine, screen_out, most_records, quiet=quiet)


@command("library", "model", "settings", "depth", "offline", group=watch, name="add")
def watch_add(
    question: Annotated[str, Argument(help="The question to repeat.")], *, workspace: Path, **given: Any
) -> None:
    """Add a question to repeat, with its options."""
    from .watch import add_watch, watch_folder  # noqa: PLC0415

    typer.echo(f"Watched as {add_watch(watch_folder(workspace), question, given)}.")


@command(group=watch, name="run")
def watch_run(*, workspace: Path, as_json: bool, quiet: bool) -> int:
    """Repeat the questions and print what changed. Exit code 10: something changed; 4: a question failed."""
    import json  # noqa: PLC0415

    from .terminal import write_out  # noqa: PLC0415
    from .watch import as_markdown, run_watches, watch_folder  # noqa: PLC0415

    moved, code = run_watches(watch_folder(workspace), (lambda _: None) if quiet else _print_err)
    write_out(json.dumps(moved, indent=2, ensure_ascii=False) if as_json else as_markdown(moved))
    return code


@command(group=watch, name="list")
def watch_list(*, workspace: Path) -> None:
    """List the watched questions."""
    from .terminal import write_lines  # noqa: PLC0415
    from .watch import list_watches, watch_folder  # noqa: PLC0415

    write_lines(list_watches(watch_folder(workspace)), 2)


_FOLDER = Annotated[Path, Argument(metavar="FOLDER", help="Folder of the library.")]


@command(group=library, name="build")
def library_build(folder: _FOLDER, *, source: Path | None, quiet: bool) -> int:
    """Build a library from PubMed's files, or continue an interrupted build. Exit code 4: some files were skipped."""
    from .scale import build  # noqa: PLC0415

    return build(folder, source, quiet=quiet)


@command(group=library, name="update")
def library_update(folder: _FOLDER, *, source: Path | None, quiet: bool) -> int:
    """Add new PubMed files to a library. Revisions replace records, deletions remove them."""
    from .scale import build  # noqa: PLC0415

    return build(folder, source, must_exist=True, quiet=quiet)


@command(group=library, name="info")
def library_info(folder: _FOLDER) -> None:
    """Print what a library holds: records, years, files, size, last update."""
    from .scale import show_info  # noqa: PLC0415

    show_info(folder)


@command(group=library, name="verify")
def library_verify(folder: _FOLDER, *, source: Path | None) -> int:
    """Check that a library is complete. With --from, also compare the checksums of the files it was built from."""
    from .scale import verify  # noqa: PLC0415

    return verify(folder, source)


@command(group=studio, name="export")
def studio_export(
    folder: Annotated[Path, Argument(metavar="DIR", help="Target folder, created if missing.")], *, team_model: str
) -> None:
    """Export the team and a gallery as JSON for AutoGen Studio, without keys."""
    from .studio import export as export_team  # noqa: PLC0415

    for path in export_team(folder, _run_options({"model": team_model})):
        typer.echo(path)


@command(group=studio, name="start")
def studio_start(*, app_folder: Path, port: int = 8081, team_model: str, public: bool) -> None:
    """Run AutoGen Studio with the team; `make studio` installs it."""
    from .studio import start  # noqa: PLC0415

    start(app_folder, _run_options({"model": team_model}), port, public, typer.echo)


def main() -> None:
    """Run the command line; the programs `willowbark` and `python -m willowbark`."""
    import gc  # noqa: PLC0415
    import logging  # noqa: PLC0415
    import warnings  # noqa: PLC0415

    gc.set_threshold(50_000)  # loading makes many objects and no garbage; see `ask.collect_rarely`
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # model libraries warn their authors, not people who ask a question
    logging.getLogger().addHandler(logging.NullHandler())  # or what libraries log would mix with the progress
    app()


if __name__ == "__main__":
    main()
