"""The report's sections in sentences: what the records say, how the drugs act, how the search went."""

from collections import Counter
from collections.abc import Iterator, Sequence

from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import SOURCE_TITLES, Evidence
from willowbark.tools.search import SourceReply, Status

from ..claims import Claim
from ..judge import sources_breakdown
from .drug_candidates import mechanism_of
from .markdown import escaped
from .material import Material
from .model import NOT_REPORTED, ReportSection
from .posted_results import posted_lines, posted_results
from .references import References
from .wording import counted, designs_in_words, listed

MAX_SHOWN_TRIALS = 12  # in sentences; the report's table has all
MAX_OTHERS = 20  # names of drugs that no verdict was read for
MAX_PATHWAYS = 3
QUERIES = "Searches: "  # what the part of the methodology begins with that lists them
_KINDS = {
    "peer_reviewed": "peer-reviewed publication",
    "preprints": "preprint",
    "clinical_trials": "registered trial",
    "other": "database entry",
}
_HOW = (
    "Study design, size and direction of effect are read by rules; certainty follows GRADE's steps as far as abstracts "
    "and registry entries allow. Confidence in the answer is set by the best candidate's certainty (high 0.9, moderate "
    "0.7, low 0.45, very low 0.2), less 0.1 for each source that did not answer. Every claim was checked against the "
    "record that it quotes."
)


def clinical_section(
    material: Material, shown: Sequence[Candidate], kept: Sequence[Claim], references: References
) -> ReportSection:
    """What speaks for and against each candidate, by design; the passages themselves stand with the candidates.

    Args:
        material: what the report is made of.
        shown: the candidates of the report.
        kept: the verified claims, whose records are cited.
        references: takes the citations.
    """
    lines = [_verdict(candidate, kept, references) for candidate in shown]
    if not lines:
        lines = [f"No record on {material.topic} speaks for or against an existing drug."]
    parts = ["\n".join(lines), "\n".join(_trials(material, references)), _others(material, shown)]
    return ReportSection(
        title="Clinical findings", content="\n\n".join(filter(None, parts)), citations=references.cited
    )


def _verdict(candidate: Candidate, kept: Sequence[Claim], references: References) -> str:
    found = candidate.appraisal
    quoted = [claim.evidence_key for claim in kept if claim.drug.casefold() == candidate.drug]
    sides = [
        _side(candidate.records, keys, word, references)
        for keys, word in ((found.supporting, "for"), (found.contradicting, "against"))
        if keys
    ]
    decided = {*found.supporting, *found.contradicting}
    undecided = [key for key in quoted if key not in decided]
    if undecided:
        sides.append(f"quoted without a verdict {references.cite(undecided)}")
    level = found.certainty.level.value.replace("_", " ")
    return f"- **{escaped(candidate.drug)}** ({level} certainty): {'; '.join(sides)}."


def _side(records: Sequence[AppraisedRecord], keys: Sequence[str], word: str, references: References) -> str:
    items = [record.item for record in records if record.key in keys]
    sizes = [item.sample_size for item in items if item.sample_size is not None]
    largest = f", the largest with {max(sizes):,} participants" if len(items) > 1 and sizes else ""
    alone = f", {sizes[0]:,} participants" if len(items) == 1 and sizes else ""
    return f"{designs_in_words(item.design for item in items)} {word} it{largest}{alone} {references.cite(keys)}"


def _trials(material: Material, references: References) -> Iterator[str]:
    on_topic = {r.key for c in material.candidates for r in c.records if r.item.trial_status is not None}
    trials = [record for record in material.pool if record.key in on_topic]
    if trials:
        more = f" (the first {MAX_SHOWN_TRIALS} of {len(trials)})" if len(trials) > MAX_SHOWN_TRIALS else ""
        yield f"Registered trials{more}:\n"
    for trial in trials[:MAX_SHOWN_TRIALS]:
        title, data = escaped(trial.citation.title), trial.metadata
        yield f"- {data.get('nct_id')}: {title} ({'; '.join(_standing(trial))}) {references.cite([trial.key])}"
        yield from posted_lines(posted_results(material.candidates, trial.key))


def _standing(trial: Evidence) -> Iterator[str]:
    """A registered trial's status, phase, size and results in words."""
    data = trial.metadata
    phases = "/".join(str(p).removeprefix("PHASE").replace("EARLY_", "early ") for p in data.get("phases", ()))
    yield str(data.get("overall_status") or f"status {NOT_REPORTED}").replace("_", " ").lower()
    if phases:
        yield f"phase {phases}" if phases != "NA" else "phase not applicable"
    else:
        yield f"phase {NOT_REPORTED}"
    enrollment = data.get("enrollment")
    yield counted(enrollment, "participant") if isinstance(enrollment, int) else f"enrolment {NOT_REPORTED}"
    yield "results posted" if data.get("has_results") else "no results posted"
    if data.get("why_stopped"):
        yield f"stopped: {escaped(str(data['why_stopped']))}"


def _others(material: Material, shown: Sequence[Candidate]) -> str:
    others = [escaped(c.drug) for c in material.candidates if c not in shown]
    if not others:
        return ""
    named = listed(others, most=MAX_OTHERS)
    return (
        f"Named in the records on {escaped(material.topic)}, with no result that could be read and verified: {named}."
    )


def mechanistic_section(shown: Sequence[Candidate], references: References) -> ReportSection:
    """How each candidate acts, as the drug databases have it."""
    start = len(references.cited)
    lines = []
    for candidate in shown:
        if how := mechanism_of(candidate):
            path = f"; pathways: {', '.join(candidate.pathways[:MAX_PATHWAYS])}" if candidate.pathways else ""
            lines.append(f"- **{candidate.drug}**: {how}{path} {references.cite(candidate.drug_records)}")
    if missing := [candidate.drug for candidate in shown if not candidate.mechanisms]:
        lines.append(f"- No mechanism was found for {listed(missing, most=len(missing))}.")
    text = "\n".join(lines) or "No mechanism of a candidate was found."
    return ReportSection(title="Mechanistic findings", content=text, citations=references.cited[start:])


def methodology_section(material: Material) -> ReportSection:
    """Who searched where, how it was read, and each query with what the sources gave."""
    paragraphs = [
        _search(material), _records(material), _HOW, *_approval(material), *_queries(material.dossier.replies)
    ]  # fmt: skip
    return ReportSection(title="Methodology", content="\n\n".join(paragraphs))


def _search(material: Material) -> str:
    where = (
        "Willowbark's sandbox, a bundled library that speaks the sources' protocols on this machine,"
        if material.sandboxed
        else "the public sources"
    )
    return (
        f"Specialists for literature, clinical trials and mechanisms searched {where} in "
        f"{counted(material.dossier.iteration, 'round')}; a judge decided after each round whether to go on. "
        f"The search ended because {material.ending}. Analyst: {material.analyst}."
    )


def _approval(material: Material) -> Iterator[str]:
    """Who decided on the candidates before the report was written, and what was set aside."""
    approval = material.approval
    yield approval.sentence
    if approval.set_aside:
        yield "\n".join(
            f"- Set aside: {escaped(one.name)} ({one.supporting} for, {one.contradicting} against, {one.certainty} "
            f"certainty){f': {escaped(one.reason)}' if one.reason else ''}"
            for one in approval.set_aside
        )


def _records(material: Material) -> str:
    came = sum(len(reply.records) for reply in material.dossier.replies)
    counts = sources_breakdown(material.pool)
    kinds = [counted(counts[kind], noun) for kind, noun in _KINDS.items() if counts[kind]]
    united = f"{counted(len(material.pool), 'record')} without duplicates"
    return f"{counted(came, 'record')} came in, {united}{f': {listed(kinds)}' if kinds else ''}."


def _queries(replies: Sequence[SourceReply]) -> Iterator[str]:
    """One row a query: what one source was asked, others often were too."""
    if not replies:
        return
    answers: dict[str, list[SourceReply]] = {}
    for reply in replies:
        answers.setdefault(reply.query, []).append(reply)
    queries = "1 query" if len(answers) == 1 else f"{len(answers)} queries"
    yield f"{QUERIES}{len(replies)}, with {queries}. Records taken of records found:"
    rows = [f"| `{_code(query)}` | {'; '.join(_answers(given))} |" for query, given in answers.items()]
    yield "\n".join(["| query | answers |", "|---|---|", *rows])


def _answers(replies: Sequence[SourceReply]) -> Iterator[str]:
    times = Counter(reply.source for reply in replies)
    for reply in {reply.source: reply for reply in replies}.values():
        title = SOURCE_TITLES.get(reply.source, reply.source)
        again = f", asked {times[reply.source]} times" if times[reply.source] > 1 else ""
        yield f"{title}: {_outcome(reply)}{again}"


def _outcome(reply: SourceReply) -> str:
    if reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY):
        return reply.status.value.replace("_", " ")
    return f"{len(reply.records)} of {reply.total}" if reply.total else "nothing"


def _code(query: str) -> str:
    """A query as it stands between backticks in a table."""
    return " ".join(query.replace("|", " ").replace("`", "'").split())
