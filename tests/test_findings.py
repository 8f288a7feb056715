"""The dossier that judge and report agent build from messages."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from builders import QUESTION, asked, findings, record, reply, verdict

from willowbark.agents.findings import Dossier, FindingsMessage
from willowbark.tools.search import Status

A = record("1", "Propranolol in migraine", "Propranolol reduced attacks.")
B = record("2", "Topiramate in migraine", "Topiramate reduced attacks.")


def dossier(*messages: object) -> Dossier:
    made = Dossier()
    made.add(list(messages))  # type: ignore[arg-type]
    return made


def test_the_pool_is_the_union_of_all_findings() -> None:
    made = dossier(asked(), findings("literature", reply(A, B)), findings("trials", reply(B)))
    assert {e.key for e in made.pool()} == {"pmid:1", "pmid:2"}


def test_a_second_question_forgets_the_first() -> None:
    made = dossier(asked(), findings("literature", reply(A)), asked("And for asthma?"))
    assert made.question == "And for asthma?"
    assert made.pool() == []
    assert made.tokens_used == 0


def test_rounds_can_be_told_apart() -> None:
    made = dossier(asked(), findings("literature", reply(A)), findings("literature", reply(A, B), iteration=2))
    assert made.iteration == 2
    assert (made.has_news(1), made.has_news(2), made.has_news(3)) == (True, True, False)


def test_a_round_that_gives_known_records_again_has_no_news() -> None:
    made = dossier(asked(), findings("literature", reply(A, B)), findings("trials", reply(B), iteration=2))
    assert not made.has_news(2)


def test_tokens_of_every_message_are_added_up() -> None:
    assert dossier(asked(), findings("literature"), findings("trials"), verdict()).tokens_used == 220


def test_an_unavailable_source_is_a_failure_with_its_reason() -> None:
    down = reply(source="europepmc", status=Status.UNAVAILABLE, warnings=["is not available (500)"])
    made = dossier(asked(), findings("literature", reply(A), down))
    assert made.failures == ["europepmc: is not available (500)"]
    assert made.answered == ["pubmed"]


def test_an_empty_source_has_answered() -> None:
    made = dossier(asked(), findings("literature", reply(status=Status.EMPTY)))
    assert made.answered == ["pubmed"]
    assert made.failures == []


def test_a_failure_without_a_reason_is_still_named() -> None:
    made = dossier(asked(), findings("literature", reply(status=Status.BAD_QUERY)))
    assert made.failures == ["pubmed: no reason given"]


def test_a_dossier_survives_json() -> None:
    made = dossier(asked(), findings("literature", reply(A, B)))
    assert Dossier.model_validate_json(made.model_dump_json()) == made


def test_other_models_read_the_summary_and_not_the_records() -> None:
    message = findings("literature", reply(A), summary="Propranolol looks good.")
    for text in (message.to_model_text(), str(message.to_model_message().content)):
        assert "Propranolol looks good." in text
        assert A.content not in text


def test_findings_survive_dump_and_load() -> None:
    message = findings("literature", reply(A))
    assert FindingsMessage.load(message.dump()) == message


def test_the_question_is_the_users() -> None:
    assert dossier(asked()).question == QUESTION


def bytecodes(work: Callable[[], object]) -> int:
    """How many instructions of Python some work takes, the same on every machine."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def rounds_of(count: int, *, chained: bool) -> list[FindingsMessage]:
    """Rounds of 20 records; each found twice, or ten in a row united by what each shares with the next."""
    found = []
    for at in range(count):
        said = {"doi": f"10.1000/{at}", "same_as": [f"doi:10.1000/{at - 1}"] if chained and at % 10 else []}
        one = record(str(at + 1), f"Study {at} of {count} on migraine", f"Attacks fell by {at}.", **said)
        found += [one, one]
    return [
        findings("literature", reply(*found[start : start + 20]), iteration=start // 20 + 1)
        for start in range(0, len(found), 20)
    ]


@pytest.mark.parametrize("chained", [False, True], ids=["apart", "chained"])
def test_four_times_the_records_take_four_times_the_work(chained: bool) -> None:
    def work(count: int) -> int:
        given = [asked(), *rounds_of(count, chained=chained)]
        return bytecodes(lambda: dossier(*given).pool())

    work(20)  # what is made once
    few = work(100)
    assert work(400) < 4.5 * few  # a quadratic part of a tenth would make it 5.2 times as much
