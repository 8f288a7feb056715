"""`willowbark library read`: a library is read once, whoever stops it and however many read; runs take from it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders import ScriptedReader, short_run, without_clock
from exports_sample import HAS_PYARROW
from typer.testing import CliRunner

from willowbark.teams.faces import doctor
from willowbark.teams.faces.cli import app
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import replay, research, research_stream
from willowbark.teams.run.within import ask_within
from willowbark.teams.screening import library_reading
from willowbark.teams.screening.library_reading import PARQUET_FILE, read_library
from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.errors import UsageError
from willowbark.tools.library import open_library
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.learned import LearnedReader
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.store import STORE_FILE, StudyStore, identify_reader

QUESTION = "Which existing drugs could prevent migraine attacks?"
DRUGS = ("topiramate", "propranolol", "timolol", "candesartan")
RECORDS = 24


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library of records that name a drug and a condition each, one without a drug and one without a date."""
    folder = tmp_path / "library"
    folder.mkdir()
    rows = [
        {
            "pmid": str(number),
            "title": f"{DRUGS[number % 4].capitalize()} for the prevention of migraine: trial {number}",
            "abstract": f"We treated {100 + number} patients. Attacks fell more with {DRUGS[number % 4]} than placebo.",
            "date": f"{1990 + number}" if number > 1 else None,
        }
        for number in range(1, RECORDS)
    ]
    rows.append({"pmid": str(RECORDS), "title": "Sleep in students", "abstract": "Sleep was short.", "date": "2001"})
    (folder / "publications.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def count_by(reader: ScriptedReader, folder: Path) -> tuple[int, int]:
    identity = identify_reader(reader.name, reader.version, Reading)
    with StudyStore(folder / STORE_FILE, is_writable=False) as store:
        return store.count_done(identity), sum(count.rows for count in store.counts())


def test_each_record_is_read_once_and_a_second_call_reads_nothing(library: Path) -> None:
    reader = ScriptedReader(effect="better")
    first = read_library(open_library(library), reader=reader)
    assert (first.seen, first.read, first.readings) == (RECORDS, RECORDS, RECORDS - 1)
    assert count_by(reader, library) == (RECORDS, RECORDS - 1)

    again = read_library(open_library(library), reader=reader)

    assert (again.seen, again.read, again.readings) == (RECORDS, 0, 0)
    assert len(reader.asked) == RECORDS - 1
    assert open_library(library).contents.publications == RECORDS, "the store is no record of the library"


def test_what_was_added_to_a_library_is_all_that_is_read(library: Path) -> None:
    reader = ScriptedReader(effect="better")
    read_library(open_library(library), reader=reader)
    row = {"pmid": "99", "title": "Valproate in migraine", "abstract": "Attacks fell.", "date": "2020"}
    (library / "more.jsonl").write_text(json.dumps(row))
    assert read_library(open_library(library), reader=reader).read == 1


class Stopping(ScriptedReader):
    """Stops after some readings, as Ctrl-C does."""

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        if len(self.asked) == 10:
            raise KeyboardInterrupt
        return super().read_document(document, drug, condition, key)


def test_a_call_that_is_stopped_goes_on_where_it_was(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_reading, "_COMMIT_S", 0)
    stopped, reader = Stopping(effect="better"), ScriptedReader(effect="better")
    with pytest.raises(KeyboardInterrupt):
        read_library(open_library(library), reader=stopped)
    assert len(stopped.asked) == 10

    read_library(open_library(library), reader=reader)

    assert len(reader.asked) == RECORDS - 1 - 10
    assert count_by(reader, library) == (RECORDS, RECORDS - 1)


SLOW = """
import sys, time
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from builders import ScriptedReader
from willowbark.teams.screening import library_reading
from willowbark.tools.library import open_library

class Slow(ScriptedReader):
    def read_document(self, *given):
        time.sleep(0.05)
        return super().read_document(*given)

library_reading._COMMIT_S = 0
print(library_reading.read_library(open_library(sys.argv[1]), reader=Slow(effect="better")).readings)
"""


def begin(library: Path) -> "subprocess.Popen[str]":
    tests = Path(__file__).parent
    command = [sys.executable, "-c", SLOW, str(library), str(tests), str(tests.parent)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.whole
def test_two_at_once_share_the_work_and_a_kill_loses_nothing_that_was_committed(library: Path) -> None:
    killed = begin(library)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.02)
        if (library / STORE_FILE).exists() and count_rows(library) >= 3:
            break
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(60)
    assert killed.stdout is not None
    killed.stdout.close()
    before = count_rows(library)
    assert before >= 3

    both = [begin(library), begin(library)]
    made = [int(each.communicate(timeout=300)[0]) for each in both]

    assert count_by(ScriptedReader(), library) == (RECORDS, RECORDS - 1)
    assert RECORDS - 1 - before <= sum(made) < 2 * (RECORDS - 1 - before)


def count_rows(library: Path) -> int:
    try:
        with StudyStore(library / STORE_FILE, is_writable=False) as store:
            return sum(count.rows for count in store.counts())
    except UsageError:  # another process is making it
        return 0


@pytest.mark.skipif(not HAS_PYARROW, reason="Parquet needs the extra `scale`")
def test_the_table_beside_a_library_is_taken_in_where_the_store_is_lost(library: Path) -> None:
    reader = ScriptedReader(effect="better")
    done = read_library(open_library(library), reader=reader)
    assert done.table == library / PARQUET_FILE
    (library / STORE_FILE).unlink()

    again = read_library(open_library(library), reader=reader)

    assert (again.readings, len(reader.asked)) == (0, RECORDS - 1)
    assert count_by(reader, library) == (RECORDS, RECORDS - 1)
    (library / STORE_FILE).unlink()
    (library / PARQUET_FILE).write_bytes(b"notes")
    with pytest.raises(UsageError, match=r"studies\.parquet: is damaged or no table of studies; remove it"):
        read_library(open_library(library), reader=reader)


def test_without_its_library_no_table_is_written(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_reading, "has_parquet", lambda: False)
    assert read_library(open_library(library), reader=ScriptedReader()).table is None
    assert not (library / PARQUET_FILE).exists()


def test_a_store_that_is_none_and_the_bundled_library_are_refused(library: Path) -> None:
    (library / STORE_FILE).write_text("my notes, which are longer than what SQLite writes first" * 9)
    with pytest.raises(UsageError, match=r"studies\.db is damaged; .* move it away"):
        read_library(open_library(library), reader=ScriptedReader())
    with pytest.raises(UsageError, match="name a library's folder"):
        read_library(open_library("bundled"), reader=ScriptedReader())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Titles of what the bundled reader reads."""
    titles, read_document = list[str](), LearnedReader.read_document

    def count(reader: LearnedReader, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        titles.append(document.title)
        return read_document(reader, document, drug, condition, key)

    monkeypatch.setattr(LearnedReader, "read_document", count)
    return titles


@pytest.mark.whole
async def test_a_run_takes_from_the_library_and_the_workspace_and_gives_the_same_report(
    library: Path, tmp_path: Path, reads: list[str]
) -> None:
    path = tmp_path / ".willowbark" / "ledger.db"
    run = {"settings": short_run(research__max_iterations=1), "library": library}
    alone = await research(QUESTION, **run)
    assert reads
    reads.clear()
    await research(QUESTION, **run, ledger=path, run_id="first")
    assert reads
    reads.clear()

    second = await research(QUESTION, **run, ledger=path, run_id="second")

    assert reads == [], "the workspace's store holds all of it"
    assert without_clock(second) == without_clock(alone)
    with Ledger(path) as ledger:
        ((taken,),) = ledger.query("SELECT count(*) FROM reading WHERE run = 'second'")
        assert taken == 5
        assert ledger.query("SELECT count(*) FROM reading WHERE run = 'first'") == [(0,)]
        (path.parent / STORE_FILE).unlink()
        assert without_clock(await replay("second", ledger)) == without_clock(second)
        assert reads == [], "a replay takes from the ledger"

        read_library(open_library(library))
        reads.clear()
        third = await research(QUESTION, **run, ledger=ledger, run_id="third")
        answer = await ask_within("Does topiramate prevent migraine?", "third", ledger)

    assert reads == [], "the library's store holds all of it"
    assert without_clock(third) == without_clock(alone)
    assert [drug.drug for drug in answer.drugs] == ["topiramate"]


@pytest.mark.whole
async def test_a_replay_gives_what_the_run_took_though_the_reader_would_say_otherwise(
    library: Path, tmp_path: Path
) -> None:
    own = load_reader()
    path = tmp_path / ".willowbark" / "ledger.db"
    run = {"settings": short_run(research__max_iterations=1), "library": library, "ledger": path}
    corrected = ScriptedReader(effect="worse", comparator="placebo", probability=1.0)
    corrected.name, corrected.version = own.name, own.version
    read_library(open_library(library), reader=corrected)

    report = await research(QUESTION, **run, run_id="one")
    (library / STORE_FILE).unlink()

    assert {row.direction for row in report.evidence_table} == {"contradicts"}
    with Ledger(path) as ledger:
        assert without_clock(await replay("one", ledger)) == without_clock(report)


@pytest.mark.whole
async def test_a_store_that_cannot_be_used_is_told_once_and_the_run_goes_on(library: Path, tmp_path: Path) -> None:
    path = tmp_path / ".willowbark" / "ledger.db"
    path.parent.mkdir()
    (path.parent / STORE_FILE).mkdir()
    run = {"settings": short_run(research__max_iterations=1), "library": library, "ledger": path}
    events = [event async for event in research_stream(QUESTION, **run)]
    told = [event.message for event in events if "store of studies" in event.message]
    assert len(told) == 1
    assert "move it away" in told[0] or "make its folder writable" in told[0]
    assert events[-1].report is not None


def test_the_command_info_and_the_doctor_say_how_many_studies_by_which_reader(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["library", "read", str(library), "--quiet"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"{RECORDS} records, {RECORDS} of them read now ({RECORDS - 1} readings)"
    again = CliRunner().invoke(app, ["library", "read", str(library), "--quiet"])
    assert again.stdout.splitlines()[0] == f"{RECORDS} records, 0 of them read now (0 readings)"

    reader = load_reader()
    [line] = doctor.describe_studies(library)
    start = f"{RECORDS - 1} studies ({RECORDS - 1} readings) by {reader.name} {reader.version} of Willowbark "
    assert line.startswith(start)
    assert doctor.check_studies(library) == []
    assert capsys.readouterr().out == f"Studies     {line}\n"
    assert doctor.describe_studies(tmp_path) == ["none read yet"]
    (tmp_path / STORE_FILE).write_text("notes " * 99)
    [fault] = doctor.check_studies(tmp_path)
    assert "is damaged" in fault
