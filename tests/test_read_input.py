"""Records of a file: each form gives the same records, and a bad one costs itself alone."""

import io
import json

import pytest

from willowbark.teams.faces.read_input import Entry, Format, Unread, entries, format_of
from willowbark.tools.errors import UsageError

ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article>"
    "<ArticleTitle>Topiramate in <i>migraine</i></ArticleTitle>"
    '<Abstract><AbstractText Label="RESULTS">Attacks fell.</AbstractText></Abstract><PublicationTypeList>'
    "<PublicationType>Randomized Controlled Trial</PublicationType></PublicationTypeList></Article></MedlineCitation>"
    "</PubmedArticle>\n"
)
XML = f"<?xml version='1.0'?>\n<PubmedArticleSet>\n{ARTICLE.format(pmid=1)}{ARTICLE.format(pmid=2)}</PubmedArticleSet>"


RIS = (
    "TY  - JOUR\nTI  - Topiramate in migraine\nAB  - Attacks\nfell.\nAN  - 7\nER  - \n\n"
    "TY  - JOUR\nT1  - Second\nER  - \n"
)


def read(text: str | bytes, form: Format) -> list[Entry | Unread]:
    return list(entries(io.BytesIO(text.encode() if isinstance(text, str) else text), form))


def test_json_lines_give_records_with_all_their_fields() -> None:
    row = {"id": 5, "title": "T", "text": " x ", "drug": "a", "condition": "b", "publication_types": ["Review"]}
    assert read(json.dumps(row) + "\n\n", "jsonl") == [Entry(5, "T", " x ", "a", "b", ("Review",))]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object"),
        ('{"title": 3}', "title is not text"),
        ('{"id": 1}', "neither title nor text"),
        ('{"title": "a", "id": []}', "id is neither"),
        ('{"title": "a", "publication_types": [1]}', "publication_types"),
        (r'{"title": "\ud800"}', "half a character"),
        ("[" * 100_000, "not JSON"),
        (b'{"title": "\xff"}', "not UTF-8"),
    ],
    ids=["cut", "list", "number", "empty", "id", "types", "surrogate", "nested", "bytes"],
)
def test_a_bad_line_costs_itself_alone_and_is_told_with_its_number(line: str | bytes, why: str) -> None:
    raw = line.encode() if isinstance(line, str) else line
    first, bad, last = read(b'{"title": "a"}\n' + raw + b'\n{"title": "b"}\n', "jsonl")
    assert isinstance(first, Entry)
    assert isinstance(bad, Unread)
    assert (bad.line, why in bad.why) == (2, True)
    assert last == Entry("3", "b", "")


def test_pubmed_xml_gives_title_abstract_and_types() -> None:
    first, second = read(XML, "xml")
    assert first == Entry(
        "1", "Topiramate in migraine", "RESULTS: Attacks fell.", publication_types=("Randomized Controlled Trial",)
    )
    assert isinstance(second, Entry)
    assert second.id == "2"


def test_an_article_without_pmid_costs_itself_alone() -> None:
    broken = ARTICLE.format(pmid="none")
    found = read(f"<PubmedArticleSet>\n{broken}{ARTICLE.format(pmid=2)}</PubmedArticleSet>", "xml")
    assert isinstance(found[0], Unread)
    assert found[0].line == 2
    assert isinstance(found[1], Entry)


def test_xml_that_ends_early_keeps_what_was_whole() -> None:
    found = read(XML[: XML.rindex("</PubmedArticle>")], "xml")
    assert [type(one) for one in found] == [Entry, Unread]


def test_xml_without_articles_is_refused() -> None:
    with pytest.raises(UsageError, match="no PubMed articles"):
        read("<html></html>", "xml")


def test_ris_joins_lines_that_a_program_broke() -> None:
    assert read(RIS, "ris") == [Entry("7", "Topiramate in migraine", "Attacks fell."), Entry("2", "Second", "")]


def test_a_ris_record_without_an_end_costs_itself_alone() -> None:
    found = read("TY  - JOUR\nTI  - A\nTY  - JOUR\nTI  - B\nER  - \n", "ris")
    assert found == [Unread(1, "no 'ER  -' ends it"), Entry("2", "B", "")]


@pytest.mark.parametrize("mark", [",", "\t", ";"], ids=["comma", "tab", "semicolon"])
def test_a_table_names_its_columns(mark: str) -> None:
    text = mark.join(["PMID", "Title", "Abstract"]) + "\n" + mark.join(["9", "A title", '"two\nlines"']) + "\n"
    assert read("\ufeff" + text, "csv") == [Entry("9", "A title", "two\nlines")]


def test_a_row_with_too_many_cells_is_told_with_its_line() -> None:
    found = read("title,text\na,b\nc,d,e\nf,g\n", "csv")
    assert found[1] == Unread(3, "3 cells under 2 columns")
    assert found[2] == Entry("3", "f", "g")


def test_a_table_without_a_title_or_text_is_refused() -> None:
    with pytest.raises(UsageError, match="neither a column title"):
        read("a,b\n1,2\n", "csv")


def test_an_empty_file_holds_no_records() -> None:
    assert read("", "jsonl") == read("", "csv") == read("", "ris") == []
    with pytest.raises(UsageError):
        read("", "xml")


def test_the_ending_tells_the_form_and_an_unknown_one_asks_for_it() -> None:
    from pathlib import Path

    assert [format_of(Path(name), None) for name in ("a.jsonl", "b.XML", "c.ris", "d.tsv", "-")] == [
        "jsonl", "xml", "ris", "csv", "jsonl",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="--format"):
        format_of(Path("e.doc"), None)
