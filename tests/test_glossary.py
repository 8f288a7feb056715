"""One word stands for one thing: the glossary lists the types of the evidence, and none is a word that it avoids."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from goldens import PROJECT, assert_golden

PAGE = PROJECT / "docs" / "reference" / "glossary.md"
ROOMS = ("tools/records", "tools/reading/reading.py", "tools/appraisal", "agents/report/content.py")
HEAD = "| type | meaning | module |\n|---|---|---|\n"


class TypeEntry(NamedTuple):
    """A public class with what its docstring says."""

    name: str
    meaning: str
    module: str


def list_types() -> list[TypeEntry]:
    """Public classes of `ROOMS`, by name; one without a docstring is what its name says, and left out."""
    entries: list[TypeEntry] = []
    for room in ROOMS:
        place = PROJECT / room
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            entries.extend(read_types(path))
    return sorted(entries)


def read_types(path: Path) -> Iterator[TypeEntry]:
    module = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            docstring = ast.get_docstring(node)
            if docstring:
                meaning = " ".join(docstring.partition("\n\n")[0].split())
                yield TypeEntry(node.name, meaning.replace("|", "\\|"), module)


def test_the_glossary_lists_the_types_of_the_evidence() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, head, rest = page.partition(HEAD)
    assert head, f"{PAGE} has no table of types"
    rows = "".join(f"| `{entry.name}` | {entry.meaning} | `{entry.module}` |\n" for entry in list_types())
    after = rest[rest.index("\nA type is listed") :]
    assert_golden(PAGE, f"{before}{HEAD}{rows}{after}")


def test_each_word_stands_once() -> None:
    """Types that stand twice are `make check`'s to name, with their places."""
    words = re.findall(r"^\| ([^|`]+) \|", PAGE.read_text(encoding="utf-8").partition(HEAD)[0], re.MULTILINE)
    assert len(words) > 10
    assert [word for word, count in Counter(words).items() if count > 1] == []


def test_no_type_is_called_by_a_word_that_the_glossary_avoids() -> None:
    rows = re.findall(r"^\| [^|`]+ \| [^|]+ \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    avoided = {word.replace(" ", "") for row in rows for word in row.split(", ")}
    assert "work" in avoided
    assert [entry.name for entry in list_types() if entry.name.lower() in avoided] == []
