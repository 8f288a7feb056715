"""Load components from JSON. Each is checked before anything is imported, as anybody could edit a stored team.

`load_component` reads what AutoGen's `dump_component` writes. AutoGen's own loader imports whatever module a provider
names, and `FunctionTool` runs the source code that its config holds.
https://microsoft.github.io/autogen/stable/user-guide/core-user-guide/framework/component-config.html
"""

import importlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from willowbark.agents.autogen import WELL_KNOWN_PROVIDERS, ComponentLoader, ComponentModel
from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import one_line

from .config import is_on_this_machine

T = TypeVar("T")

VARIABLE = "WILLOWBARK_ALLOWED_PROVIDERS"
"""Variable with more allowed providers, separated by commas: `my_package.` or `my_package.agents.MyAgent`."""

_HARMLESS = re.compile(
    r"""willowbark(\.\w+)+
    | autogen_agentchat\.( agents\.(AssistantAgent|MessageFilterAgent|SocietyOfMindAgent|UserProxyAgent)
        | base\.\w+TerminationCondition | conditions\.\w+Termination | messages\.StructuredMessageFactory
        | teams\.\w+ | tools\.(Agent|Team)Tool )
    | autogen_core\.(InMemoryStore | memory\.ListMemory | model_context\.\w+Context | tools\.Static(Stream)?Workbench)
    | autogen_ext\.( auth\.azure\.AzureTokenProvider | models\.cache\.ChatCompletionCache
        | models\.(anthropic|azure|ollama|openai|replay)\.\w+ChatCompletionClient )""",
    re.VERBOSE | re.ASCII,
)
"""Components that neither run code or programs, nor unpickle, nor fetch an address or file that a config names."""
_OURS = "willowbark."
_LONGEST = 1_000_000  # characters or bytes of JSON; a team of ours has some 20,000
_ADDRESSES = frozenset({"base_url", "azure_endpoint", "host", "url", "endpoint", "proxy", "organization_url"})
_ADDRESS_VARIABLES = (
    "WILLOWBARK_LLM__BASE_URL",
    "OPENAI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "ANTHROPIC_BASE_URL",
    "OLLAMA_HOST",
)


def load_component(
    source: str | bytes | Mapping[str, Any] | ComponentModel,
    expected: type[T],
    *,
    environ: Mapping[str, str] = os.environ,
) -> T:
    """Build a component from its JSON, after checking every component inside it.

    Args:
        source: JSON text, its parsed content, or AutoGen's model of it.
        expected: the class that the result must have, such as `autogen_agentchat.base.Team`.
        environ: holds keys, the addresses that the user named, and in `WILLOWBARK_ALLOWED_PROVIDERS` more providers:
            namespaces (`my_package.`) or full names, which may then run code.

    Raises:
        UsageError: not a component or far too long, a provider that is not allowed, or a model server that the user
            did not name.
    """
    try:
        if isinstance(source, str | bytes) and len(source) > _LONGEST:
            raise UsageError(f"the component is larger than {_LONGEST:,} characters: no team is")
        content = json.loads(source) if isinstance(source, str | bytes) else source
        model = ComponentModel.model_validate(content)
        content = model.model_dump()
        allowed = [name.strip() for name in environ.get(VARIABLE, "").split(",") if name.strip()]
        providers = {
            _check_provider(mapping["provider"], allowed)
            for mapping in _walk_mappings(content)
            if "provider" in mapping
        }
        _check_addresses(content, environ)
        for provider in providers:
            component_class = _find_class(provider)
            if not _is_own(component_class, provider) and not _is_allowed(provider, allowed):
                raise UsageError(f"component {_quote(provider)} is refused: it is not a class of that module")
        return ComponentLoader.load_component(model, expected)
    except (ImportError, TypeError, ValueError, AttributeError, NotImplementedError, RecursionError) as error:
        reason = one_line(str(error), 200)
        raise UsageError(f"the component cannot be loaded: {type(error).__name__}: {reason}") from error


def _find_class(provider: str) -> Any:
    """Return what a provider names; UsageError for a name that this version of Willowbark does not have any more."""
    module, _, name = provider.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        is_missing = not isinstance(error, ImportError) or error.name in (None, module)
        if not provider.startswith(_OURS) or not is_missing:
            raise
        raise UsageError(
            f"component {_quote(provider)} is not part of this version of Willowbark; export the team again "
            "(`willowbark studio export`), or build it anew in Python and dump that"
        ) from None


def _is_own(component_class: Any, provider: str) -> bool:
    """Whether a class is its module's own: a module may hold what it imported from elsewhere.

    Willowbark's modules may give each other's classes, under the addresses that these had before.
    """
    if not isinstance(component_class, type):
        return False
    module = _OURS if provider.startswith(_OURS) else f"{provider.rpartition('.')[0]}."
    return f"{component_class.__module__}.".startswith(module)


def _walk_mappings(content: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a parsed JSON text."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _check_provider(provider: Any, allowed: Collection[str]) -> str:
    """Return a provider's full name; UsageError if it is neither known to be harmless nor allowed by the user."""
    name = WELL_KNOWN_PROVIDERS.get(str(provider), str(provider))
    if not _is_allowed(name, allowed) and not _HARMLESS.fullmatch(name):
        raise UsageError(
            f"component {_quote(name)} is refused: it is not of Willowbark, and may run code or reach any address; "
            f"name it in {VARIABLE} if it is yours or you trust this file"
        )
    return name


def _is_allowed(name: str, allowed: Collection[str]) -> bool:
    return any(name == entry or (entry.endswith(".") and name.startswith(entry)) for entry in allowed)


def _check_addresses(content: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Refuse servers that the user did not name: a client without its own key would send them the environment's."""
    own_addresses = {environ.get(variable, "").strip().rstrip("/") for variable in _ADDRESS_VARIABLES} - {""}
    for mapping in _walk_mappings(content):
        for name in _ADDRESSES & mapping.keys():
            value = mapping[name]
            if not isinstance(value, str) or value.rstrip("/") in own_addresses:
                continue
            url = value if urlsplit(value).scheme in ("http", "https") else f"http://{value}"
            if not is_on_this_machine(url):
                raise UsageError(
                    f"component with {name} {_quote(value)} is refused: it would get your key; name the address in "
                    "WILLOWBARK_LLM__BASE_URL if it is yours"
                )


def _quote(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
