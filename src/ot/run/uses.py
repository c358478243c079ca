"""Uses that a client makes of what servers have beside tools: each is a call of one of our tools, through the door.

Its answer travels as that of a run does, as text: the result in the protocol's form, or why there is none.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

import anyio.to_thread

from mcp_core.json_types import Json, JsonObject, mapping_of
from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import Caller
from ot.context import current
from ot.errors import CallError, ConsentError, NotListedError, ToolError, UnknownResultError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error
from ot.proxy import MOST_COMPLETIONS, complete_listed, fill_listed, plain_arguments, read_listed, watch_listed
from ot.results.kept_values import KeptValues
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.run.answer import Answer
from ot.text.output import render
from ot.values import ToolValue, expanded
from ot_kernel.values import Audio, Image

if TYPE_CHECKING:
    from ot.proxy import Servers


RESULTS = "onetool://results/"
RESULT_TEMPLATE = f"{RESULTS}{{handle}}"


@dataclass(frozen=True, slots=True)
class Use:
    """One use: a call of a tool, and the function that gives the result as clients get it.

    `unasked` is the result where a person would have to agree first, if nobody should be asked for this use.
    """

    tool: str
    arguments: JsonObject
    carry_out: Callable[[Servers], Awaitable[JsonObject]]
    unasked: JsonObject | None = None

    async def make(self, executor: ToolExecutor, servers: Servers, caller: Caller) -> Answer:
        """Make the call, and return the answer as text."""

        async def instead(_: dict[str, ToolValue]) -> ToolValue:
            return await self.carry_out(servers)

        if self.unasked is not None:
            caller = replace(caller, ask=None)
        try:
            result = await executor.call(self.tool, self.arguments, caller=caller, instead=instead)
        except CallError as error:
            if self.unasked is not None and isinstance(error, ConsentError):
                return Answer(json.dumps(self.unasked))
            unknown = isinstance(error, (NotListedError, UnknownResultError))
            return Answer(json.dumps({"message": word_error(error), "unknown": unknown}), is_error=True)
        return Answer(json.dumps(result))


@dataclass(frozen=True, slots=True)
class UseFailure:
    """The reason why a use gave nothing; `unknown` if there is no such thing."""

    message: str
    unknown: bool


def read_use(answer: Answer) -> JsonObject | UseFailure:
    """Return what has come of a use; one that ended with its server has words that are no result."""
    try:
        found = mapping_of(json.loads(answer.text))
    except ValueError:
        return UseFailure(answer.text, unknown=False)
    if answer.is_error:
        return UseFailure(str(found.get("message", "")), found.get("unknown") is True)
    return dict(found)


def read_resource(uri: str) -> Use:
    """Read a resource of a server, a stored result, or a kept value."""
    if uri.startswith(RESULTS):
        handle = unquote(uri.removeprefix(RESULTS))
        return Use("ot.load", {"handle": handle}, lambda _: _read_stored(uri, handle))
    return Use("ot.read", {"uri": uri}, lambda servers: read_listed(servers, uri))


def get_prompt(name: str, arguments: JsonObject) -> Use:
    given: JsonObject = {"name": name, "arguments": arguments}
    return Use("ot.prompts", given, lambda servers: fill_listed(servers, name, arguments))


def complete(reference: JsonObject, argument: JsonObject, given: JsonObject) -> Use:
    """Complete an argument of a prompt or of a template of addresses, but ask nobody at each letter that is typed."""
    if reference.get("uri") == RESULT_TEMPLATE:
        return Use("ot.kept", {}, lambda _: _complete_handle(str(argument.get("value", ""))))
    named: JsonObject = {"name": str(reference["name"])} if "name" in reference else {}
    tool = "ot.prompts" if named else "ot.resources"
    nothing: JsonObject = {"completion": {"values": []}}
    return Use(tool, named, lambda servers: complete_listed(servers, reference, argument, given), nothing)


def watch_resource(uri: str, tell: Callable[[], None], ends: list[Callable[[], None]]) -> Use:
    """Have a client hear of updates of a resource; what ends that is added to `ends`."""
    return Use("ot.read", {"uri": uri}, lambda servers: watch_listed(servers, uri, tell, ends))


async def _read_stored(uri: str, handle: str) -> JsonObject:
    context = current()
    try:
        stored = await context.part(ResultReader).load(handle)
    except UnknownResultError:
        stored = await context.part(KeptValues).find(context, handle)
    value = expanded(await anyio.to_thread.run_sync(stored.read))
    return {"contents": [{"uri": uri, **await anyio.to_thread.run_sync(_content_of, value)}]}


def _content_of(value: ToolValue) -> JsonObject:
    match value:
        case str():
            return {"mimeType": "text/plain", "text": value}
        case Image() | Audio():
            return {"mimeType": value.mime_type, "blob": base64.b64encode(value.data).decode()}
        case bytes():
            return {"mimeType": "application/octet-stream", "blob": base64.b64encode(value).decode()}
    try:
        text = json.dumps(plain_arguments({"result": value})["result"], ensure_ascii=False)
        return {"mimeType": "application/json", "text": text}
    except ToolError:  # there is something in it that JSON has no form for
        return {"mimeType": "text/plain", "text": render(value).text}


async def _complete_handle(begun: str) -> JsonObject:
    context = current()
    kept = [str(each["name"]) for each in await context.part(KeptValues).describe_all(context)]
    stored = await anyio.to_thread.run_sync(context.part(ResultStore).all_now)
    names = [name for name in (*kept, *(each.handle for each in reversed(stored))) if name.startswith(begun)]
    values: list[Json] = [*dict.fromkeys(names[:MOST_COMPLETIONS])]
    return {"completion": {"values": values, "total": len(names), "hasMore": len(names) > MOST_COMPLETIONS}}
