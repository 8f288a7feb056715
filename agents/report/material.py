"""Material for a report: the dossier, appraisals, claims and the course of the run; and its references."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, is_asked_about, select_shown
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon.conditions import find_known_conditions, name_essence
from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.mechanism.hypotheses import MechanismFindings, assess
from willowbark.tools.questions import Question
from willowbark.tools.reading.screening import is_addressed_to_machines
from willowbark.tools.records import Drug
from willowbark.tools.wording import as_spelt
from willowbark.tools.works.sections import licence_of, places
from willowbark.tools.works.trust import flags_of, is_unchecked

from ..approval import Approval
from ..asking.claims import Verdicts
from ..assessment import JudgeAssessment, sources_breakdown
from ..findings import Dossier
from ..progress import Progress
from .content import TurnUsage
from .forms.blocks import Cite

MAX_CANDIDATES = 12  # in the report; further ones are only named
_ENDINGS = {
    "sufficient_evidence": "the evidence was judged sufficient",
    "token_budget_exceeded": "the token budget was nearly used up",
    "max_iterations_reached": "the maximum number of rounds was reached",
    "timeout": "the time budget was nearly used up",
    "no_new_evidence": "further searches found nothing new",
    "sources_unreachable": "no source could be reached",
    "cancelled": "the run was stopped",
    "no_verdict": "the report was requested before a judge had ended the search",
    "error": "the run failed; this is what it had found until then",
}
_AIMS = {"prevention": "to prevent", "treatment": "for", "unknown": "for"}


@dataclass(frozen=True)
class Material:
    """All input of a report."""

    dossier: Dossier
    assessments: Sequence[JudgeAssessment]
    pool: Sequence[Evidence]
    candidates: Sequence[Candidate]
    """Candidates that were not set aside."""
    verdicts: Verdicts
    repaired: int = 0
    notes: Sequence[str] = ()
    tokens_used: int = 0
    analyst: str = "unknown"
    model_failed: bool = False
    """Whether the draft is not by the first model."""
    stop_reason: str | None = None
    approval: Approval = field(default_factory=Approval.not_asked)
    aside: Sequence[Candidate] = ()
    """Candidates excluded from the report by decision."""
    by_model: bool = False
    """Whether a language model wrote; the report then counts its sentences that are not shown."""
    usage: Sequence[TurnUsage] = ()
    readings: Readings = field(default_factory=Readings)
    """The run's readings."""
    records: Mapping[str, Evidence] = field(init=False)
    asked: Question = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", {record.key: record for record in self.pool})
        object.__setattr__(self, "asked", self.dossier.asked)

    @cached_property
    def shown(self) -> list[Candidate]:
        """Candidates shown in the report: those with a verdict and a place in the list.

        Empty if the question does not ask what helps. Drugs that only help complications come after the others, unless
        asked about. Drugs that failed are never cut off.
        """
        if not self.asked.asks_what_helps:
            return []
        found = [candidate for candidate in self.candidates if candidate.has_verdict]

        def is_aside(candidate: Candidate) -> bool:
            wanted = candidate.drug in self.asked.drugs or candidate.in_asked_class
            return candidate.helps_complications_alone and not wanted

        return select_shown(sorted(found, key=is_aside), MAX_CANDIDATES)

    @property
    def silent_sources(self) -> list[str]:
        """Names of sources that never answered, in alphabetical order."""
        return sorted({reply.source for reply in self.dossier.replies} - set(self.dossier.answered))

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of records found by kind: `peer_reviewed`, `clinical_trials`, `preprints`, `other`."""
        return sources_breakdown(self.pool)

    @cached_property
    def drug_entries(self) -> Mapping[str, list[tuple[str, Drug]]]:
        """Database entries, with keys, of the drugs asked about, or of all drugs if none is named."""
        asks_all = not (self.asked.drugs or self.asked.drug_classes)
        found: dict[str, list[tuple[str, Drug]]] = {}
        for record in self.pool:
            entry = record.record
            if isinstance(entry, Drug) and entry.drug and (asks_all or is_asked_about(entry.drug, self.asked)):
                found.setdefault(entry.drug, []).append((record.key, entry))
        return found

    @property
    def reason(self) -> str:
        """Why the search ended, as in `JudgeAssessment.stop_reason`; `no_verdict` if no judge ended it."""
        given = [verdict.stop_reason for verdict in self.assessments if verdict.stop_reason]
        return self.stop_reason or (given[-1] if given else "no_verdict")

    @property
    def ending(self) -> str:
        """Why the search ended and how much was read, in words."""
        progress = self.assessments[-1].progress if self.assessments else Progress()
        why = _ENDINGS.get(self.reason, self.reason)
        if self.reason == "sources_unreachable" and self.dossier.answered:
            why = "the sources could no longer be reached"
        elif self.reason == "verdicts_settled":
            why = f"the last {progress.unchanged:,} records changed no verdict"
        elif self.reason == "depth_reached":
            why = f"the requested depth of {progress.most:,} records was reached"
        elif self.reason == "no_new_evidence" and progress.read < progress.hits:
            why = "the remaining hits were unavailable or duplicates"
        if self.unread:
            return f"{why} with {self.readings.done:,} of {self.readings.found:,} records read"
        return f"{why}; {progress.said}" if progress.hits else why

    @property
    def unread(self) -> int:
        """Number of records found but not read because the run was stopped."""
        return self.readings.found - self.readings.done if self.readings.was_stopped else 0

    @property
    def topic(self) -> str:
        """The condition asked about, named as in the question; if none is known, the question in quotes."""
        named = " and ".join(_as_asked(name, self.dossier.question) for name in self.asked.conditions)
        with_them = " and ".join(_as_asked(name, self.dossier.question) for name in self.asked.background)
        named += f" in people with {with_them}" if with_them else ""
        return named or f"“{' '.join(self.asked.terms) or self.dossier.question}”"

    @property
    def purpose(self) -> str:
        """Purpose of the drugs: `to prevent migraine`, `for portal hypertension`."""
        return f"{_AIMS[self.asked.intent]} {self.topic}"

    @property
    def library(self) -> str:
        """The local library that answered instead of the sources; empty if the sources did."""
        return next((reply.library for reply in self.dossier.replies if reply.library), "")


def mechanisms_of(material: Material) -> MechanismFindings:
    """Find mechanisms of the report's candidates and of drugs whose mechanism is asked about."""
    found = assess(material.shown, material.pool, material.asked)
    if material.asked.kind != "mechanism":
        return found
    drugs = [*found.chains, *material.drug_entries]
    graph = MechanismGraph(material.pool, material.asked, drugs)
    return found._replace(chains={drug: graph.chain(drug) for drug in drugs}, graph=graph)


class References:
    """Numbers records in the order of their first citation.

    Args:
        records: records that can be cited, by key.
    """

    def __init__(self, records: Mapping[str, Evidence]) -> None:
        self._records = records
        self._numbers: dict[str, int] = {}

    def cite(self, keys: Iterable[str]) -> Cite | str:
        """Cite records, ignoring those outside the pool; return an empty text if there are none."""
        known = [key for key in dict.fromkeys(keys) if key in self._records]
        numbers = [self._numbers.setdefault(key, len(self._numbers) + 1) for key in known]
        return Cite(tuple(sorted(numbers))) if numbers else ""

    @property
    def keys(self) -> list[str]:
        """Keys of the records cited so far, in order."""
        return list(self._numbers)

    def entries(self) -> list[dict[str, object]]:
        """List the references for a report: number, key, title, authors, source, date, url, journal with volume, issue
        and pages, identifiers, flags, other versions and the parts of the full text read."""
        found = []
        for key, number in self._numbers.items():
            record = self._records[key]
            citation, data, paper, raised = record.citation, record.record, record.paper, flags_of(record)
            journal = ("journal", "journal_abbreviation", "volume", "issue", "pages")
            where = {name: getattr(paper, name) for name in journal} if paper else {}
            where |= {"doi": data.doi, "pmid": data.pmid, "pmcid": data.pmcid, "nct_id": data.nct_id}
            flags = {
                "preprint": record.is_preprint,
                "retracted": "retracted" in raised,
                "expression of concern": "expression_of_concern" in raised,
                "corrected": "corrected" in raised,
                "retraction not checked": is_unchecked(record),
                "title only": not record.has_abstract,
                "contains text addressed to machines": is_addressed_to_machines(record),
            }
            entry: dict[str, object] = {
                "number": number,
                "key": key,
                "title": citation.title,
                "authors": list(citation.authors),
                "source": citation.source,
                "date": citation.date,
                "url": citation.url,
                **{name: value for name, value in where.items() if value},
                "flags": [flag for flag, is_raised in flags.items() if is_raised],
            }
            if data.found_by:
                entry["found_by"] = data.found_by
            if paper and (paper.preprint_versions or paper.earlier_versions):
                versions = [{"relation": "preprint", **each} for each in paper.preprint_versions]
                entry["versions"] = versions + [
                    {"relation": "earlier version", **each} for each in paper.earlier_versions
                ]
            if paper and record.is_preprint and paper.published_version:
                entry["published_version"] = paper.published_version
            if licence := licence_of(record):
                titles = list(dict.fromkeys(place.title for place in places(record)))
                entry["full_text"] = {"pmcid": data.pmcid, "licence": licence, "sections": titles}
            found.append(entry)
        return found


def _as_asked(condition: str, question: str) -> str:
    """Spell a condition as in the question, by the name used there if that shares no word with its usual one."""
    named = (each.text for each in find_known_conditions(question) if each.name == condition)
    others = (name for name in named if not name.isupper() and name_essence(name).isdisjoint(name_essence(condition)))
    return next(others, as_spelt(condition, question))
