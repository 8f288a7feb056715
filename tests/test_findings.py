"""The dossier that judge and report agent build from messages."""

import pytest
from builders import QUESTION, asked, count_calls, findings, record, reply, verdict

from willowbark.agents.findings import Dossier, FindingsMessage
from willowbark.tools.search import SourceReply, Status

A = record("1", "Propranolol in migraine", "Propranolol reduced attacks.")
B = record("2", "Topiramate in migraine", "Topiramate reduced attacks.")


def dossier(*messages: object) -> Dossier:
    made = Dossier()
    made.add(list(messages))  # type: ignore[arg-type]
    return made


def test_a_dossier_holds_all_that_was_found_on_a_question_and_forgets_it_with_the_next() -> None:
    made = dossier(asked(), findings("literature", reply(A)), findings("trials", reply(B)), verdict())
    made.add([findings("literature", reply(A, B), iteration=2)])

    assert (made.question, made.iteration, made.tokens_used) == (QUESTION, 2, 330)
    assert {e.key for e in made.pool()} == {"pmid:1", "pmid:2"}
    assert (made.has_news(1), made.has_news(2), made.has_news(3)) == (True, False, False)
    assert [each.name for each in made.specialists] == ["literature", "trials"]
    assert Dossier.model_validate_json(made.model_dump_json()) == made
    made.add([asked("And for asthma?")])
    assert (made.question, made.pool(), made.tokens_used) == ("Which existing drugs could prevent asthma?", [], 0)


@pytest.mark.parametrize(
    ("found", "failures", "answered"),
    [
        (reply(status=Status.UNAVAILABLE, warnings=["is not available (500)"]), ["pubmed: is not available (500)"], []),
        (reply(status=Status.BAD_QUERY), ["pubmed: no reason given"], []),
        (reply(status=Status.EMPTY), [], ["pubmed"]),
    ],
)
def test_a_source_that_failed_is_named_and_one_without_hits_has_answered(
    found: SourceReply, failures: list[str], answered: list[str]
) -> None:
    made = dossier(asked(), findings("literature", found))
    assert (made.failures, made.answered) == (failures, answered)


def test_other_models_read_the_summary_and_not_the_records() -> None:
    message = findings("literature", reply(A), summary="Propranolol looks good.")
    for text in (message.to_model_text(), str(message.to_model_message().content)):
        assert "Propranolol looks good." in text
        assert A.content not in text
    assert FindingsMessage.load(message.dump()) == message


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
        return count_calls(lambda: dossier(*given).pool())

    work(20)  # what is made once
    few = work(100)
    assert work(400) < 4.5 * few  # a quadratic part of a tenth would make it 5.2 times as much
