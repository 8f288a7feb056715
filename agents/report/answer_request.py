"""What a model sees that writes the answer: the judge's view, what code computed, studies with values and passages."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from willowbark.tools.appraisal import Direction, Level
from willowbark.tools.appraisal.appraised import AppraisedRecord, list_condition_names
from willowbark.tools.appraisal.candidates import Candidate, select_strongest, split_label
from willowbark.tools.appraisal.judgement import JudgedDrug
from willowbark.tools.appraisal.suitability import is_barred, list_people
from willowbark.tools.appraisal.views import ON_IT
from willowbark.tools.lexicon import find_drugs, find_withdrawal
from willowbark.tools.mechanism import Chain, MechanismFindings, Step
from willowbark.tools.reading.screening import readable
from willowbark.tools.reading.text import plain
from willowbark.tools.records import Label
from willowbark.tools.records.enclosure import enclose_lines, new_marker, unmarked
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import title_of
from willowbark.tools.records.study import StatedView, Study, first_reading
from willowbark.tools.wording import counted, listed, short

from ..assessment import MOST_CANDIDATES, JudgeAssessment, select_records
from ..checking.basis import (
    TABLE,
    CitedSource,
    WritingBasis,
    describe_arm,
    describe_comparison,
    passages_of,
    source_of_study,
)
from ..checking.figures import find_missing_figures, list_figures_in
from ..checking.gaps import count_harms
from ..checking.judged import list_judged
from ..checking.table import LEVELS
from .answers import ReportAnswer
from .material import Material
from .tables import list_studies

MOST_STUDIES = 48  # shown to the writer, the strongest of each drug before any second
MOST_CHARACTERS = 60_000  # of their lines, about 15,000 tokens
LEAST_LINES = 2  # studies of the shortest request
MOST_PARAGRAPHS = 10  # drugs with a paragraph: those that lead, then those that failed
MOST_LEADING = 6
MOST_ALIKE = 12  # studies in support of one drug
MOST_UNDECIDED = 2  # studies of one drug whose comparisons decide nothing
MOST_BARRED = 6  # drugs beside these that are no option for those asked about: an answer may have to say so
MOST_HARMING = 5  # drugs beside these that did harm, where a part of the question asks which
MOST_FURTHER = 3  # studies on the condition that are on no drug by name
SHOWN_ENTRY = 600  # characters of a database's entry, and of a label's section
MOST_CAUTIONS = 3  # of a drug
_WARNINGS = ("Boxed warning", "Contraindications", "Pregnancy")
_COUNTING = re.compile(r"; optimal|, half of all|, \d+ stud(?:y|ies) of unreported")
"""Begins, in a reason for lower certainty, how its rule counts people."""
_VERDICTS = ("works", "does_not_work", "not_shown")
"""What a statement says of a drug that the comparisons of its study say as well."""
_LEADING = ("benefit", "standard", "mixed")
_FAILED = ("failed", "missed", "unsuited", "withdrawn")


class AnswerRequest(BaseModel, frozen=True, extra="forbid"):
    """A report agent's request for an answer in words, as data and as text for a language model."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    question: str
    people: list[str] = []
    """Whom it asks about."""
    excluded: list[str] = []
    """Drugs, classes and routes that it excludes."""
    due: list[str] = []
    """Drugs on which a paragraph is due."""
    judged: list[str] = []
    """What the judge made of it, a line each."""
    computed: list[str] = []
    """What code computed, a line for each drug or finding."""
    lines: list[dict[str, Any]] = []
    """Studies, entries of databases and chains of mechanism, as data."""
    marker: str = Field(default_factory=new_marker, exclude=True)

    @property
    def can_be_shorter(self) -> bool:
        """Whether it shows more than its strongest study or two."""
        return len(self.lines) > LEAST_LINES

    def shorter(self) -> "AnswerRequest":
        """Return the request with the first half of what was read, for a model whose context is too small."""
        half = len(self.lines) // 2
        return self.model_copy(update={"lines": self.lines[:half], "computed": self.computed[: 1 + half]})

    @property
    def text(self) -> str:
        """The request as text."""
        people = [f"Asked about: {listed(self.people, most=9)}"] if self.people else []
        excluded = [f"Excluded by the question: {listed(self.excluded, most=9)}"] if self.excluded else []
        return "\n".join(
            [
                f"Question: {self.question}",
                *people,
                *excluded,
                f"Paragraphs are due on: {listed(self.due, most=len(self.due)) if self.due else 'no drug'}",
                "What the judge made of it:",
                *(f"- {unmarked(line)}" for line in self.judged),
                f'What code computed of all that was read (key "{TABLE}"):',
                *(f"- {line}" for line in self.computed),
                "What was read:",
                enclose_lines(self.lines, self.marker),
            ]
        )


def build_request(
    material: Material, mechanisms: MechanismFindings, answered: ReportAnswer | None, marker: str
) -> tuple[AnswerRequest, WritingBasis]:
    """Build the request for an answer, and what its sentences may rest on.

    Args:
        material: the report's input, before anything is written.
        mechanisms: chains from drugs to the condition.
        answered: the computed answer to a question other than what helps; None for what helps.
        marker: marks the block of records.
    """
    judged = [candidate for candidate in material.candidates if candidate.has_verdict]
    candidates = select_strongest(judged, MOST_CANDIDATES) or list(material.asked_candidates[:MOST_CANDIDATES])
    barred = [candidate for candidate in judged if _is_barred(candidate) and candidate not in candidates]
    candidates += barred[:MOST_BARRED]
    if answered is not None:  # part of the question is what does harm, and such drugs may have no verdict as a remedy
        candidates += _list_harming(material.candidates, candidates)
    studies = _select_studies(candidates, material)
    chains = {
        candidate.drug: mechanisms.chains[candidate.drug]
        for candidate in candidates
        if candidate.drug in mechanisms.chains
    }
    sources = {study.key: _source_of(study, material.records[study.key]) for study, _ in studies}
    for source in [*_entries(material, candidates), *_steps(chains.values(), material.records)]:
        former = sources.get(source.key)
        sources[source.key] = source if former is None else _join(former, source)
    table = _compute_table(candidates, material, answered)
    last = material.assessments[-1] if material.assessments else None
    asked = material.asked
    basis = WritingBasis(
        question=material.dossier.question,
        sources=sources,
        judged=_list_judged_sources(last, material, sources),
        table=table,
        levels={candidate.drug: _rated_level(candidate) for candidate in candidates},
        barred=_list_barred(material),
        barred_classes=asked.excluded_classes,
        read=material.read,
        set_aside=frozenset(one.name for one in material.approval.set_aside),
        allowed_drugs=frozenset((*asked.drugs, *asked.taking, *asked.excluded_drugs)),
    )
    listed_keys = {study.key for study, _ in studies}
    focus = _Focus(material)
    request = AnswerRequest(
        question=" ".join(material.dossier.question.split()),
        people=list(list_people(asked)),
        excluded=[*asked.excluded_drugs, *asked.excluded_classes, *asked.excluded_routes],
        due=_list_due(candidates, material),
        judged=_describe_judgement(last, {candidate.drug for candidate in candidates}),
        computed=list(table.values()),
        lines=[
            *(_describe_study(focus.of(study), says, sources[study.key]) for study, says in studies),
            *(_describe_entry(source) for key, source in sources.items() if key not in listed_keys),
        ],
        marker=marker,
    )
    return request, basis


def _list_harming(every: Sequence[Candidate], shown: Sequence[Candidate]) -> list[Candidate]:
    """List drugs beside those shown on which patients did worse or were harmed, those of most studies first."""
    told = {candidate.drug: sum(bool(record.harm_told) for record in candidate.records) for candidate in every}
    harming = [candidate for candidate in every if told[candidate.drug] and candidate not in shown]
    return sorted(harming, key=lambda candidate: -told[candidate.drug])[:MOST_HARMING]


class _Focus:
    """Leaves out of a study what it compared on another condition than the one asked about."""

    def __init__(self, material: Material) -> None:
        self._names = list_condition_names(material.asked)
        self._matched = {matched.study.key: matched for matched in material.readings.studies}

    def of(self, study: Study) -> Study:
        """Return a study with its comparisons on the condition alone; as it is where there is none."""
        matched = self._matched.get(study.key)
        if matched is None or study.reader == "small_reader":
            return study
        is_on_it = matched.make_test(self._names)
        comparisons = tuple(row for row in study.comparisons if is_on_it(row))
        if not comparisons or len(comparisons) == len(study.comparisons):
            return study
        return study.model_copy(update={"comparisons": comparisons})


def _is_barred(candidate: Candidate) -> bool:
    """Whether a drug is no option: withdrawn, or not for the people asked about, by a table or by the judge."""
    return find_withdrawal(candidate.drug) is not None or is_barred(candidate.cautions)


def _list_judged_sources(
    judged: JudgeAssessment | None, material: Material, shown: Mapping[str, CitedSource]
) -> dict[str, CitedSource]:
    """List what the judge's words rest on and the writer is not shown, by key."""
    keys = {key for sentence in list_judged(judged.view) for key in sentence.keys} if judged else set()
    due = keys - shown.keys()
    studies = [record.study for candidate in material.candidates for record in candidate.records if record.key in due]
    return {study.key: _source_of(study, material.records[study.key]) for study in studies}


def _select_studies(candidates: Sequence[Candidate], material: Material) -> list[tuple[Study, dict[str, str]]]:
    """Select studies with what each says of which drug: the first of each drug before any second."""
    by_key = dict[str, list[Study]]()
    for study in list_studies(candidates):
        by_key.setdefault(study.key, []).append(study)
    says = dict[str, dict[str, str]]()
    for candidate in candidates:
        for record in candidate.records:
            says.setdefault(record.key, {})[candidate.drug] = _side_of(record)
    turns = [_order_records(candidate) for candidate in candidates]
    longest = max(map(len, turns), default=0)
    keys = dict.fromkeys(records[turn].key for turn in range(longest) for records in turns if turn < len(records))
    chosen = list[tuple[Study, dict[str, str]]]()
    room = MOST_CHARACTERS
    for key in keys:
        study = first_reading(by_key[key])
        size = len(json.dumps(_describe_study(study, says[key], source_of_study(study, ""))))
        if key in material.records and size <= room and len(chosen) < MOST_STUDIES:
            chosen.append((study, says[key]))
            room -= size
    return [*chosen, *((study, {}) for study in _select_further(material))]


def _select_further(material: Material) -> list[Study]:
    """Select the largest studies on the condition that compare no drug by name, as ways of treating or of dosing."""
    taken = {record.key for candidate in material.candidates for record in candidate.records}
    further = [
        matched.study
        for matched in material.readings.studies
        if matched.match in ON_IT and matched.study.comparisons and matched.study.key not in taken
    ]
    standing = [study for study in further if study.key in material.records and study.reader != "small_reader"]
    return sorted(standing, key=lambda study: -(study.randomised or 0))[:MOST_FURTHER]


def _order_records(candidate: Candidate) -> list[AppraisedRecord]:
    """List a drug's records for a writer, by turns of those with a verdict and those without.

    The latter tell a harm, something stated, or a comparison that decides nothing: it was in other people, or found no
    difference between drugs. Of more than `MOST_ALIKE` supporting ones the first are listed.
    """
    standing = [record for record in candidate.records if not record.item.retracted]
    telling = [record for record in standing if record.item.is_telling]
    supporting = [record for record in telling if record.item.direction is Direction.supports]
    telling = [record for record in telling if record not in supporting[MOST_ALIKE:]]
    others = [record for record in standing if record.harm_told and record not in supporting]
    others += [record for record in standing if record.study.statements]
    undecided = [record for record in standing if record.study.comparisons and not record.item.is_telling]
    others += [record for record in undecided if record not in others][:MOST_UNDECIDED]
    others = [record for record in others if record not in telling and record not in supporting]
    turns = zip_longest(telling, dict.fromkeys(record.key for record in others))
    by_key = {record.key: record for record in standing}
    keys = [key for one, other in turns for key in (one.key if one else "", other or "") if key]
    return [by_key[key] for key in dict.fromkeys(keys)]


def _side_of(record: AppraisedRecord) -> str:
    if record.item.retracted:
        return "retracted"
    if record.item.missed_primary:
        return "missed its primary outcome"
    return "harm" if record.harm_told and not record.item.is_telling else str(record.item.direction)


def _describe_study(study: Study, says: Mapping[str, str], source: CitedSource) -> dict[str, Any]:
    """Return a study as data for the writer."""
    verdicts = {drug: verdict for drug, verdict in says.items() if verdict != Direction.not_assessed}
    line: dict[str, Any] = {"key": study.key, "title": source.title, "design": study.design, "says": verdicts}
    for name in ("condition", "people", "background"):
        value = getattr(study, name)
        if value:
            line[name] = value
    if study.comparisons:
        line["comparisons"] = [describe_comparison(study, comparison) for comparison in study.comparisons]
    compared = set(chain.from_iterable(arm.drugs for arm in study.arms)) if study.comparisons else set()
    stated = [view for view in study.statements if view.drug not in compared or view.says not in _VERDICTS]
    if stated:
        line["statements"] = [_describe_statement(view) for view in stated]
    arms = {describe_arm(arm.name, arm.drugs, arm.dose, arm.n) for arm in study.arms if arm.dose or arm.n is not None}
    values = [value for value in source.values if value in arms or value.endswith((" randomised", " analysed"))]
    told = set(passages_of(study))
    every = list(source.passages)
    passages = [text for text in every if text in told] or every
    return {**line, "passages": passages, "values": values}


def _describe_statement(view: StatedView) -> str:
    reason = f", since {view.reason}" if view.reason else ""
    return f"{view.drug}: {view.says.replace('_', ' ')} ({view.basis.replace('_', ' ')}){reason}"


def _describe_entry(source: CitedSource) -> dict[str, Any]:
    return {"key": source.key, "title": source.title, "passages": list(source.passages)}


def _title_of(record: Evidence) -> str:
    """Name a record with its year, as far as known."""
    title = readable(record).citation.title
    year = record.citation.date[:4]
    return f"{title} ({year})" if year.isdigit() else title


def _entries(material: Material, candidates: Sequence[Candidate]) -> Iterator[CitedSource]:
    """Yield entries of databases and labels."""
    studied = {record.key for candidate in candidates for record in candidate.records}
    for record in select_records(material.pool, candidates):
        if record.key in studied or record.paper is not None or record.trial is not None:
            continue
        told = readable(record)
        passages = [told.content.removeprefix(told.citation.title).strip()[:SHOWN_ENTRY]]
        if isinstance(record.record, Label):
            sections = split_label(told)
            passages = [f"{name}: {sections[name][:SHOWN_ENTRY]}" for name in _WARNINGS if name in sections] or passages
        drug = getattr(record.record, "drug", None)
        drugs = frozenset((drug,)) if drug else frozenset()
        yield CitedSource(record.key, _title_of(record), tuple(filter(None, dict.fromkeys(passages))), drugs=drugs)


def _source_of(study: Study, record: Evidence) -> CitedSource:
    is_retracted = record.paper is not None and record.paper.retracted is True
    source = source_of_study(study, _title_of(record), is_retracted=is_retracted)
    return replace(source, values=tuple(dict.fromkeys((*source.values, *_list_timed(study, record)))))


def _list_timed(study: Study, record: Evidence) -> Iterator[str]:
    """Yield outcomes and times of comparisons with figures that the record has, as "albuminuria over 32 months".

    A writer sees them beside the comparison, and its passage may not repeat them.
    """
    registered = record.trial.model_dump_json() if record.trial else ""
    whole = CitedSource(study.key, _title_of(record), (record.content, registered))
    for row in study.comparisons:
        told = " ".join(filter(None, (row.outcome, row.time_point)))
        if list_figures_in(plain(told)) and not find_missing_figures(told, [whole]):
            yield f"outcome: {told}"


def _steps(chains: Iterable[Chain], records: Mapping[str, Evidence]) -> Iterator[CitedSource]:
    """Yield what records say of the steps from drugs to the condition."""
    for path in chains:
        steps = [*path.steps, *([path.unlinked] if path.unlinked else [])]
        for step in steps:
            for backing in step.backings:
                if backing.key in records and not backing.denies:
                    drugs = frozenset((path.drug,)) if step.start.kind == "drug" else frozenset()
                    told = (backing.quote or _describe_step(step, backing.source),)
                    yield CitedSource(backing.key, _title_of(records[backing.key]), told, drugs=drugs)


def _describe_step(step: Step, source: str) -> str:
    number = f" ({step.end.number})" if step.end.number else ""
    return f"{step.start.name} – {step.relation} – {step.end.name}{number}, by {title_of(source)}"


def _join(one: CitedSource, other: CitedSource) -> CitedSource:
    passages = tuple(dict.fromkeys((*one.passages, *other.passages)))
    return CitedSource(one.key, one.title, passages, one.values, one.drugs | other.drugs, one.is_study)


def _compute_table(
    candidates: Sequence[Candidate], material: Material, answered: ReportAnswer | None
) -> dict[str, str]:
    """Compute a line for each drug, by its name, and one of the whole run."""
    counts = material.counts
    papers = counts["peer_reviewed"] + counts["preprints"]
    whole = f"read: {counted(papers, 'publication')} and {counted(counts['clinical_trials'], 'registered trial')}"
    if material.silent_sources:
        whole = f"{whole}; did not answer: {listed(list(map(title_of, material.silent_sources)))}"
    computed = [short(sentence, 400) for sentence in answered.sentences] if answered else []
    gaps = material.gaps
    missing = [f"The judge named as missing: {'; '.join(gap.rstrip('.') for gap in gaps)}."] if gaps else []
    unread = _list_unread(material)
    missing += [f"Without a result in anything read: {', '.join(unread)}."] if unread else []
    table = {"": " ".join([f"{whole}.", *computed, *missing])}
    for candidate in candidates:
        table[candidate.drug] = _describe_candidate(candidate, material)
    return table


def _list_unread(material: Material) -> list[str]:
    """List the drugs that the question or the judge's gaps name and on which no result was read."""
    mentions = chain.from_iterable(map(find_drugs, material.gaps))
    named = [*material.asked.drugs, *(mention.name for mention in mentions)]
    return [drug for drug in dict.fromkeys(named) if "results" not in material.read.get(drug, ())]


def _describe_candidate(candidate: Candidate, material: Material) -> str:
    found = candidate.appraisal
    place = material.places[candidate.drug]
    tally = place.tally
    parts = [place.place.replace("_", " "), f"{found.certainty.level.said} certainty"]
    if found.quality == "refuted":
        parts = ["refuted"]
    sides = {"supporting": found.supporting, "contradicting": found.contradicting, "missed": found.missed}
    parts += [f"{len(keys)} {name}" for name, keys in sides.items() if keys]
    if tally.trials:
        parts.append(f"{tally.reporting_benefit} of {counted(tally.trials, 'trial')} that can show it report benefit")
    harms = count_harms(candidate)
    if harms:
        parts.append(f"harms told in {counted(harms, 'study')}")
    if tally.as_comparator:
        parts.append(f"comparator in {counted(tally.as_comparator, 'trial')}")
    if candidate.combination:
        parts.append(f"also in combination with {listed(list(candidate.combination))}")
    if candidate.in_asked_class is False:
        parts.append("not of the class asked about")
    parts += [short(caution, 300) for caution in candidate.cautions[:MOST_CAUTIONS]]
    lowered = [_shorten_reason(reason) for reason in found.certainty.lowered]
    is_told = lowered and found.quality != "refuted" and place.place in _LEADING
    parts += [f"certainty lowered: {'; '.join(lowered)}"] if is_told else []
    return f"{candidate.drug}: {'; '.join(parts)}."


def _shorten_reason(reason: str) -> str:
    """Return why certainty was lowered and by how much, without how the rule counts people.

    >>> _shorten_reason("Imprecision: 41 participants compared, half of all arms; optimal information size 400 (-2)")
    'Imprecision: 41 participants compared (-2)'
    """
    first = _COUNTING.split(reason)[0]
    steps = re.search(r"\(-\d\)", reason)
    text = short(first, 120).rstrip(".")
    return f"{text} {steps.group()}" if steps and steps.group() not in text else text


def _list_due(candidates: Sequence[Candidate], material: Material) -> list[str]:
    """List the drugs on which a paragraph is due: those that lead, then those that failed or are barred."""
    if not material.asked.asks_what_helps:
        return [candidate.drug for candidate in candidates if candidate.drug in material.asked.drugs][:MOST_LEADING]
    places = material.places
    named = [candidate.drug for candidate in candidates if candidate.drug in material.asked.drugs]
    leading = [
        candidate.drug
        for candidate in candidates
        if places[candidate.drug].place in _LEADING and candidate.drug not in named
    ]
    failed = [
        candidate.drug
        for candidate in candidates
        if places[candidate.drug].place in _FAILED and candidate.drug not in named
    ]
    return [*named, *leading[:MOST_LEADING], *failed][:MOST_PARAGRAPHS]


def _list_barred(material: Material) -> dict[str, str]:
    """List drugs that the question excludes, or that cautions bar from leading."""
    barred = dict.fromkeys(material.asked.excluded_drugs, "the question excludes it")
    for candidate in material.candidates:
        place = material.places[candidate.drug].place
        if place in ("unsuited", "withdrawn"):
            barred[candidate.drug] = short(
                next(iter(candidate.cautions), find_withdrawal(candidate.drug) or place), 120
            )
    return barred


def _rated_level(candidate: Candidate) -> Level:
    """Return the certainty that counts, the lower of the judge's and the computed one; of a refuted drug the lowest."""
    return LEVELS[0] if candidate.appraisal.quality == "refuted" else candidate.appraisal.certainty.level.said


def _describe_judgement(judged: JudgeAssessment | None, shown: Set[str]) -> list[str]:
    """List what the judge made of the evidence on the drugs shown: its own words with their keys, a line each."""
    if judged is None:
        return ["nothing: no judge spoke on what was found last"]
    view = judged.view
    lines = [judged.reasoning, *judged.details.reasons]
    lines += [_with_keys(f"Decides: {reason.text}", reason.keys) for reason in view.decides]
    lines += [_with_keys(f"Contradicts: {reason.text}", reason.keys) for reason in view.contradicts]
    lines += [_describe_judged(drug) for drug in view.drugs if drug.drug in shown]
    lines += [f"Struck: {row.drug} in {row.key}, {row.reason}" for row in view.struck]
    if not (view.decides or view.drugs):
        lines += [f"Found: {finding}" for finding in judged.details.key_findings]
    return [*lines, f"Confidence: {judged.confidence:.2f}"]


def _describe_judged(drug: JudgedDrug) -> str:
    level = f"{drug.level.said} certainty" if drug.level else "certainty cannot be told"
    parts = [level, drug.reason, f"not for the people asked about: {drug.not_for}" if drug.not_for else ""]
    return _with_keys(f"{drug.drug}: {'; '.join(filter(None, parts))}", drug.keys)


def _with_keys(text: str, keys: Sequence[str]) -> str:
    return f"{text} ({', '.join(keys)})" if keys else text
