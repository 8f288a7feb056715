"""Screening many conditions: each reading once, the same results however often it was stopped, with and without Ray."""

import csv
import json
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faults.breakage import FaultyServer
from faults.plan import Fault, FaultPlan
from faults.server import SourceServer

from willowbark.teams.screening import conditions, course, read_names, screen
from willowbark.teams.screening.engines import Results, TrainedReader, Worker, WorkUnit, engine_of, read_here
from willowbark.teams.screening.tables import TableFolder
from willowbark.tools.appraisal import stored
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.library import open_library
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.learned import LearnedReader
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.store import StudyShelf

CONDITIONS = ["smoking cessation", "nicotine dependence", "blorbosis"]


class Counting:
    """An engine that counts what it reads, and stops after some units."""

    def __init__(self, last: int = 10_000) -> None:
        self.read: list[str] = []
        self.last = last

    def __call__(self, units: Iterable[WorkUnit], reader: Worker) -> Iterator[tuple[str, Results]]:
        if not isinstance(reader, TrainedReader):
            yield from read_here(units, reader)
            return
        for number, (name, found) in enumerate(read_here(units, reader)):
            if number == self.last:
                raise KeyboardInterrupt
            self.read += [row["hash"] for row in found[0]]
            yield name, found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("screening")
    screen(CONDITIONS, open_library("bundled"), read_here, out)
    return out


def results(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in ("matrix.csv", "evidence.csv", "screen.html")}


def rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))


def test_a_screening_answers_from_the_bundled_library(undisturbed: Path) -> None:
    matrix = rows(undisturbed / "matrix.csv")
    first = {row["condition"]: row["drug"] for row in matrix if row["place"] == "1"}
    assert set(first) == {"smoking cessation", "nicotine dependence"}
    assert {"varenicline", "bupropion"} <= {row["drug"] for row in matrix if row["condition"] == "smoking cessation"}
    judged = [row["certainty"] != "no verdict" for row in matrix if row["condition"] == "smoking cessation"]
    assert judged == sorted(judged, reverse=True)
    assert False in judged
    (known,) = (each for each in matrix if (each["condition"], each["drug"]) == ("smoking cessation", "bupropion"))
    assert (known["condition_id"], known["chembl_id"], known["chebi_id"]) == ("EFO_0004319", "CHEMBL894", "")
    assert known["use"] == "known"
    told = {row["drug"] for row in rows(undisturbed / "evidence.csv")}
    assert told == {row["drug"] for row in matrix if row["certainty"] != "no verdict"}
    library = open_library("bundled")
    for row in rows(undisturbed / "evidence.csv"):
        (record,) = library.by_numbers([row["key"]], "pubmed")
        assert row["quote"] in record.content or not row["key"].startswith("pmid:")


def test_the_page_holds_all_it_shows_and_no_markup_of_records(undisturbed: Path) -> None:
    page = (undisturbed / "screen.html").read_text(encoding="utf-8")
    data = page.partition('type="application/json">')[2].partition("</script>")[0]
    assert "<" not in data
    shown = json.loads(data)["conditions"]
    assert [row[0] for row in shown] == CONDITIONS
    assert shlex.split(shown[0][2])[:4] == ["willowbark", "ask", "--library", "bundled"]
    assert CONDITIONS[0] in shlex.split(shown[0][2])[4]
    assert "src=" not in page
    uses = {cell[0]: cell[3] for cell in shown[0][3]}
    assert uses["bupropion"] == "known"
    assert set(uses.values()) <= {"known", "new", "not checked"}


def test_a_library_without_databases_has_known_uses_from_the_bundled_one(tmp_path: Path) -> None:
    paper = {
        "pmid": "1",
        "title": "Bupropion for smoking cessation: a randomized placebo-controlled trial",
        "abstract": "RESULTS: Bupropion significantly increased abstinence compared with placebo (p<0.001). "
        "CONCLUSIONS: Bupropion is effective for smoking cessation.",
        "publication_types": ["Randomized Controlled Trial"],
    }
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "records.jsonl").write_text(json.dumps(paper) + "\n")
    screen(CONDITIONS[:1], open_library(tmp_path / "library"), read_here, tmp_path / "out")
    (row,) = rows(tmp_path / "out" / "matrix.csv")
    assert (row["drug"], row["use"]) == ("bupropion", "known")


def test_stopped_and_called_again_it_reads_nothing_twice_and_ends_alike(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainedReader, "unit", 20)
    stopped, again, third = Counting(last=1), Counting(), Counting()
    with pytest.raises(KeyboardInterrupt):
        screen(CONDITIONS, open_library("bundled"), stopped, tmp_path)
    done = screen(CONDITIONS, open_library("bundled"), again, tmp_path)
    assert len(stopped.read) == 20
    assert not set(stopped.read) & set(again.read)
    assert len(set(again.read)) == len(again.read) == done.read.made == done.read.due - 20
    assert results(tmp_path) == results(undisturbed)
    assert screen(CONDITIONS, open_library("bundled"), third, tmp_path).read.made == 0
    assert third.read == []


def test_one_drug_can_be_asked_of_all_conditions(tmp_path: Path) -> None:
    done = screen(CONDITIONS, open_library("bundled"), read_here, tmp_path, drugs=["Zyban"])
    assert {row["drug"] for row in rows(tmp_path / "matrix.csv")} == {"bupropion"}
    assert done.empty == ["blorbosis"]
    with pytest.raises(UsageError, match="not known as a drug: blorbostatin"):
        screen(CONDITIONS, open_library("bundled"), read_here, tmp_path, drugs=["blorbostatin"])
    with pytest.raises(UsageError, match="--engine cloud is not known"):
        engine_of("cloud")


def test_a_conclusion_takes_its_readings_from_the_table(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = stored.load_reader()
    reads_nothing = SimpleNamespace(name=own.name, version=own.version)
    monkeypatch.setattr(conditions, "load_reader", lambda: reads_nothing)
    monkeypatch.setattr(stored, "load_reader", lambda: reads_nothing)
    shutil.copytree(undisturbed, tmp_path, dirs_exist_ok=True)
    assert screen(CONDITIONS[:1], open_library("bundled"), read_here, tmp_path).cells > 0


def test_the_same_conditions_screened_again_with_another_list_read_no_record(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, library, store = list[str](), open_library("bundled"), tmp_path / "studies.db"
    read_document = LearnedReader.read_document

    def count(reader: LearnedReader, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        reads.append(f"{drug} in {condition}: {document.title}")
        return read_document(reader, document, drug, condition, key)

    monkeypatch.setattr(LearnedReader, "read_document", count)
    with StudyShelf(store) as shelf:
        first = screen(CONDITIONS, library, read_here, tmp_path / "first", shelf=shelf)
    assert (first.read.made, first.read.taken, len(reads)) == (first.read.due, 0, first.read.due)
    reads.clear()

    with StudyShelf(store) as shelf:
        again = screen(CONDITIONS[::-1], library, read_here, tmp_path / "again", shelf=shelf)
        fewer = screen(CONDITIONS, library, read_here, tmp_path / "fewer", drugs=["bupropion"], shelf=shelf)

    assert reads == []
    assert (again.read.made, again.read.taken) == (0, first.read.due)
    assert fewer.read.made == 0 < fewer.read.taken < first.read.due
    assert not (tmp_path / "again" / "readings").exists()
    assert sorted(rows(tmp_path / "again" / "matrix.csv"), key=str) == sorted(rows(undisturbed / "matrix.csv"), key=str)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has to name a column"),
        ("thing\ngout\n", "has to name a column"),
        ("condition\n \n", "holds no name"),
        ("condition\nDiabetes mellitus, type 2\n", "in quotes"),
    ],
)
def test_a_file_without_names_or_with_one_that_is_cut_gets_one_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(UsageError, match=says):
        read_names(tmp_path / "c.csv", course.CONDITION_COLUMNS)


def test_names_are_read_from_any_of_the_columns_once_each(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("\ufeffid;Disease\n1;Gout\n2;gout \n3;Gout\n", encoding="utf-8")
    assert read_names(tmp_path / "c.csv", course.CONDITION_COLUMNS) == ["Gout", "gout"]


def test_a_damaged_part_gets_one_line(tmp_path: Path) -> None:
    part = TableFolder(tmp_path).write("a", [{"hash": "1", "reading": "{}"}])
    assert list(TableFolder(tmp_path).rows()) == [{"hash": "1", "reading": "{}"}]
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(UsageError, match="is damaged"):
        list(TableFolder(tmp_path).rows())


def test_without_a_library_the_sources_are_asked_once(tmp_path: Path) -> None:
    limiter = RateLimiter()
    with SourceServer() as server:
        asked: dict[str, Any] = {"endpoints": Endpoints.at(server.url), "limiter": limiter, "most": 20}
        done = screen(["migraine"], None, read_here, tmp_path, **asked)
        before, sent = results(tmp_path), len(server.requests)
        (tmp_path / "search").rename(tmp_path / "lost")  # as if stopped before the table was written
        again = screen(["migraine"], None, read_here, tmp_path, **asked)
        assert len(server.requests) == sent > 1
    assert done.records == again.records > 10
    assert again.read.made == 0
    assert done.cells > 0
    assert results(tmp_path) == before


def test_conditions_that_ask_alike_are_searched_once_and_each_has_its_records(tmp_path: Path) -> None:
    alike = ["migraine", "Migraine", "MIGRAINE"]
    with SourceServer() as server:
        asked: dict[str, Any] = {"endpoints": Endpoints.at(server.url), "limiter": RateLimiter(), "most": 20}
        screen(alike[:1], None, read_here, tmp_path / "one", **asked)
        sent = len(server.requests)
        done = screen(alike, None, read_here, tmp_path / "three", **asked)
        assert len(server.requests) == 2 * sent
    assert list(done.keys) == alike
    assert len({tuple(keys) for keys in done.keys.values()}) == 1
    assert len(list(TableFolder(tmp_path / "three" / "search").rows())) == 1


def test_a_source_that_does_not_answer_costs_its_condition_alone(tmp_path: Path) -> None:
    plan = FaultPlan(faults=[Fault(kind="status", status=400, source="clinicaltrials", times=1)])
    with FaultyServer(plan) as server:
        asked: dict[str, Any] = {"endpoints": Endpoints.at(server.url), "limiter": RateLimiter(), "most": 20}
        done = screen(["migraine"], None, read_here, tmp_path, **asked)
        again = screen(["migraine"], None, read_here, tmp_path, **asked)
    assert done.records == 0
    assert "ClinicalTrials.gov" in done.refused[0]
    assert (bool(again.records), again.refused) == (True, [])


def test_the_matrix_joins_with_other_tables_as_the_documentation_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    page = (Path(__file__).parent.parent / "docs/how-to/screen-a-disease-area.md").read_text(encoding="utf-8")
    (code,) = re.findall(r'```python title="join.py"\n(.*?)```', page, re.DOTALL)
    screen(["Smoking cessation"], open_library("bundled"), read_here, tmp_path / "screening")
    (tmp_path / "indications.tsv").write_text(
        "disease_id\tdisease\tdrug_id\tdrug\nA:1\tsmoking Cessation\tB:2\tBupropion\n"
    )
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    row = capsys.readouterr().out.strip().split("\t")
    assert (row[0], row[1], *row[3:]) == ("Smoking cessation", "bupropion", "A:1", "B:2")
