"""CSV, Word, Markdown, JSON and its schema."""

import csv
import io
import json
import zipfile

import pytest
from docx import Document
from docx.shared import Inches
from exports_sample import ROWS, empty, hostile, row, sample
from hypothesis import given
from hypothesis import strategies as st

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.exports import FORMATS, render
from willowbark.teams.exports.csv import COLUMNS, cell

pytestmark = pytest.mark.usefixtures("pictures_once")
FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "\u200b=1",
    "＝1",
    '=HYPERLINK("https://evil.example")',
]


def table(report: ResearchReport) -> list[dict[str, str]]:
    text = render(report, "csv").decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_every_appraised_record_is_a_row() -> None:
    rows = table(sample())
    assert [r["key"] for r in rows] == [r.key for r in ROWS]
    assert rows[0]["stance"] == "supports"
    assert rows[0]["effects"] == "OR 2.82 [1.89, 4.28]; OR 2.19 [1.29, 3.86]"
    assert rows[0]["sample_size"] == "707"
    assert rows[2]["stance"] == "contradicts"


def test_what_is_not_reported_is_an_empty_cell() -> None:
    rows = table(sample())
    assert rows[2]["sample_size"] == ""
    assert rows[0]["retracted"] == ""
    assert rows[1]["retracted"] == "no"


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_is_a_formula(formula: str) -> None:
    for each in table(hostile(formula)):
        assert not any(value.lstrip().startswith(("=", "+", "-", "@", "＝")) for value in each.values()), each


@given(st.text())
def test_no_text_becomes_a_formula_or_a_second_line(text: str) -> None:
    made = cell(text)
    assert not made.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert "\n" not in made


def test_an_empty_report_has_the_head_alone() -> None:
    assert render(empty(), "csv").decode("utf-8-sig") == ",".join(COLUMNS) + "\r\n"


def test_a_spreadsheet_learns_that_it_is_utf_8() -> None:
    assert render(sample(), "csv").startswith(b"\xef\xbb\xbf")


def test_word_gets_headings_tables_and_references() -> None:
    document = Document(io.BytesIO(render(sample(), "docx")))
    headings = [p.text for p in document.paragraphs if p.style and p.style.name and p.style.name.startswith("Heading")]
    assert headings[:2] == ["Summary", "Candidates and certainty"]
    assert {
        "Clinical findings",
        "What its studies say limits them",
        "Conclusion",
        "Limitations",
        "Methods",
        "References",
    } <= set(headings)
    cells = [c.text for t in document.tables for r in t.rows for c in r.cells]
    assert "moderate" in cells
    assert "bupropion AND smoking" in [p.text for p in document.paragraphs]
    assert any("12859700" in p.text for p in document.paragraphs)
    assert document.core_properties.title == sample().title


def test_a_word_table_repeats_its_head_on_every_page() -> None:
    document = Document(io.BytesIO(render(sample(), "docx")))
    assert document.tables
    assert all("w:tblHeader" in t.rows[0]._tr.xml for t in document.tables)


@pytest.mark.parametrize("payload", ["\x00\x1b", "\ufffe\uffff", "</w:t></w:r><w:hyperlink/>", "=1", "\u202e" * 3])
def test_word_takes_any_text_and_makes_none_of_it_live(payload: str) -> None:
    content = render(hostile(payload), "docx")
    Document(io.BytesIO(content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert b"hyperlink" not in archive.read("word/_rels/document.xml.rels")
        assert b"<w:hyperlink" not in archive.read("word/document.xml")


def test_the_json_follows_its_schema() -> None:
    schema = json.loads(render(sample(), "schema"))
    report = json.loads(render(sample(), "json"))
    assert set(report) == set(schema["properties"])
    assert set(schema["required"]) <= set(report)
    assert ResearchReport.model_validate(report) == sample()


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_the_same_report_gives_the_same_bytes(name: str) -> None:
    assert render(sample(), name) == render(ResearchReport.model_validate_json(sample().to_json()), name)


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_a_report_that_found_nothing_has_every_form(name: str) -> None:
    assert isinstance(render(empty(), name), bytes)


def test_a_retracted_record_is_excluded_in_the_table() -> None:
    (one,) = table(sample(evidence_table=[row("pmid:12859700", "A trial", retracted=True)]))
    assert (one["stance"], one["retracted"]) == ("excluded", "yes")


def test_word_gets_the_pages_pictures_each_described() -> None:
    shapes = list(Document(io.BytesIO(render(sample(), "docx"))).inline_shapes)
    told = [shape._inline.docPr.get("descr") or "" for shape in shapes]

    assert [text.split()[:2] for text in told] == [
        ["Mechanism", "path,"],
        ["Effect", "sizes"],
        ["Timeline", "of"],
        ["Bar", "chart"],
    ]
    assert {shape.width for shape in shapes} == {Inches(6)}


def test_word_gives_posted_results_with_their_serious_adverse_events() -> None:
    document = Document(io.BytesIO(render(sample(), "docx")))
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]

    assert any("posted; bupropion contradicts no difference from placebo" in text for text in cells)
    assert any(text.endswith("Bupropion: 3 of 65") for text in cells)


def test_word_says_who_decided_what_looks_alike_and_what_it_cost() -> None:
    text = "\n".join(paragraph.text for paragraph in Document(io.BytesIO(render(sample(), "docx"))).paragraphs)

    assert "a person (terminal); 1 of 2 accepted" in text
    assert "clonidine was set aside (1 for, 1 against, very low certainty): too old" in text
    assert "Records that may be one study" in text
    assert "What the language model used up" in text
