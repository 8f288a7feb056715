"""Contact with the sources: what the doctor says of replies that are right, bent, refused or missing."""

import json
from collections.abc import Iterator

import pytest
from faults.bent import KINDS, Bend, BendingServer, list_bends, measure, sample_bends
from faults.server import SourceServer

from willowbark.tools.contracts.contact import contact_sources
from willowbark.tools.contracts.documents import Elements
from willowbark.tools.contracts.fields import ReadField, fields_of, find_breaches
from willowbark.tools.contracts.known_items import asked_sources
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.records.registry import cards, web_engines

SHARE = 0.03  # of the bends; `python -m faults.bent` measures all


@pytest.fixture
def server() -> Iterator[BendingServer]:
    with BendingServer() as bending:
        yield bending


async def test_every_source_but_the_web_is_asked_and_understood(endpoints: Endpoints) -> None:
    contacts = await contact_sources(asked_sources(), endpoints)

    assert {contact.source for contact in contacts} == set(cards()) - set(web_engines())
    assert [contact.line for contact in contacts if contact.outcome != "answered"] == []
    assert [contact.line for contact in contacts if contact.details or contact.advice] == []


@pytest.mark.whole
@pytest.mark.parametrize("source", asked_sources())
def test_a_bent_reply_is_named_with_its_source_and_field(source: str) -> None:
    bends = sample_bends(list(list_bends(source)), SHARE, seed=7)
    results = measure(bends)

    assert len(results) == len(bends)
    assert {"renamed", "list for one", "moved", "refused", "web page"} <= {bend.kind for bend in bends} <= set(KINDS)
    assert [contact.line for bend, contact in results if not bend.is_named_by(contact)] == []


async def test_what_is_wrong_is_said_with_the_way_out(server: BendingServer) -> None:
    server.bends = {
        "pubmed": Bend("pubmed", "refused", "/pubmed/esearch.fcgi"),
        "reactome": Bend("reactome", "web page", "/reactome/data/query/ids"),
        "crossref": Bend("crossref", "moved", "/crossref/works"),
    }

    contacts = {each.source: each for each in await contact_sources(server.bends, Endpoints.at(server.url))}

    assert contacts["pubmed"].outcome == "refused"
    assert "(400): the parameter 'format' is no longer supported" in contacts["pubmed"].line
    assert "update Willowbark" in contacts["pubmed"].advice
    assert "/reactome/data/query/ids answered with a web page instead of data" in contacts["reactome"].line
    assert contacts["crossref"].outcome == "answered"
    assert "/crossref/works has moved to /crossref/v9/works" in contacts["crossref"].line


async def test_a_source_that_nobody_answers_for_is_silent_within_the_time() -> None:
    [contact] = await contact_sources(["uniprot"], Endpoints.at("http://127.0.0.1:1"), within_s=5)

    assert (contact.outcome, contact.details) == ("silent", ("no connection",))
    assert "network" in contact.advice


async def test_a_reply_that_never_comes_ends_with_the_time_given() -> None:
    with SourceServer(latency_s=60.0) as slow:
        contacts = await contact_sources(["uniprot", "pubmed"], Endpoints.at(slow.url), within_s=0.5)

    assert [(each.outcome, each.details) for each in contacts] == [("silent", ("no whole answer within 0.5 s",))] * 2


def test_a_field_of_real_records_alone_is_due_of_the_public_source_alone() -> None:
    fields = [ReadField("works", "items[].journal", "text", "public"), ReadField("works", "items[].id", "text", "yes")]
    reply = {"items": [{"id": 1}]}

    assert find_breaches(fields, [reply], is_public=False) == []
    assert [str(each) for each in find_breaches(fields, [reply], is_public=True)] == ["items[].journal is missing"]


@pytest.mark.parametrize(
    ("path", "form", "reply", "told"),
    [
        ("a.b", "text", {"a": "x"}, "a is not an object"),
        ("a[]", "text", {"a": "x"}, "a is no list where one was due"),
        ("a[]", "text", {"a": []}, "a[] is an empty list"),
        ("a", "text", {"a": ["x"]}, "a is a list where one value was due"),
        ("a", "text", {"a": {"b": 1}}, "a is an object where a text was due"),
        ("a", "number", {"a": "many"}, "a is no number"),
        ("a", "flag", {"a": "yes"}, "a is neither true nor false"),
        ("a", "=phase", {"a": "PHASE9"}, "a holds 'PHASE9', a code that is not known here"),
        ("a.b", "text", [1], "the reply is not an object"),
        ("a[?].b", "text", {"a": {"c": 1}}, "a[?].b is missing"),
        ("a.b", "text", {"a": Elements([{"b": Elements(["x"])}, {}])}, "a is a list where one value was due"),
    ],
)
def test_a_breach_names_the_field_and_what_is_wrong(path: str, form: str, reply: object, told: str) -> None:
    [breach] = find_breaches([ReadField("works", path, form, "yes")], [reply], is_public=True)

    assert str(breach) == told


@pytest.mark.parametrize(
    ("path", "form", "reply"),
    [
        ("a[?].b", "text", {"a": {"b": "x"}}),
        ("a[?].b", "text", {"a": [{"b": "x"}, {}]}),
        ("a", "number", {"a": "4.0"}),
        ("a.b", "text", {"a": Elements([{"b": Elements([{"": "x"}])}])}),
        ("a[]", "list", {"a": [[2004, 3]]}),
    ],
)
def test_what_is_as_it_is_due_is_no_breach(path: str, form: str, reply: object) -> None:
    assert find_breaches([ReadField("works", path, form, "yes")], [reply], is_public=True) == []


def test_every_source_that_gives_records_has_a_contract() -> None:
    assert [name for name in asked_sources() if not fields_of(name)] == []
    assert json.dumps([field.due for name in asked_sources() for field in fields_of(name)]).count('"public"') > 10
