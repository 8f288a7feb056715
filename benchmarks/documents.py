"""How long a report's page and documents are, and whether everybody can read the page; rerun with `make documents`.

Prints the page's height at desktop width as it opens, its pages on paper with everything open, the Word document's
pages as LibreOffice lays them out, and what axe (https://github.com/dequelabs/axe-core) finds in light and dark, folded
and open. Fails where any of it is beyond its bound. Needs a Chromium, as `make screenshots` does; without LibreOffice
(Debian: apt-get install libreoffice-writer-nogui) the Word document's pages are not counted.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from axe_playwright_python.sync_playwright import Axe
from benchmarks.screenshots import ARGUMENTS, HEIGHT, SCHEMES, WIDTHS, browser_path, offline_report
from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfReader

from willowbark.agents.report.model import ResearchReport
from willowbark.teams import exports

QUESTION = "Which existing drugs could prevent migraine attacks?"
CONVERSION_S = 180  # LibreOffice's first start takes most of a minute


class Figure(NamedTuple):
    """One thing measured."""

    what: str
    value: int | None
    """None where it could not be measured."""
    most: int

    def __str__(self) -> str:
        told = "not measured" if self.value is None else f"{self.value:,}"
        return f"{self.what:<46} {told:>12}  (at most {self.most:,})"


def of_page(browser: Browser, page_file: Path, folder: Path) -> Iterator[Figure]:
    """The page's height, its pages on paper, and what axe finds."""
    for scheme in SCHEMES:
        for device, width in WIDTHS.items():
            page = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            if (scheme, device) == ("light", "desktop"):
                yield Figure(
                    f"page, px high at {width} px", page.evaluate("document.documentElement.scrollHeight"), 10_022
                )
                paper = folder / "page.pdf"
                page.pdf(path=paper, format="A4", prefer_css_page_size=True)
                yield Figure("page on paper, pages", len(PdfReader(paper).pages), 15)
            for state in ("folded", "open"):
                if state == "open":
                    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
                found = Axe().run(page)
                yield Figure(f"axe violations, {device}, {scheme}, {state}", found.violations_count, 0)
                nodes = (each["nodes"] for each in found.response["incomplete"] if each["id"] == "color-contrast")
                yield Figure(f"contrast unsettled, {device}, {scheme}, {state}", sum(map(len, nodes)), 0)
            page.close()


def of_word(document: Path, folder: Path) -> Figure:
    """The Word document's pages; None without LibreOffice."""
    office, pages = shutil.which("soffice"), None
    if office:
        command = [office, "--headless", f"-env:UserInstallation={(folder / 'office').as_uri()}", "--convert-to", "pdf"]
        command += ["--outdir", str(folder), str(document)]
        subprocess.run(command, check=True, capture_output=True, timeout=CONVERSION_S)  # noqa: S603
        pages = len(PdfReader(folder / f"{document.stem}.pdf").pages)
    return Figure("Word document, pages", pages, 20)


def main() -> None:
    """Measure a report, print the figures, and fail where one is beyond its bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("report", nargs="?", type=Path, help="a report.json; none: a run over the bundled library")
    parser.add_argument("--question", default=QUESTION)
    arguments = parser.parse_args()
    given: Path | None = arguments.report
    report = ResearchReport.model_validate_json(given.read_bytes()) if given else offline_report(arguments.question)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        page_file, document = exports.write(report, folder, ["html", "docx"])
        browser = playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
        figures = [*of_page(browser, page_file, folder), of_word(document, folder)]
        browser.close()
    print("\n".join(map(str, figures)))
    if beyond := [figure.what for figure in figures if figure.value is not None and figure.value > figure.most]:
        sys.exit(f"beyond its bound: {', '.join(beyond)}")


if __name__ == "__main__":
    main()
