"""The report's sections in sentences: what the records say, how drugs act, how the search went."""

from collections.abc import Iterator, Mapping, Sequence

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import Evidence
from willowbark.tools.questions import Question
from willowbark.tools.questions.kinds import ON_HARM, Kind
from willowbark.tools.records import Trial
from willowbark.tools.wording import counted, listed, tally

from ..asking import PROMPTS_VERSION
from ..asking.claims import Claim
from ..assessment import sources_breakdown
from .content import CURATED, EVENTS_NOTE, NOT_REPORTED, PUBLISHED, PostedResult, ReportSection
from .forms.blocks import Block, Flow, Text, flow, joined, paragraph, points
from .material import Material, References, as_asked, designs_in_words
from .tables import posted_results

MAX_SHOWN_TRIALS = 5  # in sentences; the report's table has all
MAX_CITED = 4  # records behind one drug that are cited
MAX_OTHERS = 20  # names of drugs that no verdict was read for
MAX_PATHWAYS = 3
MAX_TARGETS = 6  # gene symbols in a line; receptor families have dozens
MAX_GROUPS = 8  # groups of serious adverse events in a sentence; the trial's row has all
_KINDS = {
    "peer_reviewed": "peer-reviewed publication",
    "preprints": "preprint",
    "clinical_trials": "registered trial",
    "other": "database entry",
}
_OUTCOMES: Mapping[Kind, str] = {
    "treat": "benefit in those who have it",
    "prevent": "its prevention",
    "harm": "harm caused",
    "avoid": "harm to those who have it",
    "safety": "safety",
    "compare": "benefit, of one against the other",
    "mechanism": "how it acts",
    "status": "approvals and trials",
    "negative": "lack of benefit",
}
_HOW = (
    "Study design, size and direction of effect are read by learned weights, posted results as data; certainty follows "
    "GRADE's steps as far as abstracts and registry entries allow. Confidence in the answer is {confidence}, less 0.1 "
    "for each source that did not answer. Every claim was checked against the record that it quotes."
)
_BY_CERTAINTY = "set by the best candidate's certainty (high 0.9, moderate 0.7, low 0.45, very low 0.2)"
_BY_WHO_SAYS_IT = f"{CURATED} where a label or a drug database says it, {PUBLISHED} where publications alone do"


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
    if not material.asked.asks_what_helps:
        parts = [paragraph("What helps was not asked about."), *_trials(material, references)]
        return ReportSection.of("Clinical findings", parts, references.cited)
    verdicts = [_verdict(candidate, kept, references) for candidate in shown]
    nothing = paragraph(f"No record on {material.topic} speaks for or against an existing drug.")
    first = points(verdicts) if verdicts else nothing
    parts = [first, *_trials(material, references), *_others(material, shown, references)]
    return ReportSection.of("Clinical findings", parts, references.cited)


def _verdict(candidate: Candidate, kept: Sequence[Claim], references: References) -> Flow:
    found = candidate.appraisal
    quoted = [claim.evidence_key for claim in kept if claim.drug.casefold() == candidate.drug]
    sides = [
        _side(candidate.records, keys, word, references)
        for keys, word in ((found.supporting, "for"), (found.contradicting, "against"))
        if keys
    ]
    if leaning := list(found.leaning):
        sides.append(flow(f"{counted(len(leaning), 'record')} read too uncertainly to count", references.cite(leaning)))
    decided = {*found.supporting, *found.contradicting, *leaning}
    undecided = [key for key in quoted if key not in decided]
    if undecided:
        sides.append(flow("quoted without a verdict", references.cite(undecided)))
    level = found.certainty.level.said
    return flow(Text(candidate.drug, "strong"), f" ({level} certainty): ", *joined(sides), ".")


def _side(records: Sequence[AppraisedRecord], keys: Sequence[str], word: str, references: References) -> Flow:
    items = [record.item for record in records if record.key in keys]
    sizes = [item.sample_size for item in items if item.sample_size is not None]
    largest = f", the largest with {max(sizes):,} participants" if len(items) > 1 and sizes else ""
    alone = f", {sizes[0]:,} participants" if len(items) == 1 and sizes else ""
    designs = designs_in_words(item.design for item in items)
    return flow(f"{designs} {word} it{largest}{alone}", references.cite(keys))


def _trials(material: Material, references: References) -> Iterator[Block]:
    on_topic = {r.key for c in material.candidates for r in c.records if r.item.trial_status is not None}
    trials = [record for record in material.pool if record.key in on_topic]
    if trials:
        more = f" (the first {MAX_SHOWN_TRIALS} of {len(trials)})" if len(trials) > MAX_SHOWN_TRIALS else ""
        yield paragraph(f"Registered trials{more}:")
        yield points(_trial(trial, material, references) for trial in trials[:MAX_SHOWN_TRIALS])


def _trial(trial: Evidence, material: Material, references: References) -> Flow:
    said = f"{trial.record.nct_id}: {trial.citation.title} ({'; '.join(_standing(trial))})"
    below = list(posted_lines(posted_results(material.candidates, trial.key)))
    return flow(said, references.cite([trial.key]), *([points(below)] if below else []))


def posted_lines(results: Sequence[PostedResult]) -> Iterator[str]:
    """Posted results of one trial, a sentence a drug, and serious adverse events."""
    for result in results:
        said = f" ({result.sentence})" if result.sentence else ""
        yield f"Posted results, {result.drug}: {result.direction}, {result.reason}{said}"
    if results and (events := results[0].serious_events):
        told = [f"{e.group} {e.affected} of {e.at_risk if e.at_risk is not None else '?'}" for e in events[:MAX_GROUPS]]
        more = "; …" if len(events) > MAX_GROUPS else ""
        yield f"Serious adverse events ({EVENTS_NOTE}): {'; '.join(told)}{more}"


def _standing(trial: Evidence) -> Iterator[str]:
    """A registered trial's status, phase, size and results in words."""
    data = trial.trial or Trial()
    phases = "/".join(phase.removeprefix("PHASE").replace("EARLY_", "early ") for phase in data.phases)
    yield (data.overall_status or f"status {NOT_REPORTED}").replace("_", " ").lower()
    if phases:
        yield f"phase {phases}" if phases != "NA" else "phase not applicable"
    else:
        yield f"phase {NOT_REPORTED}"
    yield counted(data.enrollment, "participant") if data.enrollment is not None else f"enrolment {NOT_REPORTED}"
    yield "results posted" if data.has_results else "no results posted"
    if data.why_stopped:
        yield f"stopped: {data.why_stopped}"


def _others(material: Material, shown: Sequence[Candidate], references: References) -> Iterator[Block]:
    others = [c for c in material.candidates if c not in shown]
    decided = [c for c in others if c.appraisal.supporting or c.appraisal.contradicting]
    if beside := [c for c in decided if c.helps_complications_alone]:
        keys = {c.drug: c.appraisal.supporting for c in beside}
        yield _cited_each(f"Read as helping a complication of {material.topic}, not itself: ", keys, references)
    if further := [
        tally(c.drug, c.appraisal.supporting, c.appraisal.contradicting) for c in decided if c not in beside
    ]:
        yield paragraph(f"Records speak for or against further drugs: {listed(further, most=MAX_OTHERS)}.")
    others = [c for c in others if c not in decided]
    leads = [c for c in others if Direction.supports in c.appraisal.leaning.values()]
    doubts = [c for c in others if c.appraisal.leaning and c not in leads]
    sides = (("Perhaps of help", leads, Direction.supports), ("Perhaps of none", doubts, Direction.contradicts))
    for said, some, side in sides:
        if some:
            keys = {c.drug: _leaning(c, side)[:MAX_CITED] for c in some}
            yield _cited_each(
                f"{said} in {material.topic}, by records read too uncertainly to count: ", keys, references
            )
    if silent := [c.drug for c in others if not c.appraisal.leaning]:
        named = listed(silent, most=MAX_OTHERS)
        said = f"Named in the records on {material.topic}, with no result that could be read and verified: {named}."
        yield paragraph(said)


def _cited_each(said: str, keys: Mapping[str, Sequence[str]], references: References) -> Block:
    """Drugs by name, each with the records behind it."""
    told = (flow(drug, references.cite(cited)) for drug, cited in list(keys.items())[:MAX_OTHERS])
    more = f"; and {len(keys) - MAX_OTHERS} more" if len(keys) > MAX_OTHERS else ""
    return paragraph(said, *joined(told), f"{more}.")


def _leaning(candidate: Candidate, side: Direction) -> list[str]:
    """Keys of the records that lean to one side."""
    return [key for key, leans in candidate.appraisal.leaning.items() if leans is side]


def mechanistic_section(shown: Sequence[Candidate], references: References) -> ReportSection:
    """How each candidate acts, as the drug databases have it."""
    start = len(references.cited)
    lines = []
    for candidate in shown:
        if how := mechanism_of(candidate):
            path = f"; pathways: {', '.join(candidate.pathways[:MAX_PATHWAYS])}" if candidate.pathways else ""
            cited = references.cite(candidate.drug_records)
            lines.append(flow(Text(candidate.drug, "strong"), f": {how}{path}", cited))
    if missing := [candidate.drug for candidate in shown if not candidate.mechanisms]:
        lines.append(flow(f"No drug database at hand gives a mechanism of {listed(missing, most=len(missing))}."))
    block = points(lines) if lines else paragraph("No drug database at hand gives a mechanism of a candidate.")
    return ReportSection.of("Mechanistic findings", [block], references.cited[start:])


def mechanism_of(candidate: Candidate) -> str:
    """Mechanisms of action and targets in a line; empty where none is known."""
    targets = targets_of(candidate)
    how = "; ".join(candidate.mechanisms)
    return f"{how}{f' (targets {targets})' if targets else ''}" if how else ""


def targets_of(candidate: Candidate) -> str:
    """Gene symbols in a line; empty where none is known."""
    return ", ".join(candidate.targets[:MAX_TARGETS])


def methodology_section(material: Material) -> ReportSection:
    """Who searched where, how it was read, who decided; the searches themselves stand in the report's log."""
    said_by = material.asked.kind in (*ON_HARM, "mechanism", "compare")
    how = _HOW.format(confidence=_BY_WHO_SAYS_IT if said_by else _BY_CERTAINTY)
    said = [question_as_read(material.asked), _search(material), _records(material), how, material.approval.sentence]
    aside = [
        f"Set aside: {one.name} ({one.supporting} for, {one.contradicting} against, {one.certainty} certainty)"
        f"{f': {one.reason}' if one.reason else ''}"
        for one in material.approval.set_aside
    ]
    return ReportSection.of("Methodology", [*map(paragraph, said), *([points(aside)] if aside else [])])


def question_as_read(asked: Question) -> str:
    """The question as it was understood: population, intervention, comparator and outcome, in one sentence."""
    named, drugs = (as_asked(name, asked.text) for name in asked.conditions), [*asked.drugs, *asked.drug_classes]
    compared = asked.kind == "compare" and len(drugs) > 1
    left_out = [*asked.excluded_drugs, *asked.excluded_classes]
    wanted = listed(drugs[:1] if compared else drugs) or "any existing drug"
    parts = {
        "population": listed([*named, *asked.people]) or "not named",
        "intervention": f"{wanted}, without {listed(left_out)}" if left_out else wanted,
        "comparator": listed(drugs[1:]) if compared else "any",
        "outcome": _OUTCOMES.get(asked.kind, "not named"),
    }
    return f"The question was read as: {'; '.join(f'{name}: {told}' for name, told in parts.items())}."


def _search(material: Material) -> str:
    where = f"{material.library}, not the public sources," if material.library else "the public sources"
    return (
        f"Specialists for literature, clinical trials and mechanisms searched {where} in "
        f"{counted(material.dossier.iteration, 'round')}; a judge decided after each round whether to go on. "
        f"The search ended because {material.ending}. Analyst: {material.analyst}.{_read_by(material)}"
    )


def _read_by(material: Material) -> str:
    """Which model read what, with which version of the prompts; nothing where rules alone read."""
    if not material.usage:
        return ""
    readings = material.dossier.readings
    if not readings:
        return f" Prompts: version {PROMPTS_VERSION}."
    disputed = sum(bool(record.item.disputed) for candidate in material.candidates for record in candidate.records)
    return (
        f" Publications were read by {listed(sorted({each.version for each in readings}))}; its readings count before "
        f"those of the learned reader, and the two disagree in {counted(disputed, 'place')}."
    )


def _records(material: Material) -> str:
    came = sum(len(reply.records) for reply in material.dossier.replies)
    counts = sources_breakdown(material.pool)
    kinds = [counted(counts[kind], noun) for kind, noun in _KINDS.items() if counts[kind]]
    united = f"{counted(len(material.pool), 'record')} without duplicates"
    return f"{counted(came, 'record')} came in, {united}{f': {listed(kinds)}' if kinds else ''}."
