"""A run's material as plain files: names that any file system takes, texts that are no live markup."""

from datetime import UTC, datetime

from builders import QUESTION, drug_record, findings, record, reply, verdict
from hypothesis import given
from hypothesis import strategies as st

from willowbark.teams.faces.workspace_export import file_name, workspace_files
from willowbark.teams.ledger import Run, Turn
from willowbark.tools.search import Status

RUN = Run(
    run_id="one",
    question=QUESTION,
    status="complete",
    stop_reason="timeout",
    created_at=datetime(2025, 6, 1, tzinfo=UTC),
    updated_at=datetime(2025, 6, 1, tzinfo=UTC),
    version="0.1.0",
    model="baseline",
    analyst="baseline",
    model_info={},
    sandboxed=True,
    settings={},
    spent_s=1.0,
    rounds=1,
    requests=3,
    model_calls=4,
    tokens=5,
    cost_usd=0.0,
    pruned_at=None,
)


def turns(*messages: object) -> list[Turn]:
    return [
        Turn(
            iteration=message.content.iteration,
            source=message.source,
            type=type(message).__name__,
            message=message.dump(),
            prompt_tokens=0,
            completion_tokens=0,
        )
        for message in messages
    ]


@given(st.text(min_size=1, max_size=200))
def test_any_key_gives_a_name_that_stays_in_its_folder(key: str) -> None:
    name = file_name(key)
    assert 0 < len(name) <= 89
    assert not set(name) & set('/\\:*?"<>|\0\n ')
    assert not name.startswith(".")


def test_different_keys_have_different_names() -> None:
    keys = ["doi:10.1/a(b", "doi:10.1/a)b", "doi:10.1/a-b", "pmid:1", "pmid-1", "doi:10.1/" + "x" * 200]
    keys.append(keys[-1] + "y")
    assert len({file_name(key) for key in keys}) == len(keys) - 1  # only pmid:1 and pmid-1 meet, and one is no key


def test_each_record_is_one_file_however_many_searches_found_it() -> None:
    found = findings("literature", reply(record("1", "A")), reply(record("1", "A"), source="europepmc"))
    names = [name for name, _ in workspace_files(RUN, turns(found, verdict()))]
    assert names == [
        "papers/pmid-1.md",
        "search_results/round-1-literature-01-pubmed.json",
        "search_results/round-1-literature-02-europepmc.json",
        "analysis/round-1-literature.md",
        "analysis/round-1-judge.json",
        "README.md",
    ]


def test_records_of_drug_databases_are_mechanisms() -> None:
    found = findings("mechanism", reply(drug_record("propranolol", "Beta blocker", "ADRB1"), source="chembl"))
    assert next(name for name, _ in workspace_files(RUN, turns(found))).startswith("mechanisms/chembl-chembl27")


def test_a_search_that_failed_is_there_with_its_reason() -> None:
    lost = reply(status=Status.UNAVAILABLE, warnings=["is not available (503)"])
    files = dict(workspace_files(RUN, turns(findings("literature", lost))))
    searched = files["search_results/round-1-literature-01-pubmed.json"]
    assert '"status": "unavailable"' in searched
    assert "is not available (503)" in searched


def test_a_records_text_is_no_live_markup() -> None:
    sly = record("1", "[x](javascript:alert(1)) <script>", "# Heading\n\n<img src=x onerror=alert(1)>")
    text = dict(workspace_files(RUN, turns(findings("literature", reply(sly)))))["papers/pmid-1.md"]
    assert "\\<script>" in text
    assert "\\<img" in text
    assert "\\[x\\](" in text
    assert "\n\\# Heading" in text
