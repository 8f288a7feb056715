"""No window of a second holds more starts than the limit, across tasks and processes."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from willowbark.tools import limiter as limiter_module
from willowbark.tools.limiter import RateLimiter

WORKER = """
import asyncio, contextlib, sys, time
from pathlib import Path
from willowbark.tools.limiter import RateLimiter

async def main(path, per_second, until):
    limiter = RateLimiter(Path(path))
    async def ask():
        while True:
            await limiter.wait("source", per_second)
            print(time.time(), flush=True)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(until - time.time()):
            await asyncio.gather(*(ask() for _ in range(8)))
    assert limiter.shared
    limiter.close()

asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
"""


def most_in_a_second(moments: list[float]) -> int:
    return max(sum(start <= moment < start + 1 for moment in moments) for start in moments)


def test_four_processes_of_eight_tasks_keep_one_limit(tmp_path: Path) -> None:
    published, used = 10, 8  # the transport uses 80 % of what a source publishes
    command = [sys.executable, "-c", WORKER, str(tmp_path / "limits.sqlite"), str(used), str(time.time() + 4.5)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]

    moments = sorted(float(line) for worker in workers for line in worker.communicate(timeout=30)[0].split())

    assert [worker.returncode for worker in workers] == [0] * 4
    assert most_in_a_second(moments) <= published
    assert len(moments) >= 0.75 * used * (moments[-1] - moments[0])


async def test_tasks_of_one_limiter_keep_its_limit() -> None:
    limiter, moments = RateLimiter(), list[float]()

    async def ask() -> None:
        await limiter.wait("source", 20)
        moments.append(time.monotonic())

    await asyncio.gather(*(ask() for _ in range(25)))

    assert most_in_a_second(sorted(moments)) <= 21
    assert 1.1 < moments[-1] - moments[0] < 1.6


async def test_requests_held_up_by_a_busy_loop_do_not_start_at_once() -> None:
    limiter, moments = RateLimiter(), list[float]()

    async def ask() -> None:
        await limiter.wait("source", 10)
        moments.append(time.monotonic())

    tasks = [asyncio.create_task(ask()) for _ in range(8)]
    await asyncio.sleep(0)
    time.sleep(0.7)  # noqa: ASYNC251  the loop is blocked, as an import or a large parse blocks it
    await asyncio.gather(*tasks)

    assert max(sum(start <= moment < start + 0.3 for moment in moments) for start in moments) <= 5


async def test_each_name_has_a_limit_of_its_own() -> None:
    limiter = RateLimiter()

    assert [await limiter.wait(name, 0.001) for name in ("a", "b", "c")] == [0, 0, 0]


async def unhurried(_: float) -> None:
    """A sleep for limits that are too slow to wait for."""


@pytest.mark.parametrize("where", ["below a file", "a folder", "no database"])
async def test_a_path_that_cannot_be_used_falls_back_and_says_so(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("This is no database, although it stands where one should stand. " * 20)
    path = {"below a file": tmp_path / "file" / "x" / "limits", "a folder": tmp_path, "no database": tmp_path / "file"}
    limiter = RateLimiter(path[where], sleep=unhurried)

    waits = [await limiter.wait("source", 10) for _ in range(3)]
    limiter.close()

    assert not limiter.shared
    assert waits == pytest.approx([0, 0.1, 0.2], abs=0.05)


async def test_a_locked_database_falls_back_without_a_pause_for_each_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limiter_module, "_BUSY_TIMEOUT_S", 0.2)
    path = tmp_path / "limits.sqlite"
    first = RateLimiter(path)
    await first.wait("source", 1000)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    limiter = RateLimiter(path)
    started = time.monotonic()

    await asyncio.gather(*(limiter.wait("source", 1000) for _ in range(8)))

    assert not limiter.shared
    assert time.monotonic() - started < 1
    holder.close()
    first.close()
    limiter.close()


async def test_a_cancelled_wait_leaves_the_limit_shared(tmp_path: Path) -> None:
    limiter = RateLimiter(tmp_path / "limits.sqlite")

    for _ in range(20):
        task = asyncio.create_task(limiter.wait("source", 1000))
        await asyncio.sleep(0)
        task.cancel()
        await limiter.wait("source", 1000)

    assert limiter.shared
    limiter.close()


async def test_a_moment_written_under_another_clock_is_forgotten(tmp_path: Path) -> None:
    limiter = RateLimiter(tmp_path / "limits.sqlite", sleep=unhurried)
    await limiter.wait("source", 1)
    with sqlite3.connect(tmp_path / "limits.sqlite") as database:
        database.execute("UPDATE moment SET next = next + 86400")
    database.close()

    assert await limiter.wait("source", 1) < 2
    limiter.close()


def test_a_limiter_serves_one_loop_after_another(tmp_path: Path) -> None:
    limiter = RateLimiter(tmp_path / "limits.sqlite")

    async def ask() -> None:
        await asyncio.gather(*(limiter.wait("source", 1000) for _ in range(4)))

    asyncio.run(ask())
    limiter.close()
    asyncio.run(ask())
    limiter.close()

    assert limiter.shared


def test_the_shared_file_lies_in_the_users_cache() -> None:
    if sys.platform == "linux":
        assert limiter_module.default_path().is_relative_to(os.environ["XDG_CACHE_HOME"])
