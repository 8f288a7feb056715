"""`willowbark read`: formats give the same records, a bad one costs itself alone, output is continued or refused."""

import csv
import io
import json
from pathlib import Path

import pytest

from willowbark.teams.faces.read import COLUMNS, Format, InputRecord, Unreadable, format_of, read_file, records_in
from willowbark.tools.errors import UsageError
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Passage, Reading

TEXT = (
    "METHODS: We randomised 120 patients. RESULTS: Attacks fell with topiramate (HR 0.78; 95% CI 0.66-0.92; P=0.003)."
)
ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article>"
    "<ArticleTitle>Topiramate in <i>migraine</i></ArticleTitle>"
    '<Abstract><AbstractText Label="RESULTS">Attacks fell.</AbstractText></Abstract><PublicationTypeList>'
    "<PublicationType>Randomized Controlled Trial</PublicationType></PublicationTypeList></Article></MedlineCitation>"
    "</PubmedArticle>\n"
)
DOCTYPE = '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/pubmed.dtd">'
XML = f"<?xml version='1.0'?>\n{DOCTYPE}<PubmedArticleSet>\n{ARTICLE.format(pmid=1)}{ARTICLE.format(pmid=2)}"
TRIAL = ("Randomized Controlled Trial",)
INPUTS: dict[str, tuple[Format, str | bytes, list[InputRecord | Unreadable]]] = {
    "JSON lines": (
        "jsonl",
        '{"id": 5, "title": "T", "text": " x ", "drug": "a", "condition": "b", "publication_types": ["Review"]}\n\n',
        [InputRecord(5, "T", " x ", "a", "b", ("Review",))],
    ),
    "CSV with numbered rows and blank types": (
        "csv",
        "#,title,publication types\n7,T,Review; ;x|\n",
        [InputRecord("1", "T", "", publication_types=("Review", "x"))],
    ),
    "PubMed XML": (
        "xml",
        f"{XML}</PubmedArticleSet>",
        [
            InputRecord(n, "Topiramate in migraine", "RESULTS: Attacks fell.", publication_types=TRIAL)
            for n in ("1", "2")
        ],
    ),
    "an article without PMID": (
        "xml",
        f"<PubmedArticleSet>{ARTICLE.format(pmid='none')}{ARTICLE.format(pmid=2)}</PubmedArticleSet>",
        [
            Unreadable("record 1", "article without PMID is unreadable (ValueError)"),
            InputRecord("2", "Topiramate in migraine", "RESULTS: Attacks fell.", publication_types=TRIAL),
        ],
    ),
    "RIS with a line that a program broke": (
        "ris",
        "TY  - JOUR\nTI  - Topiramate in migraine\nAB  - Attacks\nfell.\nAN  - 7\nER  - \n\n"
        "TY  - JOUR\nT1  - Second\nER  - \n",
        [InputRecord("7", "Topiramate in migraine", "Attacks fell."), InputRecord("2", "Second", "")],
    ),
    "RIS without an end": (
        "ris",
        "TY  - JOUR\nTI  - A\nTY  - JOUR\nTI  - B\nER  - \n",
        [Unreadable("line 1", "no 'ER  -' ends it"), InputRecord("2", "B", "")],
    ),
    "MEDLINE": (
        "nbib",
        "PMID- 9\nTI  - Topiramate in\n      migraine\nPT  - Review\nPT  - Journal Article\nAB  - Attacks fell.\n"
        "FAU - Doe, J\n\nPMID- 10\nTI  - Second\n",
        [
            InputRecord("9", "Topiramate in migraine", "Attacks fell.", "", "", ("Review", "Journal Article")),
            InputRecord("10", "Second", ""),
        ],
    ),
    "a table with a semicolon": (
        "csv",
        '\ufeffPMID;Title;Abstract\n9;A title;"two\nlines"\n',
        [InputRecord("9", "A title", "two\nlines")],
    ),
    "a table in Windows-1252": ("csv", b"title\ttext\nCaf\xe9\tx\n", [InputRecord("1", "Café", "x")]),
    "a row with too many cells": (
        "csv",
        "title,text\na,b\nc,d,e\nf,g\n",
        [InputRecord("1", "a", "b"), Unreadable("line 3", "3 cells under 2 columns"), InputRecord("3", "f", "g")],
    ),
    "empty JSON lines": ("jsonl", "", []),
    "an empty table": ("csv", "", []),
    "empty RIS": ("ris", "", []),
}


def parse(content: str | bytes, form: Format) -> list[InputRecord | Unreadable]:
    return list(records_in(io.BytesIO(content.encode() if isinstance(content, str) else content), form))


@pytest.mark.parametrize("name", INPUTS)
def test_each_format_gives_its_records(name: str) -> None:
    form, content, records = INPUTS[name]
    assert parse(content, form) == records


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object"),
        ('{"title": 3}', "title: should be a valid string"),
        ('{"id": 1}', "neither title nor text"),
        ('{"title": "a", "id": []}', "id: should be a valid string"),
        ('{"title": "a", "publication_types": [1]}', "publication_types"),
        (r'{"title": "\ud800"}', "unicode"),
        (r'{"title": "a", "id": "\ud800"}', "unicode"),
        (r'{"title": "a", "text": "\ud800"}', "unicode"),
        ("[" * 100_000, "not JSON"),
        (b'{"title": "\xff"}', "not UTF-8"),
    ],
    ids=[
        "cut",
        "list",
        "number",
        "empty",
        "id",
        "types",
        "surrogate",
        "surrogate id",
        "surrogate text",
        "nested",
        "bytes",
    ],
)
def test_a_bad_line_costs_itself_alone_and_is_named_with_its_number(line: str | bytes, why: str) -> None:
    raw = line.encode() if isinstance(line, str) else line
    first, bad, last = parse(b'{"title": "a"}\n' + raw + b'\n{"title": "b"}\n', "jsonl")
    assert isinstance(first, InputRecord)
    assert isinstance(bad, Unreadable)
    assert (bad.place, why in bad.why) == ("line 2", True)
    assert last == InputRecord("3", "b", "")


def test_xml_that_ends_early_keeps_what_was_whole() -> None:
    assert [type(one) for one in parse(XML[: XML.rindex("</PubmedArticle>")], "xml")] == [InputRecord, Unreadable]


@pytest.mark.parametrize(
    ("form", "content", "part"),
    [
        ("xml", "<html></html>", "no PubMed articles"),
        ("xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "no PubMed articles"),
        ("csv", "a,b\n1,2\n", "neither a column title"),
        ("ris", "no tags here\n", "belongs to no record"),
    ],
)
def test_a_file_of_another_kind_is_refused(form: Format, content: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        parse(content, form)


def test_the_ending_tells_the_format_and_an_unknown_one_asks_for_it() -> None:
    names = ("a.jsonl", "b.XML", "c.ris", "d.tsv", "e.nbib", "-")
    assert [format_of(Path(name), None) for name in names] == ["jsonl", "xml", "ris", "csv", "nbib", "jsonl"]
    for path, form in (("e.doc", None), ("a.jsonl", "doc")):
        with pytest.raises(UsageError, match="--format"):
            format_of(Path(path), form)


class Reader:
    """Reads every record as support, by its last sentence."""

    def __init__(self, version: str = "1") -> None:
        self.version = version
        self.pages = 0

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        self.pages += 1
        last = document.sentences[-1]
        quote = Passage(text=last.quote, start=last.start, end=last.end)
        return Reading(
            key=key, drug=drug, condition=condition, role="tested", kind="efficacy", effect="better",
            design="rct", participants=120, passages=(quote,), probability=0.9, reader="scripted", version=self.version,
        )  # fmt: skip


def written(path: Path, count: int = 3) -> Path:
    rows = [
        {"id": f"r{n}", "title": "Topiramate", "text": TEXT, "drug": "topiramate", "condition": "migraine"}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_reading_is_a_line_with_id_quote_and_figures(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    count = read_file(written(tmp_path / "in.jsonl"), Reader(), out=out, quiet=True)
    found = lines(out)
    assert (count.records, count.readings) == (3, 3)
    assert [row["id"] for row in found] == ["r0", "r1", "r2"]
    first = found[0]
    assert (first["role"], first["verdict"], first["probability"]) == ("tested", "supports", 0.9)
    assert (first["design"], first["participants"]) == ("rct", 120)
    whole = f"Topiramate. {TEXT}"
    for passage in first["passages"]:  # type: ignore[attr-defined]
        assert whole[passage["start"] : passage["end"]] == passage["text"]
    assert [figure["kind"] for figure in first["statistics"]] == ["HR", "p"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("to", ["jsonl", "csv"])
@pytest.mark.parametrize("cut", [0, 1, 400, 900], ids=str)
def test_output_that_broke_off_is_continued_to_the_same_bytes(tmp_path: Path, to: str, cut: int) -> None:
    source, whole, torn, reader = written(tmp_path / "in.jsonl", 5), tmp_path / "whole", tmp_path / "torn", Reader()
    read_file(source, Reader(), to=to, out=whole, quiet=True)
    content = whole.read_bytes()
    torn.write_bytes(content[: len(content) - cut])
    read_file(source, reader, to=to, out=torn, quiet=True)
    assert torn.read_bytes() == content
    assert reader.pages <= (5 if cut else 1)


def test_another_reader_or_other_input_is_refused_rather_than_mixed_in(tmp_path: Path) -> None:
    source, out = written(tmp_path / "in.jsonl"), tmp_path / "out"
    read_file(source, Reader(), out=out, quiet=True)
    with pytest.raises(UsageError, match="other input, options or reader"):
        read_file(source, Reader("2"), out=out, quiet=True)
    with pytest.raises(UsageError, match="beyond the end"):
        read_file(written(tmp_path / "short.jsonl", 1), Reader(), out=out, quiet=True)
    out.write_text("my notes\n")
    with pytest.raises(UsageError, match="no readings"):
        read_file(source, Reader(), out=out, quiet=True)
    assert out.read_text() == "my notes\n"


def test_a_record_without_drug_is_read_for_each_that_it_names(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    text = "Topiramate and propranolol prevented migraine."
    source.write_text(json.dumps({"id": 1, "title": "", "text": text}) + "\n")
    read_file(source, Reader(), out=out, quiet=True, condition="cluster headache")
    assert [(row["drug"], row["condition"]) for row in lines(out)] == [
        ("topiramate", "cluster headache"),
        ("propranolol", "cluster headache"),
    ]
    out.unlink()
    read_file(source, Reader(), out=out, quiet=True)
    assert {row["condition"] for row in lines(out)} == {"migraine"}


def test_a_bad_record_is_named_with_its_line_and_the_others_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = written(tmp_path / "in.jsonl"), tmp_path / "out"
    source.write_text(source.read_text() + "{torn\n")
    count = read_file(source, Reader(), out=out)
    said = capsys.readouterr().err
    assert "line 4: not JSON" in said
    assert "1 unreadable records skipped" in said
    assert (count.unread, len(lines(out))) == (1, 3)


def test_a_file_of_which_nothing_can_be_read_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("<xml>\n</xml>\n")
    with pytest.raises(UsageError, match="nothing in"):
        read_file(source, Reader(), out=tmp_path / "out", quiet=True)
    with pytest.raises(UsageError, match="can't be read"):
        read_file(tmp_path / "absent.jsonl", Reader(), quiet=True)


def test_a_table_holds_one_line_a_reading_and_no_formula(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.csv"
    row = {"id": "=1+1", "title": "A", "text": "Attacks\nfell.", "drug": "topiramate", "condition": "migraine"}
    source.write_text(json.dumps(row) + "\n")
    read_file(source, Reader(), to="csv", out=out, quiet=True)
    (found,) = csv.DictReader(out.read_text().splitlines())
    assert tuple(found) == COLUMNS
    assert found["id"] == "'=1+1"
    assert len(out.read_text().splitlines()) == 2
