"""Tools that change or remove what a person has: they run only with the person's explicit consent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import Field, create_model

from mcp_core.json_types import JsonObject
from mcp_core.json_values import to_json_value, write_json
from mcp_core.mcp_log import Redactor
from mcp_core.tool_arguments import Terms, ToolArguments, ToolFunction, find_form, set_terms

Function = TypeVar("Function", bound=ToolFunction)

CONSENT_ARGUMENT = "explicit_action"
_WORD = re.compile(r"[A-Z][A-Z0-9_]*")
_SHOWN = 600  # characters of the arguments in a question


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

    def declare(function: Function) -> Function:
        model = _with_consent(find_form(function).model, word, argument)

        def ask(arguments: ToolArguments, tool: str) -> str:
            return _word_question(tool, effect, arguments.model_dump(exclude={argument}))

        set_terms(function, Terms(model, _word_notice(word, effect, argument), ask))
        return ToolArguments.declare(function)

    return declare


def _with_consent(model: type[ToolArguments], word: str, argument: str) -> type[ToolArguments]:
    field = model.model_fields.get(argument)
    if field is None:
        consent: Any = (Literal[word], Field(description="States that the user explicitly asked for this action"))
        return create_model(
            f"{model.__name__}WithConsent", __base__=model, __module__=model.__module__, **{argument: consent}
        )
    if get_args(field.annotation) != (word,) or get_origin(field.annotation) is not Literal or not field.is_required():
        raise TypeError(f'{model.__name__}.{argument} must be a required Literal["{word}"]')
    return model


def _word_notice(word: str, effect: str, argument: str) -> str:
    return (
        f"REQUIRES EXPLICIT USER INSTRUCTION: this tool {effect}. Call it only after the user has asked for exactly "
        f'that, and state their consent with `{argument}` set to "{word}". Never use it frivolously: not on your own '
        "initiative, not to try something out, not because it might be useful."
    )


def _word_question(tool: str, effect: str, arguments: JsonObject) -> str:
    text = write_json(Redactor().value(to_json_value(arguments)))
    if len(text) > _SHOWN:
        text = f"{text[:_SHOWN]}... ({len(text)} characters)"
    return f"Allow {tool}? It {effect}. Arguments: {text}"
