"""Commits that share their wait: what is told while one is under way goes into the next one together.

A commit waits for the disk, some milliseconds each. A thread of its own waits, so that agents go on, and one wait
serves all that was told in the meantime. Who needs to be sure that something is kept waits for its future.
"""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from .database import transaction

Job = Callable[[sqlite3.Connection], object]
"""Writes something; called within a transaction, in the order of the jobs."""
Kept = Future[Exception | None]
"""Done when a job is committed, or could not be: then it holds why."""


class Writer:
    """Writes to a ledger, job by job, in their order.

    Args:
        database: used by nobody else while there are jobs, not even to ask: `sealed` calls Python from within SQLite,
            and another thread that holds Python's lock and waits for that connection's would wait for ever.
        aside: whether a thread of its own waits for the disk; memory needs none, and jobs are done at once.
    """

    def __init__(self, database: sqlite3.Connection, *, aside: bool) -> None:
        self._database = database
        self._thread = ThreadPoolExecutor(1, "willowbark-ledger") if aside else None
        self._mutex = threading.Lock()
        self._waiting: list[tuple[Job, Kept]] = []
        self._at_work = False

    def submit(self, job: Job) -> Kept:
        """Have a job committed, soon; a job that fails takes nothing with it."""
        kept: Kept = Future()
        kept.set_running_or_notify_cancel()  # from here on nobody can cancel it
        if self._thread is None:
            self._commit([(job, kept)])
            return kept
        with self._mutex:
            self._waiting.append((job, kept))
            if not self._at_work:
                self._at_work = True
                self._thread.submit(self._work)
        return kept

    def commit(self, job: Job) -> None:
        """Have a job committed, and wait for it.

        Raises:
            Exception: whatever the job or its commit raised; nothing of it was written.
        """
        if (error := self.submit(job).result()) is not None:
            raise error

    def close(self) -> None:
        """Finish what was submitted, and end the thread."""
        if self._thread is not None:
            self._thread.shutdown()

    def _work(self) -> None:
        while True:
            with self._mutex:
                jobs, self._waiting = self._waiting, []
                if not jobs:
                    self._at_work = False
                    return
            self._commit(jobs)

    def _commit(self, jobs: list[tuple[Job, Kept]]) -> None:
        try:
            with transaction(self._database):
                for job, _ in jobs:
                    job(self._database)
        except Exception as error:  # noqa: BLE001  handed to whoever submitted
            if len(jobs) == 1:
                jobs[0][1].set_result(error)
            else:
                for one in jobs:
                    self._commit([one])
        else:
            for _, kept in jobs:
                kept.set_result(None)
