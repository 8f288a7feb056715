"""`willowbark read`: readings of a file, gone on with after a stop, refused where they would mix."""

import csv
import json
from pathlib import Path

import pytest

from willowbark.teams.faces.read_command import COLUMNS, Options, read_file
from willowbark.tools.errors import UsageError
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Passage, Reading

TEXT = (
    "METHODS: We randomised 120 patients. RESULTS: Attacks fell with topiramate (HR 0.78; 95% CI 0.66-0.92; P=0.003)."
)


class Reader:
    """Reads every record as support, by its last sentence."""

    def __init__(self, version: str = "1") -> None:
        self.version = version
        self.pages = 0

    def read_document(self, page: Document, drug: str, condition: str, key: str = "") -> Reading:
        self.pages += 1
        last = page.sentences[-1]
        quote = Passage(text=last.quote, start=last.start, end=last.end)
        return Reading(
            key=key, drug=drug, condition=condition, role="tested", kind="efficacy", effect="better",
            design="rct", participants=120, passages=(quote,), probability=0.9, reader="scripted", version=self.version,
        )  # fmt: skip


def records(path: Path, count: int = 3) -> Path:
    rows = [
        {"id": f"r{n}", "title": "Topiramate", "text": TEXT, "drug": "topiramate", "condition": "migraine"}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_triple_gives_one_line_with_its_id_quote_and_figures(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    count = read_file(Options(records(tmp_path / "in.jsonl"), out=out, quiet=True), Reader())
    found = lines(out)
    assert (count.records, count.readings) == (3, 3)
    assert [row["id"] for row in found] == ["r0", "r1", "r2"]
    first = found[0]
    assert (first["role"], first["verdict"], first["probability"]) == ("tested", "supports", 0.9)
    assert (first["design"], first["participants"]) == ("rct", 120)
    whole = f"Topiramate. {TEXT}"
    for passage in first["passages"]:  # type: ignore[attr-defined]
        assert whole[passage["start"] : passage["end"]] == passage["text"]
    for figure in first["statistics"]:  # type: ignore[attr-defined]
        assert whole[figure["start"] : figure["end"]] == figure["written"]
    assert [figure["kind"] for figure in first["statistics"]] == ["HR", "p"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("to", ["jsonl", "csv"])
@pytest.mark.parametrize("cut", [1, 40, 400, 900], ids=str)
def test_a_torn_output_is_gone_on_with_to_the_same_bytes(tmp_path: Path, to: str, cut: int) -> None:
    source = records(tmp_path / "in.jsonl", 5)
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    read_file(Options(source, to=to, out=whole, quiet=True), Reader())
    torn.write_bytes(whole.read_bytes()[:-cut])
    reader = Reader()
    read_file(Options(source, to=to, out=torn, quiet=True), reader)
    assert torn.read_bytes() == whole.read_bytes()
    assert reader.pages <= 5


def test_a_whole_output_stays_and_nothing_but_its_last_record_is_read_again(tmp_path: Path) -> None:
    source, out = records(tmp_path / "in.jsonl"), tmp_path / "out"
    read_file(Options(source, out=out, quiet=True), Reader())
    before, reader = out.read_bytes(), Reader()
    read_file(Options(source, out=out, quiet=True), reader)
    assert out.read_bytes() == before
    assert reader.pages == 1


def test_another_reader_or_other_input_is_refused_rather_than_mixed_in(tmp_path: Path) -> None:
    source, out = records(tmp_path / "in.jsonl"), tmp_path / "out"
    read_file(Options(source, out=out, quiet=True), Reader())
    with pytest.raises(UsageError, match="another"):
        read_file(Options(source, out=out, quiet=True), Reader("2"))
    with pytest.raises(UsageError, match="beyond the end"):
        read_file(Options(records(tmp_path / "short.jsonl", 1), out=out, quiet=True), Reader())
    out.write_text("my notes\n")
    with pytest.raises(UsageError, match="no readings"):
        read_file(Options(source, out=out, quiet=True), Reader())
    assert out.read_text() == "my notes\n"


def test_a_record_without_drug_is_read_for_each_that_it_names(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    text = "Topiramate and propranolol prevented migraine."
    source.write_text(json.dumps({"id": 1, "title": "", "text": text}) + "\n")
    read_file(Options(source, out=out, quiet=True, condition="cluster headache"), Reader())
    assert [(row["id"], row["drug"], row["condition"]) for row in lines(out)] == [
        (1, "topiramate", "cluster headache"),
        (1, "propranolol", "cluster headache"),
    ]
    out.unlink()
    read_file(Options(source, out=out, quiet=True), Reader())
    assert {row["condition"] for row in lines(out)} == {"migraine"}


def test_a_bad_record_is_told_with_its_line_and_the_others_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = records(tmp_path / "in.jsonl"), tmp_path / "out"
    source.write_text(source.read_text() + "{torn\n")
    count = read_file(Options(source, out=out), Reader())
    told = capsys.readouterr().err
    assert "line 4: not JSON" in told
    assert "1 records could not be read" in told
    assert (count.unread, len(lines(out))) == (1, 3)


def test_a_file_of_which_nothing_can_be_read_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("<xml>\n</xml>\n")
    with pytest.raises(UsageError, match="nothing in"):
        read_file(Options(source, out=tmp_path / "out", quiet=True), Reader())
    with pytest.raises(UsageError, match="can't be read"):
        read_file(Options(tmp_path / "absent.jsonl", quiet=True), Reader())


def test_a_table_holds_one_line_a_reading_and_no_formula(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.csv"
    row = {"id": "=1+1", "title": "A", "text": "Attacks\nfell.", "drug": "topiramate", "condition": "migraine"}
    source.write_text(json.dumps(row) + "\n")
    read_file(Options(source, to="csv", out=out, quiet=True), Reader())
    (found,) = csv.DictReader(out.read_text().splitlines())
    assert tuple(found) == COLUMNS
    assert found["id"] == "'=1+1"
    assert len(out.read_text().splitlines()) == 2
