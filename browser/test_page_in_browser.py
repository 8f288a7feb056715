"""The page in a browser, as people meet it: by keyboard, on a phone, in dark, with a server that dies; and axe's word.

`make page-test` runs it, against the bundled library. It needs a Chromium; `CHROMIUM` names one that is somewhere else,
`AXE` the script of axe-core. What the browser showed stands in build/page-shots.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SHOTS = ROOT / "build" / "page-shots"
AXE = Path(os.environ.get("AXE", ROOT / ".venvs" / "axe" / "axe_playwright_python" / "axe.min.js"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
CHROMIUM_FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking".split()
QUESTION = "Which existing drugs could prevent migraine attacks?"
RUN_MS = 120_000
TOO_PALE = """
// What axe cannot settle (texts in pictures, dots, what lies below a bar that stays): each text against what is painted
// right below its middle; https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
selectors => {
  const parts = colour => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const opaque = colour => colour !== 'none' && parts(colour).length >= 3 && parts(colour)[3] !== 0;
  const light = colour => parts(colour).slice(0, 3)
    .map(c => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const paint = e => e instanceof SVGGeometryElement ? getComputedStyle(e).fill : getComputedStyle(e).backgroundColor;
  return selectors.flatMap(selector => {
    const text = document.querySelector(selector);
    text.scrollIntoView({block: 'center'});
    const box = text.getBoundingClientRect();
    const below = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2)
      .filter(e => !text.contains(e) && !e.closest('.report > nav'));
    const ground = [...below.map(paint), 'rgb(255, 255, 255)'].find(opaque);
    const colour = getComputedStyle(text)[text instanceof SVGElement ? 'fill' : 'color'];
    const [a, b] = [light(colour), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    return ratio < 4.5 ? [`contrast ${ratio.toFixed(2)}: ${text.outerHTML.slice(0, 120)}`] : [];
  });
}
"""
Scheme = Literal["light", "dark"]
LOOKS: dict[str, tuple[int, int, Scheme]] = {
    "desktop": (1360, 900, "light"),
    "desktop-dark": (1360, 900, "dark"),
    "phone": (360, 740, "light"),
    "phone-dark": (360, 740, "dark"),
}


class Server:
    """`willowbark serve` in a folder and at a port of its own, to be started and killed."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._folder, self.url = folder, f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        program = [sys.executable, "-m", "willowbark", "serve", "--offline", "--port", str(self._port)]
        began = time.monotonic()
        self._process = subprocess.Popen(program, cwd=self._folder, stderr=subprocess.DEVNULL)  # noqa: S603
        while True:
            try:
                assert httpx.get(self.url, trust_env=False).status_code == 200
                return
            except httpx.TransportError:
                assert time.monotonic() - began < 60, "the server does not answer"
                time.sleep(0.02)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(timeout=60)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    SHOTS.mkdir(parents=True, exist_ok=True)
    one = Server(tmp_path_factory.mktemp("workspace"))
    one.start()
    yield one
    one.end()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.fail("no Chromium: install Debian's chromium, or name one with CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A window; the test fails where the browser complains of anything."""
    width, height, scheme = LOOKS[getattr(request, "param", "desktop")]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(30_000)
    opened, complaints = context.new_page(), list[str]()
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    unexpected = [line for line in complaints if "ERR_CONNECTION_REFUSED" not in line and "ERR_INCOMPLETE" not in line]
    assert unexpected == [line for line in unexpected if "400 (Bad Request)" in line]


in_every_look = pytest.mark.parametrize("page", LOOKS, indirect=True)


@pytest.fixture(scope="session")
def report(server: Server, browser: Browser) -> str:
    """The address of a report."""
    page = browser.new_page()
    ask(page, server)
    expect(page.locator(".report")).to_be_visible(timeout=RUN_MS)
    page.close()
    return page.url


def ask(page: Page, server: Server, *, approve: bool = False) -> None:
    """Ask, and wait for the first event."""
    page.goto(f"{server.url}/")
    page.fill("#question", QUESTION)
    page.set_checked("[name=approve]", approve)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#log li").first).to_be_attached()


def look(page: Page, name: str) -> None:
    """Photograph a page, and have axe and a ruler look at it."""
    width = page.evaluate("innerWidth")
    scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? '-dark' : ''")
    page.screenshot(path=SHOTS / f"{name}-{width}{scheme}.png", full_page=not name.startswith("report"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than its window"
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations', 'incomplete']})")
    told = [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]
    unsettled = [one["nodes"] for one in found["incomplete"] if one["id"] == "color-contrast"]
    told += page.evaluate(TOO_PALE, [node["target"][0] for nodes in unsettled for node in nodes])
    assert told == [], name


@in_every_look
def test_every_page_is_in_order(server: Server, page: Page, report: str) -> None:
    for name, path in {
        "ask": "/",
        "kind": "/?kind=compare",
        "runs": "/runs",
        "compare": f"/diff?earlier={report.rpartition('/')[2]}",
        "error": "/runs/nobody-ran-this/export/html",
    }.items():
        page.goto(f"{server.url}{path}")
        folded = page.locator("details:not([open]) > summary")
        for _ in range(folded.count()):  # what is opened is no longer among them
            folded.first.click()
        look(page, name)


@in_every_look
def test_a_run_is_watched_to_its_report(server: Server, page: Page) -> None:
    ask(page, server)
    expect(page.locator("#board table tbody tr").first).to_be_visible()
    look(page, "live")
    page.reload()
    expect(page.locator("#log li, .report").first).to_be_attached()
    expect(page.locator(".report")).to_be_visible(timeout=RUN_MS)
    look(page, "report")
    page.locator("#candidates").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#candidates').scrollIntoView()")
    page.screenshot(path=SHOTS / f"report-candidates-{page.evaluate('innerWidth')}.png")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    look(page, "report-opened")
    page.evaluate("document.querySelector('#references').scrollIntoView()")
    nav = page.locator(".report > nav")  # stays in sight and names the section
    expect(nav).to_be_in_viewport()
    expect(nav.locator("a[aria-current]")).to_have_count(1)


def test_candidates_are_filtered_and_tables_sorted(page: Page, report: str) -> None:
    page.goto(report)
    rows = page.locator("#candidates table.overview tbody tr")
    every = rows.count()
    table = page.locator("#candidates table.overview").first
    drugs = table.get_by_role("button", name="drug")
    drugs.click()
    names = [row.locator("th").inner_text() for row in table.locator("tbody tr").all()]
    drugs.click()
    turned = [row.locator("th").inner_text() for row in table.locator("tbody tr").all()]

    assert turned == names[::-1]
    expect(table.locator("th[aria-sort=descending]")).to_have_count(1)
    drug = page.locator("#evidence article h3").first.inner_text().partition(" (")[0]
    page.fill("#filter-words", drug)

    assert names == sorted(names)
    expect(rows.locator("visible=true")).to_have_count(1)
    expect(page.get_by_text(f"1 of {every} candidates shown")).to_be_visible()
    assert page.locator("#evidence article").locator("visible=true").count() == 1
    page.fill("#filter-words", "")
    page.select_option("#filter-certainty", label="moderate or better")
    assert rows.locator("visible=true").count() < every


@in_every_look
def test_a_claim_stands_beside_its_abstract_one_click_away(page: Page, report: str) -> None:
    page.goto(report)
    cite = page.locator("#evidence a[href*='/records/']").first
    cite.click()
    expect(page.locator("#beside mark").first).to_be_in_viewport()
    expect(cite).to_be_in_viewport()
    look(page, "beside")
    page.keyboard.press("Escape")
    expect(page.locator("#beside")).to_be_hidden()
    expect(cite).to_be_focused()


def open_bench(page: Page, report: str) -> None:
    """Open the workbench of a report, and wait for its script."""
    page.goto(f"{report}/workbench")
    expect(page.locator("#sifted")).to_contain_text("rows")


@in_every_look
def test_the_workbench_is_in_order(page: Page, report: str) -> None:
    open_bench(page, report)
    look(page, "workbench")
    expect(page.locator(".drugs .bars").first).to_be_visible()
    page.locator("[data-change]").first.click()
    expect(page.locator(".below .claim button").first).to_be_visible()
    page.locator(".below summary").click()
    look(page, "workbench-row")


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)], ids=str)
def test_the_workbench_fits_its_window(page: Page, report: str, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_bench(page, report)

    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_studies_are_filtered_by_drug_and_stance_and_the_address_says_so(page: Page, report: str) -> None:
    open_bench(page, report)
    rows = page.locator("#study-table tr[data-row]")
    every = rows.count()
    page.locator("#drugs a[data-drug]").first.click()
    drug = page.locator("#sift-drug").input_value()
    own = rows.locator("visible=true")

    expect(page.locator("#h-studies")).to_be_focused()
    assert {row.get_attribute("data-drug") for row in own.all()} == {drug}
    page.select_option("#sift-says", "supports")
    shown = own.count()
    assert {row.get_attribute("data-says") for row in own.all()} == {"supports"}
    expect(page.locator("#sifted")).to_have_text(f"{shown} of {every} rows")
    page.reload()
    expect(page.locator("#sifted")).to_have_text(f"{shown} of {every} rows")


def test_a_row_is_corrected_in_two_clicks_where_it_stands_and_focus_stays(server: Server, page: Page) -> None:
    ask(page, server)
    expect(page.locator(".report")).to_be_visible(timeout=RUN_MS)
    open_bench(page, page.url)
    page.get_by_role("button", name="year").click()
    page.select_option("#sift-says", "supports")
    row = page.locator("#study-table tr[data-row]").locator("visible=true").first
    name = row.get_attribute("data-row")
    row.locator("[data-change]").click()
    claim = page.locator(".below .claim")
    expect(claim.locator("[aria-pressed]")).to_be_focused()
    order = claim.locator("blockquote, button").evaluate_all("parts => parts.map(part => part.tagName)")
    assert order[:2] == ["BLOCKQUOTE", "BUTTON"], "the sentence stands before what it was read as"
    claim.get_by_role("button", name="contradicts").click()
    changed = page.locator(f'#study-table tr[data-row="{name}"]')

    expect(page.locator("#moved")).to_contain_text("now found no benefit (before: found benefit)", timeout=RUN_MS)
    expect(changed).to_have_attribute("data-says", "contradicts")
    expect(page.locator("#sift-says")).to_have_value("supports")
    expect(changed).to_be_hidden()
    expect(page.locator("th[aria-sort]")).to_have_count(1)
    page.select_option("#sift-says", "")
    expect(changed.locator(".flag", has_text="corrected by")).to_be_visible()
    look(page, "workbench-corrected")


def test_the_workbench_goes_by_keys(page: Page, report: str) -> None:
    open_bench(page, report)
    links = page.locator("#study-table td[data-label=study] a")
    links.first.focus()
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#beside .record")).to_be_visible()
    page.keyboard.press("Escape")
    expect(links.nth(1)).to_be_focused()
    page.locator("[data-change]").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".below .claim [aria-pressed]")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("[data-change]").nth(1)).to_be_focused()
    expect(page.locator(".below .claim")).to_have_count(0)


def test_a_file_dropped_anywhere_is_named_in_the_form(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/")
    page.evaluate("""() => {
      const data = new DataTransfer();
      data.items.add(new File(['TY  - JOUR'], 'mine.ris'));
      document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    }""")

    expect(page.locator("#files-named")).to_have_text("mine.ris (1 KB)")
    expect(page.locator("#files")).to_be_focused()
    look(page, "ask-with-a-file")


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)], ids=str)
def test_the_question_its_examples_and_ask_stand_above_the_fold(
    server: Server, page: Page, size: tuple[int, int]
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(server.url)
    for shown in (page.locator("#question"), page.get_by_role("button", name="Ask"), page.locator(".examples")):
        box = shown.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= size[1]


def test_everything_goes_by_keyboard(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    while not page.evaluate("document.activeElement.id === 'question'"):
        page.keyboard.press("Tab")
    page.keyboard.type(QUESTION)
    while not page.evaluate("document.activeElement.tagName === 'BUTTON'"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    while not page.evaluate("document.activeElement.tagName === 'BUTTON'"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume this run")).to_be_visible(timeout=RUN_MS)
    look(page, "report-stopped")


@pytest.mark.parametrize("page", ["desktop", "phone-dark"], indirect=True)
def test_a_person_approves_on_the_page(server: Server, page: Page) -> None:
    ask(page, server, approve=True)
    expect(page.locator("#asked")).to_be_focused(timeout=RUN_MS)
    look(page, "approval")
    page.get_by_role("button", name="All or none").click()
    page.locator("[name=accepted]").first.check()
    page.get_by_role("button", name="Write the report").click()
    expect(page.locator(".report")).to_be_visible(timeout=RUN_MS)

    assert page.locator("#evidence article").count() == 1


def test_an_open_page_goes_on_when_a_killed_server_is_back(browser: Browser, tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    page = browser.new_page()
    ask(page, server)
    server.end(signal.SIGKILL)
    expect(page.locator("#gone")).to_be_visible(timeout=30_000)
    look(page, "gone")
    server.start()
    expect(page.locator(".report")).to_be_visible(timeout=RUN_MS)
    page.close()
    server.end()
