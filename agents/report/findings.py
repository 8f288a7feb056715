"""The report's findings in sentences: further drugs, mechanisms, status and harms, the methods.

Status and harms are quoted or counted; nothing is weighed against benefit or recommended.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from willowbark.tools.appraisal.appraised import condition_names
from willowbark.tools.appraisal.candidates import Candidate, drug_of, label_sections
from willowbark.tools.appraisal.harms import NOT_PATIENTS, harm_sentences
from willowbark.tools.appraisal.posted import SeriousEvents
from willowbark.tools.lexicon import withdrawal_of
from willowbark.tools.lexicon.matching import stems
from willowbark.tools.questions import speaks_of
from willowbark.tools.questions.kinds import ON_HARM
from willowbark.tools.reading.screening import readable, set_aside
from willowbark.tools.reading.sections import why_whole
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
from .texts import Said

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


def further_drugs(material: Material) -> list[Said]:
    """Tell of drugs that are not candidates, by their readings."""
    others = [c for c in material.candidates if c not in material.detailed]
    found = [(c, counted_studies(c), material.places[c.drug]) for c in others]
    told = [each for each in found if each[1] or each[2].place == "standard"]
    silent = [c.drug for c, keys, place in found if not keys and place.place != "standard"]
    data = {
        "m": material,
        "rows": told,
        "silent": listed(silent, most=len(silent)),
    }
    return [Said("findings", "further", data)]


def counted_studies(candidate: Candidate) -> list[str]:
    """List the records that compared a drug in the condition, those with a verdict first."""
    found = candidate.appraisal
    return [*found.contradicting, *found.supporting, *found.missed, *found.inconclusive]


def mechanisms_found(material: Material) -> list[Said]:
    """Tell of each candidate's mechanism by the drug databases."""
    told = [(c, mechanism_of(c), ", ".join(c.pathways[:MAX_PATHWAYS])) for c in material.detailed]
    unknown = [c.drug for c, how, _ in told if not how]
    looked_up = [drug for drug in unknown if drug in material.looked_up]
    skipped = [drug for drug in unknown if drug not in material.looked_up]
    data = {
        "known": [(c.drug, how, pathways, c.drug_records) for c, how, pathways in told if how],
        "missing": listed(looked_up, most=len(told)),
        "skipped": listed(skipped, most=len(told)),
    }
    return [Said("findings", "mechanistic", data)]


def mechanism_of(candidate: Candidate) -> str:
    """Return mechanisms of action and targets in a line; empty if none is known."""
    targets = ", ".join(candidate.targets[:MAX_TARGETS])
    how = "; ".join(candidate.mechanisms)
    return f"{how}{f' (targets {targets})' if targets else ''}" if how else ""


def safety(material: Material) -> list[Said]:
    """Tell each candidate's status and harms."""
    entries = dict[str, list[Evidence]]()
    for record in material.pool:
        if drug := drug_of(record):
            entries.setdefault(drug, []).append(record)
    quoted = dict[str, str]()
    told = list[Said]()
    silent = list[str]()
    for candidate in material.detailed:
        drug = candidate.drug
        records = entries.get(candidate.drug, [])
        drugs = [(each.key, each.citation.source, each.record) for each in records if isinstance(each.record, Drug)]
        reporting, quotes = _harms_of(candidate, material, quoted)
        quoted = {sentence: drug for sentence, _ in quotes} | quoted
        warned_of = {warning["kind"] for _, _, entry in drugs for warning in entry.warnings}
        data: dict[str, Any] = {
            "approvals": [(r.key, a, _product(a)) for r in records if isinstance(a := r.record, DrugApproval)],
            "year": min(((e.first_approval, title_of(s), key) for key, s, e in drugs if e.first_approval), default=()),
            "withdrawn": withdrawal_of(drug),
            "warnings": next((("; ".join(map(warned, e.warnings)), key) for key, _, e in drugs if e.warnings), ()),
            "signals": next(((", ".join(map(signalled, e.signals)), key) for key, _, e in drugs if e.signals), ()),
            "label": _label(records, drug, material),
            "events": [
                (r.key, listed([count_events(event) for event in r.posted.serious_events], most=MOST_GROUPS))
                for r in candidate.records
                if r.posted and r.posted.serious_events
            ][:MOST_TRIALS],
            "reporting": reporting,
            "quotes": [(text if quoted[text] == drug else "", quoted[text], key) for text, key in quotes],
        }
        if not any(data.values()):
            silent.append(drug)
            continue
        marks = {
            "withdrawn": data["withdrawn"] or "withdrawn" in warned_of,
            "boxed warning": (data["label"] or {}).get("boxed") or "boxed warning" in warned_of,
        }
        note = ", ".join(mark for mark, is_set in marks.items() if is_set)
        told.append(Said("safety", "drug", {"d": data}, Section(drug, f"safety-{len(told) + 1}", (), note, "folded")))
    intro = Said("safety", "intro", {"silent": listed(silent, most=len(silent))})
    return [intro, *told]


def _product(approval: DrugApproval) -> str:
    """Name the product approved first by its number and brand."""
    for first in approval.applications:
        if first.get("approved") == approval.first_approved:
            return ", ".join(str(first[name]) for name in ("number", "brand") if name in first)
    return ""


def count_events(group: SeriousEvents) -> str:
    """Format a group with its participants with a serious adverse event, out of all if their number is reported."""
    return f"{group.group} {group.affected}{'' if group.at_risk is None else f' of {group.at_risk}'}"


def _label(records: Sequence[Evidence], drug: str, material: Material) -> dict[str, Any] | None:
    record = next((readable(each) for each in records if isinstance(each.record, Label)), None)
    if record is None or not isinstance(label := record.record, Label):
        return None
    sections = label_sections(record)
    others = [candidate.drug for candidate in material.shown]
    rivals = [each for each in label.named_drugs if each["drug"] in others and each["drug"] != drug]
    clean = [(rival["drug"], visible(set_aside(rival["sentence"])).strip(), rival["heading"]) for rival in rivals]
    return {
        "key": record.key,
        "people": " or ".join(filter(None, (material.asked.population, short(material.topic)))),
        "boxed": sentences(sections.get("Boxed warning", ""))[:MOST_QUOTED],
        "uses": list(_on_the_asked(sections, _USES, material))[:MOST_QUOTED],
        "warnings": list(_on_the_asked(sections, _WARNINGS, material))[:MOST_QUOTED],
        "contraindications": sections.get("Contraindications", ""),
        "interactions": [each for each in clean if each[1]][: 2 * MOST_QUOTED],
    }


def _on_the_asked(
    sections: Mapping[str, str], headings: Sequence[str], material: Material
) -> Iterator[tuple[str, str]]:
    """Yield sentences under these headings on the people or the condition asked about, each with its heading."""
    population = material.asked.population
    conditions = [frozenset(stems(name)) for name in condition_names(material.asked)]
    for heading in headings:
        for sentence in sentences(sections.get(heading, "")):
            words = frozenset(stems(sentence))
            on_people = population and (
                speaks_of(sentence, population) or (population == "pregnancy" and heading == "Pregnancy")
            )
            if on_people or (heading != "Pregnancy" and any(name <= words for name in conditions)):
                yield sentence, heading


def _harms_of(
    candidate: Candidate, material: Material, quoted: Mapping[str, str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the keys of publications on patients that report harm, and sentences on harm with their records' keys.

    Sentences of publications that report harm come first, then by number of participants; of each publication one that
    is not `quoted` for another drug, if there is any.
    """
    papers = (record for record in candidate.records if kind_of(material.records[record.key]) == "publication")
    read = [paper for paper in papers if paper.reading.design not in NOT_PATIENTS]
    reporting = [each.key for each in read if each.reading.does_harm]
    quotes = list[tuple[str, str]]()
    for each in sorted(read, key=lambda each: (each.key not in reporting, -(each.item.sample_size or 0))):
        every = harm_sentences(material.records[each.key], candidate.drug)
        if every and len(quotes) < MOST_QUOTED:
            quotes.append((next((sentence for sentence in every if sentence not in quoted), every[0]), each.key))
    return reporting, quotes


def methodology(material: Material) -> list[Said]:
    """Tell the methods: sources, reading, decisions; the report's log lists the searches."""
    records = [record for candidate in material.candidates for record in candidate.records]
    numbers = [counted(material.counts[kind], noun) for kind, noun in _KINDS.items() if material.counts[kind]]
    data = {
        "m": material,
        "found": sum(len(reply.records) for reply in material.dossier.replies),
        "kinds": listed(numbers),
        "by_source": (CURATED, PUBLISHED) if material.asked.kind in (*ON_HARM, "mechanism", "compare") else None,
        "differ": sum(record.item.second_reader not in (None, record.item.direction.value) for record in records),
        "prompts": PROMPTS_VERSION,
        "texts": _count_whole_texts(material),
    }
    return [Said("findings", "methodology", data)]


def _count_whole_texts(material: Material) -> dict[str, Any] | None:
    """Count the full texts that a model was shown whole: why, in how many prompts, at which price; None without any."""
    turns = [findings.whole_texts for findings in material.dossier.in_order]
    prompts = sum(turn.prompts for turn in turns)
    if not prompts:
        return None
    reasons = Counter(filter(None, map(why_whole, material.pool)))
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
