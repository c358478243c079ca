"""The arguments of a tool as a model, the tools that are declared with one, and the consent that some of them need."""

from __future__ import annotations

import asyncio
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar, Literal, Self, TypeVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from mcp_core.json_types import Json, mapping_of
from mcp_core.json_values import to_json_value
from mcp_core.mcp_log import Redactor, tool_log
from mcp_core.quick_dataclass import dataclass
from mcp_core.schema_text import describe_arguments, explain
from mcp_core.shown_arguments import show_arguments

ToolFunction = Callable[..., Any]
Function = TypeVar("Function", bound=ToolFunction)
_EMPTY: dict[object, Json] = {list: [], dict: {}}
CONSENT_ARGUMENT = "explicit_action"
_WORD = re.compile(r"[A-Z][A-Z0-9_]*")


class ToolArguments(BaseModel):
    """Base of every tool's arguments: one field is one argument, and nothing else is accepted.

    `declare` collects tool functions while their modules are imported; a server takes them with
    `get_declared_tools` and registers each with the description that `build_tool_description` gives.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    # Modules may be imported by several threads at once; every access to these collections holds the lock.
    _lock: ClassVar[Lock] = Lock()
    _declared: ClassVar[dict[tuple[str, str], ToolFunction]] = {}
    _known: ClassVar[dict[tuple[str, str], ToolFunction]] = {}
    _turns: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()

    @staticmethod
    def declare(function: Function) -> Function:
        """Collect a tool function and return it as it is; `find_form` says what form it must have."""
        find_form(function)
        key = (function.__module__, function.__name__)
        with ToolArguments._lock:
            ToolArguments._declared[key] = ToolArguments._known[key] = function
        return function

    @staticmethod
    def redeclare(module: ModuleType) -> None:
        """Collect the tools of an imported module again, so that a second server in the process finds them."""
        with ToolArguments._lock:
            known = ToolArguments._known.items()
            ToolArguments._declared.update({key: tool for key, tool in known if key[0] == module.__name__})

    @staticmethod
    def get_declared_tools(*, package: str | None = None) -> dict[str, ToolFunction]:
        """Take the tools declared since the last call, by name; with `package`, only those of its modules."""
        with ToolArguments._lock:
            declared = ToolArguments._declared.items()
            taken = {key: tool for key, tool in declared if package is None or f"{key[0]}.".startswith(f"{package}.")}
            for key in taken:
                del ToolArguments._declared[key]
        named: dict[str, ToolFunction] = {}
        for (module, name), tool in taken.items():
            if name in named:
                tool_log.warning("Tool %s is declared twice: %s replaces %s", name, module, named[name].__module__)
            named[name] = tool
        return named

    @staticmethod
    async def take_declared_tools(*, package: str | None = None) -> dict[str, ToolFunction]:
        """Do as `get_declared_tools`; coroutines of one event loop take turns by a lock of that loop."""
        with ToolArguments._lock:
            turn = ToolArguments._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with turn:
            return ToolArguments.get_declared_tools(package=package)

    @staticmethod
    def build_tool_description(function: ToolFunction) -> str:
        """Join the function's docstring, the terms it runs under, and the list of its arguments."""
        form = find_form(function)
        notice = form.terms.notice if form.terms else ""
        parts = (inspect.getdoc(function) or "", notice, form.model.to_schema_markdown())
        return "\n\n".join(part for part in parts if part)

    @classmethod
    def to_schema_markdown(cls) -> str:
        """List the arguments, one per line, as `name` (type, required, limits, default): description."""
        made = {name: field.default_factory for name, field in cls.model_fields.items()}
        defaults = {name: _EMPTY[factory] for name, factory in made.items() if factory in _EMPTY}
        return "\n".join(describe_arguments(cls.model_json_schema(), defaults=defaults))

    @classmethod
    def parse(cls, arguments: Mapping[str, object], *, tool: str) -> Self:
        """Validate what a caller sent; raises ArgumentProblemsError with everything that is wrong."""
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            expected = cls.to_schema_markdown()
            raise explain(error, arguments, tool=tool, schema=cls.model_json_schema(), expected=expected) from None


@dataclass(frozen=True, slots=True)
class Terms:
    model: type[ToolArguments]  # with the argument for the consent
    notice: str
    question: Callable[[ToolArguments, str], str]  # given the arguments and the name of the tool


@dataclass(frozen=True, slots=True)
class ToolForm:
    model: type[ToolArguments]
    context: inspect.Parameter | None
    terms: Terms | None


def find_form(function: ToolFunction) -> ToolForm:
    """Find the model that a tool function takes first, and the parameter for the server's context, if it has one.

    Raises TypeError for any other form than `tool(args: Model)` and `tool(args: Model, ctx: Context)`.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())
    model = hints.get(parameters[0].name) if parameters else None
    if not (inspect.isclass(model) and issubclass(model, ToolArguments)) or len(parameters) > 2:
        raise TypeError(f"{function.__qualname__} must take one ToolArguments model, and at most a context after it")
    context = None
    if len(parameters) == 2:
        context = parameters[1]
        if context.name not in hints:
            raise TypeError(f"{function.__qualname__}: annotate {context.name} with the server's context type")
        context = context.replace(annotation=hints[context.name])
    terms: Terms | None = function.__dict__.get("__tool_terms__")
    return ToolForm(terms.model if terms else model, context, terms)


def requires_consent(word: str, *, effect: str, argument: str = CONSENT_ARGUMENT) -> Callable[[Function], Function]:
    """Declare a tool that needs explicit consent; used instead of `ToolArguments.declare`.

    The tool gets one more argument, which accepts nothing but `word`, such as CREATE_DOCUMENT; a model that has it
    already must ask for the same word. The description says what the tool does to the person's things (`effect`, as
    in "creates a file") and that it must not be called without their instruction.

    A model can type the word by itself. So where the server's library and the client can ask, the person is asked as
    well, each time, and their no is the end of it. Where nobody can be asked, the word is enough: it is the client's
    statement that the person said so. (A call inside a run has no such word: there it fails.)

    Raises ValueError for a word that is not in capitals, TypeError for a model whose own field differs.
    """
    if not _WORD.fullmatch(word):
        raise ValueError(f"a consent word is in capitals, such as CREATE_DOCUMENT: {word!r}")
    notice = (
        f"REQUIRES EXPLICIT USER INSTRUCTION: this tool {effect}. Call it only after the user has asked for exactly "
        f'that, and state their consent with `{argument}` set to "{word}". Never use it frivolously: not on your own '
        "initiative, not to try something out, not because it might be useful."
    )

    def declare(function: Function) -> Function:
        model = find_form(function).model
        field = model.model_fields.get(argument)
        exactly: Any = Literal[word]
        if field is None:
            consent: Any = (exactly, Field(description="States that the user explicitly asked for this action"))
            name = f"{model.__name__}WithConsent"
            model = create_model(name, __base__=model, __module__=model.__module__, **{argument: consent})
        elif field.annotation != exactly or not field.is_required():
            raise TypeError(f'{model.__name__}.{argument} must be a required Literal["{word}"]')

        def ask(arguments: ToolArguments, tool: str) -> str:
            given = Redactor().value(to_json_value(arguments.model_dump(exclude={argument})))
            lines = show_arguments(mapping_of(given), repr).text.split("\n")
            return "\n".join([f"Allow {tool}? It {effect}.", *(f"  {line}" for line in lines if line)])

        # Found there wherever the form of the tool is looked at.
        function.__dict__["__tool_terms__"] = Terms(model, notice, ask)
        return ToolArguments.declare(function)

    return declare
