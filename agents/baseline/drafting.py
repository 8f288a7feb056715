"""Drafting the report: claims that are sentences of the records, word for word."""

import re
from collections.abc import Iterator, Sequence

from willowbark.agents.claims import Claim, Stance, objection
from willowbark.agents.report.content import CandidateDraft, ReportDraft
from willowbark.agents.report.writing import DraftRequest
from willowbark.tools.appraisal import Direction, direction_of
from willowbark.tools.appraisal.candidates import Candidate, is_condition
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.questions.query import parse_question
from willowbark.tools.reading.sentences import sentences
from willowbark.tools.records import Disease
from willowbark.tools.works.excerpts import tells_figures
from willowbark.tools.works.sections import places

MAX_CANDIDATES = 12
MAX_CLAIMS = 4  # for each stance of a candidate
MAX_UNDECIDED = 2  # records without a verdict whose full text is quoted for a candidate
MAX_PASSAGE = 700  # characters of a quote; three sentences seldom have more
_SENTENCE_END = re.compile(r"[.!?]\s+|\n\n")
_NEUTRAL: Stance = "neutral"
_STANCES: dict[Direction, Stance] = {Direction.supports: "supports", Direction.contradicts: "contradicts"}


def draft(request: DraftRequest) -> ReportDraft:
    """Draft a report from the records of a request; equal requests get equal drafts."""
    by_key = {record.key: record for record in request.records}
    asked = parse_question(request.question)
    decided = [candidate for candidate in request.candidates if candidate.has_verdict][:MAX_CANDIDATES]
    told = [record.record for record in request.records]
    diseases = [each for each in told if isinstance(each, Disease) and is_condition(each.disease or "", asked)]
    return ReportDraft(
        claims=[claim for candidate in decided for claim in _claims(candidate, by_key)],
        candidates=[CandidateDraft(name=c.drug, proposed_mechanism=_proposal(c, diseases)) for c in decided],
    )


def _claims(candidate: Candidate, records: dict[str, Evidence]) -> Iterator[Claim]:
    for stance, keys in (
        ("supports", candidate.appraisal.supporting),
        ("contradicts", candidate.appraisal.contradicting),
    ):
        given = 0
        for appraised in candidate.records:
            record = records.get(appraised.key)
            if record is None or appraised.key not in keys or not appraised.sentence or given == MAX_CLAIMS:
                continue
            for quote in (appraised.sentence, _passage(record, candidate.drug, appraised.sentence)):
                claim = Claim(
                    text=" ".join(quote.split()),
                    drug=candidate.drug,
                    evidence_key=appraised.key,
                    quote=quote,
                    stance=_STANCES[Direction(stance)],
                )
                if objection(claim, record) is None:
                    given += 1
                    yield claim
                    break
            yield from _of_full_text(record, candidate.drug, _STANCES[Direction(stance)])
    for key in [key for key in candidate.appraisal.neutral if key in records][:MAX_UNDECIDED]:
        yield from _of_full_text(records[key], candidate.drug, _NEUTRAL)


def _of_full_text(record: Evidence, drug: str, stance: Stance) -> Iterator[Claim]:
    """What the results of the full text say of the drug in figures: the one that bears the stance, else the first."""
    told = [
        sentence
        for place in places(record, "results")
        for sentence in sentences(place.text)
        if tells_figures(sentence) and any(mention.name == drug for mention in find_drugs(sentence))
    ]
    bearing = [sentence for sentence in told if _STANCES.get(direction_of(sentence, drug).direction) == stance]
    for quote, said in [*((sentence, stance) for sentence in bearing), *((sentence, _NEUTRAL) for sentence in told)]:
        claim = Claim(text=quote, drug=drug, evidence_key=record.key, quote=quote, stance=said)
        if objection(claim, record) is None:
            yield claim
            return


def _passage(record: Evidence, drug: str, sentence: str) -> str:
    """The sentence with what stands before it, from the nearest sentence that names the drug; else the sentence."""
    head, found, _ = record.content.partition(sentence)
    mentions = [mention.start for mention in find_drugs(head) if mention.name == drug]
    if not found or not mentions:
        return sentence
    start = max((end.end() for end in _SENTENCE_END.finditer(head, 0, mentions[-1])), default=0)
    passage = head[start:] + sentence
    return passage if len(passage) <= MAX_PASSAGE else sentence


def _proposal(candidate: Candidate, diseases: Sequence[Disease]) -> str:
    """From the drug over its targets to the condition; empty where no database associates a target with it."""
    associated = (
        f"{target['symbol']}, which is associated with {disease.disease}{_scored(target.get('score'))}"
        for disease in diseases
        for target in disease.targets
        if target.get("symbol") in candidate.targets
    )
    found = "; ".join(dict.fromkeys(associated))
    return f"{'; '.join(candidate.mechanisms)}; acts on {found}" if found else ""


def _scored(score: object) -> str:
    return f" (Open Targets' score {score:.2f} of 1)" if isinstance(score, int | float) else " (Open Targets)"
