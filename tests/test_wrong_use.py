"""A model's readings are held to the sentences that it quotes: what they do not bear out counts for nothing."""

import json
from typing import Any

import pytest
from autogen_core import CancellationToken
from builders import QUESTION, comparison_draft, record, scripted, study_draft

from willowbark.agents.asking.reader import ReadingCounts, ReadingResults, list_unreadable, prepare_reading, read
from willowbark.agents.findings import Dossier, Findings
from willowbark.agents.work import PartShare, WorkShare
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.passages import denies_effect, find_wrong_use
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.records.evidence import Evidence

ASKED = parse_question(QUESTION)
BETTER = "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001)."
SAME = "Migraine attacks did not differ between propranolol and placebo in 500 patients (p = 0.40)."


def trial(number: int, said: str) -> Evidence:
    aim = "The aim was to compare propranolol with placebo in migraine."
    return record(str(11111110 + number), "Propranolol in migraine prevention: a trial", f"{aim} {said}")


def study(number: int, quote: str, **changes: Any) -> dict[str, Any]:
    return {**study_draft(comparison_draft(quote, **changes)), "evidence_key": f"pmid:{11111110 + number}"}


async def read_by(*answers: list[dict[str, Any]], shown: list[Evidence]) -> ReadingResults:
    client = scripted(*(json.dumps({"studies": answer}) for answer in answers))
    return await read(client, QUESTION, prepare_reading(shown, ASKED), new_marker(), CancellationToken())


@pytest.mark.parametrize(
    ("passage", "is_wrong"),
    [
        (BETTER, False),
        (SAME, True),
        ("Attacks fell to 2.1 with propranolol and to 2.2 with placebo (p = 0.60).", True),
        ("Propranolol significantly reduced attacks, whereas headache duration did not differ.", False),
    ],
)
def test_no_difference_is_never_taken_for_better(passage: str, is_wrong: bool) -> None:
    assert bool(find_wrong_use(passage, "propranolol", "migraine")) is is_wrong


def test_a_statement_that_denies_an_effect_is_none_that_it_works() -> None:
    assert denies_effect("Propranolol was not effective in this setting.") == "was not effective"
    assert denies_effect("Captopril and atenolol are equally effective in nephropathy.") == ""


async def test_a_wrong_use_goes_back_once_then_stands_as_disputed_and_counts_for_nothing() -> None:
    found = await read_by([study(1, SAME)], [study(1, SAME)], shown=[trial(1, SAME)])
    [matched] = found.studies
    assert matched.study.comparisons[0].disputed
    assert (found.counts.parts, found.counts.disputed) == (1, 1)
    assert [note for note in found.notes if "is not borne out" in note]
    readings = Readings(given=found.readings, studies=found.studies)
    [candidate] = appraise_candidates(ASKED, [trial(1, SAME)], readings)
    assert candidate.appraisal.telling == []

    mended = await read_by([study(1, SAME)], [study(1, SAME, favours="neither")], shown=[trial(1, SAME)])
    assert mended.counts.disputed == 0


async def test_no_reader_steps_in_for_a_reading_that_was_refused_or_left_out() -> None:
    shown = [trial(1, BETTER), trial(2, BETTER)]
    refused = {**study(1, BETTER), "arms": []}
    found = await read_by([refused], [refused], shown=shown)
    assert {key: (each.reason, each.is_absent) for key, each in found.unread.items()} == {
        "pmid:11111111": ("names an arm that the study does not have (propranolol)", True),
        "pmid:11111112": ("the model left it out of its answer", True),
    }
    readings = Readings(absent=found.unread)
    assert appraise_candidates(ASKED, shown, readings) == []
    assert appraise_candidates(ASKED, shown, Readings()) != []


async def test_every_record_that_was_fetched_is_read_or_listed_with_its_reason() -> None:
    letter = record("22222222", "A letter", "").model_copy(update={"content": "A letter"})
    other = record("33333333", "Acupuncture for something else", "Needles helped 40 patients with sciatica.")
    pool = [trial(1, BETTER), letter, other]
    assert {each.record.key for each in prepare_reading(pool, ASKED)} == {"pmid:11111111", "pmid:33333333"}
    assert [(each.key, each.reason) for each in list_unreadable(pool, ASKED)] == [("pmid:22222222", "no abstract")]
    found = await read_by([study(1, BETTER)], shown=pool)
    listed = {each.key for each in (*found.unread.values(), *list_unreadable(pool, ASKED))}
    assert {record.key for record in pool} - listed == {read.study.key for read in found.studies}


async def test_of_a_reader_that_says_better_throughout_nothing_counts_and_the_first_line_says_so() -> None:
    shown = [trial(number, SAME if number % 3 else BETTER) for number in range(1, 13)]
    lies = [study(number, SAME if number % 3 else BETTER) for number in range(1, 13)]
    found = await read_by(lies, lies, shown=shown)
    assert found.counts.is_unreliable
    turn = Findings(specialist="literature", iteration=1, summary="", studies=found.studies, readings=found.readings)
    turn.reading_counts, turn.unread = found.counts, list(found.unread.values())
    dossier = Dossier(question=QUESTION, findings=[turn])
    assert (dossier.readings, dossier.studies, dossier.absent) == ([], [], [])
    work = WorkShare(model="openai/liar", readings=dossier.reading_counts)
    assert work.has_failed
    assert work.line.startswith("openai/liar cannot be relied on: 8 of 12 readings are not borne out by the sentences")


def test_an_honest_reader_with_a_disputed_reading_in_a_hundred_counts() -> None:
    counts = ReadingCounts(asked=100, read=99, refused=1, parts=200, disputed=3)
    assert not counts.is_unreliable
    work = WorkShare(model="openai/m", parts=[PartShare(name="reading", due=100, done=99)], readings=counts)
    assert not work.has_failed
    assert work.line == (
        "By openai/m: 99 of 100 records read, 1 of 100 records refused and 3 of 200 readings disputed; what is refused "
        "or disputed counts for nothing."
    )


@pytest.mark.parametrize("failed", ["reading", "searching", "judging", "writing"])
def test_a_run_fails_whichever_part_its_model_did_not_do(failed: str) -> None:
    parts = [PartShare(name=name, due=2, done=0 if name == failed else 2) for name in ("reading", "writing", failed)]
    assert WorkShare(model="m", parts=parts).has_failed
