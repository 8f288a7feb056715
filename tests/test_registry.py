"""The cards of the sources, and that each source has what a card promises."""

import pytest

from willowbark.tools.evidence import SOURCE_NAMES, Citation, Evidence
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import Transport
from willowbark.tools.registry import OF_NO_SOURCE, cards, kind_of, linked_hosts, offered, searchable, title_of
from willowbark.tools.sandbox.library import Library
from willowbark.tools.sandbox.server import SandboxServer, module_of
from willowbark.tools.sources.card import SourceCard
from willowbark.tools.toolbox import SourceTool, source_class


def test_every_name_has_a_card_or_is_of_no_source() -> None:
    assert {*searchable(), *OF_NO_SOURCE} == set(SOURCE_NAMES)
    assert set(offered()) < set(searchable()) < set(cards())


@pytest.mark.parametrize("name", cards())
def test_every_source_answers_offline(name: str) -> None:
    routes = module_of(name).routes(Library())

    assert routes
    assert all(route.path.startswith(f"/{name}/") for route in routes)


@pytest.mark.parametrize("name", searchable())
def test_every_searched_source_has_its_class_its_tool_and_a_place_to_link_to(name: str) -> None:
    assert source_class(name).name == name
    assert SourceTool(name).name in (f"search_{name}", cards()[name].tool)
    assert cards()[name].hosts or name == "openalex"  # whose works are linked to by their DOI
    assert set(cards()[name].hosts) <= linked_hosts()


@pytest.mark.parametrize("name", searchable())
async def test_alternatives_find_no_less_than_each_of_them(name: str) -> None:
    """A source that took `a OR b` for two words that must both occur would find less."""
    with SandboxServer() as server:
        endpoints = Endpoints.sandbox(server.url)
        async with Transport(endpoints, limiter=RateLimiter(None)) as transport:
            source = source_class(name)(transport)
            queries = ("propranolol", "topiramate", "(propranolol OR topiramate)")
            one, other, either = [(await source.find(query, 50)).total for query in queries]

    assert either >= max(one, other)
    assert either > 0 or name == "openalex"  # of whose works the bundled library has none


def test_a_record_is_what_its_source_gives_unless_it_says_otherwise() -> None:
    cited = Citation(source="chembl", title="T", url="https://www.ebi.ac.uk/x")

    assert kind_of(Evidence(content="T", citation=cited)) == "drug"
    assert kind_of(Evidence(content="T", citation=cited, metadata={"record_type": "notice"})) == "notice"
    assert (title_of("chembl"), title_of("preprint"), title_of("mine")) == ("ChEMBL", "preprint servers", "mine")


@pytest.mark.parametrize(
    "change",
    [
        {"specialist": None},
        {"use": "looked_up"},
        {"use": "on_demand"},
        {"tool": "get_thing"},
        {"key": "X_API_KEY"},
        {"key": "X_API_KEY", "without_key": "less", "key_in": "parameter", "wire": "requests"},
        {"address": "http://example.org"},
        {"address": "https://example.org/"},
        {"per_second": 0},
    ],
)
def test_a_card_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"validation error"):
        SourceCard.model_validate({**cards()["pubmed"].model_dump(exclude={"key", "without_key"}), **change})
