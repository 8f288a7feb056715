"""The baseline analyst's answers to the judge and the report agent, from the appraisal of the records alone."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from willowbark.agents.asking.claims import Claim, Stance, passage_of
from willowbark.agents.asking.drafts import DrugDraft, JudgeDraft, NextSearch, ReasonDraft, ReportDraft
from willowbark.agents.assessment import MIN_SCORE, AssessmentRequest
from willowbark.agents.findings import Specialist
from willowbark.agents.report.writing import DraftRequest
from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate, known_drugs, select_shown
from willowbark.tools.appraisal.certainty import OPTIMAL_SIZE, appraise_candidate, count_participants
from willowbark.tools.lexicon import canonical_class, canonical_condition, canonical_drug, class_members, find_drugs
from willowbark.tools.lexicon.drugs import belongs_to_class
from willowbark.tools.questions import Question, parse_question, preprocess_query
from willowbark.tools.questions.trials import trial_queries
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.numbers import tells_figures
from willowbark.tools.reading.reading import RANDOMISED, StudyDesign
from willowbark.tools.reading.sections import places
from willowbark.tools.records.card import ENTRIES
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import gives
from willowbark.tools.search import Status
from willowbark.tools.toolbox import MAX_DRUGS, InputKind, citations_query
from willowbark.tools.wording import capital, counted, listed
from willowbark.tools.works.drug_names import codes_in

LEADING = 6  # candidates whose mechanisms count for the mechanism score
UNTRIED_SCORE = 5  # candidates_score while drugs listed for the condition were not searched for: the search continues
ENOUGH_CANDIDATES = 5  # candidates with a verdict for the full score
MAX_TESTS = 3  # queries on one hypothesis; one query tests all hypotheses
MAX_SPELT = 50  # names in one query, with the drugs' research codes
MAX_NAMED = 40  # drugs of one query: sources take queries by GET
ENOUGH_STUDIES = 3  # of a drug, before more of any are looked for
MAX_TRIED = 20  # records of the leading drug left out in turn to see whether its appraisal changes
MAX_CHASED = 2  # publications of a run whose citations are followed, one per round: each takes five requests
LOOKED_UP_BY = 2  # round by which approvals are looked up, since every report depends on them
CHASED_FROM = 2  # first round for following citations: in round 1 hardly any verdict has settled
_NO_EVIDENCE = "No study supports or contradicts an existing drug in this condition."
_REVIEWS = {StudyDesign.narrative_review, StudyDesign.systematic_review}
_UNCONTROLLED = {StudyDesign(each) for each in ("narrative_review", "cohort", "case_series", "case_report")}
_CLINICAL = {"high": 10, "moderate": 8, "low": 5, "very_low": 2}  # score by the best candidate's certainty


@dataclass
class _Plan:
    """The next searches, with their specialists and gaps."""

    specialists: Sequence[Specialist]
    searches: list[NextSearch] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)

    def ask(self, gap: str, why: str, queries: Sequence[str], takes: InputKind) -> None:
        """Assign queries to all specialists that accept them, with the gap and why it should be closed."""
        able = [specialist.name for specialist in self.specialists if takes in specialist.takes]
        if queries and able:
            self.gaps.append(gap)
            self.searches += [
                NextSearch(closes=why[:300], specialist=name, query=query) for query in queries for name in able
            ]

    def ask_drugs(
        self,
        candidates: Sequence[Candidate],
        drugs: Sequence[str],
        trials: Sequence[str],
        condition: str,
        request: AssessmentRequest,
    ) -> None:
        """Ask for further records on drugs, all in one query.

        While the trials that name the condition in their title are too many to be read at once, those of drugs with
        few studies come first; then any records on drugs that no other query named.
        """
        searched = {search.query for search in request.searches}
        reading = request.progress
        if trials and trials[0] in reading.unread and reading.goes_on:
            studied = {candidate.drug for candidate in candidates if _count_studies(candidate) >= ENOUGH_STUDIES}
            wanted = _find_unasked([drug for drug in drugs if drug not in studied], searched)[:MAX_NAMED]
            queries = _combine_in_trials(wanted, trials[0])
        else:
            in_full = [query for query in searched if not any(query.endswith(trial) for trial in trials)]
            wanted = _find_unasked(drugs, in_full)[:MAX_NAMED]
            codes = codes_in(record for search in request.searches for record in search.records)
            queries = _combine_drugs([name for drug in wanted for name in (drug, *codes.get(drug, ()))], condition)
        why = f"Further records on {', '.join(wanted)}, for or against."
        self.ask(name_gap("further records", wanted), why, queries, "queries")

    def ask_mechanisms(self, request: AssessmentRequest, searched: Collection[str]) -> None:
        """Ask for records that test how the leading drugs might act, all in one query."""
        leading = [candidate.drug for candidate in request.candidates if candidate.has_verdict][:LEADING]
        hypotheses = [hypothesis for hypothesis in request.hypotheses.hypotheses if hypothesis.drug in leading]
        tests = [f"({query})" for hypothesis in hypotheses for query in hypothesis.to_search_queries()[:MAX_TESTS]]
        through = ", ".join(f"{hypothesis.drug} through {hypothesis.target}" for hypothesis in hypotheses)
        query = _drop_searched([" OR ".join(tests)] if tests else [], searched)
        acting = list(dict.fromkeys(hypothesis.drug for hypothesis in hypotheses))
        way = name_gap("the way from target to condition", acting)
        self.ask(way, f"Records on how drugs act: {through}.", query, "queries")

    def ask_later(self, later: Mapping[str, Mapping[str, InputKind]], asked: Question, query: str) -> None:
        """Ask what was left for later: the question's own query, its conditions and drugs."""
        due: Mapping[str, tuple[str, Sequence[str]]] = {
            "queries": (name_gap("further records", []), [query]),
            "conditions": (name_gap("drugs that databases list", []), asked.conditions),
            "drugs": (name_gap("mechanisms and labels", list(asked.drugs)), asked.drugs),
        }
        why = "The sources that the kind of question left for later."
        for specialist, tools in later.items():
            for takes in dict.fromkeys(tools.values()):
                gap, queries = due.get(takes, ("", ()))
                if gap and queries:
                    self.gaps.append(gap)
                    self.searches += [NextSearch(closes=why, specialist=specialist, query=each) for each in queries]


def assessment(request: AssessmentRequest) -> JudgeDraft:
    """Assess the evidence; equal requests get equal assessments."""
    asked = parse_question(request.question)
    candidates = [c for c in request.candidates if c.in_asked_class is not False]
    decided = [candidate for candidate in candidates if candidate.has_verdict]
    leading = decided[:LEADING]

    # Drugs listed for the condition by databases, without a record read or a search made.
    read = {candidate.drug for candidate in decided}
    listed = [drug for drug in known_drugs(asked, request.records) if drug not in read]
    if asked.drug_classes:
        listed = [drug for drug in listed if belongs_to_class(drug, (), asked.drug_classes)]
    untried = _find_unasked(listed, {search.query for search in request.searches})

    known = [candidate.drug for candidate in leading if candidate.mechanisms]
    unknown = [candidate.drug for candidate in leading if not candidate.mechanisms]
    mechanism = round(10 * len(known) / len(leading)) if leading else 0
    clinical = max((_CLINICAL[c.appraisal.certainty.level.value] for c in decided), default=0)
    named = min(10, round(10 * len(decided) / ENOUGH_CANDIDATES), UNTRIED_SCORE if untried else 10)
    decisive = {c.drug: [r.item for r in c.records if r.item.is_telling] for c in leading}
    trials = {drug: [i for i in items if i.design in RANDOMISED] for drug, items in decisive.items()}
    sides = {drug: {i.direction for i in items} for drug, items in trials.items()}
    rest = {drug: {i.design for i in items} for drug, items in decisive.items() if not trials[drug]}
    best = "; ".join(f"{c.drug} ({c.appraisal.quality})" for c in decided[:5])
    reasoning = f"Studies support or contradict {counted(len(decided), 'drug')}; leading: {best}."
    plan = plan_round(asked, candidates, untried, request)
    return JudgeDraft(
        misread=[],
        strikes=[],
        decides=[ReasonDraft(text="", keys=[items[0].key]) for items in decisive.values()],
        contradicts=[],
        drugs=[
            DrugDraft(drug=c.drug, reason="", keys=[], domains=[], level="cannot_tell", not_for="") for c in decided
        ],
        mechanism_score=mechanism,
        mechanism_reasoning=_say(("target known", known), ("target unknown", unknown)),
        clinical_evidence_score=clinical,
        clinical_reasoning=_say(
            ("trials agree", [drug for drug, found in sides.items() if len(found) == 1 < len(trials[drug])]),
            ("trials contradict each other", [drug for drug, found in sides.items() if len(found) > 1]),
            ("trials are small", [d for d, found in trials.items() if 0 < count_participants(found) < OPTIMAL_SIZE]),
            ("only reviews", [drug for drug, designs in rest.items() if designs <= _REVIEWS]),
            ("only uncontrolled studies", [d for d, each in rest.items() if each <= _UNCONTROLLED and each - _REVIEWS]),
            (
                "only animal or laboratory studies",
                [d for d, each in rest.items() if all(e.is_preclinical for e in each)],
            ),
        ),
        candidates_score=named,
        confidence=round((mechanism + clinical + named) / 30, 2),
        is_enough=not request.progress.goes_on and mechanism >= MIN_SCORE,
        gaps=list(dict.fromkeys(plan.gaps)),
        next_searches=plan.searches,
        reasoning=f"{reasoning if decided else _NO_EVIDENCE} {capital(request.progress.said)}.",
    )


def _say(*told: tuple[str, list[str]]) -> str:
    return "; ".join(name_gap(says, drugs) for says, drugs in told if drugs)


def name_gap(what: str, drugs: Sequence[str]) -> str:
    """Name what is missing, or why a score is given, with the drugs that it is about.

    >>> name_gap("a second trial", ["timolol", "nadolol"])
    'a second trial (timolol and nadolol)'
    """
    return f"{what} ({listed(list(dict.fromkeys(drugs)))})" if drugs else what


def plan_round(
    asked: Question, candidates: Sequence[Candidate], untried: Sequence[str], request: AssessmentRequest
) -> _Plan:
    """Plan the next round: while reading pays, further hits, all drugs in one query; then database look-ups.

    A repeated query asks for its next page.
    """
    plan = _Plan(request.specialists)
    reading = request.progress
    others = (term for term in asked.terms if canonical_drug(term) is None and canonical_class(term) is None)
    condition = asked.conditions[0] if asked.conditions else " ".join(others)  # may be empty
    about = condition or "what was asked"
    whole = [condition] if condition else []
    searched = {search.query for search in request.searches}
    with_verdict = [candidate for candidate in candidates if candidate.has_verdict]
    decided = [candidate.drug for candidate in with_verdict]
    if not reading.has_ended:
        if not candidates and not untried:
            why = f"No drug with evidence on {about} was found."
            plan.ask(name_gap("a drug with evidence", []), why, _drop_searched(whole, searched), "queries")
        for name in asked.drug_classes:
            members = _drop_searched(_combine_drugs(class_members(name), condition), searched)
            why = f"Records that name {name} by their own names alone."
            plan.ask(name_gap("further records", [name]), why, members, "queries")
        undecided = [candidate.drug for candidate in candidates if not candidate.has_verdict]
        trials = trial_queries(asked)
        plan.ask_drugs(candidates, [*decided, *untried, *undecided], trials, condition, request)
        unread = reading.unread if reading.goes_on else []
        further = [query for query in trials if query not in searched or query in unread] if reading.hits else []
        why = f"Trials and reviews on {about}."
        plan.ask(name_gap("further records", []), why, further[:1], "queries")
        plan.ask_mechanisms(request, searched)

        followed = {query for query in searched if query.startswith(citations_query(""))}
        if with_verdict and request.iteration >= CHASED_FROM and len(followed) < MAX_CHASED:
            hanging = [key.removeprefix("pmid:") for key in _hangs_on(with_verdict[0]) if key.startswith("pmid:")]
            for pmid in [pmid for pmid in hanging if citations_query(pmid) not in followed][:1]:
                why = f"The verdict on {decided[0]} hangs on PMID {pmid}: what cites it, and what it cites."
                plan.ask(name_gap("a second trial", decided[:1]), why, [citations_query(pmid)], "citations")
        if reading.goes_on and not set(trials).intersection(reading.unread):
            left = f"{reading.hits - reading.read:,} of {reading.hits:,} hits"
            pages = f"Further pages of {counted(len(reading.unread), 'query')}"  # may repeat others' hits
            why = f"{left if reading.hits > reading.read else pages} unread."
            plan.ask(name_gap("hits that were not read", []), why, reading.unread, "queries")
    entries = [search for search in request.searches if gives(search.source) in ENTRIES]
    if entries and all(search.status is Status.UNAVAILABLE for search in entries) and request.iteration == 1:
        why = f"Drugs that databases list for {about}."
        plan.ask(name_gap("drugs that databases list", []), why, whole, "conditions")
    plan.ask_later(request.later, asked, preprocess_query(request.question))
    unknown = _find_unasked(decided[:MAX_DRUGS], {search.query for search in entries})
    if (
        not plan.searches or request.iteration >= LOOKED_UP_BY or request.most_rounds <= LOOKED_UP_BY
    ):  # in parallel with the reading
        why = f"Mechanisms and labels of {', '.join(unknown)}."
        plan.ask(name_gap("mechanisms and labels", unknown), why, unknown, "drugs")
    return plan


def _count_studies(candidate: Candidate) -> int:
    found = candidate.appraisal
    return len({*found.supporting, *found.contradicting, *found.inconclusive})


def _hangs_on(candidate: Candidate) -> list[str]:
    """Find records whose removal would change quality or certainty; return their keys, strongest first."""
    found = candidate.appraisal
    decided = {*found.telling}
    items = [record.item for record in candidate.records]
    stands = found.quality, found.certainty.level
    tried = [item for item in items if item.key in decided][:MAX_TRIED]
    without = ((item.key, appraise_candidate([other for other in items if other is not item])) for item in tried)
    return [key for key, other in without if (other.quality, other.certainty.level) != stands]


def _find_unasked(drugs: Iterable[str], queries: Iterable[str]) -> list[str]:
    """Return the drugs that none of the queries names."""
    named = {name for query in queries for name in _names_in(query)}
    return [drug for drug in dict.fromkeys(drugs) if drug not in named]


@lru_cache(maxsize=1024)
def _names_in(query: str) -> frozenset[str]:
    return frozenset(mention.name for mention in find_drugs(query))


def _combine_drugs(drugs: Sequence[str], condition: str) -> list[str]:
    """Build one query for all drugs in the condition, by all its names; empty without drugs."""
    names = list(drugs)[:MAX_SPELT]
    known = canonical_condition(condition) is not None  # quoting would exclude its other names
    beside = f" AND {condition if known else _quote_name(condition)}" if condition else ""
    return [preprocess_query(f"({' OR '.join(map(_quote_name, names))}){beside}")] if names else []


def _combine_in_trials(drugs: Sequence[str], trials: str) -> list[str]:
    """Narrow a query for trials to those that name any of the drugs; empty without drugs."""
    named = " OR ".join(f'"{drug}"[tiab]' for drug in drugs)
    return [f"({named}) AND {trials}"] if drugs else []


def _drop_searched(queries: Sequence[str], searched: Collection[str]) -> list[str]:
    """Return the queries not asked before."""
    return [query for query in queries if query not in searched and preprocess_query(query) not in searched]


def _quote_name(name: str) -> str:
    return f'"{name}"' if " " in name else name


MAX_CANDIDATES = 12
MAX_CLAIMS = 4  # for each stance of a candidate
MAX_UNDECIDED = 2  # records without a verdict whose full text is quoted for a candidate


def draft(request: DraftRequest) -> ReportDraft:
    """Draft a report from the records of a request; equal requests get equal drafts."""
    by_key = {record.key: record for record in request.records}
    decided = select_shown(request.candidates, MAX_CANDIDATES)
    return ReportDraft(claims=[claim for candidate in decided for claim in _claims(candidate, by_key)])


def _claims(candidate: Candidate, records: Mapping[str, Evidence]) -> Iterator[Claim]:
    """Claim what records say against, for, and without a verdict of a drug, the strongest of each."""
    found = candidate.appraisal
    sides: list[tuple[Stance, Sequence[str]]] = [("contradicts", found.contradicting), ("supports", found.supporting)]
    for stance, keys in sides:
        told = [each for each in candidate.records if each.key in keys and each.key in records and each.sentence]
        for each in told[:MAX_CLAIMS]:
            record = records[each.key]
            tried = (
                Claim(drug=candidate.drug, evidence_key=each.key, quote=quote, stance=shown)
                for quote, shown in _quotes(record, candidate.drug, each, stance)
            )
            valid = (claim for claim in tried if not isinstance(passage_of(claim, record, each.item.direction), str))
            yield from islice(valid, 1)
            yield from _quote_full_text(record, candidate.drug, each.item.direction)
    silent = {*found.inconclusive, *found.not_assessed} & records.keys()
    undecided = [each for each in candidate.records if each.key in silent and places(records[each.key], "results")]
    for each in undecided[:MAX_UNDECIDED]:
        yield from _quote_full_text(records[each.key], candidate.drug, each.item.direction)


def _quotes(record: Evidence, drug: str, appraised: AppraisedRecord, stance: Stance) -> Iterator[tuple[str, Stance]]:
    """Yield possible quotes for a verdict, best first; last any sentence on the drug, without a verdict."""
    yield appraised.sentence, stance
    yield from ((passage.text, stance) for passage in appraised.reading.passages)
    yield from (
        (sentence.text, "neutral") for sentence in reversed(Document.of(record).sentences) if drug in sentence.drugs
    )


def _quote_full_text(record: Evidence, drug: str, direction: Direction) -> Iterator[Claim]:
    """Quote the first sentence with figures on the drug in the full text's results, without a verdict."""
    told = (sentence for place in places(record, "results") for sentence in Document.cut("", place.text).sentences)
    with_figures = (said.text for said in told if drug in said.drugs and tells_figures(said.text))
    tried = (Claim(drug=drug, evidence_key=record.key, quote=text) for text in with_figures)
    yield from islice((claim for claim in tried if not isinstance(passage_of(claim, record, direction), str)), 1)
