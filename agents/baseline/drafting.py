"""Drafting the report: claims that are sentences of the records, word for word."""

import re
from collections.abc import Iterator, Sequence

from autogen_core.models import LLMMessage

from willowbark.agents.claims import Claim, Stance, objection
from willowbark.agents.report import CandidateDraft, ReportDraft
from willowbark.tools.appraisal import Direction
from willowbark.tools.candidates import Candidate, appraise_candidates
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.query import parse_question

from .reading import question_in, records_in

MAX_CANDIDATES = 12
MAX_CLAIMS = 4  # for each stance of a candidate
MAX_PASSAGE = 700  # characters of a quote; three sentences seldom have more
_SENTENCE_END = re.compile(r"[.!?]\s+|\n\n")
_STANCES: dict[Direction, Stance] = {Direction.supports: "supports", Direction.contradicts: "contradicts"}


def draft(messages: Sequence[LLMMessage]) -> ReportDraft:
    """Draft a report from the records of a request; the same records give the same draft."""
    question = question_in(messages)
    records = records_in(messages, question)
    by_key = {record.key: record for record in records}
    decided = [c for c in appraise_candidates(question, records) if c.has_verdict][:MAX_CANDIDATES]
    condition = " and ".join(parse_question(question).conditions) or "the condition"
    return ReportDraft(
        claims=[claim for candidate in decided for claim in _claims(candidate, by_key)],
        candidates=[CandidateDraft(name=c.drug, proposed_mechanism=_proposal(c, condition)) for c in decided],
    )


def _claims(candidate: Candidate, records: dict[str, Evidence]) -> Iterator[Claim]:
    for stance, keys in (
        ("supports", candidate.appraisal.supporting),
        ("contradicts", candidate.appraisal.contradicting),
    ):
        given = 0
        for appraised in candidate.records:
            if appraised.key not in keys or not appraised.sentence or given == MAX_CLAIMS:
                continue
            record = records[appraised.key]
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


def _passage(record: Evidence, drug: str, sentence: str) -> str:
    """The sentence with what stands before it, from the nearest sentence that names the drug; else the sentence."""
    head, found, _ = record.content.partition(sentence)
    mentions = [mention.start for mention in find_drugs(head) if mention.name == drug]
    if not found or not mentions:
        return sentence
    start = max((end.end() for end in _SENTENCE_END.finditer(head, 0, mentions[-1])), default=0)
    passage = head[start:] + sentence
    return passage if len(passage) <= MAX_PASSAGE else sentence


def _proposal(candidate: Candidate, condition: str) -> str:
    if not candidate.mechanisms:
        return ""
    targets = f" ({', '.join(candidate.targets[:6])})" if candidate.targets else ""
    how = "; ".join(candidate.mechanisms)
    return f"{how}{targets}; how that bears on {condition} is not stated in the records read"
