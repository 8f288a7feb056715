"""Tables kept in the user's cache."""

import json
import os
from pathlib import Path

import pytest

from willowbark.tools.whole_file import Table, cached_table


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that a table is made from; the cache lies beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "names.tsv"
    path.write_text("aspirin")
    return path


class Maker:
    """Makes a table from a file, and counts how often."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.times = 0

    def __call__(self) -> Table:
        self.times += 1
        return {"names": [self.source.read_text()]}


def files(source: Path) -> list[Path]:
    return list((source.parent / "cache" / "willowbark").iterdir())


def test_a_table_is_made_once(source: Path) -> None:
    make = Maker(source)

    first, second = (cached_table("names", [source], make) for _ in range(2))

    assert first == second == {"names": ["aspirin"]}
    assert make.times == 1


def test_a_changed_source_makes_it_anew_and_drops_the_former(source: Path) -> None:
    make = Maker(source)
    cached_table("names", [source], make)
    source.write_text("propranolol")

    assert cached_table("names", [source], make) == {"names": ["propranolol"]}
    assert len(files(source)) == 1


@pytest.mark.parametrize("torn", [b"", b'{"names": ["asp', b"\xff\x00", b"[]"], ids=repr)
def test_a_torn_or_foreign_file_is_made_anew(source: Path, torn: bytes) -> None:
    make = Maker(source)
    cached_table("names", [source], make)
    [path] = files(source)
    path.write_bytes(torn)

    assert cached_table("names", [source], make) == {"names": ["aspirin"]}
    assert json.loads(path.read_bytes()) == {"names": ["aspirin"]}


def test_without_a_place_to_write_it_is_made_each_time(source: Path) -> None:
    (source.parent / "cache").write_text("a file where the folder should be")
    make = Maker(source)

    assert [cached_table("names", [source], make) for _ in range(2)] == [{"names": ["aspirin"]}] * 2
    assert make.times == 2


def test_a_full_disk_leaves_no_half_file(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)

    assert cached_table("names", [source], Maker(source)) == {"names": ["aspirin"]}
    assert files(source) == []
