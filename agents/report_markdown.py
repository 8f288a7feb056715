"""The report as Markdown; texts of records are escaped, so none can become markup, a link or a heading."""

import re
from urllib.parse import urlsplit

from .report import DrugCandidate, ReportSection, ResearchReport

LINKED_HOSTS = frozenset(
    {
        "pubmed.ncbi.nlm.nih.gov",
        "clinicaltrials.gov",
        "europepmc.org",
        "www.ebi.ac.uk",
        "platform.opentargets.org",
        "doi.org",
    }
)
"""Hosts that a report links to: the sources' public pages."""

_SPECIAL = re.compile(r"([\\`*\[\]|]|<(?=[A-Za-z/!?])|:(?=//)|(?<!\w)_|_(?!\w)|^(?=[#>+-]))")


def escaped(text: str) -> str:
    """A record's text in one line, without live markup.

    >>> escaped("p<0.001 | <b>bold</b> [x](y)")
    'p<0.001 \\\\| \\\\<b>bold\\\\</b> \\\\[x\\\\](y)'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def linked(text: str, url: str) -> str:
    """A link to one of the sources' pages; the bare text where the address is anything else."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname in LINKED_HOSTS and not re.search(r"[\s<>()\"']", url):
        return f"[{text}]({url})"
    return text


def as_markdown(report: ResearchReport) -> str:
    """The whole report."""
    numbers = {str(reference["key"]): int(reference["number"]) for reference in report.references}
    parts = [
        f"# {escaped(report.title)}",
        f"> {report.disclaimer}",
        f"**Question.** {escaped(report.research_question)}",
        f"**Summary.** {escaped(report.executive_summary)}",
        f"Confidence {report.confidence_score:.2f} · search rounds: {report.search_iterations} · "
        f"records read: {report.total_papers_reviewed} · stopped: {report.stop_reason.replace('_', ' ')} · "
        f"claims kept {report.claims_kept}, repaired {report.claims_repaired}, dropped {report.claims_dropped}",
        _table(report),
        *(_candidate(candidate, numbers) for candidate in report.candidates),
        _section(report.clinical_findings),
        _section(report.mechanistic_findings),
        "## Conclusion",
        escaped(report.conclusion),
        "## Limitations",
        "\n".join(f"- {escaped(line)}" for line in report.limitations),
        _section(report.methodology),
        "## References",
        "\n".join(_reference(reference) for reference in report.references) or "None.",
        f"*Generated {report.generated_at:%Y-%m-%d %H:%M} UTC by Willowbark.*",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(report: ResearchReport) -> str:
    if not report.candidates:
        return "## Candidates\n\nNone: no existing drug has evidence here that could be verified."
    rows = [
        f"| {escaped(c.name)} | {c.evidence_quality} | {c.certainty} | {len(c.supporting_citations)} | "
        f"{len(c.contradicting_citations)} | {escaped(c.clinical_status)} | {escaped(c.mechanism)} |"
        for c in report.candidates
    ]
    head = "| drug | evidence | certainty | for | against | status | mechanism |\n|---|---|---|---|---|---|---|"
    return "\n".join(["## Candidates", "", head, *rows])


def _candidate(candidate: DrugCandidate, numbers: dict[str, int]) -> str:
    lines = [f"### {escaped(candidate.name)}", ""]
    if candidate.current_indications:
        lines.append(f"Marketed for: {escaped(', '.join(candidate.current_indications[:8]))}.")
    lines.append(f"Proposed mechanism: {escaped(candidate.proposed_mechanism)}.".replace("..", "."))
    lines += ["", "| stance | claim, with the passage it rests on | reference |", "|---|---|---|"]
    for claim in candidate.claims:
        quote = "" if claim.quote.strip() == claim.text.strip() else f" “{escaped(claim.quote)}”"
        lines.append(f"| {claim.stance} | {escaped(claim.text)}{quote} | [{numbers.get(claim.evidence_key, '–')}] |")
    lines += ["", "Certainty: " + " ".join(escaped(step) for step in candidate.certainty_reasons)]
    return "\n".join(lines)


def _section(section: ReportSection) -> str:
    return f"## {escaped(section.title)}\n\n{section.content}"


def _reference(reference: dict[str, object]) -> str:
    authors = reference["authors"]
    assert isinstance(authors, list)
    shown = ", ".join(escaped(str(author)) for author in authors[:3]) or "No authors listed"
    more = " et al." if len(authors) > 3 else ""
    flags = reference.get("flags") or []
    assert isinstance(flags, list)
    marks = f" **[{', '.join(flags)}]**" if flags else ""
    title = str(reference["title"])
    stop = "" if title.endswith((".", "?", "!", "…")) else "."
    link = linked(escaped(title), str(reference["url"]))
    return f"{reference['number']}. {shown}{more} ({reference['date']}). {link}{stop} {reference['key']}{marks}"
