"""Settings come from a file and the environment, and what is wrong is told in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.teams.config import LLMSettings, Settings
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

    assert (settings.research.max_iterations, settings.research.max_results_per_tool) == (10, 50)
    assert (settings.research.depth, settings.research.page_size) == ("standard", 50)
    assert (settings.research.search_timeout, settings.research.judge_threshold) == (30, 0.8)
    assert (settings.research.limits.max_tokens, settings.research.limits.max_seconds) == (None, 600)
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
