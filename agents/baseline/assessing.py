"""The baseline analyst's answers to the judge and the report agent, from the appraisal of the records alone."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, product

from willowbark.agents.asking.claims import Claim, Stance, check_passage
from willowbark.agents.asking.drafts import DrugDraft, JudgeDraft, NextSearch, ReasonDraft, ReportDraft
from willowbark.agents.assessment import MIN_SCORE, AssessmentRequest
from willowbark.agents.findings import Specialist
from willowbark.agents.report.writing import DraftRequest
from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate, list_drugs_in_use, select_for_display
from willowbark.tools.appraisal.certainty import OPTIMAL_SIZE, AppraisedItem, appraise_candidate, count_participants
from willowbark.tools.lexicon import (
    canonical_class,
    canonical_condition,
    canonical_drug,
    find_drugs,
    list_class_members,
)
from willowbark.tools.lexicon.drugs import belongs_to_class
from willowbark.tools.questions import Question, parse_question, preprocess_query
from willowbark.tools.questions.trials import list_trial_queries, narrow_to_randomised
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
from willowbark.tools.works.drug_names import find_codes

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
_UNCONTROLLED = {StudyDesign(name) for name in ("narrative_review", "cohort", "case_series", "case_report")}
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
            for query, name in product(queries, able):
                self.searches.append(NextSearch(closes=why[:300], specialist=name, query=query))

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
        if trials and (trials[0] in reading.unread or trials[0] not in searched) and reading.goes_on:
            studied = {candidate.drug for candidate in candidates if _count_studies(candidate) >= ENOUGH_STUDIES}
            chosen = _find_unasked([drug for drug in drugs if drug not in studied], searched)[:MAX_NAMED]
            queries = _combine_in_trials(chosen, trials[0])
        else:
            in_full = [query for query in searched if not query.endswith(tuple(trials))]
            chosen = _find_unasked(drugs, in_full)[:MAX_NAMED]
            codes = find_codes(chain.from_iterable(search.records for search in request.searches))
            names: list[str] = []
            for drug in chosen:
                names += (drug, *codes.get(drug, ()))
            queries = _combine_drugs(names, condition)
        why = f"Further records on {', '.join(chosen)}, for or against."
        self.ask(name_gap("further records", chosen), why, queries, "queries")

    def ask_mechanisms(self, request: AssessmentRequest, searched: Collection[str]) -> None:
        """Ask for records that test how the leading drugs might act, all in one query."""
        leading = [candidate.drug for candidate in request.candidates if candidate.has_verdict][:LEADING]
        hypotheses = [hypothesis for hypothesis in request.hypotheses.hypotheses if hypothesis.drug in leading]
        tests: list[str] = []
        for hypothesis in hypotheses:
            tests += [f"({query})" for query in hypothesis.to_search_queries()[:MAX_TESTS]]
        through = ", ".join(f"{hypothesis.drug} through {hypothesis.target}" for hypothesis in hypotheses)
        query = _drop_searched([" OR ".join(tests)] if tests else [], searched)
        acting = list(dict.fromkeys(hypothesis.drug for hypothesis in hypotheses))
        way = name_gap("the way from target to condition", acting)
        self.ask(way, f"Records on how drugs act: {through}.", query, "queries")

    def ask_later(self, later: Mapping[str, Mapping[str, InputKind]], question: Question, query: str) -> None:
        """Ask what was left for later: the question's own query, its conditions and drugs."""
        postponed: Mapping[str, tuple[str, Sequence[str]]] = {
            "queries": (name_gap("further records", []), [query]),
            "conditions": (name_gap("drugs that databases list", []), question.conditions),
            "drugs": (name_gap("mechanisms and labels", list(question.drugs)), question.drugs),
        }
        why = "The sources that the kind of question left for later."
        for specialist, tools in later.items():
            for takes in dict.fromkeys(tools.values()):
                gap, queries = postponed.get(takes, ("", ()))
                if gap and queries:
                    self.gaps.append(gap)
                    self.searches += [NextSearch(closes=why, specialist=specialist, query=text) for text in queries]


def assessment(request: AssessmentRequest) -> JudgeDraft:
    """Assess the evidence; equal requests get equal assessments."""
    question = parse_question(request.question)
    candidates = [c for c in request.candidates if c.in_asked_class is not False]
    decided = [candidate for candidate in candidates if candidate.has_verdict]
    leading = decided[:LEADING]

    # Drugs listed for the condition by databases, without a record read or a search made.
    appraised = {candidate.drug for candidate in decided}
    listed = [drug for drug in list_drugs_in_use(question, request.records) if drug not in appraised]
    if question.drug_classes:
        listed = [drug for drug in listed if belongs_to_class(drug, (), question.drug_classes)]
    untried = _find_unasked(listed, {search.query for search in request.searches})

    with_target = [candidate.drug for candidate in leading if candidate.mechanisms]
    without_target = [candidate.drug for candidate in leading if not candidate.mechanisms]
    mechanism = round(10 * len(with_target) / len(leading)) if leading else 0
    clinical = max((_CLINICAL[c.appraisal.certainty.level.value] for c in decided), default=0)
    candidates_score = min(10, round(10 * len(decided) / ENOUGH_CANDIDATES), UNTRIED_SCORE if untried else 10)
    best = "; ".join(f"{c.drug} ({c.appraisal.quality})" for c in decided[:5])
    reasoning = f"Studies support or contradict {counted(len(decided), 'drug')}; leading: {best}."
    plan = plan_round(question, candidates, untried, request)
    return JudgeDraft(
        misread=[],
        strikes=[],
        decides=[ReasonDraft(text="", keys=[_list_decisive(candidate)[0].key]) for candidate in leading],
        contradicts=[],
        drugs=[
            DrugDraft(drug=c.drug, reason="", keys=[], domains=[], level="cannot_tell", not_for="") for c in decided
        ],
        mechanism_score=mechanism,
        mechanism_reasoning=_say(("target known", with_target), ("target unknown", without_target)),
        clinical_evidence_score=clinical,
        clinical_reasoning=_explain_clinical(leading),
        candidates_score=candidates_score,
        confidence=round((mechanism + clinical + candidates_score) / 30, 2),
        is_enough=not request.progress.goes_on and mechanism >= MIN_SCORE,
        gaps=list(dict.fromkeys(plan.gaps)),
        next_searches=plan.searches,
        reasoning=f"{reasoning if decided else _NO_EVIDENCE} {capital(request.progress.said)}.",
    )


def _list_decisive(candidate: Candidate) -> list[AppraisedItem]:
    """List what the results are on which a candidate's verdict rests."""
    return [record.item for record in candidate.records if record.item.is_telling]


def _explain_clinical(leading: Sequence[Candidate]) -> str:
    """Say for the leading drugs how their trials agree, or what stands where there is no trial."""
    agreeing: list[str] = []
    contradictory: list[str] = []
    small: list[str] = []
    only_reviews: list[str] = []
    uncontrolled: list[str] = []
    preclinical: list[str] = []
    for candidate in leading:
        drug = candidate.drug
        items = _list_decisive(candidate)
        trials = [item for item in items if item.design in RANDOMISED]
        directions = {item.direction for item in trials}
        designs = {item.design for item in items}
        if trials:
            agreeing += [drug] if len(directions) == 1 < len(trials) else []
            contradictory += [drug] if len(directions) > 1 else []
            small += [drug] if 0 < count_participants(trials) < OPTIMAL_SIZE else []
        else:
            only_reviews += [drug] if designs <= _REVIEWS else []
            uncontrolled += [drug] if designs <= _UNCONTROLLED and designs - _REVIEWS else []
            preclinical += [drug] if all(design.is_preclinical for design in designs) else []
    return _say(
        ("trials agree", agreeing),
        ("trials contradict each other", contradictory),
        ("trials are small", small),
        ("only reviews", only_reviews),
        ("only uncontrolled studies", uncontrolled),
        ("only animal or laboratory studies", preclinical),
    )


def _say(*parts: tuple[str, list[str]]) -> str:
    return "; ".join(name_gap(says, drugs) for says, drugs in parts if drugs)


def name_gap(what: str, drugs: Sequence[str]) -> str:
    """Name what is missing, or why a score is given, with the drugs that it is about.

    >>> name_gap("a second trial", ["timolol", "nadolol"])
    'a second trial (timolol and nadolol)'
    """
    return f"{what} ({listed(list(dict.fromkeys(drugs)))})" if drugs else what


def plan_round(
    question: Question, candidates: Sequence[Candidate], untried: Sequence[str], request: AssessmentRequest
) -> _Plan:
    """Plan the next round: while reading pays, further hits, all drugs in one query; then database look-ups.

    A repeated query asks for its next page.
    """
    plan = _Plan(request.specialists)
    reading = request.progress
    others = (term for term in question.terms if canonical_drug(term) is None and canonical_class(term) is None)
    condition = question.conditions[0] if question.conditions else " ".join(others)  # may be empty
    about = condition or "what was asked"
    whole = [condition] if condition else []
    searched = {search.query for search in request.searches}
    with_verdict = [candidate for candidate in candidates if candidate.has_verdict]
    decided = [candidate.drug for candidate in with_verdict]
    if not reading.has_ended:
        if not candidates and not untried:
            why = f"No drug with evidence on {about} was found."
            plan.ask(name_gap("a drug with evidence", []), why, _drop_searched(whole, searched), "queries")
        for name in question.drug_classes:
            members = _drop_searched(_combine_drugs(list_class_members(name), condition), searched)
            why = f"Records that name {name} by their own names alone."
            plan.ask(name_gap("further records", [name]), why, members, "queries")
        undecided = [candidate.drug for candidate in candidates if not candidate.has_verdict]
        trials = _put_randomised_first(list_trial_queries(question), request)
        plan.ask_drugs(candidates, [*decided, *untried, *undecided], trials, condition, request)
        unread = reading.unread if reading.goes_on else []
        further = [query for query in trials if query not in searched or query in unread] if reading.hits else []
        why = f"Trials and reviews on {about}."
        plan.ask(name_gap("further records", []), why, further[:1], "queries")
        plan.ask_mechanisms(request, searched)

        followed = {query for query in searched if query.startswith(citations_query(""))}
        if with_verdict and request.iteration >= CHASED_FROM and len(followed) < MAX_CHASED:
            hanging = [key.removeprefix("pmid:") for key in _find_decisive(with_verdict[0]) if key.startswith("pmid:")]
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
    plan.ask_later(request.later, question, preprocess_query(request.question))
    unknown = _find_unasked(decided[:MAX_DRUGS], {search.query for search in entries})
    if (
        not plan.searches or request.iteration >= LOOKED_UP_BY or request.most_rounds <= LOOKED_UP_BY
    ):  # in parallel with the reading
        why = f"Mechanisms and labels of {', '.join(unknown)}."
        plan.ask(name_gap("mechanisms and labels", unknown), why, unknown, "drugs")
    return plan


def _put_randomised_first(trials: Sequence[str], request: AssessmentRequest) -> list[str]:
    """Put randomised trials alone before trials and reviews, where these are more than the run will read."""
    hits = [search.total for search in request.searches if search.query in trials[:1]]
    are_too_many = max(hits, default=0) > request.progress.most
    return [*map(narrow_to_randomised, trials[:1]), *trials] if are_too_many else [*trials]


def _count_studies(candidate: Candidate) -> int:
    appraisal = candidate.appraisal
    return len({*appraisal.supporting, *appraisal.contradicting, *appraisal.inconclusive})


def _find_decisive(candidate: Candidate) -> list[str]:
    """Find records whose removal would change quality or certainty; return their keys, strongest first."""
    appraisal = candidate.appraisal
    decisive = {*appraisal.telling}
    items = [record.item for record in candidate.records]
    rating = (appraisal.quality, appraisal.certainty.level)
    keys: list[str] = []
    for item in [item for item in items if item.key in decisive][:MAX_TRIED]:
        rest = appraise_candidate([other for other in items if other is not item])
        keys += [item.key] if (rest.quality, rest.certainty.level) != rating else []
    return keys


def _find_unasked(drugs: Iterable[str], queries: Iterable[str]) -> list[str]:
    """Return the drugs that none of the queries names."""
    in_queries = set(chain.from_iterable(map(_find_names, queries)))
    return [drug for drug in dict.fromkeys(drugs) if drug not in in_queries]


@lru_cache(maxsize=1024)
def _find_names(query: str) -> frozenset[str]:
    return frozenset(mention.name for mention in find_drugs(query))


def _combine_drugs(drugs: Sequence[str], condition: str) -> list[str]:
    """Build one query for all drugs in the condition, by all its names; empty without drugs."""
    names = list(drugs)[:MAX_SPELT]
    is_condition = canonical_condition(condition) is not None  # quoting would exclude its other names
    condition_part = f" AND {condition if is_condition else _quote_name(condition)}" if condition else ""
    return [preprocess_query(f"({' OR '.join(map(_quote_name, names))}){condition_part}")] if names else []


def _combine_in_trials(drugs: Sequence[str], trials: str) -> list[str]:
    """Narrow a query for trials to those that name any of the drugs; empty without drugs."""
    any_drug = " OR ".join(f'"{drug}"[tiab]' for drug in drugs)
    return [f"({any_drug}) AND {trials}"] if drugs else []


def _drop_searched(queries: Sequence[str], searched: Collection[str]) -> list[str]:
    """Return the queries not asked before."""
    return [query for query in queries if query not in searched and preprocess_query(query) not in searched]


def _quote_name(name: str) -> str:
    return f'"{name}"' if " " in name else name


MAX_CANDIDATES = 12
MAX_CLAIMS = 4  # for each stance of a candidate
MAX_UNDECIDED = 2  # records without a verdict whose full text is quoted for a candidate


def make_draft(request: DraftRequest) -> ReportDraft:
    """Draft a report from the records of a request; equal requests get equal drafts."""
    by_key = {record.key: record for record in request.records}
    decided = select_for_display(request.candidates, MAX_CANDIDATES)
    return ReportDraft(claims=list(chain.from_iterable(_list_claims(candidate, by_key) for candidate in decided)))


def _list_claims(candidate: Candidate, records: Mapping[str, Evidence]) -> Iterator[Claim]:
    """Claim what records say against, for, and without a verdict of a drug, the strongest of each."""
    drug = candidate.drug
    appraisal = candidate.appraisal
    sides: list[tuple[Stance, Sequence[str]]] = [
        ("contradicts", appraisal.contradicting),
        ("supports", appraisal.supporting),
    ]
    with_text = [appraised for appraised in candidate.records if appraised.key in records]
    for stance, keys in sides:
        on_side = [appraised for appraised in with_text if appraised.key in keys and appraised.sentence]
        for appraised in on_side[:MAX_CLAIMS]:
            record = records[appraised.key]
            direction = appraised.item.direction
            quotes = _list_quotes(record, drug, appraised, stance)
            yield from _take_first_valid(quotes, record, drug, direction)
            yield from _quote_full_text(record, drug, direction)
    silent = {*appraisal.inconclusive, *appraisal.not_assessed}
    undecided = [appraised for appraised in with_text if appraised.key in silent]
    with_results = [appraised for appraised in undecided if places(records[appraised.key], "results")]
    for appraised in with_results[:MAX_UNDECIDED]:
        yield from _quote_full_text(records[appraised.key], drug, appraised.item.direction)


def _take_first_valid(
    quotes: Iterable[tuple[str, Stance]], record: Evidence, drug: str, direction: Direction
) -> Iterator[Claim]:
    """Yield the first claim that its record bears out, if there is one."""
    for quote, stance in quotes:
        claim = Claim(drug=drug, evidence_key=record.key, quote=quote, stance=stance)
        if not isinstance(check_passage(claim, record, direction), str):
            yield claim
            return


def _list_quotes(
    record: Evidence, drug: str, appraised: AppraisedRecord, stance: Stance
) -> Iterator[tuple[str, Stance]]:
    """Yield possible quotes for a verdict, best first; last any sentence on the drug, without a verdict."""
    yield appraised.sentence, stance
    yield from ((passage.text, stance) for passage in appraised.reading.passages)
    yield from (
        (sentence.text, "neutral") for sentence in reversed(Document.of(record).sentences) if drug in sentence.drugs
    )


def _quote_full_text(record: Evidence, drug: str, direction: Direction) -> Iterator[Claim]:
    """Quote the first sentence with figures on the drug in the full text's results, without a verdict."""
    for place in places(record, "results"):
        for sentence in Document.cut("", place.text).sentences:
            if drug in sentence.drugs and tells_figures(sentence.text):
                claim = Claim(drug=drug, evidence_key=record.key, quote=sentence.text)
                if not isinstance(check_passage(claim, record, direction), str):
                    yield claim
                    return
