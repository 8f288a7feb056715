"""Collect harms, by which questions on harm, safety and drugs to avoid are answered: effects, warnings, cautions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple

from willowbark.tools.records.registry import kind_of

from ..errors import ReadingStopped
from ..lexicon import (
    find_conditions,
    find_deeds,
    find_drug_classes,
    is_within,
    list_contraindicated,
    list_contraindications,
)
from ..lexicon.conditions import is_generic
from ..questions import Question, speaks_of
from ..questions.kinds import ON_HARM, asks_yes_or_no
from ..reading.document import Document, Sentence
from ..reading.numbers import list_figures
from ..reading.reading import Reading
from ..reading.text import says, sentences
from ..records import Drug, Label
from ..records.evidence import Evidence
from .appraised import Readings
from .candidates import find_named_drugs, find_namer, get_drug, is_condition, is_in_question, list_cautions, split_label
from .posted import SeriousEvents, read_events
from .suitability import find_withdrawals

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


def get_subject(question: Question) -> str:
    """Return the harm or population that a question is about; empty if it names neither.

    >>> from willowbark.tools.questions import parse_question
    >>> get_subject(parse_question("Is valproate safe in pregnancy for migraine prevention?"))
    'pregnancy'
    """
    return (question.population if question.kind != "harm" else None) or (
        " and ".join(question.conditions or [f"“{word}”" for word in _list_subjects(question)])
    )


def _list_subjects(question: Question) -> Sequence[str]:
    """List the conditions asked about, else the words beside the drug, as in "does it slow the heart?"."""
    is_closed = 0 < len(question.unread) <= LONGEST_EFFECT and (
        question.kind == "safety" or asks_yes_or_no(question.text)
    )
    return question.conditions or ((" ".join(question.unread),) if is_closed else ())


def find_harms(pool: Sequence[Evidence], question: Question, readings: Readings) -> list[Harm]:
    """Find harms in publications that name the subject, in the order of the pool.

    Without a drug in the question all drugs with reported harm are found; with drugs and no harm, all that they cause.
    """
    find = _find_on_subject if get_subject(question) else _find_caused
    harms = list[Harm]()
    for record in pool:
        if kind_of(record) == "publication":
            harms += find(record, question, readings)
    return harms


def _read(record: Evidence, drug: str, condition: str, readings: Readings) -> Reading | None:
    """Read a drug in a record; None if the run was stopped before, so that its harms are unknown."""
    try:
        return readings.of(record, drug, condition)[0]
    except ReadingStopped:
        return None


def _find_on_subject(record: Evidence, question: Question, readings: Readings) -> Iterator[Harm]:
    names_it = _make_namer(question)
    condition = get_subject(question)
    document = Document.of(record)
    mentions = [sentence for sentence in document.sentences if names_it(sentence)]
    results = [sentence for sentence in mentions if sentence.zone not in "TA"]
    mentions.sort(key=lambda sentence: (sentence.zone == "A", sentence.zone in "TA"))
    for drug, sentence in _find_drugs(mentions, document, question) if mentions else ():
        reading = _read(record, drug, condition, readings)
        if reading is None:
            continue
        reports = reading.does_harm or _is_harm(reading, question.kind)
        stance: HarmStance = "reports" if reports and sentence.zone != "A" and not _denies(sentence) else "undecided"
        if stance == "reports":
            quote = sentence.text
        elif question.kind == "harm":
            quote = next((result.text for result in (sentence, *results) if result in results), "")
        else:
            on_drug = list_harm_sentences(record, drug)
            decided = sentence.zone in "RC" and reading.verdict in ("contradicts", "neutral")
            quote = on_drug[0] if on_drug else sentence.text if decided else ""
        names_drugs = bool(question.drugs or question.drug_classes)
        is_lead = (
            question.kind == "harm" and stance == "undecided" and "harm" in sentence.signs and not _denies(sentence)
        )
        if names_drugs or is_lead or (stance == "reports" and _is_harm(reading, question.kind)):
            yield Harm(record.key, drug, stance if quote else "silent", quote, condition)


def _find_caused(record: Evidence, question: Question, readings: Readings) -> Iterator[Harm]:
    """Yield the conditions that a publication reports a drug to cause in patients, with a sentence on both."""
    quotes: dict[tuple[str, str], str] = {}
    for sentence in Document.of(record).sentences if question.drugs or question.drug_classes else ():
        drugs = [drug for drug in sorted(sentence.drugs) if is_in_question(drug, question)]
        if not drugs or sentence.zone == "A" or _denies(sentence) or sentence.signs.isdisjoint(_HARM):
            continue
        for name, start, end in sentence.conditions:
            if not (is_generic(name) or sentence.has_as_population(start, end)):
                quotes |= {(drug, name): quotes.get((drug, name), sentence.text) for drug in drugs}
    for (drug, condition), text in quotes.items():
        reading = _read(record, drug, condition, readings)
        if reading is None:
            continue
        is_cause = reading.role == "cause" and reading.kind == "harm" and reading.effect in ("worse", "not_reported")
        if is_cause and reading.design not in NOT_PATIENTS:
            yield Harm(record.key, drug, "reports", text, condition)


def list_known_cautions(pool: Sequence[Evidence], question: Question) -> list[Warning]:
    """List known cautions on the drugs asked about, independent of readings: withdrawals, then contraindications.

    A question on what to avoid gets all drugs in the table for the condition, within the classes it names; one on a
    class missing from the table gets the drugs in that class.
    """
    people = [*question.conditions, *filter(None, [question.population])]
    tabled = [Warning("", drug, entry.kind.capitalize(), str(entry)) for drug, entry in list_contraindicated(people)]
    if not (question.names_all or question.drugs):
        is_any = question.kind != "harm"  # a contraindication is not an effect
        of_kind = [warning for warning in tabled if is_any or warning.heading == "Boxed warning"]
        return [warning for warning in of_kind if _is_in_classes(warning.drug, question.drug_classes)]
    known = list[Warning]()
    names_it = _make_namer(question)
    is_alone = len(question.drugs) + len(question.drug_classes) == 1
    labelled = {get_drug(record) for record in pool if isinstance(record.record, Label)}
    withdrawals = find_withdrawals(pool)
    for drug in (*question.drugs, *question.drug_classes):
        entries = [record for record in pool if isinstance(record.record, Drug) and get_drug(record) == drug]
        parts = (caution.partition(": ") for caution in list_cautions(drug, people, entries))
        own = [Warning("", drug, heading, text) for heading, _, text in parts]
        if drug in withdrawals and not any(warning.heading == "Withdrawn" for warning in own):
            own.insert(0, Warning("", drug, "Withdrawn", withdrawals[drug].partition(": ")[2]))
        if (
            not own and is_alone and not people and drug not in labelled and question.kind in ON_HARM
        ):  # all its warnings
            contraindications = [
                c for c in list_contraindications(drug, None) if question.kind != "harm" or c.kind == "boxed warning"
            ]
            if get_subject(question):
                contraindications = [c for c in contraindications if _mentions(c.told, names_it)]
            own = [Warning("", drug, entry.kind.capitalize(), str(entry)) for entry in contraindications]
        known += own or [warning for warning in tabled if is_within(warning.drug, drug)]
    return sorted(known, key=lambda warning: _WEIGHTIEST.index(warning.heading))


def _is_in_classes(drug: str, classes: Sequence[str]) -> bool:
    """Whether a drug is of one of some classes; of any where none is named."""
    return not classes or any(is_within(drug, name) for name in classes)


def _mentions(text: str, names_it: Callable[[Sentence], bool]) -> bool:
    """Whether any sentence of a text names the subject."""
    return any(map(names_it, Document.cut("", text).sentences))


def list_harm_sentences(record: Evidence, drug: str) -> list[str]:
    """List a record's results and conclusions that name a drug and mention adverse events or tolerability.

    Sentences with the fewest drugs come first, then those with figures.
    """
    results = (sentence for sentence in Document.of(record).sentences if sentence.zone in "RC")
    on_harm = [result for result in results if "harm" in result.signs and drug in result.drugs]
    return [
        sentence.text
        for sentence in sorted(on_harm, key=lambda sentence: (len(sentence.drugs), not list_figures(sentence.text)))
    ]


def _denies(sentence: Sentence) -> bool:
    """Whether a sentence says that something decreased or did not happen, ignoring names such as "heart failure"."""
    if sentence.signs.isdisjoint(_DENIED):
        return False
    text = sentence.text
    # From the end, so that earlier offsets stay true.
    for condition in reversed(find_conditions(text)):
        text = f"{text[: condition.start]}it{text[condition.end :]}"
    return any(not clause.signs.isdisjoint(_DENIED) for clause in Document.cut("", text).sentences)


def _is_harm(reading: Reading, kind: str) -> bool:
    """Whether patients did worse with a drug than without; in questions on harm, also if it is a cause."""
    worse = reading.verdict == "contradicts" and reading.effect == "worse" and reading.comparator in ("placebo", "none")
    causes = kind == "harm" and reading.role == "cause" and reading.kind == "harm"
    return reading.design not in NOT_PATIENTS and (worse or causes)


def list_label_warnings(pool: Iterable[Evidence], question: Question) -> list[Warning]:
    """List label warnings on the subject or the other drugs asked about, or all of one drug; the weightiest first."""
    names_it = _make_label_namer(question)
    drugs_asked = (*question.drugs, *question.drug_classes)
    matching = list[Warning]()
    is_all = not get_subject(question) and len(drugs_asked) < 2
    for record in pool:
        label = record.record
        drug = get_drug(record)
        if not isinstance(label, Label) or drug is None or not (is_in_question(drug, question) or not drugs_asked):
            continue
        others = [name for name in drugs_asked if not is_within(drug, name)]
        for heading in _SECTIONS[question.kind]:
            text = split_label(record).get(heading, "")
            if is_all:
                matching += [Warning(record.key, drug, heading, sentence) for sentence in sentences(text)]
            elif heading != "Pregnancy" or question.population in ("pregnancy", "breastfeeding"):
                whole = (heading, question.population) == ("Pregnancy", "pregnancy")
                # An excerpt of a label may leave out sentences that name other drugs; the record has them apart.
                mentions = [mention["sentence"] for mention in label.named_drugs if mention["heading"] == heading]
                parts = [*text.split("; "), *(sentence for sentence in mentions if sentence not in text)]
                for part in parts:
                    for sentence in Document.cut("", part).sentences:
                        if whole or names_it(sentence) or _meets(sentence, others):
                            matching.append(Warning(record.key, drug, heading, sentence.text))
    return list(dict.fromkeys(matching))


def _meets(sentence: Sentence, others: Sequence[str]) -> bool:
    """Whether a sentence names one of the other drugs or classes asked about, or one within them or around them."""
    if not others:
        return False
    names = {*sentence.drugs, *(mention.name for mention in find_drug_classes(sentence.text))}
    return any(is_within(name, other) or is_within(other, name) for name, other in product(names, others))


def list_boxed_warnings(pool: Iterable[Evidence], drugs: Collection[str]) -> list[Warning]:
    """List the first sentence of the boxed warning of each drug whose retrieved label has one."""
    boxed = []
    for record in pool:
        drug = get_drug(record)
        if isinstance(record.record, Label) and drug is not None and drug in drugs:
            first = sentences(split_label(record).get("Boxed warning", ""))[:1]
            boxed += [Warning(record.key, drug, "Boxed warning", sentence) for sentence in first]
    return boxed


def list_signals(pool: Iterable[Evidence], question: Question) -> list[tuple[str, list[str]]]:
    """List by drug the events over-reported according to Open Targets; in questions on one harm, only that."""
    is_any = question.kind != "harm" or not question.conditions
    events_of = []
    for record in pool:
        entry = record.record
        drug = get_drug(record)
        if isinstance(entry, Drug) and drug in question.drugs:
            events = [signal["term"] for signal in entry.signals if is_any or is_condition(signal["term"], question)]
            events_of += [(drug, events)] if events else []
    return events_of


def choose_first_word(question: Question, reasons: Iterable[Warning], label: Sequence[Warning]) -> str:
    """Answer yes, no or with caution if known cautions, or the weightiest warning of each drug, decide; else empty."""
    names_it = _make_label_namer(question)
    is_on_all = not get_subject(question) and len(question.drugs) + len(question.drug_classes) < 2
    headings = {warning.heading for warning in (*reasons, *(() if is_on_all else label))}
    on_subject: list[tuple[str, Sentence]] = []  # each with its heading
    for warning in label:
        for clause in warning.sentence.split(" and "):
            clauses = Document.cut("", clause).sentences
            on_subject += [(warning.heading, part) for part in clauses if names_it(part)]
    if question.kind == "safety" and headings:
        is_forbidden = headings & {"Contraindicated", "Contraindications"} and not is_on_all
        is_forbidden = is_forbidden or any(says("not to be given", part.text) for _, part in on_subject)
        return "No" if "Withdrawn" in headings or is_forbidden else "With caution"
    if question.kind == "harm" and get_subject(question):
        warned = (part for heading, part in on_subject if heading in ("Boxed warning", "Warnings"))
        return "" if all(map(_denies, warned)) else "Yes"
    return "Yes" if question.kind == "harm" and label and asks_yes_or_no(question.text) else ""


def list_serious_events(pool: Iterable[Evidence], question: Question) -> list[tuple[str, list[SeriousEvents]]]:
    """List serious adverse events by group, as posted by trials of a drug asked about, with the record's key."""
    events = list[tuple[str, list[SeriousEvents]]]()
    for record in pool:
        trial = record.trial
        if not (trial and trial.results and any(is_in_question(d, question) for d in find_named_drugs(record))):
            continue
        groups = read_events(trial.results.get("serious_adverse_events", []))
        if groups:
            events.append((record.key, groups))
    return sorted(events, key=lambda item: -sum(group.at_risk or 0 for group in item[1]))


def _find_drugs(mentions: Sequence[Sentence], document: Document, question: Question) -> Iterator[tuple[str, Sentence]]:
    """Yield the drugs asked about with the sentence to show; if the question names none, those in the sentences."""
    if not (question.drugs or question.drug_classes):
        only = {name for name, _, _ in document.drugs}  # a sentence without a drug is on the record's only drug
        firsts: dict[str, Sentence] = {}
        for sentence in reversed(mentions):
            for drug in sorted(sentence.drugs or (only if len(only) == 1 else ())):
                firsts[drug] = sentence
        yield from firsts.items()
        return
    for drug in dict.fromkeys(name for name, _, _ in document.drugs):
        if is_in_question(drug, question):
            yield drug, next((sentence for sentence in mentions if drug in sentence.drugs), mentions[0])


def _make_namer(question: Question) -> Callable[[Sentence], bool]:
    """Return a test for whether a sentence names the subject, under any name."""
    population = question.population if question.kind != "harm" else None
    if population:
        return lambda sentence: speaks_of(sentence.text, population)
    return find_namer(_list_subjects(question))


def _make_label_namer(question: Question) -> Callable[[Sentence], bool]:
    """Return the same test for labels, which use phrases ("high potassium") for conditions."""
    names_it = _make_namer(question)
    subjects = set(_list_subjects(question))
    return lambda sentence: (
        names_it(sentence) or not subjects.isdisjoint(deed.name for deed in find_deeds(sentence.text))
    )
