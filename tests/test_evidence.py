"""Records are united when they are the same one, whatever order and metadata they come in."""

import pickle
import random

import pytest
from builders import evidence as record
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from willowbark.tools.errors import RateLimitError, SourceUnavailable
from willowbark.tools.records import Notice
from willowbark.tools.records.evidence import (
    Citation,
    Evidence,
    SearchResult,
    SourceName,
    checked_identifier,
    merge,
    surname,
)
from willowbark.tools.search import source_name_of
from willowbark.tools.works.trust import flags_of

SOURCES = ["pubmed", "europepmc", "preprint", "clinicaltrials", "duckduckgo", "web", "chembl", "opentargets"]
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def records(draw: st.DrawFn) -> Evidence:
    """Records out of so few identifiers that many are the same one, with metadata that nobody foresaw."""
    identifiers = {
        "pmid": st.sampled_from(["1", "2", 3, None, "x"]),
        "doi": st.sampled_from(["10.1000/a", "10.1000/B", "https://doi.org/10.1000/b", ["10.1000/a"]]),
        "pmcid": st.sampled_from(["PMC1", "pmc2", ""]),
        "nct_id": st.sampled_from(["NCT00000001", "nct00000002"]),
    }
    odd_names = st.sampled_from(
        ["same_as", "found_in", "has_abstract", "is_preprint", "mesh_terms", "cited_by_count", "x"]
    )
    return Evidence(
        content=draw(st.sampled_from(["A", "B", "A longer text"])),
        citation=Citation(
            source=draw(st.sampled_from(SOURCES)),  # type: ignore[arg-type]
            title=draw(st.sampled_from(["T", "U"])),
            url=draw(st.sampled_from(["", "/", "http://[", "https://a.example/1", "http://www.a.example/1/", "web"])),
        ),
        relevance=draw(st.sampled_from([0.0, 0.5, 1.0])),
        metadata=draw(st.fixed_dictionaries({}, optional=identifiers))
        | draw(st.dictionaries(odd_names, ODD, max_size=3)),
    )


@given(st.lists(records(), max_size=8), st.randoms(use_true_random=False))
def test_merging_again_or_in_another_order_changes_nothing_and_no_identifier_is_lost(
    found: list[Evidence], chance: random.Random
) -> None:
    once = merge(found)
    names = [name for one in once for name in one.identifiers]
    kept = {*names, *(name for one in once for name in one.record.same_as)}

    assert merge(once) == once
    assert repr(merge(chance.sample(found, len(found)))) == repr(once)
    assert len(names) == len(set(names))
    assert {name for one in found for name in one.identifiers} <= kept or len(found) == len(once)
    assert max((r.relevance for r in once), default=0) == max((r.relevance for r in found), default=0)


def test_a_third_record_unites_two_that_share_nothing() -> None:
    one, other = record(pmid="11", content="A"), record(source="europepmc", doi="10.1000/x", content="B")
    between = record(source="europepmc", pmid="11", doi="10.1000/X", content="C")

    (united,) = merge([one, other, between])

    assert united.identifiers >= {"pmid:11", "doi:10.1000/x"}
    assert united.metadata["found_in"] == ["europepmc", "pubmed"]


def test_metadata_of_all_records_are_united() -> None:
    one = record(pmid="11", mesh_terms=["A", "B"], is_retracted=False, cited_by_count=3, journal=None)
    other = record(
        source="europepmc", pmid="11", mesh_terms=["B", "C"], is_retracted=True, cited_by_count=5, journal="J"
    )

    (united,) = merge([one, other])

    assert united.metadata["mesh_terms"] == ["A", "B", "C"]
    assert united.metadata["is_retracted"] is True
    assert united.metadata["cited_by_count"] == 5
    assert united.metadata["journal"] == "J"


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (
            record("A much longer text", source="europepmc", title="Preprint", is_preprint=True),
            record("Published", source="duckduckgo", title="Published"),
        ),
        (record("T", has_abstract=False), record("T. Text.", source="europepmc", title="U")),
        (record(source="europepmc"), record("Else.", title="U")),
        (record("T."), record("A longer text", title="U")),
    ],
    ids=["a preprint", "a bare title", "a source with less authority", "a shorter text"],
)
def test_of_two_records_that_are_one_the_better_speaks(less: Evidence, more: Evidence) -> None:
    (united,) = merge(each.noting(pmid="11") for each in (less, more))

    assert (united.citation, united.content) == (more.citation, more.content)
    assert united.has_abstract
    assert not united.is_preprint


def test_records_that_have_nothing_but_a_title_are_told_apart_by_it() -> None:
    found = [record(title="T", relevance=0.5), record(title="T", same_as=["pmid:11"]), record(title="U")]

    assert [one.citation.title for one in merge(found)] == ["T", "U"]


def test_all_identifiers_of_a_record_are_remembered_and_an_unusable_one_gives_way() -> None:
    (united,) = merge([record(pmid="11", doi="10.1000/x"), record(pmid="12", doi="10.1000/x", source="europepmc")])
    (again,) = merge([united, record(pmid="12", source="duckduckgo")])
    (usable,) = merge([record(pmid="none", doi="10.1000/x"), record(source="web", pmid="11", doi="10.1000/x")])

    assert (again.key, usable.key) == ("pmid:11", "pmid:11")
    assert "pmid:12" in again.metadata["same_as"]


@pytest.mark.parametrize(
    ("url", "other", "count"),
    [
        *(("https://x.org/a", url, 1) for url in ("http://X.org/a/", "HTTPS://www.x.ORG/a#part", " https://x.org/a ")),
        *(("https://x.org/a", url, 1) for url in ("//x.org/a", "x.org/a")),
        *(("https://x.org/a", url, 2) for url in ("https://x.org/A", "https://x.org/a?b", "https://y.org/a")),
        *(("https://x.org/a", url, 2) for url in ("https://x.org", "http://[x")),
        *((url, url, 2) for url in ("", "/", "https://", "#")),
    ],
)
def test_spellings_of_one_address_are_one_record_and_an_empty_address_is_none(url: str, other: str, count: int) -> None:
    assert len(merge([record(title="T", url=url), record(title="U", url=other)])) == count


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        ("pmid", 31452104, "31452104"),
        ("pmid", "PMID: 31452104", "31452104"),
        ("pmid", "0", None),
        ("pmid", "١٢٣", None),
        ("pmid", "1;DROP", None),
        ("pmcid", "pmc7096777", "PMC7096777"),
        ("doi", "DOI:10.1000/ABC", "10.1000/abc"),
        ("doi", "http://dx.doi.org/10.1000/a(b)c", "10.1000/a(b)c"),
        ("doi", "10.1000/a b", None),
        ("doi", "10.1000/a<b>", None),
        ("doi", "10.1002/(SICI)1<2200::AID-X>3.0.CO;2-D<", None),
        (
            "doi",
            "10.1002/(SICI)1097-0142(19990315)85:6<2200::AID-CNCR5>3.0.CO;2-D",
            "10.1002/(sici)1097-0142(19990315)85:6<2200::aid-cncr5>3.0.co;2-d",
        ),
        ("nct_id", " nct00000102 ", "NCT00000102"),
        ("nct_id", "NCT0000010२", None),
        ("nct_id", None, None),
        ("nct_id", ["NCT00000102"], None),
    ],
    ids=str,
)
def test_identifiers_have_one_written_form(kind: str, written: object, expected: str | None) -> None:
    assert checked_identifier(kind, written) == expected


@given(st.text(min_size=1).filter(str.strip))
def test_a_title_of_any_length_fits_and_one_that_is_too_long_is_cut_with_a_mark(title: str) -> None:
    assert 1 <= len(Citation(source="web", title=title * 9, url="").title) <= 500
    assert Citation(source="pubmed", title="x" * 501, url="").title == "x" * 499 + "…"
    assert Citation(source="pubmed", title="x" * 500, url="").title == "x" * 500


@pytest.mark.parametrize(
    ("field", "value"),
    [*(("date", date) for date in ("2024-13", "2024-1-5", "24", "May 2024", "", "２０２４")), ("title", "")],
)
def test_dates_are_written_in_one_way_and_a_title_is_due(field: str, value: str) -> None:
    with pytest.raises(ValidationError):
        Citation.model_validate({"source": "web", "title": "T", "url": "", field: value})


def test_a_notebook_shows_a_record_escaped_and_links_safe_addresses_alone() -> None:
    shown = record("T <b>", title="T <b>", url="https://a.example/?a&b", pmid="11")._repr_html_()

    assert '<a href="https://a.example/?a&amp;b">T &lt;b&gt;</a>' in shown
    assert "href" not in record(url="javascript:alert(1)")._repr_html_()


def test_a_citation_names_three_authors_and_ends_its_title_once() -> None:
    authors = ["Smith J", "Jones A", "Brown B", "White C"]
    citation = Citation(source="pubmed", title="Does it?", url="https://a.example", date="2024-01-15", authors=authors)

    assert citation.formatted == "Smith J, Jones A, Brown B et al. (2024-01-15). Does it? https://a.example"


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        ("Smith J", "Smith"),
        ("Smith JABC", "Smith"),
        ("Smith J Jr", "Smith"),
        ("SURMOUNT GROUP", "SURMOUNT GROUP"),
        ("WHO", "WHO"),
        ("Jr", "Jr"),
    ],
)
def test_initials_and_suffixes_are_no_part_of_a_surname(author: str, expected: str) -> None:
    assert surname(author) == expected


def test_records_say_the_same_only_where_undeclared_metadata_agree_in_kind_too() -> None:
    assert record(mine=1).says_as(record(mine=1))
    assert not record(mine=1).says_as(record(mine=True))
    assert not record(mine=1).says_as(record(mine=2))


def test_errors_survive_a_process_boundary() -> None:
    for error in (RateLimitError("pubmed", "asks for fewer", 7.0), SourceUnavailable("pubmed", "is down")):
        copy = pickle.loads(pickle.dumps(error))

        assert (type(copy), copy.__dict__, str(copy)) == (type(error), error.__dict__, str(error))


def test_a_record_is_of_the_kind_it_names_and_keeps_what_is_not_declared() -> None:
    found = record(pmid="11", kind="notice", retracted=True, mine=[1])

    assert isinstance(found.record, Notice)
    assert found.record.extra == {"mine": [1]}
    assert dict(found.metadata) == {"pmid": "11", "retracted": True, "mine": [1]}
    with pytest.raises(TypeError):
        found.metadata["pmid"] = "12"  # type: ignore[index]


@given(records())
def test_a_record_survives_json_that_holds_its_fields_as_metadata(found: Evidence) -> None:
    dumped = found.model_dump()

    assert dumped["metadata"] == {**found.metadata, "kind": found.record.kind}
    assert Evidence.model_validate(dumped) == found


@pytest.mark.parametrize("relevance", [-0.1, 1.1])
def test_relevance_is_a_share_and_hits_are_no_fewer_than_none(relevance: float) -> None:
    with pytest.raises(ValidationError):
        Evidence.model_validate({**record().model_dump(), "relevance": relevance})
    assert SearchResult(query="migraine").total_found == 0
    with pytest.raises(ValidationError):
        SearchResult(query="migraine", total_found=-1)


def test_a_misspelt_source_is_refused_with_the_right_name_and_a_users_own_is_not() -> None:
    with pytest.raises(ValidationError, match="there is no source 'pubmd'; did you mean 'pubmed'"):
        Citation(source="pubmd", title="A trial", url="")

    names = ["pubmed2", "my-pubmed", "medline", "notes"]
    assert [Citation(source=name, title="A trial", url="").source for name in names] == names
    assert [source_name_of(name) for name in ("medline", "pubmd", "My Tool")] == ["medline", "web", "web"]


def test_a_record_says_what_it_is_evidence_on_by_its_kind() -> None:
    sources = {"pubmed": "clinical", "clinicaltrials": "clinical", "chembl": "candidate", "drugsfda": "candidate"}
    sources |= {"uniprot": "mechanism", "reactome": "mechanism", "openfda": "safety", "web": None}

    assert {source: record(source=source).evidence_type for source in sources} == sources
    assert record(source="opentargets", kind="disease").evidence_type == "mechanism"


@pytest.mark.parametrize("source", ["pubmed", "europepmc", "preprint", "crossref", "openalex", "my-papers"])
@pytest.mark.parametrize(
    ("title", "is_retracted"),
    [
        ("RETRACTED: Zinc for the common cold", True),
        ("WITHDRAWN: Antihistamines for the common cold", True),
        ("[Retracted] Zinc lozenges shorten colds", True),
        ("Retraction: Zinc for the common cold", True),
        ("Retraction notice to: Zinc for the common cold", True),
        ("Zinc for the common cold (Retracted article).", True),
        ("RETRACTED ARTICLE: Zinc for the common cold", True),
        ("REMOVED: Zinc for the common cold", True),
        ("Zinc for the common cold (Retracted article. See vol. 3, pg. 9, 2010)", True),
        ("Removed: what became of zinc", False),
        ("Withdrawn: what became of drugs that left the market", False),
        ("Retraction of the stapes in otosclerosis", False),
        ("Clot retraction: effects of aspirin", False),
        ("Nicotine withdrawal: a trial of clonidine", False),
    ],
)
def test_a_title_that_tells_of_a_retraction_flags_the_publication_from_any_source(
    title: str, is_retracted: bool, source: SourceName
) -> None:
    found = record(title=title, source=source, retracted=False)

    assert found.paper is not None
    assert found.paper.retracted is is_retracted
    assert ("retracted" in flags_of(found)) is is_retracted
    assert record(title=title, source="clinicaltrials").paper is None


def test_a_retraction_that_one_copys_title_tells_stays_when_copies_are_merged() -> None:
    marked = record(title="RETRACTED: Zinc for the common cold", source="crossref", doi="10.1000/zinc")
    plain = record(title="Zinc for the common cold", source="pubmed", doi="10.1000/zinc", pmid="9", retracted=False)
    for copies in ([marked, plain], [plain, marked]):
        [merged] = merge(copies)
        assert merged.paper is not None
        assert merged.paper.retracted is True
