"""Export a report as one self-contained page that loads nothing and runs nothing from a record's text.

The Content-Security-Policy allows the page's own style sheet, by its hash, and pictures that are part of the page:
https://www.w3.org/TR/CSP3/#framework-directive-source-list.
"""

import base64
import hashlib
from html import escape
from importlib import resources

from willowbark.agents.report.forms.html import line, page_html
from willowbark.agents.report.model import ResearchReport


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
