"""PubMed: what is asked, what is read, and what every known form of failure turns into."""

from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import Answer, recorded

from willowbark.tools.errors import SourceRefused
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoint, Endpoints
from willowbark.tools.records import Notice
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.search import Status
from willowbark.tools.sources.studies.pubmed import IDS_PER_FETCH, PubMed, parse_articles

SANDBOX = Endpoints(
    by_source={"pubmed": Endpoint(base_url="http://127.0.0.1:1/pubmed")}, email="someone@example.org", is_public=False
)


def article(pmid: str = "1", inner: str = "", citation: str = "", data: str = "") -> str:
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{pmid}</PMID><Article>'
        f"{inner or '<ArticleTitle>A title.</ArticleTitle>'}</Article>{citation}</MedlineCitation>"
        f"<PubmedData>{data}</PubmedData></PubmedArticle>"
    )


def article_set(*articles: str) -> bytes:
    head = '<?xml version="1.0"?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://x/y.dtd">'
    return f"{head}<PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>".encode()


def read(inner: str = "", citation: str = "", data: str = "") -> Evidence:
    (record,) = parse_articles(article_set(article("1", inner, citation, data))).records
    return record


def found(*pmids: str, **more: object) -> httpx.Response:
    result = {"count": str(len(pmids)), "retmax": "10", "retstart": "0", "idlist": list(pmids), **more}
    return httpx.Response(200, json={"header": {"type": "esearch"}, "esearchresult": result})


def fetched(*pmids: str) -> httpx.Response:
    return httpx.Response(200, content=article_set(*map(article, pmids)))


def pubmed(search: Answer, fetch: Answer, seen: list[httpx.Request] | None = None) -> PubMed:
    policy = RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.001)
    answers = {"*/esearch.fcgi": search, "*/efetch.fcgi": fetch}
    return PubMed(recorded(answers, seen, endpoints=SANDBOX, policy=policy))


def fields(request: httpx.Request) -> dict[str, str]:
    raw = request.content.decode() if request.method == "POST" else request.url.query.decode()
    return {name: values[0] for name, values in parse_qs(raw).items()}


async def test_a_search_names_its_tool_and_asks_for_the_most_relevant() -> None:
    seen, made = list[httpx.Request](), '"migraine disorders"[MeSH Terms] OR  "migraine"[All Fields]'
    reply = await pubmed(found("11", "12", querytranslation=made), fetched("11", "12"), seen).find("migraine", 7)
    search, fetch = map(fields, seen)
    assert search == {
        "db": "pubmed",
        "tool": "willowbark",
        "email": "someone@example.org",
        "term": "migraine",
        "retmode": "json",
        "sort": "relevance",
        "retmax": "28",
    }
    assert (fetch["id"], fetch["retmode"]) == ("11,12", "xml")
    assert (reply.status, reply.total, reply.warnings) == (Status.OK, 2, [])
    assert reply.understood == '"migraine disorders"[MeSH Terms] OR "migraine"[All Fields]'
    assert "esearch.fcgi?db=pubmed" in reply.url


HEADINGS = {
    "a phrase alone": ('"multiple sclerosis"', '("multiple sclerosis" OR "multiple sclerosis"[mh])'),
    "an abbreviation": (
        '(dkd OR "diabetic nephropathy")',
        '(dkd OR ("diabetic nephropathy" OR "diabetic nephropathy"[mh]))',
    ),
    "a word that PubMed maps itself": (
        '(migraine OR "migraine disorders") AND timolol',
        '(migraine OR "migraine disorders") AND timolol',
    ),
    "in two groups": (
        '(ACHE AND "multiple sclerosis") OR (timolol AND "multiple sclerosis")',
        '(ACHE AND ("multiple sclerosis" OR "multiple sclerosis"[mh])) OR '
        '(timolol AND ("multiple sclerosis" OR "multiple sclerosis"[mh]))',
    ),
    "field tags": ('"alzheimer disease"[tiab]', '"alzheimer disease"[tiab]'),
    "no heading known": ('"vestibular migraine" AND timolol', '"vestibular migraine" AND timolol'),
}


@pytest.mark.parametrize(("query", "sent"), HEADINGS.values(), ids=HEADINGS)
async def test_a_condition_named_by_phrases_alone_is_sought_by_its_heading_too(query: str, sent: str) -> None:
    seen = list[httpx.Request]()
    reply = await pubmed(found("11"), fetched("11"), seen).find(query)

    assert fields(seen[0])["term"] == reply.query == sent


async def test_a_later_page_begins_after_the_earlier_ones() -> None:
    seen = list[httpx.Request]()
    reply = await pubmed(found("11", count="99"), fetched("11"), seen).find("migraine", 4, {"page": 6})
    assert ([fields(each).get("retstart") for each in seen[:2]], reply.total) == (["16", "20"], 99)
    assert (await pubmed(found("1", count="5"), fetched()).find("migraine", 5, {"page": 2})).status is Status.EMPTY


async def test_a_server_that_lists_fewer_hits_than_asked_for_is_asked_for_the_page_itself() -> None:
    seen = list[httpx.Request]()
    reply = await pubmed(found("11", count="9"), fetched("11"), seen).find("migraine", 4, {"page": 3})
    assert [fields(each).get("retstart") for each in seen[:2]] == [None, "8"]
    assert [record.key for record in reply.records] == ["pmid:11"]


@pytest.mark.parametrize(
    ("dates", "sent"),
    [
        ({"mindate": 2010, "maxdate": "2015-02"}, ("2010/01/01", "2015/02/28")),
        ({"mindate": "2020/03/04"}, ("2020/03/04", "3000/12/31")),  # one end gets the other
    ],
)
async def test_filters_become_a_date_range_and_publication_types(dates: dict[str, object], sent: object) -> None:
    seen = list[httpx.Request]()
    types = {"publication_types": ["Meta-Analysis", "Review"]}
    await pubmed(found(), fetched(), seen).find("statins", filters={**dates, **types})
    [search] = map(fields, seen)

    assert search["term"] == '(statins) AND ("Meta-Analysis"[Publication Type] OR "Review"[Publication Type])'
    assert (search["datetype"], (search["mindate"], search["maxdate"])) == ("pdat", sent)


async def test_no_hits_are_an_answer_with_what_was_left_out() -> None:
    reply = await pubmed(found(errorlist={"phrasesnotfound": ["abcxyz"], "fieldsnotfound": []}), fetched()).find("x")
    assert (reply.status, reply.records, reply.total) == (Status.EMPTY, [], 0)
    assert reply.warnings == ["left out of the query: abcxyz"]


async def test_a_record_that_is_missing_or_unreadable_is_named_and_loses_no_other() -> None:
    articles = article_set(article("11"), article("twelve"))
    reply = await pubmed(found("11", "13"), httpx.Response(200, content=articles)).find("statins")
    assert (reply.status, [record.metadata["pmid"] for record in reply.records]) == (Status.PARTIAL, ["11"])
    assert ["unreadable" in reply.warnings[0], "13" in reply.warnings[1]] == [True, True]


async def test_one_paper_is_fetched_by_its_number_where_that_is_one() -> None:
    reply = await pubmed(found(), fetched("31415926")).papers("31415926")
    none = await pubmed(found(), fetched()).papers("31415926")
    seen = list[httpx.Request]()
    with pytest.raises(SourceRefused):
        await pubmed(found(), fetched(), seen).papers("1 OR 2")
    with pytest.raises(SourceRefused):
        await pubmed(found(), fetched(), seen).find("statins", filters={"publication_types": ['Review" OR "x']})

    assert (reply.status, reply.total, reply.query) == (Status.OK, 1, "31415926")
    assert (none.status, "31415926" in none.warnings[0], seen) == (Status.EMPTY, True, [])


async def test_many_records_come_in_batches_and_in_order() -> None:
    pmids, seen = [str(number) for number in range(1000, 1000 + IDS_PER_FETCH + 5)], list[httpx.Request]()
    source = pubmed(found(*pmids), lambda asked: fetched(*reversed(fields(asked)["id"].split(","))), seen)
    reply = await source.find("zzz", 300)
    assert [each.method for each in seen] == ["GET", "POST", "GET"]
    assert [record.metadata["pmid"] for record in reply.records] == pmids


MARKUP = {
    "words in bold": ("did <b>not</b> reduce", "did not reduce"),
    "power of ten": ("p = 3 × 10<sup>-5</sup>", "p = 3 × 10^-5"),
    "unit": ("1.73 m<sup>2</sup> of", "1.73 m^2 of"),
    "nested": ("10<sup><i>n</i></sup> cells", "10^n cells"),
    "charge": ("CD4<sup>+</sup> cells", "CD4+ cells"),
    "subscript": ("HbA<sub>1c</sub> and CO<sub>2</sub>", "HbA1c and CO2"),
    "less than": ("P&lt;0.001 &amp; n&gt;5", "P<0.001 & n>5"),
    "less than before a letter": ("if a&lt;b and c&gt;d", "if a<b and c>d"),
    "escaped by the publisher": ("Why.&lt;br&gt;&lt;b&gt;Results:&lt;/b&gt; P&lt;.01", "Why. Results: P<.01"),
    "escaped break": ("Why.&lt;br/&gt;It fell.", "Why. It fell."),
    "formula": (
        '<mml:math xmlns:mml="m"><mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:math> rose',
        "x^2 rose",
    ),
    "fraction without namespace": ("<mml:mfrac><mml:mn>1</mml:mn><mml:mn>2</mml:mn></mml:mfrac>", "1/2"),
}


@pytest.mark.parametrize(("markup", "text"), MARKUP.values(), ids=MARKUP)
def test_markup_loses_no_word_and_no_meaning(markup: str, text: str) -> None:
    record = read(f"<ArticleTitle>{markup}</ArticleTitle><Abstract><AbstractText>{markup}</AbstractText></Abstract>")
    assert record.content == f"{text}\n\n{text}"
    assert record.citation.title == text


def test_sections_keep_their_labels_and_what_is_no_abstract_is_none() -> None:
    sections = (
        '<AbstractText Label="BACKGROUND">Why.</AbstractText><AbstractText Label="UNLABELLED">More.</AbstractText>'
        '<AbstractText Label="">Still more.</AbstractText><AbstractText Label="RESULTS"/>'
        "<CopyrightInformation>Someone owns this.</CopyrightInformation>"
    )
    titles = "<ArticleTitle>[Not Available].</ArticleTitle><VernacularTitle>Der <i>Titel</i></VernacularTitle>"
    bare = read(titles, "<OtherAbstract><AbstractText>Ein Brief</AbstractText></OtherAbstract>")

    said = read(f"<ArticleTitle>T</ArticleTitle><Abstract>{sections}</Abstract>").content
    assert said == "T\n\nBACKGROUND: Why.\nMore.\nStill more."
    assert (bare.content, bare.has_abstract) == ("Der Titel", False)


def test_authors_are_surname_and_initials_and_groups_and_none_is_an_investigator() -> None:
    authors = (
        "<Author><LastName>Ito</LastName><Initials>K</Initials></Author>"
        "<Author><LastName>Ito</LastName><ForeName>Ken Aki</ForeName><Suffix>Jr</Suffix></Author>"
        "<Author><CollectiveName>The <i>ABC</i> Group</CollectiveName></Author>"
        '<Author ValidYN="N"><LastName>Otto</LastName></Author><Author ValidYN="Y"><LastName>Oto</LastName></Author>'
    )
    inner = f"<ArticleTitle>T</ArticleTitle><AuthorList CompleteYN='N'>{authors}</AuthorList>"
    investigators = "<InvestigatorList><Investigator><LastName>Other</LastName></Investigator></InvestigatorList>"
    assert read(inner, investigators).citation.authors == ["Ito K", "Ito KA Jr", "The ABC Group", "Oto"]


ONLINE = "<ArticleDate><Year>2019</Year><Month>03</Month><Day>07</Day></ArticleDate>"
DATES = {
    "day": ("<Year>2019</Year><Month>Mar</Month><Day>5</Day>", "", "2019-03-05"),
    "range of months": ("<MedlineDate>2018 Nov-Dec</MedlineDate>", "", "2018"),
    "more precise online": ("<Year>2019</Year><Month>Dec</Month>", ONLINE, "2019-03-07"),
}


@pytest.mark.parametrize(("issue", "online", "date"), DATES.values(), ids=DATES)
def test_a_date_is_as_precise_as_the_source(issue: str, online: str, date: str) -> None:
    journal = f"<Journal><JournalIssue><PubDate>{issue}</PubDate></JournalIssue><Title>J</Title></Journal>"
    assert read(f"{journal}<ArticleTitle>T</ArticleTitle>{online}").citation.date == date


def test_identifiers_are_the_articles_own_and_never_those_of_a_reference_or_a_note() -> None:
    references = (
        '<ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.1000/other</ArticleId></ArticleIdList>'
        "</Reference></ReferenceList>"
    )
    own = (
        '<ArticleIdList><ArticleId IdType="doi">10.1000/OWN</ArticleId><ArticleId IdType="pmc">PMC12</ArticleId>'
        f"</ArticleIdList>{references}"
    )
    note = (
        '<CommentsCorrectionsList><CommentsCorrections RefType="CommentIn"><PMID>99</PMID></CommentsCorrections>'
        "</CommentsCorrectionsList>"
    )
    location = '<ArticleTitle>T</ArticleTitle><ELocationID EIdType="doi" ValidYN="{}">10.1000/own</ELocationID>'
    metadata = read("", note, own).metadata

    assert (metadata["pmid"], metadata["doi"], metadata["pmcid"]) == ("1", "10.1000/own", "PMC12")
    assert "doi" not in read("", "", references).metadata
    assert "doi" not in read(location.format("N"), "", references).metadata
    assert read(location.format("Y")).metadata["doi"] == "10.1000/own"


def noted(kind: str, *types: str) -> Evidence:
    listed = "".join(f"<PublicationType UI='x'>{name}</PublicationType>" for name in types)
    note = (
        f'<CommentsCorrectionsList><CommentsCorrections RefType="{kind}"><RefSource>J. 2022. doi: 10.1000/new.'
        "</RefSource><PMID>77</PMID></CommentsCorrections></CommentsCorrectionsList>"
    )
    inner = f"<ArticleTitle>T</ArticleTitle><PublicationTypeList>{listed}</PublicationTypeList>"
    return read(inner, note if kind else "")


FLAGS = ("is_preprint", "retracted", "expression_of_concern", "corrected")
LINKS = ("published_version", "updated_in", "update_of", "notice_on")
NAMES = ["pmid:77", "doi:10.1000/new"]


def on(flag: str) -> dict[str, Any]:
    return {"notice_on": [{"flag": flag, "name": name} for name in NAMES]}


TRUST: dict[str, tuple[Evidence, tuple[str, ...], dict[str, Any]]] = {
    "plain": (noted("", "Journal Article"), (), {}),
    "retracted by type": (noted("", "Retracted Publication"), ("retracted",), {}),
    "retracted by note": (noted("RetractionIn", "Journal Article"), ("retracted",), {}),
    "concern": (noted("ExpressionOfConcernIn", "Journal Article"), ("expression_of_concern",), {}),
    "corrected": (noted("ErratumIn", "Journal Article"), ("corrected",), {}),
    "a retraction notice": (noted("RetractionOf", "Retraction of Publication"), (), on("retracted")),
    "a partial one": (noted("PartialRetractionOf", "Retraction Notice"), (), on("retracted")),
    "of concern": (noted("ExpressionOfConcernFor", "Expression of Concern"), (), on("expression_of_concern")),
    "an erratum": (noted("ErratumFor", "Published Erratum"), (), on("corrected")),
    "a comment": (noted("CommentOn", "Journal Article"), (), {}),
    "preprint": (noted("UpdateIn", "Preprint"), ("is_preprint",), {"published_version": "77"}),
    "updated": (noted("UpdateIn", "Systematic Review"), (), {"updated_in": NAMES}),
    "an update": (noted("UpdateOf", "Journal Article"), (), {"update_of": NAMES}),
}


@pytest.mark.parametrize(("record", "flags", "links"), TRUST.values(), ids=TRUST)
def test_what_was_later_said_of_an_article_is_kept_and_a_notice_is_no_study(
    record: Evidence, flags: tuple[str, ...], links: dict[str, Any]
) -> None:
    assert {name: record.metadata[name] for name in FLAGS} == {name: name in flags for name in FLAGS}
    assert {name: record.metadata[name] for name in LINKS if name in record.metadata} == links
    assert isinstance(record.record, Notice) is ("notice_on" in links)
    assert record.content.startswith("[PREPRINT - Not peer-reviewed] T") is ("is_preprint" in flags)


def test_trials_come_from_the_databank_list_and_the_abstract() -> None:
    bank = (
        "<DataBankList><DataBank><DataBankName>ClinicalTrials.gov</DataBankName><AccessionNumberList>"
        "<AccessionNumber>NCT00000001</AccessionNumber></AccessionNumberList></DataBank><DataBank><DataBankName>GEO"
        "</DataBankName><AccessionNumberList><AccessionNumber>GSE1</AccessionNumber></AccessionNumberList></DataBank>"
        "</DataBankList>"
    )
    text = "<Abstract><AbstractText>Registered as NCT00000002, nct00000001.</AbstractText></Abstract>"
    assert read(f"<ArticleTitle>T</ArticleTitle>{text}{bank}").metadata["nct_ids"] == ["NCT00000001", "NCT00000002"]


def test_indexing_is_kept_and_what_is_absent_has_no_key() -> None:
    citation = (
        "<ChemicalList><Chemical><NameOfSubstance UI='D1'>Metformin</NameOfSubstance></Chemical></ChemicalList>"
        "<MeshHeadingList><MeshHeading><DescriptorName>Humans</DescriptorName><QualifierName>q</QualifierName>"
        "</MeshHeading></MeshHeadingList><KeywordList><Keyword>Δ<sup>9</sup></Keyword></KeywordList><KeywordList/>"
    )
    inner = "<Journal><Title>The Journal</Title></Journal><ArticleTitle>T</ArticleTitle><Language>eng</Language>"
    metadata = read(inner, citation).metadata
    assert metadata["mesh_terms"] == ["Humans"]
    assert metadata["chemicals"] == ["Metformin"]
    assert metadata["keywords"] == ["Δ^9"]
    assert (metadata["journal"], metadata["language"]) == ("The Journal", "eng")
    assert not {"doi", "pmcid", "nct_ids", "publication_types", "published_version"} & set(metadata)


def test_a_book_chapter_is_a_record() -> None:
    xml = (
        "<PubmedBookArticle><BookDocument><PMID>5</PMID><ArticleIdList><ArticleId IdType='doi'>10.1000/b</ArticleId>"
        "</ArticleIdList><Book><BookTitle>A <i>Book</i></BookTitle><PubDate><Year>2021</Year><Month>1</Month></PubDate>"
        "<AuthorList Type='editors'><Author><LastName>Editor</LastName></Author></AuthorList></Book>"
        "<ArticleTitle>A chapter</ArticleTitle><AuthorList Type='authors'><Author><LastName>Ito</LastName></Author>"
        "</AuthorList><PublicationType>Review</PublicationType><Abstract><AbstractText>Text.</AbstractText></Abstract>"
        "<Sections><Section><SectionTitle>S</SectionTitle></Section></Sections></BookDocument></PubmedBookArticle>"
    )
    (record,) = parse_articles(article_set(xml)).records
    assert record.content == "A chapter\n\nText."
    assert (record.citation.authors, record.citation.date) == (["Ito"], "2021-01")
    assert (record.metadata["journal"], record.metadata["doi"]) == ("A Book", "10.1000/b")
    assert record.metadata["publication_types"] == ["Review"]


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), max_size=300).filter(
    lambda text: "</" not in text and "<br" not in text
)


@given(st.lists(st.tuples(st.sampled_from(["i", "b", "sup", "sub", "mml:mi", ""]), WORDS), max_size=8))
def test_any_markup_keeps_all_text(parts: list[tuple[str, str]]) -> None:
    xml = "".join(f"<{tag}>{escape(text)}</{tag}>" if tag else escape(text) for tag, text in parts)
    record = read(f"<ArticleTitle>T</ArticleTitle><Abstract><AbstractText>{xml}</AbstractText></Abstract>")
    bare = "".join("".join(text.split()) for _, text in parts).replace("^", "")
    assert "".join(record.content.split()).replace("^", "") == f"T{bare}"
