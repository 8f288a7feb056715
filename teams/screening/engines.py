"""Engines that read: this process, or Ray (https://docs.ray.io) for many cores and machines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.http.limiter import RateLimiter, default_path
from willowbark.tools.reading.document import Document

Unit = tuple[str, Sequence[dict[str, Any]]]
"""A name, and what to read: `hash`, `title`, `text`, `types`, `drug`, `condition`."""
Engine = Callable[[Iterable[Unit]], Iterator[tuple[str, list[dict[str, str]]]]]
"""Reads units, in any order; yields their names, and rows of `hash` and `reading`."""


def read_unit(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Read a unit; each process loads the reader once."""
    reader, found = load_reader(), []
    for row in rows:
        document = Document.cut(row["title"], row["text"], tuple(row["types"]))
        reading = reader.read_document(document, row["drug"], row["condition"])
        found.append({"hash": row["hash"], "reading": reading.model_dump_json()})
    return found


def read_here(units: Iterable[Unit]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Read in this process."""
    for name, rows in units:
        yield name, read_unit(rows)


def engine_of(name: str) -> Engine:
    """Look up an engine: `local`, `ray` (this machine, or the cluster it belongs to), `ray://HOST:PORT`.

    Raises:
        UsageError: no such engine, or Ray is missing or unreachable.
    """
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

    async def wait(self, name: str, per_second: float) -> float:
        """Sleep until the next request to `name` may start; return the seconds waited."""
        waited: float = await _limits_of(name).wait.remote(name, per_second)
        return waited

    def spend(self, name: str, per_day: int) -> bool:
        """Count one request of the daily allowance; return False if it is already used up."""
        import ray  # noqa: PLC0415  an extra

        return bool(ray.get(_limits_of(name).spend.remote(name, per_day)))


def _limits_of(name: str) -> Any:
    """Return the actor that keeps a source's limits; it outlives its callers, and restarts if its node is lost."""
    import ray  # noqa: PLC0415  an extra

    actor = ray.remote(RateLimiter).options(
        name=f"limits of {name}",
        namespace="willowbark",
        get_if_exists=True,
        lifetime="detached",
        num_cpus=0,
        max_restarts=-1,
        max_task_retries=-1,
    )
    return actor.remote(default_path())


def read_on_ray(units: Iterable[Unit]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Read on Ray: one task per unit, retried if its worker or node is lost, with two tasks per core at a time."""
    import ray  # noqa: PLC0415  an extra

    read = ray.remote(num_cpus=1, max_retries=-1)(read_unit)
    names: dict[Any, str] = {}
    waiting = iter(units)
    more = True
    while more or names:
        room = 2 * int(ray.cluster_resources().get("CPU", 1))
        while more and len(names) < room:
            if (unit := next(waiting, None)) is None:
                more = False
            else:
                names[read.remote(unit[1])] = unit[0]
        done, _ = ray.wait(list(names), num_returns=1) if names else ([], [])
        for each in done:
            yield names.pop(each), ray.get(each)
