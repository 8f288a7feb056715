"""All options of one run, in one model, for Python, command line, notebook and Studio."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.wording import nearest

from ..config import Depth, LibrarySettings, ReportWords, RoleSettings, Settings, describe_excess, format_problem
from ..events import AgentEvent, Veto
from ..model_clients import BASELINE

if TYPE_CHECKING:
    from willowbark.agents.approval import Approve
    from willowbark.agents.approver import ApproverAgent
    from willowbark.agents.autogen import CancellationToken, ChatCompletionClient, InputFuncType
    from willowbark.tools.http.transport import Recorder
    from willowbark.tools.library import Library

    from ..ledger import Ledger, Run

    ApproveOption = Approve | ApproverAgent
else:  # AutoGen and agents take most of a second: bad input and a run's start are reported before they load
    ApproveOption = CancellationToken = ChatCompletionClient = Ledger = Recorder = Any


_CHOSEN_ANEW = frozenset(
    {
        "approve",
        "model_client",
        "endpoints",
        "recorder",
        "cancellation_token",
        "hooks",
        "raise_unreachable",
        "shown",
        "studies",
        "corrections",
    }
)
"""Options that can be chosen again when a run is resumed; it keeps the others from its start."""


def _override(setting: str) -> Any:
    """Declare an option that overrides a setting, by its dotted name; None leaves the setting as it is."""
    return Field(default=None, json_schema_extra={"over": setting})


HookAnswer = Mapping[str, Any] | Veto | None
"""To `searching`: other arguments for the call, a refusal, or None; to other events None."""
Hook = Callable[[AgentEvent], Awaitable[HookAnswer]]


class Shown(BaseModel, frozen=True, extra="forbid"):
    """Display options of a run."""

    as_json: bool = False
    """Whether the report is printed as JSON."""
    out: Path | None = None
    """Folder for run folders; None takes the settings'."""
    full: bool = False
    """Whether a terminal shows the whole report, not its summary and the table of candidates."""
    quiet: bool = False
    """Whether progress is hidden."""
    trace: Path | None = None
    """File for OpenTelemetry spans; None writes none."""
    verbosity: int = Field(default=0, ge=0)
    """0 logs nothing, 1 events, 2 details."""
    log_json: bool = False
    """Whether log lines are JSON."""


class RunOptions(BaseModel, frozen=True, extra="forbid", arbitrary_types_allowed=True):
    """All options of one run; those left out follow `[llm]`, `[research]` and `[tools]`."""

    question: str | None = None
    """1 to 2,000 characters; None if it comes from the ledger or from Studio's user."""
    settings: Settings | Path | None = None
    """Settings, or a file of them; None reads `willowbark.toml` and the environment."""
    model: str | None = _override("llm.model")
    """`baseline`, `openai/MODEL`, …, for all `llm.roles`."""
    batch: bool | None = _override("llm.batch")
    """Whether publications are read through the provider's batch interface."""
    economy: bool | None = _override("llm.economy")
    """Whether a model is shown only the results and conclusions of abstracts, for fewer tokens."""
    fallback: bool | None = _override("llm.fallback")
    """Whether a report counts as complete if the baseline analyst wrote it because the model failed."""
    max_iterations: int | None = _override("research.max_iterations")
    """Rounds, 1 to 20."""
    depth: Depth | None = _override("research.depth")
    """How much is read: `quick`, `standard` or `exhaustive`."""
    max_results: int | None = _override("research.max_results_per_tool")
    """Records per page of a search, 1 to 50; None takes the settings', or 30, 50 or 200 by depth."""
    sources: Sequence[str] | None = _override("tools.sources")
    """Names of the sources to search."""
    include_rag: bool | None = _override("research.include_rag")
    """Whether judge and report agent may query the collected records."""
    words: ReportWords | None = _override("report.words")
    """`written` has a language model answer in its own words, each sentence checked; `quoted` prints only quotes."""
    max_tokens: int | None = _override("research.limits.max_tokens")
    """Tokens of all model calls; None takes the settings', by default 200,000 with a language model."""
    max_seconds: float | None = _override("research.limits.max_seconds")
    """Seconds from question to report."""
    max_cost_usd: float | None = _override("research.limits.max_cost_usd")
    """US dollars of all model calls, where the model's price is known."""
    approve: ApproveOption | bool | None = None
    """Who chooses the candidates that the report covers, before it is written: a function that takes the typed request,
    or AutoGen's agent for a person. True asks the user of the terminal, page or notebook; in Python the default of the
    settings applies, and the report says so. None and False follow the settings."""
    ledger: Ledger | Path | None = None
    """Keeps the run, so that it can be resumed and replayed; a path is opened for this run. None keeps nothing."""
    studies: Path | None = None
    """Store of studies that the run takes readings from and gives them to; None takes `studies.db` beside the ledger,
    or none without a ledger's file. One beside the library is taken from, too."""
    corrections: Path | None = None
    """File of what people said of records, which counts before every reader; None takes `corrections.jsonl` of the
    workspace, or none without a ledger's file. A resumed run keeps what it took at its start."""
    run_id: str | None = None
    """The run's id in the ledger; None generates one."""
    fresh: bool = False
    """Ignore cached replies and query the sources again."""
    model_client: ChatCompletionClient | None = Field(default=None, repr=False)
    """The model itself, left open; None takes the one that the settings name."""
    endpoints: Endpoints | None = Field(default=None, repr=False)
    """Where the sources are; None takes the public ones, or the library that is set."""
    offline: bool = False
    """Search the bundled library, without network: `library="bundled"`."""
    library: str | Path | None = None
    """Search a local library instead of the sources, without network: a folder of records, or `bundled`. Overrides
    `library.path` of the settings; `endpoints` overrides both."""
    recorder: Recorder | None = None
    """Receives every exchange with a source."""
    cancellation_token: CancellationToken | None = None
    """Stops the run, which still reports what it found so far."""
    hooks: Sequence[Hook] = ()
    """Async functions that receive every event of the run. Before a call of one of Willowbark's tools they may return
    other arguments or a `Veto`; one that fails or hangs is reported."""
    raise_unreachable: bool = True
    """Whether `research` raises `SourcesUnreachable` if no source answered; False returns a report that says so."""
    shown: Shown = Shown()
    """How command line and notebook show it."""

    @field_validator("model_client")
    @classmethod
    def _check_client(cls, value: object) -> object:
        if value is not None and not hasattr(value, "create"):  # AutoGen is loaded later
            raise PydanticCustomError("is_instance_of", "should be an instance of ChatCompletionClient")
        return value

    @classmethod
    def of(cls, asked: "str | RunOptions", choices: Mapping[str, Any]) -> Self:
        """Build options from a question or other options, and choices; UsageError names an invalid one."""
        fields = (
            {"question": asked} if isinstance(asked, str) else {n: getattr(asked, n) for n in asked.model_fields_set}
        )
        try:
            return cls(**{**fields, **choices})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = ".".join(str(part) for part in first["loc"][:1])
            problem = f"there is no such option{nearest(name, cls.model_fields)}"
            raise UsageError(
                f"{name}: {problem if first['type'] == 'extra_forbidden' else format_problem(first)}"
            ) from None

    @classmethod
    def resuming(cls, choices: Mapping[str, Any]) -> Self:
        """Build the options of a resumed run; UsageError names an invalid one, or one kept from the run's start."""
        for name in choices:
            if name in cls.model_fields and name not in _CHOSEN_ANEW:
                raise UsageError(f"{name}: a resumed run keeps what it was started with")
        return cls.of(cls(), choices)

    def chosen(self) -> Settings:
        """Return the settings with these options applied; UsageError for an invalid file or value."""
        settings = self.settings if isinstance(self.settings, Settings) else Settings.load(self.settings)
        changes: dict[str, Any] = {
            str(field.json_schema_extra["over"]): getattr(self, name)
            for name, field in type(self).model_fields.items()
            if isinstance(field.json_schema_extra, dict)
        }
        changes |= {
            "llm.roles": None if self.model is None else RoleSettings().model_dump(),
            "output.directory": self.shown.out,
            "library.path": str(self.library) if self.library else "bundled" if self.offline else None,
            "research.approve": True if self.approve else None,
        }
        chosen = settings.overridden(changes)
        limits = chosen.research.limits
        if chosen.llm.batch and limits.max_seconds == type(limits).model_fields["max_seconds"].default:
            return chosen.overridden({"research.limits.max_seconds": "none"})  # a batch may take a day
        return chosen

    def check_question(self, settings: Settings) -> str:
        """Return the trimmed question, or UsageError; the baseline analyst understands fewer than language models."""
        from willowbark.tools.questions import check_question, validate_question  # noqa: PLC0415

        check = check_question if settings.llm.model == BASELINE else validate_question
        return check(self.question or "")

    def open_endpoints(self, settings: Settings, tell: Callable[[str], None] = lambda _: None) -> Endpoints:
        """Return the sources' endpoints; `tell` receives a line before a large library is indexed.

        Raises:
            UsageError: a source lacks its key, or the library is not as expected.
        """
        if self.endpoints is not None:
            return self.endpoints
        if settings.library.path is not None:
            return Endpoints(library=open_settings_library(settings.library, tell))
        endpoints = Endpoints.public()
        endpoints.require(settings.tools.sources)
        return _apply_limits(endpoints, settings)


def _apply_limits(endpoints: Endpoints, settings: Settings) -> Endpoints:
    """Apply the contact address and the rate limits of the settings; UsageError for a limit above the source's."""
    by_source = dict(endpoints.by_source)
    for name, endpoint in endpoints.by_source.items():
        limit = settings.tools.of(name).rate_limit
        if limit is None:
            continue
        if endpoint.per_second is not None and limit > endpoint.per_second:
            raise UsageError(f"tools.{name}.rate_limit: {describe_excess(name, limit)}")
        by_source[name] = endpoint.model_copy(update={"per_second": limit})
    email = settings.tools.pubmed.email or endpoints.email
    return endpoints.model_copy(update={"by_source": by_source, "email": email})


def restore_endpoints(run: "Run", settings: Settings) -> Endpoints:
    """Return where a run's sources were, for a journal that answers in their place: nothing is sent."""
    if settings.library.path is not None:
        return Endpoints(library=open_settings_library(settings.library))
    email = None if run.sandboxed else settings.tools.pubmed.email
    return Endpoints.public({}).model_copy(update={"is_public": not run.sandboxed, "email": email})


def open_settings_library(settings: LibrarySettings, tell: Callable[[str], None] = lambda _: None) -> "Library":
    """Open the library that settings name; UsageError if it cannot be read, or holds other records than they say."""
    from willowbark.tools.library import open_library  # noqa: PLC0415  online runs need none

    library = open_library(settings.path or "bundled", tell)
    if settings.digest not in (None, library.contents.digest):
        raise UsageError(f"the library {library.path} no longer holds the records that it held for this run")
    return library


def create_approver(
    approve: ApproveOption | bool | None,
    settings: Settings,
    via: str | None = None,
    input_func: "InputFuncType | None" = None,
) -> "ApproverAgent | None":
    """Create the agent that asks a person, as the settings say; None if they ask nobody.

    Args:
        approve: who is asked; with `via` it is a person. None, True and False name nobody.
        settings: whether to ask, how long to wait, and the default without an answer.
        via: the report's name for how they are asked; None derives it from `approve`.
        input_func: asks if `approve` names nobody; takes a prompt and returns what a person typed.
    """
    research = settings.research
    if not research.approve:
        return None
    from willowbark.agents.approver import ApproverAgent  # noqa: PLC0415

    if isinstance(approve, ApproverAgent):
        return approve
    who: dict[str, Any] = {"nobody": "nobody was there to ask"}
    if callable(approve) or input_func is not None:
        who = {"approve": approve if callable(approve) else None, "input_func": input_func, "via": via}
    return ApproverAgent(default=research.approval_default, timeout_s=research.approval_timeout_s, **who)
