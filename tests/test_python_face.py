"""Python as a newcomer guesses it: names, sources by themselves, settings, frames."""

import subprocess
import sys

import pytest

import willowbark
from willowbark import Settings, tools
from willowbark.teams import ResearchTeam
from willowbark.tools import pubmed
from willowbark.tools.errors import SourceRefused, UsageError
from willowbark.tools.evidence import Evidence
from willowbark.tools.registry import searchable

GUESSED = ["ask", "research", "Team", "tools", "ResearchTeam", "ResearchReport", "Settings", "Evidence"]
NAMED_OTHERWISE = ["run", "Willowbark", "Client", "Agent", "Report", "Config", "search", "pubmed"]


@pytest.mark.parametrize("name", GUESSED)
def test_what_a_newcomer_imports_is_there_and_listed(name: str) -> None:
    assert getattr(willowbark, name) is not None
    assert name in dir(willowbark)
    assert willowbark.Team is ResearchTeam


@pytest.mark.parametrize("name", NAMED_OTHERWISE)
def test_what_is_named_otherwise_says_how(name: str) -> None:
    with pytest.raises(ImportError, match=r"willowbark has no \w+; use .*`from willowbark"):
        exec(f"from willowbark import {name}")


def test_the_package_is_imported_without_any_of_its_floors() -> None:
    loaded = "import sys, willowbark; print([n for n in sys.modules if n.startswith(('willowbark.', 'autogen'))])"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).strip() == "[]"
    assert not hasattr(willowbark, "nonsense")


async def test_a_source_is_searched_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")

    found = await pubmed.search("migraine AND propranolol", max_results=3)
    reply = await pubmed.find("migraine", max_results=3, page=2)
    drugs = await tools.chembl.look_up("propranolol")

    assert len(found) == 3
    assert all(isinstance(each, Evidence) for each in (*found, *drugs))
    assert (reply.source, len(reply.records)) == ("pubmed", 3)
    with pytest.raises(SourceRefused, match="there are page, mindate"):
        await pubmed.search("migraine", year=2001)


def test_every_source_has_its_name_in_tools() -> None:
    assert set(dir(tools)) == set(searchable())


@pytest.mark.parametrize(
    ("name", "meant"),
    [("reading.depth", "research.depth"), ("depth", ""), ("research.dept", "research.depth")],
)
def test_a_setting_that_is_none_is_named(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"options: {name}: no such setting.*{meant}"):
        Settings().overridden({name: 1})
