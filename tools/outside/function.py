"""`@tool`: a function of the user's as an evidence tool."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any, Generic, ParamSpec, Self, TypeVar, cast, overload

from autogen_core import Component
from autogen_core.tools import FunctionTool
from pydantic import BaseModel

from ..errors import SearchError, UnreadableReply, UsageError
from ..http.transport import Transport
from ..records.enclosure import new_marker, one_line
from ..records.evidence import Evidence, SearchResult
from ..search import SourceReply, Status
from ..toolbox import EvidenceTool, Questions, ToolReply
from .given import GivenOrigin
from .intake import take_in

P = ParamSpec("P")
R = TypeVar("R")
_ADDRESS = re.compile(r"\w+://\S+")  # of an error: it may hold a key
_LONGEST_ERROR = 200  # characters
NOTHING = "gave nothing that names a publication or trial"


class EvidenceFunctionConfig(BaseModel):
    """Configuration of a function's tool: where the function stands."""

    module: str
    name: str


class EvidenceFunction(EvidenceTool[BaseModel], Component[EvidenceFunctionConfig], Generic[P, R]):
    """A function whose results become records; made by `tool`, and still called as the function.

    Args:
        function: see `tool`.
        name: of the tool.
        description: for the models that choose among tools.

    Raises:
        UsageError: a parameter without a type, or one for a token.
    """

    component_type = "tool"
    component_config_schema = EvidenceFunctionConfig
    component_provider_override = "willowbark.tools.outside.function.EvidenceFunction"

    def __init__(self, function: Callable[P, R], name: str, description: str) -> None:
        self.function = function
        self._marker = new_marker()
        try:
            args = FunctionTool(cast(Callable[..., Any], function), description, name).args_type()
        except (ValueError, KeyError, NameError) as error:
            raise UsageError(f"{name}: every parameter needs a type, such as `query: str`") from error
        if "cancellation_token" in inspect.signature(function).parameters:
            raise UsageError(f"{name}: leave out cancellation_token; the function is cancelled with its call")
        super().__init__(args, ToolReply, name, description)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def _questions(self, args: BaseModel, transport: Transport) -> Questions:
        return {GivenOrigin("", self.name).source: partial(self._ask_function, args, transport)}

    def _describe(self, args: BaseModel) -> str:
        arguments = args.model_dump(mode="json", exclude_defaults=True)
        only = arguments.get("query") or (next(iter(arguments.values())) if len(arguments) == 1 else None)
        return one_line(only if isinstance(only, str) else json.dumps(arguments, ensure_ascii=False))

    async def _ask_function(self, args: BaseModel, transport: Transport) -> SourceReply:
        arguments = {name: getattr(args, name) for name in type(args).model_fields}
        source = GivenOrigin("", self.name).source
        try:
            value = await self._call(arguments)
        except SearchError:
            raise
        except Exception as error:
            words = one_line(_ADDRESS.sub("(an address)", str(error)), _LONGEST_ERROR)
            reason = f"the function {self.name} raised {type(error).__name__}{f': {words}' if words else ''}"
            raise UnreadableReply(source, reason) from error
        text, is_typed = _convert_result(value)
        intake = await take_in(text, GivenOrigin("", self.name, is_typed), self._describe(args), transport)
        if intake.reply is not None:
            return intake.reply
        is_empty = value is None or (isinstance(value, Sequence | dict) and not value)
        warnings = [] if is_empty else [*intake.problems, NOTHING]
        status = Status.EMPTY if is_empty else Status.PARTIAL
        return SourceReply(source=source, query=self._describe(args), status=status, warnings=warnings)

    async def _call(self, arguments: dict[str, Any]) -> Any:
        function = cast(Callable[..., Any], self.function)
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        value = await asyncio.to_thread(function, **arguments)
        return await value if isinstance(value, Awaitable) else value

    def _to_config(self) -> EvidenceFunctionConfig:
        module = self.function.__module__
        name = self.function.__qualname__
        if module == "__main__" or "<" in name:
            raise UsageError(f"{self.name} cannot be saved: define its function at the top of a module")
        return EvidenceFunctionConfig(module=module, name=name)

    @classmethod
    def _from_config(cls, config: EvidenceFunctionConfig) -> Self:
        """Return the tool that a module defines: nothing of the configuration is run as code."""
        function = getattr(import_module(config.module), config.name, None)
        if not isinstance(function, cls):
            raise UsageError(f"{config.module} has no function {config.name} under @tool")
        return function


def _convert_result(value: Any) -> tuple[str, bool]:
    """Return a function's result as text to be read, and whether it is `Evidence`."""
    if isinstance(value, str):
        return value, False
    if isinstance(value, SearchResult):
        value = value.evidence
    if isinstance(value, SourceReply):
        value = value.records
    if isinstance(value, ToolReply):
        value = list(chain.from_iterable(reply.records for reply in value.replies))
    items = [value] if isinstance(value, Evidence) else value
    is_typed = isinstance(items, Sequence) and all(isinstance(item, Evidence) for item in items)
    return json.dumps(items, default=_convert_object, ensure_ascii=False), is_typed


def _convert_object(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


@overload
def tool(function: Callable[P, R], /) -> EvidenceFunction[P, R]: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None
) -> Callable[[Callable[P, R]], EvidenceFunction[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, description: str | None = None
) -> Any:
    """Make an evidence tool of a function, for specialists and for AutoGen's own agents.

    The function, async or not, returns `Evidence`, a list of it, dictionaries with a number (`pmid`, `nct_id`, `doi`),
    or text that names some. Publications and trials with numbers are looked up at their sources.

    >>> @tool
    ... def clinic_notes(query: str) -> list[Evidence]:
    ...     "Notes of a clinic."
    ...     return []
    >>> clinic_notes.name, list(clinic_notes.schema["parameters"]["properties"])
    ('clinic_notes', ['query'])

    Args:
        function: its parameters have types; the tool's schema is made of them.
        name: None takes the function's.
        description: None takes the first paragraph of its docstring.

    Raises:
        UsageError: a parameter without a type.
    """

    def make(chosen: Callable[..., Any]) -> EvidenceFunction[..., Any]:
        own = name or chosen.__name__
        words = (inspect.getdoc(chosen) or own).partition("\n\n")[0]
        return EvidenceFunction(chosen, own, description or " ".join(words.split()))

    return make if function is None else make(function)
