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
    find_past_withdrawal,
    find_withdrawal,
    is_diagnostic,
    list_contraindications,
)
from ..lexicon.drugs import belongs_to_class
from ..lexicon.matching import content_words, select_stems, stem, stems
from ..questions import Question, find_routes
from ..reading.document import Document, Sentence
from ..reading.facts import find_purpose
from ..reading.reading import Direction
from ..reading.screening import readable
from ..records import Disease, Drug, DrugApproval, Label, Mechanism
from ..records.evidence import Evidence
from ..works.drug_names import is_code
from .appraised import (
    AppraisedRecord,
    Readings,
    appraise_record,
    choose_condition,
    list_condition_names,
    list_conditions,
    list_record_names,
)
from .certainty import LEVELS, AppraisedItem, CandidateAppraisal, appraise_candidate, count_participants
from .fit import COUNTED
from .suitability import NOT_FOR, find_withdrawals, is_barred, list_bars

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
        appraisal = self.appraisal
        how = "; ".join(self.mechanisms) or "mechanism not found"
        sure = "refuted" if appraisal.quality == "refuted" else f"{appraisal.certainty.level.said} certainty"
        return (
            f"{self.drug}: {len(appraisal.supporting)} supporting, {len(appraisal.contradicting)} contradicting, "
            f"{len(appraisal.inconclusive)} inconclusive; {sure}; {how}"
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
        appraisal = self.appraisal
        if appraisal.outcome in ("failed", "missed"):
            return True
        harmful = {record.key for record in self.records if record.reading.does_harm}
        against = {*appraisal.contradicting, *appraisal.missed, *harmful}
        return self.has_verdict and len(against) > len(appraisal.supporting)

    @property
    def does_not_lead(self) -> bool:
        """Whether it was refuted, withdrawn from a market, or is not for the people whom the question names.

        It is shown and marked, but never as a leading candidate.
        """
        return self.appraisal.quality == "refuted" or find_withdrawal(self.drug) is not None or is_barred(self.cautions)

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
        appraisal = self.appraisal
        behind = self._behind
        return (
            not self.has_verdict,
            self.does_not_lead or not behind,
            -LEVELS.index(appraisal.certainty.level),
            self.is_preclinical,
            not any(item.is_direct for item in behind),
            len(appraisal.contradicting) + len(appraisal.missed) - len(appraisal.supporting),
            -count_participants(behind),
            self.drug,
        )


def appraise_candidates(
    question: Question, pool: Sequence[Evidence], readings: Readings | None = None, *, leaves_unread: bool = False
) -> list[Candidate]:
    """Find the drugs in the pool and appraise each; those asked about first, then by support.

    A drug is a candidate if a publication or trial on the condition names it, or a model read it there. Those found
    only in drug databases are not, nor those mostly reported as a cause of the condition, as a measurement, or not as
    a drug.

    Args:
        question: the question.
        pool: all records found.
        readings: the readings of the run; None starts anew.
        leaves_unread: skip records not read before reading was stopped.

    Raises:
        ReadingStopped: reading was stopped, and `leaves_unread` is False.
    """
    readings = readings or Readings()
    entries = defaultdict[str | None, list[Evidence]](list)
    by_drug = defaultdict[str, list[AppraisedRecord]](list)
    for record in pool:
        if kind_of(record) not in STUDIES:
            entries[get_drug(record)].append(record)
            continue
        try:
            appraisals = readings.appraise_once(record, question, partial(_appraise_study, record, question, readings))
        except ReadingStopped:
            if leaves_unread:
                continue
            raise
        for drug, appraised in appraisals.items():
            by_drug[drug].append(appraised)
    treatments: dict[str, list[AppraisedRecord]] = {}
    for drug, records in by_drug.items():
        roles = [record.reading.role for record in records]
        is_treatment = sum(role in _NO_TREATMENT for role in roles) <= sum(role in _TESTED for role in roles)
        if is_treatment and not is_left_out(drug, question, entries[drug]):
            treatments[drug] = records
    working = _find_working(treatments)
    combined = defaultdict[str, set[str]](set)  # by record, the drugs that it tests together with others
    for drug, records in treatments.items():
        for place, appraised in enumerate(records):
            if not working.isdisjoint((appraised.item.against or "").split(" and ")):
                item = appraised.item.model_copy(update={"comparator_works": True})
                records[place] = appraised.model_copy(update={"item": item})
            if not appraised.item.alone:
                combined[appraised.key].add(drug)
    phases = list_developed(question, pool)
    withdrawals = find_withdrawals(pool)
    has_labels = any(isinstance(record.record, Label) for record in pool)
    candidates = []
    for drug, records in treatments.items():
        partners = set[str]().union(*(drugs for drugs in combined.values() if drug in drugs)) - {drug}
        withdrawn = [withdrawals[drug]] if drug in withdrawals and not find_withdrawal(drug) else []
        candidates.append(
            _build_candidate(drug, records, entries[drug], phases.get(drug), question, partners, withdrawn, has_labels)
        )

    def rank(candidate: Candidate) -> tuple[Any, ...]:
        is_named = candidate.drug in (question.drugs or treatments)
        return (not is_named, candidate.in_asked_class is False, *candidate.standing)

    return sorted(candidates, key=rank)


def select_for_display(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Select the first `most` with a verdict, best first, plus all that were refuted or withdrawn or mostly fail."""
    judged = [candidate for candidate in candidates if candidate.has_verdict]
    return [
        candidate
        for at, candidate in enumerate(judged)
        if at < most or candidate.does_not_lead or candidate.mostly_fails
    ]


def select_with_failing(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Select `most` candidates in their order, best first: a third of the places for those that mostly fail."""
    return _share(candidates, most, candidates)


def select_strongest(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Select as `select_with_failing` does, of drugs that do not fail first those with a controlled trial of their own.

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


def _find_working(records_of: Mapping[str, Sequence[AppraisedRecord]]) -> set[str]:
    """Find drugs that beat placebo or nothing with moderate or high certainty, valid as active comparators."""
    working = set[str]()
    for drug, records in records_of.items():
        items = tuple(record.item for record in records)
        beats = any(i.tier == "randomised" and i.against_nothing and i.direction is Direction.supports for i in items)
        if beats and _appraisal_of(items).certainty.level in ("high", "moderate"):
            working.add(drug)
    return working


def read_ahead(
    question: Question, records: Iterable[Evidence], readings: Readings, is_over: Callable[[], bool] = lambda: False
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
            for screened, drug in list_readings(record, question):
                readings.read(screened, drug, choose_condition(screened, question))
            readings.note_read(record)
            readings.appraise_once(record, question, partial(_appraise_study, record, question, readings))


def list_readings(record: Evidence, question: Question) -> list[tuple[Evidence, str]]:
    """List the drugs to read in a publication on the condition, each with the screened record; empty for others."""
    screened = readable(record)
    is_readable = kind_of(record) == "publication" and is_on_condition(screened, question)
    return [(screened, drug) for drug in list_wanted_drugs(screened, question)] if is_readable else []


def _appraise_study(record: Evidence, question: Question, readings: Readings) -> dict[str, AppraisedRecord]:
    """Appraise a study for each drug that it names or a model read in it; empty if it is not on the condition.

    For drugs read by a model, its reading decides whether the study is on the condition; for others, the words do.
    What people leave out says nothing, and what they judge is on the condition.
    """
    screened = readable(record)
    names = list_record_names(screened)
    conditions = list_conditions(question)
    if readings.corrections.find_exclusion(names, conditions) is not None:
        return {}
    by_people = readings.corrections.drugs_of(names, conditions)
    if kind_of(record) == "publication" and readings.is_absent(screened) and not by_people:
        return {}
    matched = readings.find_study(screened, Document.of(screened))
    has_people = matched is not None and matched.people is not None
    by_model = readings.find_model_readings(screened) if has_people or has_background(screened, question) else {}
    is_off = matched is not None and matched.match == "other" and matched.judge_fit_to(question) not in COUNTED
    by_words = find_named_drugs(screened) if is_on_condition(screened, question) and not is_off else []
    mentioned = dict.fromkeys((*by_words, *by_model, *by_people))
    drugs = [drug for drug in mentioned if not is_left_out(drug, question)]
    appraised = {}
    for drug in drugs:
        is_of_other = drug in by_model and by_model[drug].match == "other"
        if drug in by_people or not is_of_other:
            appraised[drug] = appraise_record(screened, drug, question, readings, drugs)
    return appraised


def list_wanted_drugs(record: Evidence, question: Question) -> list[str]:
    """List the drugs that a record names and the question does not exclude."""
    return [drug for drug in find_named_drugs(record) if not is_left_out(drug, question)]


def is_in_question(drug: str, question: Question) -> bool:
    """Whether a question names a drug or one of its classes."""
    return drug in question.drugs or belongs_to_class(drug, (), question.drug_classes)


def is_left_out(drug: str, question: Question, entries: Iterable[Evidence] = ()) -> bool:
    """Whether a question excludes this drug ("without triptans") or only asks about others that it names.

    One given for diagnosis alone is left out unless it is asked about: that it shows a disease well is no effect on it.

    Database entries show whether the drug is given only by excluded routes.
    """
    routes = collect_routes(entries)
    if drug in question.taking or (is_diagnostic(drug) and drug not in question.drugs):
        return True
    if (question.names_all and not is_in_question(drug, question)) or (
        routes and routes <= set(question.excluded_routes)
    ):
        return True
    return drug in question.excluded_drugs or belongs_to_class(drug, (), question.excluded_classes)


def list_drugs_in_use(question: Question, pool: Sequence[Evidence]) -> list[str]:
    """List the drugs that databases give for the condition, by generic name, highest phase first."""
    phases = list_developed(question, pool)
    entries = defaultdict[str | None, list[Evidence]](list)
    for record in pool if question.excluded_routes else ():
        entries[get_drug(record)].append(record)
    names = (name for name in phases if canonical_drug(name) and not is_left_out(name, question, entries[name]))
    return sorted(names, key=lambda name: (-phases[name], name))


def is_on_condition(record: Evidence, question: Question) -> bool:
    """Whether a record mentions a condition asked about, and each one that the people asked about have.

    True for every record if the question names none.
    """
    names = list_condition_names(question)
    return (not names or _mentions_any(record, names)) and has_background(record, question)


def has_background(record: Evidence, question: Question) -> bool:
    """Whether a record mentions each comorbidity of the people asked about."""
    return all(_mentions_any(record, (name, *condition_synonyms(name))) for name in question.background)


def _mentions_any(record: Evidence, names: Sequence[str]) -> bool:
    """Whether a record has all words of any of the names, in any order and form.

    A one-word name is not matched by the word it derives from: alcohol is not alcoholism.
    """
    document = Document.of(record)
    words = document.once(content_words, document.whole)
    if record.trial:
        words = [*words, *content_words(" ".join(record.trial.conditions))]
    stems_of = {name: frozenset(stems(name)) for name in names}
    stems_present = frozenset(select_stems(words, frozenset().union(*stems_of.values())))
    for name, parts in stems_of.items():
        if parts <= stems_present:
            root = next(iter(parts), "")
            is_derived = len(parts) == 1 and content_words(name)[0] not in (root, f"{root}s", f"{root}es")
            akin = (word for word in words if word != root and word.startswith(root[:4]))
            if not is_derived or any(stem(word) == root for word in akin):
                return True
    return False


def find_named_drugs(record: Evidence) -> list[str]:
    """List the drugs that a record names, each once; for a trial, its listed interventions if any.

    An intervention under a research code is known by its other names.
    """
    document = Document.of(record)
    if record.trial and record.trial.interventions:
        names = [entry.get("name", "") for entry in record.trial.interventions]
        coded = [entry for entry in record.trial.interventions if is_code(entry.get("name", ""))]
        for entry in coded:
            names += entry.get("other_names") or ()
        document = Document.cut("", " ; ".join(names))
    return list(dict.fromkeys(name for name, _, _ in document.drugs))


def _build_candidate(
    drug: str,
    records: Sequence[AppraisedRecord],
    entries: Sequence[Evidence],
    phase: float | None,
    question: Question,
    partners: Collection[str],
    withdrawn: Sequence[str],
    has_labels: bool,
) -> Candidate:
    """Build a candidate from its studies, database entries and labels, its highest phase for the condition, and the
    drugs of combination studies that did not separate its own effect."""
    own: list[tuple[str, Drug]] = []
    for entry in entries:
        if isinstance(entry.record, Drug):
            own.append((entry.key, entry.record))
    mechanisms: list[Mechanism] = []
    pathways: list[Any] = []
    symbols: list[str] = []
    for _, data in own:
        mechanisms += data.mechanisms
        pathways += [path.get("name") for path in data.pathways]
    for mechanism in mechanisms:
        symbols += mechanism.get("gene_symbols") or ()
    indications = _list_indications(data for _, data in own)
    cautions = list_cautions(drug, [*question.conditions, *filter(None, [question.population])], entries)
    is_standard = not question.is_preventive and sum(record.compares_with_it for record in records) >= STANDARD
    cautions = tuple(dict.fromkeys((*list_bars(drug, question, entries, has_labels=has_labels), *withdrawn, *cautions)))
    if question.excluded_routes and not collect_routes(entries):
        cautions += (f"Route not found: it may be given by {' or '.join(question.excluded_routes)} alone",)
    cautions += _list_lacking(question, records)
    marketed = [indication.name for indication in indications if (indication.max_phase or 0) >= APPROVED_PHASE]
    appraisal = _appraisal_of(tuple(record.item for record in records))
    sides = dict.fromkeys(appraisal.contradicting, 0) | dict.fromkeys(appraisal.supporting, 1)
    sides |= dict.fromkeys(appraisal.missed, 2)

    def rank(record: AppraisedRecord) -> tuple[int, int, int, str]:
        item = record.item
        return sides.get(record.key, 3), item.design.tier, -(item.sample_size or 0), record.key

    return Candidate(
        drug=drug,
        records=sorted(records, key=rank),
        appraisal=appraisal,
        drug_records=[key for key, _ in own],
        mechanisms=_list_texts(mechanism.get("mechanism_of_action") for mechanism in mechanisms),
        targets=_list_texts(symbols),
        pathways=_list_texts(pathways),
        indications=indications,
        max_phase=max((data.max_phase for _, data in own if data.max_phase is not None), default=None),
        phase_for_condition=phase,
        in_asked_class=belongs_to_class(drug, marketed, question.drug_classes) if question.drug_classes else None,
        group="established" if is_standard else classify_drug(question, phase, entries),
        cautions=cautions,
        combination=tuple(sorted(partners)),
    )


def _list_lacking(question: Question, records: Sequence[AppraisedRecord]) -> tuple[str, ...]:
    """List which of two conditions asked about together no study supports a drug in; the answer is what helps both."""
    if not question.is_both:
        return ()
    helped = {record.reading.condition for record in records if record.item.direction is Direction.supports}
    lacking = [name for name in question.conditions if name not in helped]
    return tuple(f"{NOT_FOR} both: no study here supports it in {name}" for name in lacking)


_appraisal_of = lru_cache(maxsize=1024)(appraise_candidate)  # most candidates gain no record in a round


def _list_indications(about: Iterable[Drug]) -> list[Indication]:
    best: dict[frozenset[str], Indication] = {}
    for data in about:
        for entry in data.indications:
            name = entry.get("name", "")
            phase = entry.get("max_phase")
            words = frozenset(stems(name))  # "migraine disorder" and "Migraine Disorders" are one
            former = best.get(words)
            if name and (former is None or (phase or 0) > (former.max_phase or 0)):
                best[words] = Indication(name=name, max_phase=phase)
    return sorted(best.values(), key=lambda i: (-(i.max_phase or 0), i.name.casefold()))


def _list_texts(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if value))


def get_drug(record: Evidence) -> str | None:
    """Return the generic name of the drug of a drug entry, approval or label; None for other records."""
    data = record.record
    name = data.drug if isinstance(data, Drug | Label | DrugApproval) else None
    return (canonical_drug(name) or name.lower()) if name else None


def list_developed(question: Question, pool: Iterable[Evidence]) -> dict[str, float]:
    """List the drugs that databases give for the condition asked about, with each one's highest phase for it."""
    phases: dict[str, float] = {}
    for record in pool:
        data = record.record
        listed = list[tuple[str | None, float | None]]()
        if isinstance(data, Drug):
            own = [entry for entry in data.indications if is_condition(entry.get("name", ""), question)]
            listed = [(get_drug(record), entry.get("max_phase")) for entry in own]
        elif isinstance(data, Disease) and is_condition(data.disease or "", question):
            listed = [(canonical_drug(str(entry.get("name"))), entry.get("max_phase")) for entry in data.drugs]
        for drug, phase in listed:
            if drug:
                phases[drug] = max(phases.get(drug, 0.0), phase or 0.0)
    return phases


def classify_drug(question: Question, phase: float | None, records: Iterable[Evidence]) -> CandidateGroup:
    """Classify a drug as repurposing candidate or approved for the condition asked about, from entries and labels.

    Databases only name a disease, with a phase. Labels also say whether a drug ends or prevents attacks; in questions
    on prevention, a drug labelled only for acute treatment does not count as approved.
    """
    is_checked = False
    is_for_relief = False
    names_it = find_namer(question.conditions)
    for record in records:
        uses = split_label(record).get("Indications and usage", "") if isinstance(record.record, Label) else ""
        document = Document.cut("", uses)
        for use in filter(names_it, document.sentences):
            if question.is_preventive and find_purpose(document, use.quote) == "relief":
                is_for_relief = True
            elif "not" not in use.signs:
                return "established"
        is_checked = is_checked or bool(uses) or (isinstance(record.record, Drug) and bool(record.record.indications))
    if (phase or 0) >= APPROVED_PHASE and not is_for_relief:
        return "established"
    return "repurposing" if is_checked else "not_checked"


def list_cautions(drug: str, conditions: Sequence[str], records: Iterable[Evidence]) -> tuple[str, ...]:
    """List a drug's withdrawal and its warnings for conditions or a population, by the curated table and its records.

    Of labels these are the sentences that name one of the conditions.
    """
    withdrawal = find_withdrawal(drug)
    caution_lines = [f"Withdrawn: {withdrawal}"] if withdrawal else []
    is_gone = bool(caution_lines)
    returned = find_past_withdrawal(drug)
    if returned:
        caution_lines.append(f"Once withdrawn: {returned}")
    names_it = find_namer(conditions)
    for contraindication in list_contraindications(drug, conditions):
        caution_lines.append(f"{contraindication.kind.capitalize()}: {contraindication}")
    for record in records:
        data = record.record
        if isinstance(data, Drug):
            for name in data.contraindications:
                if any(map(names_it, Document.cut("", name).sentences)):
                    caution_lines.append(f"Contraindicated: {name}, by DrugCentral ({record.key})")
                    break  # one stands for all
        if isinstance(data, Drug) and not is_gone:
            withdrawals = [warning for warning in data.warnings if warning.get("kind") == "withdrawn"]
            for warning in withdrawals[:1]:
                where = ", ".join(str(warning[key]) for key in ("country", "year", "about") if key in warning)
                caution_lines.append(f"Withdrawn: {where or 'no details'} ({record.key})")
        elif isinstance(data, Label):
            sections = split_label(record)
            for heading, text in (("Contraindications", "Contraindicated"), ("Boxed warning", "Boxed warning")):
                warned = [s for s in Document.cut("", sections.get(heading, "")).sentences if names_it(s)]
                caution_lines += [f"{text}: “{sentence.text}” ({record.key})" for sentence in warned[:1]]
    return tuple(dict.fromkeys(caution_lines))


def collect_routes(records: Iterable[Evidence]) -> frozenset[str]:
    """Collect a drug's routes of administration from databases; a label covers only one product."""
    names: set[str] = set()
    for record in records:
        if isinstance(record.record, Drug | DrugApproval):
            for route in record.record.routes:
                names.update(find_routes(route))
    return frozenset(names)


def split_label(record: Evidence) -> dict[str, str]:
    """Map each heading of a label to its section's text."""
    return dict(part.split(": ", 1) for part in record.content.split("\n\n")[1:] if ": " in part)


def is_condition(name: str, question: Question) -> bool:
    """Whether an indication matches a condition asked about: it contains all words of one of its names.

    A broader indication does not count: a drug for hypertension is not one for portal hypertension.
    """
    words = frozenset(stems(name))
    for condition in list_condition_names(question):
        required = frozenset(stems(condition))
        if required and required <= words:
            return True
    return False


def find_namer(conditions: Sequence[str]) -> Callable[[Sentence], bool]:
    """Return a test for whether a sentence names one of the conditions, under any name."""
    canonical = {condition for condition in conditions if canonical_condition(condition)}
    others = [frozenset(stems(condition)) for condition in conditions if condition not in canonical]

    def names_it(sentence: Sentence) -> bool:
        is_canonical = any(name in canonical for name, _, _ in sentence.conditions)
        return is_canonical or any(words <= frozenset(stems(sentence.text)) for words in others)

    return names_it
