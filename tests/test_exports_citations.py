"""BibTeX, RIS and CSL-JSON: read back by their own parsers, and holding nothing that a record does not say."""

import json
import warnings
from typing import Any

import bibtexparser
import pytest
import rispy
from exports_sample import REFERENCES, empty, hostile, reference, sample
from hypothesis import given
from hypothesis import strategies as st

from willowbark.agents.exports import render
from willowbark.agents.exports.citations import escape_latex, make_citation_key
from willowbark.agents.report.model import ResearchReport

PREPRINT = reference(
    5,
    "doi:10.1101/2020.01.02.20016519",
    "A preprint on 5% of p_values & {braces}",
    source="preprint",
    date="2020-01",
    authors=["van der Berg-Smith J-P", "O'Neil KA Jr", "WHO Study Group"],
)
JOURNAL = reference(6, "pmid:1", "In a journal", journal="Thorax", doi="10.1136/thorax.58.3.1", date="2003-02-28")

PLACE = {"journal_abbreviation": "N Engl J Med", "volume": "345", "issue": "12", "pages": "851-860"}


def report(*references: dict[str, Any]) -> ResearchReport:
    return sample(references=list(references) or REFERENCES)


def bibtex(of: ResearchReport) -> dict[str, dict[str, str]]:
    library = bibtexparser.parse_string(render(of, "bib").decode())
    assert library.failed_blocks == []
    return {e.key: {"type": e.entry_type, **{f.key: f.value for f in e.fields}} for e in library.entries}


def ris(of: ResearchReport) -> list[dict[str, Any]]:
    return rispy.loads(render(of, "ris").decode())


def csl(of: ResearchReport) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(render(of, "csl"))
    return found


def test_every_reference_is_read_back_with_its_authors_type_and_numbers() -> None:
    first, _, trial, _ = ris(report())
    found = bibtex(report())
    both = report(REFERENCES[2], PREPRINT)

    assert list(found) == ["pmid12859700", "pmid12714026", "nct02188459", csl(report())[3]["id"]]
    assert found["pmid12859700"]["author"] == "Tønnesen, P. and Tonstad, S. and Van Spiegel, P. I."
    assert found["pmid12859700"]["title"].strip("{}") == REFERENCES[0]["title"]
    assert (first["type_of_reference"], first["authors"][2]) == ("JOUR", "Van Spiegel, P. I.")
    assert found["nct02188459"]["howpublished"] == "ClinicalTrials.gov"
    assert "howpublished" not in found["pmid12859700"]
    assert (trial["date"], trial["accession_number"]) == ("2014/10/30/", "NCT02188459")
    assert [entry["type_of_reference"] for entry in ris(both)] == ["ELEC", "UNPB"]
    assert [(entry["type"], entry["genre"]) for entry in csl(both)] == [
        ("webpage", "Clinical trial registration"),
        ("article", "Preprint"),
    ]
    assert csl(both)[0]["number"] == "NCT02188459"
    assert {entry["type"] for entry in bibtex(both).values()} == {"misc"}
    assert {e["id"] for e in csl(report())} == {e["id"] for e in csl(report(*reversed(REFERENCES)))}
    assert (bibtex(empty()), render(empty(), "ris"), csl(empty())) == ({}, b"", [])


def test_volume_issue_pages_and_flags_are_read_back_from_every_form() -> None:
    one = report({**JOURNAL, **PLACE, "flags": ["retracted"]})
    bib, [read], [item] = bibtex(one)["pmid1"], ris(one), csl(one)

    assert [bib[name] for name in ("volume", "number", "pages")] == ["345", "12", "851--860"]
    assert [read[name] for name in ("volume", "number", "start_page", "end_page")] == ["345", "12", "851", "860"]
    assert [item[name] for name in ("volume", "issue", "page")] == ["345", "12", "851-860"]
    assert read["alternate_title1"] == item["container-title-short"] == "N Engl J Med"
    assert "retracted" in bib["note"]
    assert (read["notes"], item["note"]) == (["retracted"], "retracted")
    assert render(one, "ris").count(b"AN  - ") == 1
    numbered = ris(report({**JOURNAL, "pages": "e5807"}))[0]
    assert (numbered["start_page"], "end_page" in numbered) == ("e5807", False)


def test_csl_json_is_cited_by_a_processor() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the processor's own, on its styles and fields
        from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
        from citeproc.source.json import CiteProcJSON

        items = csl(report(*REFERENCES, PREPRINT, JOURNAL))
        style = CitationStylesStyle("harvard-cite-them-right", validate=False)
        bibliography = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
        for item in items:
            bibliography.register(Citation([CitationItem(item["id"])]))
        listed = [str(line) for line in bibliography.bibliography()]
    assert len(listed) == len(items)
    assert [line for line in listed if "Thorax" in line and "2003" in line], listed


def test_a_journal_stands_only_where_the_record_names_one_and_an_address_only_where_it_is_one() -> None:
    with_one, without = report(JOURNAL), report(REFERENCES[0])
    assert (bibtex(with_one)["pmid1"]["type"], bibtex(with_one)["pmid1"]["journal"]) == ("article", "Thorax")
    assert bibtex(without)["pmid12859700"]["type"] == "misc"
    assert "journal" not in bibtex(without)["pmid12859700"]
    assert not {"journal_name", "secondary_title"} & set(ris(without)[0])
    assert "container-title" not in csl(without)[0]
    for url in ("javascript:alert(1)", "data:text/html,x", "https://a.example/}\\input{x", "a b"):
        one = report({**JOURNAL, "url": url})
        assert not {"url", "urls", "URL"} & {*bibtex(one)["pmid1"], *ris(one)[0], *csl(one)[0]}


@pytest.mark.parametrize(
    ("date", "bib", "ris_date", "parts"),
    [
        ("2003-02-28", ["2003", "feb", "28"], "2003/02/28/", [[2003, 2, 28]]),
        ("2003-02", ["2003", "feb"], "2003/02//", [[2003, 2]]),
        ("2003-01", ["2003", "jan"], "2003/01//", [[2003, 1]]),
        ("2003", ["2003"], "2003///", [[2003]]),
        ("Unknown", [], None, None),
    ],
)
def test_dates_keep_the_precision_of_the_record(date: str, bib: list[str], ris_date: str, parts: Any) -> None:
    one = report({**JOURNAL, "date": date})
    assert [text for name, text in bibtex(one)["pmid1"].items() if name in ("year", "month", "day")] == bib
    assert ris(one)[0].get("date") == ris_date
    assert csl(one)[0].get("issued", {}).get("date-parts") == parts


@pytest.mark.parametrize(
    ("place", "printed"),
    [
        (
            PLACE | {"journal_abbreviation": "Thorax.", "date": "2003-02-28"},
            "Doe J. In a journal. Thorax. 2003 Feb 28;345(12):851-860. PubMed, PMID 1.",
        ),
        ({"date": "2003"}, "Doe J. In a journal. Thorax. 2003. PubMed, PMID 1."),
        ({"journal": None, "date": "Unknown"}, r"Doe J. In a journal. \[date unknown\]. PubMed, PMID 1."),
    ],
    ids=["whole", "no volume", "nothing"],
)
def test_a_reference_is_printed_in_vancouver_style(place: dict[str, Any], printed: str) -> None:
    one = {**JOURNAL, "authors": ["Doe J"], "url": "", **place}
    text = render(report(one), "md").decode()
    text = text.replace("[In a journal](https://pubmed.ncbi.nlm.nih.gov/1/)", "In a journal")
    assert f"1. {printed}\n" in text


def test_names_of_people_are_taken_apart_and_groups_kept_whole() -> None:
    assert csl(report(PREPRINT))[0]["author"] == [
        {"family": "van der Berg-Smith", "given": "J.-P."},
        {"family": "O'Neil", "given": "K. A.", "suffix": "Jr"},
        {"literal": "WHO Study Group"},
    ]
    beyond = ["Ødegård Å", "Škarić Ž-Đ", "Amelin IuA", "Ünal ÇÖ 3rd", "Chen Yu", "Παπαδόπουλος Γ", "Pfizer"]
    assert csl(report({**PREPRINT, "authors": beyond}))[0]["author"] == [
        {"family": "Ødegård", "given": "Å."},
        {"family": "Škarić", "given": "Ž.-Đ."},
        {"family": "Amelin", "given": "Iu. A."},
        {"family": "Ünal", "given": "Ç. Ö.", "suffix": "3rd"},
        {"literal": "Chen Yu"},
        {"family": "Παπαδόπουλος", "given": "Γ."},
        {"literal": "Pfizer"},
    ]
    sponsor = {**REFERENCES[2], "authors": ["Pfizer AB"]}
    assert csl(report(sponsor))[0]["author"] == [{"literal": "Pfizer AB"}]


@given(st.sets(st.text(min_size=1, max_size=60), min_size=2, max_size=10))
def test_different_records_have_different_keys(names: set[str]) -> None:
    keys = {make_citation_key(f"url:{name}") for name in names}
    assert len(keys) == len(names)
    assert [key for key in keys if not (key.isascii() and key.replace("-", "").isalnum())] == []


@pytest.mark.parametrize("payload", ["}\n@comment{x", "\\end{document}", "x\r\nER  - \r\n", '"}],[{"', "\u202e\x00"])
def test_hostile_records_stay_inside_their_fields(payload: str) -> None:
    bad = hostile(payload)
    assert len(bibtex(bad)) == len(ris(bad)) == len(csl(bad)) == 5


@given(st.text(max_size=200))
def test_no_title_breaks_a_form_or_begins_a_field(title: str) -> None:
    assert list(bibtex(report({**JOURNAL, "title": title}, REFERENCES[1]))) == ["pmid1", "pmid12714026"]
    found = ris(report({**JOURNAL, "title": f"x\nER  - \nTY  - {title}"}, REFERENCES[1]))
    assert (len(found), found[1]["title"]) == (2, REFERENCES[1]["title"])
    assert escape_latex(r"\input{/etc/passwd} $x$ 50%") == r"\textbackslash{}input\{/etc/passwd\} \$x\$ 50\%"
