"""Model clients by name: `baseline`, or `PROVIDER/MODEL` through AutoGen's own clients.

The providers' libraries are extras (`openai`, `anthropic`, …), imported on first use. Keys come
from the environment. https://microsoft.github.io/autogen/stable/user-guide/core-user-guide/components/model-clients.html
"""

import asyncio
import importlib
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from willowbark.tools.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from willowbark.agents.autogen import ChatCompletionClient, ModelInfo

    from .config import LLMSettings, Settings
    from .ledger import Model

BASELINE = "baseline"
READS_REQUESTS = "reads_requests"
"""Key in a ledger's record of a model: whether it took requests as data, so that a replay sends the same."""
FORMS = "baseline, openai/MODEL, anthropic/MODEL, ollama/MODEL, azure/DEPLOYMENT"
WITH_BATCHES = ("openai/", "anthropic/")
"""Prefixes of the models that have a batch interface."""
_AZURE_API_VERSION = "2024-10-21"  # newest generally available dated version; supports structured output
_ANTHROPIC_MAX_TOKENS = 8192  # a report's draft exceeds AutoGen's default of 4096
_OLLAMA_CONTEXT = 32_768  # tokens; about twice the longest prompt of a run
_NO_KEY = "none"  # most self-hosted servers need no key, but the client requires one
_FINAL = ("401 ", "402 ", "403 ", "404 ")  # statuses that a retry will not change
_UNREACHED = ("ConnectError", "ConnectionError", "ConnectionRefusedError", "UnsupportedProtocol")
_NEVER = ("quota", "balance", "billing", "does not exist", "model not found", "model_not_found")
MOST_HANGS = 2  # requests in a row that a server leaves unanswered, before it is asked no more
_MAX_RETRIES = 2  # by the provider's library, for 408, 409, 429 and 5xx
ANSWER_BYTES = 8 * 1024 * 1024  # the longest draft has 0.4 million characters
_COUNTED = ("x-stainless-raw-response", "stream")
"""Header of requests for a batch's results, which hold many answers; their reader counts each answer itself."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider, and how to build its client."""

    client: str
    """Its client's class, with the module."""
    library: str
    """A module that only the extra installs."""
    arguments: "Callable[[str, LLMSettings, Mapping[str, str]], dict[str, Any]]"
    """Its client's arguments for a model, over those that all take."""
    key: str = ""
    """The environment variable that holds its key."""

    def config(self, model: str, llm: "LLMSettings", environ: Mapping[str, str]) -> dict[str, Any]:
        """Return all arguments of its client for a model."""
        common = {"model": model, "temperature": llm.temperature, "timeout": llm.timeout_s, "max_retries": _MAX_RETRIES}
        arguments = common | self.arguments(model, llm, environ)
        return {name: value for name, value in arguments.items() if value is not None}


def model_client(name: str, settings: "Settings", environ: Mapping[str, str] = os.environ) -> "ChatCompletionClient":
    """Create a model client by name: `baseline`, `openai/gpt-4.1-mini`, `anthropic/…`, `azure/<deployment>`.

    Raises:
        UsageError: an unknown form of name, or a missing extra, key or address; one line that says what to do.
    """
    if name == BASELINE:
        client_class = importlib.import_module("willowbark.agents.baseline.client").BaselineChatCompletionClient
        return client_class()  # type: ignore[no-any-return]
    prefix, _, model = name.partition("/")
    provider = PROVIDERS.get(prefix)
    if provider is None or not model.strip() or len(model.split()) != 1:
        raise UsageError(f"there is no model {name!r}; known forms: {FORMS}, such as openai/gpt-4.1-mini")
    try:
        importlib.import_module(provider.library)
        module, _, kind = provider.client.rpartition(".")
        client_class = getattr(importlib.import_module(module), kind)
    except ImportError:
        raise MissingExtra(f"{prefix}/…", prefix) from None
    arguments = provider.config(model, settings.llm, environ)
    from willowbark.agents.asking.batches import send_through_batches  # noqa: PLC0415  agents take most of a second
    from willowbark.agents.autogen import get_http_client, patch_provider_client  # noqa: PLC0415

    try:
        client = patch_provider_client(client_class(**arguments), send_through_batches)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"model {name!r}: its client refuses these settings ({' '.join(str(error).split())})"
        ) from error
    _cap_answers(get_http_client(client), settings.llm.timeout_s)
    return client


def _cap_answers(http: Any, timeout_s: float) -> None:
    """Limit the bytes of each answer of an httpx client, and the seconds from request to last byte.

    An answer that exceeds a limit fails in the provider's library like a broken connection. Answers are requested
    uncompressed, since a few compressed bytes may expand to any number.
    """
    client_base = next(base for base in type(http).__mro__ if base.__name__ == "AsyncClient")
    library: Any = importlib.import_module(client_base.__module__.partition(".")[0])  # some version of httpx

    class CappedBody(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, inner: Any, until: float) -> None:
            self._inner = inner
            self._until = until

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received = 0
            chunks = aiter(self._inner)
            while True:
                try:
                    async with asyncio.timeout_at(self._until):
                        chunk = await anext(chunks, None)
                except TimeoutError as error:
                    raise library.ReadTimeout("the answer did not end in time") from error
                if chunk is None:
                    return
                received += len(chunk)
                if received > ANSWER_BYTES:
                    raise library.DecodingError(f"the answer is larger than {ANSWER_BYTES:,} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def start(request: Any) -> None:
        request.headers["accept-encoding"] = "identity"
        request.extensions["until"] = asyncio.get_running_loop().time() + timeout_s

    async def cap(response: Any) -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise library.DecodingError("the answer is packed, which was not asked for")
        name, value = _COUNTED
        if response.request.headers.get(name) != value or response.is_error:  # an error's body is read by the library
            response.stream = CappedBody(response.stream, response.request.extensions["until"])

    send = http.send
    hangs = 0

    async def send_in_time(request: Any, **options: Any) -> Any:
        nonlocal hangs
        if hangs >= MOST_HANGS:
            raise library.ConnectTimeout(f"not asked again after {MOST_HANGS} requests without an answer")
        try:
            async with asyncio.timeout(timeout_s):  # for the headers, too, which may come a byte at a time
                response = await send(request, **options)
        except (TimeoutError, library.TimeoutException) as error:
            hangs += 1
            raise library.ReadTimeout(f"no answer within {timeout_s:g} s") from error
        hangs = 0
        return response

    http.send = send_in_time
    http.follow_redirects = False  # another host than the configured one gets no prompt
    http.timeout = timeout_s  # between two bytes: Ollama's library would wait without end for the first
    http.event_hooks["request"].append(start)
    http.event_hooks["response"].append(cap)


def create_role_clients(
    settings: "Settings", environ: Mapping[str, str] = os.environ
) -> "dict[str, ChatCompletionClient]":
    """Create the clients of the models in `[llm.roles]`, by model name; UsageError as `model_client`."""
    role_models = settings.llm.roles.model_dump().values()
    others = dict.fromkeys(name for name in role_models if name not in (None, settings.llm.model))
    return {name: model_client(name, settings, environ) for name in others}


def find_context_limit(name: str, llm: "LLMSettings") -> int | None:
    """Return the known limit on tokens of prompt and answer together; None leaves it to the server."""
    return llm.context_tokens or (_OLLAMA_CONTEXT if name.startswith("ollama/") else None)


async def close(client: "ChatCompletionClient") -> None:
    """Close a client and its connections, which AutoGen's client for Ollama leaves open."""
    from willowbark.agents.autogen import close_connections  # noqa: PLC0415  agents take most of a second

    await client.close()
    await close_connections(client)


async def preflight(
    client: "ChatCompletionClient", name: str, *, probes: bool = False, timeout_s: float | None = None
) -> bool:
    """Ask a provider's model for one word, so that a run with an unreachable model does not start.

    Temporary failures (a busy or slow server) are left for the run to handle, and models of unknown providers are not
    asked. With `probes` the same call tests if a server that speaks OpenAI's protocol enforces a schema, where that is
    unknown; if it does, the client is set to rely on it.

    Returns:
        Whether the server was seen to enforce a schema.

    Raises:
        UsageError: the key is refused, the model unknown, the balance empty, or the address does not answer.
    """
    from willowbark.agents.asking import describe_provider_error  # noqa: PLC0415
    from willowbark.agents.autogen import UserMessage, find_openai_server  # noqa: PLC0415  agents take most of a second

    if name.partition("/")[0] not in PROVIDERS:
        return False
    looks = probes and find_openai_server(client) is not None and not client.model_info.get("structured_output")
    word = {"type": "string", "enum": ["ready"]}  # answers follow this schema only if the server enforces it
    schema = {"type": "object", "properties": {"word": word}, "required": ["word"], "additionalProperties": False}
    schema_format = {"type": "json_schema", "json_schema": {"name": "Ready", "strict": True, "schema": schema}}
    form: dict[str, Any] = {"extra_create_args": {"response_format": schema_format}} if looks else {}
    try:
        async with asyncio.timeout(timeout_s):
            answer = await client.create(
                [UserMessage(content="Answer with the one word: ready", source="user")], **form
            )
    except Exception as error:  # clients raise whatever their libraries raise
        problem = describe_provider_error(error)
        if problem.startswith(_FINAL) or any(word in problem.lower() for word in _NEVER):
            raise UsageError(f"model {name!r} cannot be asked: {problem}; or use --model {BASELINE}") from error
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
            causes.append(cause)
        if any(type(link).__name__ in _UNREACHED for link in causes):
            raise UsageError(f"model {name!r} cannot be reached: no server answers there; is it running?") from error
        return False
    try:
        holds_to_it = looks and json.loads(str(answer.content)) == {"word": "ready"}
    except ValueError:
        holds_to_it = False
    if holds_to_it:
        client.model_info["structured_output"] = True
    return holds_to_it


def describe_model(client: "ChatCompletionClient") -> "Model":
    """Describe a client's model for ledger, price list and report, for example `openai/gpt-4.1-mini`."""
    from willowbark.agents.asking import (  # noqa: PLC0415  agents take most of a second
        name_analyst,
        reads_requests,
    )

    from .ledger import Model  # noqa: PLC0415

    analyst = name_analyst(client)
    kind = type(client)
    provider = next((name for name in PROVIDERS if f".models.{name}" in kind.__module__), None)
    if any(base.__name__ == "BaselineChatCompletionClient" for base in kind.__mro__):
        name = BASELINE
    elif provider is not None:
        name = f"{'azure' if kind.__name__.startswith('Azure') else provider}/{analyst}"
    else:
        name = analyst
    return Model(name, analyst, {**client.model_info, **({READS_REQUESTS: True} if reads_requests(client) else {})})


def _configure_openai(model: str, llm: "LLMSettings", environ: Mapping[str, str]) -> dict[str, Any]:
    from willowbark.agents.autogen import find_model_info  # noqa: PLC0415  agents take most of a second

    own_server = llm.base_url is not None
    key = environ.get("OPENAI_API_KEY", "").strip() or (_NO_KEY if own_server else _read_env(environ, "OPENAI_API_KEY"))
    return {
        "api_key": key,
        "base_url": llm.base_url,
        "model_info": _describe_abilities(
            llm, structured=not own_server, model_info=None if own_server else find_model_info(model)
        ),
        _answer_limit(model): llm.max_tokens,
    }


def _configure_azure(model: str, llm: "LLMSettings", environ: Mapping[str, str]) -> dict[str, Any]:
    key = _read_env(environ, "AZURE_OPENAI_API_KEY")
    return {
        "azure_deployment": model,
        "api_key": key,
        "azure_endpoint": llm.base_url or _read_env(environ, "AZURE_OPENAI_ENDPOINT"),
        "api_version": environ.get("OPENAI_API_VERSION", "").strip() or _AZURE_API_VERSION,
        "model_info": _describe_abilities(llm, structured=False),  # a deployment's name does not reveal its model
        _answer_limit(model): llm.max_tokens,
    }


def _configure_anthropic(_: str, llm: "LLMSettings", environ: Mapping[str, str]) -> dict[str, Any]:
    return {
        "api_key": _read_env(environ, "ANTHROPIC_API_KEY"),
        "base_url": llm.base_url,
        "max_tokens": llm.max_tokens or _ANTHROPIC_MAX_TOKENS,
        "model_info": {
            **_describe_abilities(llm, structured=False),
            "structured_output": False,
            "multiple_system_messages": False,
        },
    }


def _configure_ollama(_: str, llm: "LLMSettings", environ: Mapping[str, str]) -> dict[str, Any]:
    context = llm.context_tokens or _OLLAMA_CONTEXT
    options = {"temperature": llm.temperature, "num_predict": llm.max_tokens, "num_ctx": context}
    return {
        "host": llm.base_url or environ.get("OLLAMA_HOST", "").strip() or None,
        "temperature": None,
        "max_retries": None,
        "options": {name: value for name, value in options.items() if value is not None},
        "model_info": _describe_abilities(llm, structured=True),  # the server enforces a schema for any model
    }


_MODELS = "autogen_ext.models"
PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(f"{_MODELS}.openai.OpenAIChatCompletionClient", "openai", _configure_openai, "OPENAI_API_KEY"),
    "anthropic": Provider(
        f"{_MODELS}.anthropic.AnthropicChatCompletionClient", "anthropic", _configure_anthropic, "ANTHROPIC_API_KEY"
    ),
    "ollama": Provider(f"{_MODELS}.ollama.OllamaChatCompletionClient", "ollama", _configure_ollama),
    "azure": Provider(  # its library is needed only when a team is dumped
        f"{_MODELS}.openai.AzureOpenAIChatCompletionClient", "azure.identity", _configure_azure, "AZURE_OPENAI_API_KEY"
    ),
}


def _describe_abilities(llm: "LLMSettings", *, structured: bool, model_info: "ModelInfo | None" = None) -> "ModelInfo":
    """Describe a model's abilities: the known ones, else typical ones; `structured_output` overrides both."""
    usual: ModelInfo = {
        "vision": False,
        "function_calling": True,
        "json_output": True,
        "family": "unknown",
        "structured_output": structured,
        "multiple_system_messages": True,
    }
    info = usual if model_info is None else model_info.copy()
    if llm.structured_output is not None:
        info["structured_output"] = llm.structured_output
    return info


def _answer_limit(model: str) -> str:
    """Name the token limit's argument: reasoning models take `max_completion_tokens` and refuse `max_tokens`."""
    return "max_completion_tokens" if model.startswith(("o1", "o3", "o4", "gpt-5")) else "max_tokens"


def _read_env(environ: Mapping[str, str], variable: str) -> str:
    value = environ.get(variable, "").strip()
    if not value:
        raise UsageError(f"{variable} is not set: put it into the environment, or use --model {BASELINE}")
    return value
