"""The table of installations names what was measured."""

from pathlib import Path

from benchmarks.installs import TOOLS, find_version


def test_each_tool_of_the_table_is_named_with_the_version_that_was_installed(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    for name in ("willowbark-0.1.0", "paper_qa-2026.8.12", "paper_qa_pypdf-1.0", "gpt_researcher-0.15.1"):
        (packages / f"{name}.dist-info").mkdir(parents=True)

    assert [find_version(tool, tmp_path) for tool in TOOLS] == ["0.1.0", "2026.8.12", "0.15.1"]
