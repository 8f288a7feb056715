"""Material for a report: the dossier, appraisals, claims and the course of the run."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, is_in_question, select_for_display
from willowbark.tools.appraisal.sorting import SortedDrug, sort_drugs
from willowbark.tools.lexicon.conditions import find_known_conditions, stem_name
from willowbark.tools.mechanism import MechanismFindings, MechanismGraph, assess
from willowbark.tools.questions import Question
from willowbark.tools.records import Drug, Trial
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import gives, title_of
from willowbark.tools.wording import as_spelt, listed, short

from ..approval import Approval
from ..asking.claims import Verdicts
from ..assessment import JudgeAssessment, count_by_kind
from ..checking.gaps import Aspect, hold_gaps, list_read
from ..checking.written import WrittenAnswer
from ..findings import Dossier
from ..work import WorkShare
from .content import TurnUsage

MAX_DETAILED = 24  # drugs in detail; the others with a result have a line each


@dataclass(frozen=True)
class Material:
    """All input of a report."""

    dossier: Dossier
    assessments: Sequence[JudgeAssessment]
    pool: Sequence[Evidence]
    candidates: Sequence[Candidate]
    """Candidates that were not set aside."""
    verdicts: Verdicts = field(default_factory=Verdicts)
    written: WrittenAnswer | None = None
    """The answer in a model's words; None where none wrote."""
    repaired: int = 0
    notes: Sequence[str] = ()
    tokens_used: int = 0
    analyst: str = "unknown"
    work: WorkShare | None = None
    """How much the model did that was asked for; None if none was."""
    model_failed: bool = False
    """Whether the draft is not by the first model."""
    stop_reason: str | None = None
    approval: Approval = field(default_factory=lambda: Approval(decided_by="nobody"))
    aside: Sequence[Candidate] = ()
    """Candidates excluded from the report by decision."""
    by_model: bool = False
    """Whether a language model wrote; the report then counts its sentences that are not shown."""
    usage: Sequence[TurnUsage] = ()
    readings: Readings = field(default_factory=Readings)
    """The run's readings."""
    changes: Sequence[str] = ()
    """What was not understood of the sources' replies, a line for each source."""
    records: Mapping[str, Evidence] = field(init=False)
    asked: Question = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", {record.key: record for record in self.pool})
        object.__setattr__(self, "asked", self.dossier.asked)

    @cached_property
    def shown(self) -> list[Candidate]:
        """All candidates with a verdict, best first; empty if the question does not ask what helps.

        Drugs that only help complications come after the others, unless asked about.
        """
        if not self.asked.asks_what_helps:
            return []
        with_verdict = [candidate for candidate in self.candidates if candidate.has_verdict]

        def comes_last(candidate: Candidate) -> bool:
            is_named = candidate.drug in self.asked.drugs or candidate.in_asked_class
            return candidate.helps_complications_alone and not is_named

        return sorted(with_verdict, key=comes_last)

    @cached_property
    def detailed(self) -> list[Candidate]:
        """Those shown in detail: the first ones, and all that failed; of the others the report has a line each."""
        return select_for_display(self.shown, MAX_DETAILED)

    @cached_property
    def places(self) -> Mapping[str, SortedDrug]:
        """The place of each candidate by drug, shown or not."""
        return sort_drugs(self.candidates)

    @cached_property
    def is_judged(self) -> bool:
        """Whether a language model read a study on which a drug's place rests; else the report sorts."""
        return any(place.is_read_by_model for place in self.places.values())

    @cached_property
    def read(self) -> Mapping[str, Set[Aspect]]:
        """What was read of each drug: results, harms."""
        return list_read(self.candidates, self.counts["clinical_trials"])

    @cached_property
    def gaps(self) -> list[str]:
        """What the judge named last as missing, without what was read after all."""
        return hold_gaps(self.assessments[-1].gaps, self.read) if self.assessments else []

    @property
    def silent_sources(self) -> list[str]:
        """Names of sources that never answered, in alphabetical order."""
        return sorted({reply.source for reply in self.dossier.replies} - set(self.dossier.answered))

    @property
    def silent_registries(self) -> str:
        """Titles of the registries of trials that never answered, for a sentence; empty if none."""
        return listed([title_of(name) for name in self.silent_sources if gives(name) == "trial"])

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of records found by kind: `peer_reviewed`, `clinical_trials`, `preprints`, `other`."""
        return count_by_kind(self.pool)

    @cached_property
    def drug_entries(self) -> Mapping[str, list[tuple[str, Drug]]]:
        """Database entries, with keys, of the drugs asked about, or of all drugs if none is named."""
        asks_all = not (self.asked.drugs or self.asked.drug_classes)
        entries: dict[str, list[tuple[str, Drug]]] = {}
        for record in self.pool:
            entry = record.record
            if isinstance(entry, Drug) and entry.drug and (asks_all or is_in_question(entry.drug, self.asked)):
                entries.setdefault(entry.drug, []).append((record.key, entry))
        return entries

    @cached_property
    def looked_up(self) -> frozenset[str]:
        """The drugs, by generic name, for which a drug database was asked."""
        names = set(self.drug_entries)
        for reply in self.dossier.replies:
            if gives(reply.source) == "drug":
                names |= {name.strip().casefold() for name in reply.query.split(",")}
        return frozenset(names)

    @cached_property
    def asked_names(self) -> str:
        """The drugs and classes named in the question, as spelt there; empty if none."""
        names = (*self.asked.drugs, *self.asked.drug_classes)
        return short(listed([as_spelt(name, self.dossier.question) for name in names]))

    @cached_property
    def asked_candidates(self) -> list[Candidate]:
        """The drugs asked about; all if none is named."""
        return [c for c in self.candidates if not self.asked_names or is_in_question(c.drug, self.asked)]

    @cached_property
    def asked_trials(self) -> list[tuple[Evidence, Trial]]:
        """Registered trials of the drugs asked about."""
        keys: set[str] = set()
        for candidate in self.asked_candidates:
            keys |= {record.key for record in candidate.records}
        return [(record, record.trial) for record in self.pool if record.key in keys and record.trial]

    @property
    def reason(self) -> str:
        """Why the search ended, as in `JudgeAssessment.stop_reason`; `no_verdict` if no judge ended it."""
        reasons = [verdict.stop_reason for verdict in self.assessments if verdict.stop_reason]
        return self.stop_reason or (reasons[-1] if reasons else "no_verdict")

    @property
    def unread(self) -> int:
        """Number of records found but not read because the run was stopped."""
        return self.readings.unread if self.readings.was_stopped else 0

    @property
    def topic(self) -> str:
        """The condition asked about, named as in the question; if none is known, the question in quotes."""
        question = self.dossier.question
        topic = " and ".join(_spell_as_in_question(name, question) for name in self.asked.conditions)
        background = " and ".join(_spell_as_in_question(name, question) for name in self.asked.background)
        topic += f" in people with {background}" if background else ""
        return topic or f"“{' '.join(self.asked.terms) or question}”"

    @property
    def purpose(self) -> str:
        """Purpose of the drugs: `to prevent migraine`, `for portal hypertension`."""
        return f"{'to prevent' if self.asked.is_preventive else 'for'} {self.topic}"

    @property
    def library(self) -> str:
        """The local library that answered instead of the sources; empty if the sources did."""
        return next((reply.library for reply in self.dossier.replies if reply.library), "")

    @property
    def is_outside_library(self) -> bool:
        """Whether a local library was searched for a condition and gave no record: it is none that it holds."""
        return bool(self.library) and bool(self.asked.conditions) and not self.pool


def find_mechanisms(material: Material) -> MechanismFindings:
    """Find mechanisms of the report's candidates and of drugs whose mechanism is asked about."""
    findings = assess(material.shown, material.pool, material.asked)
    if material.asked.kind != "mechanism":
        return findings
    drugs = [*findings.chains, *material.drug_entries]
    graph = MechanismGraph(material.pool, material.asked, drugs)
    return findings._replace(chains={drug: graph.chain(drug) for drug in drugs}, graph=graph)


def _spell_as_in_question(condition: str, question: str) -> str:
    """Spell a condition as in the question, by the name used there if that shares no word with its usual one."""
    spellings = (mention.text for mention in find_known_conditions(question) if mention.name == condition)
    others = (name for name in spellings if not name.isupper() and stem_name(name).isdisjoint(stem_name(condition)))
    return next(others, as_spelt(condition, question))
