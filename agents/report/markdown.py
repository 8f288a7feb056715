"""The report as Markdown; texts of records are escaped, so none can become markup, a link or a heading."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from willowbark.tools.evidence import SOURCE_TITLES
from willowbark.tools.works.sections import is_full_text

from .model import OTHER_CALLS, DrugCandidate, ReportSection, ResearchReport, TurnUsage

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
        _look_alikes(report),
        _section(report.methodology),
        _account(report.usage),
        "## References",
        "\n".join(_reference(reference, report) for reference in report.references) or "None.",
        f"*Generated {report.generated_at:%Y-%m-%d %H:%M} UTC by Willowbark.*",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(report: ResearchReport) -> str:
    if not report.candidates and report.approval and report.approval.set_aside:
        return "## Candidates\n\nNone: all were set aside before the report was written; see the methodology."
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
    if candidate.in_asked_class is False:
        lines += ["Also found: not known to belong to the class of drugs asked about.", ""]
    if candidate.current_indications:
        lines.append(f"Marketed for: {escaped(', '.join(candidate.current_indications[:8]))}.")
    lines.append(f"Proposed mechanism: {escaped(candidate.proposed_mechanism)}.".replace("..", "."))
    lines += ["", "| stance | claim, with the passage it rests on | reference |", "|---|---|---|"]
    for claim in candidate.claims:
        quote = "" if claim.quote.strip() == claim.text.strip() else f" “{escaped(claim.quote)}”"
        said = f"{escaped(claim.text)}{quote}{_place(claim.section)}"
        lines.append(f"| {claim.stance} | {said} | [{numbers.get(claim.evidence_key, '–')}] |")
    lines += ["", "Certainty: " + " ".join(escaped(step) for step in candidate.certainty_reasons)]
    if candidate.study_limits:
        lines += ["", "What its studies say themselves that limits them:", ""]
    for limit in candidate.study_limits:
        lines.append(f"- “{escaped(limit.quote)}”{_place(limit.section)} [{numbers.get(limit.key, '–')}]")
    return "\n".join(lines)


def _place(section: str | None) -> str:
    """Where a quote stands, after it."""
    if section is None:
        return ""
    return f" *({escaped(section)}{', full text' if is_full_text(section) else ''})*"


def _look_alikes(report: ResearchReport) -> str:
    if not report.look_alikes:
        return ""
    lines = []
    for each in report.look_alikes:
        named = [f"{escaped(title)} ({escaped(key)})" for title, key in zip(each.titles, each.keys, strict=True)]
        authors = f", authors in common: {escaped(', '.join(each.shared_authors))}" if each.shared_authors else ""
        lines.append(f"- {' and '.join(named)}: titles {each.title_score:.0f} % alike{authors}.")
    why = "No identifier joins these records, so they are counted apart; compare them before counting both."
    return "\n".join(["## Possibly the same study", "", why, "", *lines])


def _section(section: ReportSection) -> str:
    return f"## {escaped(section.title)}\n\n{section.content}"


def _account(usage: list[TurnUsage]) -> str:
    """Tokens and cost by agent and round; nothing where no language model was used."""
    if not usage:
        return ""
    rows = []
    for agent in dict.fromkeys(turn.agent for turn in usage):
        own = [turn for turn in usage if turn.agent == agent]
        name = "choice of speakers, answers that were lost" if agent == OTHER_CALLS else escaped(agent)
        rows += [_spent(name, str(turn.iteration or "all"), [turn]) for turn in own]
        rows += [_spent(name, "all", own)] if len(own) > 1 else []
    unknown = any(turn.cost_usd is None for turn in usage)
    note = "\n\nThe model's price is not known: tokens only." if unknown else ""
    head = "| agent | round | tokens in | tokens out | cost |\n|---|---|---|---|---|"
    return "\n".join(["## Tokens and cost", "", head, *rows, _spent("**total**", "all", usage)]) + note


def _spent(name: str, which: str, turns: list[TurnUsage]) -> str:
    prompt, completion = sum(turn.prompt_tokens for turn in turns), sum(turn.completion_tokens for turn in turns)
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    money = f"${sum(costs):.4f}" if len(costs) == len(turns) else "not known"
    return f"| {name} | {which} | {prompt:,} | {completion:,} | {money} |"


def _reference(reference: dict[str, object], report: ResearchReport) -> str:
    if is_database_entry(reference):
        return _database_entry(reference, report)
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
    known = f"{shown}{more} ({reference['date']}). {link}{stop} {reference['key']}{marks}"
    return f"{reference['number']}. {known}{_origin(reference)}"


def is_database_entry(reference: Mapping[str, Any]) -> bool:
    """Whether a reference is a drug or a disease of a database, which has neither authors nor a date of its own."""
    return reference.get("source") in ("chembl", "opentargets")


def _database_entry(reference: Mapping[str, Any], report: ResearchReport) -> str:
    """A database's entry by its name and number there, with the day on which the database last answered."""
    source = str(reference["source"])
    answered = [each.asked_at for each in report.search_log if each.source == source and each.asked_at is not None]
    accessed = f", accessed {max(answered):%Y-%m-%d}" if answered else ""
    title = linked(escaped(str(reference["title"])), str(reference["url"]))
    return f"{reference['number']}. {SOURCE_TITLES[source]}: {title}, database entry{accessed}."


def _origin(reference: dict[str, Any]) -> str:
    """Other versions of a record, and what of its full text was read."""
    said = [
        f" {str(each['relation']).capitalize()}: {linked(escaped(each['title']), each['url'])} ({each['date']})."
        for each in reference.get("versions") or ()
    ]
    if reference.get("published_version"):
        said.append(f" Published since as {escaped(reference['published_version'])}, which was not read.")
    if read := reference.get("full_text"):
        parts = escaped(", ".join(read["sections"]))
        said.append(f" Full text read ({read['pmcid']}, {escaped(read['licence'])}): {parts}.")
    return "".join(said)
