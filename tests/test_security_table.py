"""Every attack that SECURITY.md lists is tried by a test; `test_docs.py` looks whether it is there."""

import re
from pathlib import Path


def test_every_attack_of_the_table_names_its_tests() -> None:
    whole = (Path(__file__).parent.parent / "SECURITY.md").read_text(encoding="utf-8")
    table = whole.partition("\n## Attack by attack\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]

    assert len(rows) == 15
    assert [row[0] for row in rows if not re.search(r"`test_\w+\.py`: `test_\w+`", row[-1])] == []
