"""Who changes a text that is compared word by word sees what changed, and what to type where that is right."""

from pathlib import Path

import goldens
import pytest
from goldens import MOST_LINES, assert_golden


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(goldens, "PROJECT", tmp_path)
    monkeypatch.delenv("RENEW", raising=False)
    place = tmp_path / "report.md"
    place.write_text("one\ntwo\nthree\n", encoding="utf-8")
    return place


def test_the_same_text_passes(file: Path) -> None:
    assert_golden(file, "one\ntwo\nthree\n")


def test_a_difference_is_a_diff_with_the_command_that_renews_it(file: Path) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        assert_golden(file, "one\n2\nthree\n")
    assert str(failure.value).splitlines() == [
        "report.md says something else:",
        "--- report.md",
        "+++ now",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "+2",
        " three",
        "",
        "Read what changed. Where it is right: RENEW=1 .venv/bin/pytest tests/test_goldens.py",
    ]


def test_a_long_diff_is_cut_and_says_so(file: Path) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        assert_golden(file, "line\n" * 200)
    lines = str(failure.value).splitlines()
    assert len(lines) == MOST_LINES + 4
    assert lines[MOST_LINES + 1] == "… and 146 more lines"


@pytest.mark.parametrize("text", ["one\ntwo\nthree", "one\r\ntwo\r\nthree\n"], ids=["no last end", "other ends"])
def test_ends_of_lines_alone_differ_too(file: Path, text: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="they differ in ends of lines alone"):
        assert_golden(file, text)


def test_a_file_that_is_not_there_is_all_new(file: Path) -> None:
    file.unlink()
    with pytest.raises(pytest.fail.Exception, match=r"\+one"):
        assert_golden(file, "one\n")


def test_renewing_writes_the_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENEW", "1")
    assert_golden(file, "other\n")
    assert file.read_text(encoding="utf-8") == "other\n"


def test_what_another_command_writes_is_left_to_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENEW", "1")
    with pytest.raises(pytest.fail.Exception, match=r"Where it is right: make excerpt$"):
        assert_golden(file, "other\n", renew="make excerpt")
    assert file.read_text(encoding="utf-8") == "one\ntwo\nthree\n"
