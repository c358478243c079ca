"""Registration of tools with any MCP server: final names, a flat input schema, and what happens around a call."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NoReturn, Protocol

from mcp_core.facts_error import FactsError
from mcp_core.flat_signature import Absent, Answer, ServerLibrary, Unanswered, present
from mcp_core.json_values import describe
from mcp_core.line_log import TRACE
from mcp_core.mcp_log import Redactor, tool_log
from mcp_core.quick_dataclass import replace
from mcp_core.result import Result, ToolReply, text_reply, with_final_names
from mcp_core.schema_text import ArgumentProblemsError
from mcp_core.tool_arguments import Function, ToolArguments, ToolFunction, find_form


class RegisteredTool:
    """A tool function under its final name: checks arguments, asks for consent, logs, and words the answer."""

    def __init__(self, name: str, function: ToolFunction, server: ExtMcpToolDecorator) -> None:
        self._name = name
        self._names = server.names
        self._function = function
        self._form = find_form(function)
        self._library = library = server.library
        self._redactor = server.redactor
        # The parameter by which the library hands us the context: the tool's own, or one that we add.
        self._context = self._form.context
        if self._context is None and library is not None:
            added = "context"
            while added in self._form.model.model_fields:
                added += "_"
            kind = inspect.Parameter.KEYWORD_ONLY
            self._context = inspect.Parameter(added, kind, annotation=library.context_type)

    def build_wrapper(self) -> ToolFunction:
        """Build the function that the server gets: as async as the tool is, or as asking a person is."""
        if inspect.iscoroutinefunction(self._function):
            wrapper = self._build_async_wrapper(self._function, success_level=TRACE)
        elif self._form.terms is not None and self._library is not None:
            # Libraries put plain functions on a thread, and asking is async; so this one is put there by us.
            wrapper = self._build_async_wrapper(partial(asyncio.to_thread, self._function), success_level=logging.DEBUG)
        else:

            def wrapper(**values: object) -> object:
                with self._logged():
                    try:
                        arguments, context = self._bind(values)
                    except _AnsweredError as answered:
                        return answered.reply
                    result = self._function(arguments, *self._extra(context))
                    return self._finish(result, success_level=logging.DEBUG)

        present(wrapper, self._function, self._form, self._context, self._library)
        return wrapper

    def _build_async_wrapper(self, start: Callable[..., Awaitable[object]], *, success_level: int) -> ToolFunction:
        async def wrapper(**values: object) -> object:
            with self._logged():
                try:
                    arguments, context = self._bind(values)
                    await self._ask(arguments, context)
                except _AnsweredError as answered:
                    return answered.reply
                return self._finish(await start(arguments, *self._extra(context)), success_level=success_level)

        return wrapper

    def _extra(self, context: object) -> tuple[object, ...]:
        return () if self._form.context is None else (context,)

    def _bind(self, values: dict[str, object]) -> tuple[ToolArguments, object]:
        context = None if self._context is None else values.pop(self._context.name)
        given = {name: value for name, value in values.items() if value is not Absent.ABSENT}
        if self._library is None:
            return self._form.model.parse(given, tool=self._name), context
        sent = self._library.find_arguments(context)
        try:
            return self._parse(given, sent), context
        except ArgumentProblemsError as problems:
            self._answer(text_reply(str(problems), is_error=True), "; ".join(problems.problems))

    def _parse(self, given: Mapping[str, object], sent: Mapping[str, object] | None) -> ToolArguments:
        """Take the arguments as they were sent; a library may have parsed JSON in texts, which some clients need."""
        try:
            return self._form.model.parse(given if sent is None else sent, tool=self._name)
        except ArgumentProblemsError:
            if sent is None or given == sent:
                raise
            return self._form.model.parse({**sent, **given}, tool=self._name)

    async def _ask(self, arguments: ToolArguments, context: object) -> None:
        """Ask the person before a tool that needs consent; if the client cannot ask, the consent word is enough."""
        if self._form.terms is None or self._library is None:
            return
        match await self._library.ask(context, self._form.terms.question(arguments, self._name)):
            case Unanswered(reply):
                raise _AnsweredError(reply)
            case Answer.NO:
                declined: Result[None] = Result.failure(
                    f"The user was asked and declined {self._name}; nothing was done.",
                    "consent_declined",
                    instruction="Do not call it again unless the user asks for it.",
                )
                self._answer(declined.to_mcp(), declined.error or "")

    def _answer(self, reply: ToolReply, reason: str) -> NoReturn:
        assert self._library is not None
        self._log_failure(logging.INFO, reason)
        raise _AnsweredError(self._library.build_reply(reply))

    def _finish(self, result: object, *, success_level: int) -> object:
        if isinstance(result, Result) and not result.success:
            self._log_failure(logging.INFO, result.error or "")
        else:
            tool_log.log(success_level, "Tool %s completed successfully", self._name)
        if not isinstance(result, Result):
            return result
        if result.instruction is not None:
            result = replace(result, instruction=with_final_names(result.instruction, self._names))
        return result.to_json_str() if self._library is None else self._library.build_reply(result.to_mcp())

    @contextmanager
    def _logged(self) -> Iterator[None]:
        """Log the beginning of a call, and an exception; a failure that is answered is not an error of the server."""
        tool_log.log(TRACE, "Tool called: %s", self._name)
        try:
            yield
        except Exception as error:
            self._log_failure(logging.ERROR, describe(error))
            raise

    def _log_failure(self, level: int, reason: str) -> None:
        if tool_log.isEnabledFor(level):
            tool_log.log(level, "Tool %s failed: %s", self._name, self._redactor.text(reason))


class _AnsweredError(FactsError):
    """The call is answered before the tool runs."""

    reply: object


PREFIX_VARIABLE = "MCP_TOOL_PREFIX"


class ToolServer(Protocol):
    """A server that takes tools; the official SDK's MCPServer and FastMCP both do."""

    def tool(self, *, name: str, description: str) -> Callable[[ToolFunction], object]: ...


class ExtMcpToolDecorator:
    """Puts tool functions into one server.

    The server sees a function whose parameters are the fields of the model, so that its clients see them as the
    arguments of the tool. With a `library`, wrong arguments and failed results are answered in the library's own type,
    marked as errors, and a tool that needs consent asks the person. Without one, a Result is answered as JSON text,
    wrong arguments are raised, and nobody can be asked.

    `models` has the arguments of each registered tool by its final name, `names` that name by the function's own.
    `redactor` masks secrets in log lines.
    """

    def __init__(
        self,
        server: ToolServer,
        prefix: str | None = None,
        *,
        library: ServerLibrary | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._server = server
        self._prefix = prefix
        self.library = library
        self.redactor = redactor or Redactor()
        self.models: dict[str, type[ToolArguments]] = {}
        self.names: dict[str, str] = {}

    def tool(
        self, *, description: str, name: str | None = None, prefix: str | None = None
    ) -> Callable[[Function], Function]:
        """Register it under `prefix_name`; the prefix is this, the decorator's or MCP_TOOL_PREFIX, and may be empty."""

        def register(function: Function) -> Function:
            prefixes = (prefix, self._prefix, os.environ.get(PREFIX_VARIABLE))
            chosen = next((candidate for candidate in prefixes if candidate is not None), "")
            final = "_".join(filter(None, (chosen, name or function.__name__)))
            self.names[function.__name__] = final
            wrapper = RegisteredTool(final, function, self).build_wrapper()
            self._server.tool(name=final, description=description)(wrapper)
            self.models[final] = find_form(function).model
            return function

        return register
