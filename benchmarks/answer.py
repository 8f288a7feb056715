"""Whether a text answers a yes/no question with yes, no or maybe.

What denies depends on the question: "no difference" denies an influence and affirms an equivalence; "safe" denies a
contraindication. The kind of question is read first, then each concluding sentence for or against it.
"""

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

from willowbark.tools.reading.effect import null_statement, ranked_results
from willowbark.tools.reading.numbers import p_values_in
from willowbark.tools.reading.passages import concluding_sentences, has_conclusion
from willowbark.tools.reading.sentences import clauses, plain, sentences, stems

Verdict = Literal["yes", "no", "maybe"]


class Answer(BaseModel):
    """An answer with the sentence it was read from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verdict: Verdict
    reason: str
    sentence: str


_ASKS_SAMENESS = re.compile(
    r"\b(?:equal\w*|equivalent|comparable|same|similar|as (?:good|safe|effective|well|reliable|"
    r"accurate) as|alike|non-?inferior|safe(?:ly|ty)?|feasible|interchangeable|replace|substitute|"
    r"alternative|consisten\w+|agree\w*|reflect|cost-effective|reliable|reproducible|sufficient|enough|"
    r"adequate)\b",
    re.IGNORECASE,
)
_ASKS_TROUBLE = re.compile(
    r"\b(?:contraindicat\w+|limit(?:s|ed|ing)?|damage|delay\w*|barrier|impair\w*|harm\w*|worse\w*|"
    r"compromise[sd]?|jeopardi[sz]e|preclude|unnecessary|obsolete|overestimat\w*|underestimat\w*|"
    r"miss(?:ed)?|problem\w*|dangerous|threat|inferior)\b",
    re.IGNORECASE,
)
_ASKS_NEED = re.compile(
    r"\b(?:necessary|need(?:ed)?|required?|mandatory|should|indicated|justified|worthwhile|routine(?:ly)?|"
    r"useful|must|warranted)\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:not|n't|cannot|never|neither|nor|none|fail(?:s|ed|ure)? to|unable|unlikely|unnecessary|"
    r"insufficient(?:ly)?|inadequate(?:ly)?|inappropriate|unreliable|inaccurate|ineffective|incapable|"
    r"impossible|unrelated|unaffected|"
    r"no (?:\w+ ){0,3}(?:evidence|effect|impact|influence|difference|association|relation\w*|correlation|"
    r"benefit|role|change|increase|improvement|advantage|need|indication|significant|consensus|longer|"
    r"increased|added|additional|difference)s?|lack(?:s|ed|ing)?(?: of)?|(?:is|was|are|were|have|has|"
    r"found|showed|had|with) (?:no|little)\b(?! (?:complications?|mortality|deaths?|morbidity|adverse))|"
    r"limited (?:value|role|use|effect|impact|benefit|utility)|little (?:\w+ )?(?:effect|impact|influence|"
    r"value|benefit|evidence|difference)|poor(?:ly)? (?:agreement|correlat\w+|predict\w*|sensitivity|"
    r"specificity|reliab\w+|reproducib\w+|marker|indicator|understanding|knowledge|compliance|adherence)|"
    r"regardless of|irrespective of|independent(?:ly)? of|rarely|seldom|contradict\w*|refut\w+|"
    r"cast(?:s)? doubt|into question|revisit\w*|re-?consider\w*|re-?evaluated|questionable|"
    r"only a (?:minority|small|few)|very few|overestimat\w+|underestimat\w+|inconsisten\w+|disappointing|"
    r"abandon\w*|trivial|negligible|do(?:es)? not exist|low (?:sensitivity|specificity|accuracy|yield|"
    r"value))\b",
    re.IGNORECASE,
)
_NOT_DENIAL = re.compile(
    r"\bnot only\b|\bwhether or not\b|\bnot (?:just|merely|inferior)\b|\bif not\b|"
    r"\bnot (?:be )?(?:underestimated|overlooked|ignored|forgotten|neglected)\b|\bno (?:major |serious |"
    r"significant )?(?:complications?|mortality|deaths?|morbidity)\b|\bwhen not\b|\bnot (?:previously|yet|"
    r"well|fully)\b|\bcannot be (?:excluded|ruled out|overstated)|\bnot without\b|\bwithout\b|"
    r"\bno previous (?:study|studies|reports?)\b|\bnot (?:a )?new\b|\bto (?:the best of )?(?:our|"
    r"the authors'?) knowledge\b",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"\b(?:similar(?:ly)?|comparable|equivalent|equal(?:ly)?|identical|same|as (?:effective|safe|"
    r"good|accurate) as|(?:perform\w*|function\w*|fare[ds]?|just|least|does|did|do|works?) as well as|"
    r"no (?:\w+ ){0,2}differen\w+|not (?:\w+ )?differ\w*|non-?inferior|homogen\w+)\b",
    re.IGNORECASE,
)
_AFFIRMS = re.compile(
    r"\b(?:safe(?:ly)?|effective(?:ly)?|feasible|useful|reliable|accurate|valid|benefi\w+|improv\w+|"
    r"significant(?:ly)?|increas\w+|reduc\w+|associated|correlat\w+|predict\w*|should|recommend\w*|"
    r"important|superior|better|higher|lower|greater|"
    r"more|can be|appears? to|strong\w*|support\w*|confirm\w*|demonstrat\w+|show\w*|influenc\w+|affect\w*|"
    r"play\w*|valuable|appropriate|justif\w+|need(?:ed|s)?|necessary|successful\w*|independent (?:risk |"
    r"prognostic |predict\w+ )?(?:factor|predictor)|risk factors?|acceptable|good|excellent|adequate)\b",
    re.IGNORECASE,
)
_SUFFICES = re.compile(
    r"\b(?:(?:is|are|may be|might be|seems?|appears?|can be|was|were) (?:\w+ )?(?:sufficient|enough|omitted|avoided)|"
    r"selective(?:ly)?|minimi[sz]e unnecessary|(?:avoid|reduce)\w* unnecessary)\b",
    re.IGNORECASE,
)
"""What answers a question about a need with no."""
_ASKS_SAFETY = re.compile(r"\bsafe(?:ly|ty)?\b", re.IGNORECASE)
_UNSAFE = re.compile(
    r"\b(?:significant|high(?:er)?|increased|unacceptabl[ey]|considerable|serious) (?:\w+ ){0,2}(?:complications?|"
    r"risks?|"
    r"mortality|toxicit\w+|morbidity|discomfort)\b|\bunsafe\b",
    re.IGNORECASE,
)
_ASKS_ALIKE = re.compile(r"\b(?:the same|similar|alike|equal(?:ly)?|equivalent|identical|comparable)\b", re.IGNORECASE)
_UNLIKE = re.compile(
    r"\b(?:differ(?:s|ed|ent|ently|ing|ences?)?|than|distinct\w*|unlike|compared with|heterogen\w+)\b", re.IGNORECASE
)
_DOUBT = re.compile(
    r"\b(?:unclear|inconclusive|unknown|uncertain|controversial|debat\w+|remains? to be|conflicting|"
    r"equivocal|difficult to|cannot be excluded|depend(?:s|ing) on|in selected|selected (?:patients|cases|"
    r"group)|some (?:of|patients|aspects|degree|extent)|partial(?:ly)?|"
    r"matter of concern|might|may|possibl[ey]|perhaps|further|more (?:research|studies)|larger|"
    r"with caution|caution\w*|not necessarily|limited|although|but|however|except|only)\b",
    re.IGNORECASE,
)
_FIRM_DOUBT = re.compile(
    r"\b(?:unclear|inconclusive|unknown|uncertain|controversial|equivocal|conflicting|matter of concern|"
    r"partial(?:ly)?|selected (?:patients|cases|group)|not necessarily|some disagreement|difficult to)\b",
    re.IGNORECASE,
)


def answer_of(question: str, text: str) -> Answer:
    """Read the answer to a yes/no question out of an abstract.

    >>> answer_of("Does A affect mortality?", "Conclusion: Mortality was not affected by A.").verdict
    'no'
    """
    body = sentences(text)
    if not body:
        return Answer(verdict="maybe", reason="no text", sentence="")
    if not has_conclusion(body) and not any(_SUMS_UP.search(s) for s in body[-2:]):
        return _from_results(question, body)
    return _from_conclusion(question, concluding_sentences(body))


def _from_conclusion(question: str, spoken: list[str]) -> Answer:
    wanted = stems(question)
    judged = [(_weight(s, wanted, i), *_stand(question, s), s) for i, s in enumerate(spoken)]
    total = sum(weight * stand for weight, stand, _, _ in judged) / sum(weight for weight, *_ in judged)
    _, _, reason, sentence = max(judged, key=lambda j: j[0] * abs(j[1]))
    whole = " ".join(spoken)
    both = len({stand > 0 for _, stand, _, _ in judged if abs(stand) > 0.5}) == 2
    doubt = len(_DOUBT.findall(whole)) / 4 + bool(_FIRM_DOUBT.search(whole)) + both
    if abs(total - _LEAN) < _UNDECIDED and doubt >= _DOUBTFUL:
        return Answer(verdict="maybe", reason=f"mixed or hedged: {reason}", sentence=sentence)
    return Answer(verdict="yes" if total > _LEAN else "no", reason=reason, sentence=sentence)


def _from_results(question: str, body: list[str]) -> Answer:
    """Without a conclusion: count what in the results denies, most of all in the sentences nearest to the question.

    Whether authors would say `maybe` cannot be told from results alone, so it is not guessed.
    """
    results = set(ranked_results("\n".join(body), None, None))
    kept = [s for s in body if s in results] or body
    wanted = stems(question)
    nearest = sorted(kept, key=lambda s: -len(stems(s) & wanted))
    nulls = [s for s in kept if null_statement(s)]
    verdicts = [p.significant for s in kept for p in p_values_in(s)]
    points = (
        (len(nulls) > _MOSTLY * len(kept))
        + (sum(_denies(s) for s in nearest[:_NEAREST]) >= _NEAREST - 1)
        + (verdicts.count(False) > verdicts.count(True))
        + bool(_ASKS_TROUBLE.search(question))
        - any(p.significant for p in p_values_in(nearest[0]))
        - bool(_ASKS_SAMENESS.search(question))
    )
    reason = f"{len(nulls)} of {len(kept)} results deny"
    if points >= _DENIED:
        return Answer(verdict="no", reason=reason, sentence=nulls[-1] if nulls else nearest[0])
    return Answer(verdict="yes", reason=reason, sentence=nearest[0])


def _denies(sentence: str) -> bool:
    return bool(_DENIAL.search(_NOT_DENIAL.sub(" ", sentence)) or null_statement(sentence))


def _weight(sentence: str, wanted: frozenset[str], place: int) -> float:
    """The more a sentence shares with the question, and the earlier it stands, the more it answers."""
    share = len(stems(sentence) & wanted) / max(1, len(wanted))
    return (0.3 + share) * (1.0 if place == 0 else 0.6) * (0.3 if _OUTLOOK.search(sentence) else 1.0)


_SUMS_UP = re.compile(
    r"\b(?:in conclusion|we conclude|in summary|these (?:results|findings|data) (?:suggest|show|indicate|"
    r"support))\b",
    re.IGNORECASE,
)
_DENIED = 1  # points of denial for a no; set on development data
_MOSTLY = 0.4  # share of the results that must deny
_NEAREST = 3  # sentences that share most with the question; all but one must deny
_OUTLOOK = re.compile(
    r"\b(?:further|future|additional|more|larger|prospective) (?:[\w,-]+ ){0,4}(?:stud(?:y|ies)|research|"
    r"trials?|investigations?|work|evaluation) (?:\w+ ){0,3}(?:needed|required|necessary|warranted|should|"
    r"are|is|will|examine)",
    re.IGNORECASE,
)
_CONCESSION = re.compile(
    r"^(?:[A-Z]{5,}\s?: )?(?:although|while|though|despite|even though|whereas|in spite of)\b[^,]*,\s*", re.IGNORECASE
)
_UNDECIDED = 0.4  # a balance nearer to zero than this can be a maybe; set on development data
_DOUBTFUL = 1.75  # hedges (a quarter each), firm doubt, sentences on both sides; set on development data
_LEAN = 0.15  # a balance below it is a no; set on development data


def _stand(question: str, sentence: str) -> tuple[float, str]:
    """Where a sentence stands on the question: above 0 for yes, below for no, with the words.

    Clauses are read apart; the one that shares most with the question counts in full, the others by half.
    """
    wanted = stems(question)
    read = [(_stand_of(question, part), len(stems(part) & wanted)) for part in clauses(_main_part(sentence))]
    if not read:
        return 0.0, "empty"
    most = max(share for _, share in read)
    main = next(stand for stand, share in read if share == most)
    others = [stand[0] for stand, share in read if stand is not main]
    return (main[0] + 0.5 * sum(others)) / (1 + 0.5 * len(others)), main[1]


def _main_part(sentence: str) -> str:
    """A sentence without what it concedes: "although …, " at its head."""
    return _CONCESSION.sub("", plain(sentence))


def _answers_no(question: str, text: str) -> str | None:
    """The words by which a statement without a denial answers a question about safety, need or likeness with no."""
    pairs = ((_ASKS_SAFETY, _UNSAFE), (_ASKS_NEED, _SUFFICES), (_ASKS_ALIKE, _UNLIKE))
    found = (said.search(text) for asks, said in pairs if asks.search(question))
    return next((match.group() for match in found if match), None)


def _stand_of(question: str, text: str) -> tuple[float, str]:
    sameness, trouble = bool(_ASKS_SAMENESS.search(question)), bool(_ASKS_TROUBLE.search(question))
    bare = _NOT_DENIAL.sub(" ", text)
    same, denial = _SAME.search(bare), _DENIAL.search(bare)
    null = null_statement(bare)
    if same and not denial:
        return (1.0 if sameness else -1.0), same.group()
    if denial or (null and not sameness):
        return (1.0 if sameness and same else -1.0), denial.group() if denial else str(null)
    if trouble and re.search(r"\b(?:safe(?:ly)?|feasible|effective|can be performed|good)\b", text, re.IGNORECASE):
        return -1.0, "no trouble"
    high = [p.significant for p in p_values_in(text) if p.significant is not None]
    if high and not any(high):
        return (1.0 if sameness else -1.0), "p not below 0.05"
    if against := _answers_no(question, bare):
        return -1.0, against
    affirms = _AFFIRMS.search(text)
    return (0.8, affirms.group()) if affirms else (0.3, "states it")
