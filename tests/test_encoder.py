"""The careful reader: word pieces, what is shown of a record, the encoder beside the heads."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_learned import TEXT, TITLE
from typer.testing import CliRunner

from willowbark.teams.faces.cli import app
from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import (
    BEYOND_DOUBT,
    FIELDS,
    LONGEST,
    WHOLLY,
    CarefulReader,
    Encoder,
    Pieces,
    encoder,
    shown,
)
from willowbark.tools.reading.facts import candidates, facts_of
from willowbark.tools.reading.features import View
from willowbark.tools.reading.heads import weights
from willowbark.tools.reading.learned import LearnedReader

LETTERS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


@given(st.lists(LETTERS, min_size=1, max_size=30, unique=True), LETTERS)
def test_pieces_put_together_are_the_word_or_it_is_unknown(names: list[str], word: str) -> None:
    blank = [f"[{at}]" for at in range(Pieces.LAST_SPECIAL + 1)]
    pieces = Pieces([*blank, *names, *(f"##{name}" for name in names)])
    cut = pieces.of(word)
    assert cut == (Pieces.UNKNOWN,) or "".join(pieces.names[at].removeprefix("##") for at in cut) == word


@given(st.integers(0, 60), st.integers(1, 40))
def test_of_a_long_record_title_and_end_are_kept_and_the_room_is_not_exceeded(count: int, words: int) -> None:
    middle = " ".join(f"Patients {'improved ' * words}in week {at}." for at in range(count))
    view = View(Document(TITLE, f"{middle} Propranolol prevents migraine."), "propranolol", "migraine")
    seen = shown(view, encoder().pieces)
    assert len(seen.pieces) <= LONGEST
    assert seen.orders == sorted(seen.orders)
    assert {0, len(view.sentences) - 1} <= set(seen.orders)
    assert len(seen.places) == len(seen.orders)


def test_each_candidate_has_a_probability_and_what_is_not_looked_at_next_to_none() -> None:
    long = "Blood was drawn from 12 patients in a room. " * 40
    page = Document(TITLE, f"We randomised 120 patients. {long}In 1875 it was used.")
    offered = candidates(page, "rct")
    told = dict(zip(offered, encoder().making(page).participants(offered), strict=True))
    assert sum(told.values()) == pytest.approx(1, abs=1e-5)
    assert max(told, key=lambda value: told[value]) == 120


def test_design_and_participants_of_a_record_are_told_once_for_all_its_drugs(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Document] = []
    monkeypatch.setattr(CarefulReader, "facts_of", lambda _, page: told.append(page) or facts_of(page))
    reader, page = CarefulReader(), Document(TITLE, TEXT)
    for drug in ("propranolol", "timolol"):
        reader.read_document(page, drug, "migraine")
    reader.read_document(Document(TITLE, TEXT), "propranolol", "migraine")
    assert len(told) == 2


def test_nothing_is_learnt_of_a_name() -> None:
    one = encoder().told(View(Document(TITLE, TEXT), "propranolol", "migraine"))
    renamed = Document(
        *(each.replace("ropranolol", "imolol").replace("Pim", "Tim").replace("pim", "tim") for each in (TITLE, TEXT))
    )
    other = encoder().told(View(renamed, "timolol", "migraine"))
    for name in FIELDS:
        np.testing.assert_allclose(one.fields[name], other.fields[name], atol=1e-5)


def test_a_clear_trial_is_read_and_quoted_by_a_whole_sentence() -> None:
    reading = CarefulReader().read_document(Document(TITLE, TEXT), "propranolol", "migraine", "1")
    assert (reading.role, reading.verdict, reading.reader) == ("tested", "supports", "careful")
    assert reading.sure
    assert reading.passages[0].text in TEXT
    assert reading.passages[0].text.endswith(("(P < 0.001).", "prevention of migraine."))


def test_a_file_is_read_more_closely_than_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    told = Encoder.told
    monkeypatch.setattr(Encoder, "told", lambda self, view: asked.append(view.drug) or told(self, view))
    page = Document("Aspirin in a town", "Ten people with asthma took aspirin. Their costs rose. Asthma was common.")
    heads = LearnedReader()._judged(View(page, "aspirin", "asthma")).verdict
    assert BEYOND_DOUBT <= heads[FIELDS["verdict"].index("none")] < WHOLLY
    load_reader("careful").read_document(page, "aspirin", "asthma")
    assert not asked
    load_reader("careful", wholly=True).read_document(page, "aspirin", "asthma")
    assert asked == ["aspirin"]


def test_a_file_is_read_with_care_unless_it_should_be_fast(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    record = {"id": 1, "title": TITLE, "text": TEXT, "drug": "propranolol", "condition": "migraine"}
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    told = [
        json.loads(CliRunner().invoke(app, ["read", str(file), "--quiet", *more]).stdout) for more in ([], ["--fast"])
    ]
    assert [each["reader"] for each in told] == ["careful", "learned"]
    assert [each["verdict"] for each in told] == ["supports", "supports"]


def test_an_empty_record_and_a_word_without_end_are_read_at_once() -> None:
    assert not encoder().told(View(Document("", ""), "aspirin", "pain")).sentences
    assert encoder().pieces.of("a" * 1_000_000) == (Pieces.UNKNOWN,)


def test_the_documentation_names_the_probabilities_that_reports_count_from() -> None:
    told = (Path(__file__).parents[1] / "docs" / "how-to" / "read.md").read_text(encoding="utf-8")

    careful, fast = encoder().joined.settled.sure, weights().settled.sure
    assert f"*supports* from {careful['supports']:.2f} on, and *contradicts* from {careful['contradicts']:.2f}" in told
    assert f"({fast['supports']:.2f} and {fast['contradicts']:.2f} with `--fast`)" in told
