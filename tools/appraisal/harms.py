"""What records say of harm: who reports it, what is told of it, and what labels warn of.

Questions on harm, on safety and on what to avoid are answered from these, never from what speaks for a drug's effect.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from willowbark.tools.registry import kind_of

from ..errors import ReadingStopped
from ..evidence import Evidence
from ..lexicon import canonical_drug, contraindicated_in, find_conditions, find_drug_classes, is_class_member
from ..lexicon.conditions import is_generic
from ..questions import Question
from ..questions.kinds import asks_yes_or_no
from ..questions.question import speaks_of
from ..reading.document import Document, Sentence
from ..reading.numbers import figures
from ..reading.reading import Reading
from ..reading.text import sentences
from ..records import Drug, Label
from .appraised import Readings
from .approvals import cautions_of, drug_of, find_namer, is_condition, label_sections
from .candidates import is_asked_about, named_drugs
from .posted import SeriousEvents, read_events

Stance = Literal["reports", "undecided", "silent"]
"""`reports`: it has the drug as a cause, or as worse than without. `silent`: beyond its title and its aim no sentence
of its names the drug and bears on what is asked. That it did no more harm is not told: of what was
read so on records not learnt from, a quarter was right."""
_SECTIONS = {
    "harm": ("Boxed warning", "Warnings", "Contraindications"),
    "safety": ("Contraindications", "Boxed warning", "Pregnancy", "Warnings"),
    "avoid": ("Contraindications", "Boxed warning", "Warnings"),
}
_WEIGHTIEST = ("Withdrawn", "Boxed warning", "Contraindicated", "Avoid")


_HARM, _DENIED = frozenset(("harm", "induced", "causes")), frozenset(("less", "not"))
"""Groups of words, of those in `reading/signs.tsv`."""
NOT_PATIENTS = frozenset(("animal", "in_vitro", "protocol"))
"""Designs that report nothing of patients."""


class Harm(NamedTuple):
    """What one record says of one drug and the harm, or the people, asked about."""

    key: str
    drug: str
    stance: Stance
    sentence: str
    """Of the record, whole: it names the harm or the people, and the drug where any sentence names both, or tells how
    these bore the drug; empty of a silent one."""
    of: str
    """The harm or the people."""


class Warning(NamedTuple):
    """What a drug's label, or a curated table, says of the harm, or the people, asked about."""

    key: str
    """Of the record; empty of a curated table."""
    drug: str
    heading: str
    """Of the label's section; else `Withdrawn`, `Contraindicated`, `Boxed warning` or `Avoid`."""
    sentence: str
    """Of the label, whole; what the table holds, with its source."""


def subject(asked: Question) -> str:
    """The harm or the people that a question is about; empty where it names neither.

    >>> from willowbark.tools.questions import parse_question
    >>> subject(parse_question("Is valproate safe in pregnancy for migraine prevention?"))
    'pregnancy'
    """
    return (asked.population if asked.kind != "harm" else None) or (
        " and ".join(asked.conditions or [f"“{word}”" for word in _subjects(asked)])
    )


def _subjects(asked: Question) -> Sequence[str]:
    """The conditions asked about; else the one word that a question such as "does it damage the lungs?" has beside."""
    is_closed = asked.kind == "harm" and len(asked.unread) == 1 and asks_yes_or_no(asked.text)
    return asked.conditions or (asked.unread if is_closed else ())


def harms(pool: Sequence[Evidence], asked: Question, readings: Readings) -> list[Harm]:
    """What publications say, in the order of the pool; only those count that name the subject.

    Args:
        pool: all records found.
        asked: the question; one that names no drug asks about all, and gets those alone that harm is reported of. One
            that names drugs and no harm asks what they cause.
        readings: of the run.
    """
    if not subject(asked):
        return [harm for record in pool for harm in _caused(record, asked, readings)]
    names_it, condition = _namer(asked), subject(asked)
    found = []
    for record in pool:
        document = Document.of(record)
        said = [sentence for sentence in document.sentences if names_it(sentence)]
        if kind_of(record) != "publication" or not said:
            continue
        results = [each for each in said if each.zone not in "TA"]
        said.sort(key=lambda each: (each.zone == "A", each.zone in "TA"))
        for drug, sentence in _drugs_in(said, document, asked):
            try:
                reading = readings.of(record, drug, condition)[0]
            except ReadingStopped:  # left unread: nothing is known of its harms
                continue
            reports = reading.does_harm or _is_harm(reading, asked.kind)
            stance: Stance = "reports" if reports and sentence.zone != "A" and not _denies(sentence) else "undecided"
            if stance == "reports":
                shown = sentence.text
            elif asked.kind == "harm":
                shown = next((each.text for each in (sentence, *results) if each in results), "")
            else:
                told = harm_sentences(record, drug)
                decided = sentence.zone in "RC" and reading.verdict in ("contradicts", "neutral")
                shown = told[0] if told else sentence.text if decided else ""
            if asked.drugs or asked.drug_classes or (stance == "reports" and _is_harm(reading, asked.kind)):
                found.append(Harm(record.key, drug, stance if shown else "silent", shown, condition))
    return found


def _caused(record: Evidence, asked: Question, readings: Readings) -> Iterator[Harm]:
    """What a publication has a drug as a cause of in patients, where a sentence names both and speaks of harm."""
    if kind_of(record) != "publication" or not (asked.drugs or asked.drug_classes):
        return
    told: dict[tuple[str, str], str] = {}
    for sentence in Document.of(record).sentences:
        drugs = [drug for drug in sorted(sentence.drugs) if is_asked_about(drug, asked)]
        if not drugs or sentence.zone == "A" or _denies(sentence) or sentence.signs.isdisjoint(_HARM):
            continue
        for name, start, end in sentence.conditions:
            if not (is_generic(name) or sentence.has_as_population(start, end)):
                told |= {(drug, name): told.get((drug, name), sentence.text) for drug in drugs}
    for (drug, condition), text in told.items():
        try:
            reading = readings.of(record, drug, condition)[0]
        except ReadingStopped:  # left unread
            continue
        is_cause = reading.role == "cause" and reading.kind == "harm" and reading.effect in ("worse", "not_reported")
        if is_cause and reading.design not in NOT_PATIENTS:
            yield Harm(record.key, drug, "reports", text, condition)


def cautions(pool: Sequence[Evidence], asked: Question) -> list[Warning]:
    """What is known against the drugs asked about, whatever was read: withdrawals, then contraindications by the table.

    A question on what to avoid that names no drug is answered by all drugs that the table holds for the condition.
    """
    people = [*asked.conditions, *filter(None, [asked.population])]
    if asked.kind == "avoid" and not (asked.drugs or asked.drug_classes):
        return [Warning("", drug, each.kind.capitalize(), str(each)) for drug, each in contraindicated_in(people)]
    found = []
    for drug in (*asked.drugs, *asked.drug_classes):
        entries = [record for record in pool if isinstance(record.record, Drug) and drug_of(record) == drug]
        for caution in cautions_of(drug, people, entries):
            heading, _, text = caution.partition(": ")
            found.append(Warning("", drug, heading, text))
    return sorted(found, key=lambda each: _WEIGHTIEST.index(each.heading))


def interactions(pool: Iterable[Evidence], asked: Question) -> list[Warning]:
    """What the label of one drug asked about says of another, or of a class, asked about beside it."""
    found = []
    for record in pool:
        label, drug = record.record, drug_of(record)
        if not isinstance(label, Label) or drug not in asked.drugs:
            continue
        others = [each for each in asked.drugs if each != drug]
        for named in label.named_drugs:
            other = canonical_drug(named["drug"]) or named["drug"]
            if other in others or any(is_class_member(other, each) for each in asked.drug_classes):
                found.append(Warning(record.key, drug, named["heading"], named["sentence"]))
        for heading in ("Contraindications", "Boxed warning", "Drug interactions", "Warnings"):
            for sentence in Document.cut("", label_sections(record).get(heading, "")).sentences:
                classes = {each.name for each in find_drug_classes(sentence.text)}
                if not classes.isdisjoint(asked.drug_classes) or any(
                    is_class_member(o, c) for o in others for c in classes
                ):
                    found.append(Warning(record.key, drug, heading, sentence.text))
    order = list(_SECTIONS["safety"])
    found.sort(key=lambda each: order.index(each.heading) if each.heading in order else 1)
    return list(dict.fromkeys(found))


def harm_sentences(record: Evidence, drug: str) -> list[str]:
    """The results and conclusions of a record that name a drug and speak of adverse events or of how it was tolerated.

    Those that name the fewest drugs come first, and of these those with figures.
    """
    said = [each for each in Document.of(record).part("RC") if "harm" in each.signs and drug in each.drugs]
    return [each.text for each in sorted(said, key=lambda each: (len(each.drugs), not figures(each.text)))]


def _denies(sentence: Sentence) -> bool:
    """Whether a sentence says that something became less or did not happen; heart failure is no failure of a drug."""
    if sentence.signs.isdisjoint(_DENIED):
        return False
    text = sentence.text
    for named in reversed(find_conditions(text)):
        text = f"{text[: named.start]}it{text[named.end :]}"
    return any(not each.signs.isdisjoint(_DENIED) for each in Document.cut("", text).sentences)


def _is_harm(reading: Reading, kind: str) -> bool:
    """Whether patients did worse with a drug than without; a cause of what is asked about counts where causes are."""
    worse = reading.verdict == "contradicts" and reading.effect == "worse" and reading.comparator in ("placebo", "none")
    causes = kind == "harm" and reading.role == "cause" and reading.kind == "harm"
    return reading.design not in NOT_PATIENTS and (worse or causes)


def warnings(pool: Iterable[Evidence], asked: Question) -> list[Warning]:
    """What labels say of the subject, the weightiest section of each first; boxed warnings whatever they are of."""
    names_it = _namer(asked) if subject(asked) else None
    if names_it is None and len(asked.drugs) + len(asked.drug_classes) > 1:
        return []  # drugs taken together: `interactions`
    found = []
    for record in pool:
        drug = record.record.drug if isinstance(record.record, Label) else None
        if drug is None or not (is_asked_about(drug, asked) or not (asked.drugs or asked.drug_classes)):
            continue
        told = label_sections(record)
        for heading in _SECTIONS[asked.kind]:
            whole = heading == "Pregnancy" and asked.population == "pregnancy"
            for sentence in Document.cut("", told.get(heading, "")).sentences:
                if names_it is None or whole or names_it(sentence):
                    found.append(Warning(record.key, drug, heading, sentence.text))
    return found


def boxed(pool: Iterable[Evidence], drugs: Iterable[str]) -> list[Warning]:
    """The first sentence of the boxed warning of each drug whose label is at hand and has one."""
    wanted, found = set(drugs), []
    for record in pool:
        if isinstance(record.record, Label) and record.record.drug in wanted:
            first = sentences(label_sections(record).get("Boxed warning", ""))[:1]
            found += [Warning(record.key, record.record.drug, "Boxed warning", each) for each in first]
    return found


def signals(pool: Iterable[Evidence], asked: Question) -> list[tuple[str, list[str]]]:
    """By drug asked about, events that Open Targets has as reported more often than expected; of a harm, its own."""
    named = asked.kind == "harm" and bool(asked.conditions)
    found = []
    for record in pool:
        entry, drug = record.record, drug_of(record)
        if isinstance(entry, Drug) and drug in asked.drugs and entry.signals:
            terms = [each["term"] for each in entry.signals]
            if events := [term for term in terms if not named or is_condition(term, asked)]:
                found.append((drug, events))
    return found


def first_word(asked: Question, known: Iterable[Warning], together: Iterable[Warning], label: Iterable[Warning]) -> str:
    """Yes or no, where what is known decides; empty where it does not, and where no single drug or harm is asked about.

    Args:
        asked: the question.
        known: by `cautions`.
        together: by `interactions`.
        label: by `warnings`, the weightiest of each drug.
    """
    about = subject(asked)
    headings = {each.heading for each in (*known, *together, *(label if about else ()))}
    if asked.kind == "safety" and headings:
        return "No" if headings & {"Withdrawn", "Contraindicated", "Contraindications"} else "With caution"
    warns = [each for each in label if each.heading in ("Boxed warning", "Warnings")]
    if asked.kind == "harm" and about:
        names_it = _namer(asked)
        parts = (part for w in warns for text in w.sentence.split(";") for part in Document.cut("", text).sentences)
        return "Yes" if any(names_it(part) and not _denies(part) for part in parts) else ""
    return ""


def serious_events(pool: Iterable[Evidence], asked: Question) -> list[tuple[str, str, list[SeriousEvents]]]:
    """Serious adverse events by group, as trials of a drug asked about posted them, the largest trials first.

    Each with the record's key and what is counted: events of the very harm where one is asked about and the trial
    posted them, else all serious events.
    """
    names_it, found = _namer(asked), list[tuple[int, str, str, list[SeriousEvents]]]()
    for record in pool:
        trial = record.trial
        if trial is None or trial.results is None or not any(is_asked_about(d, asked) for d in named_drugs(record)):
            continue
        told = [("serious adverse events", trial.results.get("serious_adverse_events", []))]
        for each in trial.results.get("serious_event_terms", []) if asked.kind == "harm" and asked.conditions else ():
            if any(map(names_it, Document.cut("", each["term"]).sentences)):
                told.insert(0, (f"serious events “{each['term']}”", each["groups"]))
        if groups := read_events(told[0][1]):
            found.append((sum(g.at_risk or 0 for g in groups), record.key, told[0][0], groups))
    return [(key, what, groups) for _, key, what, groups in sorted(found, key=lambda each: -each[0])]


def _drugs_in(said: Sequence[Sentence], document: Document, asked: Question) -> Iterator[tuple[str, Sentence]]:
    """Drugs asked about, each with the sentence to show; where none is named, those that such a sentence names."""
    if not (asked.drugs or asked.drug_classes):
        yield from {drug: sentence for sentence in reversed(said) for drug in sorted(sentence.drugs)}.items()
        return
    for drug in dict.fromkeys(name for name, _, _ in document.drugs):
        if is_asked_about(drug, asked):
            yield drug, next((sentence for sentence in said if drug in sentence.drugs), said[0])


def _namer(asked: Question) -> Callable[[Sentence], bool]:
    """What tells whether a sentence names the subject under any of its names."""
    population = asked.population if asked.kind != "harm" else None
    if population:
        return lambda sentence: speaks_of(sentence.text, population)
    return find_namer(_subjects(asked))
