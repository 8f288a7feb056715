"""The cards of the sources, and that each source has what a card promises."""

from pathlib import Path
from urllib.parse import unquote_plus

import httpx
import pytest
from autogen_core import CancellationToken
from faults.replies import LISTS, REPLIES
from goldens import assert_golden
from recorded import recorded

from willowbark.agents.report.forms import safe_url
from willowbark.tools.errors import SourceRefused
from willowbark.tools.records.card import SourceCard
from willowbark.tools.records.registry import cards, linked_hosts, list_offered, searchable, web_engines
from willowbark.tools.search import Status, source_class
from willowbark.tools.toolbox import SearchArgs, SourceTool, find_input_kind, search_args

NOT_BY_DRUG = ("uniprot", "reactome")  # which are asked for what a drug acts on
ENGINES = web_engines()  # whose finds are records of others
DOCS = Path(__file__).parent.parent / "docs" / "reference" / "tools.md"


def test_the_sources_are_searched_in_the_order_of_their_places() -> None:
    assert set(list_offered()) < set(searchable()) < set(cards())
    assert list_offered()[:4] == ("clinicaltrials", "pubmed", "europepmc", "opentargets")
    assert len({card.place for card in cards().values()}) == len(cards())


@pytest.mark.parametrize("name", cards())
def test_every_source_has_a_recorded_reply(name: str) -> None:
    assert [file for file in (REPLIES / name).iterdir() if file.stat().st_size]


@pytest.mark.parametrize("name", searchable())
def test_every_searched_source_has_its_class_its_tool_and_a_place_to_link_to(name: str) -> None:
    assert source_class(name).name == name
    assert SourceTool(name).name in (f"search_{name}", cards()[name].tool)
    assert (find_input_kind(SourceTool(name).schema) == "drugs") is (cards()[name].use == "on_demand")
    assert cards()[name].hosts or name in ENGINES
    assert set(cards()[name].hosts) <= linked_hosts()


@pytest.mark.parametrize("name", searchable())
async def test_alternatives_stay_alternatives(name: str) -> None:
    """A source that is asked `a b` for `a OR b` would take both words to have to occur."""
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as transport:
        found = await source_class(name)(transport).find("(propranolol OR topiramate)", 50)

    said = " ".join(f"{unquote_plus(str(each.url))} {each.content.decode()}" for each in seen).lower()
    assert "topiramate" in said or name in NOT_BY_DRUG
    assert " or " in said or cards()[name].dialect == "names"
    assert found.records
    assert [record for record in found.records if safe_url(record.citation.url) != record.citation.url] == []


@pytest.mark.parametrize("name", searchable())
async def test_what_cannot_be_asked_is_refused_unasked(name: str) -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as transport:
        for query, filters in (("migraine", {"colour": "red"}), ("migraine", {"page": 0}), (" ", {})):
            with pytest.raises(SourceRefused):
                await source_class(name)(transport).find(query, 5, filters)
    assert not seen


SELECTING = {each.partition("/")[0] for each in LISTS} | {"pubmed", "chembl", "opentargets"}
"""Sources of whose recorded replies a request gets what fits it."""


@pytest.mark.parametrize("name", [name for name in searchable() if name in SELECTING])
async def test_what_nobody_knows_is_a_true_zero_and_a_drug_is_named(name: str) -> None:
    by_name = cards()[name].dialect == "names"
    async with recorded() as transport:
        source = source_class(name)(transport)
        found = await (source.look_up("nosuchdrug") if by_name else source.find("nosuchdrug", 5))

    assert (found.status, found.records, found.total) == (Status.EMPTY, [], 0)
    assert "nosuchdrug" in str(found.warnings) or not by_name or name in NOT_BY_DRUG


@pytest.mark.parametrize(
    "change",
    [
        {"specialist": None},
        {"use": "looked_up"},
        {"use": "on_demand"},
        {"tool": "get_thing"},
        {"key": "X_API_KEY"},
        {"address": "http://example.org"},
        {"address": "https://example.org/"},
        {"per_second": 0},
    ],
)
def test_a_card_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"validation error"):
        SourceCard.model_validate({**cards()["pubmed"].model_dump(exclude={"key", "without_key"}), **change})


@pytest.mark.parametrize("name", searchable())
def test_the_filters_of_a_source_are_arguments_of_its_tool_behind_the_query(name: str) -> None:
    args = search_args(name)
    assert issubclass(args, SearchArgs)
    assert list(args.model_fields) == ["query", *source_class(name).filters.model_fields]


async def test_what_a_model_asks_for_reaches_the_source() -> None:
    seen, tool = list[httpx.Request](), SourceTool("clinicaltrials", max_results=3)
    async with recorded(seen=seen) as transport:
        tool.bind(transport, "mark")
        for said in ({"status": "TERMINATED"}, {"phase": "PHASE3", "mindate": "2010"}, {"page": 2}):
            args = search_args("clinicaltrials").model_validate({"query": "migraine", **said})
            await tool.run(args, CancellationToken())

    by_status, by_phase, *pages = [request.url.params for request in seen]
    assert by_status["filter.overallStatus"] == "TERMINATED"
    assert "AREA[Phase](PHASE3) AND AREA[StartDate]RANGE[2010-01-01,MAX]" in by_phase["filter.advanced"]
    assert pages[-1]["pageToken"] == "3"


def test_the_docs_tell_of_every_source_what_its_card_says() -> None:
    page = DOCS.read_text(encoding="utf-8")
    before, head, rest = page.partition("| source | asked |")
    assert head, f"{DOCS} has no table of sources"
    after = rest.partition("\n\n")[2]
    assert_golden(DOCS, f"{before}{table_of_sources()}\n\n{after}")


def table_of_sources() -> str:
    """The cards as a table."""
    lines = ["| source | asked | requests | key | fresh | filters |", "|---|---|---|---|---|---|"]
    for card in cards().values():
        asked = {"searched": "for every question", "on_demand": f"by `{card.tool}`", "named": "where settings name it"}
        asked["web"] = f"for every question, with {f'`{card.key}`' if card.key else 'the extra `web`'}"
        limit = f"{card.per_second:g} a second" if card.per_second >= 1 else f"{card.per_second * 60:g} a minute"
        limit += f", {card.per_second_with_key:g} with a key" if card.per_second_with_key else ""
        limit += f", {card.per_second_with_email:g} with `NCBI_EMAIL`" if card.per_second_with_email else ""
        filters = source_class(card.name).filters.model_fields if card.use != "looked_up" else ()
        cells = (
            f"[{card.title}]({card.documentation}) (`{card.name}`)",
            asked.get(card.use, "about known records"),
            limit,
            f"`{card.key}`" if card.key else "none",
            f"{card.fresh_days:g} day{'' if card.fresh_days == 1 else 's'}",
            ", ".join(f"`{each}`" for each in filters),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
