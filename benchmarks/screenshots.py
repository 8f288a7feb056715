"""What people see: the HTML of a report, phone and desktop width, light and dark, and each face; `make screenshots`.

Writes pictures into build/screenshots/, long pages in pieces, each face's into --faces DIR, and fails where a page
is wider than its window, where an element sticks out of it, or where the
browser complains or asks for more. Needs a Chromium (Debian: apt-get install chromium); another browser of its kind is
named by CHROMIUM=/path.
"""

import argparse
import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Literal

from benchmarks.example_reports import replay_example
from playwright.sync_api import Browser, FloatRect, Page, Request, sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI

from willowbark.agents import exports
from willowbark.agents.report.model import ResearchReport
from willowbark.teams import research
from willowbark.teams.faces.terminal import print_report

QUESTION = "Which existing drugs could help people quit smoking?"
WIDTHS = {"phone": 390, "desktop": 1280}  # px
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
RUN_MS = 180_000  # for a run on a busy machine
HEIGHT = 844  # px of the window; pictures show the whole page
PIECE = 2600  # px of a picture at most
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "01_ask.ipynb"
NOTEBOOK_STYLE = (
    "body{font:14px/1.5 sans-serif;margin:1.5rem;max-width:70rem}"
    "pre{background:#f4f4f4;border:1px solid #ddd;padding:.6rem}"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:.2rem .6rem;border-bottom:1px solid #eee}"
)
STUDIO = Path(__file__).parents[1] / "build" / "studio-shots"  # by `make studio-test`
STUDIO_SHOTS = {
    "playground": STUDIO / "4-playground.png",
    "report": STUDIO / "5-report.png",
    "builder": STUDIO / "3-builder.png",
}
STICKING_OUT = """
() => [...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.scroll') && !e.closest('.hidden, .skip, thead, svg') && e.checkVisibility())
  .map(e => [e, e.getBoundingClientRect()])
  .filter(([_, r]) => r.width > 0 && (r.right > innerWidth + 1 || r.left < -1))
  .map(([e]) => e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 40))
"""


def browser_path() -> str:
    """Where the browser is; leaves with a line where there is none."""
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        sys.exit("no Chromium found: install Debian's chromium, or name one with CHROMIUM=/path")
    return found


def photograph(browser: Browser, page_file: Path, folder: Path, *, opened: bool) -> list[str]:
    """Take the pictures of one page; gives what is wrong with it, a line each."""
    wrong = []
    for device, width in WIDTHS.items():
        for scheme in SCHEMES:
            context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
            page = context.new_page()
            complaints = listening(page)
            page.goto(page_file.as_uri())
            if opened:
                page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            name = f"{page_file.stem}-{device}-{scheme}{'-opened' if opened else ''}"
            wrong += [f"{name}: {line}" for line in [*complaints, *measured(page)]]
            pieces(page, folder, name)
            context.close()
    return wrong


def faces(browser: Browser, report: ResearchReport, folder: Path) -> None:
    """Photograph what each face shows of a report: page, terminal, notebook; Studio's are those of its own test."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, html in (
        ("report", exports.render(report, "html").decode()),
        ("terminal", on_terminal(report)),
        ("notebook", in_notebook(NOTEBOOK)),
    ):
        page = browser.new_page(
            viewport={"width": WIDTHS["desktop"], "height": HEIGHT}
        )  # a report's policy stays with it
        page.set_content(html)
        page.screenshot(path=folder / f"{name}.png")
        page.close()
    in_browser(browser, report.research_question, folder / "page.png")
    for name, shot in STUDIO_SHOTS.items():
        shutil.copy(shot, folder / f"studio-{name}.png")


def picture_report(browser: Browser, report: ResearchReport, picture: Path) -> None:
    """Photograph the first screen of a report's page."""
    page = browser.new_page(viewport={"width": WIDTHS["desktop"], "height": HEIGHT}, device_scale_factor=1)
    page.set_content(exports.render(report, "html").decode())
    page.screenshot(path=picture)
    page.close()


def in_browser(browser: Browser, question: str, picture: Path) -> None:
    """Ask a question on the page that `willowbark serve` shows, and photograph the run when it has ended."""
    with tempfile.TemporaryDirectory() as workspace:
        command = [sys.executable, "-m", "willowbark", "serve", "--offline", "--port", "0"]
        with subprocess.Popen(command, cwd=workspace, stderr=subprocess.PIPE, text=True) as served:  # noqa: S603
            assert served.stderr is not None
            address = served.stderr.readline().split()[2]
            page = browser.new_page(viewport={"width": WIDTHS["desktop"], "height": HEIGHT})
            page.goto(address)
            page.get_by_role("textbox").first.fill(question)
            page.get_by_role("button", name="Ask", exact=True).click()
            page.get_by_role("heading", name="Candidates", exact=True).first.wait_for(timeout=RUN_MS)
            page.screenshot(path=picture)
            page.close()
            served.terminate()


def on_terminal(report: ResearchReport) -> str:
    """The end of a run on a terminal of 110 columns, as a page."""
    console = Console(record=True, width=110, file=io.StringIO(), force_terminal=True, highlight=False, emoji=False)
    console.print(f'$ willowbark ask --offline "{report.research_question}"\n', markup=False)
    print_report(report.to_brief(), console)
    return console.export_html(theme=MONOKAI, inline_styles=True).replace("<body>", '<body style="padding:1rem">')


def in_notebook(path: Path) -> str:
    """The first cells of a notebook with what they gave, as a page."""
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"][:2]
    parts = []
    for cell in cells:
        parts.append(f"<pre>{escape(''.join(cell['source']))}</pre>")
        parts += ["".join(output["data"]["text/html"]) for output in cell["outputs"] if "data" in output]
    return f"<style>{NOTEBOOK_STYLE}</style>{''.join(parts)}"


def listening(page: Page) -> list[str]:
    """What the browser complains of and asks for from now on; filled as it happens."""
    heard: list[str] = []

    def asked(request: Request) -> None:
        if not request.is_navigation_request():
            heard.append(f"asks for {request.url}")

    page.on("console", lambda message: heard.append(message.text))
    page.on("request", asked)
    return heard


def measured(page: Page) -> list[str]:
    """What sticks out, is cut or overlaps."""
    width, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    found = [f"page of {width} px in a window of {window}"] if width > window else []
    return found + [f"sticks out: {line}" for line in page.evaluate(STICKING_OUT)]


def pieces(page: Page, folder: Path, name: str) -> None:
    """Photograph the whole page, in pieces from top to bottom."""
    width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    for number, top in enumerate(range(0, height, PIECE), 1):
        clip = FloatRect(x=0, y=top, width=width, height=min(PIECE, height - top))
        page.screenshot(path=folder / f"{name}-{number:02}.png", full_page=True, clip=clip)


def main() -> None:
    """Take the pictures and tell what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("reports", nargs="*", type=Path, help="report.json files; none: a run over the bundled library")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--out", type=Path, default=Path("build/screenshots"))
    parser.add_argument("--faces", type=Path, help="folder for a picture of each face")
    parser.add_argument("--example", type=Path, help="file for a picture of the recorded example, and nothing else")
    parser.add_argument("--opened", action="store_true", help="with every quote open")
    arguments = parser.parse_args()
    if arguments.example:
        report = asyncio.run(replay_example())
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            picture_report(browser, report, arguments.example)
            browser.close()
        return
    reports = {path.stem: ResearchReport.model_validate_json(path.read_text("utf-8")) for path in arguments.reports}
    reports = reports or {"report": asyncio.run(research(arguments.question, offline=True))}
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
        for name, report in reports.items():
            page_file = (folder / f"{name}.html").absolute()
            page_file.write_bytes(exports.render(report, "html"))
            wrong += photograph(browser, page_file, folder, opened=arguments.opened)
        if arguments.faces:
            faces(browser, next(iter(reports.values())), arguments.faces)
        browser.close()
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
