"""The dossier that judge and report agent build from messages."""

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
