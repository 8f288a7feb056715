"""Engines that work: this process, or Ray (https://docs.ray.io) for many cores and machines."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.http.endpoints import RateLimiter, default_path
from willowbark.tools.reading.document import Document

ReaderRow = dict[str, Any]
WorkUnit = tuple[str, Sequence[ReaderRow]]
"""A name, and what to read."""
Results = tuple[list[ReaderRow], list[str]]
"""Rows for the table of readings, and why something was not read."""


class Worker:
    """Does units of work, in this process or, sent there, in those of a cluster.

    Attributes:
        unit: most rows in a unit.
        at_once: units that one process does concurrently.
        cpus: cores that a unit takes on a cluster.
    """

    unit = 1
    at_once = 1
    cpus = 1.0

    async def work(self, rows: Sequence[ReaderRow]) -> Results:
        """Do a unit."""
        raise NotImplementedError

    def note(self, rows: Sequence[ReaderRow], unread: Sequence[str] = ()) -> None:
        """Count results, where the screening runs."""

    def check_budget(self) -> None:
        """Raise UsageError if no further unit may be done."""


class TrainedReader(Worker):
    """Reads with the bundled reader: rows of `hash`, `title`, `text`, `types`, `drug`, `condition`.

    Another reader is a subclass.
    """

    unit = 100

    async def work(self, rows: Sequence[ReaderRow]) -> Results:
        """Return rows of `hash` and `reading`; each process loads the reader once."""
        reader = load_reader()
        found = list[ReaderRow]()
        for row in rows:
            document = Document.cut(row["title"], row["text"], tuple(row["types"]))
            reading = reader.read_document(document, row["drug"], row["condition"])
            found.append({"hash": row["hash"], "reading": reading.model_dump_json()})
        return found, []


Engine = Callable[[Iterable[WorkUnit], Worker], Iterator[tuple[str, Results]]]
"""Has units done, in any order; yields their names and results."""


def run_in_order(engine: Engine, units: Iterable[WorkUnit], worker: Worker) -> Iterator[tuple[str, Results]]:
    """Have units of different names done, and yield their results in the order of the units."""
    names = list[str]()
    done = dict[str, Results]()

    def note_names() -> Iterator[WorkUnit]:
        for name, rows in units:
            names.append(name)
            yield name, rows

    at = 0
    for name, results in engine(note_names(), worker):
        done[name] = results
        while at < len(names) and names[at] in done:
            yield names[at], done.pop(names[at])
            at += 1


def _until_stopped(units: Iterable[WorkUnit], stopped: list[UsageError]) -> Iterator[WorkUnit]:
    """Yield units; a UsageError is kept, so that those under way, which are paid for, end first."""
    try:
        yield from units
    except UsageError as error:
        stopped.append(error)


def read_here(units: Iterable[WorkUnit], reader: Worker) -> Iterator[tuple[str, Results]]:
    """Do units in this process."""
    stopped = list[UsageError]()
    tasks = dict[asyncio.Task[Results], str]()
    waiting = _until_stopped(units, stopped)
    with asyncio.Runner() as runner:
        while True:
            while not stopped and len(tasks) < reader.at_once:
                unit = next(waiting, None)
                if unit is None:
                    break
                tasks[runner.get_loop().create_task(reader.work(unit[1]))] = unit[0]
            if not tasks and stopped:
                raise stopped[0]
            if not tasks:
                return
            done, _ = runner.run(asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))
            for task in done:
                name = tasks.pop(task)
                try:
                    found = task.result()
                except UsageError as error:
                    stopped.append(error)
                else:
                    yield name, found


def read_unit(reader: Worker, rows: Sequence[ReaderRow]) -> Results:
    """Do a unit in a process of a cluster."""
    return asyncio.run(reader.work(rows))


def engine_of(name: str) -> Engine:
    """Look up an engine: `local`, `ray` (this machine or its cluster), `ray://HOST:PORT`; or UsageError."""
    if name == "local":
        return read_here
    if name != "ray" and not name.startswith("ray://"):
        raise UsageError(f"--engine {name} is not known; it is local, ray or ray://HOST:PORT")
    try:
        import ray  # noqa: PLC0415  an extra
    except ModuleNotFoundError:
        raise MissingExtra("--engine ray", "scale") from None
    if not ray.is_initialized():
        try:
            ray.init(address=None if name == "ray" else name, log_to_driver=False, include_dashboard=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(f"--engine {name}: Ray cannot be reached ({str(error).splitlines()[0]})") from None
    return read_on_ray


class ClusterLimiter(RateLimiter):
    """Enforces the sources' rate limits for a whole Ray cluster, with one actor per source."""

    async def wait(self, name: str, per_second: float, burst: int = 0) -> None:
        """Sleep until the next request to `name` may start."""
        await _limits_of(name).wait.remote(name, per_second, burst)


def _limits_of(name: str) -> Any:
    """Return the actor that keeps a source's limits; it outlives its callers, and restarts if its node is lost."""
    import ray  # noqa: PLC0415  an extra

    kept = {"get_if_exists": True, "lifetime": "detached", "max_restarts": -1, "max_task_retries": -1}
    actor = ray.remote(RateLimiter).options(name=f"limits of {name}", namespace="willowbark", num_cpus=0, **kept)
    return actor.remote(default_path())


def read_on_ray(units: Iterable[WorkUnit], reader: Worker) -> Iterator[tuple[str, Results]]:
    """Do units on Ray: one task per unit, retried if its worker or node is lost; twice as many are sent as can run."""
    import ray  # noqa: PLC0415  an extra

    read = ray.remote(num_cpus=reader.cpus, max_retries=-1)(read_unit)
    given = ray.put(reader)
    names: dict[Any, str] = {}
    stopped = list[UsageError]()
    waiting = _until_stopped(units, stopped)
    while True:
        room = int(2 * ray.cluster_resources().get("CPU", 1) / reader.cpus)
        while not stopped and len(names) < room:
            unit = next(waiting, None)
            if unit is None:
                break
            names[read.remote(given, unit[1])] = unit[0]
        if not names and stopped:
            raise stopped[0]
        if not names:
            return
        done, _ = ray.wait(list(names), num_returns=1)
        for each in done:
            name = names.pop(each)
            try:
                found = ray.get(each)
            except ray.exceptions.RayTaskError as error:
                if not isinstance(error.cause, UsageError):
                    raise
                stopped.append(error.cause)  # its text is one line, Ray's has the worker's traceback
            else:
                yield name, found
