"""Addresses, limits and keys come from one place; no second holds more starts than the limit, in all processes."""

import asyncio
import re
import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from willowbark.tools.errors import UsageError
from willowbark.tools.http import endpoints as endpoints_module
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.library import read_environment

KEY = "canary-3f9a"


def test_a_key_raises_pubmeds_limit_and_is_never_shown() -> None:
    endpoints = Endpoints.public({"NCBI_API_KEY": f" {KEY}\n"})

    assert endpoints["pubmed"].per_second == 10
    assert endpoints["pubmed"].key is not None
    assert endpoints["pubmed"].key.get_secret_value() == KEY
    assert KEY not in repr(endpoints) + str(endpoints) + endpoints.model_dump_json() + str(endpoints.model_dump())


@pytest.mark.parametrize("blank", [{}, {"NCBI_API_KEY": "", "NCBI_EMAIL": " "}, {"WILLOWBARK_LIBRARY__PATH": " "}])
def test_blank_settings_are_none(blank: dict[str, str]) -> None:
    endpoints = read_environment(blank)

    assert endpoints == Endpoints()
    assert endpoints.email is None
    assert endpoints.is_public


def test_one_server_takes_the_place_of_every_source() -> None:
    endpoints = Endpoints.at("http://127.0.0.1:8000/")

    assert endpoints.hosts == {"127.0.0.1:8000"}
    assert endpoints["pubmed"].base_url == "http://127.0.0.1:8000/pubmed"
    assert endpoints["pubmed"].key is None
    assert not endpoints.is_public


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "file:///etc/passwd", "http://", "http://[", "nonsense"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not the address of a server"):
        Endpoints.at(url)


def test_a_source_that_is_unknown_or_lacks_its_key_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'scopus'.*pubmed"):
        Endpoints()["scopus"]
    with pytest.raises(UsageError) as caught:
        Endpoints.public({}).require(["pubmed", "brave"])
    assert re.fullmatch(
        r".*brave is not searched.*BRAVE_API_KEY.*there are clinicaltrials, pubmed, .*", str(caught.value)
    )


@pytest.mark.parametrize(
    "endpoints",
    [
        Endpoints.public({"BRAVE_API_KEY": KEY}),
        Endpoints.at("http://127.0.0.1:8000"),
        read_environment({"WILLOWBARK_LIBRARY__PATH": "bundled"}),
    ],
    ids=["key", "server", "library"],
)
def test_a_key_or_what_stands_in_is_enough_for_a_source_that_needs_one(endpoints: Endpoints) -> None:
    endpoints.require(["pubmed", "brave"])


WORKER = """
import asyncio, sys
from pathlib import Path
from willowbark.tools.http.endpoints import RateLimiter

class Telling(RateLimiter):
    def _reserve(self, values):
        moment = super()._reserve(values)
        print(repr(moment))
        return moment

async def main(path, per_second, times):
    limiter = Telling(Path(path))
    async def ask():
        for _ in range(times):
            await limiter.wait("source", per_second)
    await asyncio.gather(*(ask() for _ in range(8)))
    assert limiter.shared
    limiter.close()

asyncio.run(main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
"""


def test_four_processes_of_eight_tasks_never_get_the_same_moment(tmp_path: Path) -> None:
    per_second, times = 50, 5
    command = [sys.executable, "-c", WORKER, str(tmp_path / "limits.sqlite"), str(per_second), str(times)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]

    moments = sorted(float(line) for worker in workers for line in worker.communicate(timeout=120)[0].split())

    assert [worker.returncode for worker in workers] == [0] * 4
    assert len(moments) >= 4 * 8 * times
    assert min(later - earlier for earlier, later in pairwise(moments)) > 0.99 / per_second


class Clock:
    """A clock that goes on only while everybody sleeps; until `held_until` nobody wakes."""

    def __init__(self, held_until: float) -> None:
        self.now = 1000.0
        self._held_until = held_until
        self._alarms: list[float] = []

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        alarm = max(self.now + seconds, self._held_until)
        self._alarms.append(alarm)
        while self.now < alarm:
            for _ in range(5):  # whoever woke before goes back to sleep first
                await asyncio.sleep(0)
            if alarm == min(self._alarms):
                self.now = max(self.now, alarm)
        self._alarms.remove(alarm)


async def test_requests_held_up_by_a_busy_loop_do_not_start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(held_until=1000.75)
    monkeypatch.setattr(endpoints_module, "time", clock)
    limiter, moments = RateLimiter(sleep=clock.sleep), list[float]()

    async def ask() -> None:
        await limiter.wait("source", 10)
        moments.append(clock.now)

    await asyncio.gather(*(ask() for _ in range(8)))

    assert len(moments) == 8
    assert max(sum(start <= moment < start + 0.3 for moment in moments) for start in moments) <= 5


async def test_a_burst_runs_ahead_of_the_pace_and_no_minute_has_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(held_until=1000.0)
    monkeypatch.setattr(endpoints_module, "time", clock)
    limiter, moments = RateLimiter(sleep=clock.sleep), list[float]()
    for _ in range(90):
        await limiter.wait("source", 40 / 60, burst=4)
        moments.append(clock.now)

    assert moments[4] == moments[0]
    assert moments[5] - moments[4] == pytest.approx(1.5)
    assert max(sum(start <= moment < start + 60 for moment in moments) for start in moments) <= 50


@pytest.mark.parametrize("where", ["below a file", "a folder", "no database"])
async def test_a_path_that_cannot_be_used_falls_back_and_says_so(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("This is no database, although it stands where one should stand. " * 20)
    path = {"below a file": tmp_path / "file" / "x" / "limits", "a folder": tmp_path, "no database": tmp_path / "file"}
    waits = list[float]()

    async def unhurried(seconds: float) -> None:
        waits.append(seconds)

    limiter = RateLimiter(path[where], sleep=unhurried)
    for _ in range(3):
        await limiter.wait("source", 0.01)
    limiter.close()

    assert not limiter.shared
    assert waits == pytest.approx([100, 200], abs=50)


async def test_a_locked_database_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints_module, "_BUSY_TIMEOUT_S", 0.1)
    path = tmp_path / "limits.sqlite"
    first = RateLimiter(path)
    await first.wait("source", 1000)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    limiter = RateLimiter(path)

    await asyncio.gather(*(limiter.wait("source", 1000) for _ in range(8)))

    assert not limiter.shared
    holder.close()
    first.close()
    limiter.close()
