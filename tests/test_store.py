"""The store of studies: a text is read once; what is damaged, foreign or newer is refused in a line."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import ScriptedReader

from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.store import (
    APPLICATION_ID,
    STORE_FORMAT,
    ReaderIdentity,
    ReadSubject,
    StoredRow,
    StoreError,
    StudyShelf,
    StudyStore,
    dump_content,
    hash_text,
    identify_reader,
)
from willowbark.tools.records.study import Arm, Study

TEXT = Document("Topiramate in migraine", "We randomised 120 patients. Attacks fell with topiramate.", ("Review",))
SUBJECT = ReadSubject(hash_text(TEXT), "topiramate", "migraine")
READER = ReaderIdentity("learned", "1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".willowbark" / "studies.db"


def read_by(reader: ScriptedReader, *paths: Path, **more: Any) -> tuple[Reading, StoredReader]:
    """Read the text in the condition by a reader that takes from stores, the first of which takes in."""
    with StudyShelf(paths[0], paths[1:], more.pop("tell", print)) as shelf:
        stored = StoredReader(shelf, reader, **more)
        return stored.read_document(TEXT, "topiramate", "migraine", "pmid:7"), stored


def test_what_was_read_is_taken_as_it_was_and_not_read_again(path: Path) -> None:
    reader = ScriptedReader(effect="better", probability=0.1 + 0.2, harm=1 / 3)
    first, _ = read_by(reader, path)
    again, stored = read_by(reader, path)

    assert first == again == reader.read_document(TEXT, "topiramate", "migraine", "pmid:7")
    assert (stored.made, len(reader.asked)) == (0, 2)


def test_a_record_takes_what_was_read_of_the_same_text_under_its_own_key(path: Path) -> None:
    reader = ScriptedReader(effect="better")
    read_by(reader, path)
    with StudyShelf(path) as shelf:
        copy = StoredReader(shelf, reader).read_document(TEXT, "topiramate", "migraine", "europepmc:9")
    assert copy.key == "europepmc:9"


@pytest.mark.parametrize(
    ("title", "text", "types", "drug", "condition"),
    [
        ("Topiramate in migraine", TEXT.text + "!", TEXT.types, "topiramate", "migraine"),
        ("Topiramate", f"in migraine. {TEXT.text}", TEXT.types, "topiramate", "migraine"),
        (TEXT.title, TEXT.text, (), "topiramate", "migraine"),
        (TEXT.title, TEXT.text, TEXT.types, "propranolol", "migraine"),
        (TEXT.title, TEXT.text, TEXT.types, "topiramate", "epilepsy"),
    ],
)
def test_another_text_drug_or_condition_is_read(
    path: Path, title: str, text: str, types: tuple[str, ...], drug: str, condition: str
) -> None:
    reader = ScriptedReader()
    read_by(reader, path)
    with StudyShelf(path) as shelf:
        stored = StoredReader(shelf, reader)
        stored.read_document(Document(title, text, types), drug, condition)
    assert stored.made == 1


def test_another_version_of_a_reader_or_of_willowbark_reads_itself(path: Path) -> None:
    identity = identify_reader("learned", "1", Reading)
    with StudyStore(path) as store:
        store.keep([StoredRow(SUBJECT, {"role": "tested"})], identity)
        found = {name: store.find(SUBJECT, identity._replace(**{name: "other"})) for name in ReaderIdentity._fields}
        assert found == dict.fromkeys(ReaderIdentity._fields)
        assert store.find(SUBJECT, identity) == {"role": "tested"}


def test_a_whole_study_is_kept_like_a_reading(path: Path) -> None:
    study = Study(key="pmid:7", reader="model", version="m", arms=(Arm(name="topiramate", role="drug"),))
    whole = ReadSubject(hash_text(TEXT))
    with StudyStore(path) as store:
        store.keep([StoredRow(whole, dump_content(study))], READER, done=[whole.text])
        content = store.find(whole, READER)
        assert content is not None
        assert Study.model_validate({**content, "key": "pmid:7"}) == study
        assert store.is_done(whole.text, READER)
        assert not store.is_done(whole.text, READER._replace(version="2"))
        [count] = store.counts()
    assert (count.reader, count.texts, count.rows) == (READER, 1, 1)


def test_a_store_holds_no_key_and_no_question(path: Path) -> None:
    read_by(ScriptedReader(effect="better"), path)
    with StudyStore(path, is_writable=False) as store:
        [row] = store.rows()
    assert "pmid:7" not in row["content"]
    assert '"key"' not in row["content"]


def test_what_a_run_took_before_counts_before_any_store_and_what_it_takes_is_noted(path: Path) -> None:
    reader, notes = ScriptedReader(effect="better"), dict[str, dict[str, Any]]()
    read_by(reader, path, note=notes.__setitem__)
    assert notes == {}, "made, not taken"
    taken, _ = read_by(reader, path, note=notes.__setitem__)
    assert list(notes) == [SUBJECT.digest]
    former = {**notes[SUBJECT.digest], "effect": "worse"}
    recalled, stored = read_by(reader, path, recall={SUBJECT.digest: former}.get)
    assert (taken.effect, recalled.effect, stored.made) == ("better", "worse", 0)


def test_a_store_beside_a_library_is_taken_from_and_left_as_it_is(path: Path, tmp_path: Path) -> None:
    reader, beside = ScriptedReader(effect="better"), tmp_path / "library" / "studies.db"
    read_by(reader, beside)
    before = beside.read_bytes()
    _, stored = read_by(reader, path, beside)
    assert stored.made == 0
    assert beside.read_bytes() == before
    read_by(reader, path, tmp_path / "none" / "studies.db")
    assert not (tmp_path / "none").exists()


def damage_row(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE study SET content = x'00'")
    database.close()


def put_content(content: dict[str, Any]) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        path.unlink()
        with StudyStore(path) as store:
            store.keep([StoredRow(SUBJECT, content)], identify_reader("scripted", "1", Reading))

    return put


def run_sql(*statements: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        database = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            database.execute(statement)
        database.close()

    return run


QUOTED = {
    "drug": "topiramate", "condition": "migraine", "role": "tested", "reader": "scripted", "version": "1",
    "passages": [{"text": "It cured everybody.", "start": 0, "end": 19}],
}  # fmt: skip
BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:5000]) and None, "is damaged"),
    "text": (
        lambda path: path.write_text("my notes, which are longer than a header of SQLite " * 9) and None,
        "is damaged",
    ),
    "a bent row": (damage_row, "is damaged"),
    "no reading": (put_content({"role": "king"}), "is damaged"),
    "a quote that the text lacks": (put_content(QUOTED), "is damaged"),
    "a table gone": (run_sql("DROP TABLE done", "DROP TABLE study"), "is damaged"),
    "somebody else's": (
        run_sql("PRAGMA application_id=0", "PRAGMA user_version=0"),
        "is no store of studies; move it away, and a new one is made",
    ),
    "newer": (
        run_sql(f"PRAGMA user_version={STORE_FORMAT + 1}"),
        "is of a newer version (form 2, this one reads 1); update Willowbark, or move it away, and a new one is made",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_unusable_store_is_told_in_one_line_left_as_it_is_and_reading_goes_on(path: Path, name: str) -> None:
    reader, lines = ScriptedReader(effect="better"), list[str]()
    first, _ = read_by(reader, path)
    harm, words = BROKEN[name]
    harm(path)
    before = path.read_bytes()

    again, stored = read_by(reader, path, tell=lines.append)

    assert (again, stored.made) == (first, 1)
    [line] = lines
    assert words in line
    assert str(path) in line
    assert "\n" not in line
    assert "move it away" in line
    assert path.read_bytes() == before


def test_a_store_that_cannot_be_made_is_told_once_and_reading_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lines = list[str]()
    with StudyShelf(tmp_path / "file" / "studies.db", tell=lines.append) as shelf:
        stored = StoredReader(shelf, ScriptedReader(effect="better"))
        for condition in ("migraine", "epilepsy"):
            stored.read_document(TEXT, "topiramate", condition)
    assert stored.made == 2
    [line] = lines
    assert "cannot be opened or written; make its folder writable" in line


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_taken_from_and_that_it_takes_nothing_is_told_once(path: Path) -> None:
    read_by(ScriptedReader(), path)
    path.chmod(0o400)
    lines = list[str]()
    with StudyShelf(path, tell=lines.append) as shelf:
        stored = StoredReader(shelf, ScriptedReader())
        stored.read_document(TEXT, "topiramate", "migraine")
        assert stored.made == 0
        stored.read_document(TEXT, "topiramate", "epilepsy")
    assert len(lines) == 1


def test_a_full_disk_is_told_once_and_reading_goes_on(path: Path) -> None:
    with StudyStore(path) as store:
        store._connection.execute("PRAGMA max_page_count=1")
        rows = [StoredRow(ReadSubject(f"{number:032x}"), {"people": "x" * 3000}) for number in range(90)]
        with pytest.raises(StoreError, match="the disk is full; make room"):
            store.keep(rows, READER)


WRITER = """
import sys
from pathlib import Path
from willowbark.tools.reading.store import ReaderIdentity, ReadSubject, StoredRow, StudyStore
first = int(sys.argv[2])
with StudyStore(Path(sys.argv[1])) as store:
    for number in range(first, first + 200):
        row = StoredRow(ReadSubject(f"{number:032x}", "a", "b"), {"number": number})
        store.keep([row], ReaderIdentity("learned", "1"), done=[row.subject.text])
"""


def test_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, str(first)]) for first in (0, 100, 200)]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    with StudyStore(path, is_writable=False) as store:
        numbers = {number: store.find(ReadSubject(f"{number:032x}", "a", "b"), READER) for number in range(400)}
        assert store.count_done(READER) == 400
    assert numbers == {number: {"number": number} for number in range(400)}


def test_the_file_names_itself(path: Path) -> None:
    StudyStore(path).close()
    assert int.from_bytes(path.read_bytes()[68:72], "big") == APPLICATION_ID
