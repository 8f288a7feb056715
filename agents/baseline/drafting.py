"""Drafting the report: claims that are sentences of the records, word for word."""

from collections.abc import Iterator, Sequence

from willowbark.agents.asking.drafts import CandidateDraft, ReportDraft
from willowbark.agents.report.claims import Claim, Stance, objection
from willowbark.agents.report.writing import DraftRequest
from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate, is_condition
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.questions.query import parse_question
from willowbark.tools.reading.text import sentence_spans, sentences
from willowbark.tools.records import Disease
from willowbark.tools.works.excerpts import tells_figures
from willowbark.tools.works.sections import places

MAX_CANDIDATES = 12
MAX_CLAIMS = 4  # for each stance of a candidate
MAX_TARGETS = 2  # in a proposal
MAX_UNDECIDED = 2  # records without a verdict whose full text is quoted for a candidate
MAX_PASSAGE = 700  # characters of a quote; three sentences seldom have more


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
    found = candidate.appraisal
    sure = [key for key in found.supporting if key not in found.together]
    sides: list[tuple[Stance, list[str]]] = [("supports", sure), ("contradicts", found.contradicting)]
    if not sure and not found.contradicting:
        sides = [("neutral", [*found.together, *found.leaning])]
    for stance, keys in sides:
        given = 0
        for appraised in candidate.records:
            record = records.get(appraised.key)
            if record is None or appraised.key not in keys or not appraised.sentence or given == MAX_CLAIMS:
                continue
            for quote, shown in _quotes(record, candidate.drug, appraised, stance):
                text = " ".join(quote.split())
                claim = Claim(text=text, drug=candidate.drug, evidence_key=appraised.key, quote=quote, stance=shown)
                if objection(claim, record, appraised.item.direction) is None:
                    given += 1
                    yield claim
                    break
            yield from _of_full_text(record, candidate.drug, appraised.item.direction)
    silent = {*candidate.appraisal.neutral, *candidate.appraisal.unclear} & records.keys()
    undecided = [each for each in candidate.records if each.key in silent and places(records[each.key], "results")]
    for appraised in undecided[:MAX_UNDECIDED]:
        yield from _of_full_text(records[appraised.key], candidate.drug, appraised.item.direction)


def _quotes(record: Evidence, drug: str, appraised: AppraisedRecord, stance: Stance) -> Iterator[tuple[str, Stance]]:
    """What may be quoted for a verdict, best first; at last any sentence on the drug, which then carries none."""
    yield appraised.sentence, stance
    yield _passage(record, drug, appraised.sentence), stance
    yield from ((passage.text, stance) for reading in appraised.readings[:1] for passage in reading.passages)
    for quote in reversed(sentences(record.content)):
        if any(mention.name == drug for mention in find_drugs(quote)):
            yield quote, "neutral"


def _of_full_text(record: Evidence, drug: str, direction: Direction) -> Iterator[Claim]:
    """What the results of the full text say of the drug in figures: the first sentence, quoted without a verdict."""
    for place in places(record, "results"):
        for quote in sentences(place.text):
            if not tells_figures(quote) or all(mention.name != drug for mention in find_drugs(quote)):
                continue
            claim = Claim(text=quote, drug=drug, evidence_key=record.key, quote=quote)
            if objection(claim, record, direction) is None:
                yield claim
                return


def _passage(record: Evidence, drug: str, sentence: str) -> str:
    """The sentence with those before it, from the nearest one that names the drug; else the sentence."""
    text = record.content
    end = text.find(sentence) + len(sentence)
    before = [start for start, _ in sentence_spans(text) if start < end - len(sentence)]
    for start in reversed(before):
        if any(mention.name == drug for mention in find_drugs(text[start:end])):
            return text[start:end] if end - start <= MAX_PASSAGE else sentence
    return sentence


def _proposal(candidate: Candidate, diseases: Sequence[Disease]) -> str:
    """From the drug over its targets to the condition; empty where no database associates a target with it."""
    associated = (
        f"{target['symbol']}, which is associated with {disease.disease} (Open Targets)"
        for disease in diseases
        for target in disease.targets
        if target.get("symbol") in candidate.targets
    )
    found = "; ".join(list(dict.fromkeys(associated))[:MAX_TARGETS])
    return f"{'; '.join(candidate.mechanisms)}; acts on {found}" if found else ""
