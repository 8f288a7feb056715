"""Europe PMC: articles and preprints told apart, abstracts whole, and no failure taken for an empty result."""

from typing import Any

import httpx
import pytest
from recorded import Answer, answering, recorded

from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.search import Status
from willowbark.tools.sources.publications import remove_markup
from willowbark.tools.sources.studies.europepmc import EuropePMC, by_numbers, parse_record, translate_query


def hit(number: str = "1", source: str = "MED", **more: Any) -> dict[str, Any]:
    return {"id": number, "source": source, "title": "A title.", **more}


def page(*hits: dict[str, Any], total: int | None = None, mark: str | None = None) -> httpx.Response:
    body = {"version": "6.9", "hitCount": len(hits) if total is None else total, "resultList": {"result": list(hits)}}
    return httpx.Response(200, json=body | ({"nextCursorMark": mark} if mark else {}))


def europe_pmc(answer: Answer, seen: list[httpx.Request]) -> EuropePMC:
    return answering(EuropePMC, answer, seen, policy=RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.001))


async def test_a_search_asks_for_full_records_with_synonyms() -> None:
    seen = list[httpx.Request]()
    reply = await europe_pmc(page(hit()), seen).find("metformin AND longevity", 7)
    assert dict(seen[0].url.params) == {
        "query": "(TITLE_ABS:metformin OR KW:metformin) AND (TITLE_ABS:longevity OR KW:longevity)",
        "format": "json",
        "resultType": "core",
        "pageSize": "7",
        "cursorMark": "*",
        "synonym": "true",
    }
    assert (reply.status, reply.total, reply.source) == (Status.OK, 1, "europepmc")
    assert "/search?query=" in reply.url


A_OR_B = "(TITLE_ABS:a OR KW:a) OR (TITLE_ABS:b OR KW:b)"
FILTERS = {
    "preprints only": ({"preprints": "only"}, f"({A_OR_B}) AND SRC:PPR"),
    "no preprints": ({"preprints": "none"}, f"({A_OR_B}) NOT SRC:PPR"),
    "from a year": ({"mindate": 2019}, f"({A_OR_B}) AND FIRST_PDATE:[2019-01-01 TO 3000-12-31]"),
    "both": (
        {"preprints": "only", "maxdate": "2020-02"},
        f"({A_OR_B}) AND FIRST_PDATE:[1500-01-01 TO 2020-02-29] AND SRC:PPR",
    ),
    "none": ({}, A_OR_B),
}


@pytest.mark.parametrize(("filters", "sent"), FILTERS.values(), ids=FILTERS)
async def test_filters_become_part_of_the_query(filters: dict[str, Any], sent: str) -> None:
    seen = list[httpx.Request]()
    assert (await europe_pmc(page(), seen).find("a OR b", filters=filters)).query == sent
    assert seen[0].url.params["query"] == sent


SOUGHT = {
    "alternatives share their fields": (
        '(migraine OR "sick headache") AND timolol',
        '(TITLE_ABS:(migraine OR "sick headache") OR KW:(migraine OR "sick headache"))'
        " AND (TITLE_ABS:timolol OR KW:timolol)",
    ),
    "what is excluded": ("a NOT (b OR c)", "(TITLE_ABS:a OR KW:a) NOT (TITLE_ABS:(b OR c) OR KW:(b OR c))"),
    "what names its field": ("TITLE:a AND KW:(b OR c) AND d[ti]", "TITLE:a AND KW:(b OR c) AND TITLE:d"),
    "title and abstract": ('"long covid"[tiab] OR PASC[Title/Abstract]', 'TITLE_ABS:"long covid" OR TITLE_ABS:PASC'),
    "MeSH, a type, an author": ('"A B"[Mesh:NoExp] AND c[pt] AND d[au]', 'KW:"A B" AND PUB_TYPE:c AND AUTH:d'),
    "years": ("2010:2015[dp] AND 2012[pdat]", "PUB_YEAR:[2010 TO 2015] AND PUB_YEAR:[2012 TO 2012]"),
    "its own range": ("FIRST_PDATE:[2010-01-01 TO 2011-01-01]", "FIRST_PDATE:[2010-01-01 TO 2011-01-01]"),
    "a star, a hyphen": ("therap* IL-6", "(TITLE_ABS:therap* OR KW:therap*) (TITLE_ABS:IL-6 OR KW:IL-6)"),
    "every field": ("(a OR b)[all]", "((TITLE_ABS:a OR KW:a) OR (TITLE_ABS:b OR KW:b))"),
    "groups in groups": (
        "((a OR b) AND c) OR d",
        "((TITLE_ABS:(a OR b) OR KW:(a OR b)) AND (TITLE_ABS:c OR KW:c)) OR (TITLE_ABS:d OR KW:d)",
    ),
}


@pytest.mark.parametrize(("query", "sent"), SOUGHT.values(), ids=SOUGHT)
def test_words_without_a_field_are_sought_where_a_paper_says_what_it_is_about(query: str, sent: str) -> None:
    assert translate_query(query) == sent


async def test_a_later_page_that_fails_loses_no_earlier_one() -> None:
    pages = iter([page(hit("1"), total=3, mark="m1")])
    reply = await europe_pmc(lambda _: next(pages, httpx.Response(500)), []).find("zzz", 10)
    assert reply.status is Status.PARTIAL
    assert len(reply.records) == 1
    assert "500" in reply.warnings[0]


async def test_publications_of_several_kinds_of_number_are_had_in_one_request() -> None:
    seen = list[httpx.Request]()
    async with recorded({"*": page(hit("1"))}, seen) as way:
        found = await by_numbers(["pmid:1", "pmcid:PMC2", "doi:10.1/a", "pmid:3"], way)

    assert [record.key for record in found] == ["pmid:1"]
    assert seen[0].url.params["query"] == '((EXT_ID:1 OR EXT_ID:3) AND SRC:MED) OR PMCID:PMC2 OR DOI:"10.1/a"'


def test_a_preprint_says_so() -> None:
    record = parse_record(
        hit(
            "PPR77",
            "PPR",
            abstractText="It works.",
            doi="10.1101/2020.01.01",
            firstPublicationDate="2020-01-02",
            bookOrReportDetails={"publisher": "medRxiv"},
            pubTypeList={"pubType": ["Preprint"]},
            commentCorrectionList={"commentCorrection": [{"type": "Preprint of", "source": "MED", "id": "88"}]},
        )
    )
    assert record.content == "[PREPRINT - Not peer-reviewed] A title.\n\nIt works."
    assert (record.citation.source, record.citation.date) == ("preprint", "2020-01-02")
    assert record.citation.url == "https://europepmc.org/article/PPR/PPR77"
    assert record.is_preprint
    assert record.metadata["ppr_id"] == "PPR77"
    assert record.metadata["published_version"] == "88"
    assert record.metadata["journal"] == "medRxiv"
    assert "pmid" not in record.metadata


def test_an_article_keeps_what_the_source_says() -> None:
    record = parse_record(
        hit(
            "42",
            pmcid="PMC9",
            doi="10.1000/ABC",
            authorList={"author": [{"fullName": "Ito K"}, {"collectiveName": "The ABC Group"}]},
            journalInfo={
                "dateOfPublication": "2025 Jul",
                "volume": "9",
                "issue": "2",
                "journal": {"title": "The Journal", "isoabbreviation": "J"},
            },
            pageInfo="1167-70",
            firstPublicationDate="2025-07-01",
            pubTypeList={"pubType": ["Review", "Journal Article"]},
            meshHeadingList={"meshHeading": [{"descriptorName": "Humans", "majorTopic_YN": "N"}]},
            chemicalList={"chemical": [{"name": "Metformin"}]},
            keywordList={"keyword": ["T&amp;B"]},
            isOpenAccess="Y",
            citedByCount=0,
            license="cc by",
            language="eng",
            abstractText="See NCT01234567.",
        )
    )
    assert record.citation.authors == ["Ito K", "The ABC Group"]
    assert (record.citation.source, record.citation.date) == ("europepmc", "2025-07")
    assert record.metadata == {
        "pmid": "42",
        "pmcid": "PMC9",
        "doi": "10.1000/abc",
        "journal": "The Journal",
        "journal_abbreviation": "J",
        "volume": "9",
        "issue": "2",
        "pages": "1167-1170",
        "language": "eng",
        "license": "cc by",
        "is_open_access": True,
        "cited_by_count": 0,
        "publication_types": ["Review", "Journal Article"],
        "is_preprint": False,
        "retracted": False,
        "expression_of_concern": False,
        "corrected": False,
        "mesh_terms": ["Humans"],
        "chemicals": ["Metformin"],
        "keywords": ["T&B"],
        "nct_ids": ["NCT01234567"],
        "has_abstract": True,
    }


def test_a_number_alone_is_a_record_that_claims_nothing() -> None:
    record = parse_record({"id": "7", "source": "MED"})
    assert record.metadata == {"pmid": "7", "is_preprint": False, "has_abstract": False}
    assert record.citation.date == "Unknown"


LINKS = ("published_version", "updated_in", "update_of", "notice_on")
NOTES: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "Retraction in": ("MED", "retracted", {}),
    "Expression of concern in": ("MED", "expression_of_concern", {}),
    "Erratum in": ("MED", "corrected", {}),
    "Erratum for": ("MED", None, {}),
    "Cites": ("MED", None, {}),
    "Preprint in": ("PPR", None, {"update_of": ["ppr:2"]}),
    "Update of": ("MED", None, {"update_of": ["pmid:2"]}),
    "Update in": ("MED", None, {"updated_in": ["pmid:2"]}),
    "Retraction of": ("MED", None, {"notice_on": [{"flag": "retracted", "name": "pmid:2"}]}),
}


@pytest.mark.parametrize("kind", NOTES)
def test_what_was_later_said_of_an_article_is_kept_and_a_notice_is_no_study(kind: str) -> None:
    source, flag, links = NOTES[kind]
    types = {"pubType": ["retraction of publication"]} if "notice_on" in links else {}
    notes = {"commentCorrection": [{"type": kind, "source": source, "id": "2"}]}
    record = parse_record(hit(commentCorrectionList=notes, pubTypeList=types))

    for name in ("retracted", "expression_of_concern", "corrected"):
        assert record.metadata[name] is (name == flag)
    assert {name: record.metadata[name] for name in LINKS if name in record.metadata} == links
    assert (record.record.kind == "notice") is ("notice_on" in links)


TEXTS = {
    "a lone less-than": ("P<0.001 and n>5", "P<0.001 and n>5"),
    "less-than before a letter": ("if a<b and c>d, then", "if a<b and c>d, then"),
    "headings": ("<h4>Background</h4>Why.<h4>Results:</h4> So.", "Background: Why.\nResults: So."),
    "inline": ("did <b>not</b> reduce TNF-<i>alpha</i>", "did not reduce TNF-alpha"),
    "attributes": ('<p class="x">One.</p><p>Two.</p>', "One.\nTwo."),
    "superscript": ("10<sup>-5</sup> kg/m<sup>2</sup> CD4<sup>+</sup>", "10^-5 kg/m^2 CD4+"),
}


@pytest.mark.parametrize(("markup", "text"), TEXTS.values(), ids=TEXTS)
def test_only_real_tags_are_taken_away(markup: str, text: str) -> None:
    assert remove_markup(markup) == text
