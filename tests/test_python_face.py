"""Python as a newcomer guesses it: names, sources by themselves, settings, frames."""

import subprocess
import sys

import pytest

import willowbark
from willowbark import tools
from willowbark.teams import ResearchTeam
from willowbark.tools import pubmed
from willowbark.tools.errors import SourceRefused
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import searchable

GUESSED = ["ask", "research", "Team", "tools", "ResearchTeam", "ResearchReport", "Settings", "Evidence"]
NAMED_OTHERWISE = ["run", "Willowbark", "Client", "Agent", "Report", "Config", "search", "pubmed"]


def test_what_a_newcomer_imports_is_there_and_what_is_named_otherwise_says_how() -> None:
    assert set(GUESSED) <= set(dir(willowbark))
    assert [name for name in GUESSED if getattr(willowbark, name) is None] == []
    assert willowbark.Team is ResearchTeam
    for name in NAMED_OTHERWISE:
        with pytest.raises(ImportError, match=r"willowbark has no \w+; use .*`from willowbark"):
            exec(f"from willowbark import {name}")
    assert not hasattr(willowbark, "nonsense")


def test_the_package_is_imported_without_any_of_its_floors() -> None:
    loaded = "import sys, willowbark; print([n for n in sys.modules if n.startswith(('willowbark.', 'autogen'))])"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).strip() == "[]"


async def test_a_source_is_searched_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")

    found = await pubmed.search("migraine AND propranolol", max_results=3)
    reply = await pubmed.find("migraine", max_results=3, page=2)
    drugs = await tools.chembl.look_up("propranolol")

    assert len(found) == 3
    assert [each for each in (*found, *drugs) if not isinstance(each, Evidence)] == []
    assert (reply.source, len(reply.records)) == ("pubmed", 3)
    assert set(dir(tools)) == set(searchable())
    with pytest.raises(SourceRefused, match="its filters are page, mindate"):
        await pubmed.search("migraine", year=2001)
