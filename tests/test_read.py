"""`willowbark read`: formats give the same records, a bad one costs itself alone, what exists is never overwritten."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from builders import ScriptedReader
from typer.testing import CliRunner

from willowbark.teams.faces.cli import app
from willowbark.teams.faces.read import InputRecord, OutputFormat, read_file, read_input_records
from willowbark.tools.errors import UsageError
from willowbark.tools.files import read_records
from willowbark.tools.local_files import MAX_LINE_BYTES, UnusableFile
from willowbark.tools.records.study import Study

TEXT = (
    "METHODS: We randomised 120 patients. RESULTS: Attacks fell with topiramate (HR 0.78; 95% CI 0.66-0.92; P=0.003)."
)
ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article>"
    "<ArticleTitle>Topiramate in <i>migraine</i></ArticleTitle>"
    '<Abstract><AbstractText Label="RESULTS">Attacks fell.</AbstractText></Abstract><PublicationTypeList>'
    "<PublicationType>Review</PublicationType></PublicationTypeList></Article></MedlineCitation></PubmedArticle>\n"
)
DOCTYPE = '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/pubmed.dtd">'
XML = f"<?xml version='1.0'?>\n{DOCTYPE}<PubmedArticleSet>\n{ARTICLE.format(pmid=1)}{ARTICLE.format(pmid=2)}"


def record(id: str | int, title: str, text: str = "", *types: str, **named: str) -> InputRecord:
    return InputRecord(id=id, title=title, text=text, publication_types=types, **named)


FIRST, SECOND = (record(number, "Topiramate in migraine", "RESULTS: Attacks fell.", "Review") for number in ("1", "2"))
INPUTS: dict[str, tuple[str | bytes, list[InputRecord | str]]] = {
    "JSON lines": (
        '{"id": 5, "title": "T", "text": " x ", "drug": "a", "condition": "b", "publication_types": ["Review"]}\n\n',
        [record(5, "T", " x ", "Review", drug="a", condition="b")],
    ),
    "JSON lines with types in one text": (
        '{"title": "T", "publication_types": "Review; x"}\n',
        [record("1", "T", "", "Review", "x")],
    ),
    "CSV with numbered rows and blank types": (
        "#,title,publication types\n7,T,Review; ;x|\n",
        [record("1", "T", "", "Review", "x")],
    ),
    "PubMed XML": (f"{XML}</PubmedArticleSet>", [FIRST, SECOND]),
    "XML that ends early": (
        XML[: XML.rindex("</PubmedArticle>")],
        [FIRST, "record 2: the file ends before its last article"],
    ),
    "an article without PMID": (
        f"<PubmedArticleSet>{ARTICLE.format(pmid='none')}{ARTICLE.format(pmid=2)}</PubmedArticleSet>",
        ["record 1: an article without PMID is unreadable (ValueError)", SECOND],
    ),
    "RIS with a line that a program broke": (
        "TY  - JOUR\nTI  - Topiramate in migraine\nAB  - Attacks\nfell.\nAN  - 7\nER  - \n\n"
        "TY  - JOUR\nT1  - Second\nER  - \n",
        [record("7", "Topiramate in migraine", "Attacks fell."), record("2", "Second")],
    ),
    "MEDLINE": (
        "PMID- 9\nTI  - Topiramate in\n      migraine\nPT  - Review\nPT  - Journal Article\nAB  - Attacks fell.\n"
        "FAU - Doe, J\n\nPMID- 10\nTI  - Second\n",
        [record("9", "Topiramate in migraine", "Attacks fell.", "Review", "Journal Article"), record("10", "Second")],
    ),
    "a table with a semicolon": (
        '\ufeffPMID;Title;Abstract\n9;A title;"two\nlines"\n',
        [record("9", "A title", "two\nlines")],
    ),
    "a table in Windows-1252": (b"title\ttext\nCaf\xe9\tx\n", [record("1", "Café", "x")]),
    "a row with too many cells": (
        "title,text\na,b\nc,d,e\nf,g\n",
        [record("1", "a", "b"), "line 3: 3 cells under 2 columns", record("3", "f", "g")],
    ),
    "a table without rows": ("title,text\n", []),
}


def parse(folder: Path, content: str | bytes, name: str = "records") -> list[InputRecord | str]:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    records = read_input_records(read_records(file))
    return [f"{place}: {record}" if isinstance(record, str) else record for place, record in records]


@pytest.mark.parametrize("name", INPUTS)
def test_each_form_gives_its_records(tmp_path: Path, name: str) -> None:
    content, records = INPUTS[name]
    assert parse(tmp_path, content) == records


BAD = {
    b"{": "not JSON",
    b"[1]": "not an object",
    b'{"title": 3}': "title: should be a valid string",
    b'{"id": 1}': "neither title nor text",
    rb'{"title": "a", "id": "\ud800"}': "unicode",
    rb'{"title": "a", "text": "\ud800"}': "unicode",
    b"[" * 100_000: "not JSON",
    b'{"title": "\xff"}': "not JSON in UTF-8",
}


def test_a_bad_line_costs_itself_alone_and_is_named_with_its_number(tmp_path: Path) -> None:
    for line, why in BAD.items():
        content = b'{"title": "a"}\n' + line + b'\n{"title": "b"}\n'
        first, bad, last = parse(tmp_path, content, "records.jsonl")
        assert isinstance(bad, str)
        assert (bad.startswith("line 2: "), why in bad) == (True, True), line[:50]
        assert (first, last) == (record("1", "a"), record("3", "b"))


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("<html></html>", "is a web page"),
        ("<rss/>", "is XML <rss> of no kind that is known"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "of no kind that is known"),
        ("a,b\n1,2\n", "is no file of records that is known"),
        ("no tags here\n", "is no file of records that is known"),
        ("", "is empty"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: str, part: str) -> None:
    with pytest.raises(UnusableFile, match=part):
        parse(tmp_path, content)


HARMFUL = {
    "elements within one another": "<i>" * 300_000,
    "very many elements": "<i/>" * 700_000,
}


@pytest.mark.parametrize("inner", HARMFUL.values(), ids=HARMFUL)
def test_an_article_that_means_harm_is_named_and_costs_itself_alone(tmp_path: Path, inner: str) -> None:
    content = f"<PubmedArticleSet><PubmedArticle>{inner}</PubmedArticle>{ARTICLE.format(pmid=2)}</PubmedArticleSet>"
    bad, last = parse(tmp_path, content)
    assert (str(bad).startswith("record 1: an article without PMID is unreadable"), last) == (True, SECOND)


def test_a_line_that_never_ends_is_named(tmp_path: Path) -> None:
    content = b'{"title": "a"}\n' + b"x" * (MAX_LINE_BYTES + 10) + b"\n"
    assert parse(tmp_path, content) == [record("1", "a"), "line 2: longer than 32 MB"]


def read(source: Path, out: Path, **options: Any) -> None:
    """Read a file by a reader that takes every record as support, by its last sentence."""
    read_file(source, ScriptedReader(effect="better", probability=0.9), out=out, quiet=True, **options)


def written(path: Path, count: int = 3, **fields: str) -> Path:
    row = {"title": "Topiramate", "text": TEXT, "drug": "topiramate", "condition": "migraine"}
    rows = [json.dumps({"id": f"r{number}", **row, **fields}) + "\n" for number in range(count)]
    path.write_text("".join(rows))
    return path


def test_each_study_is_a_line_with_id_and_quote(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    read(written(tmp_path / "in.XML", 3), out)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in found] == ["r0", "r1", "r2"]
    (drug,) = found[0].pop("drugs")
    told = {name: drug[name] for name in ("drug", "role", "verdict", "says", "sure", "probability", "basis")}
    assert told == {
        "drug": "topiramate",
        "role": "tested",
        "verdict": "supports",
        "says": "supports",
        "sure": True,
        "probability": 0.9,
        "basis": None,
    }
    (passage,) = drug["passages"]
    assert passage["text"] in TEXT
    del found[0]["record"], found[0]["id"]
    study = Study.model_validate(found[0])
    assert (study.key, study.design, study.condition) == ("r0", "rct", "migraine")
    (comparison,) = study.comparisons
    assert comparison.estimate is not None
    assert (comparison.arm, comparison.favours, comparison.estimate.value) == ("topiramate", "arm", 0.78)
    assert comparison.participants == 120


@pytest.mark.parametrize(("name", "to"), [("out.csv", None), ("out", "csv")])
def test_comparisons_are_a_table_where_csv_is_wanted(tmp_path: Path, name: str, to: OutputFormat | None) -> None:
    out = tmp_path / name
    read(written(tmp_path / "in.jsonl", 2), out, to=to)
    first, second = csv.DictReader(out.read_text(encoding="utf-8-sig").splitlines())
    assert (first["record"], second["record"], first["id"], first["key"]) == ("1", "2", "r0", "r0")
    told = [first[column] for column in ("arm", "favours", "value", "low", "high", "p", "probability", "sure")]
    assert told == ["topiramate", "arm", "0.78", "0.66", "0.92", "0.003", "0.9", "yes"]
    assert first["passage"] in TEXT


def test_a_verdict_that_a_report_would_not_count_is_told_as_unsure(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    read_file(written(tmp_path / "in.jsonl", 1), ScriptedReader(effect="better", sure=False), out=out, quiet=True)
    (line,) = map(json.loads, out.read_text().splitlines())
    (drug,) = line["drugs"]
    assert (drug["says"], drug["sure"], drug["primary"]) == ("supports", False, "not_reported")


def test_the_documented_threshold_is_the_one_by_which_reports_count() -> None:
    from willowbark.tools.reading.learned import load_weights

    page = " ".join((Path(__file__).parents[1] / "docs" / "how-to" / "read.md").read_text(encoding="utf-8").split())
    assert f"*supports* from a probability of {load_weights().shown['supports']:.2g} on" in page


def test_what_cannot_be_read_or_written_is_refused(tmp_path: Path) -> None:
    source, out = written(tmp_path / "in.jsonl"), tmp_path / "out"
    out.write_text("my notes\n")
    for refused, target, why in (
        (source, out, "out can't be written .File exists"),
        (tmp_path / "absent.jsonl", tmp_path / "new", "does not exist"),
    ):
        with pytest.raises(UsageError, match=why):
            read(refused, target)
    assert out.read_text() == "my notes\n"
    with pytest.raises(UsageError, match="--condition is empty"):
        read(source, tmp_path / "new", condition=" ")


def test_a_record_without_drug_or_condition_is_read_for_each_that_it_names(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": 1, "title": "", "text": "Topiramate and propranolol prevented migraine."}))
    for condition, expected in (("cluster headache", "cluster headache"), (None, "migraine")):
        out = tmp_path / expected
        read(source, out, condition=condition)
        (study,) = [json.loads(line) for line in out.read_text().splitlines()]
        assert study["condition"] == expected
        assert [each["drug"] for each in study["drugs"]] == ["topiramate", "propranolol"]


def test_a_bad_record_is_named_with_its_line_and_a_file_of_them_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("willowbark.teams.faces.read._TOLD_EVERY", 2)
    source, out = written(tmp_path / "in.jsonl"), tmp_path / "out"
    first, *others = source.read_text().splitlines()
    source.write_text("\n".join([first, "{torn", *others]))
    read_file(source, ScriptedReader(), out=out)
    assert capsys.readouterr().err.splitlines() == [
        f"willowbark: {source}, line 2: not JSON in UTF-8; skipped",
        "willowbark: 4 records, 3 studies",
        "willowbark: 4 records, 3 studies; 1 unreadable records skipped",
    ]
    for content, why in (("<xml>\n</xml>\n", "is XML <xml> of no kind"), ("{torn\n", "nothing in")):
        source.write_text(content)
        with pytest.raises(UsageError, match=why):
            read(source, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_command_reads_standard_input_as_json_lines(tmp_path: Path) -> None:
    out, content = tmp_path / "out", written(tmp_path / "in", 1).read_bytes() + b"{"
    done = CliRunner().invoke(app, ["read", "-", "--out", str(out), "--quiet"], input=content)
    assert (done.exit_code, done.stderr) == (0, "willowbark: standard input, line 2: not JSON in UTF-8; skipped\n")
    found = json.loads(out.read_text())
    assert (found["id"], found["drugs"][0]["drug"], found["condition"]) == ("r0", "topiramate", "migraine")
