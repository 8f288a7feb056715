"""Export a report as PDF, by printing its page with an installed Chromium.

No library lays out this page as well, and the closest ones need system libraries themselves.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import UsageError

from .html import as_html

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_LONGEST_S = 120.0
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-pdf-header-footer",
)


def as_pdf(report: ResearchReport) -> bytes:
    """Export as PDF; the same report gives the same bytes.

    Raises:
        UsageError: no Chromium was found, or it failed.
    """
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
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
