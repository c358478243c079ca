"""JSON and the messages of a worker in type annotations. Nothing imports it at run time."""

from __future__ import annotations

from typing import Any, TypedDict, Union

Json = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]
"""A JSON value. A value that is not known to be one is an `object` and narrowed."""

JsonObject = dict[str, Json]


class ErrorObject(TypedDict, total=False):
    code: int
    message: str
    data: dict[str, object]


class Params(TypedDict, total=False):
    """The parameters of a message; its method says which of them it has."""

    # start: everything that a worker is given before it imports its file
    pack: str
    config: JsonObject
    secrets: dict[str, str | None]
    log_level: int
    # call, in both directions, and cancel
    tool: str
    slot: int
    arguments: dict[str, object]
    within: int
    id: int


class Message(TypedDict, total=False):
    """A request, a notification or an answer. What comes from a worker is hostile until the server has checked it."""

    id: int
    method: str
    params: Params
    result: Any
    error: ErrorObject
