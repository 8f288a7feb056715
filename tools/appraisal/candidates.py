"""Find the candidate drugs in the collected records and appraise the evidence for each."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Literal

from pydantic import BaseModel

from willowbark.tools.records.card import STUDIES
from willowbark.tools.records.registry import kind_of

from ..errors import ReadingStopped
from ..lexicon import (
    canonical_condition,
    canonical_drug,
    condition_synonyms,
    contraindications_of,
    is_diagnostic,
    past_withdrawal_of,
    withdrawal_of,
)
from ..lexicon.drugs import belongs_to_class
from ..lexicon.matching import content_words, stem, stems, stems_among
from ..questions import Question, routes_in
from ..reading.document import Document, Sentence
from ..reading.facts import purpose_at
from ..reading.reading import Direction
from ..reading.screening import readable
from ..records import Disease, Drug, DrugApproval, Label
from ..records.evidence import Evidence
from ..works.drug_names import is_code
from .appraised import (
    AppraisedRecord,
    Readings,
    appraise_record,
    condition_in,
    condition_names,
    conditions_of,
    names_of,
)
from .certainty import LEVELS, AppraisedItem, CandidateAppraisal, appraise_candidate, count_participants
from .fit import COUNTED
from .suitability import NOT_FOR, bars_of, is_barred, told_withdrawals

CandidateGroup = Literal["repurposing", "established", "not_checked"]
"""`established`: approved for the condition asked about, or what trials there compare with; `not_checked`: no approval
data were retrieved."""
APPROVED_PHASE = 4  # ChEMBL's max_phase of a marketed drug, https://chembl.gitbook.io/chembl-interface-documentation
STANDARD = 3
"""Trials with a drug as comparator from which on it is standard for the condition: in 22 conditions all such drugs are
in use, of all drugs named 3 in 10. Not for prevention: trials in attacks compare with other drugs."""
_NO_TREATMENT = frozenset({"cause", "outcome", "not_a_drug_here"})
_TESTED = frozenset({"tested", "combined", "comparator"})


class Indication(BaseModel, frozen=True, extra="forbid"):
    """A condition that a drug is or was developed for."""

    name: str
    max_phase: float | None = None
    """4: marketed; None: not reported."""


class Candidate(BaseModel, frozen=True, extra="forbid"):
    """A drug found in the records, with its evidence."""

    drug: str
    """Generic name in lower case."""
    records: list[AppraisedRecord] = []
    """Studies on the condition: contradicting, supporting, missed, then the others; the strongest of each first."""
    appraisal: CandidateAppraisal
    drug_records: list[str] = []
    """Keys of the records with its mechanism and indications."""
    mechanisms: list[str] = []
    targets: list[str] = []
    """Gene symbols."""
    pathways: list[str] = []
    indications: list[Indication] = []
    max_phase: float | None = None
    """Highest phase for any condition, 4: marketed; None: not reported."""
    phase_for_condition: float | None = None
    """Highest phase for the condition asked about; None: not reported."""
    in_asked_class: bool | None = None
    """Whether it is known to belong to a drug class named in the question; None if the question names none."""
    group: CandidateGroup = "not_checked"
    cautions: tuple[str, ...] = ()
    """Market withdrawals, contraindications and warnings in the condition, each with its source."""
    combination: tuple[str, ...] = ()
    """Drugs combined with it in studies that did not compare the parts; such studies count for none of them."""

    @property
    def line(self) -> str:
        """Studies by direction, certainty and mechanism on one line."""
        found = self.appraisal
        how = "; ".join(self.mechanisms) or "mechanism not found"
        sure = "refuted" if found.quality == "refuted" else f"{found.certainty.level.said} certainty"
        return (
            f"{self.drug}: {len(found.supporting)} supporting, {len(found.contradicting)} contradicting, "
            f"{len(found.inconclusive)} inconclusive; {sure}; {how}"
        )

    @property
    def has_verdict(self) -> bool:
        """Whether any study supports or contradicts it, or missed its primary outcome."""
        return bool(self.appraisal.telling)

    @property
    def has_controlled_trial(self) -> bool:
        """Whether a randomised trial of its own compares it with placebo, no treatment or another drug, and tells."""
        trials = [r.item for r in self.records if r.item.tier == "randomised" and not r.item.is_review]
        return any(trial.is_telling and (trial.against_nothing or trial.comparator == "active") for trial in trials)

    @property
    def mostly_fails(self) -> bool:
        """Whether no study supports it or it is refuted, or more studies found no benefit, or harm, than benefit."""
        found = self.appraisal
        if found.outcome in ("failed", "missed"):
            return True
        harmed = {record.key for record in self.records if record.reading.does_harm}
        against = {*found.contradicting, *found.missed, *harmed}
        return self.has_verdict and len(against) > len(found.supporting)

    @property
    def does_not_lead(self) -> bool:
        """Whether it was refuted, withdrawn from a market, or is not for the people whom the question names.

        It is shown and marked, but never as a leading candidate.
        """
        return self.appraisal.quality == "refuted" or withdrawal_of(self.drug) is not None or is_barred(self.cautions)

    @property
    def is_preclinical(self) -> bool:
        """Whether all supporting studies, of which there are some, were done in animals, cells or a computer."""
        return bool(self._behind) and all(item.design.is_preclinical for item in self._behind)

    @property
    def helps_complications_alone(self) -> bool:
        """Whether all supporting studies are on complications of the condition, and none contradicts."""
        return {item.indication for item in self._behind} == {"complication"} and not self.appraisal.contradicting

    @property
    def _behind(self) -> list[AppraisedItem]:
        return [record.item for record in self.records if record.key in self.appraisal.supporting]

    @property
    def standing(self) -> tuple[Any, ...]:
        """Sort key: certainty, people, directness, contradicting and missed minus supporting studies, participants.

        Refuted or withdrawn drugs come after all with support; those without a verdict come last.
        """
        found = self.appraisal
        behind = self._behind
        return (
            not self.has_verdict,
            self.does_not_lead or not behind,
            -LEVELS.index(found.certainty.level),
            self.is_preclinical,
            not any(item.is_direct for item in behind),
            len(found.contradicting) + len(found.missed) - len(found.supporting),
            -count_participants(behind),
            self.drug,
        )


def appraise_candidates(
    asked: Question, pool: Sequence[Evidence], readings: Readings | None = None, *, leaves_unread: bool = False
) -> list[Candidate]:
    """Find the drugs in the pool and appraise each; those asked about first, then by support.

    A drug is a candidate if a publication or trial on the condition names it, or a model read it there. Those found
    only in drug databases are not, nor those mostly reported as a cause of the condition, as a measurement, or not as
    a drug.

    Args:
        asked: the question.
        pool: all records found.
        readings: the readings of the run; None starts anew.
        leaves_unread: skip records not read before reading was stopped.

    Raises:
        ReadingStopped: reading was stopped, and `leaves_unread` is False.
    """
    readings = readings or Readings()
    entries = defaultdict[str | None, list[Evidence]](list)
    found = defaultdict[str, list[AppraisedRecord]](list)
    for record in pool:
        if kind_of(record) not in STUDIES:
            entries[drug_of(record)].append(record)
            continue
        try:
            told = readings.once(record, asked, partial(_appraise_study, record, asked, readings))
        except ReadingStopped:
            if leaves_unread:
                continue
            raise
        for drug, said in told.items():
            found[drug].append(said)
    known: dict[str, list[AppraisedRecord]] = {}
    for drug, records in found.items():
        roles = [each.reading.role for each in records]
        is_treatment = sum(role in _NO_TREATMENT for role in roles) <= sum(role in _TESTED for role in roles)
        if is_treatment and not is_left_out(drug, asked, entries[drug]):
            known[drug] = records
    works = _drugs_that_work(known)
    combined = defaultdict[str, set[str]](set)
    for drug, records in known.items():
        for at, each in enumerate(records):
            if not works.isdisjoint((each.item.against or "").split(" and ")):
                records[at] = each.model_copy(update={"item": each.item.model_copy(update={"comparator_works": True})})
            if not each.item.alone:
                combined[each.key].add(drug)
    phases = list_developed(asked, pool)
    gone = told_withdrawals(pool)
    has_labels = any(isinstance(record.record, Label) for record in pool)
    candidates = []
    for drug, records in known.items():
        partners = set[str]().union(*(drugs for drugs in combined.values() if drug in drugs)) - {drug}
        withdrawn = [gone[drug]] if drug in gone and not withdrawal_of(drug) else []
        candidates.append(
            _candidate(drug, records, entries[drug], phases.get(drug), asked, partners, withdrawn, has_labels)
        )
    return sorted(
        candidates,
        key=lambda each: (each.drug not in (asked.drugs or known), each.in_asked_class is False, *each.standing),
    )


def select_shown(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Select the first `most` with a verdict, best first, plus all that were refuted or withdrawn or mostly fail."""
    judged = [candidate for candidate in candidates if candidate.has_verdict]
    return [each for at, each in enumerate(judged) if at < most or each.does_not_lead or each.mostly_fails]


def share_places(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Select `most` candidates in their order, best first: a third of the places for those that mostly fail."""
    return _share(candidates, most, candidates)


def share_by_strength(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Select as `share_places` does, of drugs that do not fail first those with a controlled trial of their own.

    In what a model is shown small trials would give way to what reviews say of drugs in wide use, or to how people were
    before.
    """
    return _share(candidates, most, sorted(candidates, key=lambda candidate: not candidate.has_controlled_trial))


def _share(candidates: Sequence[Candidate], most: int, ranked: Sequence[Candidate]) -> list[Candidate]:
    failing = sorted(
        (c for c in candidates if c.mostly_fails), key=lambda c: -len({*c.appraisal.contradicting, *c.appraisal.missed})
    )
    kept = [each.drug for each in failing[: most // 3]]
    kept += [candidate.drug for candidate in ranked if candidate.drug not in kept][: most - len(kept)]
    return [candidate for candidate in candidates if candidate.drug in kept]


def _drugs_that_work(known: Mapping[str, Sequence[AppraisedRecord]]) -> set[str]:
    """Find drugs that beat placebo or nothing with moderate or high certainty, valid as active comparators."""
    working = set[str]()
    for drug, records in known.items():
        items = tuple(record.item for record in records)
        beats = any(i.tier == "randomised" and i.against_nothing and i.direction is Direction.supports for i in items)
        if beats and _appraisal_of(items).certainty.level in ("high", "moderate"):
            working.add(drug)
    return working


def read_ahead(
    asked: Question, records: Iterable[Evidence], readings: Readings, is_over: Callable[[], bool] = lambda: False
) -> None:
    """Read and appraise publications ahead, in a separate thread, until `is_over`; `readings` keep the results.

    Records already read under another identifier are skipped, since they may be merged with that record. A record is
    appraised while its parsed text is at hand: of a large run, not all texts can be.
    """
    new = [record for record in records if kind_of(record) == "publication" and readings.is_new(record)]
    readings.expect(len(new))
    with suppress(ReadingStopped):
        for record in new:
            if is_over():
                return
            for shown, drug in list_readings(record, asked):
                readings.read(shown, drug, condition_in(shown, asked))
            readings.note_read(record)
            readings.once(record, asked, partial(_appraise_study, record, asked, readings))


def list_readings(record: Evidence, asked: Question) -> list[tuple[Evidence, str]]:
    """List the drugs to read in a publication on the condition, each with the screened record; empty for others."""
    shown = readable(record)
    is_read = kind_of(record) == "publication" and on_condition(shown, asked)
    return [(shown, drug) for drug in wanted_drugs(shown, asked)] if is_read else []


def _appraise_study(record: Evidence, asked: Question, readings: Readings) -> dict[str, AppraisedRecord]:
    """Appraise a study for each drug that it names or a model read in it; empty if it is not on the condition.

    For drugs read by a model, its reading decides whether the study is on the condition; for others, the words do.
    What people leave out says nothing, and what they judge is on the condition.
    """
    shown = readable(record)
    names = names_of(shown)
    conditions = conditions_of(asked)
    if readings.corrections.find_exclusion(names, conditions) is not None:
        return {}
    judged = readings.corrections.drugs_of(names, conditions)
    if kind_of(record) == "publication" and readings.is_absent(shown) and not judged:
        return {}
    read = readings.study_of(shown, Document.of(shown))
    is_told = read is not None and read.people is not None
    given = readings.given_for(shown) if is_told or has_background(shown, asked) else {}
    is_off = read is not None and read.match == "other" and read.fit_to(asked) not in COUNTED
    named = named_drugs(shown) if on_condition(shown, asked) and not is_off else []
    wanted = [drug for drug in dict.fromkeys((*named, *given, *judged)) if not is_left_out(drug, asked)]
    return {
        drug: appraise_record(shown, drug, asked, readings, wanted)
        for drug in wanted
        if drug in judged or drug not in given or given[drug].match != "other"
    }


def wanted_drugs(record: Evidence, asked: Question) -> list[str]:
    """List the drugs that a record names and the question does not exclude."""
    return [drug for drug in named_drugs(record) if not is_left_out(drug, asked)]


def is_asked_about(drug: str, asked: Question) -> bool:
    """Whether a question names a drug or one of its classes."""
    return drug in asked.drugs or belongs_to_class(drug, (), asked.drug_classes)


def is_left_out(drug: str, asked: Question, entries: Iterable[Evidence] = ()) -> bool:
    """Whether a question excludes this drug ("without triptans") or only asks about others that it names.

    One given for diagnosis alone is left out unless it is asked about: that it shows a disease well is no effect on it.

    Database entries show whether the drug is given only by excluded routes.
    """
    routes = routes_of(entries)
    if drug in asked.taking or (is_diagnostic(drug) and drug not in asked.drugs):
        return True
    if (asked.names_all and not is_asked_about(drug, asked)) or (routes and routes <= set(asked.excluded_routes)):
        return True
    return drug in asked.excluded_drugs or belongs_to_class(drug, (), asked.excluded_classes)


def known_drugs(asked: Question, pool: Sequence[Evidence]) -> list[str]:
    """List the drugs that databases give for the condition, by generic name, highest phase first."""
    phases = list_developed(asked, pool)
    given = defaultdict[str | None, list[Evidence]](list)
    for record in pool if asked.excluded_routes else ():
        given[drug_of(record)].append(record)
    wanted = (name for name in phases if canonical_drug(name) and not is_left_out(name, asked, given[name]))
    return sorted(wanted, key=lambda name: (-phases[name], name))


def on_condition(record: Evidence, asked: Question) -> bool:
    """Whether a record mentions a condition asked about, and each one that the people asked about have.

    True for every record if the question names none.
    """
    names = condition_names(asked)
    return (not names or _names_any(record, names)) and has_background(record, asked)


def has_background(record: Evidence, asked: Question) -> bool:
    """Whether a record mentions each comorbidity of the people asked about."""
    return all(_names_any(record, (name, *condition_synonyms(name))) for name in asked.background)


def _names_any(record: Evidence, names: Sequence[str]) -> bool:
    """Whether a record has all words of any of the names, in any order and form.

    A one-word name is not matched by the word it derives from: alcohol is not alcoholism.
    """
    document = Document.of(record)
    words = document.once(content_words, document.whole)
    if record.trial:
        words = [*words, *content_words(" ".join(record.trial.conditions))]
    wanted = {name: frozenset(stems(name)) for name in names}
    held = frozenset(stems_among(words, frozenset().union(*wanted.values())))
    for name, parts in wanted.items():
        if parts <= held:
            root = next(iter(parts), "")
            is_derived = len(parts) == 1 and content_words(name)[0] not in (root, f"{root}s", f"{root}es")
            akin = (word for word in words if word != root and word.startswith(root[:4]))
            if not is_derived or any(stem(word) == root for word in akin):
                return True
    return False


def named_drugs(record: Evidence) -> list[str]:
    """List the drugs that a record names, each once; for a trial, its listed interventions if any.

    An intervention under a research code is known by its other names.
    """
    document = Document.of(record)
    if record.trial and record.trial.interventions:
        names = [entry.get("name", "") for entry in record.trial.interventions]
        coded = [entry for entry in record.trial.interventions if is_code(entry.get("name", ""))]
        names += [name for entry in coded for name in entry.get("other_names") or ()]
        document = Document.cut("", " ; ".join(names))
    return list(dict.fromkeys(name for name, _, _ in document.drugs))


def _candidate(
    drug: str,
    records: Sequence[AppraisedRecord],
    entries: Sequence[Evidence],
    phase: float | None,
    asked: Question,
    partners: Collection[str],
    withdrawn: Sequence[str],
    has_labels: bool,
) -> Candidate:
    """Build a candidate from its studies, database entries and labels, its highest phase for the condition, and the
    drugs of combination studies that did not separate its own effect."""
    own = [(entry.key, said) for entry in entries if isinstance(said := entry.record, Drug)]
    mechanisms = [entry for _, said in own for entry in said.mechanisms]
    indications = _indications([said for _, said in own])
    cautions = cautions_of(drug, [*asked.conditions, *filter(None, [asked.population])], entries)
    is_standard = not asked.is_preventive and sum(record.compares_with_it for record in records) >= STANDARD
    cautions = tuple(dict.fromkeys((*bars_of(drug, asked, entries, has_labels=has_labels), *withdrawn, *cautions)))
    if asked.excluded_routes and not routes_of(entries):
        cautions += (f"Route not found: it may be given by {' or '.join(asked.excluded_routes)} alone",)
    cautions += _list_lacking(asked, records)
    marketed = [indication.name for indication in indications if (indication.max_phase or 0) >= APPROVED_PHASE]
    appraisal = _appraisal_of(tuple(record.item for record in records))
    sides = dict.fromkeys(appraisal.contradicting, 0) | dict.fromkeys(appraisal.supporting, 1)
    sides |= dict.fromkeys(appraisal.missed, 2)
    return Candidate(
        drug=drug,
        records=sorted(
            records, key=lambda r: (sides.get(r.key, 3), r.item.design.tier, -(r.item.sample_size or 0), r.key)
        ),
        appraisal=appraisal,
        drug_records=[key for key, _ in own],
        mechanisms=_texts(entry.get("mechanism_of_action") for entry in mechanisms),
        targets=_texts(symbol for entry in mechanisms for symbol in entry.get("gene_symbols") or ()),
        pathways=_texts(path.get("name") for _, said in own for path in said.pathways),
        indications=indications,
        max_phase=max((said.max_phase for _, said in own if said.max_phase is not None), default=None),
        phase_for_condition=phase,
        in_asked_class=belongs_to_class(drug, marketed, asked.drug_classes) if asked.drug_classes else None,
        group="established" if is_standard else group_of(asked, phase, entries),
        cautions=cautions,
        combination=tuple(sorted(partners)),
    )


def _list_lacking(asked: Question, records: Sequence[AppraisedRecord]) -> tuple[str, ...]:
    """List which of two conditions asked about together no study supports a drug in; the answer is what helps both."""
    if not asked.is_both:
        return ()
    helped = {record.reading.condition for record in records if record.item.direction is Direction.supports}
    lacking = [name for name in asked.conditions if name not in helped]
    return tuple(f"{NOT_FOR} both: no study here supports it in {name}" for name in lacking)


_appraisal_of = lru_cache(maxsize=1024)(appraise_candidate)  # most candidates gain no record in a round


def _indications(about: Iterable[Drug]) -> list[Indication]:
    best: dict[frozenset[str], Indication] = {}
    for said in about:
        for entry in said.indications:
            name = entry.get("name", "")
            phase = entry.get("max_phase")
            words = frozenset(stems(name))  # "migraine disorder" and "Migraine Disorders" are one
            known = best.get(words)
            if name and (known is None or (phase or 0) > (known.max_phase or 0)):
                best[words] = Indication(name=name, max_phase=phase)
    return sorted(best.values(), key=lambda i: (-(i.max_phase or 0), i.name.casefold()))


def _texts(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if value))


def drug_of(record: Evidence) -> str | None:
    """Return the generic name of the drug of a drug entry, approval or label; None for other records."""
    said = record.record
    name = said.drug if isinstance(said, Drug | Label | DrugApproval) else None
    return (canonical_drug(name) or name.lower()) if name else None


def list_developed(asked: Question, pool: Iterable[Evidence]) -> dict[str, float]:
    """List the drugs that databases give for the condition asked about, with each one's highest phase for it."""
    phases: dict[str, float] = {}
    for record in pool:
        said = record.record
        listed = list[tuple[str | None, float | None]]()
        if isinstance(said, Drug):
            own = [entry for entry in said.indications if is_condition(entry.get("name", ""), asked)]
            listed = [(drug_of(record), entry.get("max_phase")) for entry in own]
        elif isinstance(said, Disease) and is_condition(said.disease or "", asked):
            listed = [(canonical_drug(str(entry.get("name"))), entry.get("max_phase")) for entry in said.drugs]
        for drug, phase in listed:
            if drug:
                phases[drug] = max(phases.get(drug, 0.0), phase or 0.0)
    return phases


def group_of(asked: Question, phase: float | None, records: Iterable[Evidence]) -> CandidateGroup:
    """Classify a drug as repurposing candidate or approved for the condition asked about, from entries and labels.

    Databases only name a disease, with a phase. Labels also say whether a drug ends or prevents attacks; in questions
    on prevention, a drug labelled only for acute treatment does not count as approved.
    """
    is_checked = False
    is_for_relief = False
    names_it = find_namer(asked.conditions)
    for record in records:
        uses = label_sections(record).get("Indications and usage", "") if isinstance(record.record, Label) else ""
        document = Document.cut("", uses)
        for use in filter(names_it, document.sentences):
            if asked.is_preventive and purpose_at(document, use.quote) == "relief":
                is_for_relief = True
            elif "not" not in use.signs:
                return "established"
        is_checked = is_checked or bool(uses) or (isinstance(record.record, Drug) and bool(record.record.indications))
    if (phase or 0) >= APPROVED_PHASE and not is_for_relief:
        return "established"
    return "repurposing" if is_checked else "not_checked"


def cautions_of(drug: str, conditions: Sequence[str], records: Iterable[Evidence]) -> tuple[str, ...]:
    """List a drug's withdrawal and its warnings for conditions or a population, by the curated table and its records.

    Of labels these are the sentences that name one of the conditions.
    """
    found = [f"Withdrawn: {withdrawal}" for withdrawal in [withdrawal_of(drug)] if withdrawal]
    is_gone = bool(found)
    returned = past_withdrawal_of(drug)
    if returned:
        found.append(f"Once withdrawn: {returned}")
    names_it = find_namer(conditions)
    for each in contraindications_of(drug, conditions):
        found.append(f"{each.kind.capitalize()}: {each}")
    for record in records:
        said = record.record
        if isinstance(said, Drug):
            listed = [name for name in said.contraindications for s in Document.cut("", name).sentences if names_it(s)]
            found += [f"Contraindicated: {name}, by DrugCentral ({record.key})" for name in listed[:1]]
        if isinstance(said, Drug) and not is_gone:
            gone = [warning for warning in said.warnings if warning.get("kind") == "withdrawn"]
            where = [", ".join(str(w[key]) for key in ("country", "year", "about") if key in w) for w in gone]
            found += [f"Withdrawn: {each or 'no details'} ({record.key})" for each in where[:1]]
        elif isinstance(said, Label):
            sections = label_sections(record)
            for heading, text in (("Contraindications", "Contraindicated"), ("Boxed warning", "Boxed warning")):
                warned = [s for s in Document.cut("", sections.get(heading, "")).sentences if names_it(s)]
                found += [f"{text}: “{each.text}” ({record.key})" for each in warned[:1]]
    return tuple(dict.fromkeys(found))


def routes_of(records: Iterable[Evidence]) -> frozenset[str]:
    """Collect a drug's routes of administration from databases; a label covers only one product."""
    told = (said.routes for record in records if isinstance(said := record.record, Drug | DrugApproval))
    return frozenset(name for routes in told for route in routes for name in routes_in(route))


def label_sections(record: Evidence) -> dict[str, str]:
    """Map each heading of a label to its section's text."""
    return dict(part.split(": ", 1) for part in record.content.split("\n\n")[1:] if ": " in part)


def is_condition(name: str, asked: Question) -> bool:
    """Whether an indication matches a condition asked about: it contains all words of one of its names.

    A broader indication does not count: a drug for hypertension is not one for portal hypertension.
    """
    words = frozenset(stems(name))
    return any(wanted and wanted <= words for wanted in (frozenset(stems(n)) for n in condition_names(asked)))


def find_namer(conditions: Sequence[str]) -> Callable[[Sentence], bool]:
    """Return a test for whether a sentence names one of the conditions, under any name."""
    known = {condition for condition in conditions if canonical_condition(condition)}
    others = [frozenset(stems(condition)) for condition in conditions if condition not in known]

    def names_it(sentence: Sentence) -> bool:
        found = any(name in known for name, _, _ in sentence.conditions)
        return found or any(words <= frozenset(stems(sentence.text)) for words in others)

    return names_it
