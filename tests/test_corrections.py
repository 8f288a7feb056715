"""What people say of records counts before every reader: the file, disputes, fields, and a run made again."""

import asyncio
import csv
import html
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION, TRIAL, ScriptedReader, scripted
from typer.testing import CliRunner, Result

from willowbark.agents.approval import Approval, ApprovalAnswer, ApprovalRequest, list_proposals
from willowbark.agents.exports import render
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.faces.cli import app
from willowbark.teams.faces.review import list_run_rows, review
from willowbark.teams.ledger import DEFAULT_PATH, Ledger
from willowbark.teams.run.changes import parse_record_key
from willowbark.teams.run.edited_tables import is_table_of_evidence, read_table
from willowbark.teams.run.history import find_run, load_stored_report, strip_clock
from willowbark.teams.run.research import replay, research
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.appraisal.corrected import apply_corrections
from willowbark.tools.appraisal.reviewing import BY_MODEL, IN_DISPUTE, rank_rows, rate_chance
from willowbark.tools.errors import UsageError
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.corrections import (
    CORRECTIONS_FILE,
    Correction,
    CorrectionBook,
    append_corrections,
    find_corrections_file,
    find_person,
    read_corrections,
)
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.study import Arm, Comparison, Study

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ASKED = parse_question("Which drugs could treat migraine?")
OPTIONS: dict[str, Any] = {"offline": True, "max_iterations": 1, "max_results": 10}


def word(who: str = "Anna", minutes: int = 0, **fields: Any) -> Correction:
    """What somebody says of the trial of propranolol, so many minutes later."""
    given = {"change": "stance", "record": "pmid:1", "drug": "propranolol", "condition": "migraine"} | fields
    return Correction(who=who, at=NOW + timedelta(minutes=minutes), **given)


def appraise(*words: Correction, pool: list[Evidence] | None = None, **fields: Any) -> dict[str, Candidate]:
    """The candidates of a pool in which one trial supports propranolol, by name."""
    scripted = ScriptedReader(**{"effect": "better", "comparator": "placebo", "kind": "efficacy", **fields})
    readings = Readings(scripted, corrections=CorrectionBook(words))
    return {each.drug: each for each in appraise_candidates(ASKED, pool or [TRIAL], readings)}


# --- the file ---


def test_the_file_grows_by_a_line_a_correction_and_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS_FILE
    append_corrections(path, [word(says="contradicts", note="=“dose”\nétude")])
    append_corrections(path, [word("Ben", 1, change="exclude", drug="", reason="duplicate")])
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
    assert [each.who for each in read_corrections(path).all] == ["Anna", "Ben"]
    assert read_corrections(path).all[0].note == "=“dose”\nétude"


def test_without_a_file_nobody_has_said_anything(tmp_path: Path) -> None:
    assert not read_corrections(tmp_path / CORRECTIONS_FILE)


@pytest.mark.parametrize(
    "line", ["<<<<<<< HEAD", "{}", '{"change": "stance", "record": "pmid:1", "who": "A", "at": "2026-11-29T12:00:00Z"}']
)
def test_a_damaged_line_is_named_and_nothing_is_added(tmp_path: Path, line: str) -> None:
    path = tmp_path / CORRECTIONS_FILE
    append_corrections(path, [word(says="contradicts")])
    path.write_text(f"{path.read_text(encoding='utf-8')}{line}\n", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="line 2: is no correction"):
        append_corrections(path, [word(says="supports")])
    assert path.read_bytes() == before


def test_a_file_whose_last_line_is_open_gets_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS_FILE
    append_corrections(path, [word(says="contradicts")])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    append_corrections(path, [word("Ben", says="supports")])
    assert len(read_corrections(path).all) == 2


def test_corrections_stand_beside_the_workspace_folder_where_git_sees_them(tmp_path: Path) -> None:
    assert find_corrections_file(tmp_path / ".willowbark" / "ledger.db") == tmp_path / CORRECTIONS_FILE
    assert find_corrections_file(tmp_path / "ours.db") == tmp_path / CORRECTIONS_FILE


def test_who_corrects_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_PERSON", "  Anna   Berg ")
    assert (find_person(), find_person("Ben")) == ("Anna Berg", "Ben")


# --- who is right ---


def test_a_later_word_of_the_same_person_replaces_the_earlier_one() -> None:
    found = appraise(word(says="contradicts"), word(minutes=1, says="supports"))
    assert found["propranolol"].appraisal.supporting == ["pmid:1"]


def test_two_people_who_differ_leave_the_row_as_the_readers_have_it_and_both_are_shown() -> None:
    row = appraise(word(says="contradicts"), word("Ben", 1, says="inconclusive"))["propranolol"].records[0]
    assert row.item.direction == "supports"
    assert row.word is not None
    assert row.word.is_disputed
    assert "Anna, 2026-11-29: contradicts" in row.word.line
    assert "Ben, 2026-11-29: inconclusive" in row.word.line


def test_two_people_who_agree_count() -> None:
    found = appraise(word(says="contradicts"), word("Ben", 1, says="contradicts"))
    assert found["propranolol"].appraisal.contradicting == ["pmid:1"]


def test_what_is_taken_back_counts_no_more() -> None:
    found = appraise(word(says="contradicts"), word(minutes=1, says="contradicts", withdrawn=True))
    assert found["propranolol"].records[0].word is None


def test_a_word_on_another_condition_does_not_count() -> None:
    found = appraise(word(says="contradicts", condition="gout"))
    assert found["propranolol"].records[0].word is None


def test_a_word_for_every_condition_counts() -> None:
    assert appraise(word(says="contradicts", condition=""))["propranolol"].appraisal.contradicting == ["pmid:1"]


# --- what is said ---


def test_a_corrected_stance_counts_says_who_and_when_and_keeps_the_readers_beside_it() -> None:
    row = appraise(word(says="contradicts", note="wrong arm"))["propranolol"].records[0]
    assert (row.item.direction, row.item.says, row.study.reader, row.study.version) == (
        "contradicts", "contradicts", "person", "Anna",
    )  # fmt: skip
    assert row.item.second_reader == "supports"
    assert row.told.result is None
    assert row.word is not None
    assert row.word.line == "supports → contradicts (Anna, 2026-11-29: “wrong arm”)"


def test_a_row_that_a_person_confirms_is_seen_and_not_changed() -> None:
    row = appraise(word(says="supports"))["propranolol"].records[0]
    assert row.word is not None
    assert (row.word.is_changed, row.told.result) == (False, "better")


def test_a_person_makes_a_hedged_row_count() -> None:
    found = appraise(word(says="supports"), effect="mixed")
    assert found["propranolol"].appraisal.supporting == ["pmid:1"]


def test_a_drug_that_the_readers_missed_is_read_by_a_person() -> None:
    found = appraise(word(drug="valproic acid", says="contradicts"))
    assert found["valproic acid"].appraisal.contradicting == ["pmid:1"]


def test_an_excluded_record_says_nothing_unless_another_person_judged_it() -> None:
    out = word(change="exclude", drug="", reason="wrong population")
    assert "propranolol" not in appraise(out)
    assert "propranolol" in appraise(out, word("Ben", 1, says="supports"))


def test_a_corrected_number_of_people_is_the_comparisons_own() -> None:
    field = word(change="field", condition="", field="deciding.participants", value=57, was=500)
    row = appraise(field)["propranolol"].records[0]
    assert (row.item.sample_size, row.told.participants) == (57, 57)
    assert row.word is not None
    assert row.word.line == "deciding.participants: 500 → 57 (Anna, 2026-11-29)"


def test_a_corrected_direction_of_the_deciding_comparison_decides() -> None:
    field = word(change="field", condition="", field="deciding.favours", value="versus")
    assert appraise(field)["propranolol"].appraisal.contradicting == ["pmid:1"]


def test_a_corrected_condition_takes_a_study_out_of_the_count() -> None:
    field = word(change="field", condition="", drug="", field="condition", value="gout")
    row = appraise(field)["propranolol"].records[0]
    assert row.item.direction not in ("supports", "contradicts")


def test_corrected_figures_are_told_in_place_of_the_passages() -> None:
    parts = {"measure": "OR", "value": 0.5, "low": 0.3, "high": 0.9}
    fields = [
        word(minutes=at, change="field", condition="", field=f"deciding.estimate.{name}", value=value)
        for at, (name, value) in enumerate(parts.items())
    ]
    (size,) = appraise(*fields)["propranolol"].records[0].told.effects
    assert (size.measure, size.value, size.ci_low, size.ci_high) == ("OR", 0.5, 0.3, 0.9)


def test_a_field_that_does_not_fit_the_study_is_told_and_changes_nothing() -> None:
    row = appraise(word(change="field", condition="", field="arms[nobody].n", value=3))["propranolol"].records[0]
    assert row.item.direction == "supports"
    assert row.word is not None
    assert "does not fit this study" in row.word.line


STUDY = Study(
    key="pmid:1",
    reader="model",
    version="1",
    arms=(Arm(name="a", role="drug", drugs=("propranolol",)), Arm(name="p", role="placebo")),
    comparisons=(Comparison(arm="a", versus="p", endpoint="efficacy"),),
    not_read=("people",),
)


@pytest.mark.parametrize(
    ("field", "value", "wrong"),
    [
        ("key", "pmid:2", "is no field"),
        ("arms[p].role", "friend", "role"),
        ("arms[p].n", -1, "n"),
        ("comparisons[2].favours", "arm", "1 comparisons"),
        ("deciding.favours", "arm", "no comparison of this study decides"),
        ("design", "nice", "is none of"),
        ("__class__", "x", "is no field"),
    ],
)
def test_a_field_that_no_study_has_is_refused(field: str, value: Any, wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        apply_corrections(STUDY, [word(change="field", field=field, value=value)])


def test_a_field_that_a_person_fills_is_read_from_then_on() -> None:
    assert apply_corrections(STUDY, [word(change="field", field="people", value="adults")]).not_read == ()


@pytest.mark.parametrize(
    ("typed", "key"),
    [("PMID 12", "pmid:12"), ("12", "pmid:12"), ("nct:NCT01234567", "nct:NCT01234567"), ("PMC12", "pmcid:PMC12"),
     ("NCT01234567", "nct:NCT01234567"), ("https://doi.org/10.1000/A", "doi:10.1000/a"), ("own:3f", "own:3f")],
)  # fmt: skip
def test_a_record_is_named_by_any_of_its_numbers(typed: str, key: str) -> None:
    assert parse_record_key(typed) == key


# --- approval ---


def test_approval_shows_what_studies_say_and_keeps_aside_what_was_set_aside_before() -> None:
    candidates = list(appraise().values())
    (proposal,) = list_proposals(candidates)
    assert proposal.quotes[0].sentence.startswith("Propranolol reduced migraine attacks")
    request = ApprovalRequest(question="?", candidates=(proposal,), timeout_s=1, default="all")
    assert request.lines[1].startswith("   - supports: “Propranolol reduced")
    book = CorrectionBook([word(change="set aside", record="", note="allergy")])
    approval = Approval(decided_by="nobody").add_set_aside(candidates, ASKED, book)
    assert not approval.lets("propranolol")
    assert approval.set_aside[0].reason == "allergy (Anna, 2026-11-29)"


# --- a whole run ---


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run of the bundled library."""
    folder = tmp_path_factory.mktemp("workspace")
    asyncio.run(research(QUESTION, ledger=folder / DEFAULT_PATH, **OPTIONS))
    return folder


@pytest.fixture
def inside(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as the current folder, without earlier corrections."""
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("WILLOWBARK_PERSON", "Anna")
    (workspace / CORRECTIONS_FILE).unlink(missing_ok=True)
    assert invoke("correct", "last").exit_code == 0
    return workspace


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="willowbark")


def report_of_run() -> ResearchReport:
    report = load_stored_report(find_run("last"))
    assert report is not None
    return report


def supporting_row(report: ResearchReport) -> tuple[str, str]:
    """Key and drug of a row that supports the first candidate."""
    first = report.candidates[0]
    return first.supporting_citations[0], first.name


def test_a_run_made_again_without_corrections_is_the_same(inside: Path) -> None:
    with Ledger.existing() as ledger:
        first = asyncio.run(replay(find_run("last"), ledger))
    assert strip_clock(json.loads(first.to_json())) == strip_clock(json.loads(report_of_run().to_json()))


def test_one_command_mends_a_report_and_replay_gives_the_same(inside: Path) -> None:
    key, drug = supporting_row(report_of_run())
    result = invoke("correct", "last", key, "--drug", drug, "--says", "contradicts", "--note", "swapped arms")
    assert result.exit_code == 0, result.output
    assert f"{drug}: {key} now found no benefit (before: found benefit)" in result.output
    report = report_of_run()
    assert key in next(each for each in report.candidates if each.name == drug).contradicting_citations
    assert f"corrected by Anna, {report.corrections[0].on}" in report.to_markdown() + report.to_appendix()
    assert "People have seen 1 of" in report.to_markdown()
    assert "Corrected: 1 row of the evidence by Anna." in [part.line for part in report.summary_parts]
    with Ledger.existing() as ledger:
        again = asyncio.run(replay(find_run("last"), ledger))
    assert strip_clock(json.loads(again.to_json())) == strip_clock(json.loads(report.to_json()))
    assert "Compared: before and after corrections." in invoke("diff", "last").output


def test_the_next_run_takes_the_correction_and_its_replay_does_without_the_file(inside: Path) -> None:
    key, drug = supporting_row(report_of_run())
    invoke("correct", "last", key, "--drug", drug, "--says", "contradicts")
    report = asyncio.run(research(QUESTION, ledger=DEFAULT_PATH, run_id="later", **OPTIONS))
    row = next(row for row in report.evidence_table if (row.key, row.drug) == (key, drug))
    assert row.direction == "contradicts"
    (inside / CORRECTIONS_FILE).unlink()
    with Ledger.existing() as ledger:
        again = asyncio.run(replay("later", ledger))
        ledger.forget("later")
    assert strip_clock(json.loads(again.to_json())) == strip_clock(json.loads(report.to_json()))


def edited_table(report: ResearchReport, key: str, drug: str, **cells: str) -> list[list[str]]:
    """The exported table with some cells of one row as somebody typed them."""
    table = list(csv.reader(io.StringIO(render(report, "csv").decode("utf-8-sig"), newline="")))
    places = {name: at for at, name in enumerate(table[0])}
    for line in table[1:]:
        if (line[places["key"]], line[places["drug"]]) == (key, drug):
            for name, text in cells.items():
                line[places[name]] = text
    return table


def write_table(path: Path, table: list[list[str]], delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(table)


def test_an_edited_spreadsheet_corrects_every_cell_that_differs(inside: Path) -> None:
    report = report_of_run()
    key, drug = supporting_row(report)
    cells = {"reviewer_verdict": "inconclusive", "reviewer_note": "too few", "sample_size": "33"}
    path = inside / "table.csv"
    write_table(path, edited_table(report, key, drug, **cells), ";")
    assert [(each.says, each.field, each.value) for each in read_table(path, report)] == [
        ("inconclusive", None, None),
        (None, "deciding.participants", 33),
    ]
    assert invoke("correct", "last", "--from", str(path)).exit_code == 0
    row = next(row for row in report_of_run().evidence_table if (row.key, row.drug) == (key, drug))
    assert (row.direction, row.sample_size) == ("inconclusive", 33)


@pytest.mark.parametrize(
    ("cells", "wrong"),
    [
        ({"verdict": "helps"}, "'helps' is no verdict"),
        ({"reviewer_verdict": "exclude: boring"}, "'boring' is no reason"),
        ({"design": "nice"}, "design: nice is none of"),
    ],
)
def test_a_table_that_cannot_be_understood_changes_nothing(inside: Path, cells: dict[str, str], wrong: str) -> None:
    report = report_of_run()
    key, drug = supporting_row(report)
    write_table(inside / "table.csv", edited_table(report, key, drug, **cells))
    result = invoke("correct", "last", "--from", "table.csv")
    assert result.exit_code == 2, result.output
    assert wrong in result.stderr
    assert not (inside / CORRECTIONS_FILE).exists()


def test_a_record_is_added_from_a_file_and_by_number_from_the_library(inside: Path) -> None:
    text = (
        "TY  - JOUR\nTI  - Propranolol in migraine prevention: a double-blind trial\nAU  - Smith J\nPY  - 2001\n"
        "AB  - Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).\nAN  - 99999991\n"
        "DO  - 10.1000/added\nER  - \n"
    )
    (inside / "one.ris").write_text(text, encoding="utf-8")
    before = report_of_run().total_papers_reviewed
    result = invoke("correct", "last", "--add", "--file", "one.ris", "--note", "hand search")
    assert result.exit_code == 0, result.output
    report = report_of_run()
    assert report.total_papers_reviewed == before + 1
    assert report.flow.identified["people"] == 1
    assert "hand search" in report.corrections[-1].line


def test_a_drug_set_aside_leaves_the_report_and_comes_back_when_taken_back(inside: Path) -> None:
    drug = report_of_run().candidates[0].name
    invoke("correct", "last", "--drug", drug, "--set-aside", "--note", "allergy")
    report = report_of_run()
    assert drug not in report.drug_candidates
    assert f"{drug}, " not in invoke("correct", "last", "--list").output.partition(":")[0]
    assert "allergy (Anna" in report.to_markdown()
    invoke("correct", "last", "--drug", drug, "--undo")
    assert drug in report_of_run().drug_candidates


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (("99999999", "--drug", "x", "--says", "supports"), "add it first"),
        (("nonsense",), "say one thing"),
        (("--drug", "propranolol"), "say one thing"),
        (("--set-aside",), "name the drug"),
        (("--undo", "--drug", "propranolol"), "has said nothing"),
        (("--from", "missing.csv"), "cannot be read"),
        (("--exclude", "boring", "12"), "exclude"),
    ],
)
def test_what_cannot_be_corrected_is_said_in_a_line(inside: Path, arguments: tuple[str, ...], wrong: str) -> None:
    result = invoke("correct", "last", *arguments)
    assert result.exit_code == 2, result.output
    assert wrong in result.stderr
    assert not (inside / CORRECTIONS_FILE).exists()


def test_what_people_say_is_exported_as_labels(inside: Path) -> None:
    key, drug = supporting_row(report_of_run())
    invoke("correct", "last", key, "--drug", drug, "--says", "contradicts")
    assert invoke("correct", "last", "--labels", "labels.tsv").exit_code == 0
    (row,) = csv.DictReader(io.StringIO((inside / "labels.tsv").read_text(encoding="utf-8")), delimiter="\t")
    assert (f"pmid:{row['pmid']}", row["drug"], row["verdict"], row["sure"]) == (key, drug, "contradicts", "1")


def test_a_report_corrects_its_run_from_python(inside: Path) -> None:
    report = report_of_run()
    key, drug = supporting_row(report)
    mended = report.correct(key, drug=drug, says="contradicts", by="Ben").correct(drug=drug, set_aside=True)
    assert drug in report.drug_candidates
    assert drug not in mended.drug_candidates
    with pytest.raises(UsageError, match="of no run that was kept"):
        ResearchReport.model_validate(report.model_dump()).correct(drug=drug, set_aside=True)


def test_a_report_answers_follow_ups_from_python_and_a_notebook_shows_them(inside: Path) -> None:
    report = report_of_run()
    _, drug = supporting_row(report)
    answer = report.ask(f"Is {drug} effective? <b>")
    shown = answer._repr_html_()

    assert answer.drugs[0].drug == drug
    assert answer.drugs[0].said in html.unescape(shown)
    assert answer.disclaimer in html.unescape(shown)
    assert "<b>" not in shown
    assert [one.sentence for one in answer.drugs[0].quoted if one.sentence not in html.unescape(shown)] == []
    with pytest.raises(UsageError, match="of no run that was kept"):
        ResearchReport.model_validate(report.model_dump()).ask("Is it safe?")


def test_a_model_writes_the_answer_again_and_later_corrections_and_replays_keep_it(inside: Path) -> None:
    report = report_of_run()
    key, drug = supporting_row(report)
    other = next(row for row in report.evidence_table if row.direction == "supports" and row.drug != drug)
    mended = report.correct(key, drug=drug, says="contradicts", by="Anna")
    sentence = {"text": f"A study found no benefit of {drug}.", "keys": [key]}
    draft = {"answer": {"bottom_line": [sentence]}, "drugs": [], "mechanism": [], "would_change": []}
    verdict = {"verdicts": [{"number": 1, "words": "", "borne_out": "yes", "advises": False}]}
    written = mended.rewrite(scripted(json.dumps(draft), json.dumps(verdict)))
    assert written.written is not None
    assert [each.text for each in written.written.answer] == [sentence["text"]]
    assert written.written.outdated == []

    later = written.correct(other.key, drug=other.drug, says="inconclusive", by="Anna")
    assert later.written is not None
    assert later.written.answer == written.written.answer
    assert later.written.outdated == [other.key]
    taken_back = later.correct(key, drug=drug, undo=True, by="Anna")
    assert taken_back.written is not None
    assert taken_back.written.is_stale(taken_back.written.answer[0])
    with Ledger.existing(DEFAULT_PATH) as ledger:
        again = asyncio.run(replay(find_run("last"), ledger))
    assert strip_clock(again.model_dump(mode="json")) == strip_clock(taken_back.model_dump(mode="json"))


def test_a_run_without_a_language_model_says_so_when_asked_to_write_again(inside: Path) -> None:
    result = invoke("correct", "last", "--rewrite")

    assert result.exit_code == 2, result.output
    assert "was read without a language model" in result.stderr


def test_an_edited_workbook_corrects_as_a_table_does_and_lists_what_was_said(inside: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    report = report_of_run()
    key, drug = supporting_row(report)
    path = inside / "evidence.xlsx"
    path.write_bytes(render(report, "xlsx"))
    assert read_table(path, report) == []
    book = openpyxl.load_workbook(path)
    sheet = book["Evidence"]
    places = {cell.value: cell.column for cell in sheet[1]}
    for line in range(2, sheet.max_row + 1):
        if (sheet.cell(line, places["key"]).value, sheet.cell(line, places["drug"]).value) == (key, drug):
            sheet.cell(line, places["reviewer_verdict"]).value = "contradicts"
            sheet.cell(line, places["reviewer_note"]).value = "arms swapped"
            sheet.cell(line, places["sample_size"]).value = 33.0
    book.save(path)
    assert [(each.says, each.field, each.value) for each in read_table(path, report)] == [
        ("contradicts", None, None),
        (None, "deciding.participants", 33),
    ]
    assert invoke("correct", "last", "--from", "evidence.xlsx", "--by", "Anna").exit_code == 0
    (inside / "after.xlsx").write_bytes(render(report_of_run(), "xlsx"))
    words = openpyxl.load_workbook(inside / "after.xlsx")["Corrections"]
    rows = [[cell.value for cell in row] for row in words.iter_rows()]
    assert rows[0] == ["record", "drug", "correction", "by", "on"]
    assert [row[3] for row in rows[1:]] == ["Anna"]
    assert "arms swapped" in str(rows[1][2])


@pytest.mark.parametrize("content", [b"PK\x03\x04 is cut", b"\xff\xfe\x00", b"TY  - JOUR\nER  - \n"])
def test_what_is_no_table_is_said_in_a_line_and_is_told_from_records(inside: Path, content: bytes) -> None:
    (inside / "table.xlsx").write_bytes(content)
    result = invoke("correct", "last", "--from", "table.xlsx")

    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("willowbark: table.xlsx: is no") or "is not UTF-8" in result.stderr
    assert not is_table_of_evidence(inside / "table.xlsx")


def test_setting_a_drug_aside_at_the_approval_is_a_correction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from willowbark.agents.approver import ApproverAgent

    monkeypatch.setenv("WILLOWBARK_PERSON", "Anna")
    dropped = list[str]()

    async def decide(request: ApprovalRequest) -> ApprovalAnswer:
        dropped.append(request.candidates[0].name)
        return request.only(*(each.name for each in request.candidates[1:]), reason="allergy")

    approver = ApproverAgent(approve=decide, via="terminal")
    path = tmp_path / DEFAULT_PATH
    asyncio.run(research(QUESTION, ledger=path, approve=approver, **OPTIONS))
    book = read_corrections(find_corrections_file(path))
    assert [(each.change, each.drug, each.who, each.note) for each in book.all] == [
        ("set aside", dropped[0], "Anna", "allergy")
    ]
    later = asyncio.run(research(QUESTION, ledger=path, **OPTIONS))
    assert dropped[0] not in later.drug_candidates


# --- review ---


def test_review_ranks_what_may_be_wrong_and_would_move_a_conclusion() -> None:
    sure = appraise(probability=0.99)["propranolol"]
    unsure = appraise(probability=0.7)["propranolol"]
    assert [rank_rows([each])[0].chance for each in (sure, unsure)] == [pytest.approx(0.01), pytest.approx(0.3)]
    assert "propranolol" in rank_rows([unsure])[0].reason
    seen = appraise(word(says="supports"), probability=0.7)["propranolol"]
    assert rank_rows([seen]) == []


def test_readers_who_differ_are_likelier_wrong() -> None:
    row = appraise()["propranolol"].records[0]
    by_model = row.model_copy(update={"readings": (row.reading.model_copy(update={"reader": "model"}),)})
    chances = []
    for second in ("supports", "contradicts"):
        item = by_model.item.model_copy(update={"second_reader": second})
        chances.append(rate_chance(by_model.model_copy(update={"item": item})))
    assert chances == [BY_MODEL, IN_DISPUTE]


def test_review_asks_blind_and_counts_what_a_person_has_seen(inside: Path) -> None:
    rows = list_run_rows(find_run("last"), 2)
    said = list[str]()
    answers = iter(["z", "c", "q"])
    moved = review(
        find_run("last"), rows, Path("runs"), "Anna", is_blind=True, say=said.append, ask=lambda: next(answers)
    )
    asked_at = next(at for at, line in enumerate(said) if line.startswith("What does it say"))
    assert said[asked_at - 1] == f"“{rows[0].quote}”"
    assert not [line for line in said[:asked_at] if line.startswith("The report has")]
    assert moved[-1].startswith("People have seen 1 of ")
    (kept,) = read_corrections(Path(CORRECTIONS_FILE)).all
    assert (kept.says, kept.who) == ("contradicts", "Anna")
    assert kept.seconds is not None
    assert rows[0].record not in [
        row.record for row in list_run_rows(find_run("last"), 100) if row.drug == rows[0].drug
    ]


def test_review_in_a_pipe_lists_the_rows(inside: Path) -> None:
    told = json.loads(invoke("review", "last", "--json", "--top", "3").output)
    fields = ["chance", "condition", "direction", "drug", "quote", "readers", "reason", "record", "title"]
    assert [sorted(row) for row in told] == [fields] * len(told)
    blind = invoke("review", "last", "--blind", "--top", "3").output
    assert "likely to be wrong" not in blind
    assert told[0]["quote"] in blind


def test_confirming_a_row_keeps_what_it_says(inside: Path) -> None:
    before = report_of_run()
    key, drug = supporting_row(before)
    invoke("correct", "last", key, "--drug", drug, "--says", "supports")
    after = report_of_run()
    assert after.rows_seen == 1
    assert [each.certainty for each in after.candidates] == [each.certainty for each in before.candidates]
    assert after.stale == []
