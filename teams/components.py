"""Load components from JSON. Each is checked before anything is imported, as anybody could edit a stored team.

`load_component` reads what AutoGen's `dump_component` writes. AutoGen's own loader imports whatever module a provider
names, and `FunctionTool` runs the source code that its config holds.
https://microsoft.github.io/autogen/stable/user-guide/core-user-guide/framework/component-config.html
"""

import importlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from willowbark.agents.autogen import ComponentLoader, ComponentModel
from willowbark.tools.enclosure import one_line
from willowbark.tools.errors import UsageError

from .config import on_this_machine

T = TypeVar("T")

NAMESPACES = ("willowbark.", "autogen_agentchat.", "autogen_core.", "autogen_ext.")
"""Namespaces that providers may come from."""
VARIABLE = "WILLOWBARK_ALLOWED_PROVIDERS"
"""Variable with more allowed providers, separated by commas: `my_package.` or `my_package.agents.MyAgent`."""
_AUTOGENS_VARIABLE = "AUTOGEN_ALLOWED_PROVIDER_NAMESPACES"  # AutoGen after 0.7.5 loads only its own and these
MAX_CHARACTERS = 2_000_000  # Willowbark's team takes about 20,000
MAX_DEPTH = 60  # Willowbark's team takes about 12

_RUN_CODE = frozenset(
    ("FunctionTool PythonCodeExecutionTool CodeExecutorAgent McpWorkbench StdioMcpToolAdapter DiskCacheStore").split()
    + "TextCanvasMemory FileSurfer MultimodalWebSurfer HttpTool".split()
)
"""Classes that run code or programs, unpickle, or fetch any address or file that a config or a model names."""
_RISKY_MODULES = tuple(
    f"autogen_ext.{name}"
    for name in (
        *("code_executors", "tools.code_execution", "tools.mcp", "tools.http", "tools.graphrag", "tools.langchain"),
        *("tools.semantic_kernel", "agents.file_surfer", "agents.web_surfer", "agents.video_surfer", "agents.openai"),
        *("agents.magentic_one", "teams.magentic_one", "memory", "experimental", "runtimes", "cache_store.diskcache"),
        *("cache_store.redis", "models.llama_cpp", "models.semantic_kernel"),
    )
)
"""Modules of AutoGen's extensions that do the same, or read files and fetch models that a config names."""
_ADDRESSES = frozenset({"base_url", "azure_endpoint", "host", "url", "endpoint", "proxy", "organization_url"})
_NAMED_BY_USER = (
    "WILLOWBARK_LLM__BASE_URL",
    "OPENAI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "ANTHROPIC_BASE_URL",
    "OLLAMA_HOST",
)
_WELL_KNOWN = {  # AutoGen's short names
    "azure_openai_chat_completion_client": "autogen_ext.models.openai.AzureOpenAIChatCompletionClient",
    "AzureOpenAIChatCompletionClient": "autogen_ext.models.openai.AzureOpenAIChatCompletionClient",
    "openai_chat_completion_client": "autogen_ext.models.openai.OpenAIChatCompletionClient",
    "OpenAIChatCompletionClient": "autogen_ext.models.openai.OpenAIChatCompletionClient",
    "OllamaChatCompletionClient": "autogen_ext.models.ollama.OllamaChatCompletionClient",
}


def load_component(
    source: str | bytes | Mapping[str, Any] | ComponentModel,
    expected: type[T],
    *,
    allowed: Collection[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> T:
    """Build a component from its JSON, after checking every component inside it.

    Args:
        source: JSON text, its parsed content, or AutoGen's model of it.
        expected: the class that the result must have, such as `autogen_agentchat.base.Team`.
        allowed: more providers: a namespace (`my_package.`), or the full name of a provider, which may then run
            code. The environment variable `WILLOWBARK_ALLOWED_PROVIDERS` does the same.
        environ: holds keys, and the addresses that the user named.

    Raises:
        UsageError: not a component, a provider that is not allowed, or a model server that the user did not name.
    """
    if isinstance(source, ComponentModel):
        source = source.model_dump()
    try:
        text = source if isinstance(source, str | bytes) else json.dumps(dict(source))
        if len(text) > MAX_CHARACTERS:
            raise UsageError(f"the component is larger than {MAX_CHARACTERS:,} characters")
        content = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"the component is not valid JSON ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise UsageError("this is not a component: a JSON object is expected")
    own = [*allowed, *(name.strip() for name in environ.get(VARIABLE, "").split(",") if name.strip())]
    providers = [_check_provider(found["provider"], own) for found in _mappings(content) if "provider" in found]
    if not providers or not isinstance(content.get("provider"), str):
        raise UsageError("this is not a component: it names no provider")
    _check_addresses(content, environ)
    for provider in dict.fromkeys(providers):
        module, _, kind = provider.rpartition(".")
        try:
            made = getattr(importlib.import_module(module), kind)
        except (ImportError, AttributeError, ValueError):
            raise UsageError(f"there is no component {_quote(provider)}") from None
        if not isinstance(made, type):
            raise UsageError(f"component {_quote(provider)} is refused: it is not a class")
        for ancestor in made.__mro__ if not _is_allowed(provider, own) else ():
            real = f"{ancestor.__module__}.{ancestor.__qualname__}"  # its defining module, which may be another
            if ancestor is made or real.rpartition(".")[2] in _RUN_CODE:
                _check_provider(real, own)
    allow_in_autogen()
    try:
        return ComponentLoader.load_component(ComponentModel.model_validate(content), expected)
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        raise UsageError(
            f"the component cannot be made: {type(error).__name__}: {one_line(str(error), 200)}"
        ) from error


def allow_in_autogen() -> None:
    """Allow Willowbark's components in AutoGen after 0.7.5, which loads only its own and those of named packages."""
    named = [name.strip() for name in os.environ.get(_AUTOGENS_VARIABLE, "").split(",") if name.strip()]
    if "willowbark" not in named:
        os.environ[_AUTOGENS_VARIABLE] = ",".join([*named, "willowbark"])


def _mappings(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting: list[tuple[Any, int]] = [(content, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise UsageError(f"the component is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            yield value
            waiting += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list):
            waiting += [(item, depth + 1) for item in value]


def _check_provider(provider: Any, own: Collection[str]) -> str:
    if not isinstance(provider, str):
        raise UsageError("a component's provider is not text")
    name = _WELL_KNOWN.get(provider, provider)
    if _is_allowed(name, own):
        return name
    module, _, kind = name.rpartition(".")
    if not name.startswith(NAMESPACES):
        raise UsageError(
            f"component {_quote(provider)} is refused: only {', '.join(NAMESPACES)} are loaded; "
            f"name it in {VARIABLE} if it is yours"
        )
    if kind in _RUN_CODE or f"{module}.".startswith(tuple(f"{risky}." for risky in _RISKY_MODULES)):
        raise UsageError(
            f"component {_quote(provider)} is refused: it can run code or reach any address; "
            f"name it in {VARIABLE} if you trust this file"
        )
    return name


def _is_allowed(name: str, own: Collection[str]) -> bool:
    return any(name == entry or (entry.endswith(".") and name.startswith(entry)) for entry in own)


def _check_addresses(content: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Refuse servers that the user did not name: a client without its own key would send them the environment's."""
    known = {environ.get(variable, "").strip().rstrip("/") for variable in _NAMED_BY_USER} - {""}
    for found in _mappings(content):
        for name in _ADDRESSES & found.keys():
            value = found[name]
            if not isinstance(value, str) or value.rstrip("/") in known:
                continue
            url = value if urlsplit(value).scheme in ("http", "https") else f"http://{value}"
            if not on_this_machine(url):
                raise UsageError(
                    f"component with {name} {_quote(value)} is refused: it would get your key; name the address in "
                    "WILLOWBARK_LLM__BASE_URL if it is yours"
                )


def _quote(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
