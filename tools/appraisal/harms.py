"""Collect harms, by which questions on harm, safety and drugs to avoid are answered: effects, warnings, cautions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from willowbark.tools.records.registry import kind_of

from ..errors import ReadingStopped
from ..lexicon import (
    contraindicated_in,
    contraindications_of,
    find_conditions,
    find_deeds,
    find_drug_classes,
    is_within,
)
from ..lexicon.conditions import is_generic
from ..questions import Question, speaks_of
from ..questions.kinds import ON_HARM, asks_yes_or_no
from ..reading.document import Document, Sentence
from ..reading.numbers import figures
from ..reading.reading import Reading
from ..reading.text import says, sentences
from ..records import Drug, Label
from ..records.evidence import Evidence
from .appraised import Readings
from .candidates import cautions_of, drug_of, find_namer, is_asked_about, is_condition, label_sections, named_drugs
from .posted import SeriousEvents, read_events
from .suitability import told_withdrawals

HarmStance = Literal["reports", "undecided", "silent"]
"""`reports`: the drug is a cause, or worse than no drug. `silent`: apart from title and aim, no sentence names the drug
and is relevant to the question. "No more harm" is not reported: a quarter of such readings were right."""
_SECTIONS = {
    "harm": ("Boxed warning", "Warnings", "Contraindications"),
    "safety": ("Contraindications", "Boxed warning", "Pregnancy", "Drug interactions", "Warnings"),
    "avoid": ("Contraindications", "Boxed warning", "Warnings"),
}
_WEIGHTIEST = ("Withdrawn", "Boxed warning", "Contraindicated", "Once withdrawn", "Avoid")
_HARM = frozenset(("harm", "induced", "causes"))
_DENIED = frozenset(("less", "not"))
"""Cues from `Sentence.signs` for harm, and for its denial."""
NOT_PATIENTS = frozenset(("animal", "in_vitro", "protocol"))
"""Designs without results in patients."""
LONGEST_EFFECT = 3  # words that may name an effect which is not known; more tell a story


class Harm(NamedTuple):
    """A record's finding on one drug and the harm or population asked about."""

    key: str
    drug: str
    stance: HarmStance
    sentence: str
    """A whole sentence of the record that names the harm or population (and the drug, if one does), or reports
    tolerability; empty if silent."""
    of: str
    """The harm or population."""


class Warning(NamedTuple):
    """A sentence of a drug's label, or an entry of a curated table, about the harm or population asked about."""

    key: str
    """The record's key; empty for a curated table."""
    drug: str
    heading: str
    """The label section's heading, or `Withdrawn`, `Contraindicated`, `Boxed warning` or `Avoid`."""
    sentence: str


def subject(asked: Question) -> str:
    """Return the harm or population that a question is about; empty if it names neither.

    >>> from willowbark.tools.questions import parse_question
    >>> subject(parse_question("Is valproate safe in pregnancy for migraine prevention?"))
    'pregnancy'
    """
    return (asked.population if asked.kind != "harm" else None) or (
        " and ".join(asked.conditions or [f"“{word}”" for word in _subjects(asked)])
    )


def _subjects(asked: Question) -> Sequence[str]:
    """List the conditions asked about, else the words beside the drug, as in "does it slow the heart?"."""
    is_closed = 0 < len(asked.unread) <= LONGEST_EFFECT and (asked.kind == "safety" or asks_yes_or_no(asked.text))
    return asked.conditions or ((" ".join(asked.unread),) if is_closed else ())


def harms(pool: Sequence[Evidence], asked: Question, readings: Readings) -> list[Harm]:
    """Find harms in publications that name the subject, in the order of the pool.

    Without a drug in the question all drugs with reported harm are found; with drugs and no harm, all that they cause.
    """
    find = _find_on_subject if subject(asked) else _find_caused
    return [harm for record in pool if kind_of(record) == "publication" for harm in find(record, asked, readings)]


def _read(record: Evidence, drug: str, condition: str, readings: Readings) -> Reading | None:
    """Read a drug in a record; None if the run was stopped before, so that its harms are unknown."""
    try:
        return readings.of(record, drug, condition)[0]
    except ReadingStopped:
        return None


def _find_on_subject(record: Evidence, asked: Question, readings: Readings) -> Iterator[Harm]:
    names_it = _namer(asked)
    condition = subject(asked)
    document = Document.of(record)
    said = [sentence for sentence in document.sentences if names_it(sentence)]
    results = [each for each in said if each.zone not in "TA"]
    said.sort(key=lambda each: (each.zone == "A", each.zone in "TA"))
    for drug, sentence in _drugs_in(said, document, asked) if said else ():
        if (reading := _read(record, drug, condition, readings)) is None:
            continue
        reports = reading.does_harm or _is_harm(reading, asked.kind)
        stance: HarmStance = "reports" if reports and sentence.zone != "A" and not _denies(sentence) else "undecided"
        if stance == "reports":
            shown = sentence.text
        elif asked.kind == "harm":
            shown = next((result.text for result in (sentence, *results) if result in results), "")
        else:
            told = harm_sentences(record, drug)
            decided = sentence.zone in "RC" and reading.verdict in ("contradicts", "neutral")
            shown = told[0] if told else sentence.text if decided else ""
        is_named = bool(asked.drugs or asked.drug_classes)
        is_lead = asked.kind == "harm" and stance == "undecided" and "harm" in sentence.signs and not _denies(sentence)
        if is_named or is_lead or (stance == "reports" and _is_harm(reading, asked.kind)):
            yield Harm(record.key, drug, stance if shown else "silent", shown, condition)


def _find_caused(record: Evidence, asked: Question, readings: Readings) -> Iterator[Harm]:
    """Yield the conditions that a publication reports a drug to cause in patients, with a sentence on both."""
    told: dict[tuple[str, str], str] = {}
    for sentence in Document.of(record).sentences if asked.drugs or asked.drug_classes else ():
        drugs = [drug for drug in sorted(sentence.drugs) if is_asked_about(drug, asked)]
        if not drugs or sentence.zone == "A" or _denies(sentence) or sentence.signs.isdisjoint(_HARM):
            continue
        for name, start, end in sentence.conditions:
            if not (is_generic(name) or sentence.has_as_population(start, end)):
                told |= {(drug, name): told.get((drug, name), sentence.text) for drug in drugs}
    for (drug, condition), text in told.items():
        if (reading := _read(record, drug, condition, readings)) is None:
            continue
        is_cause = reading.role == "cause" and reading.kind == "harm" and reading.effect in ("worse", "not_reported")
        if is_cause and reading.design not in NOT_PATIENTS:
            yield Harm(record.key, drug, "reports", text, condition)


def cautions(pool: Sequence[Evidence], asked: Question) -> list[Warning]:
    """List known cautions on the drugs asked about, independent of readings: withdrawals, then contraindications.

    A question on what to avoid gets all drugs in the table for the condition, within the classes it names; one on a
    class missing from the table gets the drugs in that class.
    """
    people = [*asked.conditions, *filter(None, [asked.population])]
    tabled = [Warning("", drug, each.kind.capitalize(), str(each)) for drug, each in contraindicated_in(people)]
    if not (asked.names_all or asked.drugs):
        wanted = asked.drug_classes
        is_any = asked.kind != "harm"  # a contraindication is not an effect
        listed = [each for each in tabled if is_any or each.heading == "Boxed warning"]
        return [each for each in listed if not wanted or any(is_within(each.drug, name) for name in wanted)]
    found = list[Warning]()
    names_it = _namer(asked)
    is_alone = len(asked.drugs) + len(asked.drug_classes) == 1
    labelled = {drug_of(record) for record in pool if isinstance(record.record, Label)}
    gone = told_withdrawals(pool)
    for drug in (*asked.drugs, *asked.drug_classes):
        entries = [record for record in pool if isinstance(record.record, Drug) and drug_of(record) == drug]
        parts = (caution.partition(": ") for caution in cautions_of(drug, people, entries))
        own = [Warning("", drug, heading, text) for heading, _, text in parts]
        if drug in gone and not any(each.heading == "Withdrawn" for each in own):
            own.insert(0, Warning("", drug, "Withdrawn", gone[drug].partition(": ")[2]))
        if not own and is_alone and not people and drug not in labelled and asked.kind in ON_HARM:  # all its warnings
            kept = [c for c in contraindications_of(drug, None) if asked.kind != "harm" or c.kind == "boxed warning"]
            told = [c for c in kept if any(map(names_it, Document.cut("", c.told).sentences)) or not subject(asked)]
            own = [Warning("", drug, each.kind.capitalize(), str(each)) for each in told]
        found += own or [each for each in tabled if is_within(each.drug, drug)]
    return sorted(found, key=lambda each: _WEIGHTIEST.index(each.heading))


def harm_sentences(record: Evidence, drug: str) -> list[str]:
    """List a record's results and conclusions that name a drug and mention adverse events or tolerability.

    Sentences with the fewest drugs come first, then those with figures.
    """
    results = (sentence for sentence in Document.of(record).sentences if sentence.zone in "RC")
    said = [result for result in results if "harm" in result.signs and drug in result.drugs]
    return [each.text for each in sorted(said, key=lambda each: (len(each.drugs), not figures(each.text)))]


def _denies(sentence: Sentence) -> bool:
    """Whether a sentence says that something decreased or did not happen, ignoring names such as "heart failure"."""
    if sentence.signs.isdisjoint(_DENIED):
        return False
    text = sentence.text
    for condition in reversed(find_conditions(text)):
        text = f"{text[: condition.start]}it{text[condition.end :]}"
    return any(not each.signs.isdisjoint(_DENIED) for each in Document.cut("", text).sentences)


def _is_harm(reading: Reading, kind: str) -> bool:
    """Whether patients did worse with a drug than without; in questions on harm, also if it is a cause."""
    worse = reading.verdict == "contradicts" and reading.effect == "worse" and reading.comparator in ("placebo", "none")
    causes = kind == "harm" and reading.role == "cause" and reading.kind == "harm"
    return reading.design not in NOT_PATIENTS and (worse or causes)


def warnings(pool: Iterable[Evidence], asked: Question) -> list[Warning]:
    """List label warnings on the subject or the other drugs asked about, or all of one drug; the weightiest first."""
    names_it = _label_namer(asked)
    named = (*asked.drugs, *asked.drug_classes)
    found = list[Warning]()
    is_all = not subject(asked) and len(named) < 2
    for record in pool:
        label = record.record
        drug = drug_of(record)
        if not isinstance(label, Label) or drug is None or not (is_asked_about(drug, asked) or not named):
            continue
        others = [each for each in named if not is_within(drug, each)]
        for heading in _SECTIONS[asked.kind]:
            text = label_sections(record).get(heading, "")
            if is_all:
                found += [Warning(record.key, drug, heading, each) for each in sentences(text)]
            elif heading != "Pregnancy" or asked.population in ("pregnancy", "breastfeeding"):
                whole = (heading, asked.population) == ("Pregnancy", "pregnancy")
                far = [
                    each["sentence"] for each in label.named_drugs if each["heading"] == heading
                ]  # beyond the excerpt
                parts = [*text.split("; "), *(each for each in far if each not in text)]
                told = (sentence for part in parts for sentence in Document.cut("", part).sentences)
                for each in told:
                    beside = {*each.drugs, *(c.name for c in find_drug_classes(each.text))} if others else ()
                    meets = any(is_within(one, two) or is_within(two, one) for one in beside for two in others)
                    if whole or meets or names_it(each):
                        found.append(Warning(record.key, drug, heading, each.text))
    return list(dict.fromkeys(found))


def boxed(pool: Iterable[Evidence], drugs: Collection[str]) -> list[Warning]:
    """List the first sentence of the boxed warning of each drug whose retrieved label has one."""
    return [
        Warning(record.key, drug, "Boxed warning", first)
        for record in pool
        if isinstance(record.record, Label) and (drug := drug_of(record)) and drug in drugs
        for first in sentences(label_sections(record).get("Boxed warning", ""))[:1]
    ]


def signals(pool: Iterable[Evidence], asked: Question) -> list[tuple[str, list[str]]]:
    """List by drug the events over-reported according to Open Targets; in questions on one harm, only that."""
    is_any = asked.kind != "harm" or not asked.conditions
    found = []
    for record in pool:
        entry = record.record
        drug = drug_of(record)
        if isinstance(entry, Drug) and drug in asked.drugs:
            events = [signal["term"] for signal in entry.signals if is_any or is_condition(signal["term"], asked)]
            found += [(drug, events)] if events else []
    return found


def first_word(asked: Question, known: Iterable[Warning], label: Sequence[Warning]) -> str:
    """Answer yes, no or with caution if `cautions` or the weightiest `warnings` of each drug decide; else empty."""
    names_it = _label_namer(asked)
    is_on_all = not subject(asked) and len(asked.drugs) + len(asked.drug_classes) < 2
    headings = {each.heading for each in (*known, *(() if is_on_all else label))}
    clauses = [(each.heading, clause) for each in label for clause in each.sentence.split(" and ")]
    said = [(heading, sentence) for heading, clause in clauses for sentence in Document.cut("", clause).sentences]
    said = [(heading, each) for heading, each in said if names_it(each)]
    if asked.kind == "safety" and headings:
        is_forbidden = headings & {"Contraindicated", "Contraindications"} and not is_on_all
        is_forbidden = is_forbidden or any(says("not to be given", each.text) for _, each in said)
        return "No" if "Withdrawn" in headings or is_forbidden else "With caution"
    if asked.kind == "harm" and subject(asked):
        warned = (each for heading, each in said if heading in ("Boxed warning", "Warnings"))
        return "" if all(map(_denies, warned)) else "Yes"
    return "Yes" if asked.kind == "harm" and label and asks_yes_or_no(asked.text) else ""


def serious_events(pool: Iterable[Evidence], asked: Question) -> list[tuple[str, list[SeriousEvents]]]:
    """List serious adverse events by group, as posted by trials of a drug asked about, with the record's key."""
    found = list[tuple[str, list[SeriousEvents]]]()
    for record in pool:
        trial = record.trial
        if not (trial and trial.results and any(is_asked_about(d, asked) for d in named_drugs(record))):
            continue
        if groups := read_events(trial.results.get("serious_adverse_events", [])):
            found.append((record.key, groups))
    return sorted(found, key=lambda each: -sum(group.at_risk or 0 for group in each[1]))


def _drugs_in(said: Sequence[Sentence], document: Document, asked: Question) -> Iterator[tuple[str, Sentence]]:
    """Yield the drugs asked about with the sentence to show; if the question names none, those in the sentences."""
    if not (asked.drugs or asked.drug_classes):
        only = {name for name, _, _ in document.drugs}  # a sentence without a drug is on the record's only drug
        yield from {
            drug: each for each in reversed(said) for drug in sorted(each.drugs or (only if len(only) == 1 else ()))
        }.items()
        return
    for drug in dict.fromkeys(name for name, _, _ in document.drugs):
        if is_asked_about(drug, asked):
            yield drug, next((sentence for sentence in said if drug in sentence.drugs), said[0])


def _namer(asked: Question) -> Callable[[Sentence], bool]:
    """Return a test for whether a sentence names the subject, under any name."""
    population = asked.population if asked.kind != "harm" else None
    if population:
        return lambda sentence: speaks_of(sentence.text, population)
    return find_namer(_subjects(asked))


def _label_namer(asked: Question) -> Callable[[Sentence], bool]:
    """Return the same test for labels, which use phrases ("high potassium") for conditions."""
    names_it = _namer(asked)
    wanted = set(_subjects(asked))
    return lambda each: names_it(each) or not wanted.isdisjoint(deed.name for deed in find_deeds(each.text))
