"""The report's findings in sentences: further drugs, mechanisms, status and harms, the methods.

Status and harms are quoted or counted; nothing is weighed against benefit or recommended.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from willowbark.tools.appraisal.appraised import list_condition_names
from willowbark.tools.appraisal.candidates import Candidate, get_drug, split_label
from willowbark.tools.appraisal.harms import NOT_PATIENTS, list_harm_sentences
from willowbark.tools.appraisal.posted import SeriousEvents
from willowbark.tools.lexicon import find_withdrawal
from willowbark.tools.lexicon.matching import stems
from willowbark.tools.questions import speaks_of
from willowbark.tools.questions.kinds import ON_HARM
from willowbark.tools.reading.screening import readable, set_aside
from willowbark.tools.reading.sections import get_whole_reason
from willowbark.tools.reading.text import sentences
from willowbark.tools.records import Drug, DrugApproval, Label
from willowbark.tools.records.enclosure import visible
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import kind_of, title_of
from willowbark.tools.sources.drugs.drug_record import signalled, warned
from willowbark.tools.wording import counted, listed, short

from ..asking import PROMPTS_VERSION
from .content import BATCHED_TEXTS, CURATED, PUBLISHED, TEXTS
from .forms.blocks import Section
from .material import Material
from .texts import ReportStatement

MAX_PATHWAYS = 3
MAX_TARGETS = 6  # gene symbols in a line; receptor families have dozens
MOST_QUOTED = 2  # sentences of each kind
MOST_GROUPS = 6  # trial groups with serious adverse events
MOST_TRIALS = 3
LONGEST = 200  # characters of a drug's warning
_USES = ("Indications and usage",)
_WARNINGS = ("Contraindications", "Boxed warning", "Warnings", "Pregnancy")
_KINDS = {
    "peer_reviewed": "peer-reviewed publication",
    "preprints": "preprint",
    "clinical_trials": "registered trial",
    "other": "database entry",
}


def list_further_drugs(material: Material) -> list[ReportStatement]:
    """Tell of drugs that are not candidates, by their readings."""
    others = [c for c in material.candidates if c not in material.detailed]
    rows = [(c, list_studies_of(c), material.places[c.drug]) for c in others]
    telling = [row for row in rows if row[1] or row[2].place == "standard"]
    silent = [c.drug for c, keys, place in rows if not keys and place.place != "standard"]
    data = {
        "m": material,
        "rows": telling,
        "silent": listed(silent, most=len(silent)),
    }
    return [ReportStatement("findings", "further", data)]


def list_studies_of(candidate: Candidate) -> list[str]:
    """List the records that compared a drug in the condition, those with a verdict first."""
    appraisal = candidate.appraisal
    return [*appraisal.contradicting, *appraisal.supporting, *appraisal.missed, *appraisal.inconclusive]


def describe_mechanisms(material: Material) -> list[ReportStatement]:
    """Tell of each candidate's mechanism by the drug databases."""
    rows = [(c, describe_mechanism(c), ", ".join(c.pathways[:MAX_PATHWAYS])) for c in material.detailed]
    unknown = [c.drug for c, how, _ in rows if not how]
    looked_up = [drug for drug in unknown if drug in material.looked_up]
    skipped = [drug for drug in unknown if drug not in material.looked_up]
    data = {
        "known": [(c.drug, how, pathways, c.drug_records) for c, how, pathways in rows if how],
        "missing": listed(looked_up, most=len(rows)),
        "skipped": listed(skipped, most=len(rows)),
    }
    return [ReportStatement("findings", "mechanistic", data)]


def describe_mechanism(candidate: Candidate) -> str:
    """Return mechanisms of action and targets in a line; empty if none is known."""
    targets = ", ".join(candidate.targets[:MAX_TARGETS])
    how = "; ".join(candidate.mechanisms)
    return f"{how}{f' (targets {targets})' if targets else ''}" if how else ""


def describe_safety(material: Material) -> list[ReportStatement]:
    """Tell each candidate's status and harms."""
    entries = dict[str, list[Evidence]]()
    for record in material.pool:
        if drug := get_drug(record):
            entries.setdefault(drug, []).append(record)
    quoted = dict[str, str]()
    statements = list[ReportStatement]()
    silent = list[str]()
    for candidate in material.detailed:
        drug = candidate.drug
        records = entries.get(drug, [])
        reporting, quotes = _find_harms(candidate, material, quoted)
        quoted = {sentence: drug for sentence, _ in quotes} | quoted
        data: dict[str, Any] = {
            **_summarise_entries(records),
            "withdrawn": find_withdrawal(drug),
            "label": _quote_label(records, drug, material),
            "events": _list_serious_events(candidate)[:MOST_TRIALS],
            "reporting": reporting,
            # A sentence that names several drugs is quoted at the first of them, and referred to at the others.
            "quotes": [(text if quoted[text] == drug else "", quoted[text], key) for text, key in quotes],
        }
        if not any(data.values()):
            silent.append(drug)
            continue
        section = Section(drug, f"safety-{len(statements) + 1}", (), _mark_harms(records, data), "folded")
        statements.append(ReportStatement("safety", "drug", {"d": data}, section))
    intro = ReportStatement("safety", "intro", {"silent": listed(silent, most=len(silent))})
    return [intro, *statements]


def _summarise_entries(records: Sequence[Evidence]) -> dict[str, Any]:
    """Summarise what agencies and drug databases say: approvals, first year, warnings, signals of harm."""
    approvals = []
    years = []
    warnings: list[tuple[str, str]] = []
    signals: list[tuple[str, str]] = []
    for record in records:
        entry = record.record
        if isinstance(entry, DrugApproval):
            approvals.append((record.key, entry, _name_product(entry)))
        if isinstance(entry, Drug):
            if entry.first_approval:
                years.append((entry.first_approval, title_of(record.citation.source), record.key))
            if entry.warnings:
                warnings.append(("; ".join(map(warned, entry.warnings)), record.key))
            if entry.signals:
                signals.append((", ".join(map(signalled, entry.signals)), record.key))
    return {
        "approvals": approvals,
        "year": min(years, default=()),
        "warnings": next(iter(warnings), ()),
        "signals": next(iter(signals), ()),
    }


def _list_serious_events(candidate: Candidate) -> list[tuple[str, str]]:
    """List the trials that posted serious adverse events: key, and counts by group in a line."""
    lines = []
    for record in candidate.records:
        if record.posted and record.posted.serious_events:
            counts = [count_events(event) for event in record.posted.serious_events]
            lines.append((record.key, listed(counts, most=MOST_GROUPS)))
    return lines


def _mark_harms(records: Sequence[Evidence], data: Mapping[str, Any]) -> str:
    """Name the gravest harms beside a drug's heading; empty if there are none."""
    kinds: set[str] = set()
    for record in records:
        if isinstance(record.record, Drug):
            kinds |= {warning["kind"] for warning in record.record.warnings}
    marks = {
        "withdrawn": data["withdrawn"] or "withdrawn" in kinds,
        "boxed warning": (data["label"] or {}).get("boxed") or "boxed warning" in kinds,
    }
    return ", ".join(mark for mark, is_set in marks.items() if is_set)


def _name_product(approval: DrugApproval) -> str:
    """Name the product approved first by its number and brand."""
    for first in approval.applications:
        if first.get("approved") == approval.first_approved:
            return ", ".join(str(first[name]) for name in ("number", "brand") if name in first)
    return ""


def count_events(group: SeriousEvents) -> str:
    """Format a group with its participants with a serious adverse event, out of all if their number is reported."""
    return f"{group.group} {group.affected}{'' if group.at_risk is None else f' of {group.at_risk}'}"


def _quote_label(records: Sequence[Evidence], drug: str, material: Material) -> dict[str, Any] | None:
    record = next((readable(record) for record in records if isinstance(record.record, Label)), None)
    label = record.record if record else None
    if record is None or not isinstance(label, Label):
        return None
    sections = split_label(record)
    others = [candidate.drug for candidate in material.shown]
    rivals = [mention for mention in label.named_drugs if mention["drug"] in others and mention["drug"] != drug]
    clean = []
    for rival in rivals:
        sentence = visible(set_aside(rival["sentence"])).strip()
        clean.append((rival["drug"], sentence, rival["heading"]))
    return {
        "key": record.key,
        "people": " or ".join(filter(None, (material.asked.population, short(material.topic)))),
        "boxed": sentences(sections.get("Boxed warning", ""))[:MOST_QUOTED],
        "uses": list(_quote_sections(sections, _USES, material))[:MOST_QUOTED],
        "warnings": list(_quote_sections(sections, _WARNINGS, material))[:MOST_QUOTED],
        "contraindications": sections.get("Contraindications", ""),
        "interactions": [sentence for sentence in clean if sentence[1]][: 2 * MOST_QUOTED],
    }


def _quote_sections(
    sections: Mapping[str, str], headings: Sequence[str], material: Material
) -> Iterator[tuple[str, str]]:
    """Yield sentences under these headings on the people or the condition asked about, each with its heading."""
    population = material.asked.population
    conditions = [frozenset(stems(name)) for name in list_condition_names(material.asked)]
    for heading in headings:
        for sentence in sentences(sections.get(heading, "")):
            words = frozenset(stems(sentence))
            on_people = population and (
                speaks_of(sentence, population) or (population == "pregnancy" and heading == "Pregnancy")
            )
            if on_people or (heading != "Pregnancy" and any(name <= words for name in conditions)):
                yield sentence, heading


def _find_harms(
    candidate: Candidate, material: Material, quoted: Mapping[str, str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the keys of publications on patients that report harm, and sentences on harm with their records' keys.

    Sentences of publications that report harm come first, then by number of participants; of each publication one that
    is not `quoted` for another drug, if there is any.
    """
    papers = (record for record in candidate.records if kind_of(material.records[record.key]) == "publication")
    clinical = [paper for paper in papers if paper.reading.design not in NOT_PATIENTS]
    reporting = [paper.key for paper in clinical if paper.reading.does_harm]
    quotes = list[tuple[str, str]]()
    for paper in sorted(clinical, key=lambda paper: (paper.key not in reporting, -(paper.item.sample_size or 0))):
        every = list_harm_sentences(material.records[paper.key], candidate.drug)
        if every and len(quotes) < MOST_QUOTED:
            quotes.append((next((sentence for sentence in every if sentence not in quoted), every[0]), paper.key))
    return reporting, quotes


def describe_methods(material: Material) -> list[ReportStatement]:
    """Tell the methods: sources, reading, decisions; the report's log lists the searches."""
    seconds: list[tuple[str | None, str]] = []  # the second reader's direction, and the one that counts
    for candidate in material.candidates:
        seconds += [(record.item.second_reader, record.item.direction.value) for record in candidate.records]
    numbers = [counted(material.counts[kind], noun) for kind, noun in _KINDS.items() if material.counts[kind]]
    data = {
        "m": material,
        "found": sum(len(reply.records) for reply in material.dossier.replies),
        "kinds": listed(numbers),
        "by_source": (CURATED, PUBLISHED) if material.asked.kind in (*ON_HARM, "mechanism", "compare") else None,
        "differ": sum(second not in (None, first) for second, first in seconds),
        "prompts": PROMPTS_VERSION,
        "texts": _count_whole_texts(material),
    }
    return [ReportStatement("findings", "methodology", data)]


def _count_whole_texts(material: Material) -> dict[str, Any] | None:
    """Count the full texts that a model was shown whole: why, in how many prompts, at which price; None without any."""
    turns = [findings.whole_texts for findings in material.dossier.in_order]
    prompts = sum(turn.prompts for turn in turns)
    if not prompts:
        return None
    reasons = Counter(filter(None, map(get_whole_reason, material.pool)))
    costs = [turn.cost_usd for turn in material.usage if turn.agent in (TEXTS, BATCHED_TEXTS)]
    is_priced = costs and None not in costs
    return {
        "publications": sum(turn.publications for turn in turns),
        "reasons": listed([f"{reason}: {number}" for reason, number in reasons.most_common()]),
        "characters": sum(turn.characters for turn in turns),
        "prompts": prompts,
        "tokens": sum(sum(turn.tokens) for turn in turns),
        "in_batch": sum(sum(turn.batch_tokens) for turn in turns),
        "cost": f"{sum(cost or 0.0 for cost in costs):.4f}" if is_priced else None,
    }
