"""Living reviews: what moved is told once, what did not answer moves nothing, and the end is as of one run."""

import asyncio
import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from benchmarks import watch as lived
from typer.testing import CliRunner, Result

from willowbark.teams.faces import runs
from willowbark.teams.faces.cli import app
from willowbark.teams.faces.runs import FAILED, MOVED, add_watch, list_watches, run_watches
from willowbark.teams.run import research as running
from willowbark.teams.run.history import strip_clock
from willowbark.teams.run.research import SourcesUnreachable, research
from willowbark.tools.errors import UsageError

QUESTION = "Which existing drugs could prevent migraine attacks?"
ROW: dict[str, Any] = {
    "pmid": "1",
    "title": "Propranolol in the prevention of migraine: a randomized placebo-controlled trial",
    "abstract": "METHODS: 200 patients with migraine received propranolol or placebo. RESULTS: Propranolol reduced the "
    "number of attacks significantly compared with placebo (p<0.001). CONCLUSIONS: Propranolol prevents migraine.",
    "date": "2019",
    "publication_types": ["Randomized Controlled Trial"],
}
LATER: dict[str, Any] = {
    **ROW,
    "pmid": "2",
    "title": ROW["title"].replace("Propranolol", "Timolol"),
    "abstract": ROW["abstract"].replace("propranolol", "timolol").replace("Propranolol", "Timolol"),
}


def write(library: Path, *rows: dict[str, Any]) -> Path:
    library.mkdir(exist_ok=True)
    (library / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A question that is watched, and was asked once, on a library in `library` beside it."""
    folder, library = tmp_path / "watch", write(tmp_path / "library", ROW)
    add_watch(folder, QUESTION, {"library": library})
    assert run_watches(folder) == ([], 0)
    return folder


def test_what_moved_is_told_once_and_the_end_is_as_of_one_run(folder: Path, tmp_path: Path) -> None:
    library, (place,) = tmp_path / "library", folder.iterdir()
    told: list[str] = []
    assert run_watches(folder, told.append) == ([], 0)
    assert "nothing new" in told[0]
    write(library, ROW, LATER)
    moved, code = run_watches(folder)
    assert code == MOVED
    assert moved[0]["changes"] == [
        "timolol: a new candidate, low certainty; a trial against placebo found benefit (pmid:2)"
    ]
    assert run_watches(folder) == ([], 0)
    write(library, ROW, {**LATER, "publication_types": ["Retracted Publication"]})
    moved, code = run_watches(folder)
    assert code == MOVED
    assert moved[0]["changes"] == ["timolol: no longer a candidate; pmid:2 was retracted, which found benefit"]
    once = asyncio.run(research(QUESTION, library=library)).model_dump(mode="json")
    kept = json.loads((place / "report.json").read_text())
    assert strip_clock(kept)["candidates"] == strip_clock(once)["candidates"]
    assert len(json.loads((place / "changes.json").read_text())) == 2
    feed = fromstring((place / "changes.atom").read_text())
    assert len(feed.findall("{http://www.w3.org/2005/Atom}entry")) == 2
    assert "timolol: a new candidate" in (place / "changes.md").read_text()


def test_the_commands_add_repeat_and_list_a_question(tmp_path: Path) -> None:
    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["watch", *arguments, "--workspace", str(tmp_path)])

    library = write(tmp_path / "library", ROW)
    assert call("add", QUESTION, "--library", str(library)).stdout.startswith("Watched as ")
    first = call("run")
    assert (first.exit_code, "later runs report what changes" in first.stderr) == (0, True)
    write(library, ROW, LATER)
    moved = call("run", "--json", "--quiet")
    assert (moved.exit_code, moved.stderr) == (MOVED, "")
    assert [each["question"] for each in json.loads(moved.stdout)] == [QUESTION]
    assert "; last changed 2" in call("list").stdout
    (library / "records.jsonl").unlink()
    assert (call("run").exit_code, call("run").stdout) == (FAILED, "")


def test_sources_that_do_not_answer_move_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place,) = folder.iterdir()
    before = (place / "report.json").read_bytes()
    write(tmp_path / "library", ROW, LATER)

    async def silent(*given: Any, **more: Any) -> Any:
        report = await research(*given, **more)
        log = [entry.model_copy(update={"status": "unavailable"}) for entry in report.search_log]
        return report.model_copy(update={"search_log": log})

    async def unreachable(*given: Any, **more: Any) -> Any:
        raise SourcesUnreachable(await research(*given, **more))

    for failing in (silent, unreachable):
        monkeypatch.setattr(running, "research", failing)
        assert run_watches(folder) == ([], FAILED)
        assert (place / "report.json").read_bytes() == before
    monkeypatch.setattr(running, "research", research)
    assert run_watches(folder)[1] == MOVED


def test_a_question_twice_and_none_at_all_get_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no question is watched"):
        run_watches(tmp_path)
    assert "No question is watched" in list_watches(tmp_path)[0]
    add_watch(tmp_path, QUESTION, {"offline": True})
    with pytest.raises(UsageError, match="watched already"):
        add_watch(tmp_path, QUESTION, {"offline": True})
    with pytest.raises(UsageError, match="not known"):
        add_watch(tmp_path, "Which drugs treat migrane?", {})
    with pytest.raises(UsageError, match="cannot be read"):
        add_watch(tmp_path, QUESTION, {"library": tmp_path / "nothing"})


def test_a_question_that_cannot_be_asked_costs_itself_alone(folder: Path, tmp_path: Path) -> None:
    lost = write(tmp_path / "lost", ROW)
    add_watch(folder, "Which existing drugs could treat asthma?", {"library": lost})
    write(tmp_path / "library", ROW, LATER)
    (lost / "records.jsonl").unlink()

    told = list[str]()
    moved, code = run_watches(folder, complain=told.append)

    assert (len(moved), code) == (1, MOVED)
    assert str(lost) in "\n".join(told)


DAMAGES: dict[str, tuple[str, bytes | None]] = {
    "an empty state": ("watch.json", b""),
    "a cut state": ("watch.json", b'{"question": "Which'),
    "a list for a state": ("watch.json", b"[]"),
    "nothing for a state": ("watch.json", b"null"),
    "no question": ("watch.json", b'{"options": {}, "added": ""}'),
    "a question that is none": ("watch.json", b'{"question": 5, "options": {}, "added": ""}'),
    "no options": ("watch.json", b'{"question": "Which drugs treat asthma?", "added": ""}'),
    "no date": ("watch.json", b'{"question": "Which drugs treat asthma?", "options": {}}'),
    "not UTF-8": ("watch.json", b"\xff\xfe"),
    "a folder for a state": ("watch.json", None),
    "a cut report": ("report.json", b'{"research_question": "'),
    "a list for a report": ("report.json", b"[]"),
    "a report without candidates": ("report.json", b'{"research_question": "x"}'),
    "candidates of another form": (
        "report.json",
        b'{"research_question": "x", "candidates": [5], "references": [], "evidence_table": [], "trials": []}',
    ),
    "a folder for a report": ("report.json", None),
    "an object for changes": ("changes.json", b"{}"),
    "changes without a date": ("changes.json", b'[{"watch": "a", "question": "x", "changes": []}]'),
}


@pytest.mark.parametrize(("file", "content"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_state_is_named_and_costs_its_own_question_alone(
    folder: Path, tmp_path: Path, file: str, content: bytes | None
) -> None:
    (sound,) = folder.iterdir()
    damaged = folder / add_watch(folder, "Which existing drugs could treat asthma?", {"offline": True})
    (damaged / file).unlink(missing_ok=True)
    if content is None:
        (damaged / file).mkdir()
    else:
        (damaged / file).write_bytes(content)
    told = list[str]()

    assert run_watches(folder, complain=told.append) == ([], FAILED)
    assert len(told) == 1
    assert told[0].startswith(str(damaged / file))
    assert str(damaged) in told[0].partition("remove the folder")[2]
    listed, problem = list_watches(folder)
    assert listed.startswith(sound.name)
    assert problem == told[0]
    write(tmp_path / "library", ROW, LATER)
    assert run_watches(folder)[1] == MOVED


def test_the_line_of_a_state_that_is_bent_is_named(folder: Path) -> None:
    (place,) = folder.iterdir()
    (place / "watch.json").write_text('{\n  "question": "x",\n}')
    told = list[str]()
    run_watches(folder, complain=told.append)

    assert told[0].startswith(f"{place / 'watch.json'}, line 3: is not JSON")


def test_what_moved_is_told_again_where_it_could_not_be_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise UsageError("the disk is full")

    write(tmp_path / "library", ROW, LATER)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_atom", full)
        assert run_watches(folder) == ([], FAILED)

    assert run_watches(folder)[1] == MOVED


@pytest.mark.whole
def test_after_weeks_of_pubmeds_files_the_verdicts_are_those_of_one_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["watch", "--weeks", "2", "--records", "200", "--depth", "quick"])
    lived.main()

    told = capsys.readouterr().out
    assert "2 weeks, 2 in which something moved" in told
    assert "one run at the end: 0 of" in told
    assert "no week told: 0 (due 0)" in told
    assert "false changes: 0 (due 0)" in told
