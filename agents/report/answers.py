"""Answers questions other than what helps: harm, safety, comparison, mechanism, status, what does not help.

Each kind is answered from its own records, never from a drug's effect in the condition. If no record bears on it, the
first sentence says so, and what was read instead.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import APPROVED_PHASE, is_condition, is_in_question, split_label
from willowbark.tools.appraisal.harms import (
    Harm,
    HarmStance,
    Warning,
    choose_first_word,
    find_harms,
    get_subject,
    list_boxed_warnings,
    list_known_cautions,
    list_label_warnings,
    list_serious_events,
    list_signals,
)
from willowbark.tools.mechanism import MechanismFindings
from willowbark.tools.questions import Question
from willowbark.tools.questions.kinds import ON_HARM, QuestionKind
from willowbark.tools.records import Development, DrugApproval, Label, Mechanism
from willowbark.tools.records.registry import kind_of
from willowbark.tools.wording import as_spelt, counted, listed, short

from .content import CURATED, NOT_REPORTED, PUBLISHED
from .findings import MOST_GROUPS, MOST_TRIALS, count_events
from .material import Material
from .texts import ReportStatement

MOST_QUOTED = 12  # sentences in the section
MOST_HARMED = 6  # drugs that did harm, beside what helps
MOST_OF_SEVERAL = 3  # sentences of labels on drug combinations
_HARM_STANCES: Mapping[HarmStance, str] = {
    "reports": "with harm",
    "undecided": "inconclusive",
    "silent": "without a result on harm",
}
_ORDER = list(_HARM_STANCES)
_NO_RESULT = "without a clear result"


@dataclass
class ReportAnswer:
    """The answer: what its first sentences say, and what the section below the summary quotes."""

    statements: list[ReportStatement]
    quotations: list[ReportStatement] = field(default_factory=list)
    confidence: float | None = None
    """0 to 1, our convention; None if the candidates' confidence applies."""
    word: str = ""
    """`Yes`, `No`, `With caution` or `Reported`, before the first sentence; empty for none."""

    @cached_property
    def sentences(self) -> list[str]:
        """The answer in sentences, each once."""
        lines: list[str] = []
        for statement in self.statements:
            lines += statement.lines
        if self.word:
            lines[0] = f"{self.word}: {lines[0][0].lower()}{lines[0][1:]}"
        return list(dict.fromkeys(lines))

    def list_below(self, first_screen: str) -> list[ReportStatement]:
        """Return what the section below the summary says: what the first screen left out, and the evidence."""
        left_out = [sentence for sentence in self.sentences if sentence not in first_screen]
        return [_say("left_out", sentences=left_out), *self.quotations]


def _say(macro: str, **data: Any) -> ReportStatement:
    return ReportStatement("answers", macro, data)


def answer_question(material: Material, mechanisms: MechanismFindings) -> ReportAnswer | None:
    """Answer each kind of question asked; None if it only asks what helps or prevents."""
    question = material.asked
    own = _answer_kind(question.kind, material, mechanisms)
    parts = [own] if own else []
    if question.asks_openly and question.drugs:  # in any use: reasons against giving it there
        parts.append(
            ReportAnswer([_say("caution", w=caution) for caution in list_known_cautions(material.pool, question)])
        )
    for kind in question.also:
        if kind in ("avoid", "safety"):  # harms are read once for the whole question
            parts.append(ReportAnswer([_say("not_here")]))
        elif kind != "harm":
            part = _answer_kind(kind, material, mechanisms)
            parts += [part] if part else []
    if {"harm", "negative"} & {*question.also} and question.kind not in ON_HARM:
        parts.append(_answer_harm_too(material))
    statements: list[ReportStatement] = []
    quotations: list[ReportStatement] = []
    for part in parts:
        statements += part.statements
        quotations += part.quotations
    if not statements:
        return None
    # Kinds asked about beside the first one bring sentences alone: confidence and word are of the first.
    return ReportAnswer(statements, quotations, own.confidence if own else None, own.word if own else "")


def _answer_kind(kind: QuestionKind, material: Material, mechanisms: MechanismFindings) -> ReportAnswer | None:
    match kind:
        case "harm" | "avoid" | "safety":
            return answer_on_harm(material)
        case "compare":
            return _answer_comparison(material)
        case "mechanism":
            return _answer_mechanism(material, mechanisms)
        case "status":
            return _answer_status(material)
        case "negative":
            return _answer_no_help(material)
        case "uses":
            return _answer_uses(material)
        case "other":
            return ReportAnswer([_say("other")])
    return None


def answer_on_harm(material: Material) -> ReportAnswer:
    """Answer on harm, safety or what to avoid: what is known, then labels, then publications."""
    question = material.asked
    about = short(get_subject(question))
    reports = find_harms(material.pool, question, material.readings)
    labelled = list_label_warnings(material.pool, question)
    reasons = list_known_cautions(material.pool, question)
    first = _pick_first_warnings(labelled, about)
    labels = [_say("warning", w=warning, kind=question.kind, about=about) for warning in first]

    boxes = _find_boxed_warnings(material, labelled, reports)
    quoted_boxes = {warning.drug for warning in first if warning.heading == "Boxed warning"}
    of_others = [warning for drug, warning in boxes.items() if drug not in quoted_boxes]
    others = [_say("warning", w=warning, kind=question.kind, about="") for warning in of_others]

    statements = _say_reasons(question, reasons, labels)
    is_known = bool(statements)
    is_reported = any(report.stance == "reports" for report in reports)
    word = choose_first_word(question, reasons, first) if is_known else ""
    published = _say_published(material, about, reports)
    events = _tell_events(material)
    if about and is_reported and not is_known and (question.drugs or question.drug_classes):
        word = "Reported"  # publications are all there is, so they come before counts of events
        published = [*published, *events]
    else:
        published = [*events, *published]

    answered = {warning.drug for warning in (*reasons, *labelled)} | {report.drug for report in reports}
    missing = [as_spelt(drug, question.text) for drug in question.drugs if drug not in answered]
    if not (is_known or is_reported):
        whose = "" if question.kind == "avoid" else material.asked_names
        statements = [_say_no_evidence(material, listed([whose, about]) or "harm", "clearly" if published else "")]
    statements += [*(others if question.names_all else []), *published]
    if missing and (is_known or is_reported):
        statements.append(_say_no_evidence(material, listed([short(listed(missing)), about])))
    statements += [] if question.names_all else others
    confidence = CURATED if is_known else PUBLISHED if is_reported else 0.0
    return ReportAnswer(statements, _quote_harms(reports, [*labelled, *of_others], about), confidence, word)


def _pick_first_warnings(warnings_of_labels: Sequence[Warning], about: str) -> list[Warning]:
    """Pick a warning a drug; without a subject a drug and section, as harms of one drug in general are asked about."""
    firsts = dict[tuple[str, str], Warning]()
    for warning in warnings_of_labels:
        firsts.setdefault((warning.drug, "" if about else warning.heading), warning)
    return list(firsts.values())[: None if about else MOST_OF_SEVERAL]


def _say_reasons(
    question: Question, reasons: Sequence[Warning], labels: Sequence[ReportStatement]
) -> list[ReportStatement]:
    """Say the reasons against drugs with the warnings of their labels; by heading unless all drugs are named."""
    if question.names_all:
        statements = [_say("caution", w=reason) for reason in reasons]
        withdrawn = sum(reason.heading == "Withdrawn" for reason in reasons)
        # The harm itself comes before contraindications.
        place = withdrawn if question.kind == "harm" else len(statements)
        statements[place:place] = labels
        return statements
    avoided: dict[str, list[str]] = {}
    for reason in reasons:
        avoided.setdefault(reason.heading, []).append(reason.drug)
    statements = []
    for heading, drugs in avoided.items():
        statements.append(_say("avoided", kind=heading, drugs=listed(list(dict.fromkeys(drugs)), most=12)))
    return [*statements, *labels]


def _say_published(material: Material, about: str, reports: Sequence[Harm]) -> list[ReportStatement]:
    """Say what publications report: of the drugs asked about, else which drugs they name with the harm."""
    question = material.asked
    if reports and not about:
        each_once = dict.fromkeys((report.key, report.of) for report in reports)
        caused = Counter(harm for _, harm in each_once)
        return _list_with_counts(f"Reported harms of {material.asked_names}", caused)
    if question.drugs or question.drug_classes:
        return _count_publications(material.asked_names, about, reports, question.drugs)
    return _list_reported_drugs(question.kind, about, reports)


def _find_boxed_warnings(
    material: Material, labelled: Sequence[Warning], reports: Sequence[Harm]
) -> dict[str, Warning]:
    """Find boxed warnings by drug: of drugs asked about first, then of those reported most often."""
    question = material.asked
    reported = Counter(harm.drug for harm in reports if harm.stance == "reports")
    drugs = [*question.drugs, *(warning.drug for warning in labelled), *(harm.drug for harm in reports)]
    by_report = sorted(dict.fromkeys(drugs), key=lambda drug: (drug not in question.drugs, -reported[drug]))
    boxes = {warning.drug: warning for warning in list_boxed_warnings(material.pool, by_report)}
    return boxes | {warning.drug: warning for warning in reversed(labelled) if warning.heading == "Boxed warning"}


def _tell_events(material: Material) -> list[ReportStatement]:
    """Tell serious adverse events of registered trials by group, and signals of disproportionate reporting."""
    lines = []
    for key, groups in list_serious_events(material.pool, material.asked)[:MOST_TRIALS]:
        counts = [count_events(group) for group in groups]
        lines.append(_say("events", key=key, groups=listed(counts, most=MOST_GROUPS)))
    lines += [
        _say("signals", drug=drug, events=listed(e, most=5)) for drug, e in list_signals(material.pool, material.asked)
    ]
    return lines


def _list_reported_drugs(kind: str, about: str, reports: Sequence[Harm]) -> list[ReportStatement]:
    """Name the drugs that publications report with a harm, then those of which they decide nothing."""
    lead = f"Reported with harm in {about}" if kind == "avoid" else f"Reported as causing {about}"
    decided = Counter(harm.drug for harm in reports if harm.stance == "reports")
    undecided = Counter(harm.drug for harm in reports if harm.stance == "undecided")
    return [*_list_with_counts(lead, decided), *_list_with_counts(f"Named beside {about}, inconclusive", undecided)]


def _list_with_counts(what: str, times: Counter[str]) -> list[ReportStatement]:
    """Name drugs or harms with their numbers of publications; nothing without any."""
    counts = [f"{name} ({counted(number, 'publication')})" for name, number in times.most_common()]
    return [_say("leads", what=what, drugs=listed(counts, most=8))] if counts else []


def _say_no_evidence(material: Material, what: str, how: str = "") -> ReportStatement:
    kinds = Counter(map(kind_of, material.pool))
    return _say("no_evidence", asked=material.asked, what=what, read=kinds, how=how)


def _count_publications(
    drug_names: str, about: str, reports: Sequence[Harm], asked_drugs: Sequence[str]
) -> list[ReportStatement]:
    """Count publications by finding, with drugs other than the one asked about; nothing without any."""
    weakest_first = sorted(reports, key=lambda report: -_ORDER.index(report.stance))
    by_key = {report.key: report.stance for report in weakest_first}
    by_drug = {report.drug: report.stance for report in weakest_first}
    names = dict.fromkeys(report.drug for report in reports)
    is_the_one = len(asked_drugs) == 1 and list(names) == list(asked_drugs)
    sides = []
    for stance, words in _HARM_STANCES.items():
        number = sum(finding == stance for finding in by_key.values())
        if number:
            drugs = [] if is_the_one else [drug for drug in names if by_drug[drug] == stance]
            sides.append(f"{number} {words}{f' ({listed(drugs, most=8)})' if drugs else ''}")
    sentence = _say("publications", number=len(by_key), named=drug_names, about=about, sides=listed(sides))
    return [sentence] if sides else []


def _quote_harms(reports: Sequence[Harm], labelled: Sequence[Warning], about: str) -> list[ReportStatement]:
    labels = [(warning.drug, warning.heading, warning.sentence, warning.key) for warning in labelled[:MOST_QUOTED]]
    with_sentence = [report for report in reports if report.sentence]
    often = Counter(report.of for report in with_sentence)
    turns_of = Counter[str]()
    turns = list[tuple[int, int, int]]()
    for report in with_sentence:  # alternate between harms, the most reported first
        turns.append((_ORDER.index(report.stance), turns_of[report.of], -often[report.of]))
        turns_of[report.of] += 1
    harms_of = dict[tuple[str, str, str], list[str]]()
    for _, report in sorted(zip(turns, with_sentence, strict=True), key=lambda turn: turn[0]):
        what = _HARM_STANCES[report.stance] if about else report.of
        harms_of.setdefault((report.drug, report.sentence, report.key), []).append(what)
    records = [
        (drug, whats[0] if about else f"with {listed(list(dict.fromkeys(whats)))}", sentence, key)
        for (drug, sentence, key), whats in list(harms_of.items())[:MOST_QUOTED]
    ]
    both = (("What labels say", labels), ("What publications say", records))
    return [_say("quotes", title=title, items=items) for title, items in both if items]


def _answer_harm_too(material: Material) -> ReportAnswer:
    """Answer which drugs did harm, beside what helps: studies in which patients did worse, and harms reported."""
    drug_lists = list[str]()
    quotes = list[tuple[str, str, str, str]]()
    for what in ("worse", "harm"):
        records_of = _group_harmful_studies(material, is_worse=what == "worse")
        most_first = sorted(records_of.items(), key=lambda item: -len(item[1]))
        numbers = [f"{short(drug)} ({counted(len(records), 'study')})" for drug, records in most_first]
        drug_lists.append(listed(numbers, most=MOST_HARMED))
        for drug, records in most_first[:MOST_HARMED]:
            quotes.append((drug, what, records[0].harm_told, records[0].key))
    count = material.counts["peer_reviewed"] + material.counts["preprints"]
    statement = _say("harm_beside", worse=drug_lists[0], harmed=drug_lists[1], read=count)
    return ReportAnswer([statement], [_say("quotes", title="", items=quotes)])


def _group_harmful_studies(material: Material, *, is_worse: bool) -> dict[str, list[AppraisedRecord]]:
    """Group studies with a sentence on harm by drug: those in which patients did worse on it, or all others."""
    records_of = dict[str, list[AppraisedRecord]]()
    for candidate in material.asked_candidates:
        for record in candidate.records:
            contradicts = record.key in candidate.appraisal.contradicting
            if record.harm_told and contradicts is is_worse:
                records_of.setdefault(candidate.drug, []).append(record)
    return records_of


def _answer_comparison(material: Material) -> ReportAnswer:
    """Answer which drug is better: head-to-head records, then each drug against placebo.

    A record's reading for one drug alone named the better one in 35 of 100 records; two readings against an active drug
    with opposite effects, in 64.
    """
    drugs = [c for c in material.candidates if is_in_question(c.drug, material.asked)]
    results = Counter[str]()
    rows = list[tuple[Any, ...]]()
    for one, other in combinations(drugs, 2):
        verdicts = {
            ("better", "worse"): f"for {one.drug}",
            ("worse", "better"): f"for {other.drug}",
            ("no_difference", "no_difference"): "without a difference",
        }
        theirs_of = {record.key: record for record in other.records}
        for record in one.records:
            if record.key not in theirs_of:
                continue
            effects = _get_effect_against_active(record), _get_effect_against_active(theirs_of[record.key])
            if any(effects):
                result = verdicts.get(effects, _NO_RESULT)
                results[result] += 1
                rows.append((material.records[record.key], record.item, f"{one.drug} against {other.drug}: {result}"))
    ordered = sorted(results, key=lambda what: (what == _NO_RESULT, -results[what], what))
    sides = listed([f"{counted(results[what], 'study')} {what}" for what in ordered], most=6)
    placebo = list[tuple[str, int, int, int, list[str]]]()
    for drug in drugs:
        records = [r for r in drug.records if r.reading.comparator in ("placebo", "none")]
        directions = Counter(record.item.direction for record in records)
        better = directions[Direction.supports]
        worse = directions[Direction.contradicts]
        placebo.append((drug.drug, better, worse, len(records) - better - worse, [record.key for record in records]))
    statements = [_say("head_to_head", m=material, sides=sides)]
    if drugs:
        statements.append(_say("against_placebo", drugs=placebo))
    is_clear = any(what != _NO_RESULT for what in results)
    return ReportAnswer(statements, [_say("compared", rows=rows, placebo=placebo)], PUBLISHED if is_clear else 0.0)


def _get_effect_against_active(record: AppraisedRecord) -> str:
    """Return the drug's effect against another one; empty if it was not compared with one."""
    reading = record.reading
    is_compared = reading.comparator == "active" and reading.role in ("tested", "comparator", "combined")
    return reading.effect if is_compared else ""


def _answer_mechanism(material: Material, mechanisms: MechanismFindings) -> ReportAnswer:
    """Answer how drugs act and how that is linked to the condition asked about."""
    actions = dict[str, tuple[str, list[str]]]()
    question = material.asked
    for drug, entries in material.drug_entries.items():
        acts: list[Mechanism] = []
        for _, entry in entries:
            acts += entry.mechanisms
        how = dict.fromkeys(str(act["mechanism_of_action"]) for act in acts if act.get("mechanism_of_action"))
        genes: dict[str, None] = {}
        for act in acts:
            genes |= dict.fromkeys(act.get("gene_symbols") or ())
        targets = listed(list(genes))
        if how:
            actions[drug] = f"{listed([*how])}{f' (targets {targets})' if targets else ''}", [key for key, _ in entries]
    # Drugs in the question's order, then the others as they came.
    drugs = sorted(actions, key=lambda drug: [*question.drugs, drug].index(drug))
    ordered = [(drug, *actions[drug]) for drug in drugs]
    # A class has no mechanism of its own: with one of its drugs described, it is not missing.
    due = question.drugs if actions else (*question.drugs, *question.drug_classes)
    missing = [name for name in due if name not in actions]
    chains = [mechanisms.chains[drug] for drug, *_ in ordered] if question.conditions else []
    data = {
        "known": ordered[:3],
        "missing": listed([as_spelt(name, question.text) for name in missing]),
        "topic": short(material.topic),
        "linked": listed([chain.drug for chain in chains if not chain.missing]),
        "unlinked": listed([chain.drug for chain in chains if chain.missing]),
    }
    quotations = [_say("actions", known=ordered)] if actions else []
    if chains:
        quotations.append(ReportStatement("mechanism", "bearing", {"topic": data["topic"], "chains": chains}))
    return ReportAnswer([_say("mechanism", **data)], quotations, CURATED if actions else 0.0)


def _answer_no_help(material: Material) -> ReportAnswer:
    """Answer what does not help: the records that contradict a benefit."""
    drugs = material.asked_candidates
    tallies: dict[bool, list[str]] = {False: [], True: []}  # by whether records support the drug too
    refuted = list[str]()
    quotes = {False: list[tuple[str, ...]](), True: list[tuple[str, ...]]()}
    for drug in sorted(drugs, key=lambda c: (-len(c.appraisal.contradicting), -len(c.appraisal.missed))):
        appraisal = drug.appraisal
        support = len(drug.appraisal.supporting)
        against = [*appraisal.contradicting, *appraisal.missed]
        if against:
            place = material.places[drug.drug]
            is_disputed = place.outcome in ("mixed", "supported") or place.place == "standard"
            counts = [
                f"{len(appraisal.contradicting)} contradicting" if appraisal.contradicting else "",
                f"{len(appraisal.missed)} missed the primary outcome" if appraisal.missed else "",
                f"{support} supporting",
            ]
            tallies[is_disputed].append(f"{short(drug.drug)} ({', '.join(filter(None, counts))})")
            refuted += [drug.drug] if drug.appraisal.quality == "refuted" else []
            quotable = (record for record in drug.records if record.key in against and record.sentence)
            quotes[is_disputed] += [(drug.drug, "", record.sentence, record.key) for record in quotable]
    statement = _say(
        "no_help",
        m=material,
        failed=listed(tallies[False], most=6),
        disputed=listed(tallies[True], most=6),
        refuted=listed(refuted),
        support=sum(len(c.appraisal.supporting) for c in drugs),
    )
    items = [*quotes[False], *quotes[True]][:MOST_QUOTED]
    return ReportAnswer([statement], [_say("quotes", title="", items=items)])


def _answer_uses(material: Material) -> ReportAnswer:
    """Answer what the drugs are marketed for and in which conditions registered trials study them."""
    phases = dict[str, float]()
    indications: list[Development] = []
    for entries in material.drug_entries.values():
        for _, entry in entries:
            indications += entry.indications
    for indication in indications:
        name = str(indication.get("name", "")).lower()
        phases[name] = max(phases.get(name, 0.0), float(indication.get("max_phase") or 0))
    studied: Counter[str] = Counter()
    for _, trial in material.asked_trials:
        studied.update(condition.lower() for condition in trial.conditions)
    statement = _say(
        "uses",
        m=material,
        marketed=listed(sorted(name for name, phase in phases.items() if name and phase >= APPROVED_PHASE), most=8),
        studied=listed([f"{name} ({number})" for name, number in studied.most_common()], most=10),
    )
    return ReportAnswer([statement], confidence=CURATED if phases else 0.0)


def _answer_status(material: Material) -> ReportAnswer:
    """Answer the status of drugs: marketed, approved, in trials."""
    question = material.asked
    trials = material.asked_trials
    highest = dict[str, float]()
    for drug, entries in material.drug_entries.items():
        indications: list[Development] = []
        for _, drug_entry in entries:
            indications += drug_entry.indications
        own = [use for use in indications if not question.conditions or is_condition(use.get("name", ""), question)]
        highest[drug] = max((float(use.get("max_phase") or 0) for use in own), default=0.0)
    marketed = [drug for drug, phase in highest.items() if phase >= APPROVED_PHASE]
    rest = [drug for drug in (question.drugs or highest) if drug not in marketed]
    states = Counter((t.overall_status or f"status {NOT_REPORTED}").replace("_", " ").lower() for _, t in trials)
    approved = list[str]()
    labels = list[tuple[str, str]]()
    for record in material.pool:
        entry = record.record
        if isinstance(entry, Label) and is_in_question(entry.drug or "", question):
            uses = split_label(record).get("Indications and usage", "")
            labels += [(entry.drug or "", uses)] if uses else []
        if isinstance(entry, DrugApproval) and entry.first_approved and is_in_question(entry.drug or "", question):
            approved.append(f"{entry.drug} {entry.first_approved} ({entry.agency})")
    withdrawals = [
        _say("caution", w=w) for w in list_known_cautions(material.pool, question) if w.heading == "Withdrawn"
    ]
    statement = _say(
        "status",
        m=material,
        marketed=listed(marketed, most=8),
        unmarketed=listed([f"{d} (highest phase {highest[d]:g})" if highest.get(d) else d for d in rest], most=6),
        labels=labels,
        trials=listed([f"{number} {state}" for state, number in states.items()], most=6),
        approved=listed(approved, most=6),
    )
    titles = [(f"{trial.nct_id}: {record.citation.title}", record.key) for record, trial in trials]
    return ReportAnswer([*withdrawals, statement], [_say("trials", trials=titles)])
