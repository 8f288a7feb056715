"""F9: ledgers that cannot be written or read, and F12: one that many write to.

A full disk, read-only places, locks, flipped bits, two who resume the same run.
"""

import os
import random
import signal
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from willowbark.teams.ledger import Ledger, LedgerError

from .killed import find_differences, killer
from .lives import MODELS, RUN_ID, Ailment, Life, Told, intact
from .server import SourceServer
from .verdict import Row, exactly

_PATIENCE_S = 0.2
_MOST = 0.6  # of what a whole ledger takes; a log that is emptied in between needs less room than that
_SMALLEST_BYTES = 8192  # two pages: less holds no ledger at all
_LONGEST_LINE = 400  # characters; an error that is longer is no clear one

Case = Callable[[random.Random, SourceServer, Path, Life], list[str]]
"""Gives what is wrong; the path is a ledger's that is not there yet, the life one to which nothing happened."""


def crippled(runs: int, seed: int, jobs: int) -> Row:
    """F9: one line says what is wrong, nothing is damaged, the run goes on once the cause is gone."""
    before = time.perf_counter()
    with ThreadPoolExecutor(jobs) as workers:  # each of them waits for processes
        shares = [range(place, runs, jobs) for place in range(jobs)]
        waiting = [workers.submit(_crippled, list(share), seed) for share in shares if share]
        problems = [found for share in waiting for found in share.result()]
    notes = [f"{name}: {problem}" for name, found in problems for problem in found]
    whole = sum(not found for _, found in problems)
    figures = [exactly("told in a line, not damaged, and resumed to the report of an undisturbed run", whole, runs)]
    return Row("F9", runs, ", ".join(CASES), seed, time.perf_counter() - before, figures, notes)


def _crippled(numbers: list[int], seed: int) -> list[tuple[str, list[str]]]:
    with SourceServer() as server, tempfile.TemporaryDirectory() as folder:
        whole = Life(Path(folder) / "whole" / "ledger.db", server.url).lived()
        found = []
        for number in numbers:
            name = list(CASES)[number % len(CASES)]
            path = Path(folder) / str(number) / "ledger.db"
            found.append((name, CASES[name](random.Random(f"{seed}/{number}"), server, path, whole)))
        return found


def side_by_side(processes: int, seed: int) -> Row:
    """F12: runs that share a ledger, with a model and without, wait for one another, and none fails."""
    before = time.perf_counter()
    with SourceServer() as server, tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(processes) as workers:
        alone = {
            model: Life(Path(folder) / model / "ledger.db", server.url, model=model).lived().told for model in MODELS
        }
        path = Path(folder) / "ledger.db"
        lives = [
            Life(path, server.url, run_id=f"run-{number}", model=MODELS[number % len(MODELS)])
            for number in range(processes)
        ]
        waiting = list(workers.map(Life.lived, lives))
        torn = not intact(path)
        unlisted = _find_unlisted(path, processes)
    notes = ["the ledger is torn"] if torn else []
    reports = 0
    for life in waiting:
        problems = _compare(life.told, alone[life.model])
        reports += not problems
        notes += [f"{life.run_id}, {life.model}: {problem}"[:_LONGEST_LINE] for problem in problems]
    figures = [
        exactly("reports as of a run that has the ledger alone", reports, processes),
        exactly("runs that the list of runs does not show as complete", unlisted, 0),
        exactly("torn ledgers", torn, 0),
    ]
    what = f"processes at once in one ledger, each in turn: {', '.join(MODELS)}"
    return Row("F12", processes, what, seed, time.perf_counter() - before, figures, notes)


def _compare(told: Told | None, alone: Told | None) -> list[str]:
    """Return what is otherwise in a run that shared its ledger than in one that had it alone."""
    if told is None or alone is None or alone.report is None:
        return ["the process died"]
    if told.crash or told.report is None:
        return [f"no report: {told.crash}"]
    problems = [f"it says: {line}" for line in told.errors]
    if told.model_calls != alone.model_calls:
        problems.append(f"{told.model_calls} model calls, not {alone.model_calls}")
    return problems + find_differences(told.report, alone.report)


def _find_unlisted(path: Path, processes: int) -> int:
    """Count the runs of which a user would not read that they are complete."""
    with Ledger(path) as ledger:
        complete = [run for run in ledger.runs() if run.status == "complete"]
    return processes - len(complete)


def _full_disk(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """SQLite finds no room for another page."""
    pages = chance.randint(2, round(_MOST * _pages(whole.path)))
    return _full(path, server, whole, Ailment(pages=pages), "the disk is full")


def _no_larger_files(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """The operating system refuses to write beyond a size: every file of the ledger's, its write-ahead log too."""
    most = chance.randint(_SMALLEST_BYTES, round(_MOST * whole.path.stat().st_size))
    return _full(path, server, whole, Ailment(file_bytes=most), "the ledger")


def _full(path: Path, server: SourceServer, whole: Life, ailment: Ailment, due: str) -> list[str]:
    told = Life(path, server.url, ailment=ailment).lived().told
    return [*_unclear(told, due), *_gone_on(path, server, whole)]


def _read_only_folder(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """The folder of a run that is to be resumed, or of none; permissions hold for root as well."""
    if chance.random() < 0.5:
        path.parent.mkdir()
    else:
        Life(path, server.url).lived(killer("checkpoint", chance.randint(1, 5), 0.0))
        Ledger(path).close()  # with the killed process's log still there nothing would have to be made in the folder
    with _permissions(path.parent, 0o555):
        problems = _refused(path, server, "cannot be written")
    return [*problems, *_gone_on(path, server, whole)]


def _read_only_file(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """The ledger of a run that is to be resumed; permissions hold for root as well."""
    Life(path, server.url).lived(killer("checkpoint", chance.randint(1, 5), 0.0))
    with _permissions(path, 0o444):
        problems = _refused(path, server, "cannot be written")
    return [*problems, *_gone_on(path, server, whole)]


def _a_file_in_the_way(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """A file stands where the ledger's folder should."""
    path.parent.write_text("no folder")
    problems = _refused(path, server, "the ledger")
    if path.parent.read_text() != "no folder":
        problems.append("the file in the way was changed")
    path.parent.unlink()
    return [*problems, *_gone_on(path, server, whole)]


def _locked(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """Another program writes to the ledger and does not stop, from the start or from some moment on."""
    Ledger(path).close()
    at, fetched, held = chance.randint(0, whole.marks.count("fetch") - 5), 0, list[sqlite3.Connection]()

    def lock(mark: str, _: int) -> None:
        nonlocal fetched
        fetched += mark == "fetch"
        if fetched >= at and not held and mark != "end":
            held.append(_lock(path))

    if at == 0:
        held.append(_lock(path))
    told = Life(path, server.url, ailment=Ailment(patience_s=_PATIENCE_S)).lived(lock).told
    for connection in held:
        connection.close()
    return [*_unclear(told, "in use by another program"), *_gone_on(path, server, whole)]


def _flipped(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """Bits of the file are others than were written: it is told, or was where nothing is read from."""
    Life(path, server.url).lived(killer("checkpoint", chance.randint(1, 5), 0.0))
    Ledger(path).close()  # or the log of the killed process would mend it
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 10, 100))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    told = Life(path, server.url, again=True).lived().told
    if told is not None and whole.told is not None and told.report == whole.told.report:
        return []
    if told is not None and told.report is not None and not told.errors:
        return ["it went on to another report, and said nothing"]
    return _unclear(told, "the ledger")


def _altered(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """Replies are others than the sources sent, whole and well packed: their SHA-256 alone can tell."""
    Life(path, server.url).lived(killer("checkpoint", chance.randint(2, 5), 0.0))
    Ledger(path).close()
    with closing(sqlite3.connect(path)) as database:
        bodies = database.execute("SELECT hash, data FROM body").fetchall()
        altered = [(zlib.compress(zlib.decompress(data) + b" "), name) for name, data in bodies]
        database.executemany("UPDATE body SET data = ? WHERE hash = ?", altered)
        database.commit()
    problems = [] if bodies else ["the ledger held no reply that could be altered"]
    resumed = Life(path, server.url, again=True).lived().told
    if resumed is not None and resumed.report is not None and not resumed.errors:
        problems.append("it went on with replies that no source sent, and said nothing")
    return problems + _unclear(resumed, "is damaged")


def _two_resumes(chance: random.Random, server: SourceServer, path: Path, whole: Life) -> list[str]:
    """A second process resumes a run while the first one is at it."""
    Life(path, server.url).lived(killer("checkpoint", chance.randint(1, 5), 0.0))
    second: list[Told | None] = []

    def try_too(mark: str, pid: int) -> None:
        if not second:
            os.kill(pid, signal.SIGSTOP)  # so that it is still at it, however slow the second one starts
            second.append(Life(path, server.url, again=True).lived().told)
            os.kill(pid, signal.SIGCONT)

    first = Life(path, server.url, again=True).lived(try_too).told
    problems = [] if second else ["the first one was over before the second one came"]
    for told in second:
        problems += _unclear(told, "worked on by another process")
        if told is not None and (told.report is not None or told.model_calls):
            problems.append("the second one went on with the run")
    if first is None or whole.told is None or first.report != whole.told.report:
        problems.append("the first one's report is another one")
    return problems if intact(path) else [*problems, "the ledger is torn"]


CASES: dict[str, Case] = {
    "full disk": _full_disk,
    "read-only folder": _read_only_folder,
    "locked": _locked,
    "flipped bits": _flipped,
    "two resumes": _two_resumes,
    "no larger files": _no_larger_files,
    "read-only file": _read_only_file,
    "a file in the folder's place": _a_file_in_the_way,
    "altered replies": _altered,
}


def _unclear(told: Told | None, due: str) -> list[str]:
    """What is wrong with how a life that could not be lived well told of it."""
    if told is None:
        return ["the process died"]
    if told.crash:
        return [f"it crashed: {told.crash}"]
    clear = [line for line in told.errors if due in line and "\n" not in line and len(line) < _LONGEST_LINE]
    return [] if clear else [f"nothing says {due!r}: {list(told.errors)}"]


def _refused(path: Path, server: SourceServer, due: str) -> list[str]:
    """What is wrong with how a life is refused that has nothing to write to; what was there must stay as it was."""
    again = path.is_file()
    before = path.read_bytes() if again else b""
    told = Life(path, server.url, again=again, ailment=Ailment(heeds_permissions=True)).lived().told
    problems = _unclear(told, due)
    if told is not None and told.report is not None:
        problems.append("it went on without a ledger")
    if again and path.read_bytes() != before:
        problems.append("the ledger was written to")
    return problems


def _gone_on(path: Path, server: SourceServer, whole: Life) -> list[str]:
    """What is wrong with the next life of a run whose ledger can be written again."""
    if not intact(path):
        return ["the ledger is torn"]
    begun = False
    with suppress(LedgerError), Ledger.existing(path) as ledger:
        begun = ledger.run(RUN_ID).status == "interrupted"
        if not begun:
            return [f"the run counts as {ledger.run(RUN_ID).status}"]
    told = Life(path, server.url, again=begun).lived().told
    if told is None or told.crash or told.report is None:
        return [f"it could not go on: {told}"]
    return [] if whole.told is not None and told.report == whole.told.report else ["the report is another one"]


@contextmanager
def _permissions(place: Path, mode: int) -> Iterator[None]:
    """Change what may be done with a file or folder, for a while."""
    before = place.stat().st_mode
    place.chmod(mode)
    try:
        yield
    finally:
        place.chmod(before)


def _lock(path: Path) -> sqlite3.Connection:
    """Hold a ledger's lock for writing."""
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def _pages(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA page_count").fetchone()[0])
