"""One record of options: what a run is asked with, checked before anything starts."""

from pathlib import Path

import pytest
from builders import QUESTION, scripted
from pydantic import ValidationError

from willowbark.teams import RunOptions, research
from willowbark.teams.config import RoleSettings, Settings
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import resume
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_chosen_stands_over_the_settings() -> None:
    options = RunOptions(
        question=QUESTION,
        settings=Settings().overridden({"research.max_iterations": 9, "research.judge_threshold": 0.7}),
        model="openai/gpt-4.1-mini",
        max_iterations=2,
        max_results=5,
        sources=["pubmed", "chembl"],
        max_seconds=30,
    )
    chosen = options.chosen()
    assert chosen.llm.model == "openai/gpt-4.1-mini"
    assert (chosen.research.max_iterations, chosen.research.max_results_per_tool) == (2, 5)
    assert (chosen.research.judge_threshold, chosen.research.limits.max_seconds) == (0.7, 30)
    assert chosen.tools.sources == ("pubmed", "chembl")


def test_the_contact_address_of_the_settings_goes_to_the_sources() -> None:
    chosen = Settings().overridden({"tools.pubmed.email": "someone@example.org"})
    named, unnamed = RunOptions().open_endpoints(chosen), RunOptions().open_endpoints(Settings())
    assert (named.email, unnamed.email) == ("someone@example.org", None)


@pytest.mark.parametrize(("approve", "asks"), [(None, False), (False, False), (True, True), (scripted, True)])
def test_who_approves_decides_whether_anybody_is_asked(approve: object, asks: bool) -> None:
    assert RunOptions(settings=Settings(), approve=approve).chosen().research.approve is asks


def test_the_record_is_frozen_and_keeps_keys_out_of_its_repr() -> None:
    options = RunOptions(question=QUESTION, endpoints=Endpoints.public({"NCBI_API_KEY": "hush"}))
    with pytest.raises(ValidationError, match="frozen"):
        options.question = "another"
    assert "hush" not in repr(options)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"max_iteration": 3}, "max_iteration: there is no such option (did you mean 'max_iterations'?)"),
        ({"max_iterations": "many"}, "max_iterations: should be a valid integer"),
        ({"max_iterations": 21}, "max_iterations: should be less than or equal to 20"),
        ({"sources": ["pubmd"]}, "did you mean 'pubmed'?"),
        ({"model": "gpt-4o"}, "there is no model 'gpt-4o'; known forms: "),
        ({"model_client": "openai/gpt-4o"}, "model_client: should be an instance of ChatCompletionClient"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_an_option_that_does_not_hold_is_one_line_before_anything_starts(
    choices: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await research(QUESTION, **choices)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_resumed_run_keeps_what_it_was_started_with() -> None:
    with Ledger(None) as ledger:
        with pytest.raises(UsageError, match="max_iterations: a resumed run keeps"):
            await resume("one", ledger, max_iterations=3)
        with pytest.raises(UsageError, match="no such option"):
            await resume("one", ledger, modle="x")


def test_a_model_named_for_a_run_is_asked_in_every_role() -> None:
    settings = Settings.restored({"llm": {"model": "openai/main", "roles": {"judge": "openai/strong"}}})

    assert RunOptions(settings=settings).chosen().llm.roles.judge == "openai/strong"
    assert RunOptions(settings=settings, model="openai/only").chosen().llm.roles == RoleSettings()
