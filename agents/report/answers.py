"""Answers questions other than what helps: harm, safety, comparison, mechanism, status, what does not help.

Each kind is answered from its own records, never from a drug's effect in the condition. If no record bears on it, the
first sentence says so, and what was read instead.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.approvals import APPROVED_PHASE, is_condition
from willowbark.tools.appraisal.candidates import Candidate, is_asked_about
from willowbark.tools.appraisal.harms import (
    Harm,
    Stance,
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
from willowbark.tools.mechanism.hypotheses import MechanismFindings
from willowbark.tools.questions.kinds import ON_HARM, Kind
from willowbark.tools.records import Approval, Label, Trial
from willowbark.tools.registry import kind_of
from willowbark.tools.wording import as_spelt, counted, listed, short

from ..asking.claims import harm_told
from .content import CURATED, NOT_REPORTED, PUBLISHED, ReportSection
from .findings import link_to_condition
from .forms.blocks import Block, Flow, flow, paragraph, table
from .material import Material, References
from .safety import MOST_GROUPS, MOST_TRIALS, count_events
from .texts import write_blocks, write_line, write_lines

MOST_QUOTED = 12  # sentences in the section
MOST_HARMED = 6  # drugs that did harm, beside what helps
MOST_OF_SEVERAL = 3  # sentences of labels on drug combinations
_HARM_STANCES: Mapping[Stance, str] = {
    "reports": "with harm",
    "undecided": "inconclusive",
    "silent": "without a result on harm",
}
_ORDER = list(_HARM_STANCES)
_NO_RESULT = "without a clear result"


class Answer(NamedTuple):
    """The answer's first sentences and the section that supports them."""

    sentences: list[str]
    blocks: list[Block]
    confidence: float | None = None
    """0 to 1, our convention; None if the candidates' confidence applies."""

    def section(self, first_screen: str) -> ReportSection:
        """Build the section below the summary: what the first screen left out, and the evidence."""
        left_out = (paragraph(sentence) for sentence in self.sentences if sentence not in first_screen)
        return ReportSection.of("What was asked", [*left_out, *self.blocks])


def answer_of(material: Material, mechanisms: MechanismFindings, references: References) -> Answer | None:
    """Answer each kind of question asked; None if it only asks what helps or prevents."""
    own = _answer_of(material.asked.kind, material, mechanisms, references)
    parts, asked = [own] if own else [], material.asked
    if asked.asks_openly and asked.drugs:  # in any use: reasons against giving it there
        known = [write_line("answers", "caution", w=each) for each in cautions(material.pool, asked)]
        parts += [Answer(known, [])] if known else []
    for kind in asked.also:
        if kind in ("avoid", "safety"):  # harms are read once for the whole question
            parts.append(Answer(write_lines("answers", "not_here"), []))
        elif kind != "harm" and (part := _answer_of(kind, material, mechanisms, references)):
            parts.append(part)
    if {"harm", "negative"} & {*asked.also} and asked.kind not in ON_HARM:
        parts.append(_on_harm_beside(material, references))
    if not parts:
        return None
    sentences = dict.fromkeys(sentence for part in parts for sentence in part.sentences)
    return Answer([*sentences], [block for part in parts for block in part.blocks], own.confidence if own else None)


def _answer_of(kind: Kind, material: Material, mechanisms: MechanismFindings, references: References) -> Answer | None:
    match kind:
        case "harm" | "avoid" | "safety":
            return answer_on_harm(material, references)
        case "compare":
            return _on_comparison(material, references)
        case "mechanism":
            return _on_mechanism(material, mechanisms, references)
        case "status":
            return _on_status(material, references)
        case "negative":
            return _on_no_help(material, references)
        case "uses":
            return _on_uses(material)
        case "other":
            return Answer(write_lines("answers", "other"), [])
    return None


def _on_uses(material: Material) -> Answer:
    """Answer what the drugs are marketed for and in which conditions registered trials study them."""
    phases = dict[str, float]()
    for entries in material.drug_entries.values():
        for indication in (each for _, entry in entries for each in entry.indications):
            name = str(indication.get("name", "")).lower()
            phases[name] = max(phases.get(name, 0.0), float(indication.get("max_phase") or 0))
    studied = Counter(
        condition.lower()
        for key in {record.key for candidate in _drugs_asked(material) for record in candidate.records}
        if isinstance(trial := material.records[key].record, Trial)
        for condition in trial.conditions
    )
    said = write_lines(
        "answers",
        "uses",
        named=_asked_names(material),
        has_entry=bool(material.drug_entries),
        marketed=listed(sorted(name for name, phase in phases.items() if name and phase >= APPROVED_PHASE), most=8),
        studied=listed([f"{name} ({number})" for name, number in studied.most_common()], most=10),
    )
    return Answer(said, [], CURATED if phases else 0.0)


def _asked_names(material: Material) -> str:
    """List the drugs and classes named in the question, as spelt there; empty if none."""
    named = (*material.asked.drugs, *material.asked.drug_classes)
    return short(listed([as_spelt(each, material.dossier.question) for each in named]))


def _drugs_asked(material: Material) -> list[Candidate]:
    """Return the drugs asked about; all if none is named."""
    return [c for c in material.candidates if not _asked_names(material) or is_asked_about(c.drug, material.asked)]


def answer_on_harm(material: Material, references: References) -> Answer:
    """Answer on harm, safety or what to avoid: what is known, then labels, then publications."""
    asked, about = material.asked, short(subject(material.asked))
    found, labelled = harms(material.pool, asked, material.readings), warnings(material.pool, asked)
    known = cautions(material.pool, asked)
    reported = Counter(h.drug for h in found if h.stance == "reports")
    mentioned = {*(w.drug for w in (*known, *labelled)), *(h.drug for h in found)}
    drugs = sorted(
        dict.fromkeys([*asked.drugs, *(w.drug for w in labelled), *(h.drug for h in found)]),
        key=lambda drug: (drug not in asked.drugs, -reported[drug]),
    )
    first = list({each.drug: each for each in reversed(labelled)}.values())[::-1]
    if not about:  # harms of one drug in general, by section, or of a combination
        first = list({(w.drug, w.heading): w for w in reversed(labelled)}.values())[::-1][:MOST_OF_SEVERAL]
    labels = [write_line("answers", "warning", w=each, kind=asked.kind, about=about) for each in first]
    if asked.names_all:
        said = [write_line("answers", "caution", w=each) for each in known]
        gone = sum(each.heading == "Withdrawn" for each in known)
        if asked.kind == "harm":  # the harm itself on a label comes before contraindications
            said[gone:gone], labels = labels, []
    else:
        kinds = dict.fromkeys(each.heading for each in known)
        avoided = {kind: [each.drug for each in known if each.heading == kind] for kind in kinds}
        said = [
            write_line("answers", "avoided", kind=kind, drugs=listed(list(dict.fromkeys(drugs)), most=12))
            for kind, drugs in avoided.items()
        ]
    said += labels
    if said and (word := first_word(asked, known, first)):
        said[0] = f"{word}: {said[0][0].lower()}{said[0][1:]}"
    is_known, shown = bool(said), [each.drug for each in first if each.heading == "Boxed warning"]
    boxes = [*boxed(material.pool, drugs), *(each for each in reversed(labelled) if each.heading == "Boxed warning")]
    of_others = [each for drug, each in {each.drug: each for each in boxes}.items() if drug not in shown]
    others = [write_line("answers", "warning", w=each, kind=asked.kind, about="") for each in of_others]
    said += others if asked.names_all else []
    posted = [
        (key, what, listed([count_events(each) for each in groups], most=MOST_GROUPS))
        for key, what, groups in serious_events(material.pool, asked)[:MOST_TRIALS]
    ]
    said += write_lines("answers", "events", posted=posted) if posted else []
    said += [
        write_line("answers", "signals", drug=drug, events=listed(events, most=5))
        for drug, events in signals(material.pool, asked)
    ]
    if found and not about:
        caused = Counter(each.of for each in {(h.key, h.of): h for h in found}.values())
        named = _with_publications(caused)
        said.append(write_line("answers", "leads", what=f"Reported harms of {_asked_names(material)}", drugs=named))
    elif asked.drugs or asked.drug_classes:
        published = list(_harm_in_publications(_asked_names(material), about, found, asked.drugs))
        said = [f"Reported: {published[0]}", *said] if reported and not is_known else [*said, *published]
    else:
        reports = f"Reported with harm in {about}" if asked.kind == "avoid" else f"Reported as causing {about}"
        for stance, what in (("reports", reports), ("undecided", f"Named beside {about}, inconclusive")):
            named = _with_publications(Counter(each.drug for each in found if each.stance == stance))
            said += [write_line("answers", "leads", what=what, drugs=named)] if named else []
    missing = [as_spelt(each, asked.text) for each in asked.drugs if each not in mentioned]
    if not (is_known or reported):
        whose, leads = "" if asked.kind == "avoid" else _asked_names(material), [x for x in said if x not in others]
        said.insert(0, _nothing_on_harm(material, listed([whose, about]) or "harm", "clearly" if leads else ""))
    elif missing:
        said.append(_nothing_on_harm(material, listed([short(listed(missing)), about])))
    said += [] if asked.names_all else others
    sure = CURATED if is_known else PUBLISHED if reported else 0.0
    return Answer(said, _harm_quotes(found, [*labelled, *of_others], about, references), sure)


def _with_publications(times: Counter[str]) -> str:
    return listed([f"{name} ({counted(number, 'publication')})" for name, number in times.most_common()], most=8)


def _nothing_on_harm(material: Material, what: str, how: str = "") -> str:
    return write_line(
        "answers",
        "no_evidence",
        what=f"{'which drugs to avoid in ' * (material.asked.kind == 'avoid')}{what}",
        publications=sum(kind_of(record) == "publication" for record in material.pool),
        labels=sum(kind_of(record) == "label" for record in material.pool),
        how=how,
        says="reports such harm" if material.asked.kind == "safety" else "says so",
    )


def _harm_in_publications(named: str, about: str, found: Sequence[Harm], asked: Sequence[str]) -> Iterator[str]:
    """Yield counts of publications by finding, with drugs other than the one asked about; nothing without any."""
    by_key, by_drug = dict[str, int](), dict[str, int]()
    for each in found:
        place = _ORDER.index(each.stance)
        by_key[each.key] = min(place, by_key.get(each.key, place))
        by_drug[each.drug] = min(place, by_drug.get(each.drug, place))
    is_the_one = len(asked) == 1 and list(by_drug) == list(asked)
    sides = []
    for place, stance in enumerate(_HARM_STANCES.values()):
        if number := sum(each == place for each in by_key.values()):
            drugs = [drug for drug, each in by_drug.items() if each == place]
            sides.append(f"{number} {stance}{f' ({listed(drugs, most=8)})' if drugs and not is_the_one else ''}")
    if sides:
        yield write_line("answers", "publications", number=len(by_key), named=named, about=about, sides=listed(sides))


def _harm_quotes(found: Sequence[Harm], labelled: Sequence[Warning], about: str, references: References) -> list[Block]:
    labels = [(each.drug, each.heading, each.sentence, each.key) for each in labelled[:MOST_QUOTED]]
    quoted = [each for each in found if each.sentence]
    often, met = Counter(each.of for each in quoted), Counter[str]()
    turns: list[tuple[int, int, int, int, Harm]] = []
    for each in quoted:  # alternate between harms, the most reported first
        turns.append((_ORDER.index(each.stance), met[each.of], -often[each.of], len(turns), each))
        met[each.of] += 1
    harms_of: dict[tuple[str, str, str], list[str]] = {}
    for *_, each in sorted(turns):
        harms_of.setdefault((each.drug, each.sentence, each.key), []).append(
            _HARM_STANCES[each.stance] if about else each.of
        )
    records = [
        (drug, whats[0] if about else f"with {listed(list(dict.fromkeys(whats)))}", sentence, key)
        for (drug, sentence, key), whats in list(harms_of.items())[:MOST_QUOTED]
    ]
    blocks: list[Block] = []
    for title, items in (("What labels say", labels), ("What publications say", records)):
        blocks += write_blocks("answers", "quotes", references.cite, title=title, items=items) if items else ()
    return blocks


def _on_comparison(material: Material, references: References) -> Answer:
    """Answer which drug is better: head-to-head records, then each drug against placebo.

    A record's reading for one drug alone named the better one in 35 of 100 records; two readings against an active drug
    with opposite effects, in 64.
    """
    drugs = [c for c in material.candidates if is_asked_about(c.drug, material.asked)]
    results, rows = Counter[str](), []
    for one, other in combinations(drugs, 2):
        theirs_of = {record.key: record for record in other.records}
        for record in one.records:
            both = [each for each in (record, theirs_of.get(record.key)) if each]
            if len(both) < 2 or not any(map(_is_against_active, both)):
                continue
            verdicts = {
                ("better", "worse"): f"for {one.drug}",
                ("worse", "better"): f"for {other.drug}",
                ("no_difference", "no_difference"): "without a difference",
            }
            is_told = all(map(_is_against_active, both))
            effects = (both[0].readings[0].effect, both[1].readings[0].effect) if is_told else ("", "")
            result, size = verdicts.get(effects, _NO_RESULT), record.item.sample_size
            results[result] += 1
            rows.append(
                (
                    flow(material.records[record.key].citation.title, references.cite([record.key])),
                    flow(record.item.design.label),
                    flow(NOT_REPORTED if size is None else f"{size:,}"),
                    flow(f"{one.drug} against {other.drug}: {result}"),
                )
            )
    ordered = sorted(results, key=lambda what: (what == _NO_RESULT, -results[what], what))
    sides = listed([f"{counted(results[what], 'study')} {what}" for what in ordered], most=6)
    where = f"in {short(material.topic)}" if material.asked.conditions else ""
    said = write_lines("answers", "head_to_head", named=_asked_names(material), where=where, sides=sides)
    against_placebo, counts = list[tuple[Flow, ...]](), list[str]()
    for drug in drugs:
        records = [r for r in drug.records if r.readings and r.readings[0].comparator in ("placebo", "none")]
        directions = Counter(record.item.direction for record in records)
        better, worse = directions[Direction.supports], directions[Direction.contradicts]
        split = better, worse, len(records) - better - worse
        cited = references.cite(record.key for record in records)
        against_placebo.append((flow(drug.drug), *(flow(str(number)) for number in split), flow(cited or "none")))
        counts.append(f"{drug.drug} {better} supporting, {worse} contradicting, {split[2]} inconclusive")
    blocks: list[Block] = []
    if rows:
        blocks.append(table("Head to head", ("study", "design", "participants", "result"), rows, ("participants",)))
    if drugs:
        said += write_lines("answers", "against_placebo", drugs="; ".join(counts))
        columns = ("drug", "better", "no better or worse", "inconclusive", "studies")
        blocks.append(table("Each against placebo or no treatment", columns, against_placebo, columns[1:4]))
    return Answer(said, blocks, PUBLISHED if any(what != _NO_RESULT for what in results) else 0.0)


def _is_against_active(record: AppraisedRecord) -> bool:
    return any(r.comparator == "active" and r.role in ("tested", "comparator", "combined") for r in record.readings[:1])


def _on_mechanism(material: Material, mechanisms: MechanismFindings, references: References) -> Answer:
    """Answer how drugs act and how that is linked to the condition asked about."""
    known = list[tuple[str, str, list[str]]]()
    for drug in dict.fromkeys([*material.asked.drugs, *material.drug_entries]):
        entries = material.drug_entries.get(drug, [])
        actions = dict.fromkeys(m.get("mechanism_of_action") for _, entry in entries for m in entry.mechanisms)
        targets = dict.fromkeys(
            g for _, entry in entries for m in entry.mechanisms for g in m.get("gene_symbols") or ()
        )
        if how := listed([str(each) for each in actions if each]):
            at = f" (targets {listed([*targets])})" if targets else ""
            known.append((drug, f"{how}{at}", [key for key, _ in entries]))
    missing = [drug for drug in material.asked.drugs if drug not in {drug for drug, _, _ in known}]
    missing += () if known else material.asked.drug_classes
    names = listed([as_spelt(each, material.dossier.question) for each in missing])
    shown = [(drug, how) for drug, how, _ in known[:3]]
    topic = short(material.topic) if material.asked.conditions else ""
    chains = [mechanisms.chains[drug] for drug, _, _ in known] if topic else []
    linked, unlinked = (listed([c.drug for c in chains if bool(c.missing) is broken]) for broken in (False, True))
    said = write_line("answers", "mechanism", known=shown, missing=names, topic=topic, linked=linked, unlinked=unlinked)
    if not known:
        return Answer([said], [], 0.0)
    blocks = write_blocks("answers", "actions", references.cite, known=known)
    if chains:
        ends = [(chain.drug, link_to_condition(chain)) for chain in chains]
        blocks += write_blocks("mechanism", "bearing", references.cite, topic=topic, ends=ends)
    return Answer([said], list(blocks), CURATED)


def _on_no_help(material: Material, references: References) -> Answer:
    """Answer what does not help: the records that contradict a benefit."""
    drugs, named = _drugs_asked(material), _asked_names(material)
    against = sorted(
        (c for c in drugs if c.appraisal.contradicting),
        key=lambda c: (_is_disputed(c), -len(c.appraisal.contradicting)),
    )
    tallies = [
        f"{short(c.drug)} ({len(c.appraisal.contradicting)} contradicting, {len(c.appraisal.supporting)} supporting)"
        for c in against
    ]
    failed = sum(not _is_disputed(c) for c in against)
    said = write_lines(
        "answers",
        "no_help",
        named=named or "a drug",
        where=f"in {short(material.topic)}" if material.asked.conditions else "",
        drugs=listed(tallies[:failed], most=6),
        disputed=listed(tallies[failed:], most=6),
        refuted=listed([c.drug for c in against if c.appraisal.quality == "refuted"]),
        support=sum(len(c.appraisal.supporting) for c in drugs),
        names_drug=bool(named),
        has_records=bool(drugs),
    )
    quotes = [
        (c.drug, "", record.sentence, record.key)
        for c in against
        for record in c.records
        if record.key in c.appraisal.contradicting and record.sentence
    ]
    blocks = write_blocks("answers", "quotes", references.cite, title="", items=quotes[:MOST_QUOTED])
    return Answer(said, list(blocks))


def _is_disputed(candidate: Candidate) -> bool:
    """Whether more studies support a drug than contradict it."""
    return len(candidate.appraisal.supporting) > len(candidate.appraisal.contradicting)


def _on_harm_beside(material: Material, references: References) -> Answer:
    """Answer which drugs did harm, beside what helps: studies in which patients did worse, and harms reported."""
    found = {"worse": dict[str, list[AppraisedRecord]](), "harm": dict[str, list[AppraisedRecord]]()}
    for candidate in _drugs_asked(material):
        for record in (each for each in candidate.records if harm_told(each)):
            what = "worse" if record.key in candidate.appraisal.contradicting else "harm"
            found[what].setdefault(candidate.drug, []).append(record)
    drugs = {what: sorted(each, key=lambda drug: -len(each[drug])) for what, each in found.items()}
    worse, harmed = (
        listed([f"{short(drug)} ({counted(len(found[what][drug]), 'study')})" for drug in named], most=MOST_HARMED)
        for what, named in drugs.items()
    )
    read = material.counts["peer_reviewed"] + material.counts["preprints"]
    said = write_lines("answers", "harm_beside", worse=worse, harmed=harmed, read=read)
    quotes = [
        (drug, what, harm_told(found[what][drug][0]), found[what][drug][0].key)
        for what, named in drugs.items()
        for drug in named[:MOST_HARMED]
    ]
    return Answer(said, list(write_blocks("answers", "quotes", references.cite, title="", items=quotes)))


def _on_status(material: Material, references: References) -> Answer:
    """Answer the status of drugs: marketed, approved, in trials."""
    asked, topic = material.asked, short(material.topic)
    highest: dict[str, float] = {}
    for drug, entries in material.drug_entries.items():
        indications = (indication for _, entry in entries for indication in entry.indications)
        phases = [
            indication.get("max_phase")
            for indication in indications
            if not asked.conditions or is_condition(indication.get("name", ""), asked)
        ]
        highest[drug] = max((float(phase) for phase in phases if phase is not None), default=0.0)
    marketed = [drug for drug, phase in highest.items() if phase >= APPROVED_PHASE]
    rest = [drug for drug in (asked.drugs or highest) if drug not in marketed]
    keys = {record.key for candidate in _drugs_asked(material) for record in candidate.records}
    trials = [(r.key, r.record) for r in material.pool if r.key in keys and isinstance(r.record, Trial)]
    states = Counter((t.overall_status or f"status {NOT_REPORTED}").replace("_", " ").lower() for _, t in trials)
    approved, labels = list[str](), list[tuple[str, str]]()
    for record in material.pool:
        entry = record.record
        if isinstance(entry, Label) and is_asked_about(entry.drug or "", asked):
            uses = record.content.partition("Indications and usage: ")[2].partition("\n\n")[0]
            labels += [(entry.drug or "", uses)] if uses else []
        if isinstance(entry, Approval) and entry.first_approved and is_asked_about(entry.drug or "", asked):
            approved.append(f"{entry.drug} {entry.first_approved} ({entry.agency})")
    gone = [write_line("answers", "caution", w=w) for w in cautions(material.pool, asked) if w.heading == "Withdrawn"]
    said = gone + write_lines(
        "answers",
        "status",
        where=f"for {topic}" if asked.conditions else "",
        marketed=listed(marketed, most=8),
        unmarketed=listed([f"{d} (highest phase {highest[d]:g})" if highest.get(d) else d for d in rest], most=6),
        labels=labels,
        of_what=_asked_names(material) or topic,
        trials=listed([f"{number} {state}" for state, number in states.items()], most=6),
        approved=listed(approved, most=6),
    )
    titles = [(f"{trial.nct_id}: {material.records[key].citation.title}", key) for key, trial in trials]
    return Answer(said, list(write_blocks("answers", "trials", references.cite, trials=titles)))
