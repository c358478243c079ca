"""The face of a registered tool towards a server library: parameters for the fields of its model, checked later."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum, auto
from typing import Annotated, Any, Protocol, get_args, get_origin

from pydantic import Discriminator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from mcp_core.json_types import Json, JsonObject, Schema, mapping_of
from mcp_core.quick_dataclass import dataclass
from mcp_core.result import Result, ToolReply
from mcp_core.tool_arguments import ToolForm, ToolFunction


class Answer(Enum):
    YES = auto()
    NO = auto()
    NOBODY = auto()  # this client has no way to ask


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The client must ask and then call again; `reply`, in the library's own type, says so."""

    reply: object


class ServerLibrary(Protocol):
    """One server library; `mcp_official` has the one for the official SDK, and FastMCP reads the same types."""

    @property
    def context_type(self) -> object:
        """Return the annotation by which a tool function asks for the context of its call."""

    def find_arguments(self, context: Any) -> Mapping[str, Json] | None:
        """Return the arguments as the client sent them, None if the library does not say."""

    def build_reply(self, reply: ToolReply) -> object:
        """Return a finished answer in the library's own type."""

    def reply_type(self, value: object) -> object:
        """Return the annotation of a function that gives such answers; `value` is the type of the value in them."""

    async def ask(self, context: Any, question: str) -> Answer | Unanswered:
        """Ask the person behind the client, yes or no."""


_SHOWN = ("title", "description", "examples", "deprecated", "json_schema_extra")


class Absent(Enum):
    """The value of an argument that the caller did not send."""

    ABSENT = auto()


def present(
    wrapper: ToolFunction,
    function: ToolFunction,
    form: ToolForm,
    context: inspect.Parameter | None,
    library: ServerLibrary | None,
) -> None:
    """Give the wrapper what server libraries look at: name, docstring, signature and annotations.

    Its parameters show the JSON Schema of the model's fields, and take any value or none: a library that checked them
    would word mistakes in its own way. The type of a Result's value is shown as the library wants it, to become the
    tool's output schema; without a library a Result is text.
    Raises TypeError for a field whose name cannot be a parameter's.
    """
    properties = form.model.model_json_schema().get("properties", {})
    parameters = [_build_parameter(name, field, properties) for name, field in form.model.model_fields.items()]
    if context is not None:
        parameters.append(context.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty))
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    returns = inspect.signature(function, eval_str=True).return_annotation
    if returns is Result or get_origin(returns) is Result:
        [value] = get_args(returns) or (object,)
        returns = inspect.Signature.empty if library is None else library.reply_type(value)
    if returns is not inspect.Signature.empty:
        annotations["return"] = returns
    wrapper.__name__, wrapper.__qualname__ = function.__name__, function.__qualname__
    wrapper.__module__, wrapper.__doc__ = function.__module__, function.__doc__
    wrapper.__annotations__ = annotations
    wrapper.__dict__["__signature__"] = inspect.Signature(parameters, return_annotation=returns)


def _build_parameter(name: str, field: FieldInfo, properties: Schema) -> inspect.Parameter:
    argument = str(field.validation_alias or field.alias or name)
    parts = field.asdict()
    annotation, metadata, attributes = parts["annotation"], parts["metadata"], parts["attributes"]
    facts = Field(**{key: attributes[key] for key in _SHOWN if key in attributes})
    choice = [Discriminator(field.discriminator)] if isinstance(field.discriminator, str) else []
    default = mapping_of(properties.get(argument)).get("default", Absent.ABSENT)
    unchecked = _Unchecked(required=field.is_required(), default=default)
    try:
        return inspect.Parameter(
            argument,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[(annotation, *metadata, *choice, facts, unchecked)],
        )
    except ValueError:
        raise TypeError(f"the field {name} cannot be an argument named {argument}") from None


class _Unchecked:
    """Lets any value of an argument through, even none, and keeps its JSON Schema."""

    def __init__(self, *, required: bool, default: Json | Absent) -> None:
        self._required = required
        self._default = default

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        unchecked = core_schema.no_info_wrap_validator_function(lambda value, _: value, handler(source))
        absent = core_schema.with_default_schema(unchecked, default_factory=lambda: Absent.ABSENT)
        # A chain of one step works as the step does, and counts as required in the JSON Schema.
        return core_schema.chain_schema([absent]) if self._required else absent

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> JsonObject:
        shown = handler(schema)
        return shown if isinstance(self._default, Absent) else {**shown, "default": self._default}
