"""Settings, from `willowbark.toml` and the environment.

The file holds `[research]`, `[research.limits]`, `[tools]`, `[tools.pubmed]` and others by source, `[llm]`, `[library]`
and `[output]`; `spellings` lists further names that settings go by. The
environment can hold every setting too, and wins: `WILLOWBARK_RESEARCH__LIMITS__MAX_SECONDS=120`. Keys come only from
the environment (`OPENAI_API_KEY` …): a file is too easily copied or committed. A model server beyond this machine
gets such a key, so only a file named explicitly can set one: the file of the current folder may have come with
somebody else's folder.
"""

import ipaddress
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import one_line
from willowbark.tools.records.registry import cards, drop_web, list_offered, searchable
from willowbark.tools.wording import nearest

from .spellings import rename, resolve, respell

FILE_NAME = "willowbark.toml"
ENV_PREFIX = "WILLOWBARK_"
_DELIMITER = "__"
_KEYS_BELONG = "keys are set in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, AZURE_OPENAI_API_KEY, NCBI_API_KEY)"
_QUOTED_CHARACTERS = 40  # of an invalid value quoted in a message


Depth = Literal["quick", "standard", "exhaustive"]
ReportWords = Literal["written", "quoted"]
DEPTHS: Mapping[Depth, int] = {"quick": 60, "standard": 300, "exhaustive": 2000}
"""Publications and trials after which a run requests no further page."""
PAGES: Mapping[Depth, int] = {"quick": 30, "standard": 50, "exhaustive": 200}
"""Records per page of a search where `max_results_per_tool` is not set: large pages take fewer requests."""
MOST_TOKENS = 200_000
"""Tokens of a run's language models unless set otherwise; two rounds over 67 records take about 90,000."""


def _read_none(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


def _expand_name(value: Any) -> Any:
    return "markdown" if value == "md" else value


def _check_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be an address such as http://127.0.0.1:8080/v1")
    if "@" in parts.netloc or parts.query:
        raise ValueError("holds a password or parameters; give the address alone, and keys in the environment")
    return value.rstrip("/")


def _check_sources(names: tuple[str, ...]) -> tuple[str, ...]:
    sources = searchable()
    for name in names:
        if name not in sources:
            keyed = ", ".join(f"{card.name} (with {card.key})" for card in cards().values() if card.needs_key)
            raise ValueError(
                f"has no source {name!r}{nearest(name, sources)}; there are {', '.join(list_offered())} and {keyed}"
            )
    return tuple(dict.fromkeys(names))


Name = Annotated[str, Field(min_length=1, max_length=200)]


class _ConfigSection(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class OrchestratorConfig(_ConfigSection):
    """Rounds, page size and timeout of searches."""

    max_iterations: int = Field(default=10, ge=1, le=20)
    """Rounds of search and judgement."""
    max_results_per_tool: int = Field(default=10, ge=1, le=50)
    """Records per page of a search; in a run where it is not set, the depth sets the page."""
    search_timeout: float = Field(default=30.0, ge=5, le=120)
    """Seconds for one search, all its attempts included."""


class LimitSettings(_ConfigSection):
    """`[research.limits]`: what a run may use; `"none"` removes a limit."""

    max_tokens: Annotated[int | None, BeforeValidator(_read_none)] = Field(default=MOST_TOKENS, gt=0)
    """Tokens of all model calls; None sets no limit. The default is none for the baseline analyst, at depth
    `exhaustive` and in screenings."""
    max_seconds: Annotated[float | None, BeforeValidator(_read_none)] = Field(default=600.0, gt=0)
    """Seconds from question to report; None sets no limit."""
    max_cost_usd: Annotated[float | None, BeforeValidator(_read_none)] = Field(default=None, gt=0)
    """US dollars of all model calls, where the model's price is known; None sets no limit."""


class ResearchSettings(OrchestratorConfig):
    """`[research]`."""

    depth: Depth = "standard"
    """How much is read: about 60, 300 or 2,000 publications and trials; less where further ones change no verdict."""
    judge_threshold: float = Field(default=0.8, ge=0, le=1)
    """The judge's confidence at which the evidence is sufficient."""
    include_rag: bool = False
    """Whether a language model that judges or writes may query the collected records with the tool `ask_records`."""
    look_up_ahead: bool = True
    """Whether drug databases are asked about the first candidates while the next round searches. A run with hooks does
    not, since these may refuse the call that would ask."""
    approve: bool = False
    """Whether a person is asked which candidates the report should cover, as with `ask --approve`."""
    approval_default: Literal["all", "none"] = "all"
    """Default without an answer: all candidates, or none."""
    approval_timeout_s: float = Field(default=300.0, gt=0, le=86_400)
    """Seconds to wait for an answer; they count towards no other limit."""
    limits: LimitSettings = Field(default_factory=LimitSettings)

    @property
    def page_size(self) -> int:
        """Records per page: of `max_results_per_tool`, if set, at most 30 in a quick run, and four times as many in an
        exhaustive one; else 30, 50 or 200, by depth."""
        if "max_results_per_tool" not in self.model_fields_set:
            return PAGES[self.depth]
        most = self.max_results_per_tool
        return {"quick": min(most, 30), "standard": most, "exhaustive": 4 * most}[self.depth]

    def token_limit(self, *, is_baseline: bool) -> int | None:
        """Return the limit of tokens: the one set, else the default for language models; None for none."""
        if "max_tokens" in self.limits.model_fields_set:
            return self.limits.max_tokens
        return None if is_baseline or self.depth == "exhaustive" else self.limits.max_tokens


class SourceSettings(_ConfigSection):
    """`[tools.NAME]`: one source, such as `[tools.europepmc]`."""

    max_results: int | None = Field(default=None, ge=1, le=200)
    """Records per page of a search; None takes the run's."""
    rate_limit: float | None = Field(default=None, gt=0, le=100)
    """Requests per second, at most the source's own limit; None takes that."""


class PubMedSettings(SourceSettings):
    """`[tools.pubmed]`."""

    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")] | None = None
    """E-mail address for NCBI; None sends none."""


class ToolSettings(_ConfigSection):
    """`[tools]`, with a section for each source that has settings of its own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, SourceSettings]

    sources: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_check_sources)] = Field(
        default_factory=list_offered
    )
    """The sources to search: all that need no key, and the web by the first engine that can be asked: `brave` with
    `BRAVE_API_KEY`, `serpapi` with `SERPAPI_API_KEY`, `duckduckgo` where the package `ddgs` is installed. The web is
    left out where a library answers."""
    pubmed: PubMedSettings = Field(default_factory=PubMedSettings)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, content: Any) -> Any:
        names = content if isinstance(content, Mapping) else {}
        for name in names:
            if name not in cls.model_fields and name not in searchable():
                usual = (*cls.model_fields, *searchable())
                raise ValueError(f"there is no setting or source {name!r}{nearest(name, usual)}")
        return content

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        for name in searchable():
            limit = self.of(name).rate_limit
            card = cards()[name]
            most = max(card.per_second, card.per_second_with_key or 0, card.per_second_with_email or 0)
            if limit is not None and limit > most:
                raise ValueError(f"{name}.rate_limit: {describe_excess(name, limit)}")
        return self

    def of(self, source: str) -> SourceSettings:
        """Return a source's own settings."""
        if source == "pubmed":
            return self.pubmed
        return self.__pydantic_extra__.get(source) or SourceSettings()

    @property
    def page_sizes(self) -> dict[str, int]:
        """Records per page of the sources for which it is set."""
        sizes = {name: self.of(name).max_results for name in searchable()}
        return {name: size for name, size in sizes.items() if size is not None}


class Price(_ConfigSection):
    """Price of a model, in US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class RoleSettings(_ConfigSection):
    """`[llm.roles]`: models for roles other than `llm.model`; a cheaper model may read, a stronger one judge."""

    reader: Name | None = None
    """Reads the publications; uses most of a run's tokens."""
    specialist: Name | None = None
    """Chooses what to search for."""
    judge: Name | None = None
    report: Name | None = None
    """Writes the answer, or chooses the quotes."""
    checker: Name | None = None
    """Compares written sentences with the passages that they cite; None asks the model that wrote."""

    def of(self, agent: str) -> str | None:
        """Return the model of an agent, by its name in accounts; None means `llm.model`."""
        role = "specialist"
        if agent.startswith("reading"):  # alone, in batches, whole full texts
            role = "reader"
        elif agent in ("judge", "report"):
            role = agent
        elif agent == "checker":
            return self.checker or self.report
        model: str | None = getattr(self, role)
        return model


class LLMSettings(_ConfigSection):
    """`[llm]`: who reads the evidence."""

    model: Name = "baseline"
    """`baseline`, or `openai/…`, `anthropic/…`, `ollama/…`, `azure/…`."""
    roles: RoleSettings = Field(default_factory=RoleSettings)
    """Other models for some roles; `--model` overrides them."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """None leaves it to the model; some refuse any value."""
    max_tokens: int | None = Field(default=None, ge=256)
    """Tokens of one answer; None uses the provider's default."""
    timeout_s: float = Field(default=120.0, gt=0, le=3600)
    """Seconds for one answer."""
    turn_timeout_s: float = Field(default=180.0, gt=0, le=7200)
    """Seconds for a specialist's turn: all its searches, answers and its reflection."""
    context_tokens: int | None = Field(default=None, ge=2048)
    """Tokens of a prompt and its answer together; longer prompts are split. None relies on the server to refuse them;
    of Ollama, which truncates prompts silently, so many are requested (`num_ctx`), 32,768 by default."""
    batch: bool = False
    """Whether publications are read through the provider's batch interface (OpenAI, Anthropic): half the price, within
    minutes or a day."""
    economy: bool = False
    """Whether a model is shown only the results and conclusions of abstracts, for fewer tokens."""
    fallback: bool = False
    """Whether a report counts as complete if the baseline analyst wrote it because the model failed."""
    base_url: Annotated[str, AfterValidator(_check_address)] | None = None
    """Another server that speaks the provider's protocol; None uses the provider's own."""
    structured_output: bool | None = None
    """Whether the server enforces a JSON schema; None goes by the provider and tests another `base_url` by one call."""
    prices: dict[str, Price] = {}
    """By model name, overriding the built-in list; `"openai/…" = { input = 2.0, output = 8.0 }`."""


class ReportSettings(_ConfigSection):
    """`[report]`: how the report is written."""

    words: ReportWords = "written"
    """With a language model: `written` has it answer in its own words, each sentence cited and checked; `quoted` prints
    no word of a model but what it quotes. The baseline analyst quotes."""


class LibrarySettings(_ConfigSection):
    """`[library]`."""

    path: str | None = None
    """A local library to search instead of the sources, without network: a folder of records, or `bundled`."""
    digest: str | None = None
    """Digest of the content the library must still have, as runs record it; None accepts any content."""


class OutputSettings(_ConfigSection):
    """`[output]`."""

    directory: Path = Path("runs")
    """Folder for run folders."""
    format: Annotated[Literal["markdown", "html", "json"], BeforeValidator(_expand_name)] = "markdown"
    """What a run writes beside `report.json`: `report.md` with its appendix, `report.html`, or nothing; with `json` it
    is printed too. `export` makes the other formats."""
    include_citations: bool = True
    """Whether the written report has numbered references; `report.json` always has them."""
    include_methodology: bool = True
    """Whether the written report has its methods, with searches and counts; `report.json` always has them."""


class Settings(_ConfigSection):
    """All of `willowbark.toml` and the environment."""

    research: ResearchSettings = Field(default_factory=ResearchSettings)
    tools: ToolSettings = Field(default_factory=lambda: ToolSettings.model_validate({}))
    llm: LLMSettings = Field(default_factory=LLMSettings)
    library: LibrarySettings = Field(default_factory=LibrarySettings)
    report: ReportSettings = Field(default_factory=ReportSettings)
    output: OutputSettings = Field(default_factory=OutputSettings)

    @property
    def searched_sources(self) -> tuple[str, ...]:
        """The sources that a run searches: those of `tools.sources`, without the web where a library answers."""
        return self.tools.sources if self.library.path is None else drop_web(self.tools.sources)

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Read the file and the environment.

        Args:
            path: the file; None reads `willowbark.toml` in the current folder, if it exists.

        Raises:
            UsageError: an unreadable file, or an invalid setting, named in one line. A file that `path` does not name
                cannot send keys to a server beyond this machine.
        """
        file = path or Path(FILE_NAME)
        variables = _read_environment()
        content = _read(file) if path is not None or os.path.lexists(file) else {}
        own = respell(_change_sections({}, variables), "environment")
        settings = cls.restored(_merge_values(respell(content, str(file)), own), str(file), variables)
        address = settings.llm.base_url
        is_from_file = "base_url" not in own.get("llm", {})
        if path is None and address and is_from_file and not is_on_this_machine(address):
            variable = _name_variable("llm.base_url")
            raise UsageError(
                f"{file}: llm.base_url: a server beyond this machine would get your key; set {variable} in the "
                f"environment, or name the file with --config {file} if you trust it"
            )
        return settings

    @classmethod
    def restored(
        cls, content: Mapping[str, Any], where: str = "the run's settings", variables: Iterable[str] = ()
    ) -> Self:
        """Validate dumped settings; UsageError for an invalid one names `where`, or the variable that set it."""
        usual = resolve(respell(content, where), where)
        try:
            return cls.model_validate(usual)
        except ValidationError as error:
            problems = error.errors(include_url=False)
        first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
        name = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
        set_by = next((variable for variable in variables if f"{rename(variable)}.".startswith(f"{name}.")), None)
        place = f"{where}: {name}" if set_by is None else f"environment: {_name_variable(set_by)}"
        if first["type"] == "extra_forbidden":
            pairs = product(searchable(), SourceSettings.model_fields)
            of_sources = [f"tools.{source}.{field}" for source, field in pairs]
            message = f"no such setting{nearest(name, [*_list_names(cls().model_dump()), *of_sources])}; {_KEYS_BELONG}"
        else:
            message = format_problem(first)
            excerpt = repr(first["input"])[:_QUOTED_CHARACTERS]
            message += f", not {excerpt}" if message.startswith("should") else ""
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UsageError(f"{place}: {one_line(message)}{more}")

    def overridden(self, changes: Mapping[str, Any]) -> Self:
        """Return these settings with some of them changed.

        Args:
            changes: values by dotted name, such as `{"research.max_iterations": 3}`; None changes nothing.

        Raises:
            UsageError: no such setting, or an invalid value.
        """
        usual = {rename(name): value for name, value in changes.items() if value is not None}
        return self.restored(_change_sections(self.model_dump(exclude_unset=True), usual), "options")

    def to_store(self) -> dict[str, Any]:
        """Return the settings as JSON-safe data, from which `restored` makes the same ones in a later version.

        The page size stays unset where the depth set it.
        """
        content = self.model_dump(mode="json")
        if "max_results_per_tool" not in self.research.model_fields_set:
            del content["research"]["max_results_per_tool"]
        return content


def describe_excess(source: str, limit: float) -> str:
    """Say that a rate limit is above the source's own, and which key raises that."""
    card = cards()[source]
    own = f"{card.per_second:g} requests a second"
    if card.per_second_with_key is not None:
        own += f", or {card.per_second_with_key:g} with {card.key}"
    if card.per_second_with_email is not None:
        own += f", or {card.per_second_with_email:g} with NCBI_EMAIL"
    return f"{limit:g} is above the limit of {card.title} itself, {own}; set at most that, or leave it out"


def format_problem(problem: Mapping[str, Any]) -> str:
    """Return pydantic's message about an invalid value, worded to follow the value's name.

    >>> format_problem({"msg": "Input should be a valid integer"})
    'should be a valid integer'
    """
    return str(problem["msg"]).removeprefix("Value error, ").removeprefix("Input ")


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_bytes().decode())
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); name another file with --config") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, or no TOML
        raise UsageError(f"{file}: is not valid TOML: {one_line(str(error))}; correct that line") from None


def _read_environment() -> dict[str, Any]:
    """Return the settings that variables hold, by dotted name; lists and tables are written as JSON."""
    settings: dict[str, Any] = {}
    for variable, value in sorted(os.environ.items()):  # a section comes before what it holds
        name = variable.upper().removeprefix(ENV_PREFIX).lower()
        is_setting = _DELIMITER in name or name.partition("_")[0] in Settings.model_fields
        if variable.upper().startswith(ENV_PREFIX) and is_setting and value:
            try:
                content = json.loads(value) if value.startswith(("[", "{")) else value
            except ValueError:
                content = value
            settings[name.replace(_DELIMITER, ".")] = content
    return settings


def _name_variable(name: str) -> str:
    return ENV_PREFIX + name.replace(".", _DELIMITER).upper()


def _change_sections(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with values by dotted name put into their sections."""
    changed = dict(content)
    for name, value in changes.items():
        for section in reversed(name.split(".")):
            value = {section: value}  # noqa: PLW2901
        changed = _merge_values(changed, value)
    return changed


def _merge_values(content: Any, changes: Any) -> Any:
    if not isinstance(changes, Mapping):
        return changes
    own = content if isinstance(content, Mapping) else {}
    return {**own, **{name: _merge_values(own.get(name), value) for name, value in changes.items()}}


def _list_names(content: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in content.items():
        yield from _list_names(value, f"{above}{name}.") if isinstance(value, dict) and value else (above + name,)


def is_on_this_machine(address: str) -> bool:
    """Check whether an address is a loopback one; names other than localhost are not looked up.

    >>> is_on_this_machine("http://127.0.0.1:8080/v1"), is_on_this_machine("https://api.example.org")
    (True, False)
    """
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
