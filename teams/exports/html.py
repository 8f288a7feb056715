"""Export a report as one self-contained page that loads nothing and runs nothing from a record's text; and as PDF.

The Content-Security-Policy allows the page's own style sheet, by its hash, and pictures that are part of the page:
https://www.w3.org/TR/CSP3/#framework-directive-source-list. The PDF is that page, printed by an installed Chromium: no
library lays it out as well, and the closest ones need system libraries themselves.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
from html import escape
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from willowbark.agents.report.forms.html import line, page_html
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import UsageError

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_LONGEST_S = 120.0  # for printing
_FLAGS = (
    "--headless --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--no-pdf-header-footer"
).split()


def as_html(report: ResearchReport) -> bytes:
    """Export as a page in UTF-8."""
    document = report.to_tree()
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Willowbark">
<title>{escape(line(document.title))}</title>
<style>{style}</style>
</head>
<body>
{page_html(document)}
</body>
</html>
"""
    return page.encode(errors="replace")


def as_pdf(report: ResearchReport) -> bytes:
    """Export as PDF; the same report gives the same bytes.

    Raises:
        UsageError: no Chromium was found, or it failed.
    """
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise UsageError("pdf needs Chromium or Chrome: install one, or name it with the variable CHROMIUM")
    with TemporaryDirectory() as folder:
        page, printed = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_bytes(as_html(report))
        unboxed = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()  # required for root
        command = [browser, *_FLAGS, *unboxed, f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}"]
        try:
            subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=_LONGEST_S)  # noqa: S603
            content = printed.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"pdf: {browser} did not print the report ({type(error).__name__})") from None
    when = f"D:{report.generated_at:%Y%m%d%H%M%S}".encode()
    return re.sub(rb"(?<=Date \()D:\d{14}", when, content)  # same length as the time of printing
