"""The team in the real AutoGen Studio, as its users meet it: through its API, and in a browser.

`make studio-test` runs it, in Studio's own environment, against the bundled library. It needs a Chromium; `CHROMIUM`
names one that is somewhere else. What the browser showed stands in build/studio-shots.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from willowbark.teams.faces import studio

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "studio-test"
TEAM_LABEL = "Willowbark research team"
SHOTS = ROOT / "build" / "studio-shots"
USER = "guestuser@gmail.com"  # Studio's user name without a login
QUESTION = "Which existing drugs could prevent migraine attacks?"
ROLES = {"literature", "trials", "mechanism", "judge", "report"}
START_S = 180  # the processor may be busy with other things
TABLE = "| drug | participants (studies) | effect | certainty, by the small reader | comments |"
RUN_S = 180
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
CHROMIUM_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
WINDOW = {"width": 1440, "height": 900}  # px, as on a laptop


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Studio as `make studio` starts it, on a free port, in a new app folder, with team and gallery imported."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    files = studio.export(FOLDER)
    environ = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_PROXY", "_proxy"))}
    environ |= {"AUTOGENSTUDIO_APPDIR": str(FOLDER), "WILLOWBARK_LIBRARY__PATH": "bundled"}
    command = [sys.executable, "studio/serve.py", "0"]
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], START_S)[0], "Studio said nothing"
        first = process.stdout.readline()
        assert "AutoGen Studio at http://127.0.0.1:" in first
        address = first.split()[3]
        with httpx.Client(base_url=f"{address}/api", timeout=START_S, trust_env=False) as client:
            client.get("/gallery/", params={"user_id": USER})  # Studio adds its own gallery first
            for path, name, file in (("gallery", "config", files[-1]), ("teams", "component", files[0])):
                content = json.loads(file.read_text(encoding="utf-8"))
                client.post(f"/{path}/", json={"user_id": USER, name: content}).raise_for_status()
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="session")
def api(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{url}/api", timeout=60, trust_env=False) as client:
        yield client


def teams_of(api: httpx.Client) -> dict[str, dict[str, Any]]:
    found = api.get("/teams/", params={"user_id": USER}).json()["data"]
    return {team["component"]["label"]: team for team in found}


def galleries_of(api: httpx.Client) -> list[str]:
    found = api.get("/gallery/", params={"user_id": USER}).json()["data"]
    return [gallery["config"]["name"] for gallery in found]


def run_of(api: httpx.Client, label: str) -> tuple[int, int, dict[str, Any]]:
    """A new session and a new run of a team: their numbers, and the team."""
    team = teams_of(api)[label]
    asked = {"user_id": USER, "team_id": team["id"], "name": "by API"}
    session = api.post("/sessions/", json=asked).json()["data"]["id"]
    run = api.post("/runs/", json={"session_id": session, "user_id": USER}).json()["data"]["run_id"]
    return session, run, team["component"]


def streamed(
    url: str, run: int, component: dict[str, Any], stop: Callable[[dict[str, Any]], bool] = lambda _: False
) -> list[dict[str, Any]]:
    """What Studio streams of a run until it ends; `stop` tells after which message to ask for a stop."""
    seen: list[dict[str, Any]] = []
    with connect(f"{url.replace('http', 'ws')}/api/ws/runs/{run}", max_size=None, proxy=None) as socket:
        start = {"type": "start", "task": QUESTION, "files": [], "team_config": component}
        socket.send(json.dumps(start))
        while not seen or seen[-1]["type"] not in ("result", "completion", "error"):
            seen.append(json.loads(socket.recv(timeout=RUN_S)))
            if stop(seen[-1]):
                socket.send(json.dumps({"type": "stop", "reason": "seen enough"}))
        if seen[-1]["type"] == "result":
            kept(url, run)  # Studio notes a run as stopped when its listener goes before it has been kept
    return seen


def kept(url: str, run: int) -> None:
    """Wait until Studio has kept a run's result."""
    deadline = time.monotonic() + 30
    while httpx.get(f"{url}/api/runs/{run}", trust_env=False).json()["data"]["status"] != "complete":
        assert time.monotonic() < deadline, "the run was not kept"
        time.sleep(0.1)


def shown(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [m["data"] for m in messages if m["type"] == "message" and m["data"].get("type") == kind]


def test_studio_takes_gallery_and_team(api: httpx.Client) -> None:
    assert set(teams_of(api)) == {TEAM_LABEL}
    assert galleries_of(api).count("Willowbark") == 1


@pytest.mark.parametrize("kind", ["teams", "agents", "tools", "models", "terminations"])
def test_studio_validates_every_component(api: httpx.Client, kind: str) -> None:
    for component in studio.gallery()["components"][kind]:
        found = api.post("/validate/", json={"component": component}).json()
        assert found["is_valid"], (component["label"], found["errors"])


def test_studio_validates_the_team(api: httpx.Client) -> None:
    component = json.loads((FOLDER / studio.TEAM_FILE).read_text(encoding="utf-8"))
    assert api.post("/validate/", json={"component": component}).json()["is_valid"]


def test_a_run_by_api_ends_in_a_report(url: str, api: httpx.Client) -> None:
    session, run, component = run_of(api, TEAM_LABEL)
    messages = streamed(url, run, component)
    assert (messages[-1]["type"], messages[-1]["status"]) == ("result", "complete")
    assert {call["name"] for event in shown(messages, "ToolCallRequestEvent") for call in event["content"]} >= {
        "search_pubmed",
        "search_clinicaltrials",
        "search_opentargets",
    }
    texts = {text["source"]: text["content"] for text in shown(messages, "TextMessage")}
    assert set(texts) >= ROLES
    assert "## Answer" in texts["report"][:600]
    assert TABLE in texts["report"]
    runs = api.get(f"/sessions/{session}/runs", params={"user_id": USER}).json()["data"]["runs"]
    assert [one["status"] for one in runs] == ["complete"]
    kinds = {message["type"] for message in runs[0]["team_result"]["task_result"]["messages"]}
    assert kinds >= {"FindingsMessage", "AssessmentMessage", "ReportMessage"}
    assert [one for one in runs[0]["messages"] if TABLE in str(one["config"]["content"])], runs[0]["messages"]


def test_studios_input_box_decides_on_the_candidates(url: str, api: httpx.Client) -> None:
    _, run, _ = run_of(api, TEAM_LABEL)
    seen: list[dict[str, Any]] = []
    with connect(f"{url.replace('http', 'ws')}/api/ws/runs/{run}", max_size=None, proxy=None) as socket:
        start = {"type": "start", "task": QUESTION, "files": [], "team_config": studio.team(asking=True)}
        socket.send(json.dumps(start))
        while not seen or seen[-1]["type"] not in ("result", "completion", "error"):
            seen.append(json.loads(socket.recv(timeout=RUN_S)))
            if seen[-1]["type"] == "input_request":
                socket.send(json.dumps({"type": "input_response", "response": "1; enough"}))
    assert (seen[-1]["type"], seen[-1]["status"]) == ("result", "complete")
    (asked,) = [message for message in seen if message["type"] == "input_request"]
    assert "Which of these go into the report?" in asked["prompt"]
    texts = [text["content"] for text in shown(seen, "TextMessage") if text["source"] == "report"]
    assert "a person (AutoGen user proxy); 1 of " in texts[-1]


def test_a_stopped_run_is_over_at_once_and_the_next_one_works(url: str, api: httpx.Client) -> None:
    _, run, component = run_of(api, TEAM_LABEL)
    messages = streamed(url, run, component, lambda message: message.get("data", {}).get("source") == "judge")
    assert (messages[-1]["type"], messages[-1]["status"]) == ("completion", "cancelled")
    assert [text for text in shown(messages, "TextMessage") if text["source"] == "report"] == []
    _, run, component = run_of(api, TEAM_LABEL)
    assert streamed(url, run, component)[-1]["status"] == "complete"


def test_another_sites_page_gets_no_websocket(url: str, api: httpx.Client) -> None:
    _, run, _ = run_of(api, TEAM_LABEL)
    address = f"{url.replace('http', 'ws')}/api/ws/runs/{run}"
    with pytest.raises(InvalidStatus), connect(address, origin=Origin("https://elsewhere.invalid"), proxy=None):
        pass


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    if not CHROMIUM:
        pytest.fail("no Chromium: install Debian's chromium, or name one with CHROMIUM")
    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"),
            executable_path=CHROMIUM,
            headless=True,
            args=CHROMIUM_FLAGS,
            viewport=WINDOW,
        )
        context.set_default_timeout(30_000)
        yield context
        context.close()


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


def shoot(page: Page, name: str) -> None:
    time.sleep(1)  # Studio moves things into place
    page.screenshot(path=SHOTS / f"{name}.png")


def test_the_gallery_file_is_taken_by_hand(url: str, api: httpx.Client, page: Page) -> None:
    before = galleries_of(api).count("Willowbark")
    page.goto(f"{url}/gallery")
    page.get_by_role("button", name="New Gallery").click()
    page.get_by_role("tab", name="File Upload").click()
    page.locator("input[type=file]").set_input_files(FOLDER / studio.GALLERY_FILE)
    expect(page.get_by_text("Which existing drugs might treat a condition").first).to_be_visible()
    shoot(page, "1-gallery")
    for kind, label in (("Agents", "Willowbark judge"), ("Tools", "search_pubmed"), ("Models", "ollama/llama3.1")):
        page.get_by_role("tab", name=kind).click()
        expect(page.get_by_text(label, exact=True).first).to_be_visible()
        shoot(page, f"2-gallery-{kind.lower()}")
    assert galleries_of(api).count("Willowbark") == before + 1


def test_team_builder_opens_the_team(url: str, page: Page) -> None:
    page.goto(f"{url}/build")
    page.get_by_text(TEAM_LABEL).first.click()
    nodes = page.locator(".react-flow__node")
    expect(nodes).to_have_count(1 + len(ROLES))
    told = " ".join(nodes.all_inner_texts())
    assert [role for role in ROLES if role not in told] == []
    assert "SourceMatchTermination" in told
    shoot(page, "3-builder")


def test_team_builder_takes_the_team_from_the_gallery(url: str, api: httpx.Client, page: Page) -> None:
    before = len(teams_of(api))
    page.goto(f"{url}/build")
    page.get_by_text("From Gallery").click()
    template = page.locator(".group").filter(has_text=TEAM_LABEL).first
    template.hover()
    template.get_by_role("button").click()
    expect(page.get_by_text("Recents (2)")).to_be_visible()
    shoot(page, "3-builder-from-gallery")
    assert len(teams_of(api)) == before + 1


def test_the_playground_shows_a_run_from_tool_calls_to_the_reports_table(url: str, page: Page) -> None:
    page.goto(f"{url}/")
    page.get_by_role("button", name="New Session").first.click()
    expect(page.get_by_text("Session created!")).to_be_visible()
    expect(page.get_by_text("Enter a task to get started")).to_be_visible()
    box = page.get_by_placeholder("Type your message here...")
    box.fill(QUESTION)
    box.press("Enter")
    expect(page.get_by_text("Task completed").first).to_be_visible(timeout=RUN_S * 1000)
    shoot(page, "4-playground")
    assert TABLE not in page.inner_text("main")  # tables are drawn
    assert "report benefit" in page.inner_text("main")
    for button in page.get_by_role("button", name="Show more").element_handles():
        button.evaluate("element => element.click()")
    text = page.inner_text("main")
    assert "Stop reason: 'report' answered" in text
    assert "Calling search_pubmed tool with arguments" in text  # a tool call
    assert "Tool Result" in text
    assert "mechanism, round 1" in text  # a reflection, with what it found
    assert "Mechanisms and indications are given for" in text
    assert "Judge, round 1: continue" in text  # the verdicts
    assert "synthesize" in text
    rows = page.locator("table").first.locator("tr")
    assert rows.first.inner_text().split() == TABLE.replace("|", "").split()
    assert "gabapentin" in page.locator("table").first.inner_text()
    page.locator("table").first.scroll_into_view_if_needed()
    shoot(page, "5-report")
    page.get_by_role("heading", name="References").first.scroll_into_view_if_needed()
    shoot(page, "6-references")
