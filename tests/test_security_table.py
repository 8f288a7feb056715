"""Every attack that SECURITY.md lists is tried by a test that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ATTACKS = (
    "injection in abstracts, trials, full texts",
    "arguments of tools",
    "addresses of an attacker's choice",
    "XML",
    "markup in reports",
    "CSV",
    "run ids, file names",
    "secrets",
    "stored state",
    "components from JSON",
    "web page",
    "servers under strain",
    "MCP",
    "consumption",
    "supply chain",
)


def rows() -> dict[str, str]:
    """The rows of the table of attacks, by attack: the column of tests."""
    whole = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = whole.partition("\n## Attack by attack\n")[2].partition("\n## ")[0]
    cells = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {row[0].strip(): row[-1] for row in cells[1:]}


def named_for(attack: str) -> list[tuple[str, str]]:
    """File and name of each test in a row; a name is of the file before it."""
    found, file = [], ""
    for name in re.findall(r"`([^`]+)`", rows()[attack]):
        if name.endswith(".py"):
            file = name
        elif name.startswith("test_"):
            found.append((file, name))
    return found


def marks_of(file: str, name: str) -> str | None:
    """The decorators of a test; None where there is no such test."""
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    found = re.search(rf"((?:^@.*\n(?:^[ )\]}}].*\n)*)*)^(?:async )?def {name}\(", text, re.MULTILINE)
    return found.group(1) if found else None


def test_the_table_holds_every_attack_and_no_other() -> None:
    assert tuple(rows()) == ATTACKS


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_has_tests_that_are_there_and_run(attack: str) -> None:
    named = named_for(attack)

    assert named
    assert [name for file, name in named if marks_of(file, name) is None] == []
    assert [name for file, name in named if re.search(r"mark\.(?:skip|xfail|live)", marks_of(file, name) or "")] == []
