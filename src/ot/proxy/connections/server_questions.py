"""The questions of one server to a person: nothing in them is invisible, and many at once are one question."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import chain

import anyio

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from mcp_core.shown_arguments import MARGIN
from mcp_core.visible_text import visible
from ot.clients.front import FrontError

GATHERING = 0.05  # seconds without a further question, after which those that have come are asked
_MOST = 32_768  # characters of questions that are put together: a person is shown all of them
Put = Callable[[JsonObject], Awaitable[JsonObject]]
"""Puts one question to a person; raises FrontError where that is refused."""


class HiddenTextError(Exception):
    """A form cannot be shown as it is."""


class _Gathered:
    """Questions with the same form, put together."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._size = 0  # characters, with the margin of each
        self.settled = anyio.Event()
        self.answer: JsonObject | None = None
        self.refusal = FrontError("the call that asked first has ended")

    def add(self, message: str) -> None:
        """Add a question; raises FrontError where a person would not be shown all of them."""
        size = self._size + len(MARGIN) + len(message)
        if size > _MOST:
            raise FrontError(f"its questions are longer than {_MOST:,} characters")
        self._size = size
        self.messages.append(message)


class ServerQuestions:
    """Puts the questions of a server one at a time; those that wait together and have the same form, as one."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._one_at_a_time = anyio.Lock()
        self._gathering: dict[str, _Gathered] = {}

    async def ask(self, shown: JsonObject, person: object, put: Put) -> JsonObject:
        """Put a question that `show_form` gave; raises FrontError."""
        message = str(shown.get("message", ""))
        form = json.dumps([id(person), {**shown, "message": ""}], sort_keys=True)
        gathered = self._gathering.get(form)
        first = gathered is None
        if gathered is None:
            gathered = self._gathering[form] = _Gathered()
        gathered.add(message)
        if first:
            await self._settle(form, gathered, shown, put)
        else:
            await gathered.settled.wait()
        if gathered.answer is None:
            raise gathered.refusal
        return gathered.answer

    async def _settle(self, form: str, gathered: _Gathered, shown: JsonObject, put: Put) -> None:
        try:
            async with self._one_at_a_time:
                known = 0
                while len(gathered.messages) > known:
                    known = len(gathered.messages)
                    await anyio.sleep(GATHERING)
                del self._gathering[form]
                gathered.answer = await put({**shown, "message": _word(self._server, gathered.messages)})
        except FrontError as error:
            gathered.refusal = error
        finally:
            if self._gathering.get(form) is gathered:
                del self._gathering[form]
            gathered.settled.set()


def _word(server: str, messages: list[str]) -> str:
    if len(messages) > 1:
        head = f"[{server}] asks {len(messages)} questions, and your answer is for all of them:"
        return "\n".join([head, *(f"{MARGIN}{visible(text)}" for text in messages)])
    lines = visible(messages[0], lines=True).split("\n")
    if len(lines) == 1:
        return f"[{server}] {lines[0]}"
    return "\n".join([f"[{server}]", *(MARGIN + line for line in lines)])


def show_form(params: JsonObject) -> JsonObject:
    """Return a question whose form hides nothing; raises HiddenTextError where its names or choices would."""
    if visible(url := str(params.get("url", ""))) != url:
        raise HiddenTextError("its address contains characters which cannot be seen")
    schema = mapping_of(params.get("requestedSchema"))
    fields = mapping_of(schema.get("properties"))
    if any(visible(text) != text for name, field in fields.items() for text in _exact_texts(name, mapping_of(field))):
        raise HiddenTextError("its form contains names, choices or defaults with characters which cannot be seen")
    if not schema:
        return params
    properties: JsonObject = {name: _with_words(mapping_of(field)) for name, field in fields.items()}
    return {**params, "requestedSchema": {**_with_words(schema), "properties": properties}}


def _exact_texts(name: str, field: Mapping[str, Json]) -> list[str]:
    """Return the texts of a field that come back as they are, and so cannot be written otherwise."""
    choices = chain(list_of(field.get("oneOf")), list_of(field.get("anyOf")))
    items = mapping_of(field.get("items"))
    inner = _exact_texts("", items) if items else []
    named = [mapping_of(choice).get("const") for choice in choices]
    default = field.get("default")
    found = [name, *list_of(field.get("enum")), *named, *(list_of(default) or [default])]
    return [*(each for each in found if isinstance(each, str)), *inner]


def _with_words(schema: Mapping[str, Json]) -> JsonObject:
    """Return a part of a form with its words made visible."""
    found: JsonObject = dict(schema)
    for key in ("title", "description"):
        if isinstance(text := schema.get(key), str):
            found[key] = visible(text)
    if names := list_of(schema.get("enumNames")):
        found["enumNames"] = [visible(str(name)) for name in names]
    for key in ("oneOf", "anyOf"):
        if choices := list_of(schema.get(key)):
            found[key] = [_with_words(mapping_of(choice)) for choice in choices]
    if items := mapping_of(schema.get("items")):
        found["items"] = _with_words(items)
    return found
