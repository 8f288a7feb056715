"""Assessing: scores from the appraisal of the records, gaps from what the leading candidates lack."""

from collections.abc import Sequence, Set

from autogen_core.models import LLMMessage

from willowbark.agents.judge import AssessmentDetails, JudgeAssessment
from willowbark.tools.candidates import Candidate, appraise_candidates, known_drugs
from willowbark.tools.query import parse_question, preprocess_query

from .reading import question_in, records_in, searched_in

LEADING = 6  # candidates whose mechanisms and further evidence are asked for
MAX_UNTRIED = 6  # drugs listed for the condition that are asked for in one round
UNTRIED_SCORE = 5  # candidates_score while such drugs are left: not enough to end the search
ENOUGH_CANDIDATES = 5  # with a verdict: full score
_CLINICAL = {"high": 10, "moderate": 8, "low": 5, "very_low": 2}  # score by the best candidate's certainty


def assessment(messages: Sequence[LLMMessage]) -> JudgeAssessment:
    """Assess the records of a request; the same records give the same assessment."""
    question = question_in(messages)
    records = records_in(messages, question)
    candidates = appraise_candidates(question, records)
    decided = [candidate for candidate in candidates if candidate.has_verdict]
    leading = decided[:LEADING]
    without = [candidate for candidate in leading if not candidate.drug_records]
    mechanism = round(10 * sum(bool(c.mechanisms) for c in leading) / len(leading)) if leading else 0
    clinical = max((_CLINICAL[c.appraisal.certainty.level.value] for c in decided), default=0)
    named = min(10, round(10 * len(decided) / ENOUGH_CANDIDATES))
    searched = searched_in(messages)
    untried = _untried(question, candidates, known_drugs(question, records), searched)
    if untried:
        named = min(named, UNTRIED_SCORE)
    queries, specialists, gaps = _next(question, leading, without, untried, searched)
    return JudgeAssessment(
        details=AssessmentDetails(
            mechanism_score=mechanism,
            mechanism_reasoning=_mechanism_reasoning(leading, without),
            clinical_evidence_score=clinical,
            clinical_reasoning=f"Best certainty of a candidate scores {clinical} of 10; {len(decided)} have a verdict.",
            candidates_score=named,
            drug_candidates=[candidate.drug for candidate in decided],
            key_findings=[candidate.line for candidate in leading],
        ),
        confidence=round((mechanism + clinical + named) / 30, 2),
        gaps=gaps,
        next_search_queries=queries,
        next_specialists=specialists,
        reasoning=_reasoning(decided),
    )


def _next(
    question: str,
    leading: Sequence[Candidate],
    without: Sequence[Candidate],
    untried: Sequence[str],
    searched: Set[str],
) -> tuple[list[str], list[str], list[str]]:
    """Queries, specialists and gaps for another round; nothing that was asked before."""
    conditions = parse_question(question).conditions or (question,)
    if not leading and not untried:
        gap = f"No drug with evidence on {conditions[0]} was found."
        return ([], [], []) if _asked(conditions[0], searched) else ([conditions[0]], ["literature", "trials"], [gap])
    queries, specialists, gaps = [], [], []
    wanted = {drug: _query(drug, conditions[0]) for drug in (*(c.drug for c in leading), *untried)}
    open_drugs = [drug for drug, query in wanted.items() if not _asked(query, searched)]
    if open_drugs:
        queries += [wanted[drug] for drug in open_drugs]
        specialists += ["literature", "trials"]
        gaps.append(f"Further records on {', '.join(open_drugs)}, for or against.")
    unknown = [c.drug for c in without if c.drug not in searched]
    if unknown:
        queries += unknown
        specialists.append("mechanism")
        gaps.append(f"Mechanisms of {', '.join(unknown)}.")
    return queries, specialists, gaps


def _untried(question: str, candidates: Sequence[Candidate], known: Sequence[str], searched: Set[str]) -> list[str]:
    """Drugs that the databases list for the condition, on which no record was read and none was asked for."""
    read = {candidate.drug for candidate in candidates if candidate.has_verdict}
    condition = (parse_question(question).conditions or (question,))[0]
    return [drug for drug in known if drug not in read and not _asked(_query(drug, condition), searched)][:MAX_UNTRIED]


def _query(drug: str, condition: str) -> str:
    return f"{_quoted(drug)} AND {_quoted(condition)}"


def _asked(query: str, searched: Set[str]) -> bool:
    return query in searched or preprocess_query(query) in searched


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _mechanism_reasoning(leading: Sequence[Candidate], without: Sequence[Candidate]) -> str:
    if not leading:
        return "There is no candidate whose mechanism could be asked for."
    known = sum(bool(candidate.mechanisms) for candidate in leading)
    asked = f"; {len(without)} not looked up yet" if without else ""
    return f"Mechanism known for {known} of the {len(leading)} leading candidates{asked}."


def _reasoning(decided: Sequence[Candidate]) -> str:
    if not decided:
        return "No record speaks for or against an existing drug in this condition."
    best = "; ".join(f"{c.drug} ({c.appraisal.quality})" for c in decided[:5])
    return f"{len(decided)} drugs have evidence for or against; leading: {best}."
