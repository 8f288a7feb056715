"""`willowbark init`: what it asks, where keys go, and that none goes into a file."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import needs
from openai_server import OpenAIServer, refusal
from typer.testing import CliRunner

from willowbark.teams import keys
from willowbark.teams.faces.cli import app
from willowbark.teams.faces.first_time import Conversation, set_up
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints

KEY = "sk-secret-of-a-test"
NOWHERE = Endpoints.at("http://127.0.0.1:1")
KEYRING = """
from types import SimpleNamespace
kept = {}
def get_keyring(): return SimpleNamespace(priority=5)
def set_password(service, name, value): kept[service, name] = value
def get_password(service, name): return kept.get((service, name))
"""
LOCKED = (
    KEYRING
    + "def set_password(service, name, value): raise RuntimeError(value)\n"
    + "def get_password(service, name): raise RuntimeError(name)\n"
)


class Person:
    """Somebody who types these lines, and sees what is told."""

    def __init__(self, *lines: str, secrets: tuple[str, ...] = ()) -> None:
        self.seen = list[str]()
        self._lines, self._secrets = iter(lines), iter(secrets)
        self.talk = Conversation(self._answer(self._lines), self._answer(self._secrets), self.seen.append)

    def _answer(self, lines: Iterator[str]):
        def read(prompt: str) -> str:
            self.seen.append(prompt)
            return next(lines)

        return read

    @property
    def text(self) -> str:
        return "\n".join(self.seen)


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own, without keys, whose sources are on the loopback and down."""
    for name in ("OPENAI_API_KEY", "NCBI_API_KEY", "NCBI_EMAIL"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "keyring", None)
    return tmp_path


def keyring(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = KEYRING) -> None:
    monkeypatch.delitem(sys.modules, "keyring")
    (folder / "keyring.py").write_text(text)
    monkeypatch.syspath_prepend(folder)


def files_with(text: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_text(errors="replace")]


def test_without_a_terminal_nobody_is_asked_and_the_way_out_is_told(at_home: Path) -> None:
    result = CliRunner().invoke(app, ["init"])

    assert result.exit_code == 2
    assert result.stderr.startswith("willowbark: init asks questions, and this is no terminal: set the key in the envi")
    assert result.stderr.count("\n") == 1
    assert not (at_home / "willowbark.toml").exists()


def test_the_baseline_needs_no_key_and_only_an_address_is_written(at_home: Path) -> None:
    person = Person("", "nobody", "me@example.org", secrets=("",))
    set_up(at_home, person.talk, NOWHERE)

    assert "'nobody' is no e-mail address" in person.seen
    assert (at_home / "willowbark.toml").read_text() == (
        '[llm]\nmodel = "baseline"\n\n[tools.pubmed]\nemail = "me@example.org"\n'
    )
    assert "Source pubmed: SILENT" in person.text


@needs("openai")
@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
def test_the_model_is_tried_once_and_a_key_without_keyring_is_in_no_file_and_no_word(
    at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = OpenAIServer(lambda body: "ready")
    person = Person("gpt", "openai/gpt-4.1-mini", "", secrets=(KEY, ""))
    with server.running() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        set_up(at_home, person.talk, NOWHERE)

    assert "There is no model 'gpt'" in person.text
    assert "Model openai/gpt-4.1-mini: answers" in person.seen, person.text
    assert "with your key for the dots: export OPENAI_API_KEY=…" in person.seen
    assert KEY not in person.text
    assert files_with(KEY, at_home) == []
    assert (at_home / "willowbark.toml").read_text() == '[llm]\nmodel = "openai/gpt-4.1-mini"\n'


@needs("openai")
def test_a_key_that_is_refused_is_told_and_the_exit_says_so(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = OpenAIServer(lambda body: refusal(401, "Incorrect API key provided"))
    person = Person("openai/gpt-4.1-mini", "", secrets=(KEY, ""))
    with server.running() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        works = set_up(at_home, person.talk, NOWHERE)

    assert not works
    assert [line for line in person.seen if line.startswith("Model openai/gpt-4.1-mini: did not answer: 401 ")]
    assert KEY not in person.text


def test_a_keyring_keeps_keys_and_gives_them_to_later_commands(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring(at_home, monkeypatch)
    person = Person("", "", secrets=(KEY,))
    set_up(at_home, person.talk, NOWHERE)
    environ = dict[str, str]()

    assert "NCBI_API_KEY: kept in the keyring" in person.seen
    assert (keys.load_keys(environ), environ) == ([], {"NCBI_API_KEY": KEY})
    assert keys.find_names_file().read_text() == "NCBI_API_KEY\n"
    assert files_with(KEY, at_home) == []
    own = {"NCBI_API_KEY": "another"}
    assert (keys.load_keys(own), own) == ([], {"NCBI_API_KEY": "another"})


def test_a_locked_keyring_is_told_without_the_key(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring(at_home, monkeypatch, LOCKED)
    with pytest.raises(UsageError, match=r"the keyring did not take NCBI_API_KEY \(RuntimeError\)") as problem:
        keys.keep_key("NCBI_API_KEY", KEY)

    assert KEY not in str(problem.value)
    keys.find_names_file().parent.mkdir(parents=True)
    keys.find_names_file().write_text("NCBI_API_KEY\n")
    assert keys.load_keys({}) == ["NCBI_API_KEY: the keyring did not give it (RuntimeError)"]


def test_settings_that_are_there_stay_as_they_are(at_home: Path) -> None:
    (at_home / "willowbark.toml").write_text("[research]\nmax_iterations = 2\n")
    person = Person("", "", secrets=("",))
    set_up(at_home, person.talk, NOWHERE)

    assert (at_home / "willowbark.toml").read_text() == "[research]\nmax_iterations = 2\n"
    assert '[llm]\nmodel = "baseline"' in person.seen
