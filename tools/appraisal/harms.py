"""What records say of harm: who reports it, what is told of it, and what labels warn of.

Questions on harm, on safety and on what to avoid are answered from these, never from what speaks for a drug's effect.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from willowbark.tools.registry import kind_of

from ..evidence import Evidence
from ..lexicon import canonical_condition, find_drugs
from ..lexicon.conditions import find_known_conditions, is_generic
from ..lexicon.matching import tokens
from ..questions import Question
from ..questions.question import speaks_of
from ..ranking import stems
from ..reading.numbers import figures
from ..reading.reading import Reading
from ..reading.screening import readable
from ..reading.signs import groups
from ..reading.text import sentences
from ..records import Label
from .appraised import Readings, asked_of
from .candidates import is_asked_about

Stance = Literal["reports", "undecided", "silent"]
"""`reports`: it has the drug as a cause, or as worse than without. `silent`: beyond its title and its aim no sentence
of its names the drug and bears on what is asked. That it did no more harm is not told: of what the
heads, out of fold, read so 25 in 100 were, on the part kept apart, 29 on records left out (`benchmarks/careful.py`)."""
_SECTIONS = {
    "harm": ("Boxed warning", "Warnings", "Contraindications"),
    "safety": ("Contraindications", "Boxed warning", "Pregnancy", "Warnings"),
    "avoid": ("Contraindications", "Boxed warning", "Warnings"),
}


_HARM, _DENIED = frozenset(("harm", "induced", "causes")), frozenset(("less", "not"))
"""Groups of words, of those in `reading/signs.tsv`."""
_PEOPLE = frozenset("patient patients people those woman women man men child children adults subjects".split())
_TREATED = frozenset("treatment therapy treat treating treated treats".split())
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
    """What a drug's label says of the harm, or the people, asked about."""

    key: str
    drug: str
    heading: str
    sentence: str
    """Of the label, whole."""


def subject(asked: Question) -> str:
    """The harm or the people that a question is about; empty where it names neither.

    >>> from willowbark.tools.questions import parse_question
    >>> subject(parse_question("Is valproate safe in pregnancy for migraine prevention?"))
    'pregnancy'
    """
    return (asked.population if asked.kind != "harm" else None) or " and ".join(asked.conditions)


def harms(pool: Sequence[Evidence], asked: Question, readings: Readings) -> list[Harm]:
    """What publications say, in the order of the pool; only those count that name the subject.

    Args:
        pool: all records found.
        asked: the question; one that names no drug asks about all, and gets those alone that harm is reported of. One
            that names drugs and no harm asks what they cause.
        readings: of the run.
    """
    if not subject(asked):
        return [harm for record in pool for harm in _caused(readable(record), asked, readings)]
    names_it, condition = _namer(asked), subject(asked)
    found = []
    for record in map(readable, pool):
        if kind_of(record) != "publication":
            continue
        said = [sentence for sentence in sentences(record.content) if names_it(sentence)]
        if not said:
            continue
        aims = readings.parts(asked_of(record, "", condition), "A")
        results = [each for each in said if each not in aims and each.rstrip(".") not in record.citation.title]
        said.sort(key=lambda sentence: (sentence in aims, sentence not in results))
        for drug, sentence in _drugs_in(said, record, asked):
            reading = readings.of(asked_of(record, drug, condition))[0]
            stance = "undecided" if sentence in aims or _is_denied(sentence) else _stance(reading, asked.kind)
            is_told = stance == "reports" and _is_harm(reading, asked.kind)
            if stance == "undecided" and asked.kind == "harm":
                shown = sentence if sentence in results else next(iter(results), "")
            else:
                shown = sentence if stance == "reports" else _bearing(record, drug, sentence, reading, readings)
            if asked.drugs or asked.drug_classes or is_told:
                found.append(Harm(record.key, drug, stance if shown else "silent", shown, condition))
    return found


def _bearing(record: Evidence, drug: str, sentence: str, reading: Reading, readings: Readings) -> str:
    """How people bore a drug, or else a result on them, where one was read that does not speak for its help.

    Args:
        record: as `readable` gives it.
        drug: generic name.
        sentence: of the record, that names the people.
        reading: of the record, for the drug and these.
        readings: of the run.
    """
    if told := told_of_harm(record, drug, readings):
        return told[0]
    is_result = sentence in readings.parts(asked_of(record, "", ""), "RC")
    return sentence if is_result and reading.verdict in ("contradicts", "neutral") else ""


def _caused(record: Evidence, asked: Question, readings: Readings) -> Iterator[Harm]:
    """What a publication has a drug as a cause of in patients, where a sentence names both and speaks of harm."""
    if kind_of(record) != "publication" or not (asked.drugs or asked.drug_classes):
        return
    aims = readings.parts(asked_of(record, "", ""), "A")
    told: dict[tuple[str, str], str] = {}
    for sentence in sentences(record.content):
        drugs = {mention.name for mention in find_drugs(sentence) if is_asked_about(mention.name, asked)}
        if not drugs or sentence in aims or not _speaks_of_harm(sentence):
            continue
        for name, start, end in find_known_conditions(sentence):
            if not (is_generic(name) or _is_population(sentence, start, end)):
                told |= {(drug, name): told.get((drug, name), sentence) for drug in sorted(drugs)}
    for (drug, condition), sentence in told.items():
        reading = readings.of(asked_of(record, drug, condition))[0]
        is_cause = reading.role == "cause" and reading.kind == "harm" and reading.effect in ("worse", "not_reported")
        if is_cause and reading.design not in NOT_PATIENTS:
            yield Harm(record.key, drug, "reports", sentence, condition)


def told_of_harm(record: Evidence, drug: str, readings: Readings) -> list[str]:
    """The results and conclusions of a record that name a drug and speak of adverse events or of how it was tolerated.

    Those that name the fewest drugs come first, and of these those with figures.
    """
    told = readings.parts(asked_of(record, "", ""), "RC")
    said = (each for each in sentences(record.content) if each in told and "harm" in _groups_in(each))
    named = {each: {mention.name for mention in find_drugs(each)} for each in said}
    return sorted(
        (each for each in named if drug in named[each]), key=lambda each: (len(named[each]), not figures(each))
    )


def _speaks_of_harm(sentence: str) -> bool:
    """Whether a sentence speaks of harm or a cause, and of nothing that became less or did not happen."""
    return not _groups_in(sentence).isdisjoint(_HARM) and not _is_denied(sentence)


def _is_denied(sentence: str) -> bool:
    return not _groups_in(sentence).isdisjoint(_DENIED)


def _groups_in(sentence: str) -> set[str]:
    known = groups()
    return {name for token in tokens(sentence) for name in known.get(token.key, ())}


def _is_population(sentence: str, start: int, end: int) -> bool:
    """Whether a condition is what people had before: "in a diabetes patient", "those with it", "treatment of it"."""
    before, after = sentence[:start].lower().split()[-4:], sentence[end:].lower().split()[:1]
    has_it = before[-1:] == ["with"] and not _PEOPLE.isdisjoint(before)
    return has_it or after in (["patient"], ["patients"]) or not _TREATED.isdisjoint(before)


def _is_harm(reading: Reading, kind: str) -> bool:
    """Whether patients did worse with a drug than without; a cause of what is asked about counts where causes are."""
    worse = reading.verdict == "contradicts" and reading.effect == "worse" and reading.comparator in ("placebo", "none")
    causes = kind == "harm" and reading.role == "cause" and reading.kind == "harm"
    return reading.design not in NOT_PATIENTS and (worse or causes)


def warnings(pool: Iterable[Evidence], asked: Question) -> list[Warning]:
    """What labels say of the subject, the weightiest section of each first; boxed warnings whatever they are of."""
    names_it = _namer(asked) if subject(asked) else None
    found = []
    for record in pool:
        drug = record.record.drug if isinstance(record.record, Label) else None
        if drug is None or not (is_asked_about(drug, asked) or not (asked.drugs or asked.drug_classes)):
            continue
        told = dict(part.split(": ", 1) for part in record.content.split("\n\n")[1:] if ": " in part)
        for heading in _SECTIONS[asked.kind]:
            for sentence in sentences(told.get(heading, "")):
                whole = heading == "Pregnancy" and asked.population == "pregnancy"
                if names_it is None or whole or names_it(sentence):
                    found.append(Warning(record.key, drug, heading, sentence))
    return found


def boxed(pool: Iterable[Evidence], drugs: Iterable[str]) -> list[Warning]:
    """The first sentence of the boxed warning of each drug whose label is at hand and has one."""
    wanted, found = set(drugs), []
    for record in pool:
        if isinstance(record.record, Label) and record.record.drug in wanted:
            for part in record.content.split("\n\n"):
                if part.startswith("Boxed warning: "):
                    first = sentences(part.removeprefix("Boxed warning: "))[:1]
                    found += [Warning(record.key, record.record.drug, "Boxed warning", each) for each in first]
    return found


def _drugs_in(said: Sequence[str], record: Evidence, asked: Question) -> Iterator[tuple[str, str]]:
    """Drugs asked about, each with the sentence to show; where none is named, those that such a sentence names."""
    within = {sentence: {mention.name for mention in find_drugs(sentence)} for sentence in said}
    if not (asked.drugs or asked.drug_classes):
        yield from {drug: sentence for sentence in reversed(said) for drug in sorted(within[sentence])}.items()
        return
    for drug in dict.fromkeys(mention.name for mention in find_drugs(record.content)):
        if said and is_asked_about(drug, asked):
            yield drug, next((sentence for sentence in said if drug in within[sentence]), said[0])


def _stance(reading: Reading, kind: str) -> Stance:
    return "reports" if reading.does_harm or _is_harm(reading, kind) else "undecided"


def _namer(asked: Question) -> Callable[[str], bool]:
    """What tells whether a sentence names the subject under any of its names."""
    population = asked.population if asked.kind != "harm" else None
    if population:
        return lambda sentence: speaks_of(sentence, population)
    known = {each for each in asked.conditions if canonical_condition(each)}
    others = [frozenset(stems(each)) for each in asked.conditions if each not in known]

    def names_it(sentence: str) -> bool:
        found = known and any(name in known for name, _, _ in find_known_conditions(sentence))
        return bool(found) or any(words <= frozenset(stems(sentence)) for words in others)

    return names_it
