"""The answer to questions that do not ask what helps: harm, safety, comparison, mechanism, status, what does not help.

Each kind is answered from what its own records say, never from a drug's effect in the condition. Where nothing that was
read bears on it, the first sentence says that, and what was read instead.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import APPROVED_PHASE, Candidate, is_asked_about, is_condition
from willowbark.tools.appraisal.direction import Direction
from willowbark.tools.appraisal.harms import Harm, Stance, Warning, boxed, harms, subject, warnings
from willowbark.tools.mechanism.acting import Acting, acting
from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.questions.kinds import Kind
from willowbark.tools.records import Approval, Drug, Label, Trial
from willowbark.tools.registry import kind_of

from .content import CURATED, NOT_REPORTED, PUBLISHED, ReportSection
from .forms.blocks import Block, Flow, Text, flow, paragraph, points, table
from .material import Material, References, as_asked
from .sections import bears
from .wording import capital, counted, listed, short, tally

LONGEST_QUOTE = 220  # characters of a sentence within the answer; the section below it has it whole
MOST_QUOTED = 12  # sentences in the section
_STANCES: Mapping[Stance, str] = {
    "reports": "with harm",
    "undecided": "undecided",
    "silent": "without a result on harm",
}
_ORDER = list(_STANCES)
_PLACEBO = frozenset(("placebo", "none"))
_UNTOLD = "without a result that could be read"


class Answer(NamedTuple):
    """What is said first, and the section that it rests on."""

    sentences: list[str]
    blocks: list[Block]
    confidence: float | None = None
    """0 to 1, our convention; None where that of the candidates stands for it."""


def answer_of(material: Material, references: References) -> Answer | None:
    """The answer by the question's kind; None where it asks what helps or prevents."""
    answer = _ANSWERS.get(material.asked.kind)
    return answer(material, references) if answer else None


def section_of(answer: Answer | None) -> ReportSection | None:
    """The section below the summary: the whole answer, and what it rests on; None where help is asked for."""
    if answer is None:
        return None
    return ReportSection.of("What was asked", [*map(paragraph, answer.sentences), *answer.blocks])


def only_asked(material: Material, shown: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that a report shows: none where nothing is asked of what helps, which is what they stand for."""
    return list(shown) if material.asked.asks_what_helps else []


def _named(material: Material) -> str:
    named = (*material.asked.drugs, *material.asked.drug_classes)
    return short(listed([as_asked(each, material.dossier.question) for each in named]))


_LEADS = "Single sentences say so, quoted under “What was asked”: leads, no verdict."
_UNWEIGHED = "Single sentences of abstracts, which nothing weighs against each other."


def _harmful(material: Material, references: References) -> Answer:
    asked, about = material.asked, short(subject(material.asked))
    found, told = harms(material.pool, asked, material.readings), warnings(material.pool, asked)
    reported = Counter(h.drug for h in found if h.stance == "reports")
    spoken_of = [*asked.drugs, *(w.drug for w in told), *(h.drug for h in found)]
    drugs = sorted(dict.fromkeys(spoken_of), key=lambda drug: (drug not in asked.drugs, -reported[drug]))
    first = [next(each for each in told if each.drug == drug) for drug in dict.fromkeys(each.drug for each in told)]
    said = [_warned(each, asked.kind, about) for each in first]
    if found and not about:
        caused = Counter(each.of for each in {(h.key, h.of): h for h in found}.values())
        named = listed([f"{harm} ({counted(number, 'publication')})" for harm, number in caused.most_common()], most=8)
        said.append(f"Read as caused by {_named(material)}: {named}. {_LEADS}")
    elif asked.drugs or asked.drug_classes:
        said += _told_of(_named(material), about, found)
    elif found:
        named = listed(
            [f"{drug} ({counted(reported[drug], 'publication')})" for drug in drugs if reported[drug]], most=8
        )
        where = f"with harm in {about}" if asked.kind == "avoid" else f"as causing {about}"
        said.append(f"Read {where}: {named}. {_LEADS}")
    missing = [drug for drug in asked.drugs if drug not in spoken_of[len(asked.drugs) :]]
    if said and not told and not reported:
        whose = "" if asked.kind == "avoid" else f"{_named(material)} and "
        said.insert(0, _nothing(material, f" on {whose}{about}", "surely "))
    elif missing or not said:
        whose = f" on {short(listed(missing))}" if missing else ""
        said.append(
            _nothing(material, f"{whose} and {about}" if whose and about else whose or f" on {about or 'harm'}")
        )
    shown_above = [each.drug for each in first if each.heading == "Boxed warning"]
    said += [
        f"{capital(each.drug)} carries a boxed warning: “{short(each.sentence, LONGEST_QUOTE)}”"
        for each in _boxed_of([drug for drug in drugs if drug not in shown_above], told, material)
    ]
    sure = CURATED if told else PUBLISHED if reported else 0.0
    return Answer(said, _shown_harms(found, told, about, references), sure)


def _boxed_of(drugs: Sequence[str], told: Sequence[Warning], material: Material) -> Iterator[Warning]:
    """The boxed warning of each drug that has one, and of it what is on the subject, where anything is."""
    for any_of_it in boxed(material.pool, drugs):
        on_it = (each for each in told if each.drug == any_of_it.drug and each.heading == "Boxed warning")
        yield next(on_it, any_of_it)


def _nothing(material: Material, what: str, how: str = "") -> str:
    labels = sum(kind_of(record) == "label" for record in material.pool)
    publications = sum(kind_of(record) == "publication" for record in material.pool)
    if material.asked.kind == "avoid":
        what = f" which drugs to avoid{what.replace(' on ', ' in ', 1)}"
    read = f"{counted(publications, 'publication')} and {counted(labels, 'drug label')}"
    says = "reports harm" if material.asked.kind == "safety" else "says it"
    return f"No answer{what}: of {read} read none {how}{says}. That is no evidence of safety."


def _warned(warning: Warning, kind: Kind, about: str) -> str:
    label, heading = f"the United States label of {warning.drug}", warning.heading
    quote = f"“{short(warning.sentence, LONGEST_QUOTE)}”"
    if kind == "harm" and heading != "Contraindications":
        return f"{capital(label)} warns of {about or 'harm'}: {quote} ({heading})."
    if heading == "Contraindications" and about and kind != "harm":
        return f"{capital(label)} has {about} among its contraindications: {quote}"
    return f"On {about or 'safety'} {label} says: {quote} ({heading})."


def _told_of(named: str, about: str, found: Sequence[Harm]) -> Iterator[str]:
    """What publications say, in numbers, and of which drugs where they are several; nothing where none does."""
    by_key: dict[str, list[Harm]] = {}
    for each in found:
        by_key.setdefault(each.key, []).append(each)
    told = []
    for stance, what in _STANCES.items():
        own = [said for said in by_key.values() if stance == min((h.stance for h in said), key=_ORDER.index)]
        drugs = dict.fromkeys(h.drug for said in own for h in said if h.stance == stance)
        several = len({h.drug for h in found}) > 1 and stance != "silent"
        if own:
            told.append(f"{len(own)} {what}{f' ({listed([*drugs], most=8)})' if several else ''}")
    if told:
        speak = "speaks" if len(by_key) == 1 else "speak"
        yield f"{counted(len(by_key), 'publication')} on {named} {speak} of {about}: {listed(told)}."


def _shown_harms(found: Sequence[Harm], told: Sequence[Warning], about: str, references: References) -> list[Block]:
    labels = [
        flow(Text(each.drug, "strong"), f", {each.heading}: “{each.sentence}”", references.cite([each.key]))
        for each in told[:MOST_QUOTED]
    ]
    quoted = [each for each in found if each.sentence]
    often, met = Counter(each.of for each in quoted), Counter[str]()
    turns: list[tuple[int, int, int, int, Harm]] = []
    for each in quoted:  # of several harms, each once before any a second time, the one reported most first
        turns.append((_ORDER.index(each.stance), met[each.of], -often[each.of], len(turns), each))
        met[each.of] += 1
    records = [
        flow(
            Text(each.drug, "strong"),
            f", {_STANCES[each.stance] if about else f'with {each.of}'}: “{each.sentence}”",
            references.cite([each.key]),
        )
        for *_, each in sorted(turns)[:MOST_QUOTED]
    ]
    blocks: list[Block] = []
    for title, lines in (("What the labels say:", labels), ("What publications say:", records)):
        if lines:
            blocks += [paragraph(title), points(lines)]
    return blocks


def _compared(material: Material, references: References) -> Answer:
    drugs = [c for c in material.candidates if is_asked_about(c.drug, material.asked)]
    named = _named(material)
    met = list(_meetings(drugs))
    rows = [_row(each, material, references) for each in met]
    sides = [_beside_placebo(candidate, references) for candidate in drugs]
    where = f" in {short(material.topic)}" if material.asked.conditions else ""
    if met:
        told = [f"{counted(n, 'record')} {what}" for what, n in _tally(met).items() if n]
        first = f"Head to head{where}, {named}: {listed(told)}."
    else:
        first = f"No record read compares {named} head to head{where}."
    against = [f"{c.drug} {_counts(_against_nothing(c))}" for c in drugs]
    second = [f"Against placebo or no treatment: {'; '.join(against)}."] if drugs else []
    blocks: list[Block] = []
    if rows:
        blocks.append(table("Head to head", ("record", "design", "participants", "result"), rows, ("participants",)))
    if sides:
        columns = ("drug", "better", "no better or worse", "undecided", "records")
        blocks.append(table("Each against placebo or no treatment", columns, sides, columns[1:4]))
    is_told = any(_result(each) != _UNTOLD for each in met)
    return Answer([first, *second], blocks, PUBLISHED if is_told else 0.0)


class _Meeting(NamedTuple):
    """A record that tests two drugs, as it was read for each."""

    one: str
    other: str
    record: AppraisedRecord
    theirs: AppraisedRecord
    """The same, read for the other."""


def _meetings(drugs: Sequence[Candidate]) -> Iterator[_Meeting]:
    """Records that test two of the drugs, each once."""
    for place, one in enumerate(drugs):
        for other in drugs[place + 1 :]:
            theirs = {record.key: record for record in other.records}
            for record in one.records:
                if record.key in theirs and any(map(_is_against_active, (record, theirs[record.key]))):
                    yield _Meeting(one.drug, other.drug, record, theirs[record.key])


def _is_against_active(record: AppraisedRecord) -> bool:
    return any(r.comparator == "active" and r.role in ("tested", "comparator", "combined") for r in record.readings[:1])


def _result(met: _Meeting) -> str:
    """Where a record stands between two drugs, where what was read for each agrees on it.

    By what heads read for one of them, out of fold, the drug told as better was so in 35 of 100 records; where both
    were read against an active drug and the effects are each other's opposite, in 64 (`benchmarks/careful.py`).
    """
    if not all(map(_is_against_active, (met.record, met.theirs))):
        return _UNTOLD
    effects = met.record.readings[0].effect, met.theirs.readings[0].effect
    results: Mapping[tuple[str, str], str] = {
        ("better", "worse"): f"for {met.one}",
        ("worse", "better"): f"for {met.other}",
        ("no_difference", "no_difference"): "without a difference",
    }
    return results.get(effects, _UNTOLD)


def _tally(met: Sequence[_Meeting]) -> Mapping[str, int]:
    """How many records each result has, those that say most first."""
    told = Counter(map(_result, met))
    return {what: told[what] for what in sorted(told, key=lambda what: (what == _UNTOLD, -told[what], what))}


def _row(met: _Meeting, material: Material, references: References) -> tuple[Flow, ...]:
    record = met.record
    title = material.records[record.key].citation.title
    size = record.item.sample_size
    return (
        flow(title, references.cite([record.key])),
        flow(record.item.design.label),
        flow(NOT_REPORTED if size is None else f"{size:,}"),
        flow(f"{met.one} against {met.other}: {_result(met)}"),
    )


def _against_nothing(candidate: Candidate) -> list[AppraisedRecord]:
    return [r for r in candidate.records if r.readings and r.readings[0].comparator in _PLACEBO]


def _split(records: Sequence[AppraisedRecord]) -> tuple[int, int, int]:
    """How many records speak for a drug, against it, and neither."""
    better = sum(record.item.direction is Direction.supports for record in records)
    worse = sum(record.item.direction is Direction.contradicts for record in records)
    return better, worse, len(records) - better - worse


def _counts(records: Sequence[AppraisedRecord]) -> str:
    better, worse, undecided = _split(records)
    return f"{better} for, {worse} against, {undecided} undecided"


def _beside_placebo(candidate: Candidate, references: References) -> tuple[Flow, ...]:
    records = _against_nothing(candidate)
    cited = references.cite(record.key for record in records)
    return (flow(candidate.drug), *(flow(str(number)) for number in _split(records)), flow(cited or "none"))


def _mechanism(material: Material, references: References) -> Answer:
    known = _drug_entries(material)
    lines, drugs = [], dict.fromkeys([*material.asked.drugs, *known])
    for drug in drugs:
        entries = [said for _, said in known.get(drug, ())]
        acts = dict.fromkeys(m.get("mechanism_of_action") for said in entries for m in said.mechanisms)
        targets = dict.fromkeys(g for said in entries for m in said.mechanisms for g in m.get("gene_symbols") or ())
        if how := listed([str(each) for each in acts if each]):
            at = f" (targets {listed([*targets])})" if targets else ""
            lines.append((drug, f"{how}{at}", [key for key, _ in known[drug]]))
    told = acting(material.pool, material.asked)
    published = _published(told, references)
    unknown = [drug for drug in material.asked.drugs if drug not in {given for given, _, _ in lines}]
    unknown += () if lines else material.asked.drug_classes
    names = listed([as_asked(each, material.dossier.question) for each in unknown])
    missing = f"No drug database at hand gives a mechanism of action of {names}." if unknown else ""
    if not lines:
        none = missing or "No drug database at hand gives a mechanism of action."
        return Answer([f"{_said_of(told, _named(material))}{none}"], published, PUBLISHED if told else 0.0)
    shown = [f"{capital(drug)} acts as {how}, by the drug databases." for drug, how, _ in lines[:3]]
    items = [flow(Text(drug, "strong"), f": {how}", references.cite(keys)) for drug, how, keys in lines]
    if not material.asked.conditions:
        return Answer([" ".join([*shown, missing]).strip()], [points(items), *published], CURATED)
    graph = MechanismGraph(material.pool, material.asked, [drug for drug, _, _ in lines])
    chains = [graph.chain(drug) for drug, _, _ in lines]
    ends = [flow(Text(chain.drug, "strong"), ": ", *bears(chain, references)) for chain in chains]
    whole, broken = ([c.drug for c in chains if bool(c.missing) is missed] for missed in (False, True))
    topic = short(material.topic)
    bearing = f"Records connect with {topic} what these act on: {listed(whole)}." if whole else ""
    open_ended = f"No record connects the targets of {listed(broken)} with {topic}." if broken else ""
    said = " ".join(filter(None, (*shown, missing, bearing, open_ended)))
    return Answer(
        [said],
        [points(items), paragraph(f"How that bears on {topic}:"), points(ends), *published],
        CURATED,
    )


def _published(told: Sequence[Acting], references: References) -> list[Block]:
    """What publications say of how drugs act, quoted; nothing where none does."""
    if not told:
        return []
    shown = told[:MOST_QUOTED]
    quotes = [flow(Text(each.drug, "strong"), f": “{each.sentence}”", references.cite([each.key])) for each in shown]
    number = f", {len(shown)} of {len(told)}" if len(told) > len(shown) else ""
    order = f", those first that say most alike{number}" if len(told) > 1 else ""
    return [paragraph(f"What publications say of it{order}:"), points(quotes)]


def _said_of(told: Sequence[Acting], named: str) -> str:
    """How many publications say how drugs act, with one of them; empty where none does."""
    if not told:
        return ""
    quote = f"“{short(told[0].sentence, LONGEST_QUOTE)}”"
    if len(told) == 1:
        return f"1 publication tells of the action of {named}: {quote} "
    return f"{len(told)} publications tell of the action of {named}, such as: {quote} {_UNWEIGHED} "


def _drug_entries(material: Material) -> dict[str, list[tuple[str, Drug]]]:
    """What drug databases say of the drugs asked about, or of all where none is named; with the keys of the records."""
    found: dict[str, list[tuple[str, Drug]]] = {}
    for record in material.pool:
        said = record.record
        if isinstance(said, Drug) and said.drug and (not _named(material) or is_asked_about(said.drug, material.asked)):
            found.setdefault(said.drug, []).append((record.key, said))
    return found


def _status(material: Material, references: References) -> Answer:
    asked, known = material.asked, _drug_entries(material)
    topic = short(material.topic)
    highest: dict[str, float] = {}
    for drug, entries in known.items():
        phases = [
            entry.get("max_phase")
            for _, said in entries
            for entry in said.indications
            if not asked.conditions or is_condition(entry.get("name", ""), asked)
        ]
        highest[drug] = max((float(phase) for phase in phases if phase is not None), default=0.0)
    marketed = [drug for drug, phase in highest.items() if phase >= APPROVED_PHASE]
    where = f" for {topic}" if asked.conditions else ""
    said = []
    if marketed:
        said.append(f"Marketed{where}, by the drug databases: {listed(marketed, most=8)}.")
    if rest := [drug for drug in (asked.drugs or highest) if drug not in marketed]:
        told = [f"{drug} (highest phase {highest[drug]:g})" if highest.get(drug) else drug for drug in rest]
        said.append(f"Not listed as marketed{where} there: {listed(told, most=6)}.")
    said += [
        f"The United States label of {record.record.drug} gives: “{short(uses, LONGEST_QUOTE)}”"
        for record in material.pool
        if isinstance(record.record, Label) and is_asked_about(record.record.drug or "", asked)
        for uses in [record.content.partition("Indications and usage: ")[2].partition("\n\n")[0]]
        if uses
    ]
    trials = _trials(material)
    states = Counter((t.overall_status or f"status {NOT_REPORTED}").replace("_", " ").lower() for _, t in trials)
    of_what = _named(material) or topic
    tally = listed([f"{number} {state}" for state, number in states.items()], most=6)
    said.append(f"Registered trials read on {of_what}: {tally or 'none'}.")
    approved = [
        f"{each.drug} {each.first_approved} ({each.agency})"
        for record in material.pool
        if isinstance(each := record.record, Approval)
        and each.first_approved
        and is_asked_about(each.drug or "", asked)
    ]
    said.append(
        f"First approved in the United States, among the products listed: {listed(approved, most=6)}."
        if approved
        else "Which agency approved what, and when, is not in the records at hand."
    )
    items = [flow(f"{t.nct_id}: {material.records[key].citation.title}", references.cite([key])) for key, t in trials]
    return Answer(said, [points(items)] if items else [])


def _trials(material: Material) -> list[tuple[str, Trial]]:
    """Registered trials on the drugs asked about, or on any where none is named."""
    drugs = [c for c in material.candidates if not _named(material) or is_asked_about(c.drug, material.asked)]
    keys = {record.key for candidate in drugs for record in candidate.records}
    found = [(record.key, record.record) for record in material.pool if record.key in keys]
    return [(key, said) for key, said in found if isinstance(said, Trial)]


def _negative(material: Material, references: References) -> Answer:
    asked = material.asked
    drugs = [c for c in material.candidates if not _named(material) or is_asked_about(c.drug, asked)]
    against = sorted((c for c in drugs if c.appraisal.contradicting), key=lambda c: -len(c.appraisal.contradicting))
    where = f" in {short(material.topic)}" if asked.conditions else ""
    if not against:
        named, for_it = _named(material) or "a drug", sum(len(c.appraisal.supporting) for c in drugs)
        if not drugs:
            return Answer([f"No answer: no record read is on {named}{where}. That is no evidence either way."], [])
        helps = (
            f"; {counted(for_it, 'record')} {'speaks' if for_it == 1 else 'speak'} for it" if _named(material) else ""
        )
        none = f"No record read speaks against {named}{where}{helps}{_doubts(drugs)}. That does not show that it helps."
        return Answer([none], [])
    told = [tally(c.drug, c.appraisal.supporting, c.appraisal.contradicting) for c in against]
    refuted = [c.drug for c in against if c.appraisal.quality == "refuted"]
    weighs = f" Refuted by the weight of it: {listed(refuted)}." if refuted else " None is refuted by the weight of it."
    lines = [
        flow(Text(c.drug, "strong"), f": “{record.sentence}”", references.cite([record.key]))
        for c in against
        for record in c.records
        if record.key in c.appraisal.contradicting and record.sentence
    ]
    first = f"Records that speak against a drug's help{where}: {listed(told, most=6)}."
    return Answer([first + weighs], [points(lines[:MOST_QUOTED])])


def _doubts(drugs: Sequence[Candidate]) -> str:
    """The drugs that records were read as speaking against, too uncertainly to count."""
    told = [c.drug for c in drugs if Direction.contradicts in c.appraisal.leaning.values()]
    return f"; read so, but too uncertainly to count: {listed(told, most=6)}" if told else ""


def _other(material: Material, references: References) -> Answer:
    """What is not answered; what helps stands after it."""
    return Answer(["This question is not one that Willowbark answers; what was read instead is which drugs help."], [])


_ANSWERS: Mapping[Kind, Callable[[Material, References], Answer]] = {
    "harm": _harmful,
    "avoid": _harmful,
    "safety": _harmful,
    "compare": _compared,
    "mechanism": _mechanism,
    "status": _status,
    "negative": _negative,
    "other": _other,
}
