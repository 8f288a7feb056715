"""CSV, Word, Markdown, JSON and its schema."""

import csv
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from docx import Document
from docx.shared import Mm, Pt
from exports_sample import (
    HAS_CHROMIUM,
    HAS_PYARROW,
    ONE_YEAR,
    REFERENCES,
    ROWS,
    WITHOUT_BROWSER,
    empty,
    hostile,
    row,
    sample,
)
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from willowbark.agents.exports import render
from willowbark.agents.exports.cells import safe_cell
from willowbark.agents.exports.comparisons import COMPARISON_COLUMNS
from willowbark.agents.exports.docx import TEXT_WIDTH
from willowbark.agents.exports.evidence import COLUMNS, REVIEWER, VERDICTS
from willowbark.agents.report.forms.blocks import Block, Details, Section, Table
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import UsageError

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


def test_every_appraised_record_is_a_row_and_what_is_not_reported_an_empty_cell() -> None:
    content = render(sample(), "csv")
    rows = table(sample())

    assert content.startswith(b"\xef\xbb\xbf"), "by which spreadsheets know UTF-8"
    assert [r["key"] for r in rows] == [r.key for r in ROWS]
    assert [r["stance"] for r in rows] == ["supports", "supports", "contradicts", "inconclusive"]
    given = {name: rows[0][name] for name in ("estimate", "dose", "tolerability", "sample_size")}
    assert given == {
        "estimate": "OR 2.82; 95% CI 1.89-4.28 (Continuous abstinence)",
        "dose": "150 mg twice a day",
        "tolerability": "",
        "sample_size": "707",
    }
    assert (rows[0]["verdict"], rows[0]["passage"]) == ("supports", ONE_YEAR)
    asked = [rows[0][name] for name in ("population", "intervention", "comparator", "outcome", "result")]
    assert asked == ["smoking cessation", "bupropion", "placebo", "efficacy", "better"]
    assert {rows[1][name] for name in ("population", "comparator", "result")} == {""}
    assert (rows[2]["sample_size"], rows[0]["retracted"], rows[1]["retracted"]) == ("", "", "no")
    assert render(empty(), "csv").decode("utf-8-sig") == ",".join((*COLUMNS, *REVIEWER)) + "\r\n"
    (one,) = table(sample(evidence_table=[row("pmid:12859700", "A trial", retracted=True)]))
    assert (one["stance"], one["retracted"]) == ("excluded", "yes")


def workbook(report: ResearchReport) -> Workbook:
    return load_workbook(io.BytesIO(render(report, "xlsx")))


def test_the_workbook_holds_the_same_rows_as_the_csv_and_what_a_reviewer_needs() -> None:
    sheet = workbook(sample())["Evidence"]
    head, *rows = sheet.iter_rows(values_only=True)
    assert head == (*COLUMNS, *REVIEWER)
    told = [["" if value is None else str(value) for value in cells[: len(COLUMNS)]] for cells in rows]
    assert told == [[each[name] for name in COLUMNS] for each in table(sample())]
    assert {value for cells in rows for value in cells[len(COLUMNS) :]} == {None}
    [offered] = sheet.data_validations.dataValidation
    assert offered.formula1 == f'"{",".join(VERDICTS)}"'
    assert str(offered.sqref) == f"Z2:Z{1 + len(ROWS)}"
    [offered] = workbook(empty())["Evidence"].data_validations.dataValidation
    assert str(offered.sqref) == "Z2", "below the heads, with nothing found too"
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("B2", f"A1:AA{1 + len(ROWS)}")


def comparisons(report: ResearchReport) -> list[dict[str, str]]:
    text = render(report, "comparisons").decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_every_comparison_of_a_study_is_a_row_that_stands_in_one_passage() -> None:
    first, harm, other = comparisons(sample())

    assert [each["place"] for each in (first, harm, other)] == ["1", "2", "1"]
    told = {
        name: first[name] for name in ("key", "arm_dose", "contrast", "versus", "versus_role", "favours", "primary")
    }
    assert told == {
        "key": "pmid:12859700",
        "arm_dose": "150 mg twice a day",
        "contrast": "bupropion",
        "versus": "placebo",
        "versus_role": "placebo",
        "favours": "arm",
        "primary": "yes",
    }
    figures = [first[name] for name in ("measure", "value", "low", "high", "p_sign", "p", "participants")]
    assert figures == ["OR", "2.82", "1.89", "4.28", "<", "0.001", "707"]
    assert (first["passage"], first["condition"], first["basis"]) == (ONE_YEAR, "smoking cessation", "own_data")
    assert {harm[name] for name in ("value", "p", "p_sign", "participants", "passage", "primary")} == {""}
    assert (other["versus_drugs"], other["significant"], other["basis"]) == ("nicotine", "no", "")
    assert comparisons(empty()) == []


def test_the_workbook_has_the_comparisons_as_a_sheet() -> None:
    head, *rows = workbook(sample())["Comparisons"].iter_rows(values_only=True)
    assert head == tuple(COMPARISON_COLUMNS)
    told = [["" if value is None else str(value) for value in cells] for cells in rows]
    assert told == [list(each.values()) for each in comparisons(sample())]


@pytest.mark.skipif(not HAS_PYARROW, reason="Parquet needs the extra `scale`")
def test_parquet_has_the_comparisons_with_types() -> None:
    from pyarrow import parquet

    first, harm, _ = parquet.read_table(io.BytesIO(render(sample(), "parquet"))).to_pylist()
    assert (first["value"], first["primary"], first["participants"]) == (2.82, True, 707)
    assert (harm["value"], harm["primary"], harm["passage"]) == (None, None, None)


def test_parquet_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"parquet needs an extra: .*install .*'\.\[scale\]'"):
        render(sample(), "parquet")


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_is_a_formula_or_becomes_one(formula: str) -> None:
    texts = 0
    for sheet in workbook(hostile(formula)):
        for each in (one for cells in sheet.iter_rows() for one in cells if isinstance(one.value, str)):
            texts += 1
            assert each.data_type == "s"
            assert each.quotePrefix or each.row == 1, each.coordinate
            assert each.hyperlink is None
    assert texts > 90
    cells = [value for row in (*table(hostile(formula)), *comparisons(hostile(formula))) for value in row.values()]
    assert [value for value in cells if value.lstrip().startswith(("=", "+", "-", "@", "＝"))] == []


@given(st.text())
def test_no_text_becomes_a_formula_or_a_second_line(text: str) -> None:
    made = safe_cell(text)
    assert not made.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert "\n" not in made


@pytest.mark.parametrize("payload", ["\x00\x1b", "\ufffe\uffff", "</w:t></w:r><w:hyperlink/>", "=1", "\u202e" * 3])
def test_word_takes_any_text_and_makes_none_of_it_live(payload: str) -> None:
    content = render(hostile(payload), "docx")
    Document(io.BytesIO(content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert b"hyperlink" not in archive.read("word/_rels/document.xml.rels")
        links = re.findall(rb"<w:hyperlink[^>]*>", archive.read("word/document.xml"))
        assert [link for link in links if not re.fullmatch(rb'<w:hyperlink w:anchor="_[a-z0-9-]+">', link)] == []


def test_the_json_follows_its_schema() -> None:
    schema, report = (json.loads(render(sample(), name)) for name in ("schema", "json"))
    assert set(report) == set(schema["properties"])
    assert set(schema["required"]) <= set(report)
    assert ResearchReport.model_validate(report) == sample()


@pytest.mark.parametrize("name", [known.name for known in WITHOUT_BROWSER])
def test_the_same_report_gives_the_same_bytes_and_one_that_found_nothing_has_every_form(name: str) -> None:
    assert render(sample(), name) == render(ResearchReport.model_validate_json(sample().to_json()), name)
    assert isinstance(render(empty(), name), bytes)


def test_word_has_headings_lists_tables_and_pictures_that_fit_the_page() -> None:
    document = Document(io.BytesIO(render(sample(), "docx")))
    texts = [paragraph.text for paragraph in document.paragraphs]
    headings = [p.text for p in document.paragraphs if p.style and p.style.name == "Heading 1"]

    assert document.core_properties.title == sample().title
    assert headings[:3] == ["Answer", "At a glance", "Candidates"]
    assert {"References", "Appendix"} <= set(headings)
    question = document.paragraphs[1].runs[0]
    assert (question.text, question.italic, question.bold) == (sample().research_question, True, None)
    assert "Certainty: Starts at high: 2 randomised trials. Down one: inconsistency." in texts
    assert [text for text in texts if text.startswith("1.\tbupropion AND smoking")], texts
    assert [text for text in texts if text.endswith("Bupropion: 3 of 65")], texts
    assert "clonidine was set aside (1 supporting, 1 contradicting, very low certainty): too old" in texts
    for each in document.tables:
        assert "w:tblHeader" in each.rows[0]._tr.xml
        assert sum(cell.width for cell in each.rows[0].cells) <= TEXT_WIDTH + Mm(1)
    described = [shape._inline.docPr.get("descr") or "" for shape in document.inline_shapes]
    assert [text.split()[0] for text in described] == ["Certainty:", "Effect"]
    assert {shape.width for shape in document.inline_shapes} == {TEXT_WIDTH}


def test_no_drug_is_broken_in_the_summary_of_findings_in_word() -> None:
    longest = "onabotulinumtoxina"
    candidates = [{**each.model_dump(), "name": longest} for each in sample().candidates]
    found = Document(io.BytesIO(render(sample(candidates=candidates), "docx"))).tables[0]
    widths = [cell.width for cell in found.rows[1].cells]

    heads = ["drug", "participants (studies)", "effect", "certainty", "comments"]
    assert [cell.text for cell in found.rows[0].cells] == heads
    assert found.autofit is False
    assert widths[0] >= Pt(4.6) * len(longest), "a letter of 8.5 points is that wide on average"
    assert widths[4] > widths[3], "long texts get what room is left"
    assert [column.width for column in found.columns] == widths, "for LibreOffice"
    assert found.rows[1].cells[3].text.startswith("⊕")


def test_records_and_trials_are_lists_in_word() -> None:
    cards = [p.text.split("\n") for p in Document(io.BytesIO(render(sample(), "docx"))).paragraphs if "\n" in p.text]

    decisive = 3  # stand in the drug's block, and whole in the appendix
    inconclusive = 1  # in evidence.csv alone
    assert len(cards) == decisive + len(ROWS) - inconclusive + len(sample().trials)
    head, known, _ = cards[1]
    assert head == "Tønnesen 2003 [1]"
    assert known == "design: blinded RCT · result: better"
    head, known, quote = cards[decisive + 1]
    told = (
        "estimate: OR 2.82; 95% CI 1.89-4.28 (Continuous abstinence) · dose: 150 mg twice a day · comparator: placebo"
    )
    assert told in known
    assert head.startswith(f"{REFERENCES[0]['title']} [1] Tønnesen 2003 · PMID 12859700")
    assert quote.startswith(f"“{ONE_YEAR}” (Results, full text)")


@pytest.mark.skipif(not HAS_CHROMIUM, reason="no Chromium")
def test_the_pdf_is_the_page_as_printed_with_the_time_of_the_report() -> None:
    content = render(sample(), "pdf")

    assert content.startswith(b"%PDF-")
    assert b"/CreationDate (D:20250601120000" in content
    assert b"/StructTreeRoot" in content, "screen readers find its headings and tables"


def test_without_a_browser_the_pdf_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(UsageError, match="pdf needs Chromium"):
        render(sample(), "pdf")


def tables_in(blocks: Iterable[Block]) -> Iterator[Table]:
    """The tables within some blocks."""
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Section | Details):
            yield from tables_in(block.blocks)


def contents_of(document: Any, *, appendix: bool = False) -> list[str]:
    """The entries of a document's contents, or its appendix's: between their caption and the next heading."""
    texts = [(p.text, p.style.name) for p in document.paragraphs]
    start = [number for number, text in enumerate(texts) if text == ("Contents", "Caption")][appendix]
    end = next(at for at, (_, style) in enumerate(texts) if at > start and style.startswith("Heading"))
    return [text.rstrip("\t") for text, _ in texts[start + 1 : end] if text]


def test_word_opens_with_the_answer_and_contents_and_numbers_its_pages() -> None:
    document = Document(io.BytesIO(render(sample(), "docx")))
    headings = [p.text for p in document.paragraphs if p.style and p.style.name in ("Heading 1", "Heading 2")]
    footer = document.sections[0].footer.paragraphs[0]._p.xml

    assert headings[0] == "Answer"
    assert contents_of(document)[-1] == "Appendix"
    assert "Evidence by drug" in contents_of(document, appendix=True)
    every = [*contents_of(document), *contents_of(document, appendix=True)]
    assert [entry for entry in every if entry not in " ".join(headings)] == []
    assert ("> PAGE<" in footer or ">PAGE<" in footer, "NUMPAGES" in footer) == (True, True)
    xml = document.element.xml
    targets = set(re.findall(r'w:anchor="([^"]+)"', xml))
    assert targets <= set(re.findall(r'w:bookmarkStart w:id="\d+" w:name="([^"]+)"', xml))
    (appendix,) = [p for p in document.paragraphs if p.text == "Appendix" and p.style.name == "Heading 1"]
    assert appendix.paragraph_format.page_break_before
    assert 'w:type="page"' not in xml  # after a full page it would leave one empty


@pytest.mark.parametrize(
    ("locale", "millimetres"),
    [("en_US.UTF-8", (216, 279)), ("de_DE.UTF-8", (210, 297)), ("C", (210, 297)), ("es_MX", (216, 279))],
)
def test_paper_follows_the_locale(locale: str, millimetres: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    page = Document(io.BytesIO(render(sample(), "docx"))).sections[0]

    assert (round(page.page_width.mm), round(page.page_height.mm)) == millimetres
    if HAS_CHROMIUM:
        box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", render(sample(), "pdf"))
        assert box is not None
        assert tuple(round(float(points) * 25.4 / 72) for points in box.groups()) == millimetres


def test_on_paper_no_table_has_an_empty_column_and_details_open_the_appendix() -> None:
    tree = sample().to_paper()
    assert tree.appendix is not None
    ids = [section.id for section in tree.appendix.blocks if isinstance(section, Section)]

    assert [section.id for section in tree.sections][:3] == ["summary", "overview", "candidates"]
    assert ids[:2] == ["comparison", "evidence"]
    empty_columns = [
        (table.caption, table.columns[at])
        for table in tables_in((*tree.sections, tree.appendix))
        for at in range(1, len(table.columns))
        if table.look != "flow" and not [row for row in table.rows if row.cells[at]]
    ]
    assert empty_columns == []
