"""The command line: `willowbark ask`, `runs`, `show`, `resume`, `replay`, `diff`, `export`, `read`, `doctor`, ….

Exit codes:

    0    a report with an answer, or with the honest finding that there is none
    1    a fault of Willowbark itself (WILLOWBARK_DEBUG=1 shows where)
    2    bad input: question, option, configuration, model, key or folder
    3    the sources can't be reached
    4    the run failed; what there was stands in the run folder
    130  cancelled with Ctrl-C; a partial report stands in the run folder where one could be made

Reports go to stdout, everything else to stderr. What is heavy is imported inside the commands, so that `--help` answers
at once.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from willowbark import __version__
from willowbark.tools.errors import UsageError, WillowbarkError

if TYPE_CHECKING:
    from ..run.options import Shown

EXIT_CODES = (
    "Exit codes: 0 a report (also one that honestly found nothing); 1 a fault of Willowbark itself; 2 bad input: "
    "question, option, configuration, model, key or folder; 3 the sources can't be reached; 4 the run failed, what "
    "there was stands in the run folder; 130 cancelled with Ctrl-C."
)
app = typer.Typer(
    name="willowbark",
    help="Which existing drugs might treat a condition, and how good is the evidence?",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

studio = typer.Typer(help="AutoGen Studio: export the team for it, run it.", no_args_is_help=True)
app.add_typer(studio, name="studio")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"willowbark {__version__}")
        raise typer.Exit


@app.callback()
def willowbark(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Which existing drugs might treat a condition, and how good is the evidence?"""


def _run_ids() -> list[str]:
    """What may stand for a run, for a shell that completes it; nothing where folder or settings are at fault."""
    with suppress(Exception):  # a shell that asks while somebody types has no room for complaints
        from . import export_command  # noqa: PLC0415

        return [export_command.LATEST, *export_command.known_runs(export_command.runs_folder(None, None))]
    return []


_RUN_HELP = 'A run as `willowbark runs` lists them, by its id or its beginning; or "last".'
_RUN = Annotated[str, typer.Argument(help=_RUN_HELP, metavar="RUN", autocompletion=_run_ids)]
_RUNS = Annotated[Path | None, typer.Option("--runs", help="Folder that holds the run folders.", metavar="DIR")]
_CONFIG = Annotated[Path | None, typer.Option(help="Settings, instead of ./willowbark.toml.", metavar="FILE")]
_OFFLINE = Annotated[bool, typer.Option("--offline", help="Search the bundled library, without network.")]
_LIBRARY = Annotated[
    str | None,
    typer.Option("--library", help="Search a folder of records, without network; or `bundled`.", metavar="FOLDER"),
]
_MODEL = Annotated[
    str | None,
    typer.Option(help="baseline, openai/MODEL, anthropic/MODEL, ollama/MODEL or azure/DEPLOYMENT.", metavar="NAME"),
]
_AS_JSON = Annotated[bool, typer.Option("--json", help="Print the report as JSON, and nothing else.")]
_FULL = Annotated[bool, typer.Option("--full", help="Print the whole report on a terminal, not what it comes to.")]
_QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
_TRACE = Annotated[Path | None, typer.Option(help="Write OpenTelemetry spans to this file.", metavar="FILE")]
_VERBOSE = Annotated[int, typer.Option("--verbose", "-v", count=True, help="Log events; -vv logs details.")]
_LOG_JSON = Annotated[bool, typer.Option("--log-json", help="Log lines of JSON; -v is implied.")]

_FALLBACK = Annotated[
    bool, typer.Option("--fallback", help="Take a report that rules wrote since the model failed for a report.")
]
_ROUNDS = Annotated[int | None, typer.Option(help="Rounds of search and judgement, 1 to 20.", metavar="N")]
_DEPTH = Annotated[
    Literal["quick", "standard", "exhaustive"] | None,
    typer.Option(help="Read about 60, 300 or 2,000 records: quick, standard or exhaustive."),
]
_IN = Annotated[
    str | None,
    typer.Option(
        "--in", help="Ask the evidence of an earlier run, or the last.", metavar="RUN", autocompletion=_run_ids
    ),
]


@app.command(epilog=EXIT_CODES)
def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help='For example "Which existing drugs could prevent migraine attacks?"')],
    offline: _OFFLINE = False,
    library: _LIBRARY = None,
    model: _MODEL = None,
    fallback: _FALLBACK = False,
    max_iterations: _ROUNDS = None,
    depth: _DEPTH = None,
    careful: Annotated[
        bool, typer.Option("--careful", help="Read with the encoder too: more often right, and a minute more or two.")
    ] = False,
    max_results: Annotated[int | None, typer.Option(help="Records of a page, 1 to 50.", metavar="N")] = None,
    as_json: _AS_JSON = False,
    full: _FULL = False,
    out: Annotated[Path | None, typer.Option(help="Folder for run folders.", metavar="DIR")] = None,
    quiet: _QUIET = False,
    config: _CONFIG = None,
    trace: _TRACE = None,
    verbose: _VERBOSE = 0,
    log_json: _LOG_JSON = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask the sources even what a run asked lately.")] = False,
    approve: Annotated[
        bool, typer.Option("--approve", help="Ask which candidates the report should deal with, before it is written.")
    ] = False,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Keep nothing in .willowbark/: no resume, no replay.")
    ] = False,
    within: _IN = None,
) -> None:
    """Answer a question with a cited report. It goes to stdout, and as files into a run folder."""
    if within is not None:
        _ask_within(context, question, within, max_results, as_json)
        return
    with _one_line():
        from ..ledger import DEFAULT_PATH  # noqa: PLC0415
        from ..run.options import RunOptions  # noqa: PLC0415
        from .ask import ask as answer  # noqa: PLC0415

        asked = RunOptions(
            question=question,
            settings=config,
            model=model,
            fallback=fallback or None,
            max_iterations=max_iterations,
            depth=depth,
            reader="careful" if careful else None,
            max_results=max_results,
            approve=approve,
            ledger=None if no_ledger else DEFAULT_PATH,
            fresh=fresh,
            offline=offline,
            library=library,
            shown=_shown(as_json, full, out, quiet, trace, verbose, log_json),
        )
        code = answer(asked, context.obj)
    raise typer.Exit(int(code))


@app.command()
def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP on the loopback instead, behind a token.")] = False,
    port: Annotated[int, typer.Option(help="For --http; 0 takes a free one.", min=0, max=65535)] = 8766,
    workspace: Annotated[
        Path, typer.Option(help="Folder whose ledger keeps the runs.", metavar="DIR", exists=True, file_okay=False)
    ] = Path(),
    offline: _OFFLINE = False,
    library: _LIBRARY = None,
    model: _MODEL = None,
    config: _CONFIG = None,
) -> None:
    """Serve tools and runs over the Model Context Protocol. It speaks on stdin and stdout, or HTTP with --http."""
    with _one_line():
        import asyncio  # noqa: PLC0415

        from ..ledger import DEFAULT_PATH  # noqa: PLC0415
        from ..run.options import RunOptions  # noqa: PLC0415

        try:
            from . import mcp_command as serving  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "mcp":
                raise
            raise UsageError("mcp needs an extra: pip install 'willowbark[mcp]'") from None
        options, ledger = (
            RunOptions(settings=config, model=model, offline=offline, library=library),
            workspace / DEFAULT_PATH,
        )
        if http:
            asyncio.run(serving.serve_http(options, ledger, port, lambda line: typer.echo(line, err=True)))
        else:
            asyncio.run(serving.serve_stdio(options, ledger))


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen at; one beyond the loopback wants a token.", metavar="ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8767,
    offline: _OFFLINE = False,
    library: _LIBRARY = None,
    model: _MODEL = None,
    config: _CONFIG = None,
) -> None:
    """Serve pages for a browser. Ask there, watch the agents, read, compare and download."""
    with _one_line():
        from ..page.application import serve as serving  # noqa: PLC0415
        from ..run.options import RunOptions  # noqa: PLC0415

        options = RunOptions(settings=config, model=model, offline=offline, library=library)
        asyncio.run(serving(options, host, port, lambda line: typer.echo(line, err=True)))


@app.command()
def doctor(
    config: _CONFIG = None,
    live: Annotated[
        bool, typer.Option("--live", help="Ask every source one small question, and tell what it said.")
    ] = False,
) -> None:
    """Tell whether everything is in place. Packages, extras, settings, sources, and keys (never their values)."""
    with _one_line():
        from willowbark.tools.http.endpoints import Endpoints  # noqa: PLC0415
        from willowbark.tools.library import open_library  # noqa: PLC0415

        from ..config import FILE_NAME, Settings  # noqa: PLC0415
        from . import doctor as visit  # noqa: PLC0415
        from .terminal import write_lines  # noqa: PLC0415

        write_lines(visit.about_here(), visit.INDENT)
        settings = Settings.load(config)
        default = Path(FILE_NAME)
        write_lines(visit.about_settings(settings, config or (default if default.exists() else None)), visit.INDENT)
        if settings.library.path is not None:
            library = open_library(settings.library.path)
            write_lines([f"Library     {library.summary}; no source is asked"], visit.INDENT)
            return
        endpoints = Endpoints.public()
        addresses = visit.addresses_of(endpoints, settings)
        if live:
            said = asyncio.run(visit.live(endpoints))
            lines = [f"Live        {name}: {line}" for name, (_, line) in said.items()]
            reached = {name for name, (answered, _) in said.items() if answered}
        else:
            reached = visit.reachable(addresses)
            lines = [*visit.about_sources(addresses, reached), *visit.about_others(addresses, endpoints)]
        write_lines(lines, visit.INDENT)
        if not reached:
            raise _Unreachable(visit.unreachable_advice(endpoints, addresses))


@app.command()
def runs(runs: _RUNS = None, config: _CONFIG = None) -> None:
    """List earlier runs, the newest first."""
    with _one_line():
        from . import export_command  # noqa: PLC0415

        export_command.list_runs(export_command.runs_folder(runs, config))


@app.command()
def show(
    run: _RUN,
    as_json: _AS_JSON = False,
    iteration: Annotated[
        int | None, typer.Option(help="Print what this round brought and cost instead.", metavar="N", min=1)
    ] = None,
    costs: Annotated[bool, typer.Option("--costs", help="Print what each turn and each agent cost instead.")] = False,
    runs: _RUNS = None,
    config: _CONFIG = None,
) -> None:
    """Print the report of a run again, one of its rounds, or its costs."""
    with _one_line():
        from . import export_command  # noqa: PLC0415

        root = export_command.runs_folder(runs, config)
        if iteration is None and not costs:
            export_command.show_run(root, run, as_json=as_json)
            return
        from . import runs_command  # noqa: PLC0415

        run_id = runs_command.found(run)
        if costs:
            runs_command.show_costs(run_id)
        if iteration is not None:
            runs_command.show_turns(run_id, iteration)


@app.command(epilog=EXIT_CODES)
def resume(
    run: _RUN,
    as_json: _AS_JSON = False,
    full: _FULL = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for run folders; as configured when the run began.", metavar="DIR")
    ] = None,
    quiet: _QUIET = False,
    trace: _TRACE = None,
    verbose: _VERBOSE = 0,
    log_json: _LOG_JSON = False,
) -> None:
    """Bring a run that was stopped to its report. Nothing that it asked before is asked again."""
    with _one_line():
        from .ask import resume_run  # noqa: PLC0415
        from .runs_command import found  # noqa: PLC0415

        code = resume_run(found(run, unfinished=True), _shown(as_json, full, out, quiet, trace, verbose, log_json))
    raise typer.Exit(int(code))


@app.command(epilog=EXIT_CODES)
def replay(
    run: _RUN,
    as_json: _AS_JSON = False,
    full: _FULL = False,
    out: Annotated[
        Path | None, typer.Option(help="Write it below this folder; it is only printed by default.", metavar="DIR")
    ] = None,
    quiet: _QUIET = False,
    trace: _TRACE = None,
    verbose: _VERBOSE = 0,
    log_json: _LOG_JSON = False,
) -> None:
    """Make a run's report anew from the ledger. It needs no network and no model."""
    with _one_line():
        from .ask import replay_run  # noqa: PLC0415
        from .runs_command import found  # noqa: PLC0415

        code = replay_run(found(run), _shown(as_json, full, out, quiet, trace, verbose, log_json))
    raise typer.Exit(int(code))


@app.command()
def diff(
    earlier: _RUN = "last",
    later: Annotated[
        str | None,
        typer.Argument(
            help="Another; the latest other run of the same question by default.",
            metavar="RUN",
            autocompletion=_run_ids,
        ),
    ] = None,
) -> None:
    """Tell what changed from one run to another. Evidence that is new, gone or changed, and verdicts that moved."""
    with _one_line():
        from . import runs_command  # noqa: PLC0415

        runs_command.diff_runs(earlier, later)


@app.command()
def forget(run: _RUN) -> None:
    """Remove a run from the ledger; its run folder stays."""
    with _one_line():
        from . import runs_command  # noqa: PLC0415

        runs_command.forget_run(runs_command.found(run))


@app.command()
def export(
    run: _RUN,
    to: Annotated[
        str,
        typer.Option(
            "--to", help="Of html, bib, ris, csl, docx, csv, xlsx, md, json, schema, workspace.", metavar="FORMATS"
        ),
    ] = "html",
    out: Annotated[Path | None, typer.Option(help="Where to; the run's own folder by default.", metavar="DIR")] = None,
    runs: _RUNS = None,
    config: _CONFIG = None,
) -> None:
    """Write the report of a run in other forms. `--to html,docx,xlsx,ris`, say; `workspace` is its material."""
    with _one_line():
        from . import export_command  # noqa: PLC0415

        export_command.export_run(export_command.runs_folder(runs, config), run, to, out)


@app.command(epilog=EXIT_CODES)
def read(
    file: Annotated[Path, typer.Argument(help="Records: JSON lines, PubMed XML, RIS or CSV; - is standard input.")],
    form: Annotated[
        str | None, typer.Option("--format", help="jsonl, xml, ris or csv; by the ending otherwise.", metavar="FORM")
    ] = None,
    condition: Annotated[
        str | None, typer.Option(help="Asked about where a record names none of its own.", metavar="NAME")
    ] = None,
    to: Annotated[str, typer.Option("--to", help="jsonl or csv.", metavar="FORM")] = "jsonl",
    out: Annotated[
        Path | None, typer.Option(help="Write here; goes on where an earlier call stopped.", metavar="FILE")
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Read many times as fast, without the encoder, and be wrong more often.")
    ] = False,
    quiet: _QUIET = False,
) -> None:
    """Tell what the records of a file say of their drugs. Role, verdict, design, the sentence; a line a reading."""
    with _one_line():
        from willowbark.tools.appraisal.appraised import load_reader  # noqa: PLC0415

        from .read_command import Options, read_file  # noqa: PLC0415

        reader = load_reader("learned" if fast else "careful", wholly=True)
        read_file(Options(file, form, condition, to, out, quiet), reader)


@studio.command("export")
def studio_export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Made where it is missing.")],
    model: Annotated[str, typer.Option(help="Model of every agent, as for `ask`.", metavar="NAME")] = "baseline",
) -> None:
    """Write the team and a gallery as JSON that AutoGen Studio imports; keys are never in it."""
    with _one_line():
        from ..run.options import RunOptions  # noqa: PLC0415
        from .studio import export  # noqa: PLC0415

        for path in export(folder, RunOptions(model=model)):
            typer.echo(path)


@studio.command("start")
def studio_start(
    folder: Annotated[Path, typer.Option(help="Studio's app folder.", metavar="DIR")] = Path("build/studio"),
    port: Annotated[int, typer.Option(help="Port on the loopback; 0 takes a free one.", min=0, max=65535)] = 8081,
    model: Annotated[str, typer.Option(help="Model of every agent, as for `ask`.", metavar="NAME")] = "baseline",
    live: Annotated[bool, typer.Option("--live", help="Search the public sources, not the library.")] = False,
) -> None:
    """Run AutoGen Studio with the team in it, where it is installed (`make studio`)."""
    with _one_line():
        from .studio_command import start  # noqa: PLC0415

        start(folder, port=port, model=model, live=live, say=typer.echo)


_WITHIN = frozenset({"question", "within", "max_results", "as_json", "quiet", "offline"})
"""What goes with `--in`: that asks no source and no model, and leaves no file."""


def _ask_within(context: typer.Context, question: str, run: str, most: int | None, as_json: bool) -> None:
    with _one_line():
        given = {name for name in context.params if f"{context.get_parameter_source(name)}".endswith("COMMANDLINE")}
        if others := sorted(given - _WITHIN):
            names = ", ".join(f"--{name.replace('_', '-')}" for name in others)
            raise UsageError(f"{names}: not with --in, which asks what an earlier run collected, and nobody else")
        from willowbark.tools.enclosure import visible  # noqa: PLC0415

        from ..ledger import Ledger  # noqa: PLC0415
        from ..run.within import PASSAGES, ask_within  # noqa: PLC0415
        from .runs_command import found  # noqa: PLC0415
        from .terminal import write_out  # noqa: PLC0415

        run_id = found(run)
        with Ledger.existing() as ledger:
            said = asyncio.run(ask_within(question, run_id, ledger, most=most or PASSAGES))
        write_out(visible(said.model_dump_json(indent=2) if as_json else said.to_markdown()))


def _shown(
    as_json: bool, full: bool, out: Path | None, quiet: bool, trace: Path | None, verbose: int, log_json: bool
) -> "Shown":
    from ..run.options import Shown  # noqa: PLC0415

    verbosity = verbose or int(log_json)
    return Shown(as_json=as_json, full=full, out=out, quiet=quiet, trace=trace, verbosity=verbosity, log_json=log_json)


class _Unreachable(WillowbarkError):
    """No source can be reached; the message says how to go on."""


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what goes wrong into one line on stderr and an exit code."""
    try:
        yield
        if not sys.stdout.closed:  # as it is after a session over standard input and output
            sys.stdout.flush()
    except UsageError as error:
        _end(str(error), 2)
    except _Unreachable as error:
        _end(str(error), 3)
    except KeyboardInterrupt:
        _end("cancelled", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if os.environ.get("WILLOWBARK_DEBUG"):
            raise
        _end(f"a fault of Willowbark itself: {type(error).__name__}: {error} (WILLOWBARK_DEBUG=1 shows where)", 1)


def _end(message: str, code: int) -> None:
    print(f"willowbark: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(code)


def main() -> None:
    """Run the command line; the programs `willowbark` and `python -m willowbark`."""
    import gc  # noqa: PLC0415
    import logging  # noqa: PLC0415
    import warnings  # noqa: PLC0415

    gc.set_threshold(50_000)  # loading makes many objects and no garbage; `ask.collect_seldom` says how it goes on
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # the model libraries warn for their authors, not for people who ask a question
    logging.getLogger().addHandler(logging.NullHandler())  # or what libraries log would mix with the progress
    app()


if __name__ == "__main__":
    main()
