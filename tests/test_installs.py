"""The table of installations is written by the command that measures it."""

from pathlib import Path

import pytest
from benchmarks.installs import BEGIN, END, PAGE, TOOLS, find_version, replace_table


def test_the_page_has_a_place_for_the_table_and_the_rest_of_it_stays() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)

    changed = replace_table(page, "| none |\n")

    assert changed == f"{before}{BEGIN}| none |\n{END}{rest.partition(END)[2]}"


def test_a_page_without_a_place_is_not_written() -> None:
    with pytest.raises(SystemExit, match="no place for the table"):
        replace_table("# Why\n", "| none |\n")


def test_each_tool_of_the_table_is_named_with_the_version_that_was_installed(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    for name in ("willowbark-0.1.0", "paper_qa-2026.8.12", "paper_qa_pypdf-1.0", "gpt_researcher-0.15.1"):
        (packages / f"{name}.dist-info").mkdir(parents=True)

    assert [find_version(tool, tmp_path) for tool in TOOLS] == ["0.1.0", "2026.8.12", "0.15.1"]
