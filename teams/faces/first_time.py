"""`willowbark init`: asks for a model, its key, an e-mail for NCBI, and tries each once.

Settings go into `willowbark.toml`; keys into the system's keyring or the environment, never into a file.
"""

import asyncio
import getpass
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints

from .. import keys
from ..config import FILE_NAME, Settings
from ..model_clients import BASELINE, FORMS, PROVIDERS, close, model_client
from .terminal import write_lines

TRY_S = 30.0  # for a model's first word
NOT_A_TERMINAL = (
    "init asks questions, and this is no terminal: set the key in the environment (OPENAI_API_KEY, say), and the model "
    f'in {FILE_NAME} ([llm] model = "openai/gpt-4.1-mini"); `willowbark doctor` checks them'
)


@dataclass(slots=True)
class Conversation:
    """Questions to a person; tests answer in the place of a terminal."""

    ask: Callable[[str], str] = input
    ask_secret: Callable[[str], str] = getpass.getpass
    tell: Callable[[str], None] = field(default=lambda line: write_lines([line]))

    def choose(self, question: str, usual: str = "") -> str:
        """Ask for a line; an empty one takes the usual answer."""
        return self.ask(f"{question}{f' [{usual}]' if usual else ''}: ").strip() or usual


def set_up(folder: Path, talk: Conversation | None = None, endpoints: Endpoints | None = None) -> bool:
    """Ask, try, and write the settings; return whether all that was tried worked.

    Args:
        folder: gets `willowbark.toml`; one that is there is left as it is, and the lines to add are printed.
        talk: who is asked; None asks the terminal.
        endpoints: where PubMed is; None takes the public address.

    Raises:
        UsageError: nobody can be asked, or the folder cannot be written to.
    """
    if talk is None and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(NOT_A_TERMINAL)
    talk = talk or Conversation()
    talk.tell("Three questions; Enter takes the answer in brackets. Keys stay in the environment or the keyring.")
    model = _ask_model(talk)
    _ask_keys(talk, model)
    email = _ask_email(talk)
    settings = Settings().overridden({"llm.model": model, "tools.pubmed.email": email or None})
    _write_settings(talk, folder / FILE_NAME, model, email)
    model_works = _try_model(talk, model, settings)
    pubmed_works = _try_pubmed(talk, endpoints or Endpoints.public(), email)
    talk.tell('Now: willowbark ask "Which existing drugs might treat …?"')
    return model_works and pubmed_works


def _ask_model(talk: Conversation) -> str:
    talk.tell(f"Models: {FORMS}. The baseline needs no key: rules and a small reader.")
    while True:
        name = talk.choose("Model", BASELINE)
        provider, _, model = name.partition("/")
        if name == BASELINE or (provider in PROVIDERS and model and len(model.split()) == 1):
            return name
        talk.tell(f"There is no model {name!r}; known forms: {FORMS}")


def _ask_keys(talk: Conversation, model: str) -> None:
    provider = PROVIDERS.get(model.partition("/")[0])
    if provider is not None and provider.key:
        _ask_key(talk, provider.key, "needed")
    _ask_key(talk, "NCBI_API_KEY", "free, optional: PubMed at 10 requests a second, not 3; Enter leaves it out")


def _ask_key(talk: Conversation, name: str, why: str) -> None:
    """Ask for a key that is not set, and keep it where keys belong."""
    if os.environ.get(name, "").strip():
        talk.tell(f"{name}: set in the environment")
        return
    value = talk.ask_secret(f"{name} ({why}; it is not shown): ").strip()
    if not value:
        talk.tell(f"{name}: left out")
        return
    os.environ[name] = value  # for the tries below
    if keys.has_keyring():
        try:
            keys.keep_key(name, value)
            talk.tell(f"{name}: kept in the keyring")
            return
        except UsageError as problem:
            talk.tell(str(problem))
    talk.tell(f"{name}: no keyring is at hand, so it holds for this command alone; put this into your shell's profile,")
    talk.tell(f"with your key for the dots: export {name}=…")


def _ask_email(talk: Conversation) -> str:
    talk.tell("NCBI and Crossref ask for an e-mail address, to write to before they block anybody.")
    while True:
        email = talk.choose("E-mail (Enter: none)", os.environ.get("NCBI_EMAIL", ""))
        try:
            Settings().overridden({"tools.pubmed.email": email or None})
        except UsageError:
            talk.tell(f"{email!r} is no e-mail address")
            continue
        return email


def _write_settings(talk: Conversation, file: Path, model: str, email: str) -> None:
    lines = ["[llm]", f'model = "{model}"']
    lines += ["", "[tools.pubmed]", f'email = "{email}"'] if email else []
    if file.exists():
        talk.tell(f"{file.name} is there already and was left as it is; its lines would be:")
        talk.tell("\n".join(lines))
        return
    try:
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written ({error.strerror}); go to another folder") from None
    talk.tell(f"Wrote {file.name}: the model{' and the address' if email else ''}, no key")


def _try_model(talk: Conversation, model: str, settings: Settings) -> bool:
    if model == BASELINE:
        talk.tell("Model: the baseline is part of the package")
        return True
    problem = asyncio.run(_find_model_problem(model, settings))
    talk.tell(f"Model {model}: {problem or 'answers'}")
    return not problem


async def _find_model_problem(model: str, settings: Settings) -> str:
    """Ask a model for one word; return why that failed, without keys, or nothing."""
    from willowbark.agents.asking import describe_provider_error  # noqa: PLC0415  agents take most of a second
    from willowbark.agents.autogen import UserMessage  # noqa: PLC0415

    try:
        client = model_client(model, settings)
    except UsageError as error:
        return str(error)
    try:
        async with asyncio.timeout(TRY_S):
            await client.create([UserMessage(content="Answer with the one word: ready", source="user")])
    except Exception as error:  # noqa: BLE001  clients raise whatever their libraries raise
        return f"did not answer: {describe_provider_error(error)}"
    finally:
        await close(client)
    return ""


def _try_pubmed(talk: Conversation, endpoints: Endpoints, email: str) -> bool:
    from willowbark.tools.contracts.contact import contact_sources  # noqa: PLC0415  loads all sources

    identified = endpoints.model_copy(update={"email": email}) if email else endpoints
    (contact,) = asyncio.run(contact_sources(["pubmed"], identified))
    talk.tell(f"Source {contact.line}")
    return contact.outcome == "answered"
