"""Addresses, limits and keys come from one place."""

import pytest

from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.library import endpoints_of_environment

KEY = "canary-3f9a"


def test_a_key_raises_pubmeds_limit_and_is_never_shown() -> None:
    endpoints = Endpoints.public({"NCBI_API_KEY": f" {KEY}\n"})

    assert endpoints["pubmed"].per_second == 10
    assert endpoints["pubmed"].key is not None
    assert endpoints["pubmed"].key.get_secret_value() == KEY
    assert KEY not in repr(endpoints) + str(endpoints) + endpoints.model_dump_json() + str(endpoints.model_dump())


@pytest.mark.parametrize("blank", [{}, {"NCBI_API_KEY": "", "NCBI_EMAIL": " "}, {"WILLOWBARK_LIBRARY__PATH": " "}])
def test_blank_settings_are_none(blank: dict[str, str]) -> None:
    endpoints = endpoints_of_environment(blank)

    assert endpoints == Endpoints()
    assert endpoints.email is None
    assert endpoints.is_public


def test_one_server_takes_the_place_of_every_source() -> None:
    endpoints = Endpoints.at("http://127.0.0.1:8000/")

    assert endpoints.hosts == {"127.0.0.1:8000"}
    assert endpoints["pubmed"].base_url == "http://127.0.0.1:8000/pubmed"
    assert endpoints["pubmed"].key is None
    assert not endpoints.is_public


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "file:///etc/passwd", "http://", "http://[", "nonsense"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not the address of a server"):
        Endpoints.at(url)


def test_an_unknown_source_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'scopus'.*pubmed"):
        Endpoints()["scopus"]


def test_a_source_that_needs_a_key_is_refused_without_one_in_a_line_that_names_the_variable() -> None:
    with pytest.raises(
        UsageError, match=r"brave is not searched.*BRAVE_API_KEY.*there are clinicaltrials, pubmed, "
    ) as caught:
        Endpoints.public({}).require(["pubmed", "brave"])

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoints",
    [
        Endpoints.public({"BRAVE_API_KEY": KEY}),
        Endpoints.at("http://127.0.0.1:8000"),
        endpoints_of_environment({"WILLOWBARK_LIBRARY__PATH": "bundled"}),
    ],
    ids=["key", "server", "library"],
)
def test_a_key_or_what_stands_in_is_enough_for_a_source_that_needs_one(endpoints: Endpoints) -> None:
    endpoints.require(["pubmed", "brave"])
