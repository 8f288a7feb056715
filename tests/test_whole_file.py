"""Files that are there whole or not at all, and tables kept in the user's cache."""

import json
import os
from pathlib import Path

import pytest

from willowbark.tools.whole_file import Table, cached_table


class Maker:
    """Makes a table from a file beside the cache, and counts how often."""

    def __init__(self, source: Path) -> None:
        self.source, self.times = source, 0

    def __call__(self) -> Table:
        self.times += 1
        return {"names": [self.source.read_text()]}

    def table(self) -> Table:
        return cached_table("names", [self.source], self)

    def kept(self) -> list[Path]:
        return list((self.source.parent / "cache" / "willowbark").iterdir())


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "names.tsv"
    path.write_text("aspirin")
    return Maker(path)


def test_a_table_is_made_once_and_anew_when_its_source_changes(maker: Maker) -> None:
    assert maker.table() == maker.table() == {"names": ["aspirin"]}
    assert maker.times == 1
    maker.source.write_text("propranolol")

    assert maker.table() == {"names": ["propranolol"]}
    assert len(maker.kept()) == 1


@pytest.mark.parametrize("torn", [b"", b'{"names": ["asp', b"\xff\x00", b"[]"], ids=repr)
def test_a_torn_or_foreign_file_is_made_anew(maker: Maker, torn: bytes) -> None:
    maker.table()
    [path] = maker.kept()
    path.write_bytes(torn)

    assert maker.table() == {"names": ["aspirin"]}
    assert json.loads(path.read_bytes()) == {"names": ["aspirin"]}


def test_without_a_place_to_write_it_is_made_each_time(maker: Maker) -> None:
    (maker.source.parent / "cache").write_text("a file where the folder should be")

    assert [maker.table() for _ in range(2)] == [{"names": ["aspirin"]}] * 2
    assert maker.times == 2


def test_a_full_disk_leaves_no_half_file(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)

    assert maker.table() == {"names": ["aspirin"]}
    assert maker.kept() == []
