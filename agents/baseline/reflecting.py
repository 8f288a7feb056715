"""Reflecting on results: which drugs the records speak of, for and against, with their keys."""

from collections.abc import Sequence

from autogen_core.models import FunctionExecutionResultMessage, LLMMessage

from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import replies_in

from .reading import question_in, records_in

MAX_NAMED = 6  # drugs in a reflection


def reflection(messages: Sequence[LLMMessage]) -> str:
    """Sum up the latest tool results in a few sentences."""
    question = question_in(messages)
    records = records_in(messages, question)
    replies = _replies(messages)
    lines = [_missing(reply) for reply in replies if reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY)]
    if not records:
        return " ".join(["The searches gave no record.", *lines])
    about = [record for record in records if record.metadata.get("record_type") == "drug"]
    decided = [candidate for candidate in appraise_candidates(question, records) if candidate.has_verdict]
    said = [f"{len(records)} records."]
    said += [_sentence(candidate) for candidate in decided[:MAX_NAMED]]
    if about:
        named = ", ".join(sorted({str(record.metadata.get("drug")) for record in about})[:20])
        said.append(f"Mechanisms and indications are given for {named}.")
    if not decided and not about:
        said.append("None speaks clearly for or against a drug.")
    return " ".join([*said, *lines])


def _sentence(candidate: Candidate) -> str:
    found = candidate.appraisal
    supporting, against = ", ".join(found.supporting[:4]), ", ".join(found.contradicting[:4])
    parts = [f"{len(found.supporting)} for ({supporting})" if supporting else "none for"]
    parts.append(f"{len(found.contradicting)} against ({against})" if against else "none against")
    return f"{candidate.drug}: {', '.join(parts)}."


def _missing(reply: SourceReply) -> str:
    return f"{reply.source} gave no answer: {'; '.join(reply.warnings) or 'no reason given'}."


def _replies(messages: Sequence[LLMMessage]) -> list[SourceReply]:
    last = messages[-1]
    assert isinstance(last, FunctionExecutionResultMessage)
    return [reply for result in last.content for reply in replies_in(result.content)]
