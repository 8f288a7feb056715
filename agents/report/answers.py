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
from willowbark.tools.appraisal.candidates import APPROVED_PHASE, is_asked_about, is_condition, label_sections
from willowbark.tools.appraisal.harms import (
    Harm,
    HarmStance,
    Warning,
    boxed,
    cautions,
    first_word,
    harms,
    serious_events,
    signals,
    subject,
    warnings,
)
from willowbark.tools.mechanism import MechanismFindings
from willowbark.tools.questions.kinds import ON_HARM, QuestionKind
from willowbark.tools.records import DrugApproval, Label
from willowbark.tools.records.registry import kind_of
from willowbark.tools.wording import as_spelt, counted, listed, short

from .content import CURATED, NOT_REPORTED, PUBLISHED
from .findings import MOST_GROUPS, MOST_TRIALS, count_events
from .material import Material
from .texts import Said

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

    said: list[Said]
    quoted: list[Said] = field(default_factory=list)
    confidence: float | None = None
    """0 to 1, our convention; None if the candidates' confidence applies."""
    word: str = ""
    """`Yes`, `No`, `With caution` or `Reported`, before the first sentence; empty for none."""

    @cached_property
    def sentences(self) -> list[str]:
        """The answer in sentences, each once."""
        lines = [line for said in self.said for line in said.lines]
        if self.word:
            lines[0] = f"{self.word}: {lines[0][0].lower()}{lines[0][1:]}"
        return list(dict.fromkeys(lines))

    def below(self, first_screen: str) -> list[Said]:
        """Return what the section below the summary says: what the first screen left out, and the evidence."""
        left_out = [sentence for sentence in self.sentences if sentence not in first_screen]
        return [_say("left_out", sentences=left_out), *self.quoted]


def _say(macro: str, **data: Any) -> Said:
    return Said("answers", macro, data)


def answer_of(material: Material, mechanisms: MechanismFindings) -> ReportAnswer | None:
    """Answer each kind of question asked; None if it only asks what helps or prevents."""
    own = _answer_of(material.asked.kind, material, mechanisms)
    asked = material.asked
    parts = [own] if own else []
    if asked.asks_openly and asked.drugs:  # in any use: reasons against giving it there
        parts.append(ReportAnswer([_say("caution", w=each) for each in cautions(material.pool, asked)]))
    for kind in asked.also:
        if kind in ("avoid", "safety"):  # harms are read once for the whole question
            parts.append(ReportAnswer([_say("not_here")]))
        elif kind != "harm" and (part := _answer_of(kind, material, mechanisms)):
            parts.append(part)
    if {"harm", "negative"} & {*asked.also} and asked.kind not in ON_HARM:
        parts.append(_on_harm_beside(material))
    said = [x for part in parts for x in part.said]
    quoted = [x for part in parts for x in part.quoted]
    return ReportAnswer(said, quoted, own.confidence if own else None, own.word if own else "") if said else None


def _answer_of(kind: QuestionKind, material: Material, mechanisms: MechanismFindings) -> ReportAnswer | None:
    match kind:
        case "harm" | "avoid" | "safety":
            return answer_on_harm(material)
        case "compare":
            return _on_comparison(material)
        case "mechanism":
            return _on_mechanism(material, mechanisms)
        case "status":
            return _on_status(material)
        case "negative":
            return _on_no_help(material)
        case "uses":
            return _on_uses(material)
        case "other":
            return ReportAnswer([_say("other")])
    return None


def answer_on_harm(material: Material) -> ReportAnswer:
    """Answer on harm, safety or what to avoid: what is known, then labels, then publications."""
    asked = material.asked
    about = short(subject(material.asked))
    found = harms(material.pool, asked, material.readings)
    labelled = warnings(material.pool, asked)
    known = cautions(material.pool, asked)
    reported = Counter(h.drug for h in found if h.stance == "reports")
    firsts = dict[tuple[str, str], Warning]()
    for each in labelled:  # without a subject: harms of one drug in general, by section, or of a combination
        firsts.setdefault((each.drug, "" if about else each.heading), each)
    first = list(firsts.values())[: None if about else MOST_OF_SEVERAL]
    labels = [_say("warning", w=each, kind=asked.kind, about=about) for each in first]

    boxes = _find_boxed_warnings(material, labelled, found)
    quoted_boxes = {each.drug for each in first if each.heading == "Boxed warning"}
    of_others = [each for drug, each in boxes.items() if drug not in quoted_boxes]
    others = [_say("warning", w=other, kind=asked.kind, about="") for other in of_others]

    if asked.names_all:
        said = [_say("caution", w=each) for each in known]
        withdrawn = sum(each.heading == "Withdrawn" for each in known)
        place = withdrawn if asked.kind == "harm" else len(said)  # the harm itself comes before contraindications
        said[place:place] = labels
    else:
        avoided = {each.heading: [x.drug for x in known if x.heading == each.heading] for each in known}
        said = [
            _say("avoided", kind=kind, drugs=listed(list(dict.fromkeys(a)), most=12)) for kind, a in avoided.items()
        ]
        said += labels
    is_known = bool(said)
    word = first_word(asked, known, first) if said else ""

    beside = _tell_events(material)
    published = []
    if found and not about:
        caused = Counter(of for _, of in dict.fromkeys((each.key, each.of) for each in found))
        published = _leads(f"Reported harms of {material.asked_names}", caused)
    elif asked.drugs or asked.drug_classes:
        published = _publications(material.asked_names, about, found, asked.drugs)
        if reported and not is_known:
            word = "Reported"
            beside = [*published, *beside]
            published = []
    else:
        published = _name_reported_drugs(asked.kind, about, found)
    published = [*beside, *published]
    told_of = {*(each.drug for each in (*known, *labelled)), *(each.drug for each in found)}
    missing = [as_spelt(each, asked.text) for each in asked.drugs if each not in told_of]
    if not (is_known or reported):
        whose = "" if asked.kind == "avoid" else material.asked_names
        said = [_nothing_on_harm(material, listed([whose, about]) or "harm", "clearly" if published else "")]
    said += [*(others if asked.names_all else []), *published]
    if missing and (is_known or reported):
        said.append(_nothing_on_harm(material, listed([short(listed(missing)), about])))
    said += [] if asked.names_all else others
    sure = CURATED if is_known else PUBLISHED if reported else 0.0
    return ReportAnswer(said, _harm_quotes(found, [*labelled, *of_others], about), sure, word)


def _find_boxed_warnings(material: Material, labelled: Sequence[Warning], found: Sequence[Harm]) -> dict[str, Warning]:
    """Find boxed warnings by drug: of drugs asked about first, then of those reported most often."""
    asked = material.asked
    reported = Counter(harm.drug for harm in found if harm.stance == "reports")
    drugs = [*asked.drugs, *(warning.drug for warning in labelled), *(harm.drug for harm in found)]
    by_report = sorted(dict.fromkeys(drugs), key=lambda drug: (drug not in asked.drugs, -reported[drug]))
    boxes = {warning.drug: warning for warning in boxed(material.pool, by_report)}
    return boxes | {warning.drug: warning for warning in reversed(labelled) if warning.heading == "Boxed warning"}


def _tell_events(material: Material) -> list[Said]:
    """Tell serious adverse events of registered trials by group, and signals of disproportionate reporting."""
    lines = []
    for key, groups in serious_events(material.pool, material.asked)[:MOST_TRIALS]:
        counts = [count_events(group) for group in groups]
        lines.append(_say("events", key=key, groups=listed(counts, most=MOST_GROUPS)))
    lines += [
        _say("signals", drug=drug, events=listed(e, most=5)) for drug, e in signals(material.pool, material.asked)
    ]
    return lines


def _name_reported_drugs(kind: str, about: str, found: Sequence[Harm]) -> list[Said]:
    """Name the drugs that publications report with a harm, then those of which they decide nothing."""
    reports = f"Reported with harm in {about}" if kind == "avoid" else f"Reported as causing {about}"
    decided = Counter(harm.drug for harm in found if harm.stance == "reports")
    undecided = Counter(harm.drug for harm in found if harm.stance == "undecided")
    return [*_leads(reports, decided), *_leads(f"Named beside {about}, inconclusive", undecided)]


def _leads(what: str, times: Counter[str]) -> list[Said]:
    """Name drugs or harms with their numbers of publications; nothing without any."""
    named = [f"{name} ({counted(number, 'publication')})" for name, number in times.most_common()]
    return [_say("leads", what=what, drugs=listed(named, most=8))] if named else []


def _nothing_on_harm(material: Material, what: str, how: str = "") -> Said:
    kinds = Counter(map(kind_of, material.pool))
    return _say("no_evidence", asked=material.asked, what=what, read=kinds, how=how)


def _publications(named: str, about: str, found: Sequence[Harm], asked: Sequence[str]) -> list[Said]:
    """Count publications by finding, with drugs other than the one asked about; nothing without any."""
    weakest_first = sorted(found, key=lambda each: -_ORDER.index(each.stance))
    by_key = {each.key: each.stance for each in weakest_first}
    by_drug = {each.drug: each.stance for each in weakest_first}
    names = dict.fromkeys(each.drug for each in found)
    is_the_one = len(asked) == 1 and list(names) == list(asked)
    sides = []
    for stance, words in _HARM_STANCES.items():
        if number := sum(each == stance for each in by_key.values()):
            drugs = [] if is_the_one else [drug for drug in names if by_drug[drug] == stance]
            sides.append(f"{number} {words}{f' ({listed(drugs, most=8)})' if drugs else ''}")
    told = _say("publications", number=len(by_key), named=named, about=about, sides=listed(sides))
    return [told] if sides else []


def _harm_quotes(found: Sequence[Harm], labelled: Sequence[Warning], about: str) -> list[Said]:
    labels = [(each.drug, each.heading, each.sentence, each.key) for each in labelled[:MOST_QUOTED]]
    quoted = [each for each in found if each.sentence]
    often = Counter(each.of for each in quoted)
    met = Counter[str]()
    turns = list[tuple[int, int, int]]()
    for each in quoted:  # alternate between harms, the most reported first
        turns.append((_ORDER.index(each.stance), met[each.of], -often[each.of]))
        met[each.of] += 1
    harms_of = dict[tuple[str, str, str], list[str]]()
    for _, each in sorted(zip(turns, quoted, strict=True), key=lambda turn: turn[0]):
        what = _HARM_STANCES[each.stance] if about else each.of
        harms_of.setdefault((each.drug, each.sentence, each.key), []).append(what)
    records = [
        (drug, whats[0] if about else f"with {listed(list(dict.fromkeys(whats)))}", sentence, key)
        for (drug, sentence, key), whats in list(harms_of.items())[:MOST_QUOTED]
    ]
    both = (("What labels say", labels), ("What publications say", records))
    return [_say("quotes", title=title, items=items) for title, items in both if items]


def _on_harm_beside(material: Material) -> ReportAnswer:
    """Answer which drugs did harm, beside what helps: studies in which patients did worse, and harms reported."""
    told = list[str]()
    quotes = list[tuple[str, str, str, str]]()
    for what in ("worse", "harm"):
        found = dict[str, list[AppraisedRecord]]()
        for candidate in material.asked_candidates:
            for record in (each for each in candidate.records if each.harm_told):
                if (record.key in candidate.appraisal.contradicting) is (what == "worse"):
                    found.setdefault(candidate.drug, []).append(record)
        drugs = sorted(found.items(), key=lambda each: -len(each[1]))
        numbers = [f"{short(drug)} ({counted(len(records), 'study')})" for drug, records in drugs]
        told.append(listed(numbers, most=MOST_HARMED))
        quotes += [(drug, what, of[0].harm_told, of[0].key) for drug, of in drugs[:MOST_HARMED]]
    read = material.counts["peer_reviewed"] + material.counts["preprints"]
    said = [_say("harm_beside", worse=told[0], harmed=told[1], read=read)]
    return ReportAnswer(said, [_say("quotes", title="", items=quotes)])


def _on_comparison(material: Material) -> ReportAnswer:
    """Answer which drug is better: head-to-head records, then each drug against placebo.

    A record's reading for one drug alone named the better one in 35 of 100 records; two readings against an active drug
    with opposite effects, in 64.
    """
    drugs = [c for c in material.candidates if is_asked_about(c.drug, material.asked)]
    results = Counter[str]()
    rows = list[tuple[Any, ...]]()
    for one, other in combinations(drugs, 2):
        verdicts = {
            ("better", "worse"): f"for {one.drug}",
            ("worse", "better"): f"for {other.drug}",
            ("no_difference", "no_difference"): "without a difference",
        }
        theirs_of = {record.key: record for record in other.records}
        for record in (each for each in one.records if each.key in theirs_of):
            effects = _effect_against_active(record), _effect_against_active(theirs_of[record.key])
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
    said = [_say("head_to_head", m=material, sides=sides)] + [_say("against_placebo", drugs=placebo)] * bool(drugs)
    is_told = any(what != _NO_RESULT for what in results)
    return ReportAnswer(said, [_say("compared", rows=rows, placebo=placebo)], PUBLISHED if is_told else 0.0)


def _effect_against_active(record: AppraisedRecord) -> str:
    """Return the drug's effect against another one; empty if it was not compared with one."""
    reading = record.reading
    is_told = reading.comparator == "active" and reading.role in ("tested", "comparator", "combined")
    return reading.effect if is_told else ""


def _on_mechanism(material: Material, mechanisms: MechanismFindings) -> ReportAnswer:
    """Answer how drugs act and how that is linked to the condition asked about."""
    known = dict[str, tuple[str, list[str]]]()
    asked = material.asked
    for drug, entries in material.drug_entries.items():
        acts = [mechanism for _, entry in entries for mechanism in entry.mechanisms]
        how = dict.fromkeys(str(act["mechanism_of_action"]) for act in acts if act.get("mechanism_of_action"))
        targets = listed([*dict.fromkeys(gene for act in acts for gene in act.get("gene_symbols") or ())])
        if how:
            known[drug] = f"{listed([*how])}{f' (targets {targets})' if targets else ''}", [key for key, _ in entries]
    ordered = [(drug, *known[drug]) for drug in sorted(known, key=lambda drug: [*asked.drugs, drug].index(drug))]
    missing = [each for each in (asked.drugs if known else (*asked.drugs, *asked.drug_classes)) if each not in known]
    chains = [mechanisms.chains[drug] for drug, *_ in ordered] if asked.conditions else []
    data = {
        "known": ordered[:3],
        "missing": listed([as_spelt(each, asked.text) for each in missing]),
        "topic": short(material.topic),
        "linked": listed([chain.drug for chain in chains if not chain.missing]),
        "unlinked": listed([chain.drug for chain in chains if chain.missing]),
    }
    quoted = [_say("actions", known=ordered)] if known else []
    if chains:
        quoted.append(Said("mechanism", "bearing", {"topic": data["topic"], "chains": chains}))
    return ReportAnswer([_say("mechanism", **data)], quoted, CURATED if known else 0.0)


def _on_no_help(material: Material) -> ReportAnswer:
    """Answer what does not help: the records that contradict a benefit."""
    drugs = material.asked_candidates
    tallies: dict[bool, list[str]] = {False: [], True: []}  # by whether records support the drug too
    refuted = list[str]()
    quotes = {False: list[tuple[str, ...]](), True: list[tuple[str, ...]]()}
    for drug in sorted(drugs, key=lambda c: (-len(c.appraisal.contradicting), -len(c.appraisal.missed))):
        found = drug.appraisal
        support = len(drug.appraisal.supporting)
        against = [*found.contradicting, *found.missed]
        if against:
            place = material.places[drug.drug]
            is_disputed = place.outcome in ("mixed", "supported") or place.place == "standard"
            counts = [
                f"{len(found.contradicting)} contradicting" if found.contradicting else "",
                f"{len(found.missed)} missed the primary outcome" if found.missed else "",
                f"{support} supporting",
            ]
            tallies[is_disputed].append(f"{short(drug.drug)} ({', '.join(filter(None, counts))})")
            refuted += [drug.drug] if drug.appraisal.quality == "refuted" else []
            told = (record for record in drug.records if record.key in against and record.sentence)
            quotes[is_disputed] += [(drug.drug, "", record.sentence, record.key) for record in told]
    said = _say(
        "no_help",
        m=material,
        failed=listed(tallies[False], most=6),
        disputed=listed(tallies[True], most=6),
        refuted=listed(refuted),
        support=sum(len(c.appraisal.supporting) for c in drugs),
    )
    return ReportAnswer([said], [_say("quotes", title="", items=[*quotes[False], *quotes[True]][:MOST_QUOTED])])


def _on_uses(material: Material) -> ReportAnswer:
    """Answer what the drugs are marketed for and in which conditions registered trials study them."""
    phases = dict[str, float]()
    for indication in (i for of in material.drug_entries.values() for _, entry in of for i in entry.indications):
        name = str(indication.get("name", "")).lower()
        phases[name] = max(phases.get(name, 0.0), float(indication.get("max_phase") or 0))
    studied = Counter(condition.lower() for _, trial in material.asked_trials for condition in trial.conditions)
    said = _say(
        "uses",
        m=material,
        marketed=listed(sorted(name for name, phase in phases.items() if name and phase >= APPROVED_PHASE), most=8),
        studied=listed([f"{name} ({number})" for name, number in studied.most_common()], most=10),
    )
    return ReportAnswer([said], confidence=CURATED if phases else 0.0)


def _on_status(material: Material) -> ReportAnswer:
    """Answer the status of drugs: marketed, approved, in trials."""
    asked = material.asked
    trials = material.asked_trials
    highest = dict[str, float]()
    for drug, entries in material.drug_entries.items():
        named = [indication for _, entry in entries for indication in entry.indications]
        own = [x for x in named if not asked.conditions or is_condition(x.get("name", ""), asked)]
        highest[drug] = max((float(each.get("max_phase") or 0) for each in own), default=0.0)
    marketed = [drug for drug, phase in highest.items() if phase >= APPROVED_PHASE]
    rest = [drug for drug in (asked.drugs or highest) if drug not in marketed]
    states = Counter((t.overall_status or f"status {NOT_REPORTED}").replace("_", " ").lower() for _, t in trials)
    approved = list[str]()
    labels = list[tuple[str, str]]()
    for record, entry in ((each, each.record) for each in material.pool):
        if isinstance(entry, Label) and is_asked_about(entry.drug or "", asked):
            uses = label_sections(record).get("Indications and usage", "")
            labels += [(entry.drug or "", uses)] if uses else []
        if isinstance(entry, DrugApproval) and entry.first_approved and is_asked_about(entry.drug or "", asked):
            approved.append(f"{entry.drug} {entry.first_approved} ({entry.agency})")
    said = [_say("caution", w=w) for w in cautions(material.pool, asked) if w.heading == "Withdrawn"]
    told = _say(
        "status",
        m=material,
        marketed=listed(marketed, most=8),
        unmarketed=listed([f"{d} (highest phase {highest[d]:g})" if highest.get(d) else d for d in rest], most=6),
        labels=labels,
        trials=listed([f"{number} {state}" for state, number in states.items()], most=6),
        approved=listed(approved, most=6),
    )
    titles = [(f"{trial.nct_id}: {record.citation.title}", record.key) for record, trial in trials]
    return ReportAnswer([*said, told], [_say("trials", trials=titles)])
