"""Settings come from a file and the environment, and what is wrong is told in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.teams import spellings
from willowbark.teams.config import LLMSettings, Settings
from willowbark.teams.model_clients import PROVIDERS
from willowbark.teams.run.options import RunOptions
from willowbark.tools.errors import UsageError

EVERYTHING = """
[research]
max_iterations = 4
max_results_per_tool = 20
search_timeout = 12.5
judge_threshold = 0.7
[research.limits]
max_tokens = 100000
max_seconds = "none"
[tools]
sources = ["pubmed", "brave"]
[tools.pubmed]
email = "someone@example.org"
[llm]
model = "openai/gpt-4.1-mini"
temperature = 0
max_tokens = 4000
timeout_s = 60
base_url = "http://127.0.0.1:8080/v1/"
structured_output = true
[output]
directory = "reports"
"""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complaint(content: str | bytes) -> str:
    """What is said of a file with this content."""
    file = Path("willowbark.toml")
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as caught:
        Settings.load()
    return str(caught.value)


def test_defaults_stand_where_nothing_is_set() -> None:
    settings = Settings.load()

    assert (settings.research.max_iterations, settings.research.max_results_per_tool) == (10, 10)
    assert (settings.research.depth, settings.research.page_size) == ("standard", 50)
    assert (settings.research.search_timeout, settings.research.judge_threshold) == (30, 0.8)
    assert (settings.research.limits.max_tokens, settings.research.limits.max_seconds) == (200_000, 600)
    assert settings.llm.model == "baseline"
    assert "pubmed" in settings.tools.sources
    assert settings.output.directory == Path("runs")
    sizes = [settings.overridden({"research.depth": depth}).research.page_size for depth in ("quick", "exhaustive")]
    assert sizes == [30, 200]


def test_a_file_in_the_current_folder_is_read() -> None:
    Path("willowbark.toml").write_text(EVERYTHING)

    settings = Settings.load()

    assert settings.research.limits.max_tokens == 100_000
    assert settings.research.limits.max_seconds is None, "the word none lifts a limit"
    assert settings.tools.sources == ("pubmed", "brave"), "a source that is off can be named"
    assert settings.tools.pubmed.email == "someone@example.org"
    assert settings.llm.base_url == "http://127.0.0.1:8080/v1"


OTHER_NAMES = """
[research]
max_iterations = 5
max_tokens = 50000
max_time_seconds = 120
[research.limits]
judge_threshold = 0.85
[tools]
enabled = ["pubmed", "web", "trials"]
[tools.pubmed]
max_results = 20
rate_limit = 3
[tools.trials]
max_results = 30
[tools.web]
engine = "serpapi"
max_results = 10
[llm]
provider = "anthropic"
model = "claude-3-5-sonnet-20241022"
[output]
format = "html"
include_citations = false
"""


def loaded(content: str) -> Settings:
    """Settings from a file with this content."""
    Path("willowbark.toml").write_text(content)
    return Settings.load()


def test_the_other_names_of_settings_mean_the_same() -> None:
    settings = loaded(OTHER_NAMES)

    assert (settings.research.max_iterations, settings.research.judge_threshold) == (5, 0.85)
    assert (settings.research.limits.max_tokens, settings.research.limits.max_seconds) == (50_000, 120)
    assert settings.tools.sources == ("pubmed", "serpapi", "clinicaltrials")
    assert settings.tools.page_sizes == {"pubmed": 20, "clinicaltrials": 30, "serpapi": 10}
    assert settings.llm.model == "anthropic/claude-3-5-sonnet-20241022"
    assert (settings.output.format, settings.output.include_citations) == ("html", False)
    assert Settings.restored(settings.to_store()) == settings


def test_names_without_their_other_half_mean_what_is_nearest() -> None:
    web = loaded("[tools]\nenabled = ['web']").tools.sources
    added = loaded("[tools.web]\nengine = 'duckduckgo'").tools.sources

    assert web == ("duckduckgo",), "the engine that needs no key"
    assert set(added) == {*Settings().tools.sources, "duckduckgo"}
    assert loaded("[llm]\nprovider = 'openai'\nmodel = 'openai/gpt-4.1'").llm.model == "openai/gpt-4.1"
    assert loaded("[llm]\nprovider = 'ollama'\nmodel = 'meta-llama/x'").llm.model == "ollama/meta-llama/x"
    assert loaded("[llm]\nprovider = 'baseline'").llm.model == "baseline"
    assert set(spellings.PROVIDERS) == set(PROVIDERS)


def test_the_environment_wins_under_every_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_RESEARCH__MAX_TOKENS", "700")
    monkeypatch.setenv("WILLOWBARK_TOOLS__ENABLED", '["trials"]')

    settings = loaded("[research.limits]\nmax_tokens = 5\n[tools]\nsources = ['pubmed']")

    assert settings.research.limits.max_tokens == 700
    assert settings.tools.sources == ("clinicaltrials",)
    assert settings.overridden({"research.max_tokens": 800}).research.limits.max_tokens == 800


def test_a_limit_of_requests_holds_where_the_source_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    slow = loaded("[tools.pubmed]\nrate_limit = 1.5")
    fast = loaded("[tools.pubmed]\nrate_limit = 10")

    assert RunOptions().open_endpoints(slow)["pubmed"].per_second == 1.5
    with pytest.raises(UsageError, match=r"tools\.pubmed\.rate_limit: 10 is above .* 10 with NCBI_API_KEY"):
        RunOptions().open_endpoints(fast)
    monkeypatch.setenv("NCBI_API_KEY", "hush")
    assert RunOptions().open_endpoints(fast)["pubmed"].per_second == 10


def test_the_depth_sets_the_page_where_none_is_set() -> None:
    pages = {depth: Settings().overridden({"research.depth": depth}) for depth in ("quick", "standard", "exhaustive")}
    ten = Settings().overridden({"research.max_results_per_tool": 10})

    assert [settings.research.page_size for settings in pages.values()] == [30, 50, 200]
    assert ten.research.page_size == 10, "ten as a wish are ten, though ten is the default too"
    assert Settings.restored(Settings().to_store()).research.page_size == 50
    assert Settings.restored(ten.to_store()).research.page_size == 10


def test_tokens_are_limited_with_a_model_unless_the_run_is_to_read_everything() -> None:
    exhaustive = Settings().overridden({"research.depth": "exhaustive"})
    lifted = Settings().overridden({"research.limits.max_tokens": "none"})
    own = exhaustive.overridden({"research.limits.max_tokens": 200_000})

    assert Settings().research.token_limit(is_baseline=False) == 200_000
    assert Settings().research.token_limit(is_baseline=True) is None
    assert exhaustive.research.token_limit(is_baseline=False) is None
    assert lifted.research.token_limit(is_baseline=False) is None
    assert own.research.token_limit(is_baseline=True) == 200_000, "a limit that is set holds for everybody"


@pytest.mark.parametrize(
    "limits",
    [
        {"WILLOWBARK_RESEARCH__LIMITS__MAX_SECONDS": "30"},
        {"WILLOWBARK_RESEARCH": '{"max_iterations": 3, "limits": {"max_seconds": 30}}'},
    ],
    ids=["a value", "a section"],
)
def test_the_environment_wins_over_the_file_and_leaves_what_it_does_not_name(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, str]
) -> None:
    Path("willowbark.toml").write_text(EVERYTHING)
    sources = {"WILLOWBARK_TOOLS__SOURCES": '["europepmc"]', "WILLOWBARK_RESEARCH__MAX_ITERATIONS": "2"}
    for name, value in (sources | limits | {"WILLOWBARK_LLM": '{"base_url": "https://models.example.org/v1"}'}).items():
        monkeypatch.setenv(name, value)

    settings = Settings.load()

    assert settings.research.limits.max_seconds == 30
    assert settings.research.limits.max_tokens == 100_000
    assert settings.research.max_iterations == 2
    assert settings.tools.sources == ("europepmc",)
    assert (settings.llm.base_url, settings.llm.model) == ("https://models.example.org/v1", "openai/gpt-4.1-mini")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("[research]\nmax_iteration = 3", ["research.max_iteration", "did you mean 'research.max_iterations'?"]),
        (
            "[research.limits]\nmax_token = 3",
            ["research.limits.max_token", "did you mean 'research.limits.max_tokens'?"],
        ),
        ("[research]\nmax_iterations = 'many'", ["research.max_iterations", "valid integer", "'many'"]),
        ("[research]\nmax_iterations = 21", ["research.max_iterations", "less than or equal to 20"]),
        ("[research]\nmax_iterations = 0\nsearch_timeout = 0", ["(and 1 more)"]),
        ("[research]\nsearch_timeout = nan", ["research.search_timeout", "finite"]),
        ("research = 3", ["research", "should be a valid dictionary"]),
        ("[tools]\nsources = ['pubmd']", ["tools.sources", "did you mean 'pubmed'?"]),
        ("[tools]\nsources = ['bravo']", ["did you mean 'brave'?", "brave (with BRAVE_API_KEY)"]),
        ("[tools]\nsource = ['pubmed']", ["tools: there is no setting or source 'source'", "did you mean 'sources'?"]),
        ("[tools.pubmed]\nrate_limit = 30", ["pubmed.rate_limit", "3 requests a second", "10 with NCBI_API_KEY"]),
        ("[tools.europepmc]\nmax_results = 500", ["tools.europepmc.max_results", "equal to 200"]),
        ("[tools.europepmc]\nmax_result = 5", ["did you mean 'tools.europepmc.max_results'?"]),
        (
            "[tools.web]\nengine = 'altavista'",
            ["tools.web.engine: there is no 'altavista'", "brave, serpapi, duckduckgo"],
        ),
        ("[tools]\nweb = 3", ["tools.web: should be a section"]),
        (
            "[research]\nmax_tokens = 5\n[research.limits]\nmax_tokens = 6",
            ["research.max_tokens (5) and research.limits.max_tokens (6)", "keep research.limits.max_tokens"],
        ),
        ("[llm]\nprovider = 'anthropic'", ["llm.provider: names no model", "anthropic/…"]),
        ("[llm]\nprovider = 'anthropic'\nmodel = 'openai/x'", ["name two models", "keep llm.model"]),
        ("[output]\nformat = 'docx'", ["output.format", "'markdown', 'html' or 'json'"]),
        ("[tools.pubmed]\nemail = 'me'", ["tools.pubmed.email", "match pattern"]),
        ("[llm]\nbase_url = 'ftp://x'", ["llm.base_url", "http://"]),
        ("[llm]\nbase_url = 'http://me:secret@x/'", ["llm.base_url", "holds a password"]),
        ("[output\n", ["not valid TOML", "line 1"]),
        (b"\xff\xfe\x00", ["not valid TOML", "utf-8"]),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_is_wrong_is_one_line_naming_file_key_and_way_out(content: str | bytes, parts: list[str]) -> None:
    said = complaint(content)

    assert said.startswith("willowbark.toml: ")
    assert "\n" not in said
    assert "secret" not in said
    assert [part for part in parts if part not in said] == [], said


def test_a_key_in_the_file_is_refused_without_repeating_it() -> None:
    said = complaint("[llm]\napi_key = 'sk-hush'")

    assert "llm.api_key" in said
    assert "in the environment" in said
    assert "hush" not in said


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("WILLOWBARK_RESEARCH__MAX_ITERATIONS", "300", "less than or equal to 20"),
        ("WILLOWBARK_RESEARCH__MAX_ITERATION", "3", "did you mean 'research.max_iterations'?"),
        ("WILLOWBARK_LLM_MODEL", "x", "did you mean 'llm.model'?"),
        ("WILLOWBARK_XYZZY__QUX", "3", "WILLOWBARK_XYZZY__QUX: no such setting"),
        ("WILLOWBARK_TOOLS__SOURCES", "pubmed", "valid tuple"),
        ("WILLOWBARK_LLM__API_KEY", "sk-hush", "OPENAI_API_KEY"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, part: str) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(UsageError) as caught:
        Settings.load()

    said = str(caught.value)
    assert said.startswith("environment: ")
    assert part in said
    assert "\n" not in said
    assert "hush" not in said


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"^other.toml: cannot be read \(No such file.*--config"):
        Settings.load(Path("other.toml"))
    Path("willowbark.toml").symlink_to("nowhere.toml")
    with pytest.raises(UsageError, match=r"^willowbark.toml: cannot be read \(No such file"):
        Settings.load()


def test_options_override_and_are_checked_like_the_file() -> None:
    changed = Settings().overridden({"research.max_iterations": 3, "llm.model": None, "output.directory": Path("x")})

    assert changed.research.max_iterations == 3
    assert Settings(llm=LLMSettings(batch=True)).overridden({"llm.batch": False}).llm.batch is False
    assert changed.llm.model == "baseline"
    assert changed.output.directory == Path("x")
    with pytest.raises(UsageError, match="less than or equal to 20, not 30"):
        Settings().overridden({"research.max_iterations": 30})


@given(st.binary(max_size=200))
def test_no_file_whatever_ends_in_anything_but_settings_or_one_line(content: bytes) -> None:
    Path("willowbark.toml").write_bytes(content)
    said = "one line"
    try:
        Settings.load()
    except UsageError as error:
        said = str(error)
    assert len(said.splitlines()) == 1


def test_importing_the_settings_does_not_load_autogen() -> None:
    check = "import sys, willowbark.teams.config; sys.exit('autogen_core' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
