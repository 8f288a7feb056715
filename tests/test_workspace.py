"""A run folder's files are whole or absent, and no name leads out of it."""

import os
import re
from datetime import datetime
from pathlib import Path

import pytest
from exports_sample import sample
from hypothesis import given
from hypothesis import strategies as st
from unprivileged import read_only_folder

from willowbark.teams.config import OutputSettings
from willowbark.teams.ledger.run_ids import RUN_ID, make_run_id
from willowbark.teams.run.workspace import RunFolder
from willowbark.tools.errors import UsageError

QUESTION = "Which existing drugs could prevent migraine attacks?"


class PlainReport:
    """A report of two words."""

    candidates = evidence_table = references = ()

    def to_markdown(self, _appendix: str) -> str:
        return "# Überblick"

    def to_appendix(self) -> str:
        return "# Anhang"

    def to_json(self) -> str:
        return '{"title": "x"}'


class BrokenReport(PlainReport):
    """A report that cannot be dumped."""

    def to_json(self) -> str:
        raise ValueError("no")


def test_an_id_tells_time_and_question() -> None:
    before, run_id = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S"), make_run_id(QUESTION)

    assert before <= run_id[:15] <= datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    assert run_id[15:].startswith("-which-existing-drugs-could-prevent-mig-")


@given(st.text(max_size=300))
def test_any_question_gives_a_safe_id(question: str) -> None:
    assert RUN_ID.fullmatch(make_run_id(question))


def test_a_report_is_written_in_both_forms_with_its_appendix(tmp_path: Path) -> None:
    folder = RunFolder.at(tmp_path, make_run_id(QUESTION))

    written = folder.write_report(PlainReport())

    assert [path.name for path in written] == ["report.md", "report-appendix.md", "report.json", "evidence.csv"]
    assert written[0].read_text(encoding="utf-8") == "# Überblick\n"
    assert sorted(os.listdir(folder.path)) == ["evidence.csv", "report-appendix.md", "report.json", "report.md"]


def test_a_report_is_written_in_the_format_and_with_the_parts_of_the_settings(tmp_path: Path) -> None:
    report = sample()

    def texts_of(**output: object) -> dict[str, str]:
        folder = RunFolder.at(tmp_path, "-".join(["x", *output]))
        settings = OutputSettings.model_validate(output)
        return {path.name: path.read_text("utf-8") for path in folder.write_report(report, settings)}

    short = texts_of(include_citations=False, include_methodology=False)
    page = texts_of(format="html")

    assert list(texts_of(format="json")) == ["report.json"]
    assert list(page) == ["report.html", "report.json", "evidence.csv"]
    assert page["report.html"].startswith("<!DOCTYPE html>")
    assert re.search(r"\[\d+(, \d+)*\]|## References", short["report.md"]) is None
    assert "## Methods" not in short["report-appendix.md"]
    assert "## Limitations" in short["report.md"]
    whole = texts_of()
    assert "## References" in whole["report.md"]
    assert "## Methods" in whole["report-appendix.md"]
    assert whole["report.json"] == short["report.json"]


def test_a_report_that_cannot_be_dumped_leaves_nothing_and_a_folder_that_became_a_file_is_one_line(
    tmp_path: Path,
) -> None:
    folder = RunFolder.at(tmp_path, make_run_id(QUESTION))
    with pytest.raises(ValueError, match="no"):
        folder.write_report(BrokenReport())
    assert os.listdir(folder.path) == []

    folder.path.rmdir()
    folder.path.write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        folder.write("report.md", "x")


@pytest.mark.parametrize("run_id", ["..", "../x", "/etc", "", "a/b", "A", "x" * 65, "a\n", "a\0"])
def test_an_id_that_is_a_path_is_refused(tmp_path: Path, run_id: str) -> None:
    for open_folder in (RunFolder.open, RunFolder.at):
        with pytest.raises(UsageError, match="not a run id"):
            open_folder(tmp_path / "runs", run_id)


def test_a_run_that_is_a_link_to_elsewhere_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "sly").symlink_to(tmp_path)

    with pytest.raises(UsageError, match="no run 'sly'"):
        RunFolder.open(tmp_path / "runs", "sly")


def test_the_folder_of_a_run_is_made_where_it_is_missing(tmp_path: Path) -> None:
    made = RunFolder.at(tmp_path / "new", "one")
    assert made == RunFolder.at(tmp_path / "new", "one") == RunFolder.open(tmp_path / "new", "one")
    with read_only_folder() as root, pytest.raises(UsageError, match=f"^{root}.*cannot be written to.*--out"):
        RunFolder.at(root, "one")


def test_an_empty_folder_is_taken_away_and_a_filled_one_kept(tmp_path: Path) -> None:
    empty, filled = RunFolder.at(tmp_path, make_run_id(QUESTION)), RunFolder.at(tmp_path, make_run_id(QUESTION))
    filled.write("report.md", "x")

    assert empty.discard_if_empty()
    assert not filled.discard_if_empty()
    assert os.listdir(tmp_path) == [filled.run_id]
