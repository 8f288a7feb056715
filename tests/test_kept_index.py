"""A large library is indexed once: the index stands beside it, holds for its contents; a damaged one is made again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from willowbark.teams.run.research import research_stream
from willowbark.tools.errors import UsageError
from willowbark.tools.library import kept_index, library
from willowbark.tools.library.kept_index import INDEX_FOLDER
from willowbark.tools.library.library import open_library

DRUGS = ("propranolol", "timolol", "topiramate", "valproate", "candesartan")


@pytest.fixture(autouse=True)
def small_ones_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Libraries of any size are kept, and none is open from before."""
    monkeypatch.setattr(kept_index, "KEPT_FROM_BYTES", 1)
    monkeypatch.chdir(tmp_path)
    library._opened.clear()
    yield
    library._opened.clear()


def write(folder: Path, *drugs: str) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [
        {
            "pmid": str(number),
            "title": f"{drug.capitalize()} in migraine: a randomized trial",
            "abstract": f"{drug.capitalize()} reduced attacks compared with placebo.",
        }
        for number, drug in enumerate(drugs, 1)
    ]
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def open_anew(folder: Path) -> tuple[library.Library, list[str]]:
    """Open a library as the next command would."""
    library._opened.clear()
    told: list[str] = []
    return open_library(folder, told.append), told


def find(opened: library.Library, words: str) -> list[str]:
    return [json.loads(line)["pmid"] for line in opened.search(words, most=10)[0]]


def test_a_library_is_indexed_once_and_that_is_told(tmp_path: Path) -> None:
    folder = write(tmp_path / "records", *DRUGS)
    first, told = open_anew(folder)
    assert told == ["indexing the library records (0 MB in 1 file), once"]
    second, silent = open_anew(folder)
    assert silent == []
    assert second.contents == first.contents
    assert find(second, "migraine") == find(first, "migraine") == ["1", "2", "3", "4", "5"]
    assert second.by_numbers(["pmid:3"]) == first.by_numbers(["pmid:3"])
    assert second.summary == first.summary


def test_the_index_of_files_that_changed_is_made_again_and_the_old_one_deleted(tmp_path: Path) -> None:
    folder = write(tmp_path / "records", *DRUGS)
    open_anew(folder)
    write(folder, *DRUGS, "flunarizine")
    opened, told = open_anew(folder)
    assert len(told) == 1
    assert find(opened, "flunarizine") == ["6"]
    assert [path.name for path in (folder / INDEX_FOLDER).iterdir()] == [opened.digest]


def test_files_that_change_while_a_library_is_open_leave_it_as_it_was(tmp_path: Path) -> None:
    folder = write(tmp_path / "records", *DRUGS)
    before, _ = open_anew(folder)
    write(folder, "flunarizine")
    after, _ = open_anew(folder)
    assert find(before, "topiramate") == ["3"]
    assert find(after, "topiramate") == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "missing", "no description", "description of another kind"])
def test_a_damaged_index_is_told_in_a_line_and_made_again(tmp_path: Path, damage: str) -> None:
    folder = write(tmp_path / "records", *DRUGS)
    whole, _ = open_anew(folder)
    about = folder / INDEX_FOLDER / whole.digest / "about.json"
    part = max((about.parent / "index").iterdir(), key=lambda path: path.stat().st_size)
    content = part.read_bytes()
    if damage == "cut":
        part.write_bytes(content[:-1])
    elif damage == "flipped":
        part.write_bytes(content[:5] + bytes([content[5] ^ 1]) + content[6:])
    elif damage == "missing":
        part.unlink()
    else:
        about.write_text("{" if damage == "no description" else "[]")
    opened, told = open_anew(folder)
    assert told == [
        f"the index of the library in {folder / INDEX_FOLDER} is damaged; it is made again",
        "indexing the library records (0 MB in 1 file), once",
    ]
    assert find(opened, "migraine") == find(whole, "migraine")
    assert open_anew(folder)[1] == []


def test_a_library_that_cannot_be_written_to_has_its_index_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "records", *DRUGS)
    (folder / INDEX_FOLDER).write_text("")  # no folder can be made there, by root either
    opened, told = open_anew(folder)
    assert len(told) == 1
    assert find(opened, "migraine") == ["1", "2", "3", "4", "5"]
    assert len(list((tmp_path / ".willowbark" / "indexes").glob("*/*/about.json"))) == 1
    assert open_anew(folder)[1] == []
    monkeypatch.chdir(write(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere" / ".willowbark").write_text("")
    unkept, told = open_anew(folder)
    assert "cannot be kept" in told[1]
    assert find(unkept, "migraine") == find(opened, "migraine")


def test_a_library_of_one_file_has_its_index_beside_it(tmp_path: Path) -> None:
    file = write(tmp_path / "records", *DRUGS) / "records.jsonl"
    opened, told = open_anew(file)
    assert told == ["indexing the library records.jsonl (0 MB in 1 file), once"]
    assert find(opened, "timolol") == ["2"]
    assert open_anew(file)[1] == []


def test_what_a_killed_command_left_is_in_nobodys_way_and_is_deleted_once_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "records", *DRUGS)
    left = folder / INDEX_FOLDER / "0.part"
    left.mkdir(parents=True)
    open_anew(folder)
    assert left.exists()
    monkeypatch.setattr(kept_index, "_ABANDONED_S", -1.0)
    write(folder, "flunarizine")
    open_anew(folder)
    assert not left.exists()


def test_a_folder_without_a_record_is_refused_and_leaves_no_index(tmp_path: Path) -> None:
    folder = write(tmp_path / "records")
    (folder / "records.jsonl").write_text("no record\n")
    with pytest.raises(UsageError, match="holds no record that can be read"):
        open_anew(folder)
    assert list((folder / INDEX_FOLDER).iterdir()) == []


async def test_a_run_says_that_it_indexes_before_it_starts(tmp_path: Path) -> None:
    folder = write(tmp_path / "records", *DRUGS)
    lines = []
    async for event in research_stream("Which existing drugs could prevent migraine?", library=folder):
        lines.append((event.type, event.message))
        if event.type == "started":
            break
    assert lines[0] == ("progress", "indexing the library records (0 MB in 1 file), once")
