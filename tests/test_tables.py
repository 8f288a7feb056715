"""Tables of full texts: every cell in its column, rows as passages; what no reader would follow is cut."""

import time
from pathlib import Path
from xml.etree.ElementTree import XML

import httpx
import pytest
from builders import record
from recorded import recorded

from willowbark.tools.works.fulltext import (
    MAX_COLUMNS,
    MAX_TABLE_CHARS,
    MAX_TABLES,
    parse_full_text,
    read_full_texts,
    read_tables,
)
from willowbark.tools.works.sections import Place, excerpted, is_full_text, places, section_of

REPLIES = Path(__file__).resolve().parents[2] / "shared" / "data" / "replies" / "biomcp_ncbi_efetch"
real = pytest.mark.skipif(not REPLIES.exists(), reason="../shared/data/replies is not beside this clone")

OUTCOMES = """<table-wrap id="T2"><label>Table 2.</label>
<caption><title>Fever after <italic>placebinol</italic></title></caption>
<table><thead><tr><th rowspan="2">Outcome</th><th colspan="2">Placebinol (n = 20)<xref ref-type="table-fn">*</xref></th>
<th rowspan="2">OR (95% CI)</th></tr><tr><th>Mean</th><th>SD</th></tr></thead>
<tbody><tr><td colspan="4">Week 4</td></tr>
<tr><td>Fever</td><td>1.5</td><td>0.2</td><td>2.40 (1.30-4.40)</td></tr>
<tr><td rowspan="2">Pain</td><td>3.0</td><td>10<sup>2</sup></td><td/></tr>
<tr><td>2.0</td><td>0.4</td></tr></tbody></table>
<table-wrap-foot><fn><p>*As randomised.</p></fn></table-wrap-foot></table-wrap>"""


def wrapped(table: str, label: str = "<label>Table 1</label>") -> str:
    return f"<table-wrap>{label}{table}</table-wrap>"


def tables(*wraps: str) -> list[Place]:
    return read_tables(XML(f"<article><body><sec>{''.join(wraps)}</sec></body></article>"))


def test_a_row_is_told_with_its_columns_and_the_heading_above_it_and_spanning_cells_in_each() -> None:
    [table] = tables(OUTCOMES)

    assert (table.kind, table.title) == ("table", "Table 2")
    assert table.lines == [
        "Fever after placebinol",
        "Week 4; Fever; Placebinol (n = 20) > Mean: 1.5; Placebinol (n = 20) > SD: 0.2; OR (95% CI): 2.40 (1.30-4.40)",
        "Week 4; Pain; Placebinol (n = 20) > Mean: 3.0; Placebinol (n = 20) > SD: 10^2",
        "Week 4; Pain; Placebinol (n = 20) > Mean: 2.0; Placebinol (n = 20) > SD: 0.4",
        "*As randomised.",
    ]


@pytest.mark.parametrize(
    ("wrap", "line"),
    [
        (wrapped("<table><tr><th>Drug</th><th>n</th></tr><tr><td>A</td><td>3</td></tr></table>"), "A; n: 3"),
        (wrapped("<alternatives><graphic/><table><tr><td>A</td></tr></table></alternatives>"), "A"),
        (wrapped("<table><tbody><tr><td>A<table><tr><td>B</td></tr></table></td></tr></tbody></table>"), "A"),
        (wrapped('<table><tr><td colspan="x" rowspan="-1">A</td><td colspan="0">3</td></tr></table>'), "A; 3"),
        (wrapped("<table><tr/><tr><td/></tr><tr><td>A</td></tr></table>"), "A"),
    ],
    ids=["no head", "beside a picture", "a table in a cell", "spans that are no numbers", "empty rows"],
)
def test_an_odd_table_is_read_as_far_as_it_goes(wrap: str, line: str) -> None:
    [table] = tables(wrap)

    assert table.text == line


@pytest.mark.parametrize(
    "wrap",
    [wrapped("<graphic/>"), wrapped("<table/>"), wrapped("<table><tr><td/></tr></table>"), "<table-wrap/>"],
    ids=["a picture", "empty", "empty cells", "nothing"],
)
def test_a_table_without_cells_is_none(wrap: str) -> None:
    assert tables(wrap) == []


def test_huge_spans_and_tables_are_cut_in_no_time() -> None:
    cell = '<td colspan="999999999" rowspan="999999999">A</td>'
    rows = f"<tr>{cell * 50}</tr>" * 500
    started = time.process_time()
    found = tables(*[wrapped(f"<table>{rows}</table>")] * 20)

    assert len(found) == MAX_TABLES
    assert {line.count("A") for table in found for line in table.lines} <= {1, MAX_COLUMNS}
    assert all(sum(map(len, table.lines)) <= MAX_TABLE_CHARS for table in found)
    assert time.process_time() - started < 10


@real
@pytest.mark.parametrize(
    ("number", "labels", "line"),
    [
        ("3040717", ["Table 1", "Table 2"], "M1652I; Genetic or integrative methods > IARC class: 1; "),
        ("6329583", [f"Table {number}" for number in range(1, 7)], "Macrocephaly of >2 SD to <4 SD; Score (points): 2"),
    ],
)
def test_tables_of_real_articles_are_read(number: str, labels: list[str], line: str) -> None:
    [path] = REPLIES.rglob(f"*pmc{number}.xml")
    found = parse_full_text(path.read_bytes(), f"PMC{number}")

    assert found is not None
    read = [section for section in found.sections if section.kind == "table"]
    assert [section.title for section in read] == labels
    assert any(each.startswith(line) for section in read for each in section.lines)


ARTICLE = f"""<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta><permissions>
<license xlink:href="https://creativecommons.org/licenses/by/4.0/"/></permissions></article-meta></front><body>
<sec sec-type="results"><title>Results</title><p>In all, 40 patients were randomised to placebinol or placebo.</p></sec>
</body><floats-group>{OUTCOMES}</floats-group></article>"""


async def test_rows_can_be_quoted_with_their_table() -> None:
    own = record("99999951", "Record", "Of 60 screened, 44 patients were randomised.", pmcid="PMC99999951")
    async with recorded({"*/fullTextXML": httpx.Response(200, text=ARTICLE)}) as way:
        [read] = await read_full_texts([own], way)

    section = section_of(read, "OR (95% CI): 2.40 (1.30-4.40)")
    assert section == "Table 2"
    assert is_full_text(section)
    assert [place.title for place in places(read, "table")] == ["Table 2"]
    assert any(place.kind == "table" for place in places(excerpted(read)))
