"""Names for settings that other programs and documents use, and the setting that each of them means."""

from collections.abc import Iterator, Mapping
from typing import Any

from willowbark.tools.errors import UsageError
from willowbark.tools.records.registry import choose_engine, drop_web, list_offered, web_engines

SETTINGS: Mapping[str, str] = {
    "research.max_tokens": "research.limits.max_tokens",
    "research.max_cost_usd": "research.limits.max_cost_usd",
    "research.max_seconds": "research.limits.max_seconds",
    "research.max_time_seconds": "research.limits.max_seconds",
    "research.limits.max_time_seconds": "research.limits.max_seconds",
    "research.limits.max_iterations": "research.max_iterations",
    "research.limits.judge_threshold": "research.judge_threshold",
    "tools.enabled": "tools.sources",
    "tools.trials": "tools.clinicaltrials",
}
"""Settings, or sections of them, by their other names."""
SOURCES: Mapping[str, str] = {"trials": "clinicaltrials", "clinical_trials": "clinicaltrials"}
"""Sources by their other names; `web` is the search engine that `tools.web` names."""
WEB = "web"
PROVIDERS = ("openai", "anthropic", "ollama", "azure")
"""First parts of a model's name; a name with another one, such as `meta-llama/…`, lacks its provider."""


def respell(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return settings with their usual names in place of the other ones.

    Args:
        content: settings in sections, as a file or the environment holds them.
        where: what holds them, for messages.

    Raises:
        UsageError: two names of one setting have different values.
    """
    settings = _copy(content)
    for spelling, name in SETTINGS.items():
        value = _take(settings, spelling)
        if value is None:
            continue
        for path, part in _walk_leaves(value, name):
            current = _look_up(settings, path)
            if current is not None and current != part:
                own = spelling + path.removeprefix(name)
                raise UsageError(f"{where}: {own} ({part!r}) and {path} ({current!r}) are one setting; keep {path}")
            _put(settings, path, part)
    return settings


def rename(name: str) -> str:
    """Return a setting's usual dotted name.

    >>> rename("tools.enabled"), rename("tools.trials.max_results"), rename("llm.model")
    ('tools.sources', 'tools.clinicaltrials.max_results', 'llm.model')
    """
    for spelling, usual in SETTINGS.items():
        if f"{name}.".startswith(f"{spelling}."):
            return usual + name.removeprefix(spelling)
    return name


def resolve(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return settings in which provider and model are one name, and the web is the engine that searches it.

    Raises:
        UsageError: the provider is not that of the model, or there is no such engine.
    """
    settings = _copy(content)
    _join_model(settings, where)
    _choose_engine(settings, where)
    return settings


def _join_model(settings: dict[str, Any], where: str) -> None:
    provider = _take(settings, "llm.provider")
    if provider is None:
        return
    model = _look_up(settings, "llm.model")
    if model is None and provider != "baseline":
        raise UsageError(f"{where}: llm.provider: names no model; set llm.model = '{provider}/…' in its place")
    if model is None or model == provider:
        _put(settings, "llm.model", provider)
        return
    prefix = str(model).partition("/")[0]
    is_complete = prefix in (*PROVIDERS, "baseline")
    if provider == "baseline" or (is_complete and prefix != provider):
        raise UsageError(
            f"{where}: llm.provider ({provider!r}) and llm.model ({model!r}) name two models; keep llm.model alone"
        )
    _put(settings, "llm.model", model if is_complete else f"{provider}/{model}")


def _choose_engine(settings: dict[str, Any], where: str) -> None:
    """Put the web's engine among the sources, and the web's other settings into the engine's section."""
    section = _take(settings, f"tools.{WEB}")
    if section is not None and not isinstance(section, dict):
        raise UsageError(f"{where}: tools.{WEB}: should be a section with engine and max_results")
    options = dict(section or {})
    engine = options.pop("engine", None)
    if engine is not None and engine not in web_engines():
        raise UsageError(f"{where}: tools.{WEB}.engine: there is no {engine!r}; there are {', '.join(web_engines())}")
    chosen = engine or choose_engine() or web_engines()[-1]
    for name, value in options.items():
        _put(settings, f"tools.{chosen}.{name}", value)
    sources = _look_up(settings, "tools.sources")
    if isinstance(sources, list | tuple):
        names = [SOURCES.get(str(name), name) for name in sources]
        _put(settings, "tools.sources", [chosen if name == WEB else name for name in names])
    elif sources is None and engine is not None:
        _put(settings, "tools.sources", [*drop_web(list_offered()), engine])


def _copy(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) if isinstance(value, Mapping) else value for name, value in content.items()}


def _look_up(settings: Mapping[str, Any], name: str) -> Any:
    value: Any = settings
    for part in filter(None, name.split(".")):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _take(settings: dict[str, Any], name: str) -> Any:
    """Remove a setting and return its value; None if it is not there."""
    above, _, last = name.rpartition(".")
    section = _look_up(settings, above)
    return section.pop(last, None) if isinstance(section, dict) else None


def _put(settings: dict[str, Any], name: str, value: Any) -> None:
    *sections, last = name.split(".")
    section = settings
    for part in sections:
        inner = section.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        section = inner
    section[last] = value


def _walk_leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield a section's values by dotted name; a value that is no section by its own."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    for part, inner in value.items():
        yield from _walk_leaves(inner, f"{name}.{part}")
