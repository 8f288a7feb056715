"""The page, over a real socket: asked, watched, reloaded, stopped, killed; and whom it refuses."""

import hashlib
import html
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from builders import QUESTION
from exports_sample import WITHOUT_BROWSER
from starlette.datastructures import QueryParams

from willowbark.agents.approval import ApprovalRequest, Proposal, ProposalQuote
from willowbark.agents.exports import FORMATS
from willowbark.teams.events import AgentEvent
from willowbark.teams.ledger import Ledger
from willowbark.teams.page import rendering
from willowbark.teams.page.app import TOKEN_VARIABLE, choices
from willowbark.teams.run.options import RunOptions
from willowbark.tools.errors import UsageError
from willowbark.tools.reading.corrections import find_corrections_file, read_corrections

pytestmark = pytest.mark.whole

PROGRAM = [sys.executable, "-m", "willowbark", "serve", "--offline", "--port", "0"]
SHORT = {"question": QUESTION, "depth": "quick", "max_iterations": "1"}
TOKEN = "a-token-of-due-length"


class Told(NamedTuple):
    """A server-sent event."""

    kind: str
    number: str
    data: dict[str, str]


@contextmanager
def serving(folder: Path, *more: str, **variables: str) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """The server as a process of its own, in a folder; gives a client of it."""
    environment = {**os.environ, **variables}
    with subprocess.Popen([*PROGRAM, *more], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        assert line.startswith("Willowbark at http://"), line
        try:
            with httpx.Client(base_url=line.split()[2], timeout=120, trust_env=False) as client:
                yield client, server
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    with serving(folder) as (asking, _):
        yield asking


def asked(client: httpx.Client, **fields: str) -> str:
    """The address of a new run."""
    answer = client.post("/runs", data={**SHORT, **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def told(client: httpx.Client, run: str, last: str = "") -> Iterator[Told]:
    """What is told of a run, as a browser reads it."""
    with client.stream("GET", f"{run}/events", headers={"Last-Event-ID": last} if last else {}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                yield Told(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
                fields = {}


def told_and_answered(client: httpx.Client, run: str, most: int | None = None, **reason: str) -> list[Told]:
    """All that is told of a run that asks about its candidates, and goes on with so many of them, or all."""
    events = []
    for one in told(client, run):
        events.append(one)
        if one.kind == "asked" and one.data["html"]:
            names = re.findall(r'name="accepted" value="([^"]+)"', one.data["html"])[:most]
            assert client.post(f"{run}/approval", data={"accepted": names, **reason}).status_code == 303
    return events


def report_of(folder: Path, run: str) -> dict[str, object]:
    return json.loads((folder / "runs" / run.rpartition("/")[2] / "report.json").read_text())  # type: ignore[no-any-return]


# --- a run ---


@pytest.fixture(scope="module")
def run(client: httpx.Client) -> str:
    """A run that has come to its report."""
    address = asked(client)
    assert [one.kind for one in told(client, address)][-1] == "end"
    return address


def test_the_form_offers_kinds_examples_depths_sources_model_and_budget(client: httpx.Client) -> None:
    page = client.get("/").text

    for name in "question depth sources model max_iterations max_seconds max_cost_usd approve".split():
        assert f'name="{name}"' in page
    assert 'href="/?kind=compare"' in page
    assert 'href="/?question=' in page
    assert QUESTION in client.get("/", params={"question": QUESTION}).text
    places = re.findall('<input id="([a-z_]+)"', client.get("/?kind=compare").text)
    assert places[:3] == ["drug", "other_drug", "condition"], "in the order of the question"
    assert page.index(">Ask</button>") < page.index("Which existing drugs could prevent"), "no scrolling to ask"


def test_runs_side_by_side_are_told_until_their_ends(tmp_path: Path) -> None:
    """In a folder of their own: what is set aside here, later runs on the condition leave out."""
    with serving(tmp_path) as (client, _):
        first, second = (asked(client, approve="yes") for _ in range(2))  # under way until they are answered
        watching, listed = client.get(first).text, client.get("/").text
        events = told_and_answered(client, first)
        other = told_and_answered(client, second, 1, reason="the others are weaker")
        again = client.post(f"{second}/approval", data={"accepted": "x"})
    boards = [one.data["html"] for one in events if one.kind == "board"]
    numbers = [int(one.number.rpartition("-")[2]) for one in events if one.kind == "line"]
    approval = report_of(tmp_path, second)["approval"]
    forms = [one.data["html"] for one in other if one.kind == "asked" and one.data["html"]]
    corrections = read_corrections(find_corrections_file(tmp_path / ".willowbark" / "ledger.db")).all

    assert [address for address in (first, second) if address not in listed] == []
    assert [part for part in ("Research under way", "offline") if part not in watching] == []
    assert (events[-1].kind, other[-1].kind) == ("end", "end")
    assert numbers == list(range(1, 1 + len(numbers)))
    assert [
        word
        for word in ("literature", "trials", "mechanism", "judge", "report", "PubMed", "Round 1")
        if word not in boards[-1]
    ] == []
    assert re.search('class="mark supports">supports</span> <q>', boards[-1]), "findings stand with their round"
    assert "clinical evidence" in boards[-1], "and the judge's verdict"
    assert "judging" not in next(board for board in boards if "waiting for your approval" in board)
    assert isinstance(approval, dict)
    assert (approval["decided_by"], approval["via"], len(approval["accepted"])) == ("person", "page", 1)
    assert {one["reason"] for one in approval["set_aside"]} == {"the others are weaker"}
    assert again.status_code == 400
    candidates = forms[-1].split('class="candidate"')[1:]
    assert [one for one in candidates if not re.search(r"<blockquote>.*<q>[^<]{20,}</q>.*(PMID|NCT)", one)] == []
    aside = [(word.drug, word.note) for word in corrections if word.change == "set aside"]
    assert aside == [(one["name"], "the others are weaker") for one in approval["set_aside"]]
    assert "kept as your corrections" in forms[-1]


def test_the_report_comes_with_contents_rounds_and_its_files(client: httpx.Client, folder: Path, run: str) -> None:
    page = client.get(run).text

    assert [part for part in ('aria-label="Contents"', 'id="candidates"', "How the run went") if part not in page] == []
    assert [known for known in FORMATS if f"{run}/export/{known.name}" not in page] == []
    for known in WITHOUT_BROWSER:
        answer = client.get(f"{run}/export/{known.name}")
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert len(answer.content) > 100
    assert json.loads(client.get(f"{run}/export/json").content) == report_of(folder, run)


def test_a_citation_leads_to_its_record_with_the_quote_marked(client: httpx.Client, folder: Path, run: str) -> None:
    table, references = (report_of(folder, run)[name] for name in ("evidence_table", "references"))
    assert isinstance(table, list)
    assert isinstance(references, list)
    row = next(row for row in table if row["sentence"] and row["section"] == "Abstract")
    number = next(each["number"] for each in references if each["key"] == row["key"])
    page = client.get(f"{run}/records/{number}").text
    marked = " ".join(html.unescape(" ".join(re.findall("<mark>(.*?)</mark>", page, re.DOTALL))).split())

    assert f'href="{run}/records/{number}"' in client.get(run).text
    assert " ".join(row["sentence"].split()) in marked
    assert row["drug"] in page
    assert client.get(f"{run}/records/9999").status_code == 404


def test_two_clicks_correct_a_row_and_the_report_says_who(client: httpx.Client, folder: Path) -> None:
    run = asked(client)
    assert [one.kind for one in told(client, run)][-1] == "end"
    report = report_of(folder, run)
    candidates, references = report["candidates"], report["references"]
    assert isinstance(candidates, list)
    assert isinstance(references, list)
    drug, key = candidates[0]["name"], candidates[0]["supporting_citations"][0]
    number = next(each["number"] for each in references if each["key"] == key)
    record = client.get(f"{run}/records/{number}").text
    assert re.search(r'name="says" value="supports" aria-pressed="true"', record)
    answer = client.post(
        f"{run}/corrections", data={"record": key, "drug": drug, "says": "contradicts", "by": "Anna", "note": "<b>no"}
    )
    assert (answer.status_code, answer.headers["location"]) == (303, f"{run}#corrections")
    page = client.get(run).text
    assert "supports → contradicts (Anna" in page
    assert "<b>no" not in page
    assert f'href="/diff?earlier={run.rpartition("/")[2]}">What the corrections moved' in page
    after = report_of(folder, run)["candidates"]
    assert isinstance(after, list)
    assert key in next(each for each in after if each["name"] == drug)["contradicting_citations"]
    undone = client.post(f"{run}/corrections", data={"record": key, "drug": drug, "do": "undo", "by": "Anna"})
    assert undone.status_code == 303
    assert report_of(folder, run)["corrections"] == []


def test_the_workbench_lists_drugs_and_studies_and_a_correction_there_says_what_moved(
    client: httpx.Client, folder: Path
) -> None:
    run = asked(client)
    assert [one.kind for one in told(client, run)][-1] == "end"
    report = report_of(folder, run)
    rows, candidates = report["evidence_table"], report["candidates"]
    assert isinstance(rows, list)
    assert isinstance(candidates, list)
    bench = client.get(f"{run}/workbench").text
    assert f'href="{run}/workbench"' in client.get(run).text
    assert bench.count("data-change=") == len(rows)
    assert [each["name"] for each in candidates if f">{each['name']}</" not in bench] == []
    assert 'id="moved" tabindex="-1" hidden' in bench

    drug, key = candidates[0]["name"], candidates[0]["supporting_citations"][0]
    form = {"record": key, "drug": drug, "says": "contradicts", "by": "Anna", "back": "workbench"}
    answer = client.post(f"{run}/corrections", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{run}/workbench")
    after = html.unescape(client.get(f"{run}/workbench").text)
    assert f"{drug}: {key} now found no benefit (before: found benefit)" in after
    assert "corrected by Anna" in after
    assert client.post(f"{run}/corrections", data={**form, "says": "", "do": "undo"}).status_code == 303


def test_a_field_of_a_study_is_corrected_in_its_form(client: httpx.Client, folder: Path, run: str) -> None:
    rows = report_of(folder, run)["evidence_table"]
    assert isinstance(rows, list)
    row = next(row for row in rows if row["direction"] == "supports" and row["sample_size"] is not None)
    form = {"record": row["key"], "drug": row["drug"], "by": "Eva", "do": "fields", "was_participants": "1"}
    was = {"participants": "77", "design": row["design"], "was_design": row["design"], "low": "", "was_low": ""}
    assert client.post(f"{run}/corrections", data={**form, **was}).status_code == 303
    rows = report_of(folder, run)["evidence_table"]
    assert isinstance(rows, list)
    now = next(each for each in rows if (each["key"], each["drug"]) == (row["key"], row["drug"]))
    assert (now["sample_size"], now["design"]) == (77, row["design"])
    undone = client.post(f"{run}/corrections", data={"record": row["key"], "drug": "", "do": "undo", "by": "Eva"})
    assert undone.status_code == 303


RIS = (
    "TY  - JOUR\nTI  - Propranolol in migraine prevention: a double-blind trial\nAU  - Smith J\nPY  - 2001\n"
    "AB  - Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).\nAN  - 99999992\n"
    "DO  - 10.1000/dropped\nER  - \n"
)


def test_files_are_searched_in_the_sources_place_and_what_cannot_be_read_is_named(
    client: httpx.Client, folder: Path
) -> None:
    answer = client.post("/runs", data=SHORT, files=[("files", ("my export.txt", RIS))])
    assert answer.status_code == 303, answer.text
    run = answer.headers["location"]
    assert [one.kind for one in told(client, run)][-1] == "end"
    report = report_of(folder, run)
    rows = report["evidence_table"]
    assert isinstance(rows, list)
    assert {row["key"] for row in rows} == {"doi:10.1000/dropped"}

    files = [("files", ("my export.txt", RIS)), ("files", ("photo.png", b"\x89PNG\r\n\x1a\n\0"))]
    refused = client.post("/runs", data=SHORT, files=files)
    (line,) = re.findall(r'role="alert">(.*?)</p>', refused.text)
    assert refused.status_code == 400
    assert line.startswith("photo.png: ")
    assert QUESTION in refused.text


def test_dropped_files_join_a_run_and_an_edited_spreadsheet_corrects_it(client: httpx.Client, folder: Path) -> None:
    run = asked(client)
    assert [one.kind for one in told(client, run)][-1] == "end"
    form = {"do": "add", "record": "", "by": "Anna", "back": "workbench"}
    answer = client.post(f"{run}/corrections", data=form, files=[("files", ("one.ris", RIS))])
    assert (answer.status_code, answer.headers["location"]) == (303, f"{run}/workbench")
    bench = html.unescape(client.get(f"{run}/workbench").text)
    assert "Records of 1 file are in the run." in bench
    assert "doi:10.1000/dropped found benefit" in bench or "doi:10.1000/dropped" in bench

    table = client.get(f"{run}/export/csv").content.decode("utf-8-sig")
    edited = table.replace("propranolol,supports,supports,", "propranolol,supports,contradicts,", 1)
    assert edited != table
    answer = client.post(f"{run}/corrections", data=form, files=[("files", ("evidence.csv", edited))])
    assert answer.status_code == 303, answer.text
    assert "evidence.csv: 1 edited cell taken over." in client.get(f"{run}/workbench").text
    refused = client.post(f"{run}/corrections", data=form, files=[("files", ("notes.txt", "a shopping list"))])
    assert refused.status_code == 400
    assert "notes.txt" in refused.text
    assert "willowbark-" not in refused.text, "no path of the machine"


def test_files_beyond_the_bound_are_refused(client: httpx.Client) -> None:
    answer = client.post("/runs", data=SHORT, files=[("files", ("large.ris", b"x" * (33 << 20)))])

    assert answer.status_code == 413
    assert answer.text == "refused: the request is longer than 32 MB\n"


def test_rows_worth_a_look_are_shown_with_or_without_what_was_read(client: httpx.Client, run: str) -> None:
    shown, blind = client.get(f"{run}/review").text, client.get(f"{run}/review?blind=1").text
    assert "likely to be wrong" in shown
    assert "likely to be wrong" not in blind
    assert 'aria-pressed="true"' not in blind
    key = html.unescape(re.findall(r'records/row\?key=([^"]+)"', shown)[0])
    assert client.get(f"{run}/records/row?key={key}").status_code == 200
    assert client.get(f"{run}/records/row?key=pmid:9").status_code == 404


def test_a_follow_up_is_answered_from_the_records_with_citations_and_leads_further(
    client: httpx.Client, run: str
) -> None:
    page = client.get(f"{run}/ask", params={"question": "Is propranolol effective?"}).text
    assert "This report summarises published records" in page
    assert re.search(rf'href="{run}/records/\d+">\[\d+\]', page)
    assert "Search further" in page
    assert "(to prevent migraine" in html.unescape(page)
    assert client.get(f"{run}/ask", params={"question": " "}).status_code == 400


@pytest.mark.parametrize(
    "form", [{}, {"says": "helps"}, {"do": "exclude", "reason": "boring"}, {"do": "add", "record": "nonsense"}]
)
def test_a_correction_that_cannot_be_made_is_said_in_a_line(
    client: httpx.Client, run: str, form: dict[str, str]
) -> None:
    answer = client.post(f"{run}/corrections", data={"record": "pmid:1", "drug": "propranolol", **form})
    assert answer.status_code == 400
    assert "That did not work" in answer.text


def test_history_and_comparison_name_the_runs(client: httpx.Client, run: str) -> None:
    run_id = run.rpartition("/")[2]
    assert f'href="{run}"' in client.get("/runs").text
    assert "Nothing changed" in client.get("/diff", params={"earlier": run_id, "later": run_id}).text
    assert client.get("/diff", params={"earlier": "none"}).status_code == 400


def test_a_page_that_is_loaded_again_goes_on_where_it_was(client: httpx.Client, run: str) -> None:
    lines = [one for one in told(client, run) if one.kind == "line"]
    again = [one.number for one in told(client, run, lines[4].number) if one.kind == "line"]
    assert [one for one in lines if "literature: PubMed: (" in one.data["html"]], lines
    assert again == [one.number for one in lines][5:]


def test_a_run_that_is_stopped_reports_what_it_found_and_can_be_gone_on_with(client: httpx.Client) -> None:
    address = asked(client, depth="standard", max_iterations="5")
    for one in told(client, address):
        if one.kind == "line" and "search complete" in one.data["html"]:
            assert client.post(f"{address}/cancel").status_code == 303
            stopping = client.get(address).text
    page = client.get(address).text

    assert "Stopping …" in stopping or "This run was cancelled" in stopping
    assert [part for part in ("This run was cancelled", "Resume this run") if part not in page] == []


def test_a_run_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    with serving(tmp_path) as (client, server):
        address = asked(client, max_iterations="3", depth="standard")
        for one in told(client, address):
            if one.kind == "line" and "search complete" in one.data["html"]:
                os.kill(server.pid, signal.SIGKILL)
                break
        seen = one.number
    run_id = address.rpartition("/")[2]
    with serving(tmp_path) as (client, _):
        stopped = client.get(address).text
        gone = list(told(client, address, seen))
        assert client.post(f"{address}/resume").status_code == 303
        again = list(told(client, address, seen))
        page = client.get(address).text
    with Ledger.existing(tmp_path / ".willowbark" / "ledger.db") as ledger:
        run = ledger.run(run_id)

    assert [part for part in ("interrupted", "Resume this run") if part not in stopped] == []
    assert [(one.kind, one.data["status"]) for one in gone] == [("gone", "interrupted")]
    assert (again[0].kind, again[-1].kind) == ("again", "end")
    assert run.status == "complete"
    assert 'id="candidates"' in page


# --- what cannot be done ---


def test_what_cannot_be_asked_is_one_line_above_the_form(client: httpx.Client) -> None:
    for fields, part in (
        ({"question": " "}, "question"),
        ({"model": "nonsense/of-nobody"}, "nonsense"),
        ({"max_seconds": "soon"}, "max_seconds"),
        ({"max_iterations": "99"}, "max_iterations"),
        ({"sources": "everything"}, "everything"),
        ({"kind": "compare", "drug": "propranolol"}, "other drug: say which one"),
    ):
        answer = client.post("/runs", data={**SHORT, **fields})
        (line,) = re.findall(r'role="alert">(.*?)</p>', answer.text)
        assert answer.status_code == 400
        assert part in line


def test_what_is_not_there_is_one_line(client: httpx.Client) -> None:
    for method, path, status in (
        ("GET", "/runs/nobody-ran-this", 404),
        ("GET", "/runs/..%2F..%2Fetc", 404),
        ("GET", f"/runs/{'a' * 300}", 404),
        ("GET", "/static/app.py", 404),
        ("GET", "/runs/nobody-ran-this/export/html", 400),
        ("POST", "/runs/nobody-ran-this/resume", 400),
        ("POST", "/", 405),
    ):
        answer = client.request(method, path)
        assert answer.status_code == status
        assert len(re.findall('role="alert"', answer.text)) == 1
        assert ("There is no such page." in answer.text) is (status == 404)
        assert ("This page does not take that request." in answer.text) is (status == 405)
    assert client.post("/runs", content=b"question=" + b"x" * 100_000).status_code == 400
    assert client.post("/runs", content=b"&".join(b"field%d=x" % number for number in range(5_000))).status_code == 400


# --- whom it refuses ---


def test_beyond_the_loopback_a_token_is_wanted(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0", **{TOKEN_VARIABLE: TOKEN}) as (bound, _):
        port = bound.base_url.port
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
            bare = client.get("/runs")
            post = client.post("/runs", data=SHORT)
            wrong = client.post("/token", data={"token": "something else altogether"})
            bearer = client.get("/runs", headers={"Authorization": f"Bearer {TOKEN}"})
            entered = client.post("/token", data={"token": TOKEN})
            after = client.get("/runs")
            foreign = client.get("/runs", headers={"Origin": "http://evil.invalid"})

    assert [bare.status_code, post.status_code, wrong.status_code] == [401, 401, 401]
    assert TOKEN not in bare.text
    assert (bearer.status_code, after.status_code, foreign.status_code) == (200, 200, 403)
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert "SameSite=strict" in entered.headers["set-cookie"]
    assert TOKEN not in entered.headers["set-cookie"]


def test_pages_run_no_script_but_their_own_and_load_nothing_from_elsewhere(client: httpx.Client, run: str) -> None:
    for path in ("/", "/runs", "/diff", run):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]

        assert answer.headers["cache-control"] == "no-store"
        assert [name for name in rendering.STATIC if rendering.build_static_address(name) not in answer.text] == []
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        script = rendering.build_static_address("page.js")
        assert re.findall("<script[^>]*>", answer.text) == [f'<script src="{script}" defer>']
        assert not re.search(r"\son[a-z]+=|\sstyle=|<style", answer.text)
        assert not re.search(r'(?:src|<link[^>]*href)="(?!/static/|data:,|data:image/svg\+xml;base64,)', answer.text)
    for name in rendering.STATIC:  # which an open page keeps, whatever becomes of its server
        answer = client.get(address := rendering.build_static_address(name))
        assert answer.headers["cache-control"] == "max-age=31536000, immutable"
        assert hashlib.sha256(answer.content).hexdigest().startswith(address.partition("?")[2])


HOSTILE = "<img src=x onerror=alert(1)>\"'&</textarea></script>"


def test_texts_are_escaped_wherever_they_stand(client: httpx.Client) -> None:
    event = AgentEvent(type="progress", message=HOSTILE)
    shown = [
        rendering.log_line(event),
        client.get("/", params={"question": HOSTILE}).text,
        client.post("/runs", data={"question": HOSTILE, "model": HOSTILE}).text,
    ]

    assert [one for one in shown if not ("&lt;img" in one and "<img" not in one)] == []


def test_the_approval_shows_the_sentence_and_the_record_of_each_side_and_escapes_them() -> None:
    quotes = (
        ProposalQuote(key="nct:NCT02188459", direction="missed its primary outcome", sentence=HOSTILE),
        ProposalQuote(key="pmid:12", direction="supports", sentence="Attacks fell\n by half."),
    )
    counts = {"supporting": 2, "contradicting": 1, "certainty": "low", "evidence_quality": "weak"}
    candidate = Proposal(name="propranolol", quotes=quotes, **counts)
    form = rendering.render_part(
        "approval", "run", ApprovalRequest(question="?", candidates=(candidate,), timeout_s=9, default="all")
    )

    missed, supports = re.findall("<blockquote>.*?</blockquote>", form)
    assert [part for part in ('"mark contradicts">missed its', "&lt;img", "NCT02188459") if part not in missed] == []
    assert [
        part for part in ('"mark supports"', "<q>Attacks fell by half.</q>", "PMID 12") if part not in supports
    ] == []
    assert "<img" not in form
    assert "propranolol: 2 supporting, 1 contradicting, low certainty, weak evidence" in form


def test_what_the_form_sends_is_what_options_take() -> None:
    given = QueryParams({"kind": "compare", "drug": "a ", "other_drug": "b", "condition": "c", "max_seconds": "9.5"})

    assert choices(QueryParams("question=x&sources=pubmed&sources=chembl"))["sources"] == ("pubmed", "chembl")
    assert choices(given)["question"] == "Is a better than b for c?"
    assert RunOptions.of("", choices(given)).max_seconds == 9.5
    with pytest.raises(UsageError, match="condition"):
        choices(QueryParams({"kind": "treat"}))
